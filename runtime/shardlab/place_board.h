// Where the issuing thread of this process is, for whoever asks while it goes on.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/base/where.h"

namespace shardlab {

// One thread puts, any thread looks. A few plain stores: it is on the way of every small op.
class PlaceBoard {
 public:
  void put(Where where) {
    // Each part is released: who sees one sees that the version has changed.
    std::uint32_t version = version_.load(std::memory_order_relaxed);
    version_.store(version + 1, std::memory_order_relaxed);
    file_.store(where.file, std::memory_order_release);
    function_.store(where.function, std::memory_order_release);
    line_.store(where.line, std::memory_order_release);
    statement_.store(where.statement, std::memory_order_release);
    version_.store(version + 2, std::memory_order_release);
  }
  // Nothing known where nothing was put, or where it changes all the time.
  Where get() const {
    constexpr int kTries = 1000;
    for (int i = 0; i < kTries; ++i) {
      std::uint32_t before = version_.load(std::memory_order_acquire);
      Where where{file_.load(std::memory_order_acquire), function_.load(std::memory_order_acquire), line_.load(std::memory_order_acquire),
                  statement_.load(std::memory_order_acquire)};
      if (before % 2 == 0 && version_.load(std::memory_order_relaxed) == before) return where;
    }
    return {};
  }

 private:
  std::atomic<std::uint32_t> version_ = 0;
  std::atomic<const char*> file_ = "", function_ = "";
  std::atomic<std::uint32_t> line_ = 0;
  std::atomic<std::int32_t> statement_ = -1;
};

}  // namespace shardlab
