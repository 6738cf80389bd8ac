// Every op of the registry has a GPU path, and it computes what the CPU's kernel computes. There need be no GPU: the kernels' own text is
// compiled as C++ and runs on the CPU, with the threads of a block interleaved at barriers; library calls are stood in for.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "tests/ops/evaluate.h"
#include "tests/virtualdev/cuda/cases.h"
#include "tests/virtualdev/cuda/guarded_bytes.h"
#include "tests/virtualdev/cuda/host_kernels.h"

namespace shardlab {
namespace {

using namespace testing_ops;
using testing::all_cases;
using testing::Case;

double tolerance_of(DType dtype) {
  DType real = real_dtype(dtype);
  return real == DType::kFloat64 ? 1e-11 : 2e-6;
}

// NaN, infinities, zeros of both signs and the like among the elements of real floats, where results are comparable.
Tensor with_rare_values(Tensor tensor) {
  auto copy = std::make_shared<Buffer>(tensor.data->size());
  std::copy_n(tensor.data->data(), tensor.data->size(), copy->data());
  visit_dtype(tensor.type.dtype, [&]<typename T>(T) {
    if constexpr (Real<T> || Half<T>) {
      const double rare[] = {std::nan(""), INFINITY, -INFINITY, -0.0, 0.0, 1e-40, 3e38, -1e30, 1e10, -0.9999999};
      for (std::int64_t i = 0; i < tensor.type.elements() && i < 10; ++i) copy->as<T>()[i] = element_from<T>(rare[i]);
    }
  });
  return {tensor.type, copy};
}

// One case in SHARDLAB_KERNEL_CASES_STRIDE: where a run of all would take too long.
std::vector<Case> share_of(std::vector<Case> cases) {
  const char* stride = std::getenv("SHARDLAB_KERNEL_CASES_STRIDE");
  if (stride == nullptr) return cases;
  std::vector<Case> some;
  for (std::size_t i = 0; i < cases.size(); i += std::stoul(stride)) some.push_back(std::move(cases[i]));
  return some;
}

// What an access beyond the end of an array is told of.
std::string current_case;
void tell_of_a_bad_access(int) {
  const std::string text = "a kernel reads or writes beyond an array: " + current_case + "\n";
  if (::write(STDERR_FILENO, text.data(), text.size()) < 0) std::_Exit(4);
  std::_Exit(3);
}

TEST(GpuPaths, EveryPrimitiveHasOne) {
  auto expect_path = [](const OpDef& op) {
    EXPECT_NE(cuda::family_of(op), nullptr) << op.name << " has no GPU path: add it to a family of virtualdev/cuda/codegen";
  };
  for (const OpDef* op : all_ops()) {
    if (op->is_primitive()) expect_path(*op);
  }
  for (const OpDef* op : region_ops()) {
    if (op->kernel != nullptr) expect_path(*op);
  }
}

TEST(GpuPaths, NoneIsRefusedByName) {
  OpDef op{.name = "unheard_of", .doc = "."};
  Attrs attrs;
  try {
    cuda::plan_node(op, {{}, {}, attrs});
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("unheard_of has no GPU path"), std::string::npos) << error.what();
  }
}

// Places within a row are 32-bit numbers.
TEST(GpuPaths, RowsThatPlacesCannotNumberAreRefused) {
  const OpDef& sort = *find_op("sort");
  const Attrs attrs{{"axis", std::int64_t(0)}};
  for (std::int64_t size : {std::int64_t(1) << 31, (std::int64_t(1) << 31) + 1}) {
    const TensorType type{DType::kInt8, {size}};
    const Box box = whole(type.shape);
    const ConstView operand{type, nullptr, &box, &type.shape};
    const MutableView result{type, nullptr, &box};
    if (size == std::int64_t(1) << 31)
      EXPECT_NO_THROW(cuda::plan_node(sort, {{&operand, 1}, {&result, 1}, attrs}));
    else
      EXPECT_THROW(cuda::plan_node(sort, {{&operand, 1}, {&result, 1}, attrs}), UserError);
  }
}

// CUB takes what is long, however many its keys and whatever their dtype; short rows are merged in fewer passes.
TEST(GpuPaths, LongSortsAreTheLibrarys) {
  const OpDef& sort = *find_op("sort");
  auto sorts_of = [&](DType dtype, const Shape& shape, std::int64_t keys) {
    const Attrs attrs{{"axis", std::int64_t(shape.size()) - 1}, {"num_keys", keys}};
    const TensorType type{dtype, shape};
    const Box box = whole(type.shape);
    const std::vector<ConstView> operands(2, ConstView{type, nullptr, &box, &type.shape});
    const std::vector<MutableView> results(2, MutableView{type, nullptr, &box});
    std::vector<std::vector<std::int64_t>> sorts;
    for (const cuda::Call& call : cuda::plan_node(sort, {operands, results, attrs}, {.has_sorts = true}).calls)
      if (call.kind == cuda::Call::Kind::kSort) sorts.push_back(call.numbers);
    return sorts;
  };
  using Sorts = std::vector<std::vector<std::int64_t>>;
  constexpr std::int64_t kLong = 1 << 16;
  EXPECT_EQ(sorts_of(DType::kFloat32, {kLong}, 1), (Sorts{{kLong, 4, 32}}));
  EXPECT_EQ(sorts_of(DType::kFloat64, {kLong}, 1), (Sorts{{kLong, 8, 64}}));
  EXPECT_EQ(sorts_of(DType::kBfloat16, {100, kLong}, 1), (Sorts{{100 * kLong, 4, 23}}));
  EXPECT_EQ(sorts_of(DType::kFloat32, {100, kLong}, 1), (Sorts{{100 * kLong, 8, 39}}));
  EXPECT_EQ(sorts_of(DType::kInt64, {2, kLong}, 1), (Sorts{{2 * kLong, 8, 33}, {2 * kLong, 8, 33}}));
  EXPECT_EQ(sorts_of(DType::kComplex64, {kLong}, 1), (Sorts{{kLong, 4, 32}, {kLong, 4, 32}}));
  EXPECT_EQ(sorts_of(DType::kComplex128, {2, kLong}, 2).size(), 8u);
  EXPECT_EQ(sorts_of(DType::kFloat32, {kLong, 16}, 1), Sorts{});
}

// One launch of 16 threads a block over 64 elements that are 1; what they are then.
std::vector<std::int32_t> after(const std::string& body, bool backwards) {
  const cuda::KernelText kernel{body, 1, 1};
  testing::HostKernels host;
  if (backwards) host.go_backwards();
  host.compile({kernel});
  testing::GuardedBytes data(64 * 4);
  std::fill_n(reinterpret_cast<std::int32_t*>(data.data()), 64, 1);
  const std::int64_t arguments[] = {reinterpret_cast<std::int64_t>(data.data()), 64};
  host.launch(kernel, arguments, 4, 16, true);
  return {reinterpret_cast<std::int32_t*>(data.data()), reinterpret_cast<std::int32_t*>(data.data()) + 64};
}
const std::string kShifted = "i32* x = a.template out<i32>(0) + 16 * blockIdx.x; u32 t = threadIdx.x; i32 y = x[(t + 1) % 16] + i32(t); ";

// What these tests look for is found: threads that do not wait for each other, barriers that some never reach, accesses beyond the end.
TEST(HostForm, FindsWhatAGpuWouldGetWrong) {
  EXPECT_EQ(after(kShifted + "__syncthreads(); x[t] = y", false), after(kShifted + "__syncthreads(); x[t] = y", true));
  EXPECT_NE(after(kShifted + "x[t] = y", false), after(kShifted + "x[t] = y", true)) << "a race depends on the order";
  for (const char* body :
       {"if (threadIdx.x < 3) __syncthreads()", "if (threadIdx.x < 3) { __syncthreads(); } else { __syncthreads();\n __syncthreads(); }"})
    EXPECT_THROW(after(body, false), InternalError) << body;
  const std::string beyond = "a.template out<i32>(0)[64 + 16 * blockIdx.x] = 2";
  EXPECT_EXIT(
      {
        std::signal(SIGSEGV, tell_of_a_bad_access);
        after(beyond, false);
      },
      ::testing::ExitedWithCode(3), "beyond an array");
  EXPECT_EQ(after("SHARED_ARRAY(i32, y, 16); a.template out<i32>(0)[threadIdx.x] = y[0]", false)[5], std::int32_t(0xcdcdcdcd))
      << "of shared memory that nobody wrote";
}

// Where kernels are compiled with sanitizers, these find what an order and a guard do not; and locals that nobody wrote hold no zeros.
TEST(HostForm, SanitizersFindWhatIsUndefined) {
  const char* flags = std::getenv("SHARDLAB_HOST_KERNEL_FLAGS");
  if (flags == nullptr || std::string_view(flags).find("sanitize=address,undefined") == std::string_view::npos)
    GTEST_SKIP() << "the kernels are compiled without sanitizers";
  const std::string take = "i32* x = a.template out<i32>(0); i32 t = i32(threadIdx.x); ";
  const std::pair<const char*, const char*> faults[] = {
      {"i32 y[8]; y[t] = x[t]; x[t] = y[7 - t]", "stack-buffer-overflow|out of bounds"},
      {"x[t - 1 - i32(blockIdx.x)] = 0", "use-after-poison"},
      {"x[t] = 1 << (x[t] + t + 17)", "shift exponent"},
      {"x[t] = 2147483647 - 8 + t", "signed integer overflow"},
      {"x[t] = i32(*reinterpret_cast<i64*>(x + 1))", "misaligned address"},
      {"x[t] = i32(1e30f * f32(x[t]))", "outside the range"},
  };
  for (const auto& [body, said] : faults) EXPECT_EXIT(after(take + body, false), ::testing::ExitedWithCode(1), said) << body;
  EXPECT_NE(after(take + "i32 y; x[t] = y", false)[5], 0) << "of a local that nobody wrote";
}

// Threads and blocks in the order of their numbers, and the other way round: no GPU keeps either.
class GpuKernels : public ::testing::TestWithParam<bool> {};

TEST_P(GpuKernels, TextAsCppComputesWhatTheCpuComputes) {
  std::signal(SIGSEGV, tell_of_a_bad_access);
  std::vector<Case> cases = all_cases();
  // Every primitive's samples, which are not few.
  EXPECT_GT(cases.size(), 1000u);
  EXPECT_GT(testing::kernels_of(cases).size(), 500u);
  cases = share_of(std::move(cases));
  std::vector<cuda::KernelText> kernels = testing::kernels_of(cases);
  testing::HostKernels host;
  if (GetParam()) host.go_backwards();
  host.compile(kernels);
  RecordProperty("cases", int(cases.size()));
  RecordProperty("kernels", int(kernels.size()));
  for (const Case& c : cases)
    for (bool rare : {false, true}) {
      if (rare && !c.op->elementwise && c.op->name != "sort" && c.op->name != "top_k") continue;
      std::mt19937 random(7);
      std::vector<Tensor> operands;
      for (std::size_t i = 0; i < c.sample.operands.size(); ++i) {
        operands.push_back(random_tensor({c.sample.operands[i].dtype, shape_of(c.operand_boxes[i])}, random));
        if (rare) operands.back() = with_rare_values(operands.back());
      }
      auto wanted = run_part(*c.op, c.sample.operands, operands, c.operand_boxes, c.results, c.result_boxes, c.sample.attrs);
      std::vector<testing::GuardedBytes> guarded;
      std::vector<std::byte*> buffers;
      auto add = [&](std::size_t bytes) { buffers.push_back(guarded.emplace_back(bytes).data()); };
      for (const Tensor& operand : operands) {
        add(operand.data->size());
        std::copy_n(operand.data->data(), operand.data->size(), buffers.back());
      }
      for (const Tensor& each : wanted) add(each.data->size());
      current_case = c.what;
      host.run(c.plan, buffers);
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        auto result = std::make_shared<Buffer>(wanted[i].data->size());
        std::copy_n(buffers[operands.size() + i], result->size(), result->data());
        expect_near({wanted[i].type, result}, wanted[i], tolerance_of(wanted[i].type.dtype), c.what + (rare ? " (rare values)" : ""));
      }
      if (::testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count() > 60) return;
    }
}

