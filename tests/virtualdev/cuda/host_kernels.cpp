#include "tests/virtualdev/cuda/host_kernels.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <numeric>
#include <regex>

#include "runtime/base/scratch_folder.h"
#include "runtime/ops/fft_rows.h"
#include "tests/virtualdev/cuda/guarded_bytes.h"

namespace shardlab::testing {

HostKernels::~HostKernels() {
  for (void* library : libraries_) ::dlclose(library);
}

void HostKernels::compile(const std::vector<cuda::KernelText>& kernels) {
  std::vector<cuda::KernelText> wanted;
  for (const cuda::KernelText& kernel : kernels)
    if (loaded_.try_emplace(kernel.name()).second) wanted.push_back(kernel);
  if (wanted.empty()) return;
  const ScratchFolder folder("kernels");
  const std::string source = folder / "kernels.cpp", library = folder / "kernels.so", log = folder / "log";
  std::ofstream(source) << cuda::program_text(wanted, cuda::Form::kHost);
  const char* more = std::getenv("SHARDLAB_HOST_KERNEL_FLAGS");  // such as sanitizers, whose library is preloaded into the test alone
  std::string command = fmt::format("env -u LD_PRELOAD {} -std=c++17 -O0 -fPIC -shared -ffp-contract=off -w {} -o {} {} > {} 2>&1",
                                    SHARDLAB_HOST_COMPILER, more == nullptr ? "" : more, library, source, log);
  int status = std::system(command.c_str());
  std::ifstream file(log);
  std::string said((std::istreambuf_iterator<char>(file)), {});
  void* loaded = status == 0 ? ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  SL_CHECK(loaded != nullptr, "kernels do not compile as C++: {}", said.substr(0, 4000));
  libraries_.push_back(loaded);
  for (const cuda::KernelText& kernel : wanted)
    loaded_[kernel.name()] = {reinterpret_cast<Body>(::dlsym(loaded, kernel.name().c_str())),
                              reinterpret_cast<decltype(Loaded::run)>(::dlsym(loaded, "run_kernel"))};
}

void HostKernels::launch(const cuda::KernelText& kernel, const void* arguments, unsigned grid, unsigned block, bool has_barriers) const {
  const Loaded& found = loaded_.at(kernel.name());
  SL_CHECK(found.body != nullptr, "{} was not compiled", kernel.body);
  const char* fault = found.run(found.body, arguments, grid, block, has_barriers, goes_backwards_);
  SL_CHECK(fault == nullptr, "{}: {}", kernel.body, fault);
}

std::vector<cuda::KernelText> kernels_in(const std::string& code) {
  static const std::regex kForm(R"(KERNEL (k[0-9a-f]{16})\(const Arguments<(\d+), (\d+)> a\) \{ (.*); \})");
  static const std::regex kInstances(
      R"(KERNEL (k[0-9a-f]{16})\(const __grid_constant__ Instances<Arguments<(\d+), (\d+)>, (\d+)> all\) \{ const Arguments<\d+, \d+>&? a = all.each\[blockIdx.y\]; (.*); \})");
  std::vector<cuda::KernelText> found;
  for (std::sregex_iterator i(code.begin(), code.end(), kForm), end; i != end; ++i)
    found.push_back({(*i)[4].str(), std::stoi((*i)[2].str()), std::stoi((*i)[3].str())});
  for (std::sregex_iterator i(code.begin(), code.end(), kInstances), end; i != end; ++i)
    found.push_back({(*i)[5].str(), std::stoi((*i)[2].str()), std::stoi((*i)[3].str()), 1, std::stoi((*i)[4].str())});
  return found;
}

namespace {

template <typename R>
void transform_rows(const std::vector<std::int64_t>& numbers, const std::byte* in, std::byte* out) {
  auto kind = ops::FftKind(numbers[0]);
  std::int64_t length = numbers[1], half = length / 2 + 1, real = std::int64_t(sizeof(R)), pair = 2 * real;
  bool to_real = kind == ops::FftKind::kRealInverse, from_real = kind == ops::FftKind::kRealForward;
  std::int64_t in_bytes = to_real ? half * pair : length * (from_real ? real : pair);
  std::int64_t out_bytes = from_real ? half * pair : length * (to_real ? real : pair);
  Buffer row{std::size_t(in_bytes)}, made{std::size_t(out_bytes)};
  for (std::int64_t r = 0; r < numbers[2]; ++r) {
    std::memcpy(row.data(), in + r * in_bytes, std::size_t(in_bytes));
    ops::fft_rows<R>(kind, length).run(row.data(), made.data());
    std::memcpy(out + r * out_bytes, made.data(), std::size_t(out_bytes));
  }
}

}  // namespace

void HostKernels::sort_places(const cuda::PlaceSort& sort) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(sort.count));
  std::iota(order.begin(), order.end(), 0);
  auto sorted = [&]<typename Word>(Word) {
    auto* words = reinterpret_cast<const Word*>(sort.words);
    auto* places = reinterpret_cast<const std::int32_t*>(sort.places);
    const Word mask = Word(sort.bits == 8 * int(sizeof(Word)) ? ~Word(0) : (Word(1) << sort.bits) - 1);
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t x, std::int64_t y) { return (words[x] & mask) < (words[y] & mask); });
    for (std::int64_t i = 0; i < sort.count; ++i) {
      reinterpret_cast<Word*>(sort.sorted_words)[i] = words[order[std::size_t(i)]];
      reinterpret_cast<std::int32_t*>(sort.sorted_places)[i] = places[order[std::size_t(i)]];
    }
  };
  sort.word_bytes == 4 ? sorted(std::uint32_t()) : sorted(std::uint64_t());
}

