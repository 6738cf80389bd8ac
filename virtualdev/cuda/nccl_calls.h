// NCCL behind GpuApi.
#pragma once

#include <nccl.h>

#include <string>

#include "virtualdev/cuda/libraries.h"

namespace shardlab::cuda {

// Communicators do not block: what is not done yet is asked for until it is, and abort() ends what never will be.
class NcclCalls {
 public:
  NcclCalls() : library_(nccl_library()) {}
  std::string new_id();
  Communicator join(const std::string& id, int rank, int size);
  void group_start();
  void group_end();
  void send(const std::byte* data, std::size_t bytes, int to, Communicator communicator, cudaStream_t stream);
  void receive(std::byte* data, std::size_t bytes, int from, Communicator communicator, cudaStream_t stream);
  void check(Communicator communicator);
  void abort(Communicator communicator) noexcept;

 private:
  void check_result(ncclResult_t result, const char* what);
  Library library_;
};

}  // namespace shardlab::cuda
