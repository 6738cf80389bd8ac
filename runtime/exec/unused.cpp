#include "runtime/exec/unused.h"

namespace shardlab {

void UnusedResults::note(const std::string& what, Where where) {
  std::lock_guard lock(mutex_);
  std::pair<std::string, std::string> key{what, where.text()};
  if (entries_.size() >= kPlacesMax && !entries_.contains(key)) return;
  Entry& entry = entries_[std::move(key)];
  entry.what = what;
  entry.where = where;
  ++entry.count;
}

std::vector<UnusedResults::Entry> UnusedResults::take() {
  std::lock_guard lock(mutex_);
  std::vector<Entry> result;
  for (auto& [key, entry] : entries_) result.push_back(std::move(entry));
  entries_.clear();
  return result;
}

}  // namespace shardlab
