// The link between two processes of one host: a ring of shared memory in each direction.
#pragma once

#include <memory>

#include "virtualdev/transports/byte_link.h"
#include "virtualdev/transports/shm_segment.h"

namespace shardlab {

// `self` and `peer` are ranks in the segment, which outlives the link.
std::unique_ptr<ByteLink> make_shm_link(const ShmSegment& segment, int self, int peer);

}  // namespace shardlab
