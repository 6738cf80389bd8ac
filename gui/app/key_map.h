// The keys of all actions: what the definitions say, what the user has changed, and the map of them to read or print.
#pragma once

#include <QDialog>
#include <QKeySequence>
#include <QString>

#include <functional>
#include <vector>

namespace shardlab::gui {

struct KeyEntry {
  QString section, id, doc;
  QKeySequence fallback;  // as defined
};

// Every action, view, perspective and timeline key.
std::vector<KeyEntry> all_keys();
QKeySequence key_of(const QString& id, const QKeySequence& fallback);
// Empty: back to the definition.
void set_key(const QString& id, const QKeySequence& key);
void reset_keys();
// The entry that has this key already; nullptr where it is free. Timeline keys work in the timeline alone, but are kept apart too.
const KeyEntry* holder_of(const std::vector<KeyEntry>& entries, const QKeySequence& key, const QString& except);
// A page to print.
QString key_map_html();

// Lists all keys; one changes a key by choosing its line and pressing the new one. `changed` is called after each change.
QDialog* make_key_dialog(QWidget* parent, std::function<void()> changed);

}  // namespace shardlab::gui
