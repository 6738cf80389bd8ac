#include "benchmarks/gpu_kernels/time_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "runtime/ops/conv_dims.h"
#include "runtime/ops/registry.h"
#include "virtualdev/cuda/plan_runner.h"

namespace shardlab::benchmark {
namespace {

struct Node {
  std::string name;
  const OpDef* op;
  Sample sample;
};

// A node's plan, and the arrays that it works on: operands, then results.
struct Planned {
  std::string name;
  std::vector<TensorType> types;
  cuda::NodePlan plan;
};

Planned planned(const Node& node, cuda::Libraries libraries) {
  const Sample& sample = node.sample;
  Planned made{node.name, sample.operands, {}};
  for (const TensorType& type : node.op->infer(*node.op, sample.operands, sample.attrs)) made.types.push_back(type);
  std::vector<Box> boxes;
  for (const TensorType& type : made.types) boxes.push_back(whole(type.shape));
  std::vector<ConstView> operands;
  std::vector<MutableView> results;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const TensorType& type = made.types[i];
    if (i < sample.operands.size())
      operands.push_back({type, nullptr, &boxes[i], &type.shape});
    else
      results.push_back({type, nullptr, &boxes[i]});
  }
  made.plan = cuda::plan_node(*node.op, {operands, results, sample.attrs}, libraries);
  return made;
}

std::vector<Node> nodes(std::int64_t side) {
  using Axes = std::vector<std::int64_t>;
  const Shape square{side, side}, row{side};
  const DType f32 = DType::kFloat32, bf16 = DType::kBfloat16;
  std::vector<Node> all;
  auto add = [&](std::string name, std::string_view op, std::vector<TensorType> operands, Attrs attrs = {}) {
    all.push_back({std::move(name), find_op(op), {std::move(operands), std::move(attrs)}});
  };
  for (const char* op : {"neg", "sin", "exp", "log", "tanh", "logistic", "erf", "rsqrt"}) add(op, op, {{f32, square}});
  add("neg bfloat16", "neg", {{bf16, square}});
  add("neg float64", "neg", {{DType::kFloat64, square}});
  add("add", "add", {{f32, square}, {f32, square}});
  add("add bfloat16", "add", {{bf16, square}, {bf16, square}});
  add("select", "select", {{DType::kBool, square}, {f32, square}, {f32, square}});
  add("convert to bfloat16", "convert", {{f32, square}}, {{"dtype", bf16}});
  add("broadcast rows", "broadcast_in_dim", {{f32, row}}, {{"shape", square}, {"dims", Axes{1}}});
  add("broadcast columns", "broadcast_in_dim", {{f32, row}}, {{"shape", square}, {"dims", Axes{0}}});
  for (DType dtype : {f32, bf16}) {
    auto named = [&](const char* text) { return fmt::format("{}{}", text, dtype == bf16 ? " bfloat16" : ""); };
    add(named("sum"), "reduce_sum", {{dtype, square}}, {{"axes", Axes{0, 1}}});
    add(named("sum of rows"), "reduce_sum", {{dtype, square}}, {{"axes", Axes{1}}});
    add(named("sum of columns"), "reduce_sum", {{dtype, square}}, {{"axes", Axes{0}}});
    add(named("transpose"), "transpose", {{dtype, square}}, {{"axes", Axes{1, 0}}});
  }
  add("argmax of rows", "argmax", {{f32, square}}, {{"axis", std::int64_t(1)}, {"dtype", DType::kInt32}});
  add("running sum of rows", "cumsum", {{f32, square}}, {{"axis", std::int64_t(1)}});
  add("running sum of columns", "cumsum", {{f32, square}}, {{"axis", std::int64_t(0)}});
  add("slice", "slice", {{f32, square}},
      {{"start", Axes{side / 4, side / 4}}, {"limit", Axes{side / 2, side / 2}}, {"stride", Axes{1, 1}}});
  add("concatenate rows", "concatenate", {{f32, square}, {f32, square}}, {{"axis", std::int64_t(1)}});
  add("random bits", "random_bits", {{DType::kUint32, {2}}}, {{"shape", square}, {"dtype", DType::kUint32}});
  add("sort of rows", "sort", {{f32, square}}, {{"axis", std::int64_t(1)}});
  add("sort of all", "sort", {{f32, {side * side}}}, {{"axis", std::int64_t(0)}});
  for (DType dtype : {f32, bf16}) {
    ops::ConvDims dims;
    dims.lhs = dims.rhs = dims.out = {0, 1, 2, 3};
    dims.strides = dims.lhs_dilation = dims.rhs_dilation = {1, 1};
    dims.padding = {1, 1, 1, 1};
    Attrs attrs;
    dims.set(attrs);
    const std::int64_t features = 64, image = std::max<std::int64_t>(side / 16, 4);
    add(dtype == bf16 ? "convolution 3 x 3 bfloat16" : "convolution 3 x 3", "conv",
        {{dtype, {4, features, image, image}}, {dtype, {features, features, 3, 3}}}, std::move(attrs));
  }
  add("product", "dot_general", {{f32, square}, {f32, square}}, {{"contract", Axes{1, 0}}, {"batch", Axes{}}});
  add("product bfloat16", "dot_general", {{bf16, square}, {bf16, square}}, {{"contract", Axes{1, 0}}, {"batch", Axes{}}});
  return all;
}

class Timer {
 public:
  Timer(cuda::GpuApi& api, const cuda::Gpu& gpu, int repeats)
      : api_(api), gpu_(gpu), begin_(api.create_event(gpu.number, true)), end_(api.create_event(gpu.number, true)), repeats_(repeats) {}
  ~Timer() {
    api_.destroy(begin_);
    api_.destroy(end_);
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // The median, after two runs that are not counted.
  double milliseconds(const std::function<void()>& run) {
    std::vector<double> times;
    for (int i = -2; i < repeats_; ++i) {
      api_.record(begin_, gpu_.stream);
      run();
      api_.record(end_, gpu_.stream);
      api_.synchronize(end_);
      if (i >= 0) times.push_back(api_.milliseconds_between(begin_, end_));
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
  }

 private:
  cuda::GpuApi& api_;
  const cuda::Gpu& gpu_;
  cuda::Event begin_, end_;
  int repeats_;
};

}  // namespace

std::vector<KernelTime> time_kernels(const std::shared_ptr<cuda::GpuApi>& api, std::shared_ptr<cuda::KernelCompiler> compiler,
                                     const std::string& kernel_folder, std::int64_t side, int repeats) {
  auto gpu = std::make_shared<cuda::Gpu>(api, 0);
  cuda::KernelStore kernels(api, std::move(compiler), kernel_folder);
  cuda::PlanRunner runner(*api, kernels);
  Timer timer(*api, *gpu, repeats);
  // Memory that nobody wrote is whatever it is: all bytes are 0 here.
  auto made = [&](const TensorType& type) {
    auto buffer = cuda::allocate_on(gpu, std::size_t(type.bytes()));
    api->fill(cuda::block_of(*buffer).data, 0, std::size_t(std::max<std::int64_t>(type.bytes(), 1)), gpu->stream);
    return buffer;
  };
  std::vector<KernelTime> times;
  {
    const TensorType type{DType::kFloat32, {side, side}};
    auto from = made(type), to = made(type);
    times.push_back({"copy", timer.milliseconds([&] {
                       api->copy(cuda::block_of(*to).data, cuda::block_of(*from).data, std::size_t(type.bytes()), gpu->stream);
                     }),
                     2.0 * double(type.bytes())});
  }
  std::vector<Planned> all;
  std::vector<cuda::KernelText> texts;
  for (const Node& node : nodes(side)) {
    all.push_back(planned(node, {.has_sorts = api->has_sorts()}));
    for (const cuda::Call& call : all.back().plan.calls) texts.push_back(call.kernel);
  }
  kernels.prepare(gpu->number, texts);
  for (const Planned& each : all) {
    std::vector<std::shared_ptr<Buffer>> buffers;
    std::vector<std::byte*> places;
    double bytes = 0;
    for (const TensorType& type : each.types) {
      buffers.push_back(made(type));
      places.push_back(cuda::block_of(*buffers.back()).data);
      bytes += double(type.bytes());
    }
    times.push_back({each.name, timer.milliseconds([&] { runner.run(each.plan, gpu, places); }), bytes});
  }
  return times;
}

}  // namespace shardlab::benchmark
