// jax.image's resize and scale_and_translate, jax.scipy.ndimage's map_coordinates: values between an array's elements.
#include <cmath>
#include <limits>

#include "runtime/ops/compose.h"
#include "runtime/ops/shapes.h"

namespace shardlab::ops {
namespace {

using Kind = AttrDef::Kind;

// --- Kernels: how much an element counts at a distance x.

Term triangle(const Term& x) { return call(x.builder(), "maximum", {0.0, 1.0 - x}); }

template <int kRadius>
Term lanczos(const Term& x) {
  const Term waves = kRadius * call("sin", M_PI * x) * call("sin", x * (M_PI / kRadius));
  const Term near = where(x > 1e-3, waves / where(x != 0.0, M_PI * M_PI * (x * x), 1.0), 1.0);
  return where(x > double(kRadius), 0.0, near);
}

// Source: Keys, "Cubic convolution interpolation for digital image processing" (1981); its a is a half, or 3/4 as OpenCV has it.
template <int kQuarters>
Term cubic(const Term& x) {
  constexpr double a = -0.25 * kQuarters;
  const Term near = (((a + 2) * x - (a + 3)) * x) * x + 1.0, far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return where(x >= 2.0, 0.0, where(x >= 1.0, far, near));
}

struct Method {
  std::string_view names[4];
  Term (*kernel)(const Term&);  // nothing: overlaps of areas, or the nearest element
  std::int64_t edges = 0;       // how many elements beyond an edge are taken for the last one
};
constexpr Method kMethods[] = {{{"nearest"}, nullptr},
                               {{"linear", "bilinear", "trilinear", "triangle"}, triangle},
                               {{"lanczos3"}, lanczos<3>},
                               {{"lanczos5"}, lanczos<5>},
                               {{"cubic", "bicubic", "tricubic"}, cubic<2>},
                               {{"cubic-pytorch", "bicubic-pytorch"}, cubic<3>, 2},
                               {{"area"}, nullptr}};
const Method& method_of(const OpDef& op, const Attrs& attrs, bool antialias) {
  const std::string given = attrs.string("method");
  for (const Method& method : kMethods)
    for (std::string_view name : method.names) {
      if (name.empty() || name != given) continue;
      return method.edges > 0 && antialias ? method_of(op, Attrs{{"method", std::string("cubic")}}, true) : method;
    }
  throw_user_error("{}: Unknown resize method \"{}\"", op.name, given);
}

// [elements, places]: how much each element counts at each place of the result. Of real numbers of the scale's dtype.
Term weights_of(const Method& method, std::int64_t size, std::int64_t places, const Term& scale, const Term& translation, bool antialias) {
  GraphBuilder& b = scale.builder();
  const DType dtype = scale.dtype();
  const Term inverse = 1.0 / scale, place = numbers(b, dtype, places);
  const Term at = (place + 0.5) * inverse - translation * inverse - 0.5;
  const bool is_area = method.kernel == nullptr;
  const std::int64_t edges = antialias ? 0 : method.edges;
  const Term element = expanded(numbers(b, dtype, size + 2 * edges) - double(edges), 1);
  Term weights = at;
  if (is_area) {
    const Term start = place * inverse - translation * inverse;
    const Term low = call(b, "maximum", {expanded(start, 0), element}),
               high = call(b, "minimum", {expanded(start + inverse, 0), element + 1.0});
    weights = call(b, "maximum", {0.0, high - low});
  } else {
    const Term distance = call("abs", expanded(at, 0) - element);
    weights = method.kernel(antialias ? distance / call(b, "maximum", {inverse, 1.0}) : distance);
  }
  if (edges > 0) {
    const Term inside = call(b, "clip", {element, 0.0, double(size - 1)});
    const Term is_its = expanded(numbers(b, dtype, size), 1) == reshaped(inside, {1, size + 2 * edges});
    weights = call(b, "matmul", {converted(is_its, dtype), weights});
  }
  const Term total = summed(weights, {0}, true);
  weights =
      where(call("abs", total) > 1000 * double(std::numeric_limits<float>::epsilon()), weights / where(total != 0.0, total, 1.0), 0.0);
  if (edges > 0) return weights;
  return where(expanded((at >= -0.5) & (at <= double(size) - 0.5), 0), weights, 0.0);
}

// Each of these dimensions multiplied by its weights.
Term resampled(const OpDef& op, const Term& x, const Shape& shape, const std::vector<std::int64_t>& dims, const Method& method,
               const std::vector<Term>& scales, const std::vector<Term>& translations, bool antialias) {
  constexpr int kRankMax = 26;
  if (x.rank() + int(dims.size()) > kRankMax)
    throw_user_error("{}: got an array of {} dimensions, more than {}", op.name, x.rank(), kRankMax / 2);
  auto letter = [](std::int64_t d) { return char('a' + d); };
  std::string subscripts, out;
  for (int d = 0; d < x.rank(); ++d) out += letter(d);
  subscripts = out;
  std::vector<Item> operands{x};
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const std::int64_t d = dims[i];
    const Term weights = weights_of(method, x.size(int(d)), shape[std::size_t(d)], scales[i], translations[i], antialias);
    operands.emplace_back(converted(weights, x.dtype()));
    subscripts += fmt::format(",{}{}", letter(d), letter(x.rank() + std::int64_t(i)));
    out[std::size_t(d)] = letter(x.rank() + std::int64_t(i));
  }
  return call(x.builder(), "einsum", operands, Attrs{{"subscripts", subscripts + "->" + out}});
}

Shape wanted_shape(const OpDef& op, const Term& x, const Attrs& attrs) {
  const Shape shape = integer_list_of(attrs, "shape");
  if (int(shape.size()) != x.rank())
    throw_user_error("{}: shape must have length equal to the number of dimensions of x;  {} vs {}", op.name, text_of(shape),
                     text_of(x.shape()));
  check_shape(op.name, shape);
  return shape;
}

Term nearest(Term x, const Shape& shape) {
  for (int d = 0; d < x.rank(); ++d) {
    const std::int64_t size = x.size(d), places = shape[std::size_t(d)];
    if (size == places) continue;
    const Term at = (numbers(x.builder(), DType::kFloat32, places) + 0.5) * double(size) / double(places);
    x = taken(x, converted(call("floor", at), DType::kInt32), d);
  }
  return x;
}

Values expand_resize(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const bool antialias = attrs.flag("antialias", true);
  Term x = term(b, args[0]);
  const Shape shape = wanted_shape(op, x, attrs);
  const Method& method = method_of(op, attrs, antialias);
  if (method.names[0] == "nearest") return {nearest(x, shape).id()};
  x = as_inexact(x);
  std::vector<std::int64_t> dims;
  std::vector<Term> scales, translations;
  const DType dtype = dtype_or(b, {}, WeakKind::kReal);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const std::int64_t from = x.size(int(d));
    if (from == shape[d]) continue;
    dims.push_back(std::int64_t(d));
    scales.emplace_back(b, scalar_constant(b, dtype, shape[d] == 0 ? 1.0 : double(shape[d]) / double(from)));
    translations.emplace_back(b, scalar_constant(b, dtype, 0.0));
  }
  return {dims.empty() ? x.id() : resampled(op, x, shape, dims, method, scales, translations, antialias).id()};
}

