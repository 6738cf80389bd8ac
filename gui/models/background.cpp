#include "gui/models/background.h"

namespace shardlab::gui {

Background::~Background() {
  for (auto& [asker, slot] : slots_) slot.stop.request_stop();
  slots_.clear();
  pool_.waitForDone();
}

std::stop_token Background::begin(const void* asker) {
  cancel(asker);
  Slot& slot = slots_[asker];
  slot.task = ++task_;
  return slot.stop.get_token();
}

bool Background::end(const void* asker, std::uint64_t task) {
  const auto slot = slots_.find(asker);
  if (slot == slots_.end() || slot->second.task != task) return false;
  slots_.erase(slot);
  return true;
}

void Background::cancel(const void* asker) {
  const auto slot = slots_.find(asker);
  if (slot == slots_.end()) return;
  slot->second.stop.request_stop();
  slots_.erase(slot);
}

}  // namespace shardlab::gui
