#include "runtime/exec/backend.h"

#include <bit>
#include <map>
#include <utility>

namespace shardlab {

std::vector<BufferRef> placed(Backend& backend, std::vector<BufferRef> shards, const std::vector<int>& ordinals) {
  std::map<std::pair<BufferRef, int>, BufferRef> made;
  for (std::size_t position = 0; position < shards.size(); ++position) {
    if (!shards[position]) continue;
    BufferRef& here = made[{shards[position], backend.memory_of(ordinals[position])}];
    if (!here) here = backend.upload(shards[position], ordinals[position]);
    shards[position] = here;
  }
  return shards;
}

std::span<const std::byte> Backend::part(const BufferRef& buffer, std::size_t offset, std::size_t bytes, int ordinal,
                                         std::vector<BufferRef>& kept) {
  auto copy = allocate(bytes, ordinal);
  copy_bytes(*buffer, offset, *copy, 0, bytes);
  kept.push_back(std::move(copy));
  return kept.back()->bytes();
}

void Backend::copy_boxes(std::span<const BoxCopy> copies, Buffer& to, const Box& to_box, std::int64_t element_bytes) {
  for (const BoxCopy& copy : copies) copy_box(*copy.from, copy.from_offset, *copy.from_box, to, to_box, *copy.box, element_bytes);
}

int tree_split(int count) { return int(std::bit_floor(unsigned(count - 1))); }

}  // namespace shardlab
