// A rendezvous for tests, in memory that forked processes share: write-once keys, and waiting for them.
#pragma once

#include <pthread.h>
#include <sys/mman.h>
#include <time.h>

#include <cstring>
#include <new>

#include "runtime/base/error.h"
#include "runtime/comm/rendezvous.h"

namespace shardlab::testing {

class SharedBoard final : public Rendezvous {
 public:
  SharedBoard() {
    void* memory = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    SL_CHECK(memory != MAP_FAILED, "no shared memory");
    board_ = new (memory) Board();
    pthread_mutexattr_t mutex;
    pthread_mutexattr_init(&mutex);
    pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&board_->mutex, &mutex);
    pthread_condattr_t condition;
    pthread_condattr_init(&condition);
    pthread_condattr_setpshared(&condition, PTHREAD_PROCESS_SHARED);
    pthread_cond_init(&board_->changed, &condition);
  }
  ~SharedBoard() override { munmap(board_, sizeof(Board)); }

  void set(const std::string& key, const std::string& value) override {
    pthread_mutex_lock(&board_->mutex);
    SL_CHECK(board_->count < kEntriesMax && key.size() < kBytesMax && value.size() < kBytesMax, "the board is full");
    std::strcpy(board_->entries[board_->count].key, key.c_str());
    std::strcpy(board_->entries[board_->count].value, value.c_str());
    ++board_->count;
    pthread_cond_broadcast(&board_->changed);
    pthread_mutex_unlock(&board_->mutex);
  }
  std::string get(const std::string& key, std::chrono::milliseconds limit) override {
    timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += limit.count() / 1000 + 1;
    pthread_mutex_lock(&board_->mutex);
    std::string value = find(key);
    int error = 0;
    while (value.empty() && error == 0) {
      error = pthread_cond_timedwait(&board_->changed, &board_->mutex, &end);
      value = find(key);
    }
    pthread_mutex_unlock(&board_->mutex);
    if (value.empty()) throw TransportError("nobody set the key " + key);
    return value;
  }

 private:
  static constexpr int kEntriesMax = 256, kBytesMax = 200;
  struct Entry {
    char key[kBytesMax], value[kBytesMax];
  };
  struct Board {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int count = 0;
    Entry entries[kEntriesMax];
  };
  std::string find(const std::string& key) const {
    for (int i = 0; i < board_->count; ++i)
      if (key == board_->entries[i].key) return board_->entries[i].value;
    return "";
  }
  Board* board_;
};

}  // namespace shardlab::testing
