// In which order einsum contracts its operands, two at a time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace shardlab::ops {

// Pairs of places (first < second) in the list of operands: a contraction takes both out and puts its result at the end. `names` are the
// dimensions' of each operand, `result` those of the result. The order with the fewest multiplications; of equals the
// one that opt_einsum takes. Source: its optimal path, by which jax.numpy.einsum goes. Beyond kOperandsMax operands the cheapest
// pair comes first.
std::vector<std::pair<std::size_t, std::size_t>> contraction_order(const std::vector<std::string>& names, const std::string& result,
                                                                   const std::map<char, std::int64_t>& sizes);

}  // namespace shardlab::ops
