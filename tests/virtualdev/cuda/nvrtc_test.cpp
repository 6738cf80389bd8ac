// Every generated kernel compiles through NVRTC for each architecture that is meant. Needs no GPU, and runs on none.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <thread>

#include "tests/spmd/graphs.h"
#include "tests/virtualdev/cuda/cases.h"
#include "virtualdev/cuda/codegen/combine_kernel.h"
#include "virtualdev/cuda/codegen/fused_plan.h"
#include "virtualdev/cuda/gpu_api.h"
#include "virtualdev/cuda/presence.h"

namespace shardlab {
namespace {

// As many of them as one program of NVRTC takes in reasonable time.
constexpr std::size_t kTogether = 256;

void compile_all(const std::vector<cuda::KernelText>& kernels, int arch) {
  auto compiler = cuda::nvrtc_compiler(true);
  for (std::size_t first = 0; first < kernels.size(); first += kTogether) {
    std::vector<cuda::KernelText> some(kernels.begin() + std::ptrdiff_t(first),
                                       kernels.begin() + std::ptrdiff_t(std::min(first + kTogether, kernels.size())));
    std::string binary;
    ASSERT_NO_THROW(binary = compiler->compile(cuda::program_text(some, cuda::Form::kNvrtc), arch));
    EXPECT_EQ(binary.substr(1, 3), "ELF") << "sm_" << arch;
  }
}

bool has_nvrtc() { return cuda::look_for_cuda().built && cuda::load_library(cuda::compiler_library()) != nullptr; }

std::vector<cuda::KernelText> combining_kernels() {
  std::vector<cuda::KernelText> kernels;
  for (DType dtype : {DType::kFloat32, DType::kBfloat16, DType::kInt8, DType::kComplex128})
    for (int members : {2, 3, 7, 8, 64}) kernels.push_back(cuda::combine_kernel(Reduction::kSum, dtype, members));
  return kernels;
}

// What follows products, where the library does not do it.
std::vector<cuda::KernelText> finishing_kernels() {
  std::vector<cuda::KernelText> kernels;
  for (const char* type : {"f32", "bf16", "f16"})
    for (bool has_bias : {false, true})
      for (int activation : {0, 1, 2}) kernels.push_back({fmt::format("finish_product<{}, {}, {}>(a)", type, has_bias, activation), 2, 3});
  return kernels;
}

// A normalisation with its row's maximum, of each dtype: elementwise, and along rows both ways.
std::vector<cuda::KernelText> fused_kernels() {
  std::vector<cuda::KernelText> kernels;
  const Attrs last{{"axis", std::int64_t(1)}, {"keepdims", true}};
  for (DType dtype : {DType::kFloat32, DType::kBfloat16, DType::kFloat64, DType::kInt32, DType::kComplex64}) {
    testing::Build build;
    ValueId x = build.param({4, 300}, dtype), twice = build.op("add", {x, x});
    ValueId total = build.op("sub", {twice, build.op("max", {twice}, last)});
    Graph graph = build.finish({build.op("mul", {total, build.op("sum", {total}, last)}), twice});
    const spmd::PartitionedProgram program = testing::plan(graph, testing::mesh_of({2}), {"a-"});
    FusionInput input{&program, {}, std::vector<int>(program.slots.size(), -1)};
    for (const spmd::Step& step : program.steps)
      if (auto* compute = std::get_if<spmd::ComputeStep>(&step); compute && !compute->operands.empty()) input.steps.push_back(&step);
    for (int slot : program.results) input.last_use[std::size_t(slot)] = int(program.steps.size());
    auto step = fuse(input, 0);
    EXPECT_TRUE(step && step->reduces());
    for (cuda::RowOf by : {cuda::RowOf::kThread, cuda::RowOf::kBlock}) kernels.push_back(cuda::fused_kernel(*step, by));
  }
  // And the sums of its columns, of which each tile makes a part.
  for (DType dtype : {DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kComplex128}) {
    testing::Build build;
    ValueId x = build.param({40, 300}, dtype), twice = build.op("add", {x, x});
    Graph graph = build.finish({build.op("sum", {twice}, Attrs{{"axis", std::int64_t(0)}}), twice});
    const spmd::PartitionedProgram program = testing::plan(graph, testing::mesh_of({2}), {"--"});
    FusionInput input{&program, {}, std::vector<int>(program.slots.size(), -1), {.columns = true}};
    for (const spmd::Step& step : program.steps) input.steps.push_back(&step);
    for (int slot : program.results) input.last_use[std::size_t(slot)] = int(program.steps.size());
    auto step = fuse(input, 0);
    EXPECT_TRUE(step && step->reduces_columns());
    if (!step) continue;
    kernels.push_back(cuda::fused_kernel(*step, cuda::RowOf::kTile));
    for (const FusedStep::Op& op : step->ops)
      if (op.of_columns && std::find(kernels.begin(), kernels.end(), cuda::column_end(op)) == kernels.end())
        kernels.push_back(cuda::column_end(op));
  }
  return kernels;
}

TEST(Nvrtc, CompilesFusedRowsForEveryArchitecture) {
  if (!has_nvrtc()) GTEST_SKIP() << "skipped: no NVRTC";
  std::vector<cuda::KernelText> kernels = fused_kernels();
  for (const cuda::KernelText& kernel : finishing_kernels()) kernels.push_back(kernel);
  for (int arch : {80, 90, 100}) compile_all(kernels, arch);
}

TEST(Nvrtc, CompilesTheKernelsOfEverySample) {
  if (!has_nvrtc()) GTEST_SKIP() << "skipped: no NVRTC";
  std::vector<cuda::KernelText> kernels = testing::kernels_of(testing::all_cases());
  for (const cuda::KernelText& kernel : combining_kernels()) kernels.push_back(kernel);
  EXPECT_GT(kernels.size(), 500u);
  compile_all(kernels, 90);
}

// The families differ between architectures by what the compiler makes of them: one kernel in sixteen, each family among them.
TEST(Nvrtc, CompilesForEveryArchitecture) {
  if (!has_nvrtc()) GTEST_SKIP() << "skipped: no NVRTC";
  std::vector<cuda::KernelText> kernels = testing::kernels_of(testing::all_cases()), some = combining_kernels();
  for (std::size_t i = 0; i < kernels.size(); i += 16) some.push_back(kernels[i]);
  for (int arch : {80, 100}) compile_all(some, arch);
}

// What graphs launch for several devices at once.
TEST(Nvrtc, CompilesForSeveralSetsOfArguments) {
  if (!has_nvrtc()) GTEST_SKIP() << "skipped: no NVRTC";
  std::vector<cuda::KernelText> kernels = testing::kernels_of(testing::all_cases()), some = fused_kernels();
  for (std::size_t i = 5; i < kernels.size(); i += 16) some.push_back(kernels[i]);
  for (std::size_t i = 0; i < some.size(); ++i) some[i].instances = 2 << i % 6;
  compile_all(some, 90);
}

// A process may end while a launch of it still has kernels compiled, whose threads the library crashes when it takes itself down. What it
// registers for that, some of it as late as with its thousandth kernel, comes after what the end of the exiting thread registers: so a job
// ends first (distributed.cpp).
TEST(NvrtcDeathTest, LivesUntilWhatTheEndOfTheThreadRegistersHasRun) {
  if (!has_nvrtc()) GTEST_SKIP() << "skipped: no NVRTC";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (int before_ms : {20, 150, 400, 800}) {
    auto ends_while_it_compiles = [before_ms] {
      struct RegistersAtItsEnd {
        ~RegistersAtItsEnd() {
          ::on_exit([](int status, void*) { (::usleep(500'000), ::_exit(status)); }, nullptr);
        }
      };
      static thread_local const RegistersAtItsEnd at_the_end;
      (void)at_the_end;
      std::thread([] {
        auto compiler = cuda::nvrtc_compiler();
        const std::vector<cuda::KernelText> kernels = combining_kernels();
        while (true) compiler->compile(cuda::program_text(kernels, cuda::Form::kNvrtc), 90);
      }).detach();
      ::usleep(unsigned(before_ms) * 1000);
      std::exit(7);
    };
    EXPECT_EXIT(ends_while_it_compiles(), ::testing::ExitedWithCode(7), "");
  }
}

TEST(Nvrtc, SaysWhatItDoesNotUnderstand) {
  if (!has_nvrtc()) GTEST_SKIP() << "skipped: no NVRTC";
  try {
    cuda::nvrtc_compiler()->compile(cuda::program_text({{"no_such_function(a)", 1, 1}}, cuda::Form::kNvrtc), 90);
    FAIL();
  } catch (const UserError& error) { EXPECT_NE(std::string(error.what()).find("no_such_function"), std::string::npos); }
}

}  // namespace
}  // namespace shardlab