Values expand_scale_and_translate(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const bool antialias = attrs.flag("antialias", true);
  const Term x = as_inexact(term(b, args[0]));
  const Shape shape = wanted_shape(op, x, attrs);
  const Method& method = method_of(op, attrs, antialias);
  if (method.names[0] == "nearest")
    throw_user_error("{}: Nearest neighbor resampling is not currently supported for scale_and_translate.", op.name);
  std::vector<std::int64_t> dims = integer_list_of(attrs, "spatial_dims");
  std::vector<Term> both = promoted_terms(b, args.subspan(1)), scales, translations;
  for (Term& each : both) {
    each = as_inexact(each);
    if (each.shape() != Shape{std::int64_t(dims.size())})
      throw_user_error("{}: wanted a scale and a translation for each of the {} spatial dimensions, got {}", op.name, dims.size(),
                       each.text());
  }
  for (std::size_t i = 0; i < dims.size(); ++i) {
    dims[i] = normalized_axis(op.name, dims[i], x.rank());
    scales.push_back(part(both[0], 0, std::int64_t(i)));
    translations.push_back(part(both[1], 0, std::int64_t(i)));
  }
  return {dims.empty() ? x.id() : resampled(op, x, shape, dims, method, scales, translations, antialias).id()};
}

// --- map_coordinates

// Indices outside as some within. Source: jax.scipy.ndimage.
Term mirrored(const Term& index, std::int64_t size) {
  const std::int64_t half = size - 1;
  return call("abs", call(index.builder(), "remainder", {index + half, 2 * half}) - half);
}
Term within(const OpDef& op, const std::string& mode, const Term& index, std::int64_t size) {
  GraphBuilder& b = index.builder();
  if (mode == "constant" || mode == "nearest") return call(b, "clip", {index, 0, size - 1});
  if (mode == "wrap") return call(b, "remainder", {index, size});
  if (mode == "mirror") return size == 1 ? filled_like(index, 0) : mirrored(index, size);
  if (mode == "reflect") return call(b, "floor_divide", {mirrored(index * 2 + 1, 2 * size + 1) - 1, 2});
  throw_user_error(
      "{}: jax.scipy.ndimage.map_coordinates does not yet support mode {}. Currently supported modes are constant, nearest, wrap, mirror, "
      "reflect.",
      op.name, mode);
}

