// The definition of a statement that is no op of the registry.
#pragma once

#include <span>
#include <string_view>

#include "scenarios/document/document.h"
#include "scenarios/document/node.h"

namespace shardlab::scenarios {

struct StatementDef {
  std::string_view name;
  std::span<const std::string_view> keys;  // beside those of every statement
  int args_min = 0, args_max = -1;
  Step (*read)(const Node& statement, const Document& document) = nullptr;
};

}  // namespace shardlab::scenarios
