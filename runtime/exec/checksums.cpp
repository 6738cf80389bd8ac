#include "runtime/exec/checksums.h"

#include <algorithm>
#include <map>

#include "runtime/exec/array_impl.h"
#include "runtime/exec/context.h"

namespace shardlab {
namespace {

constexpr std::int64_t kChunk = 1 << 16;  // elements at a time; where they are cut decides the sums' last digits, so it is fixed
constexpr std::int64_t kCopiesWorth = 8;  // reading a byte for a checksum takes as long as copying so many

// A part that this process has, once for all devices that share its memory.
struct Part {
  const Box* box = nullptr;
  BufferRef data;
  comm::PartChecksum told;
};

// Equal replicas are one part; one with another content is a part of its own.
std::vector<Part> parts_of(Context& context, const ArrayImpl& array, const std::vector<Box>& boxes) {
  std::vector<Part> parts;
  std::map<const Buffer*, std::vector<const Box*>> seen;
  const Mesh& mesh = array.sharding.mesh();
  for (std::size_t p = 0; p < boxes.size() && p < array.shards.size(); ++p) {
    const BufferRef& shard = array.shards[p];
    if (!shard || element_count(boxes[p]) == 0 || !context.is_local(mesh.devices()[p])) continue;
    auto& known = seen[shard.get()];
    if (std::any_of(known.begin(), known.end(), [&](const Box* box) { return *box == boxes[p]; })) continue;
    known.push_back(&boxes[p]);
    parts.push_back({&boxes[p], shard, {.device = mesh.devices()[p], .checksum = {}}});
  }
  return parts;
}

void add_checksums(Backend& backend, const ArrayImpl& array, std::vector<Part>& parts) {
  struct Chunk {
    std::size_t part;
    std::int64_t first;
    Checksum sum;
  };
  std::vector<Chunk> chunks;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i].data = backend.to_host(parts[i].data);
    for (std::int64_t first = 0; first < element_count(*parts[i].box); first += kChunk) chunks.push_back({i, first, {}});
  }
  const std::int64_t most = std::min(kChunk, array.type.elements());
  backend.parallel_for(std::int64_t(chunks.size()), kCopiesWorth * most * size_of(array.type.dtype), [&](std::int64_t c) {
    Chunk& chunk = chunks[std::size_t(c)];
    const Part& part = parts[chunk.part];
    chunk.sum = checksum_of(array.type.dtype, part.data->data(), array.type.shape, *part.box, chunk.first,
                            std::min(chunk.first + kChunk, element_count(*part.box)));
  });
  for (const Chunk& chunk : chunks) parts[chunk.part].told.checksum.add(chunk.sum);
}

void drop_equal_replicas(std::vector<Part>& parts) {
  std::vector<Part> kept;
  for (Part& part : parts)
    if (std::none_of(kept.begin(), kept.end(),
                     [&](const Part& other) { return *other.box == *part.box && other.told.checksum.hash == part.told.checksum.hash; }))
      kept.push_back(std::move(part));
  parts = std::move(kept);
}

}  // namespace

void record_checksums(Context& context, const comm::Launch& launch, const std::vector<std::shared_ptr<ArrayImpl>>& arrays) {
  const comm::Ns begin = comm::now_ns();
  bool any = false;
  for (const auto& array : arrays) {
    if (array->is_tracer() || array->has_checksums.exchange(true)) continue;
    const std::vector<Box> boxes = array->sharding.boxes(array->type.shape);
    std::vector<Part> parts = parts_of(context, *array, boxes);
    add_checksums(context.backend_of(array->sharding.mesh()), *array, parts);
    drop_equal_replicas(parts);
    std::vector<comm::PartChecksum> told;
    for (const Part& part : parts) told.push_back(part.told);
    context.observer().on_checksums(array->id, told);
    any = true;
  }
  if (any) context.observer().on_compute(launch, "checksums", launch.where, begin, comm::now_ns());
}

}  // namespace shardlab