void HostKernels::run(const cuda::NodePlan& plan, std::vector<std::byte*> buffers) const {
  using Kind = cuda::Call::Kind;
  std::vector<GuardedBytes> temporaries;
  for (std::size_t bytes : plan.temporaries) {
    temporaries.emplace_back(bytes);
    buffers.push_back(temporaries.back().data());
  }
  for (const cuda::Call& call : plan.calls) {
    auto buffer = [&](std::size_t i) { return buffers[std::size_t(call.buffers[i])]; };
    const auto& n = call.numbers;
    switch (call.kind) {
      case Kind::kCopy:
        std::memcpy(buffer(1) + n[2], buffer(0) + n[1], std::size_t(n[0]));
        break;
      case Kind::kUpload:
        std::memcpy(buffer(0), call.data->data(), call.data->size());
        break;
      case Kind::kClear:
        std::memset(buffer(0), int(n[1]), std::size_t(n[0]));
        break;
      case Kind::kFourier:
        call.dtype == DType::kFloat64 ? transform_rows<double>(n, buffer(0), buffer(1)) : transform_rows<float>(n, buffer(0), buffer(1));
        break;
      case Kind::kSort:
        sort_places({.count = n[0],
                     .word_bytes = int(n[1]),
                     .bits = int(n[2]),
                     .words = buffer(0),
                     .places = buffer(1),
                     .sorted_words = buffer(2),
                     .sorted_places = buffer(3)});
        break;
      case Kind::kMatrix:
      case Kind::kKernel: {
        std::vector<std::int64_t> arguments;
        for (std::size_t i = 0; i < call.buffers.size(); ++i) arguments.push_back(reinterpret_cast<std::int64_t>(buffer(i)));
        arguments.insert(arguments.end(), n.begin(), n.end());
        unsigned block = call.has_barriers ? 16 : 4, grid = 3;  // few, so that threads go round and barriers are met
        launch(call.kernel, arguments.data(), grid, block, call.has_barriers);
        break;
      }
    }
  }
}

}  // namespace shardlab::testing
