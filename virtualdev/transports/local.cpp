// The transport of a process on its own: there is nobody to exchange with.
#include <atomic>

#include "runtime/base/error.h"
#include "virtualdev/transports/transport_def.h"

namespace shardlab {
namespace {

class LocalTransport final : public ProcessTransport {
 public:
  std::string_view name() const override { return "local"; }
  comm::ExchangeResult exchange(const comm::MessageHeader&, std::span<const comm::Send> sends, std::span<const comm::Receive> receives,
                                const std::function<void(const std::vector<comm::ProcessIndex>&)>&) override {
    SL_CHECK(sends.empty() && receives.empty(), "a process on its own exchanges nothing");
    return {aborted_ ? comm::ExchangeStatus::kAborted : comm::ExchangeStatus::kDone, {}};
  }
  void abort(std::string_view) override { aborted_ = true; }
  std::vector<SentBytes> sent() const override { return std::vector<SentBytes>(1); }

 private:
  std::atomic<bool> aborted_ = false;
};

std::unique_ptr<ProcessTransport> make(const TransportOptions& options) {
  SL_CHECK(options.num_processes == 1, "the local transport joins no processes, and there are {}", options.num_processes);
  return std::make_unique<LocalTransport>();
}

}  // namespace

const TransportDef kLocalTransport{
    .name = "local",
    .doc = "One process; its devices share memory, so no message is ever sent.",
    .processes_max = 1,
    .make = make,
};

}  // namespace shardlab
