// What devices lack of a value that is cut one way and wanted cut another, without going through the devices.
#pragma once

#include "runtime/core/axes.h"

namespace shardlab::spmd {

// A dimension whose cut differs, without the major digits that both specs share.
struct DimCut {
  Axes from, to;
  std::int64_t from_block = 1, to_block = 1;
};

// Over all values of the digits: the elements that blocks under `to` have and blocks under `from` lack. Each piece of the cuts is one digit
// or several.
std::int64_t missing_under(std::vector<DimCut> cuts, Axes digits);

}  // namespace shardlab::spmd
