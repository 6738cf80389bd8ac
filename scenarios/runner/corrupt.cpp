#include "scenarios/runner/corrupt.h"

#include <cstring>

#include "runtime/exec/array_impl.h"

namespace shardlab::scenarios {

bool corrupt_shard(const Interpreter::Names& names, const Fault& fault, int first_device) {
  auto found = names.find(fault.array);
  if (found == names.end() || found->second.impl()->is_tracer()) return false;
  ArrayImpl& array = *found->second.impl();
  if (array.launch) array.launch->wait();
  int position = array.sharding.mesh().position_of(fault.device.value_or(first_device));
  if (position < 0 || std::size_t(position) >= array.shards.size() || !array.shards[std::size_t(position)]) return false;
  BufferRef& shard = array.shards[std::size_t(position)];
  const int ordinal = array.sharding.mesh().devices()[std::size_t(position)];
  Backend& backend = Context::current().backend_of(array.sharding.mesh());
  const BufferRef whole = backend.to_host(shard);
  if (whole->size() == 0) return false;
  auto damaged = std::make_shared<Buffer>(whole->size());  // replicas share one buffer: only this device's is damaged
  std::memcpy(damaged->data(), whole->data(), whole->size());
  // A high bit of the element in the middle, where the change is large; of a bool the bit that it has.
  std::size_t item = std::size_t(size_of(array.type.dtype)), element = whole->size() / item / 2;
  unsigned char* byte = reinterpret_cast<unsigned char*>(damaged->data()) + element * item + (item - 1);
  *byte ^= array.type.dtype == DType::kBool ? 0x01 : 0x40;
  shard = backend.upload(damaged, ordinal);
  return true;
}

}  // namespace shardlab::scenarios
