#include "runtime/control/host_waits.h"

namespace shardlab::control {

void HostWaits::came(const std::string& name, int process, std::uint64_t visit, const std::set<int>& participants, bool ends_soon) {
  auto [found, is_new] = barriers_.try_emplace(name);
  Barrier& barrier = found->second;
  if (is_new) barrier.missing = participants;
  barrier.missing.erase(process);
  barrier.here[process] = visit;
  barrier.ends_soon = barrier.ends_soon || ends_soon;
}

void HostWaits::barrier_over(const std::string& name) { barriers_.erase(name); }

void HostWaits::wants_key(int process, std::uint64_t visit, bool ends_soon) {
  Key& key = key_.at(std::size_t(process));
  if (key.visit == 0) ++keys_wanted_;
  key = {visit, ends_soon};
}

void HostWaits::key_over(int process, std::uint64_t visit) {
  Key& key = key_.at(std::size_t(process));
  if (key.visit == 0 || key.visit != visit) return;
  key = {};
  --keys_wanted_;
}

std::optional<HostWaits::Wait> HostWaits::of(int process) const {
  const std::uint64_t visit = told_.at(std::size_t(process));
  if (visit == 0) return std::nullopt;
  const Key& key = key_[std::size_t(process)];
  if (key.visit == visit) return key.ends_soon ? std::nullopt : std::optional(Wait{false, nullptr});
  for (const auto& [name, barrier] : barriers_) {
    auto here = barrier.here.find(process);
    if (here != barrier.here.end() && here->second == visit)
      return barrier.ends_soon ? std::nullopt : std::optional(Wait{true, &barrier.missing});
  }
  return std::nullopt;
}

}  // namespace shardlab::control
