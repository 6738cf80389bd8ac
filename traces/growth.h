// What a trace that grows says of its last growth: which rows a reader that has taken the one before must read anew.
//
// Rows of a table below `from` are as they were at the publication before. Tables of many rows alone are told of; rows that hang on
// others (members, shards) come and go with them.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>

namespace shardlab::traces {

struct Growth {
  static constexpr std::int64_t kNoRow = std::numeric_limits<std::int64_t>::max();
  static constexpr const char* kMetaKey = "growth";

  std::string made;              // another one wherever a trace was begun anew
  std::int64_t publication = 0;  // counts from 1
  // Table -> of which track or process (0 where rows are told apart by one id) -> the least key that came, went or changed.
  std::map<std::string, std::map<std::int64_t, std::int64_t>, std::less<>> from;

  // kNoRow where nothing changed.
  std::int64_t least(std::string_view table, std::int64_t of = 0) const;
  // The same as the value of kMetaKey. from_json gives a growth without a publication for other text.
  std::string json() const;
  static Growth from_json(std::string_view text);
};

// Of the tables that are told of: those whose rows grow with the run.
bool grows(std::string_view table);

}  // namespace shardlab::traces
