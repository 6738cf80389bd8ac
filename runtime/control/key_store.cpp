#include "runtime/control/key_store.h"

#include <utility>

namespace shardlab::control {

KeyStore::Set KeyStore::set(const std::string& key, const std::string& value, bool only_new) {
  if (key.size() > kKeyBytesMax || value.size() > kValueBytesMax) return Set::kTooLong;
  std::lock_guard lock(mutex_);
  auto found = values_.find(key);
  if (only_new && found != values_.end()) return Set::kExists;
  std::size_t before = found == values_.end() ? 0 : key.size() + found->second.size();
  std::size_t after = bytes_ - before + key.size() + value.size();
  if ((found == values_.end() && values_.size() >= kKeysMax) || after > kBytesMax) return Set::kTooMany;
  bytes_ = after;
  values_[key] = value;
  for (auto it = waiters_.begin(); it != waiters_.end();) {
    if (it->second.key != key) {
      ++it;
      continue;
    }
    Answer answer = std::move(it->second.answer);
    it = waiters_.erase(it);
    answer(value);
  }
  return Set::kDone;
}

std::optional<std::string> KeyStore::get(const std::string& key) const {
  std::lock_guard lock(mutex_);
  auto found = values_.find(key);
  return found == values_.end() ? std::nullopt : std::optional(found->second);
}

std::uint64_t KeyStore::wait(const std::string& key, Answer answer, const std::function<void()>& waits) {
  std::lock_guard lock(mutex_);
  auto found = values_.find(key);
  if (found != values_.end()) {
    answer(found->second);
    return 0;
  }
  if (waits) waits();
  waiters_.emplace(next_ticket_, Waiter{key, std::move(answer)});
  return next_ticket_++;
}

bool KeyStore::cancel(std::uint64_t ticket) {
  std::lock_guard lock(mutex_);
  return waiters_.erase(ticket) > 0;
}

}  // namespace shardlab::control
