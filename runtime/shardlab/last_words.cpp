#include "runtime/shardlab/last_words.h"

#include <fmt/format.h>

#include "runtime/control/interrupt_client.h"
#include "runtime/shardlab/interrupt.h"
#include "traces/checks/wording.h"

namespace shardlab {
namespace {

std::string at_text(Where at) { return at.known() ? " at " + at.text() : ""; }

}  // namespace

void LastWords::looks_for(int process, const std::string& address) {
  std::lock_guard lock(mutex_);
  process_ = process;
  looks_for_ = address;
}

void LastWords::found(const control::ClientOptions& coordinator) {
  std::lock_guard lock(mutex_);
  coordinator_ = coordinator;
  coordinator_->on_stop = nullptr;  // whose it is may be no more
}

std::string LastWords::at(int signal) const {
  constexpr std::chrono::milliseconds kAnswerLimit{1000};
  const Where at = place_.get();
  std::unique_lock lock(mutex_);
  const int process = process_;
  const std::string looks_for = looks_for_;
  const std::optional<control::ClientOptions> coordinator = coordinator_;
  lock.unlock();
  if (!coordinator && !looks_for.empty())
    return interrupt_text(signal,
                          fmt::format("  process {}: looks for the coordinator of its job, at {}{}\n", process, looks_for, at_text(at)));
  const std::string own = fmt::format("  process {}: running{}\n", process, at_text(at));
  if (!coordinator) return interrupt_text(signal, own);
  try {
    control::InterruptAnswer answer = control::tell_interrupt(*coordinator, signal, at, kAnswerLimit);
    if (answer.teller == process) return interrupt_text(signal, answer.places);
    return fmt::format("shardlab: process {} ended by {}{}; process {} tells where all were\n", process, signal_name(signal), at_text(at),
                       answer.teller);
  } catch (const std::exception& error) {
    return interrupt_text(signal, fmt::format("{}  of the others nothing is known: {}\n", own, error.what()));
  }
}

std::string LastWords::at_the_end(int status) const {
  std::lock_guard lock(mutex_);
  if (status != 0) return fmt::format("  process {}: it was ending, with code {}\n", process_, status);
  return fmt::format("  process {}: its program is over{}\n", process_,
                     coordinator_ ? ", and it has left the job; of the others it knows no more" : "");
}

}  // namespace shardlab
