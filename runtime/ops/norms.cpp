// norms, vecdot, matvec, matrix_power, multi_dot: jax.numpy's and jax.numpy.linalg's.
#include <cmath>
#include <functional>
#include <limits>

#include "runtime/ops/compose.h"
#include "runtime/ops/shapes.h"

namespace shardlab::ops {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool is_nuclear(const Attrs& attrs) {
  const AttrValue* value = attrs.find("ord");
  const auto* text = value == nullptr ? nullptr : std::get_if<std::string>(value);
  return text != nullptr && *text == "nuc";
}

// A number, inf or -inf; nothing: the root of squares, which is fro.
std::optional<double> order_of(const OpDef& op, const Attrs& attrs) {
  const AttrValue* value = attrs.find("ord");
  if (value == nullptr || is_nuclear(attrs)) return std::nullopt;
  if (const auto* text = std::get_if<std::string>(value)) {
    if (*text == "inf") return kInfinity;
    if (*text == "-inf") return -kInfinity;
    if (*text == "fro") return std::nullopt;
    throw_user_error("{}: Invalid order '{}' for a norm; wanted a number, inf, -inf, fro or nuc", op.name, *text);
  }
  return number_list(op, attrs, "ord").at(0);
}

Term square_root_of_sum(const Term& x, const std::vector<std::int64_t>& axes, bool keepdims) {
  Term squares = is_complex(x.dtype()) ? call("real", x * call("conj", x)) : x * x;
  return call("sqrt", summed(squares, axes, keepdims));
}
Term extreme(const char* how, const Term& x, std::int64_t axis, bool keepdims) {
  return call(how, x, Attrs{{"axis", axis}, {"keepdims", keepdims}});
}

Term vector_norm(const OpDef& op, const Term& x, std::optional<double> order, const std::vector<std::int64_t>& axes, bool keepdims) {
  if (!order || *order == 2) return square_root_of_sum(x, axes, keepdims);
  auto over = [&](const char* how, const Term& t) { return call(how, t, Attrs{{"axis", axes}, {"keepdims", keepdims}}); };
  if (*order == kInfinity) return over("max", call("abs", x));
  if (*order == -kInfinity) return over("min", call("abs", x));
  if (*order == 0) return over("sum", converted(x != 0, real_dtype(as_inexact(x).dtype())));
  if (*order == 1) return over("sum", call("abs", x));
  if (!std::isfinite(*order)) throw_user_error("{}: Invalid order {} for a vector norm", op.name, *order);
  Term powers = call(x.builder(), "power", {call("abs", x), *order});
  return call(x.builder(), "power", {over("sum", powers), 1 / *order});
}

// The sum of singular values (`how`), or an extreme one.
Term spectral_norm(const char* how, const Term& x, int rows, int columns, bool keepdims) {
  std::vector<int> order;
  for (int d = 0; d < x.rank(); ++d)
    if (d != rows && d != columns) order.push_back(d);
  order.insert(order.end(), {rows, columns});
  Term values = call("svd", transposed(x, order), Attrs{{"compute_uv", false}});
  Term result = call(how, values, Attrs{{"axis", std::int64_t(-1)}});
  if (!keepdims) return result;
  return expanded(expanded(result, std::min(rows, columns)), std::max(rows, columns));
}

Term matrix_norm(const OpDef& op, const Term& x, std::optional<double> order, std::int64_t rows, std::int64_t columns, bool keepdims) {
  if (!order) return square_root_of_sum(x, {rows, columns}, keepdims);
  if (std::abs(*order) == 2) return spectral_norm(*order > 0 ? "max" : "min", x, int(rows), int(columns), keepdims);
  bool by_columns = std::abs(*order) == 1;
  if (!by_columns && std::isfinite(*order)) throw_user_error("{}: Invalid order '{}' for matrix norm.", op.name, *order);
  std::int64_t first = by_columns ? rows : columns, second = by_columns ? columns : rows;
  if (!keepdims && second > first) --second;
  return extreme(*order > 0 ? "max" : "min", summed(call("abs", x), {first}, keepdims), second, keepdims);
}

Values expand_norm(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const bool is_matrix = op.name == "linalg.matrix_norm", is_vector = op.name == "linalg.vector_norm";
  const Term x = is_vector ? term(b, args[0]) : as_inexact(term(b, args[0]));  // whole numbers have whole sums in JAX
  std::optional<double> order = order_of(op, attrs);
  bool keepdims = attrs.flag("keepdims");
  std::vector<std::int64_t> axes;
  if (auto given = axes_of(op.name, attrs, "axis", x.rank())) {
    axes.assign(given->begin(), given->end());
  } else if (is_matrix) {
    if (x.rank() < 2) throw_user_error("{}: a matrix is needed, got {}", op.name, x.text());
    axes = {x.rank() - 2, x.rank() - 1};
  } else {
    for (int d = 0; d < x.rank(); ++d) axes.push_back(d);
    if (is_vector || !attrs.has("ord")) return {vector_norm(op, x, order, axes, keepdims).id()};
  }
  if (is_vector || (axes.size() == 1 && !is_matrix)) return {vector_norm(op, x, order, axes, keepdims).id()};
  if (axes.size() != 2) throw_user_error("{}: Improper number of axes for norm: axis={}", op.name, text_of(axes));
  if (is_nuclear(attrs)) return {spectral_norm("sum", x, int(axes[0]), int(axes[1]), keepdims).id()};
  return {matrix_norm(op, x, order, axes[0], axes[1], keepdims).id()};
}

Values expand_matrix_power(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Term x = term(b, args[0]);
  std::int64_t n = static_integer(op, args, 1, attrs, "n");
  if (x.rank() < 2 || x.size(-1) != x.size(-2))
    throw_user_error("{}: Last 2 dimensions of the array must be square, got {}", op.name, x.text());
  if (n < 0) x = call("linalg.inv", x), n = -n;
  auto times = [&](const Term& s, const Term& t) { return call(b, "matmul", {s, t}); };
  if (n == 0) {
    Term one = call(b, "eye", {x.size(-1)}, Attrs{{"dtype", x.dtype()}});
    return {broadcast(one, x.shape()).id()};
  }
  if (n == 3) return {times(times(x, x), x).id()};
  std::optional<Term> result, square;
  for (std::int64_t left = n; left > 0; left /= 2) {
    square = square ? times(*square, *square) : x;
    if (left % 2 == 1) result = result ? times(*result, *square) : *square;
  }
  return {result->id()};
}

// In the order of fewest products; source: Cormen et al., Introduction to Algorithms, matrix-chain multiplication.
Values expand_multi_dot(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  std::vector<Term> chain = promoted_terms(b, args);
  std::size_t n = chain.size();
  constexpr std::size_t kFactorsMax = 64;
  if (n < 2 || n > kFactorsMax) throw_user_error("{}: wanted 2 to {} arrays, got {}", op.name, kFactorsMax, n);
  std::vector<double> sizes;
  for (std::size_t i = 0; i < n; ++i) {
    bool may_be_vector = i == 0 || i + 1 == n;
    if (chain[i].rank() != 2 && !(may_be_vector && chain[i].rank() == 1))
      throw_user_error("{}: operand {} must be a matrix{}, got {}", op.name, i, may_be_vector ? " or a vector" : "", chain[i].text());
    sizes.push_back(chain[i].rank() == 1 && i == 0 ? 1 : double(chain[i].size(0)));
  }
  sizes.push_back(chain.back().rank() == 1 ? 1 : double(chain.back().size(1)));
  std::vector<std::vector<double>> cost(n, std::vector<double>(n, 0));
  std::vector<std::vector<std::size_t>> cut(n, std::vector<std::size_t>(n, 0));
  for (std::size_t length = 1; length < n; ++length)
    for (std::size_t i = 0; i + length < n; ++i) {
      std::size_t j = i + length;
      cost[i][j] = kInfinity;
      for (std::size_t k = i; k < j; ++k) {
        double here = cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1];
        if (here < cost[i][j]) cost[i][j] = here, cut[i][j] = k;
      }
    }
  std::function<Term(std::size_t, std::size_t)> product = [&](std::size_t i, std::size_t j) -> Term {
    if (i == j) return chain[i];
    Term left = product(i, cut[i][j]);
    return call(b, "dot", {left, product(cut[i][j] + 1, j)});
  };
  return {product(0, n - 1).id()};
}

