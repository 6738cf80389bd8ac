#include "runtime/control/word_sender.h"

#include <chrono>
#include <utility>

#include "runtime/control/coordinator.h"

namespace shardlab::control {
namespace {

constexpr std::chrono::milliseconds kBetweenBeats{Coordinator::kHeartbeatMs};

}  // namespace

void WordSender::start() {
  thread_ = std::jthread([this](std::stop_token stop) { send(stop); });
}

void WordSender::push(wire::Word word, When when) {
  std::lock_guard lock(mutex_);
  if (closed_) return;
  queue_.push_back(std::move(word));
  bool wake = (when == When::kNow && !urgent_) || (when == When::kSoon && !wanted_ && !urgent_);
  urgent_ = urgent_ || when == When::kNow;
  wanted_ = wanted_ || when == When::kSoon;
  if (wake || int(queue_.size()) == kBatchMax) wake_.notify_one();
}

void WordSender::close() {
  std::lock_guard lock(mutex_);
  closed_ = true;
}

wire::Words WordSender::next_batch(bool last) {
  wire::Words batch;
  while (!queue_.empty() && batch.words_size() < kBatchMax) {
    *batch.add_words() = std::move(queue_.front());
    queue_.pop_front();
  }
  // Also of who says much: each is answered, which tells that the coordinator lives. Behind the words, of which the first one is to join.
  const comm::Ns now = comm::now_ns();
  if (!last && (batch.words_size() == 0 || now - beat_ns_ >= std::chrono::nanoseconds(kBetweenBeats).count())) {
    beat_ns_ = now;
    beat_(batch);
  }
  return batch;
}

void WordSender::send(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  bool open = true;
  while (true) {
    wake_.wait_for(lock, stop, kBetweenBeats, [&] { return wanted_ || urgent_; });
    if (!urgent_)
      wake_.wait_for(lock, stop, std::chrono::milliseconds(kLingerMs), [&] { return urgent_ || int(queue_.size()) >= kBatchMax; });
    bool last = stop.stop_requested();
    wire::Words batch = next_batch(last);
    bool more = !queue_.empty();
    wanted_ = false;
    urgent_ = more;
    lock.unlock();
    if (open && batch.words_size() > 0) open = write_(batch);
    if (last && !more) {
      if (open) done_();
      return;
    }
    lock.lock();
    if (!open) {
      queue_.clear();
      wanted_ = urgent_ = false;
    }
  }
}

}  // namespace shardlab::control
