// jax.scipy.signal's convolutions of several dimensions, and jax.scipy.fft's cosine transforms.
#include <cmath>

#include "runtime/ops/compose.h"
#include "runtime/ops/shapes.h"

namespace shardlab::ops {
namespace {

using Kind = AttrDef::Kind;

// --- Convolutions.

struct Signals {
  Term first, second;
  std::string mode;
  bool is_second_larger = false;  // in every dimension

  Shape full_shape() const {
    Shape shape;
    for (int d = 0; d < first.rank(); ++d) shape.push_back(first.size(d) + second.size(d) - 1);
    return shape;
  }
};
Signals signals_of(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs, bool is_valid_only) {
  std::vector<Term> both = promoted_terms(b, args);
  for (Term& each : both) each = as_inexact(each);
  Signals signals{both[0], both[1], attrs.has("mode") ? attrs.string("mode") : "full"};
  if (signals.mode != "full" && signals.mode != "same" && signals.mode != "valid")
    throw_user_error("{}: mode must be one of ['full', 'same', 'valid'], got '{}'", op.name, signals.mode);
  if (both[0].rank() != both[1].rank())
    throw_user_error("{}: in1 and in2 should have the same dimensionality, got {} and {}", op.name, both[0].text(), both[1].text());
  if (both[0].elements() == 0 || both[1].elements() == 0)
    throw_user_error("{}: zero-size arrays not supported in convolutions, got shapes {} and {}.", op.name, text_of(both[0].shape()),
                     text_of(both[1].shape()));
  bool is_first = true, is_second = true;
  for (int d = 0; d < both[0].rank(); ++d) {
    is_first &= both[0].size(d) >= both[1].size(d);
    is_second &= both[0].size(d) <= both[1].size(d);
  }
  if (!is_first && !is_second && (!is_valid_only || signals.mode == "valid"))
    throw_user_error("{}: One input must be at least as large as the other in every dimension, got {} and {}", op.name, both[0].text(),
                     both[1].text());
  signals.is_second_larger = is_second;
  return signals;
}

Values expand_convolve(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Signals s = signals_of(b, op, args, attrs, false);
  const Shape given = s.second.shape();
  if (s.is_second_larger) std::swap(s.first, s.second);
  std::vector<std::int64_t> pads;
  for (int d = 0; d < s.first.rank(); ++d) {
    const std::int64_t size = s.second.size(d), own = given[std::size_t(d)];
    if (s.mode == "full") pads.insert(pads.end(), {size - 1, size - 1});
    if (s.mode == "same") pads.insert(pads.end(), {size - 1 - (own - 1) / 2, size - own + (own - 1) / 2});
    if (s.mode == "valid") pads.insert(pads.end(), {0, 0});
  }
  auto alone = [](const Term& x) { return expanded(expanded(x, 0), 0); };
  const Term result = call(b, "conv_general_dilated", {alone(s.first), alone(call("flip", s.second))},
                           Attrs{{"window_strides", std::vector<std::int64_t>(pads.size() / 2, 1)}, {"pads", pads}});
  return {part(part(result, 0, 0), 0, 0).id()};
}

// Of the spectra's product. Sizes as they are: JAX takes no faster ones either.
Values expand_fftconvolve(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Signals s = signals_of(b, op, args, attrs, true);
  if (s.mode == "valid" && s.is_second_larger) std::swap(s.first, s.second);
  const Shape full = s.full_shape();
  const bool is_real = !is_complex(s.first.dtype());
  auto transformed = [&](std::string_view name, const Term& x) { return call(name, x, Attrs{{"s", full}}); };
  const std::string_view forward = is_real ? "fft.rfftn" : "fft.fftn", back = is_real ? "fft.irfftn" : "fft.ifftn";
  Term result =
      s.first.rank() == 0 ? s.first * s.second : transformed(back, transformed(forward, s.first) * transformed(forward, s.second));
  for (int d = 0; d < s.first.rank(); ++d) {
    const std::int64_t all = full[std::size_t(d)];
    const std::int64_t size = s.mode == "full" ? all : s.mode == "same" ? s.first.size(d) : s.first.size(d) - s.second.size(d) + 1;
    result = sliced(result, d, (all - size) / 2, (all - size) / 2 + size);
  }
  return {result.id()};
}

// --- Cosine transforms. Source: Makhoul, "A fast cosine transform in one and two dimensions" (1980).

Term along(const Term& vector, int axis, int rank) {
  Shape shape(std::size_t(rank), 1);
  shape[std::size_t(axis)] = vector.size(0);
  return reshaped(vector, shape);
}
// Quarters of turns: e^(-i pi k / 2n).
Term quarter_turns(GraphBuilder& b, DType real, std::int64_t n) {
  const DType wide = complex_dtype(real);
  const Term angle = numbers(b, real_dtype(wide), n) * (-M_PI / (2 * double(n)));
  return call("exp", converted(angle, wide) * Term(b, scalar_constant(b, wide, Scalar{std::complex<double>(0, 1)})));
}
// By the lengths of the transform's rows.
Term orthonormal(const Term& x, int axis) {
  GraphBuilder& b = x.builder();
  const double n = double(x.size(axis));
  const Term is_first = numbers(b, DType::kInt32, x.size(axis)) == 0;
  return x / along(where(is_first, Term(b, scalar_constant(b, x.dtype(), std::sqrt(4 * n))), std::sqrt(2 * n)), axis, x.rank());
}
// Even places first, then the odd ones from the end; and back.
Term interleaved(const Term& x, int axis) {
  const std::int64_t n = x.size(axis);
  if (n < 2) return x;
  return joined({sliced(x, axis, 0, n, 2), call("flip", sliced(x, axis, 1, n, 2), Attrs{{"axis", std::int64_t(axis)}})}, axis);
}
Term deinterleaved(const Term& x, int axis) {
  const std::int64_t n = x.size(axis);
  if (n < 2) return x;
  const Term place = numbers(x.builder(), DType::kInt32, n), half = call(x.builder(), "floor_divide", {place, 2});
  const Term is_even = call(x.builder(), "remainder", {place, 2}) == 0;
  return taken(x, where(is_even, half, -half + (n - 1)), axis);
}

struct CosineForm {
  Term x;
  std::vector<int> axes;
  bool is_orthonormal;
};
CosineForm cosine_form(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Term x = as_inexact(term(b, args[0]));
  if (attrs.integer("type", 2) != 2) throw_user_error("{}: Only DCT type 2 is implemented.", op.name);
  const std::string norm = attrs.has("norm") ? attrs.string("norm") : "backward";
  if (norm != "backward" && norm != "ortho") throw_user_error("{}: norm='{}' is not implemented", op.name, norm);
  std::vector<int> axes;
  const std::string_view name = attrs.has("axes") ? "axes" : "axis";
  if (attrs.has(name))
    for (std::int64_t axis : integer_list_of(attrs, name)) axes.push_back(normalized_axis(op.name, axis, x.rank()));
  else if (op.name.ends_with("n"))
    for (int d = 0; d < x.rank(); ++d) axes.push_back(d);
  else
    axes.push_back(normalized_axis(op.name, -1, x.rank()));
  if (attrs.has("n")) {
    const std::int64_t more = attrs.integer("n") - x.size(axes[0]);
    std::vector<std::int64_t> padding(3 * std::size_t(x.rank()), 0);
    padding[3 * std::size_t(axes[0]) + 1] = more;
    x = {b, b.emit1(kPad, {x.id(), scalar_constant(b, x.dtype(), 0.0)}, Attrs{{"padding", padding}})};
  }
  return {x, axes, norm == "ortho"};
}

Term turns_along(const Term& x, int axis) { return along(quarter_turns(x.builder(), x.dtype(), x.size(axis)), axis, x.rank()); }
Term cosines(const Term& x, int axis) {
  return 2.0 * call("real", call("fft.fft", interleaved(x, axis), Attrs{{"axis", std::int64_t(axis)}}) * turns_along(x, axis));
}
// Along two axes by one complex transform, as JAX.
Term cosines(const Term& x, int first, int second) {
  const Term parts = interleaved(interleaved(x, first), second);
  const Term spectrum = call("fft.fftn", parts, Attrs{{"axes", std::vector<std::int64_t>{first, second}}});
  const Attrs axis{{"axis", std::int64_t(second)}};
  const Term from_end = call("roll", call("flip", spectrum, axis), Attrs{{"shift", std::int64_t(1)}, {"axis", std::int64_t(second)}});
  const Term turns = turns_along(x, second);
  return 2.0 * call("real", turns_along(x, first) * (turns * spectrum + call("conj", turns) * from_end));
}
// Of complex signals each part is transformed alone.
template <Values (*kExpand)(GraphBuilder&, const OpDef&, Args, const Attrs&)>
Values of_parts(GraphBuilder& b, const OpDef& op, const Term& x, const Attrs& attrs) {
  auto part = [&](const char* name) { return Term(b, kExpand(b, op, std::vector<Arg>{call(name, x).id()}, attrs)[0]); };
  const Term real = part("real");
  return {call(b, "complex", {real, part("imag")}).id()};
}
Values expand_dct(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  if (const Term x = term(b, args[0]); is_complex(x.dtype())) return of_parts<expand_dct>(b, op, x, attrs);
  CosineForm form = cosine_form(b, op, args, attrs);
  for (std::size_t i = 0; i < form.axes.size(); i += 2) {
    const bool is_last = i + 1 == form.axes.size();
    form.x = is_last ? cosines(form.x, form.axes[i]) : cosines(form.x, form.axes[i], form.axes[i + 1]);
    if (!form.is_orthonormal) continue;
    form.x = orthonormal(form.x, form.axes[i]);
    if (!is_last) form.x = orthonormal(form.x, form.axes[i + 1]);
  }
  return {form.x.id()};
}
Values expand_idct(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  if (const Term x = term(b, args[0]); is_complex(x.dtype())) return of_parts<expand_idct>(b, op, x, attrs);
  CosineForm form = cosine_form(b, op, args, attrs);
  for (int axis : form.axes) {
    Term x = orthonormal(form.is_orthonormal ? form.x : orthonormal(form.x, axis), axis);
    const DType real = x.dtype();
    x = converted(x, complex_dtype(real)) / along(quarter_turns(b, real, x.size(axis)), axis, x.rank()) * (2 * double(x.size(axis)));
    form.x = deinterleaved(call("real", call("fft.ifft", x, Attrs{{"axis", std::int64_t(axis)}})), axis);
  }
  return {form.x.id()};
}

constexpr AttrDef kModeAttrs[] = {{"mode", Kind::kString, false, "full (the default), same as the first, or valid: where both lie"}};
constexpr AttrDef kType = {"type", Kind::kInteger, false, "2, the only one"};
constexpr AttrDef kNorm = {"norm", Kind::kString, false, "backward (the default) or ortho"};
constexpr AttrDef kDctAttrs[] = {kType,
                                 {"n", Kind::kInteger, false, "the length, filled up with zeros; as it is by default"},
                                 {"axis", Kind::kInteger, false, "the axis; the last by default"},
                                 kNorm};
constexpr AttrDef kDctnAttrs[] = {kType, {"axes", Kind::kScalarOrIntegers, false, "the axes; all by default"}, kNorm};

}  // namespace

extern const OpDef kSignalConvolve, kFftconvolve, kDct, kIdct, kDctn, kIdctn;

const OpDef kSignalConvolve =
    composite_of({"signal.convolve", "The convolution of two arrays of any dimensions.", expand_convolve, 2, 2, kModeAttrs});
const OpDef kFftconvolve =
    composite_of({"signal.fftconvolve", "The convolution of two arrays, by Fourier transforms.", expand_fftconvolve, 2, 2, kModeAttrs});
const OpDef kDct = composite_of({"fft.dct", "The cosine transform of type 2 along an axis.", expand_dct, 1, 1, kDctAttrs});
const OpDef kIdct = composite_of({"fft.idct", "The inverse of dct.", expand_idct, 1, 1, kDctAttrs});
const OpDef kDctn = composite_of({"fft.dctn", "The cosine transform over several axes.", expand_dct, 1, 1, kDctnAttrs});
const OpDef kIdctn = composite_of({"fft.idctn", "The inverse of dctn.", expand_idct, 1, 1, kDctnAttrs});

}  // namespace shardlab::ops
