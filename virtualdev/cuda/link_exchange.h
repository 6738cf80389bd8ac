// Exchanges between the GPUs of several processes: from GPU to GPU through NCCL, or by way of the host.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/exec/backend.h"
#include "virtualdev/cuda/communicators.h"
#include "virtualdev/cuda/gpu_memory.h"

namespace shardlab::cuda {

// By way of this process's memory: between any processes, such as share a GPU too.
comm::ExchangeResult exchange_by_host(GpuApi& api, const LinkContext& link, std::span<const comm::Send> sends,
                                      std::span<const comm::Receive> receives);

// Every message is one send and one receive of a communicator, all of an exchange in one group. Both ends of each meet first, over the
// processes' transport: what they run is compared as for any message before a call of NCCL is made, so that what would not fit is told and
// never waited for. Returns when the GPUs are done, and on an abort has ended what they wait for; so nobody is left behind in a kernel.
class NcclExchange {
 public:
  // What one end of a message tells the other.
  struct Meeting {
    std::int32_t sends_from = -1, receives_at = -1;  // which of its GPUs; -1: none
    std::int64_t sent_bytes = 0, wanted_bytes = 0;
  };
  // A failure is the other's death as a rule: the control plane has this long to say so.
  static constexpr int kGraceMs = 1000;

  // `processes`: all that run the launch, ascending.
  NcclExchange(GpuApi& api, Communicators& communicators, std::span<const std::shared_ptr<Gpu>> gpus, const LinkContext& link,
               const std::vector<int>& processes)
      : api_(api), communicators_(communicators), gpus_(gpus), link_(link), processes_(processes) {}
  // By way of the host where the processes' GPUs cannot be members of one communicator.
  comm::ExchangeResult run(std::span<const comm::Send> sends, std::span<const comm::Receive> receives);

 private:
  class Aborted {};
  struct Peer {
    int process = -1;
    const comm::Send* send = nullptr;
    const comm::Receive* receive = nullptr;
    Meeting own, theirs;
  };
  void list_peers(std::span<const comm::Send> sends, std::span<const comm::Receive> receives);
  comm::ExchangeResult meet();
  void move(const CommunicatorGroup& group);
  void issue(const CommunicatorGroup& group);
  void wait_until_taken(const CommunicatorGroup& group);
  void wait_until_done(const CommunicatorGroup& group);
  bool is_aborted();
  // While waiting for others: tells of it once, and throws when the exchange is aborted.
  void pause();
  int index_of(const Gpu* gpu) const;
  const Block& packed(const comm::Send& send);

  GpuApi& api_;
  Communicators& communicators_;
  std::span<const std::shared_ptr<Gpu>> gpus_;
  const LinkContext& link_;
  const std::vector<int>& processes_;
  std::vector<Peer> peers_;
  std::vector<std::shared_ptr<Buffer>> kept_;  // until the GPUs are done
  std::vector<bool> used_;                     // by GPU
  bool has_told_ = false;
  std::int64_t began_ns_ = comm::now_ns();
};

}  // namespace shardlab::cuda
