// On a real GPU: every sample of every primitive, and whole programs on eight virtual devices of it, against the CPU. Skipped where there
// is none, which says what is missing.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <optional>
#include <thread>

#include "tests/ops/evaluate.h"
#include "tests/virtualdev/cuda/cases.h"
#include "tests/virtualdev/cuda/programs.h"
#include "virtualdev/cuda/presence.h"

namespace shardlab {
namespace {

using namespace testing_ops;

class OnAGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string missing = cuda::missing_text(cuda::look_for_cuda());
    if (missing.empty()) return;
    std::printf("skipped: no GPU: %s\n", missing.c_str());
    GTEST_SKIP() << "no GPU: " << missing;
  }
};

// Wider than for the same text on the CPU: the libraries and the GPU's own functions round in their way.
double tolerance_of(DType dtype) {
  DType real = real_dtype(dtype);
  return real == DType::kFloat64 ? 1e-10 : 1e-4;
}

// Compiling takes longer than all that is computed: on every core, some kernels a program.
void prepare(cuda::KernelStore& kernels, const std::vector<cuda::KernelText>& texts) {
  constexpr std::size_t kTogether = 16;
  std::atomic<std::size_t> next = 0;
  std::vector<std::jthread> threads;
  for (unsigned t = 0; t < std::max(std::thread::hardware_concurrency(), 1u); ++t)
    threads.emplace_back([&] {
      for (std::size_t first; (first = next.fetch_add(kTogether)) < texts.size();) {
        auto begin = texts.begin() + std::ptrdiff_t(first);
        kernels.prepare(0, {begin, begin + std::ptrdiff_t(std::min(kTogether, texts.size() - first))});
      }
    });
}

TEST_F(OnAGpu, EverySampleIsWhatTheCpuComputes) {
  std::shared_ptr<cuda::GpuApi> api = cuda::cuda_api();
  cuda::KernelStore kernels(api, cuda::nvrtc_compiler(), cuda::KernelStore::default_folder());
  cuda::PlanRunner runner(*api, kernels);
  auto gpu = std::make_shared<cuda::Gpu>(api, 0);
  const std::vector<testing::Case> cases = testing::all_cases();
  prepare(kernels, testing::kernels_of(cases));
  const bool has_sorts = api->has_sorts();
  EXPECT_TRUE(has_sorts) << "CUB's sorts are not there: " << cuda::sorts_library().files[0];
  for (const testing::Case& c : cases) {
    if (!has_sorts && testing::needs_sorts(c)) continue;
    std::mt19937 random(7);
    std::vector<Tensor> operands;
    for (std::size_t i = 0; i < c.sample.operands.size(); ++i)
      operands.push_back(random_tensor({c.sample.operands[i].dtype, shape_of(c.operand_boxes[i])}, random));
    auto wanted = run_part(*c.op, c.sample.operands, operands, c.operand_boxes, c.results, c.result_boxes, c.sample.attrs);
    std::vector<std::shared_ptr<Buffer>> there;
    std::vector<std::byte*> buffers;
    for (const Tensor& operand : operands) {
      there.push_back(cuda::allocate_on(gpu, operand.data->size()));
      cuda::upload_to(*api, operand.data->bytes(), cuda::block_of(*there.back()));
    }
    for (const Tensor& each : wanted) there.push_back(cuda::allocate_on(gpu, each.data->size()));
    for (const auto& buffer : there) buffers.push_back(cuda::block_of(*buffer).data);
    try {
      runner.run(c.plan, gpu, buffers);
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        auto result = std::make_shared<Buffer>(wanted[i].data->size());
        if (result->size() > 0) {
          cuda::Pinned pinned(*api, result->size());
          api->copy(pinned.data(), buffers[operands.size() + i], result->size(), gpu->stream);
          api->synchronize(cuda::Mark(*api, 0, gpu->stream).event());
          std::copy_n(pinned.data(), result->size(), result->data());
        }
        expect_near({wanted[i].type, result}, wanted[i], tolerance_of(wanted[i].type.dtype), c.what);
      }
    } catch (const std::exception& error) { ADD_FAILURE() << c.what << ": " << error.what(); }
    if (::testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count() > 60) return;
  }
}

// On eight virtual devices of the GPU.
class ProgramsOnAGpu : public OnAGpu {
 protected:
  void SetUp() override {
    OnAGpu::SetUp();
    if (!IsSkipped()) programs_.emplace(cuda::cuda_api, cuda::nvrtc_compiler(), 8, cuda::KernelStore::default_folder());
  }
  std::optional<testing::ProgramsBesideCpu> programs_;
};

TEST_F(ProgramsOnAGpu, Families) { programs_->families(); }
TEST_F(ProgramsOnAGpu, Products) { programs_->products(); }
TEST_F(ProgramsOnAGpu, ProductsWithWhatFollowsThem) { programs_->products_with_what_follows(); }
TEST_F(ProgramsOnAGpu, Columns) { programs_->columns(); }
TEST_F(ProgramsOnAGpu, Transforms) { programs_->transforms(); }
TEST_F(ProgramsOnAGpu, Sorts) { programs_->sorts(); }
TEST_F(ProgramsOnAGpu, Moves) { programs_->moves(); }

}  // namespace
}  // namespace shardlab
