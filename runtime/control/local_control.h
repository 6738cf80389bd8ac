// Control planes for several processes that live in one: simulated runs, and tests of the whole logic without a network.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "runtime/control/process_control.h"

namespace shardlab::control {

// The part of one process; any number of them share a referee, which outlives them.
class LocalLedgerControl final : public ProcessControl {
 public:
  LocalLedgerControl(Referee& referee, int process_index, std::function<void(const std::string& why)> on_stop = {});
  ~LocalLedgerControl() override;

 private:
  class Link;
  Uplink& uplink() override;

  Referee& referee_;
  std::unique_ptr<Link> link_;
};

}  // namespace shardlab::control
