#include "virtualdev/cuda/nccl_calls.h"

#include <cstring>

namespace shardlab::cuda {
namespace {

ncclComm_t own(Communicator communicator) { return reinterpret_cast<ncclComm_t>(communicator); }

}  // namespace

void NcclCalls::check_result(ncclResult_t result, const char* what) {
  if (result == ncclSuccess || result == ncclInProgress) return;
  throw NcclError(fmt::format("{}: {}", what, SHARDLAB_CALL(library_, ncclGetErrorString)(result)));
}

std::string NcclCalls::new_id() {
  ncclUniqueId id;
  check_result(SHARDLAB_CALL(library_, ncclGetUniqueId)(&id), "ncclGetUniqueId");
  return std::string(id.internal, sizeof(id.internal));
}

int NcclCalls::version() {
  if (load_library(nccl_library()) == nullptr) return 0;
  int version = 0;
  check_result(SHARDLAB_CALL(library_, ncclGetVersion)(&version), "ncclGetVersion");
  return version;
}

std::vector<Communicator> NcclCalls::join(const std::string& id, std::span<const CommunicatorMember> own, int size,
                                          const std::function<void(int gpu)>& use) {
  ncclUniqueId own_id;
  SL_CHECK(id.size() == sizeof(own_id.internal), "an id of {} bytes", id.size());
  std::memcpy(own_id.internal, id.data(), id.size());
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  // Some versions write to where the handle was asked for once more, when the communicator is ready.
  auto kept = std::make_unique<std::vector<ncclComm_t>>(own.size(), nullptr);
  std::vector<ncclComm_t>& made = *kept;
  {
    std::lock_guard lock(mutex_);
    handles_.push_back(std::move(kept));
  }
  group_start();
  try {
    for (std::size_t i = 0; i < own.size(); ++i) {
      use(own[i].gpu);
      check_result(SHARDLAB_CALL(library_, ncclCommInitRankConfig)(&made[i], size, own_id, own[i].rank, &config), "ncclCommInitRankConfig");
    }
  } catch (...) {
    group_end_quietly();
    throw;
  }
  group_end();
  std::vector<Communicator> communicators;
  for (ncclComm_t each : made) communicators.push_back(Communicator(reinterpret_cast<std::uintptr_t>(each)));
  return communicators;
}

void NcclCalls::group_start() { check_result(SHARDLAB_CALL(library_, ncclGroupStart)(), "ncclGroupStart"); }
void NcclCalls::group_end() { check_result(SHARDLAB_CALL(library_, ncclGroupEnd)(), "ncclGroupEnd"); }

void NcclCalls::send(const std::byte* data, std::size_t bytes, int to, Communicator communicator, cudaStream_t stream) {
  check_result(SHARDLAB_CALL(library_, ncclSend)(data, bytes, ncclUint8, to, own(communicator), stream), "ncclSend");
}
void NcclCalls::receive(std::byte* data, std::size_t bytes, int from, Communicator communicator, cudaStream_t stream) {
  check_result(SHARDLAB_CALL(library_, ncclRecv)(data, bytes, ncclUint8, from, own(communicator), stream), "ncclRecv");
}

bool NcclCalls::is_ready(Communicator communicator) {
  ncclResult_t state = ncclSuccess;
  check_result(SHARDLAB_CALL(library_, ncclCommGetAsyncError)(own(communicator), &state), "ncclCommGetAsyncError");
  check_result(state, "NCCL, meanwhile");
  return state == ncclSuccess;
}

void NcclCalls::finish(Communicator communicator) {
  check_result(SHARDLAB_CALL(library_, ncclCommFinalize)(own(communicator)), "ncclCommFinalize");
}
void NcclCalls::destroy(Communicator communicator) noexcept { SHARDLAB_CALL(library_, ncclCommDestroy)(own(communicator)); }
void NcclCalls::abort(Communicator communicator) noexcept { SHARDLAB_CALL(library_, ncclCommAbort)(own(communicator)); }

}  // namespace shardlab::cuda