// What no sample is large enough for.
TEST_P(GpuKernels, LargeTilesTurnAMatrix) {
  constexpr std::int64_t kRows = 1500, kColumns = 1601;
  for (std::int64_t bytes : {1, 2, 4}) {
    const Attrs attrs;
    const KernelArgs none{{}, {}, attrs};
    cuda::Planner planner(none);
    planner.copy_region({kRows, kColumns}, {0, 0, {1, kRows}}, {1, 0, {kColumns, 1}}, bytes);
    const cuda::NodePlan plan = planner.take();
    ASSERT_EQ(plan.calls.size(), 1u);
    EXPECT_TRUE(plan.calls[0].kernel.body.ends_with(", 64>(a)")) << plan.calls[0].kernel.body;
    testing::HostKernels host;
    if (GetParam()) host.go_backwards();
    host.compile({plan.calls[0].kernel});
    testing::GuardedBytes from(std::size_t(kRows * kColumns * bytes)), to(std::size_t(kRows * kColumns * bytes));
    for (std::int64_t i = 0; i < kRows * kColumns * bytes; ++i) from.data()[i] = std::byte(i * 37 + i / 251);
    host.run(plan, {from.data(), to.data()});
    for (std::int64_t row = 0; row < kRows; ++row)
      for (std::int64_t column = 0; column < kColumns; ++column)
        ASSERT_TRUE(std::equal(to.data() + (row * kColumns + column) * bytes, to.data() + (row * kColumns + column + 1) * bytes,
                               from.data() + (column * kRows + row) * bytes))
            << bytes << " bytes at " << row << ", " << column;
  }
}

INSTANTIATE_TEST_SUITE_P(InBothOrders, GpuKernels, ::testing::Bool());

}  // namespace
}  // namespace shardlab
