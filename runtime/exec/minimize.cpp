// BFGS with a line search. Source: jax/_src/scipy/optimize (Nocedal and Wright, algorithms 6.1, 3.5 and 3.6), whose numbers these are.
#include "runtime/exec/array_ops.h"
#include "runtime/exec/autodiff.h"
#include "runtime/exec/control_flow.h"
#include "runtime/exec/indexing.h"
#include "runtime/exec/linalg.h"
#include "runtime/exec/solvers.h"
#include "runtime/exec/varying_types.h"

namespace shardlab::optimize {

// A step's length along the line, and the function's value and slope there.
struct LinePoint {
  Array a, phi, slope;
};
SHARDLAB_TREE(LinePoint, a, phi, slope)

// The same with the whole gradient.
struct StarPoint {
  LinePoint at;
  Array gradient;
};
SHARDLAB_TREE(StarPoint, at, gradient)

struct ZoomState {
  Array done, failed, round, calls;
  LinePoint low, high, recent;
  StarPoint star;
};
SHARDLAB_TREE(ZoomState, done, failed, round, calls, low, high, recent, star)

struct SearchState {
  Array done, failed, round, calls;
  LinePoint last;
  StarPoint star;
};
SHARDLAB_TREE(SearchState, done, failed, round, calls, last, star)

struct BfgsState {
  Array converged, failed, k, calls;
  Array x, value, gradient;
  std::array<Array, 3> more;  // the inverse of the Hessian, the value before, the search's status
};
SHARDLAB_TREE(BfgsState, converged, failed, k, calls, x, value, gradient, more)

namespace {

template <typename T>
T chosen(const Array& which, const T& yes, const T& no) {
  return tree::map([&](const Array& a, const Array& b) { return where(which, a, b).astype(b.dtype()); }, yes, no);
}

// The function along the line x + a p.
class Line {
 public:
  Line(const std::function<Array(const Array&)>& f, const Array& x, const Array& p) : f_(f), x_(x), p_(p) {}
  StarPoint at(const Array& a) const {
    auto [value, gradient] = value_and_grad(f_)(x_ + a * p_);
    return {{a, value, slope(gradient)}, gradient};
  }
  Array slope(const Array& gradient) const { return dot(gradient, p_); }
  DType dtype() const { return x_.dtype(); }