Values expand_vecdot(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  std::vector<Term> both = promoted_terms(b, args);
  for (Term& each : both) {
    int axis = normalized_axis(op.name, attrs.integer("axis", -1), each.rank());
    each = call("moveaxis", each, Attrs{{"source", std::int64_t(axis)}, {"destination", std::int64_t(-1)}});
  }
  if (both[0].size(-1) != both[1].size(-1))
    throw_user_error("{}: vectors of unequal sizes, {} and {}", op.name, both[0].text(), both[1].text());
  Term x = is_complex(both[0].dtype()) ? call("conj", both[0]) : both[0];
  return {call(b, "einsum", {x, both[1]}, Attrs{{"subscripts", std::string("...i,...i->...")}}).id()};
}
Values expand_matvec(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  std::vector<Term> both = promoted_terms(b, args);
  if (both[0].rank() < 2 || both[1].rank() < 1)
    throw_user_error("{}: wanted matrices and vectors, got {} and {}", op.name, both[0].text(), both[1].text());
  return {call(b, "einsum", {both[0], both[1]}, Attrs{{"subscripts", std::string("...ij,...j->...i")}}).id()};
}
Values expand_vecmat(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  std::vector<Term> both = promoted_terms(b, args);
  if (both[0].rank() < 1 || both[1].rank() < 2)
    throw_user_error("{}: wanted vectors and matrices, got {} and {}", op.name, both[0].text(), both[1].text());
  Term x = is_complex(both[0].dtype()) ? call("conj", both[0]) : both[0];
  return {call(b, "einsum", {x, both[1]}, Attrs{{"subscripts", std::string("...i,...ij->...j")}}).id()};
}

