// Painted diagrams for screen readers: groups and the items in them, each with a name, a description and a place.
//
// A widget that paints implements AccessibleDiagram; install_diagram_access() makes Qt's accessibility see it as a tree.
#pragma once

#include <QRect>
#include <QString>
#include <QWidget>

namespace shardlab::gui {

class AccessibleDiagram {
 public:
  virtual ~AccessibleDiagram() = default;
  virtual int access_groups() const = 0;
  virtual QString access_group_name(int group) const = 0;
  virtual int access_items(int group) const = 0;
  virtual QString access_item_name(int group, int item) const = 0;
  virtual QRect access_item_box(int group, int item) const = 0;  // in the widget; empty: out of sight
  virtual void access_choose(int group, int item) = 0;           // as a click would
};

// Once a program.
void install_diagram_access();

}  // namespace shardlab::gui
