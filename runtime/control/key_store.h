// The job's key-value store, and those who wait for a key that nobody has set yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace shardlab::control {

// Thread-safe. An answer is given once, with the store's lock held: it hands on quickly and does not call the store.
class KeyStore {
 public:
  static constexpr std::size_t kKeyBytesMax = 1024;
  static constexpr std::size_t kValueBytesMax = std::size_t(1) << 20;
  static constexpr std::size_t kKeysMax = 65536;
  static constexpr std::size_t kBytesMax = std::size_t(256) << 20;  // of all keys and values

  enum class Set { kDone, kTooLong, kTooMany, kExists };
  using Answer = std::function<void(const std::string& value)>;

  // `only_new`: not where the key has a value.
  Set set(const std::string& key, const std::string& value, bool only_new = false);
  std::optional<std::string> get(const std::string& key) const;

  // Answers once the key is set: before it returns where it is already, and the ticket is 0.
  // `waits` is called first where it is not, with the lock held.
  std::uint64_t wait(const std::string& key, Answer answer, const std::function<void()>& waits = {});
  // Whether the answer was still to come; it never will.
  bool cancel(std::uint64_t ticket);

 private:
  struct Waiter {
    std::string key;
    Answer answer;
  };

  mutable std::mutex mutex_;
  std::map<std::string, std::string> values_;
  std::map<std::uint64_t, Waiter> waiters_;  // by ticket
  std::uint64_t next_ticket_ = 1;
  std::size_t bytes_ = 0;
};

}  // namespace shardlab::control
