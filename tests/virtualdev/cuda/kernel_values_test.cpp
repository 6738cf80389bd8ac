// Every op of the registry has a GPU path, and it computes what the CPU's kernel computes. There need be no GPU: the kernels' own text is
// compiled as C++ and runs on the CPU, with the threads of a block interleaved at barriers; library calls are stood in for.
#include <gtest/gtest.h>

#include "tests/ops/evaluate.h"
#include "tests/virtualdev/cuda/cases.h"
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

TEST(GpuKernels, TextAsCppComputesWhatTheCpuComputes) {
  std::vector<Case> cases = all_cases();
  std::vector<cuda::KernelText> kernels = testing::kernels_of(cases);
  // Every primitive's samples, which are not few.
  EXPECT_GT(cases.size(), 1000u);
  EXPECT_GT(kernels.size(), 500u);
  testing::HostKernels host;
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
      std::vector<std::shared_ptr<Buffer>> results;
      std::vector<std::byte*> buffers;
      for (const Tensor& operand : operands) buffers.push_back(const_cast<std::byte*>(operand.data->data()));
      for (const Tensor& each : wanted) {
        results.push_back(std::make_shared<Buffer>(each.data->size()));
        std::fill_n(results.back()->data(), each.data->size(), std::byte{0xcd});
        buffers.push_back(results.back()->data());
      }
      host.run(c.plan, buffers);
      for (std::size_t i = 0; i < results.size(); ++i)
        expect_near({wanted[i].type, results[i]}, wanted[i], tolerance_of(wanted[i].type.dtype), c.what + (rare ? " (rare values)" : ""));
      if (::testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count() > 60) return;
    }
}

}  // namespace
}  // namespace shardlab
