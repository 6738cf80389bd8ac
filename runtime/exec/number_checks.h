// jax_debug_nans and jax_debug_infs: which op first made what is no number, where a launch gives such.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/core/buffer.h"

namespace shardlab {

// What counts as no number.
struct NumberChecks {
  bool nans = false, infs = false;
  bool any() const { return nans || infs; }
  bool operator==(const NumberChecks&) const = default;
};

// An element that is none.
struct NoNumber {
  std::string_view what;  // "nan", "inf"
  Shape index;            // global
  int position = 0;       // in the mesh
};

// The first one of a value that lies in these boxes, by mesh positions; absent shards are passed over. `host`: a shard's elements in this
// process's memory.
template <typename Host>
std::optional<NoNumber> first_no_number(const NumberChecks& checks, DType dtype, const std::vector<BufferRef>& shards,
                                        const std::vector<Box>& boxes, Host&& host);
// Of one shard; the index in its box.
std::optional<NoNumber> no_number_in(const NumberChecks& checks, DType dtype, const std::byte* elements, const Box& box);

template <typename Host>
std::optional<NoNumber> first_no_number(const NumberChecks& checks, DType dtype, const std::vector<BufferRef>& shards,
                                        const std::vector<Box>& boxes, Host&& host) {
  if (!is_floating(dtype) && !is_complex(dtype)) return std::nullopt;
  for (std::size_t p = 0; p < shards.size(); ++p) {
    if (!shards[p]) continue;
    const BufferRef elements = host(shards[p]);
    if (auto found = no_number_in(checks, dtype, elements->data(), boxes[p])) {
      found->position = int(p);
      return found;
    }
  }
  return std::nullopt;
}

}  // namespace shardlab
