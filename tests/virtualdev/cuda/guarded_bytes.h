// Memory behind which nothing may be read or written: an access beyond its end ends the program at once. As of a GPU's allocations, whole
// words of sixteen bytes belong to it. Full of bytes that nobody may rely on.
#pragma once

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <utility>

#include "runtime/base/error.h"

namespace shardlab::testing {

class GuardedBytes {
 public:
  explicit GuardedBytes(std::size_t bytes) {
    const std::size_t page = std::size_t(::sysconf(_SC_PAGESIZE)), held = (bytes + 15) / 16 * 16;
    mapped_ = (held + page - 1) / page * page + page;
    void* made = ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    SL_CHECK(made != MAP_FAILED, "no {} bytes of memory", mapped_);
    begin_ = static_cast<std::byte*>(made);
    data_ = begin_ + mapped_ - page - held;
    std::memset(begin_, 0xcd, mapped_ - page);
    tell_sanitizer("__asan_poison_memory_region", std::size_t(data_ - begin_));
    SL_CHECK(::mprotect(begin_ + mapped_ - page, page, PROT_NONE) == 0, "no guard behind {} bytes", bytes);
  }
  ~GuardedBytes() {
    if (begin_ == nullptr) return;
    tell_sanitizer("__asan_unpoison_memory_region", mapped_);
    ::munmap(begin_, mapped_);
  }
  GuardedBytes(GuardedBytes&& other) noexcept : begin_(std::exchange(other.begin_, nullptr)), data_(other.data_), mapped_(other.mapped_) {}
  GuardedBytes& operator=(GuardedBytes&&) = delete;
  std::byte* data() const { return data_; }

 private:
  // Where it is there, what lies before the memory is out of bounds too.
  void tell_sanitizer(const char* function, std::size_t bytes) const {
    if (void* found = ::dlsym(RTLD_DEFAULT, function)) reinterpret_cast<void (*)(const void*, std::size_t)>(found)(begin_, bytes);
  }
  std::byte *begin_ = nullptr, *data_ = nullptr;
  std::size_t mapped_ = 0;
};

}  // namespace shardlab::testing
