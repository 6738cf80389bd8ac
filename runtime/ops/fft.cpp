// fft: the discrete Fourier transform along one axis; and jnp.fft's functions, which are made of it.
//
// A transform over several axes is one node an axis: each wants only its own axis whole, so a cut array moves between them by
// all-to-alls (slabs or pencils, as the planner finds cheapest) and is never gathered.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "runtime/ops/derive.h"
#include "runtime/ops/fft_kernel.h"
#include "runtime/ops/moves.h"
#include "runtime/ops/registry.h"

namespace shardlab::ops {

extern const OpDef kFftAxis;

namespace {

constexpr std::string_view kKinds[] = {"fft", "ifft", "rfft", "irfft"};
constexpr std::int64_t kLengthMax = std::int64_t(1) << 30;

FftKind kind_of(const OpDef& op, const Attrs& attrs) {
  const AttrValue* value = attrs.find("kind");
  const std::string* name = value ? std::get_if<std::string>(value) : nullptr;
  auto found = name ? std::find(std::begin(kKinds), std::end(kKinds), *name) : std::end(kKinds);
  if (found == std::end(kKinds)) throw_user_error("{}: kind must be fft, ifft, rfft or irfft, got {}", op.name, name ? *name : "none");
  return FftKind(found - std::begin(kKinds));
}

std::vector<TensorType> infer(const OpDef& op, const std::vector<TensorType>& types, const Attrs& attrs) {
  FftKind kind = kind_of(op, attrs);
  bool takes_real = kind == FftKind::kRealForward;
  DType dtype = types[0].dtype;
  bool fits = takes_real ? dtype == DType::kFloat32 || dtype == DType::kFloat64 : is_complex(dtype);
  if (!fits)
    throw_user_error("{}: {} takes {}, got {}; convert the operand", op.name, kKinds[std::size_t(kind)],
                     takes_real ? "float32 or float64" : "complex64 or complex128", name_of(dtype));
  if (!attrs.has("axis") || !attrs.has("length")) throw_user_error("{}: attributes 'axis' and 'length' are needed", op.name);
  std::int64_t axis = attrs.integer("axis"), length = attrs.integer("length");
  if (axis < 0 || axis >= types[0].rank())
    throw_user_error("{}: axis {} is out of bounds for {}; use an axis from 0 to {}", op.name, axis, types[0].text(), types[0].rank() - 1);
  if (length < 1 || length > kLengthMax) throw_user_error("{}: Shape should be positive. Got a length of {}", op.name, length);
  TensorType result = types[0];
  result.dtype = kind == FftKind::kRealForward ? complex_dtype(dtype) : kind == FftKind::kRealInverse ? real_dtype(dtype) : dtype;
  result.shape[std::size_t(axis)] = kind == FftKind::kRealForward ? length / 2 + 1 : length;
  return {result};
}

// The transformed dimension is wanted whole; where its size changes nothing propagates along it.
FactorRule rule(const std::vector<TensorType>& operands, const std::vector<TensorType>& results, const Attrs& attrs) {
  FactorRule rule(operands, results);
  int axis = int(attrs.integer("axis"));
  for (int d = 0; d < operands[0].rank(); ++d) {
    std::int64_t from = operands[0].shape[std::size_t(d)], to = results[0].shape[std::size_t(d)];
    if (d != axis) {
      rule.add(from, {d}, {d});
    } else if (from == to) {
      rule.add(from, {d}, {d}, FactorKind::kReplicate);
    } else {
      rule.add(from, {d}, {-1}, FactorKind::kReplicate, true);
      rule.add(to, {-1}, {d}, FactorKind::kReplicate, true);
    }
  }
  return rule;
}

void kernel(const KernelArgs& args) {
  transform_along(args.operands[0], args.results[0], kind_of(kFftAxis, args.attrs), args.attrs.integer("axis"),
                  args.attrs.integer("length"));
}

std::vector<Sample> samples() {
  auto sample = [](DType dtype, Shape shape, const char* kind, std::int64_t axis, std::int64_t length) {
    return Sample{{{dtype, std::move(shape)}}, Attrs{{"kind", std::string(kind)}, {"axis", axis}, {"length", length}}};
  };
  return {sample(DType::kComplex64, {4, 6}, "fft", 0, 4),     sample(DType::kComplex64, {4, 6}, "fft", 1, 6),
          sample(DType::kComplex64, {2, 7, 4}, "ifft", 1, 7), sample(DType::kComplex128, {6, 16}, "fft", 1, 16),
          sample(DType::kFloat32, {4, 6}, "rfft", 1, 6),      sample(DType::kFloat32, {7, 12}, "rfft", 0, 7),
          sample(DType::kFloat64, {4, 5}, "rfft", 1, 5),      sample(DType::kComplex64, {4, 4}, "irfft", 1, 6),
          sample(DType::kComplex64, {4, 12}, "irfft", 0, 7),  sample(DType::kComplex64, {1, 6}, "fft", 0, 1),
          sample(DType::kComplex64, {0, 6}, "ifft", 1, 6),    sample(DType::kComplex128, {3, 4}, "irfft", 1, 7)};
}

constexpr AttrDef kAttrs[] = {{"kind", AttrDef::Kind::kString, true, "fft, ifft, rfft or irfft; the inverse ones divide by the length"},
                              {"axis", AttrDef::Kind::kInteger, true, "the axis to transform"},
                              {"length", AttrDef::Kind::kInteger, true,
                               "of the signal, for irfft that of the result; longer rows are cut, shorter ones filled with zeros"}};

// ---- jnp.fft

bool is_inverse(FftKind kind) { return kind == FftKind::kInverse || kind == FftKind::kRealInverse; }

ValueId complex_value(GraphBuilder& b, ValueId x) {
  DType dtype = b.type(x).dtype;
  if (is_complex(dtype)) return x;
  return converted(b, x, complex_dtype(inexact(dtype)));
}

ValueId real_value(GraphBuilder& b, const OpDef& op, ValueId x) {
  DType dtype = b.type(x).dtype;
  if (is_complex(dtype)) throw_user_error("{}: only real valued inputs supported for rfft, got {}; use fft", op.name, name_of(dtype));
  if (dtype == DType::kFloat32 || dtype == DType::kFloat64) return x;
  return converted(b, x, is_floating(dtype) ? DType::kFloat32 : inexact(dtype));
}

// The factor that "norm" asks for beyond what the transform itself scales by.
double norm_factor(const OpDef& op, const Attrs& attrs, bool inverse, double count) {
  std::string norm = attrs.has("norm") ? attrs.string("norm") : "backward";
  if (norm == "backward") return 1;
  if (norm == "ortho") return inverse ? std::sqrt(count) : 1 / std::sqrt(count);
  if (norm == "forward") return inverse ? count : 1 / count;
  throw_user_error("Invalid norm value {}; should be \"backward\", \"ortho\" or \"forward\". ({})", norm, op.name);
}

// The axes and lengths of a call: by default all axes, or the last two, or the last one.
struct Request {
  std::vector<int> axes;
  std::vector<std::int64_t> lengths;  // of the signals; -1: as it is
};

Request request_of(const OpDef& op, const Attrs& attrs, int rank, int default_axes) {
  Request request;
  std::string_view axes_name = attrs.has("axes") ? "axes" : "axis", size_name = attrs.has("s") ? "s" : "n";
  std::vector<std::int64_t> sizes = attrs.has(size_name) ? integer_list_of(attrs, size_name) : std::vector<std::int64_t>{};
  if (attrs.has(axes_name)) {
    for (std::int64_t axis : integer_list_of(attrs, axes_name)) request.axes.push_back(normalized_axis(op.name, axis, rank));
  } else {
    int count = !sizes.empty() ? int(sizes.size()) : default_axes < 0 ? rank : default_axes;
    if (count > rank) throw_user_error("{}: {} axes are to be transformed, the array has {}", op.name, count, rank);
    for (int d = rank - count; d < rank; ++d) request.axes.push_back(d);
  }
  std::vector<int> sorted = request.axes;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    throw_user_error("{} does not support repeated axes. Got axes {}.", op.name, text_of(integers_of(request.axes)));
  if (!sizes.empty() && sizes.size() != request.axes.size())
    throw_user_error("{}: Shape and axes have different lengths: {} sizes for {} axes", op.name, sizes.size(), request.axes.size());
  for (std::int64_t size : sizes)
    if (size < 1 || size > kLengthMax) throw_user_error("{}: Shape should be positive. Got a length of {}", op.name, size);
  request.lengths = sizes;
  request.lengths.resize(request.axes.size(), -1);
  return request;
}

ValueId one_axis(GraphBuilder& b, const OpDef& op, ValueId x, FftKind kind, int axis, std::int64_t length) {
  std::int64_t size = b.shape(x)[std::size_t(axis)];
  bool real_inverse = kind == FftKind::kRealInverse;
  if (length < 0) length = real_inverse ? 2 * (size - 1) : size;
  if (length < 1) throw_user_error("{}: Shape should be positive. Got a length of {}", op.name, length);
  return b.emit1(kFftAxis, {x}, Attrs{{"kind", std::string(kKinds[std::size_t(kind)])}, {"axis", std::int64_t(axis)}, {"length", length}});
}

// Cut, or filled up with zeros, to the length of a signal; as ops of their own, as in JAX, so that the result lies as what is read of it.
ValueId fitted(GraphBuilder& b, ValueId x, int axis, std::int64_t length) {
  Shape shape = b.shape(x);
  std::int64_t size = shape[std::size_t(axis)];
  if (length <= size) return slice_in_dim(b, x, axis, {0, length});
  shape[std::size_t(axis)] = length - size;
  std::vector<std::int64_t> padding(3 * shape.size(), 0);
  padding[3 * std::size_t(axis) + 1] = length - size;
  return b.emit1(kPad, {x, scalar_constant(b, b.type(x).dtype, 0.0)}, Attrs{{"padding", padding}});
}

// A real transform's own axis is the last of the list: forward it comes first, inverse it comes last.
template <FftKind kKind, int kDefaultAxes>
Values expand_fft(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  Request request = request_of(op, attrs, b.type(x).rank(), kDefaultAxes);
  constexpr bool kReal = kKind == FftKind::kRealForward || kKind == FftKind::kRealInverse;
  constexpr FftKind kOthers = kKind == FftKind::kForward || kKind == FftKind::kRealForward ? FftKind::kForward : FftKind::kInverse;
  if (request.axes.empty()) {
    if (kReal) throw_user_error("{} requires at least one axis to transform", op.name);
    return {complex_value(b, x)};
  }
  double count = 1;
  std::size_t last = request.axes.size() - 1;
  for (std::size_t i = 0; i < request.axes.size(); ++i)
    if (request.lengths[i] >= 0) x = fitted(b, x, request.axes[i], fft_read_size(i == last ? kKind : kOthers, request.lengths[i]));
  std::optional<GraphBuilder::OpenCall> open(std::in_place, b);  // JAX jits lax.fft
  x = kKind == FftKind::kRealForward ? real_value(b, op, x) : complex_value(b, x);
  auto run = [&](std::size_t i, FftKind kind) {
    x = one_axis(b, op, x, kind, request.axes[i], request.lengths[i]);
    const Node& node = b.graph().nodes.back();
    count *= double(node.attrs.integer("length"));
  };
  if (kKind == FftKind::kRealForward) run(last, kKind);
  for (std::size_t i = last + (kReal ? 0 : 1); i-- > 0;) run(i, kOthers);
  if (kKind == FftKind::kRealInverse) run(last, kKind);
  open.reset();
  double factor = norm_factor(op, attrs, is_inverse(kKind), count);
  return {factor == 1 ? x : binary(b, kMul, x, factor)};
}

// [0, 1, …, -1] / (n d), of which rfftfreq has the half that is not negative.
template <bool kReal>
Values expand_freq(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  auto number = [&](std::size_t index, std::string_view name, double otherwise) {
    if (args.size() <= index) return attrs.has(name) ? attrs.number(name) : otherwise;
    const Scalar* scalar = std::get_if<Scalar>(&args[index]);
    if (scalar == nullptr || scalar->is_complex())
      throw_user_error("{}: {} must be a real number known when the program is built", op.name, name);
    return std::visit([](auto value) { return element_from<double>(value); }, scalar->value);
  };
  double count = number(0, "n", 0), spacing = number(1, "d", 1);
  if (!(count >= 1 && count <= double(kLengthMax)) || count != std::floor(count))
    throw_user_error("{}: the n argument must be a positive integer, got {}", op.name, count);
  std::int64_t n = std::int64_t(count), made = kReal ? n / 2 + 1 : n;
  DType dtype = dtype_or(b, attrs, WeakKind::kReal);
  if (!is_floating(dtype)) throw_user_error("{}: dtype {} is no float", op.name, name_of(dtype));
  ValueId index = b.emit1(kIota, {}, Attrs{{"dtype", DType::kInt32}, {"shape", Shape{made}}, {"dimension", std::int64_t(0)}});
  if (!kReal) {
    ValueId is_low = binary(b, kLess, index, double((n + 1) / 2));
    index = b.emit1(kSelect, {is_low, index, binary(b, kSub, index, double(n))});
  }
  return {binary(b, kDiv, converted(b, index, dtype), count * spacing)};
}

// An operand cut, or filled with zeros, to `size` along an axis.
ValueId resized(GraphBuilder& b, ValueId x, int axis, std::int64_t size) {
  Shape shape = b.shape(x);
  std::int64_t have = shape[std::size_t(axis)];
  if (have == size) return x;
  Attrs attrs;
  if (size < have) {
    shape[std::size_t(axis)] = size;
    attrs = {{"start", Shape(shape.size(), 0)}, {"limit", shape}, {"stride", Shape(shape.size(), 1)}};
  } else {
    Shape padding(3 * shape.size(), 0);
    padding[3 * std::size_t(axis) + 1] = size - have;
    attrs = {{"padding", padding}};
  }
  const OpDef* op = find_op(size < have ? "slice" : "pad");
  SL_CHECK(op != nullptr, "the registry has no slice or pad");
  const std::array<Arg, 1> args = {x};
  return op->expand(b, *op, args, attrs).at(0);
}

// A transform is linear; its transpose is the same transform with other places scaled (jax.lax.fft's rules).
Values fft_jvp(GraphBuilder& b, const JvpArgs& args) { return linear_jvp(b, args); }

// Real inputs and results count each frequency but the first (and for even lengths the last) twice.
ValueId half_spectrum_weights(GraphBuilder& b, const TensorType& type, int axis, std::int64_t length, double edge, double middle) {
  ValueId index = b.emit1(kIota, {}, Attrs{{"dtype", DType::kInt32}, {"shape", type.shape}, {"dimension", std::int64_t(axis)}});
  ValueId is_edge = binary(b, kEqual, index, 0.0);
  if (length % 2 == 0) is_edge = b.emit1(kOr, {is_edge, binary(b, kEqual, index, double(length / 2))});
  return b.emit1(kSelect, {is_edge, filled(b, type, edge), filled(b, type, middle)});
}

Values fft_transpose(GraphBuilder& b, const TransposeArgs& args) {
  ValueId ct = args.cotangents[0];
  FftKind kind = kind_of(args.op, args.attrs);
  int axis = int(args.attrs.integer("axis"));
  std::int64_t length = args.attrs.integer("length");
  const TensorType& from = args.operand_types[0];
  auto emit = [&](ValueId x, FftKind as) {
    return b.emit1(kFftAxis, {x}, Attrs{{"kind", std::string(kKinds[std::size_t(as)])}, {"axis", std::int64_t(axis)}, {"length", length}});
  };
  auto fitted = [&](ValueId x) { return Values{resized(b, x, axis, from.shape[std::size_t(axis)])}; };
  if (kind == FftKind::kForward || kind == FftKind::kInverse) return fitted(emit(ct, kind));
  if (kind == FftKind::kRealForward) {
    // sum over half the spectrum of ct exp(-i w): the inverse real transform of the conjugate, the middle halved, without 1 / length.
    ValueId weights = half_spectrum_weights(b, b.type(ct), axis, length, 1.0, 0.5);
    ValueId signal = emit(b.emit1(kMul, {unary(b, kConj, ct), weights}), FftKind::kRealInverse);
    return fitted(binary(b, kMul, signal, double(length)));
  }
  ValueId spectrum = emit(ct, FftKind::kRealForward);
  ValueId weights = half_spectrum_weights(b, b.type(spectrum), axis, length, 1.0 / double(length), 2.0 / double(length));
  return fitted(unary(b, kConj, b.emit1(kMul, {spectrum, weights})));
}

std::vector<Batched> fft_batch(GraphBuilder& b, const BatchArgs& args) {
  Attrs attrs = args.attrs;
  int dim = args.operands[0].dim;
  attrs.set("axis", std::int64_t(dim_in_batch(int(args.attrs.integer("axis")), dim)));
  return {{b.emit1(args.op, {args.operands[0].value}, attrs), dim}};
}

constexpr AttrDef kNorm = {"norm", AttrDef::Kind::kString, false, "where the scale goes: backward (the default), ortho or forward"};
constexpr AttrDef kOneAttrs[] = {{"axis", AttrDef::Kind::kInteger, false, "the axis; the last by default"},
                                 {"n", AttrDef::Kind::kInteger, false, "the length of the signal; as it is by default"},
                                 kNorm};
constexpr AttrDef kManyAttrs[] = {{"axes", AttrDef::Kind::kScalarOrIntegers, false, "the axes to transform"},
                                  {"axis", AttrDef::Kind::kScalarOrIntegers, false, "the same by another name"},
                                  {"s", AttrDef::Kind::kScalarOrIntegers, false, "the lengths of the signals; as they are by default"},
                                  kNorm};
constexpr AttrDef kFreqAttrs[] = {{"n", AttrDef::Kind::kInteger, false, "the length of the signal, where it is no operand"},
                                  {"d", AttrDef::Kind::kNumber, false, "the spacing of samples; 1 by default"},
                                  {"dtype", AttrDef::Kind::kDType, false, "float32 by default"}};

constexpr OpDef transform_op(std::string_view name, std::string_view doc, std::span<const AttrDef> attrs,
                             Values (*expand)(GraphBuilder&, const OpDef&, Args, const Attrs&)) {
  return {.name = name, .doc = doc, .attrs = attrs, .weakness = Weakness::kNever, .expand = expand};
}

}  // namespace

const OpDef kFftAxis = {.name = "fft_axis",
                        .doc = "The discrete Fourier transform along one axis; the inverse ones divide by the length.",
                        .attrs = kAttrs,
                        .weakness = Weakness::kNever,
                        .expand = expand_plain,
                        .infer = infer,
                        .rule = rule,
                        .kernel = kernel,
                        .jvp = fft_jvp,
                        .transpose = fft_transpose,
                        .batch = fft_batch,
                        .samples = samples};

extern const OpDef kFft, kIfft, kRfft, kIrfft, kFft2, kIfft2, kRfft2, kIrfft2, kFftn, kIfftn, kRfftn, kIrfftn, kFftfreq, kRfftfreq;

const OpDef kFft = transform_op("fft.fft", "The discrete Fourier transform along an axis.", kOneAttrs, expand_fft<FftKind::kForward, 1>);
const OpDef kIfft = transform_op("fft.ifft", "The inverse of fft along an axis.", kOneAttrs, expand_fft<FftKind::kInverse, 1>);
const OpDef kRfft = transform_op("fft.rfft", "The half of the Fourier transform of a real signal that says it all.", kOneAttrs,
                                 expand_fft<FftKind::kRealForward, 1>);
const OpDef kIrfft = transform_op("fft.irfft", "The inverse of rfft: a real signal, of even length unless told by n.", kOneAttrs,
                                  expand_fft<FftKind::kRealInverse, 1>);
const OpDef kFft2 =
    transform_op("fft.fft2", "The Fourier transform over two axes, the last by default.", kManyAttrs, expand_fft<FftKind::kForward, 2>);
const OpDef kIfft2 = transform_op("fft.ifft2", "The inverse of fft2.", kManyAttrs, expand_fft<FftKind::kInverse, 2>);
const OpDef kRfft2 =
    transform_op("fft.rfft2", "The Fourier transform of real numbers over two axes.", kManyAttrs, expand_fft<FftKind::kRealForward, 2>);
const OpDef kIrfft2 = transform_op("fft.irfft2", "The inverse of rfft2.", kManyAttrs, expand_fft<FftKind::kRealInverse, 2>);
const OpDef kFftn =
    transform_op("fft.fftn", "The Fourier transform over several axes, all by default.", kManyAttrs, expand_fft<FftKind::kForward, -1>);
const OpDef kIfftn = transform_op("fft.ifftn", "The inverse of fftn.", kManyAttrs, expand_fft<FftKind::kInverse, -1>);
const OpDef kRfftn = transform_op("fft.rfftn", "The Fourier transform of real numbers over several axes.", kManyAttrs,
                                  expand_fft<FftKind::kRealForward, -1>);
const OpDef kIrfftn = transform_op("fft.irfftn", "The inverse of rfftn.", kManyAttrs, expand_fft<FftKind::kRealInverse, -1>);
const OpDef kFftfreq = {.name = "fft.fftfreq",
                        .doc = "The frequencies of the elements of fft: args n or n, d; in cycles a unit of the spacing d.",
                        .operands_min = 0,
                        .operands_max = 2,
                        .attrs = kFreqAttrs,
                        .weakness = Weakness::kNever,
                        .expand = expand_freq<false>};
const OpDef kRfftfreq = {.name = "fft.rfftfreq",
                         .doc = "The frequencies of the elements of rfft: args n or n, d.",
                         .operands_min = 0,
                         .operands_max = 2,
                         .attrs = kFreqAttrs,
                         .weakness = Weakness::kNever,
                         .expand = expand_freq<true>};

}  // namespace shardlab::ops
