// Walks what a screen reader is told of a window's diagrams, as tests of them do.
#pragma once

#include <gtest/gtest.h>

#include <QAccessible>
#include <QSet>
#include <QWidget>

#include <map>

#include "gui/app/main_window.h"
#include "gui/views/diagram_access.h"

namespace shardlab::gui {

// Every group and item below has a name, and is where its parent says that it is. Returns how many there are; `names` gets them.
inline int walk_access(QAccessibleInterface* at, QSet<QString>& names, int depth = 0) {
  if (!at || depth > 12) return 0;
  int named = 0;
  if (at->role() == QAccessible::ListItem || at->role() == QAccessible::List) {
    EXPECT_FALSE(at->text(QAccessible::Name).isEmpty());
    names.insert(at->text(QAccessible::Name));
    ++named;
  }
  for (int i = 0; i < at->childCount(); ++i) {
    QAccessibleInterface* child = at->child(i);
    EXPECT_NE(child, nullptr);
    EXPECT_EQ(at->indexOfChild(child), i);
    named += walk_access(child, names, depth + 1);
  }
  return named;
}

// Of each diagram that is visible, by its name, how many items it has; all of them are named.
inline std::map<QString, int> walk_diagrams(const MainWindow& window) {
  std::map<QString, int> items;
  for (QWidget* widget : window.findChildren<QWidget*>()) {
    auto* diagram = dynamic_cast<AccessibleDiagram*>(widget);
    if (!diagram || !widget->isVisible()) continue;
    QAccessibleInterface* root = QAccessible::queryAccessibleInterface(widget);
    if (!root) {
      ADD_FAILURE() << widget->accessibleName().toStdString();
      continue;
    }
    const QString name = root->text(QAccessible::Name);
    EXPECT_FALSE(name.isEmpty());
    int expected = 0;
    for (int group = 0; group < diagram->access_groups(); ++group) expected += 1 + diagram->access_items(group);
    QSet<QString> names;
    EXPECT_EQ(walk_access(root, names), expected) << name.toStdString();
    items[name] += expected - diagram->access_groups();
  }
  return items;
}

}  // namespace shardlab::gui
