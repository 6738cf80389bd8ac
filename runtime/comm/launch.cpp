#include "runtime/comm/launch.h"

#include <time.h>

#include <atomic>

#include "runtime/comm/clock.h"

namespace shardlab::comm {
namespace {

std::atomic<bool> is_skewed = false;
std::atomic<Ns> skew_since = 0, skew_offset = 0;
std::atomic<double> skew_drift = 0;

Ns monotonic_ns() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return Ns(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

Ns now_ns() {
  Ns now = monotonic_ns();
  if (!is_skewed.load(std::memory_order_acquire)) return now;
  return now + skew_offset + Ns(double(now - skew_since) * skew_drift / 1e6);
}

void skew_clock(Ns offset, double drift_ppm) {
  skew_since = monotonic_ns();
  skew_offset = offset;
  skew_drift = drift_ppm;
  is_skewed.store(true, std::memory_order_release);
}

}  // namespace shardlab::comm
