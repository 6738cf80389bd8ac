#include "runtime/control/silence.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

namespace shardlab::control {
namespace {

// proc(5): the state follows the name, which is in brackets and may hold anything. 0: there is no such process.
char state_of(std::int64_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string stat((std::istreambuf_iterator<char>(file)), {});
  std::size_t name_end = stat.rfind(')');
  return name_end != stat.npos && name_end + 2 < stat.size() ? stat[name_end + 2] : '\0';
}

std::string cause_of(const Member& silent) {
  if (silent.host_id != host_identity()) return "it is stopped, or its host cannot be reached";
  switch (char state = state_of(silent.pid)) {
    case '\0':
    case 'X':
    case 'Z':
      return "it has ended";
    case 'T':
      return "it is stopped by a signal (state T)";
    case 't':
      return "a debugger holds it (state t)";
    case 'D':
      return "it waits for a disk or a network file system (state D)";
    default:
      return fmt::format("it lives (state {}), but nothing that it says arrives", state);
  }
}

}  // namespace

std::vector<SilenceToTell> Silences::look(const Membership& membership, std::chrono::milliseconds at_least, comm::Ns now) {
  const comm::Ns limit_ns = std::chrono::nanoseconds(at_least).count();
  if (now - looked_ns_ > limit_ns) awake_ns_ = now;
  looked_ns_ = now;
  if (now - awake_ns_ < limit_ns) return {};
  const std::vector<SilentProcess> silent = membership.silent(at_least, now);
  auto is_silent = [&](int process) {
    return std::any_of(silent.begin(), silent.end(), [&](const SilentProcess& each) { return each.process == process; });
  };
  std::erase_if(told_, [&](int process) { return !is_silent(process); });
  const std::vector<Member> members = membership.members();
  std::vector<SilenceToTell> found;
  for (const SilentProcess& each : silent) {
    if (std::find(told_.begin(), told_.end(), each.process) != told_.end()) continue;
    auto self = std::find_if(members.begin(), members.end(), [&](const Member& m) { return m.process == each.process; });
    const Member* teller = nullptr;
    for (const Member& member : members) {
      bool hears = !is_silent(member.process) && membership.attends(member.process);
      bool is_near = member.host_id == self->host_id;
      if (hears && (!teller || (is_near && teller->host_id != self->host_id))) teller = &member;
    }
    if (!teller) continue;
    told_.push_back(each.process);
    found.push_back({*self, each.silent_ms, teller->process});
  }
  return found;
}

std::optional<double> CoordinatorSilence::look(comm::Ns now) {
  if (now - looked_ns_ > rare_ns_) awake_ns_ = now;
  looked_ns_ = now;
  const comm::Ns heard_ns = heard_ns_.load(std::memory_order_relaxed);
  const bool silent = now - std::max(heard_ns, awake_ns_) >= at_least_ns_;
  const bool tell = silent && !told_;
  told_ = silent || (told_ && now - heard_ns >= at_least_ns_);
  return tell ? std::optional(double(now - heard_ns) / 1e6) : std::nullopt;
}

std::string silence_text(const std::string& who, const Member& silent, double silent_ms, const std::string& whereabouts) {
  return fmt::format("{} (pid {} on {}) has given no sign of life for {:.1f} s: {}{}{}", who, silent.pid, silent.host, silent_ms / 1000,
                     cause_of(silent), whereabouts.empty() ? "" : "; last ", whereabouts);
}

}  // namespace shardlab::control
