#include "virtualdev/cuda/kernel_store.h"

#include <fmt/format.h>
#include <unistd.h>

#include <bit>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "runtime/base/at_work.h"
#include "runtime/base/sha256.h"

namespace shardlab::cuda {

namespace fs = std::filesystem;

KernelStore::KernelStore(std::shared_ptr<GpuApi> api, std::shared_ptr<KernelCompiler> compiler, std::string folder)
    : api_(std::move(api)), compiler_(std::move(compiler)), folder_(std::move(folder)) {}

std::string KernelStore::default_folder() {
  auto variable = [](const char* name) { return std::getenv(name) == nullptr ? std::string() : std::string(std::getenv(name)); };
  if (std::string folder = variable("SHARDLAB_KERNEL_CACHE"); !folder.empty()) return folder;
  if (std::string cache = variable("XDG_CACHE_HOME"); !cache.empty()) return cache + "/shardlab/kernels";
  if (std::string home = variable("HOME"); !home.empty()) return home + "/.cache/shardlab/kernels";
  return {};
}

// A file: the hash of what follows, then the code.
std::string KernelStore::binary_of(const std::vector<KernelText>& texts, int arch) {
  std::string text = program_text(texts, Form::kNvrtc);
  constexpr std::size_t kHashDigits = 16;
  auto hash_of = [](std::string_view data) { return fmt::format("{:016x}", sha256_prefix(data)); };
  std::string path;
  if (!folder_.empty()) {
    path = fmt::format("{}/{}-sm{}.cubin", folder_, hash_of(fmt::format("{}\n{}\n{}", compiler_->version(), arch, text)), arch);
    std::ifstream file(path, std::ios::binary);
    std::string held((std::istreambuf_iterator<char>(file)), {});
    if (held.size() > kHashDigits && held.substr(0, kHashDigits) == hash_of(std::string_view(held).substr(kHashDigits)))
      return held.substr(kHashDigits);
  }
  std::string binary = compiler_->compile(text, arch);
  if (path.empty()) return binary;
  std::error_code ignored;  // a cache that cannot be written is none
  fs::create_directories(folder_, ignored);
  std::string partial = fmt::format("{}.{}.{}", path, ::getpid(), ::gettid());
  std::ofstream(partial, std::ios::binary) << hash_of(binary) << binary;
  fs::rename(partial, path, ignored);  // whole or not at all
  return binary;
}

// Compiling is done without the lock: several threads may, and what two compile at once is the same.
void KernelStore::prepare(int gpu, const std::vector<KernelText>& texts) {
  std::vector<KernelText> missing;
  int arch = 0;
  {
    std::lock_guard lock(mutex_);
    std::unordered_map<KernelText, Kernel, HashOfText> listed;
    for (const KernelText& text : texts)
      if (!text.body.empty() && kernels_[gpu].count(text) == 0 && listed.try_emplace(text).second) missing.push_back(text);
    if (missing.empty()) return;
    auto [found, is_new] = archs_.try_emplace(gpu, 0);
    if (is_new) found->second = api_->info(gpu).arch;
    arch = found->second;
  }
  const AtWork compiling;
  // The library's text costs as much as some kernels do.
  constexpr std::size_t kTogetherMin = 4;
  const std::size_t threads = std::min<std::size_t>(std::max(std::thread::hardware_concurrency(), 1u), missing.size() / kTogetherMin);
  const std::size_t together = (missing.size() + std::max<std::size_t>(threads, 1) - 1) / std::max<std::size_t>(threads, 1);
  std::vector<std::future<void>> parts;
  for (std::size_t first = 0; first < missing.size(); first += together) {
    auto compile = [this, gpu, arch,
                    some = std::vector<KernelText>(missing.begin() + std::ptrdiff_t(first),
                                                   missing.begin() + std::ptrdiff_t(std::min(first + together, missing.size())))] {
      std::string binary = binary_of(some, arch);
      std::lock_guard lock(mutex_);
      for (const KernelText& text : some) {
        if (kernels_[gpu].count(text) > 0) continue;
        const Kernel kernel = api_->load(gpu, binary, text.name());
        kernels_[gpu][text] = kernel;
        texts_[{gpu, kernel}] = text;
      }
    };
    parts.push_back(std::async(threads > 1 ? std::launch::async : std::launch::deferred, std::move(compile)));
  }
  for (std::future<void>& part : parts) part.wait();
  for (std::future<void>& part : parts) part.get();
}

Kernel KernelStore::later(int gpu, const KernelText& text) {
  std::lock_guard lock(mutex_);
  const OfGpu& known = kernels_[gpu];
  if (auto found = known.find(text); found != known.end()) return found->second;
  auto [found, is_new] = later_[gpu].try_emplace(text);
  if (is_new) {
    found->second = Kernel(next_later_++);
    wanted_[found->second] = {gpu, text};
  }
  return found->second;
}

void KernelStore::make_real(std::span<Kernel*> kernels) {
  std::map<Kernel, std::pair<int, KernelText>> wanted;
  {
    std::lock_guard lock(mutex_);
    for (Kernel* kernel : kernels)
      if (std::uintptr_t(*kernel) >= kFirstLater) wanted.insert(*wanted_.find(*kernel));
  }
  if (wanted.empty()) return;
  std::map<int, std::vector<KernelText>> texts;
  for (const auto& [kernel, text] : wanted) texts[text.first].push_back(text.second);
  for (const auto& [gpu, list] : texts) prepare(gpu, list);
  std::lock_guard lock(mutex_);
  for (Kernel* kernel : kernels)
    if (auto found = wanted.find(*kernel); found != wanted.end()) *kernel = kernels_.at(found->second.first).at(found->second.second);
}

std::vector<Kernel> KernelStore::batched(int gpu, const std::vector<std::pair<Kernel, std::size_t>>& wanted) {
  std::vector<KernelText> texts;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [kernel, count] : wanted) {
      KernelText text = texts_.at({gpu, kernel});
      text.instances = int(std::bit_ceil(count));
      texts.push_back(std::move(text));
    }
  }
  prepare(gpu, texts);
  std::vector<Kernel> kernels;
  for (const KernelText& text : texts) kernels.push_back(find(gpu, text));
  return kernels;
}

Kernel KernelStore::find(int gpu, const KernelText& text) {
  {
    std::lock_guard lock(mutex_);
    const OfGpu& known = kernels_[gpu];
    if (auto found = known.find(text); found != known.end()) return found->second;
  }
  prepare(gpu, {text});
  std::lock_guard lock(mutex_);
  return kernels_.at(gpu).at(text);
}

}  // namespace shardlab::cuda
