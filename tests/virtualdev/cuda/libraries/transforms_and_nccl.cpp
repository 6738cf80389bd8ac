// The functions of libcufft, by the sum that defines a transform; and of libnccl, among the members of one process.
#include <cufft.h>
#include <nccl.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <numbers>

#include "tests/virtualdev/cuda/libraries/stand_in.h"

namespace shardlab::testing::libraries {
namespace {

struct Plan {
  bool is_made = false;
  cufftType type{};
  std::int64_t length = 0, rows = 0;
  cudaStream_t stream = nullptr;
  bool has_own_room = true;
  const void* room = nullptr;  // to work in

  std::size_t room_bytes() const { return std::size_t(length * rows); }
};
std::map<cufftHandle, Plan>& plans() {
  static auto* made = new std::map<cufftHandle, Plan>;
  return *made;
}

// As cuFFT's of real numbers: n / 2 + 1 of the others are read or made.
template <typename R>
cufftResult transform(cufftHandle handle, const void* from, void* to, cufftType type, int direction) {
  using C = std::complex<R>;
  const Plan plan = plans().at(handle);
  StreamState& on = world().stream(plan.stream, "cufftExec");
  if (!plan.is_made || plan.type != type) return CUFFT_INVALID_PLAN;
  if (plan.has_own_room) world().fault("a plan that takes room of its own, beside the stream's memory");
  const std::int64_t n = plan.length, half = n / 2 + 1;
  const bool from_real = type == CUFFT_R2C || type == CUFFT_D2Z, to_real = type == CUFFT_C2R || type == CUFFT_Z2D;
  const std::int64_t read = to_real ? half : n, made = from_real ? half : n;
  const std::size_t in_item = from_real ? sizeof(R) : sizeof(C), out_item = to_real ? sizeof(R) : sizeof(C);
  if (!world().holds(from, std::size_t(plan.rows * read) * in_item) || !world().holds(to, std::size_t(plan.rows * made) * out_item))
    world().fault("a transform of memory that is not there");
  world().issue(on, 't', [=] {
    if (plans().count(handle) == 0) world().fault("a graph transforms by a plan that is gone");
    if (!world().holds(plan.room, plan.room_bytes())) world().fault("a transform's room to work in is not there");
    for (std::int64_t row = 0; row < plan.rows; ++row) {
      std::vector<C> x(static_cast<std::size_t>(n)), y(static_cast<std::size_t>(n));
      for (std::int64_t i = 0; i < n; ++i) {
        const std::int64_t mirror = i < half ? i : n - i;
        x[std::size_t(i)] = from_real  ? C(static_cast<const R*>(from)[row * n + i])
                            : !to_real ? static_cast<const C*>(from)[row * n + i]
                            : i < half ? static_cast<const C*>(from)[row * half + i]
                                       : std::conj(static_cast<const C*>(from)[row * half + mirror]);
      }
      if (to_real && (x[0].imag() != 0 || (n % 2 == 0 && x[std::size_t(n / 2)].imag() != 0)))
        world().fault("a transform to real numbers of ends that are not real, whose imaginary parts it may take in");
      for (std::int64_t k = 0; k < n; ++k)
        for (std::int64_t i = 0; i < n; ++i)
          y[std::size_t(k)] +=
              x[std::size_t(i)] * C(std::polar(1.0, double(direction) * 2 * std::numbers::pi * double(i * k % n) / double(n)));
      for (std::int64_t k = 0; k < made; ++k) {
        if (to_real)
          static_cast<R*>(to)[row * n + k] = y[std::size_t(k)].real();
        else
          static_cast<C*>(to)[row * made + k] = y[std::size_t(k)];
      }
      // It may use what it read as room of its own.
      if (to_real) std::fill_n(static_cast<C*>(const_cast<void*>(from)) + row * half, half, C(7, 7));
    }
  });
  return CUFFT_SUCCESS;
}

struct Member {
  int device = 0, rank = 0, size = 0, busy = 2;
  bool is_finishing = false;
  std::string id;
  ncclComm_t* handle = nullptr;  // where it was asked for
};
struct Message {
  Member* member;
  bool is_send;
  void* data;
  std::size_t bytes;
  int peer;
};
thread_local int group_depth = 0;
thread_local std::vector<Message> messages;
thread_local std::vector<Member*> beginning;
std::set<Member*>& members() {
  static auto* made = new std::set<Member*>;
  return *made;
}
Member& of(ncclComm_t communicator) { return *reinterpret_cast<Member*>(communicator); }
// Whether a call may be made of it now.
bool is_usable(ncclComm_t communicator, const char* call) {
  std::lock_guard lock(world().mutex);
  if (members().count(&of(communicator)) == 0) {
    world().fault(std::string(call) + " of a communicator that is not there");
    return false;
  }
  if (of(communicator).busy > 0) world().fault(std::string(call) + " while what was asked before is not taken in");
  return true;
}
ncclResult_t message(const Message& message, const char* call, cudaStream_t stream) {
  if (!is_usable(reinterpret_cast<ncclComm_t>(message.member), call)) return ncclInvalidArgument;
  // Streams of a group may be of several devices; the call itself is made of any thread.
  if (stream == nullptr || reinterpret_cast<StreamState*>(stream)->device != message.member->device)
    world().fault(std::string(call) + " on a stream of another device than the communicator's");
  if (group_depth == 0) world().fault(std::string(call) + " outside of a group, where each would wait for its other end");
  if (!world().holds(message.data, message.bytes)) world().fault(std::string(call) + " of memory that is not there");
  messages.push_back(message);
  return ncclInProgress;
}

}  // namespace
}  // namespace shardlab::testing::libraries