 private:
  const std::function<Array(const Array&)>& f_;
  const Array &x_, &p_;
};

// Source: Wolfe's conditions, with the first one negated.
struct Wolfe {
  Array phi, slope;  // at the line's beginning
  Array is_too_high(const LinePoint& at) const { return at.phi > phi + 1e-4 * at.a * slope; }
  Array is_flat(const LinePoint& at) const { return abs(at.slope) <= -0.9 * slope; }
};

Array least_of_cubic(const LinePoint& a, const LinePoint& b, const LinePoint& c) {
  const Array db = b.a - a.a, dc = c.a - a.a, divisor = square(db * dc) * (db - dc);
  const Array fb = b.phi - a.phi - a.slope * db, fc = c.phi - a.phi - a.slope * dc;
  const Array A = (square(dc) * fb - square(db) * fc) / divisor, B = (-dc * dc * dc * fb + db * db * db * fc) / divisor;
  return a.a + (-B + sqrt(B * B - 3.0 * A * a.slope)) / (3.0 * A);
}
Array least_of_square(const LinePoint& a, const LinePoint& b) {
  const Array db = b.a - a.a, B = (b.phi - a.phi - a.slope * db) / square(db);
  return a.a - a.slope / (2.0 * B);
}

ZoomState zoomed(const Line& line, const Wolfe& wolfe, const LinePoint& low, const LinePoint& high, const Array& gradient,
                 const Array& is_passed) {
  const Array no = full({}, false), none = full({}, 0, int32), one = full({}, 1.0, line.dtype());
  const LinePoint middle{(low.a + high.a) / 2.0, (low.phi + high.phi) / 2.0, low.slope};
  auto goes_on = [&](const ZoomState& s) { return logical_not(s.done) & logical_not(is_passed) & logical_not(s.failed); };
  auto step = [&](const ZoomState& s) {
    const Array span = s.high.a - s.low.a, least = minimum(s.high.a, s.low.a), most = maximum(s.high.a, s.low.a);
    ZoomState next = s;
    next.failed = s.failed | (span <= (line.dtype() == DType::kFloat64 ? 1e-10 : 1e-5));
    const Array cubic = least_of_cubic(s.low, s.high, s.recent), squared = least_of_square(s.low, s.high);
    const Array takes_cubic = (s.round > 0) & (cubic > least + 0.2 * span) & (cubic < most - 0.2 * span);
    const Array takes_square = logical_not(takes_cubic) & (squared > least + 0.1 * span) & (squared < most - 0.1 * span);
    const Array a = where(takes_cubic, cubic, where(takes_square, squared, (s.low.a + s.high.a) / 2.0)).astype(line.dtype());
    const StarPoint at = line.at(a);
    next.calls = s.calls + 1;
    const Array is_high = wolfe.is_too_high(at.at) | (at.at.phi >= s.low.phi);
    const Array is_star = wolfe.is_flat(at.at) & logical_not(is_high), is_low = logical_not(is_high) & logical_not(is_star);
    const Array turns = (at.at.slope * span >= 0.0) & is_low;
    next.recent = chosen(is_high | turns, s.high, chosen(is_low, s.low, s.recent));
    next.high = chosen(is_high, at.at, chosen(turns, s.low, s.high));
    next.low = chosen(is_low, at.at, s.low);
    next.star = chosen(is_star, at, s.star);
    next.done = is_star | s.done;
    next.round = s.round + 1;
    next.failed = next.failed | (next.round >= 30);
    return next;
  };
  const ZoomState first{no, no, none, none, low, high, middle, {{one, low.phi, low.slope}, gradient}};
  return while_loop(goes_on, step, varying_like(first, low.phi));
}

struct Found {
  Array failed, calls, a, value, gradient, status;
};

Found search(const Line& line, const StarPoint& begin, const Array& value_before, std::int64_t maxiter) {
  const Wolfe wolfe{begin.at.phi, begin.at.slope};
  const Array guess = 1.01 * 2 * (begin.at.phi - value_before) / begin.at.slope;
  const Array start = where(guess > 1, 1.0, guess).astype(line.dtype());
  auto goes_on = [&](const SearchState& s) { return logical_not(s.done) & (s.round <= maxiter) & logical_not(s.failed); };
  auto step = [&](const SearchState& s) {
    const StarPoint now = line.at(where(s.round == 1, start, s.last.a * 2.0).astype(line.dtype()));
    const Array is_past = wolfe.is_too_high(now.at) | ((now.at.phi >= s.last.phi) & (s.round > 1));
    const Array is_star = wolfe.is_flat(now.at) & logical_not(is_past);
    const Array rises = (now.at.slope >= 0.0) & logical_not(is_past) & logical_not(is_star);
    const ZoomState between = zoomed(line, wolfe, s.last, now.at, begin.gradient, logical_not(is_past));
    const ZoomState back = zoomed(line, wolfe, now.at, s.last, begin.gradient, logical_not(rises));
    SearchState next = s;
    next.calls = s.calls + 1 + between.calls + back.calls;
    next.done = s.done | is_past | is_star | rises;
    next.failed = s.failed | (is_past & between.failed) | (rises & back.failed);
    next.star = chosen(is_past, between.star, chosen(is_star, now, chosen(rises, back.star, s.star)));
    next.round = s.round + 1;
    next.last = now.at;
    return next;
  };
  const Array no = full({}, false), zero = full({}, 0.0, line.dtype());
  LinePoint from = begin.at;
  from.a = zero;
  const SearchState end = while_loop(
      goes_on, step, varying_like(SearchState{no, no, full({}, 1, int32), full({}, 0, int32), from, {from, begin.gradient}}, from.phi));
  Array a = end.star.at.a;
  if (line.dtype() != DType::kFloat64) a = where(abs(a) < 1e-8, sign(a) * 1e-8, a).astype(line.dtype());
  const Array status = where(end.failed, 1, where(end.round > maxiter, 3, 0));
  return {end.failed | logical_not(end.done), end.calls, a, end.star.at.phi, end.star.gradient, status.astype(int32)};
}

}  // namespace

OptimizeResults minimize(const std::function<Array(const Array&)>& f, const Array& x0, const MinimizeOptions& options,
                         std::source_location where_called) {
  if (options.method != "BFGS" && options.method != "bfgs")
    throw_user_error("Method {} not recognized: minimize has BFGS [{}]", options.method, Where::from(where_called).text());
  if (x0.ndim() != 1)
    throw_user_error("minimize takes a vector as its guess, got {} [{}]", x0.type().text(), Where::from(where_called).text());
  const std::int64_t n = x0.size(), maxiter = options.maxiter.value_or(200 * n);
  const Array unit = eye(n, x0.dtype());
  auto is_small = [&](const Array& gradient) { return linalg::norm(gradient, AxisList::all(), options.norm) < options.gtol; };
  auto goes_on = [&](const BfgsState& s) { return logical_not(s.converged) & logical_not(s.failed) & (s.k < maxiter); };
  auto step = [&](const BfgsState& s) {
    const auto& [hessian, value_before, status] = s.more;
    const Array p = -dot(hessian, s.gradient);
    const Line line(f, s.x, p);
    const Found found =
        search(line, {{full({}, 0.0, x0.dtype()), s.value, line.slope(s.gradient)}, s.gradient}, value_before, options.line_search_maxiter);
    const Array moved = found.a * p, change = found.gradient - s.gradient, rho = reciprocal(dot(change, moved));
    const Array w = unit - rho * outer(moved, change);
    const Array updated = dot(dot(w, hessian), w.T()) + rho * outer(moved, moved);
    return BfgsState{is_small(found.gradient),
                     found.failed,
                     s.k + 1,
                     s.calls + found.calls,
                     s.x + moved,
                     found.value,
                     found.gradient,
                     {where(isfinite(rho), updated, hessian), s.value, found.status}};
  };
  const auto [value, gradient] = value_and_grad(f)(x0);
  const Array none = full({}, 0, int32);
  const BfgsState end = while_loop(goes_on, step,
                                   varying_like(BfgsState{is_small(gradient),
                                                          full({}, false),
                                                          none,
                                                          full({}, 1, int32),
                                                          x0,
                                                          value,
                                                          gradient,
                                                          {unit, value + linalg::norm(gradient) / 2.0, none}},
                                                value));
  const Array status = where(end.converged, 0, where(end.k == maxiter, 1, where(end.failed, 2 + end.more[2], -1)));
  return {end.x, end.converged & logical_not(end.failed), status, end.value, end.gradient, end.more[0], end.calls, end.k};
}

}  // namespace shardlab::optimize