struct Corner {
  Term index;                  // along one dimension
  std::optional<Term> weight;  // 1 where there is none
};
std::vector<Corner> corners_of(const Term& at, bool is_linear) {
  if (!is_linear) return {{converted(is_floating(at.dtype()) ? call("round", at) : at, DType::kInt32), std::nullopt}};
  const Term real = as_inexact(at), low = call("floor", real), above = real - low, index = converted(low, DType::kInt32);
  return {{index, 1.0 - above}, {index + 1, above}};
}

Values expand_map_coordinates(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const Term x = term(b, args[0]);
  const std::int64_t order = attrs.integer("order");
  const std::string mode = attrs.has("mode") ? attrs.string("mode") : "constant";
  if (order != 0 && order != 1) throw_user_error("{}: jax.scipy.ndimage.map_coordinates currently requires order<=1", op.name);
  if (int(args.size()) - 1 != x.rank())
    throw_user_error("{}: coordinates must be a sequence of length input.ndim, but {} != {}", op.name, args.size() - 1, x.rank());
  const double beyond = attrs.has("cval") ? attrs.number("cval") : 0;
  // Corner by corner: the flat place, its weight, and whether it lies within.
  struct Sum {
    std::optional<Term> place, weight, is_within;
  };
  std::vector<Sum> sums{{}};
  auto with = [](std::optional<Term>& held, const std::optional<Term>& more, auto combine) {
    if (more) held = held ? combine(*held, *more) : *more;
  };
  for (int d = 0; d < x.rank(); ++d) {
    std::vector<Sum> next;
    const std::int64_t size = x.size(d);
    for (const Sum& sum : sums)
      for (const Corner& corner : corners_of(term(b, args[std::size_t(d) + 1]), order == 1)) {
        Sum more = sum;
        const Term index = within(op, mode, corner.index, size);
        more.place = more.place ? *more.place * size + index : index;
        with(more.weight, corner.weight, [](const Term& l, const Term& r) { return l * r; });
        if (mode == "constant")
          with(more.is_within, (corner.index >= 0) & (corner.index < size), [](const Term& l, const Term& r) { return l & r; });
        next.push_back(more);
      }
    sums = std::move(next);
  }
  std::optional<Term> total;
  for (const Sum& sum : sums) {
    Term value = sum.place ? taken(raveled(x), *sum.place, 0) : x;
    if (sum.is_within) value = where(*sum.is_within, value, Term(b, scalar_constant(b, x.dtype(), beyond)));
    if (sum.weight) value = *sum.weight * value;
    total = total ? *total + value : value;
  }
  if (!is_inexact(x.dtype()) && is_floating(total->dtype())) total = call("round", *total);
  return {converted(*total, x.dtype()).id()};
}

constexpr AttrDef kShape = {"shape", Kind::kIntegers, true, "the shape of the result"};
constexpr AttrDef kMethod = {"method", Kind::kString, true,
                             "nearest (of resize), linear, cubic, lanczos3, lanczos5, cubic-pytorch or area"};
constexpr AttrDef kAntialias = {"antialias", Kind::kFlag, false,
                                "whether elements between are counted where it shrinks; by default they are"};
constexpr AttrDef kResizeAttrs[] = {kShape, kMethod, kAntialias};
constexpr AttrDef kScaleAttrs[] = {
    kShape, {"spatial_dims", Kind::kScalarOrIntegers, true, "the dimensions that change"}, kMethod, kAntialias};
constexpr AttrDef kMapAttrs[] = {
    {"order", Kind::kInteger, true, "0: the nearest element, 1: linear between them"},
    {"mode", Kind::kString, false, "of what lies outside: constant (the default), nearest, wrap, mirror, reflect"},
    {"cval", Kind::kNumber, false, "what stands outside where that is constant; 0 by default"}};

}  // namespace

extern const OpDef kImageResize, kScaleAndTranslate, kMapCoordinates;

const OpDef kImageResize = composite_of({"image.resize", "An image in another size, interpolated.", expand_resize, 1, 1, kResizeAttrs});
const OpDef kScaleAndTranslate =
    composite_of({"image.scale_and_translate", "An image scaled and moved along some dimensions: args [image, scale, translation].",
                  expand_scale_and_translate, 3, 3, kScaleAttrs});
const OpDef kMapCoordinates =
    composite_of({"ndimage.map_coordinates", "An array's values at coordinates: args [x, coordinates of each dimension].",
                  expand_map_coordinates, 1, -1, kMapAttrs});

}  // namespace shardlab::ops