using namespace shardlab::testing::libraries;

extern "C" {

cufftResult cufftCreate(cufftHandle* plan) {
  static int next = 1;
  std::lock_guard lock(world().mutex);
  world().device("cufftCreate");
  *plan = next++;
  plans()[*plan] = {};
  return CUFFT_SUCCESS;
}
cufftResult cufftDestroy(cufftHandle plan) {
  world().count("cufftDestroy");
  if (plans().erase(plan) == 0) world().fault("a plan is destroyed twice");
  return CUFFT_SUCCESS;
}
cufftResult cufftMakePlanMany64(cufftHandle plan, int rank, long long* n, long long* in_embedding, long long, long long,
                                long long* out_embedding, long long, long long, cufftType type, long long batch, std::size_t* bytes) {
  if (rank != 1 || in_embedding != nullptr || out_embedding != nullptr || n[0] < 1 || batch < 1) return CUFFT_INVALID_SIZE;
  if (plans().at(plan).is_made) return CUFFT_INVALID_PLAN;
  plans().at(plan) = {true, type, n[0], batch, nullptr, plans().at(plan).has_own_room, nullptr};
  *bytes = plans().at(plan).room_bytes();
  return CUFFT_SUCCESS;
}
cufftResult cufftSetAutoAllocation(cufftHandle plan, int allocates) {
  if (plans().at(plan).is_made) world().fault("a plan is told after it is made who allocates its room");
  plans().at(plan).has_own_room = allocates != 0;
  return CUFFT_SUCCESS;
}
cufftResult cufftSetWorkArea(cufftHandle plan, void* room) {
  plans().at(plan).room = room;
  return CUFFT_SUCCESS;
}
cufftResult cufftSetStream(cufftHandle plan, cudaStream_t stream) {
  plans().at(plan).stream = stream;
  return CUFFT_SUCCESS;
}
cufftResult cufftExecC2C(cufftHandle plan, cufftComplex* from, cufftComplex* to, int direction) {
  return transform<float>(plan, from, to, CUFFT_C2C, direction);
}
cufftResult cufftExecR2C(cufftHandle plan, cufftReal* from, cufftComplex* to) {
  return transform<float>(plan, from, to, CUFFT_R2C, CUFFT_FORWARD);
}
cufftResult cufftExecC2R(cufftHandle plan, cufftComplex* from, cufftReal* to) {
  return transform<float>(plan, from, to, CUFFT_C2R, CUFFT_INVERSE);
}
cufftResult cufftExecZ2Z(cufftHandle plan, cufftDoubleComplex* from, cufftDoubleComplex* to, int direction) {
  return transform<double>(plan, from, to, CUFFT_Z2Z, direction);
}
cufftResult cufftExecD2Z(cufftHandle plan, cufftDoubleReal* from, cufftDoubleComplex* to) {
  return transform<double>(plan, from, to, CUFFT_D2Z, CUFFT_FORWARD);
}
cufftResult cufftExecZ2D(cufftHandle plan, cufftDoubleComplex* from, cufftDoubleReal* to) {
  return transform<double>(plan, from, to, CUFFT_Z2D, CUFFT_INVERSE);
}

const char* ncclGetErrorString(ncclResult_t) { return "an error of the stand-in"; }
ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static int next = 1;
  std::memset(id, 0, sizeof(*id));
  std::memcpy(id->internal, &next, sizeof(next));
  ++next;
  return ncclSuccess;
}
ncclResult_t ncclGroupStart() {
  ++group_depth;
  return ncclSuccess;
}
// What both ends of are in one group is moved; the others are elsewhere.
ncclResult_t ncclGroupEnd() {
  if (group_depth == 0) {
    world().fault("a group ends that did not begin");
    return ncclInvalidUsage;
  }
  if (--group_depth > 0) return ncclSuccess;
  for (const Message& send : messages)
    for (const Message& receive : messages) {
      if (!send.is_send || receive.is_send || send.member->id != receive.member->id) continue;
      if (send.peer != receive.member->rank || receive.peer != send.member->rank) continue;
      if (send.bytes != receive.bytes) world().fault("the ends of a message have other sizes");
      std::memcpy(receive.data, send.data, std::min(send.bytes, receive.bytes));
    }
  for (const Message& each : messages) each.member->busy = 2;
  const bool is_empty = messages.empty() && beginning.empty();
  messages.clear();
  beginning.clear();
  return is_empty ? ncclSuccess : ncclInProgress;
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t* communicator, int size, ncclUniqueId id, int rank, ncclConfig_t* config) {
  if (config->blocking != 0) world().fault("a communicator that blocks cannot be aborted while it waits");
  auto* made =
      new Member{world().device("ncclCommInitRank"), rank, size, 2, false, std::string(id.internal, sizeof(id.internal)), communicator};
  std::lock_guard lock(world().mutex);
  for (const Member* other : members())
    if (other->id == made->id && other->device == made->device) world().fault("two members of a communicator on one device");
  members().insert(made);
  beginning.push_back(made);
  *communicator = reinterpret_cast<ncclComm_t>(made);
  return ncclInProgress;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator, ncclResult_t* error) {
  std::lock_guard lock(world().mutex);
  if (members().count(&of(communicator)) == 0) return ncclInvalidArgument;
  *error = of(communicator).busy > 0 ? ncclInProgress : ncclSuccess;
  of(communicator).busy = std::max(of(communicator).busy - 1, 0);
  if (*error == ncclSuccess && *of(communicator).handle != communicator)
    world().fault("a communicator's handle is gone before it is ready");
  return ncclSuccess;
}
ncclResult_t ncclSend(const void* data, std::size_t count, ncclDataType_t type, int peer, ncclComm_t communicator, cudaStream_t stream) {
  if (type != ncclUint8 || count == 0) world().fault("a message that is no bytes");
  return message({&of(communicator), true, const_cast<void*>(data), count, peer}, "ncclSend", stream);
}
ncclResult_t ncclRecv(void* data, std::size_t count, ncclDataType_t type, int peer, ncclComm_t communicator, cudaStream_t stream) {
  if (type != ncclUint8 || count == 0) world().fault("a message that is no bytes");
  return message({&of(communicator), false, data, count, peer}, "ncclRecv", stream);
}
ncclResult_t ncclCommFinalize(ncclComm_t communicator) {
  if (!is_usable(communicator, "ncclCommFinalize")) return ncclInvalidArgument;
  of(communicator).is_finishing = true;
  of(communicator).busy = 2;
  return ncclInProgress;
}
ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
  if (!is_usable(communicator, "ncclCommDestroy")) return ncclInvalidArgument;
  if (!of(communicator).is_finishing) world().fault("a communicator is destroyed that was not finished");
  std::lock_guard lock(world().mutex);
  members().erase(&of(communicator));
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t communicator) {
  if (group_depth > 0) world().fault("a communicator is aborted within a group, which takes it in at its end");
  std::lock_guard lock(world().mutex);
  if (members().erase(&of(communicator)) == 0) world().fault("a communicator is aborted that is not there");
  return ncclSuccess;
}
}