using Kind = AttrDef::Kind;
constexpr AttrDef kNormAttrs[] = {{"ord", Kind::kLiteral, false, "a number, inf, -inf, or of matrices fro or nuc; of squares by default"},
                                  {"axis", Kind::kScalarOrIntegers, false, "one axis of vectors, two of matrices"},
                                  {"keepdims", Kind::kFlag, false, "whether reduced axes stay, with size 1"}};
constexpr AttrDef kPowerAttrs[] = {{"n", Kind::kInteger, false, "the power, where it is no operand"}};
constexpr AttrDef kVecdotAttrs[] = {{"axis", Kind::kInteger, false, "the vectors' dimension; the last by default"}};

}  // namespace

extern const OpDef kNorm, kVectorNorm, kMatrixNorm, kMatrixPower, kMultiDot, kVecdot, kMatvec, kVecmat;

constexpr std::string_view kVecdotAliases[] = {"linalg.vecdot"};
const OpDef kNorm = compiled_alone(
    composite_of({"linalg.norm", "The norm of vectors or matrices, over all elements by default.", expand_norm, 1, 1, kNormAttrs}));
const OpDef kVectorNorm = composite_of({"linalg.vector_norm", "The norm of vectors over axes.", expand_norm, 1, 1, kNormAttrs});
const OpDef kMatrixNorm =
    compiled_alone(composite_of({"linalg.matrix_norm", "The norm of matrices in the last two dimensions.", expand_norm, 1, 1, kNormAttrs}));
const OpDef kMatrixPower =
    composite_of({"linalg.matrix_power", "A square matrix to a whole power: args [x] or [x, n].", expand_matrix_power, 1, 2, kPowerAttrs});
const OpDef kMultiDot =
    composite_of({"linalg.multi_dot", "The product of matrices in the order of fewest multiplications.", expand_multi_dot, 2, -1});
const OpDef kVecdot = composite_of({"vecdot", "Sums of conj(x) y along a dimension.", expand_vecdot, 2, 2, kVecdotAttrs, kVecdotAliases});
const OpDef kMatvec = compiled_alone(composite_of({"matvec", "Matrices times vectors.", expand_matvec, 2, 2}));
const OpDef kVecmat = compiled_alone(composite_of({"vecmat", "Conjugated vectors times matrices.", expand_vecmat, 2, 2}));

}  // namespace shardlab::ops
