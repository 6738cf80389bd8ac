// The stand-in for GPUs finds what it is there to find; kernels that were compiled are kept. Nothing here has run on a GPU.
#include "tests/virtualdev/cuda/recording_gpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "virtualdev/cuda/codegen/combine_kernel.h"
#include "virtualdev/cuda/kernel_store.h"

namespace shardlab {
namespace {

using ::testing::HasSubstr;
using testing::RecordingCompiler;
using testing::RecordingGpu;

TEST(RecordingGpuRules, AReadOnAnotherStreamWantsAnEvent) {
  RecordingGpu gpu(2);
  cuda::Stream first = gpu.create_stream(0), second = gpu.create_stream(1);
  std::byte* data = gpu.allocate(16, first);
  gpu.fill(data, 0, 16, first);
  std::byte* other = gpu.allocate(16, second);
  gpu.copy(other, data, 16, second);
  ASSERT_THAT(gpu.faults(), ::testing::Not(::testing::IsEmpty()));
  EXPECT_THAT(gpu.faults()[0], HasSubstr("not ordered behind"));
}

TEST(RecordingGpuRules, AnEventOrders) {
  RecordingGpu gpu(2);
  cuda::Stream first = gpu.create_stream(0), second = gpu.create_stream(1);
  std::byte* data = gpu.allocate(16, first);
  gpu.fill(data, 0, 16, first);
  cuda::Event filled = gpu.create_event(0, false);
  gpu.record(filled, first);
  gpu.wait(second, filled);
  std::byte* other = gpu.allocate(16, second);
  gpu.copy(other, data, 16, second);
  EXPECT_THAT(gpu.faults(), ::testing::IsEmpty());
  gpu.release(data, first);
  EXPECT_THAT(gpu.faults(), ::testing::ElementsAre(HasSubstr("a release is not ordered behind copy from")));
}

TEST(RecordingGpuRules, WhatIsReleasedIsGone) {
  RecordingGpu gpu(1);
  cuda::Stream stream = gpu.create_stream(0);
  std::byte* data = gpu.allocate(16, stream);
  gpu.release(data, stream);
  gpu.fill(data, 0, 16, stream);
  gpu.release(data, stream);
  EXPECT_THAT(gpu.faults(), ::testing::ElementsAre(HasSubstr("released"), HasSubstr("released twice")));
}

TEST(RecordingGpuRules, ACopyStaysWithinItsMemory) {
  RecordingGpu gpu(1);
  cuda::Stream stream = gpu.create_stream(0);
  std::byte* data = gpu.allocate(16, stream);
  std::byte* pinned = gpu.allocate_pinned(8);
  gpu.fill(data, 0, 8, stream);
  gpu.copy(pinned, data, 8, stream);
  gpu.release_pinned(pinned);  // nobody waited for the copy
  EXPECT_THAT(gpu.faults(), ::testing::ElementsAre(HasSubstr("pinned memory is let go before")));
}

// Three values of a GPU's memory, combined by a generated kernel that the store compiled.
TEST(KernelStore, KeepsWhatItCompiled) {
  std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "shardlab-kernel-store";
  std::filesystem::remove_all(folder);
  auto gpu = std::make_shared<RecordingGpu>(1);
  auto compiler = std::make_shared<RecordingCompiler>();
  cuda::KernelText text = cuda::combine_kernel(Reduction::kSum, DType::kFloat32, 3);
  cuda::KernelStore store(gpu, compiler, folder.string());
  cuda::Kernel kernel = store.find(0, text);
  EXPECT_EQ(store.find(0, text), kernel);
  EXPECT_EQ(compiler->compilations(), 1);

  cuda::Stream stream = gpu->create_stream(0);
  constexpr std::int64_t kCount = 5;
  const float wanted[] = {3, 6, 9, 12, 15};
  std::int64_t arguments[5];
  std::byte* pinned = gpu->allocate_pinned(kCount * 4);
  for (int i = 0; i < 4; ++i) {
    std::byte* data = gpu->allocate(kCount * 4, stream);
    arguments[i] = reinterpret_cast<std::int64_t>(data);
    const float values[] = {1, 2, 3, 4, 5};
    std::memcpy(pinned, values, sizeof(values));
    if (i < 3) gpu->copy(data, pinned, kCount * 4, stream);
  }
  arguments[4] = kCount;
  gpu->launch(kernel, 1, 32, false, {reinterpret_cast<const std::byte*>(arguments), sizeof(arguments)}, stream);
  gpu->copy(pinned, reinterpret_cast<const std::byte*>(arguments[3]), kCount * 4, stream);
  EXPECT_EQ(std::memcmp(pinned, wanted, sizeof(wanted)), 0);
  EXPECT_THAT(gpu->faults(), ::testing::IsEmpty());

  // Another process finds the file; a damaged one is made anew.
  cuda::KernelStore(gpu, compiler, folder.string()).find(0, text);
  EXPECT_EQ(compiler->compilations(), 1);
  for (const auto& file : std::filesystem::directory_iterator(folder)) std::ofstream(file.path(), std::ios::app) << "x";
  cuda::KernelStore(gpu, compiler, folder.string()).find(0, text);
  EXPECT_EQ(compiler->compilations(), 2);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace shardlab
