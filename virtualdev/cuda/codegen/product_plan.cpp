// Products and transforms, for which there are libraries: dot_general, convolution, Fourier transforms.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "runtime/ops/conv_dims.h"
#include "runtime/ops/fft_rows.h"
#include "virtualdev/cuda/codegen/node_plan.h"

namespace shardlab::cuda {
namespace {

// One product of matrices for each index of a batch; strides in elements.
struct MatrixCall {
  DType dtype;
  std::int64_t batch, m, n, k;
  std::int64_t left_batch, left_m, left_k, right_batch, right_k, right_n;
};

void add_matrix(Planner& planner, const MatrixCall& c, int left, int right, int result) {
  Call& call = planner.kernel(fmt::format("matrix_product<{}>(a)", type_name(c.dtype)), {left, right, result},
                              {c.batch * c.m * c.n, c.n, c.k, c.m, c.left_batch, c.left_m, c.left_k, c.right_batch, c.right_k, c.right_n});
  call.dtype = c.dtype;
  if (is_inexact(c.dtype) && c.k > 0) call.kind = Call::Kind::kMatrix;
}

// ---- dot_general

bool has_matrix(const OpDef& op) { return op.name == "dot_general"; }

using Dims = std::vector<int>;

Dims half_of(const std::vector<std::int64_t>& both, bool second) {
  std::size_t half = both.size() / 2;
  return Dims(both.begin() + std::ptrdiff_t(second ? half : 0), both.begin() + std::ptrdiff_t(second ? both.size() : half));
}

Dims others(int rank, const Dims& a, const Dims& b) {
  Dims dims;
  for (int d = 0; d < rank; ++d)
    if (std::find(a.begin(), a.end(), d) == a.end() && std::find(b.begin(), b.end(), d) == b.end()) dims.push_back(d);
  return dims;
}

std::int64_t count_of(const Shape& shape, const Dims& dims) {
  std::int64_t count = 1;
  for (int d : dims) count *= shape[std::size_t(d)];
  return count;
}

// The operand as [batch, first, second]; its own buffer where its dimensions are in that order, or with the last two exchanged.
struct Ordered {
  int buffer;
  std::int64_t batch, first, second;  // strides
};
Ordered ordered(Planner& planner, const ConstView& view, std::size_t index, const Dims& batch, const Dims& first, const Dims& second) {
  const Shape& shape = view.type.shape;
  auto in_order = [&](std::initializer_list<const Dims*> groups) {
    int previous = -1;
    for (const Dims* group : groups)
      for (int d : *group) {
        if (shape[std::size_t(d)] == 1) continue;
        if (d < previous) return false;
        previous = d;
      }
    return true;
  };
  std::int64_t firsts = count_of(shape, first), seconds = count_of(shape, second), size = firsts * seconds;
  if (in_order({&batch, &first, &second})) return {planner.operand(index), size, seconds, 1};
  if (in_order({&batch, &second, &first})) return {planner.operand(index), size, 1, firsts};
  Shape own = strides_of(shape), sizes, strides;
  for (const Dims* group : {&batch, &first, &second})
    for (int d : *group) {
      sizes.push_back(shape[std::size_t(d)]);
      strides.push_back(own[std::size_t(d)]);
    }
  int copy = planner.temporary(view.type.bytes());
  planner.copy_region(sizes, {planner.operand(index), 0, strides}, {copy, 0, strides_of(sizes)}, size_of(view.type.dtype));
  return {copy, size, seconds, 1};
}

void plan_matrix(Planner& planner, const OpDef&, const KernelArgs& args) {
  const ConstView &left = args.operands[0], &right = args.operands[1];
  Dims left_batch = half_of(args.attrs.integers("batch"), false), right_batch = half_of(args.attrs.integers("batch"), true);
  Dims left_contract = half_of(args.attrs.integers("contract"), false), right_contract = half_of(args.attrs.integers("contract"), true);
  Dims left_free = others(left.type.rank(), left_batch, left_contract), right_free = others(right.type.rank(), right_batch, right_contract);
  Ordered a = ordered(planner, left, 0, left_batch, left_free, left_contract);
  Ordered b = ordered(planner, right, 1, right_batch, right_contract, right_free);
  add_matrix(
      planner,
      {left.type.dtype, count_of(left.type.shape, left_batch), count_of(left.type.shape, left_free), count_of(right.type.shape, right_free),
       count_of(left.type.shape, left_contract), a.batch, a.first, a.second, b.batch, b.first, b.second},
      a.buffer, b.buffer, planner.result(0));
}

// ---- convolution

bool has_convolution(const OpDef& op) {
  return op.name == "conv" || op.name == "reduce_window" || op.name == "select_and_gather_add" || op.name == "select_and_scatter_add";
}

void plan_windows(Planner& planner, const KernelArgs& args) {
  const ConstView& in = args.operands[0];
  const MutableView& out = args.results[0];
  const std::string& reducer = args.attrs.string("reducer");
  std::string_view functor = reducer == "sum" ? "Sum" : reducer == "prod" ? "Prod" : reducer == "max" ? "Max" : "Min";
  Shape strides = strides_of(in.type.shape);
  std::vector<std::int64_t> numbers{out.type.elements()};
  auto of = [&](std::string_view name, std::size_t d) { return args.attrs.integers(name)[d]; };
  for (std::size_t d = 0; d < strides.size(); ++d)
    numbers.insert(numbers.end(),
                   {out.type.shape[d], (*out.box)[d].start, of("window_strides", d), of("pads", 2 * d), of("base_dilation", d),
                    of("window_dilation", d), of("window_dimensions", d), (*in.box)[d].start, in.type.shape[d], strides[d]});
  planner.kernel(fmt::format("reduce_window<Window{0}<{1}>, {1}, {2}>(a)", functor, type_name(out.type.dtype), strides.size()),
                 {planner.operand(0), planner.result(0)}, std::move(numbers));
}

void plan_choice(Planner& planner, const OpDef& op, const KernelArgs& args, bool is_gather) {
  const ConstView &in = args.operands[0], &given = args.operands[1];
  const MutableView& out = args.results[0];
  Shape strides = strides_of(in.type.shape), given_strides = strides_of(given.type.shape);
  std::vector<std::int64_t> numbers{out.type.elements()};
  auto of = [&](std::string_view name, std::size_t d) { return args.attrs.integers(name)[d]; };
  for (std::size_t d = 0; d < strides.size(); ++d) {
    numbers.insert(numbers.end(), {out.type.shape[d], (*out.box)[d].start, of("window_strides", d)});
    if (is_gather)
      numbers.insert(numbers.end(), {of("pads", 2 * d), of("base_dilation", d), of("window_dilation", d), of("window_dimensions", d),
                                     (*in.box)[d].start, in.type.shape[d], strides[d]});
    else
      numbers.insert(numbers.end(),
                     {of("window_dilation", d), of("window_dimensions", d), (*given.array)[d], (*in.box)[d].start, strides[d]});
    numbers.insert(numbers.end(), {(*given.box)[d].start, given_strides[d]});
  }
  planner.kernel(fmt::format("{0}<Choose{1}<{2}>, {2}, {3}>(a)", op.name, args.attrs.string("reducer") == "max" ? "Max" : "Min",
                             type_name(out.type.dtype), strides.size()),
                 {planner.operand(1), planner.operand(0), planner.result(0)}, std::move(numbers));
}

constexpr std::int64_t kTileSide = 64;                                   // of kernels/convolve.cuh
constexpr std::int64_t kTiledFeaturesMin = 16, kTiledPositionsMin = 32;  // fewer fill no tile

void plan_convolution(Planner& planner, const OpDef& op, const KernelArgs& args) {
  if (op.name == "reduce_window") return plan_windows(planner, args);
  if (op.name == "select_and_gather_add") return plan_choice(planner, op, args, true);
  if (op.name == "select_and_scatter_add") return plan_choice(planner, op, args, false);
  const ConstView &lhs = args.operands[0], &rhs = args.operands[1];
  const MutableView& out = args.results[0];
  ops::ConvDims dims(args.attrs);
  const Shape& kernel = *rhs.array;
  std::vector<std::int64_t> numbers{out.type.elements()};
  auto add = [&](const Box& box, const Shape& shape, std::int64_t d, bool size_first) {
    std::size_t at = std::size_t(d);
    if (size_first)
      numbers.insert(numbers.end(), {shape[at], box[at].start});
    else
      numbers.insert(numbers.end(), {box[at].start, shape[at]});
    numbers.push_back(strides_of(shape)[at]);
  };
  for (std::size_t d = 0; d < dims.spatial() + 2; ++d) {
    add(*out.box, out.type.shape, dims.out[d], true);
    add(*lhs.box, lhs.type.shape, dims.lhs[d], false);
    add(*rhs.box, rhs.type.shape, dims.rhs[d], false);
  }
  for (std::size_t s = 0; s < dims.spatial(); ++s) {
    ops::ConvWindow window = dims.window(s, kernel);
    numbers.insert(numbers.end(), {window.stride, window.low, window.lhs_dilation, window.rhs_dilation});
  }
  const std::int64_t inputs = dims.groups > 1 ? kernel[std::size_t(dims.rhs[1])] : 0;
  const std::int64_t batch = dims.batch_groups > 1 ? (*lhs.array)[std::size_t(dims.lhs[0])] / dims.batch_groups : 0;
  numbers.insert(numbers.end(), {kernel[std::size_t(dims.rhs[0])] / dims.output_groups(), inputs, batch});
  const DType dtype = out.type.dtype;
  const std::int64_t features = out.type.shape[std::size_t(dims.out[1])], positions = out.type.elements() / features;
  const bool by_tiles = dims.output_groups() == 1 && (dtype == DType::kFloat32 || size_of(dtype) == 2) && is_floating(dtype) &&
                        features >= kTiledFeaturesMin && positions >= kTiledPositionsMin;
  const std::vector<int> buffers{planner.operand(0), planner.operand(1), planner.result(0)};
  if (!by_tiles) {
    planner.kernel(fmt::format("convolve<{}, {}>(a)", type_name(dtype), dims.spatial()), buffers, std::move(numbers));
    return;
  }
  const std::int64_t feature_tiles = (features + kTileSide - 1) / kTileSide;
  numbers[0] = (positions + kTileSide - 1) / kTileSide * feature_tiles;
  numbers.insert(numbers.end(), {positions, feature_tiles});
  planner.kernel_of_blocks(fmt::format("convolve_tiles<{}, {}>(a)", type_name(dtype), dims.spatial()), buffers, std::move(numbers));
}

// ---- Fourier transforms

bool has_fourier(const OpDef& op) { return op.name == "fft_axis"; }

void plan_fourier(Planner& planner, const OpDef&, const KernelArgs& args) {
  static constexpr std::string_view kKinds[] = {"fft", "ifft", "rfft", "irfft"};
  const TensorType &from = args.operands[0].type, &to = args.results[0].type;
  auto kind = ops::FftKind(std::find(std::begin(kKinds), std::end(kKinds), args.attrs.string("kind")) - std::begin(kKinds));
  std::size_t axis = std::size_t(args.attrs.integer("axis"));
  std::int64_t length = args.attrs.integer("length"), read = kind == ops::FftKind::kRealInverse ? length / 2 + 1 : length;
  std::int64_t in_item = size_of(from.dtype), out_item = size_of(to.dtype), rows = to.elements() / to.shape[axis];
  // Rows side by side become rows one after another: the axis last.
  auto axis_last = [&](const Shape& shape) {
    Shape strides = strides_of(shape);
    std::rotate(strides.begin() + std::ptrdiff_t(axis), strides.begin() + std::ptrdiff_t(axis) + 1, strides.end());
    return strides;
  };
  auto shape_last = [&](Shape shape, std::int64_t size) {
    shape[axis] = size;
    std::rotate(shape.begin() + std::ptrdiff_t(axis), shape.begin() + std::ptrdiff_t(axis) + 1, shape.end());
    return shape;
  };
  bool is_last = axis + 1 == from.shape.size();
  int in = planner.temporary(rows * read * in_item), out = is_last ? planner.result(0) : planner.temporary(to.bytes());
  std::int64_t given = std::min(from.shape[axis], read);
  if (given < read) planner.clear(in, rows * read * in_item);
  planner.copy_region(shape_last(from.shape, given), {planner.operand(0), 0, axis_last(from.shape)},
                      {in, 0, strides_of(shape_last(from.shape, read))}, in_item);
  if (kind == ops::FftKind::kRealInverse) {
    const std::int64_t ends = length % 2 == 0 ? 2 : 1;
    planner.kernel(fmt::format("real_ends<{}>(a)", type_name(from.dtype)), {in}, {rows * ends, ends, read});
  }
  Call call;
  call.kind = Call::Kind::kFourier;
  call.dtype = real_dtype(from.dtype);
  call.buffers = {in, out};
  call.numbers = {std::int64_t(kind), length, rows};
  planner.add(std::move(call));
  if (kind == ops::FftKind::kInverse || kind == ops::FftKind::kRealInverse)
    planner.kernel(fmt::format("scale<{}>(a)", type_name(to.dtype)), {out},
                   {to.elements(), std::bit_cast<std::int64_t>(1.0 / double(length))});
  if (!is_last)
    planner.copy_region(shape_last(to.shape, to.shape[axis]), {out, 0, strides_of(shape_last(to.shape, to.shape[axis]))},
                        {planner.result(0), 0, axis_last(to.shape)}, out_item);
}

}  // namespace

NodePlan plan_product(const OpDef& op, const KernelArgs& args, const Epilogue& epilogue) {
  NodePlan plan = plan_node(op, args);
  const TensorType& result = args.results[0].type;
  if (plan.calls.empty()) return plan;
  const bool adds = epilogue.has_bias || epilogue.has_addend;
  Call::End end{epilogue.scale, adds ? 2 : -1, epilogue.has_addend, epilogue.activation, {}, {}};
  end.kernel = {fmt::format("finish_product<{}, {}, {}>(a)", type_name(result.dtype), adds, int(end.activation)), 2, 3};
  Call& product = plan.calls.back();
  end.numbers = {result.elements(), adds ? std::max<std::int64_t>(args.operands[2].type.elements(), 1) : 1,
                 std::bit_cast<std::int64_t>(epilogue.scale)};
  if (product.kind == Call::Kind::kMatrix) {
    product.end = std::move(end);
    return plan;
  }
  // Nothing is summed: the product is zeros, made by a kernel.
  const int made = int(args.operands.size());
  Call finish;
  finish.kernel = std::move(end.kernel);
  finish.buffers = {adds ? 2 : made, made};
  finish.numbers = std::move(end.numbers);
  finish.work = result.elements();
  plan.calls.push_back(std::move(finish));
  return plan;
}

extern const FamilyDef kMatrixFamily, kConvolutionFamily, kFourierFamily;
const FamilyDef kMatrixFamily = {
    .name = "products", .doc = "cuBLASLt; integers and bool generated, a thread an element", .has = has_matrix, .plan = plan_matrix};
const FamilyDef kConvolutionFamily = {.name = "convolutions",
                                      .doc = "direct, a thread an element, and windows that reduce or choose likewise, generated",
                                      .has = has_convolution,
                                      .plan = plan_convolution};
const FamilyDef kFourierFamily = {.name = "Fourier transforms",
                                  .doc = "cuFFT on rows, which copies gather where the axis is not the last",
                                  .has = has_fourier,
                                  .plan = plan_fourier};

}  // namespace shardlab::cuda
