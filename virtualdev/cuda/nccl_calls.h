// NCCL behind GpuApi.
#pragma once

#include <nccl.h>

#include <functional>
#include <string>
#include <vector>

#include "virtualdev/cuda/libraries.h"

namespace shardlab::cuda {

// Communicators do not block: what is not done yet is asked for until it is, and abort() ends what never will be. Functions that are not
// there before 2.14 are looked up when called, so that an old library is told by its version.
class NcclCalls {
 public:
  NcclCalls() : library_(nccl_library()) {}
  int version();
  std::string new_id();
  // `use` makes a GPU the calling thread's.
  std::vector<Communicator> join(const std::string& id, std::span<const CommunicatorMember> own, int size,
                                 const std::function<void(int gpu)>& use);
  bool is_ready(Communicator communicator);
  void group_start();
  void group_end();
  void send(const std::byte* data, std::size_t bytes, int to, Communicator communicator, cudaStream_t stream);
  void receive(std::byte* data, std::size_t bytes, int from, Communicator communicator, cudaStream_t stream);
  void finish(Communicator communicator);
  void destroy(Communicator communicator) noexcept;
  void abort(Communicator communicator) noexcept;

 private:
  void group_end_quietly() noexcept { SHARDLAB_CALL(library_, ncclGroupEnd)(); }
  void check_result(ncclResult_t result, const char* what);
  Library library_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<std::vector<ncclComm_t>>> handles_;  // of all joins
};

}  // namespace shardlab::cuda
