// The picture of one array: its cells, who holds each, with all copies named; one to n dimensions.
#pragma once

#include <QWidget>

#include <vector>

#include "gui/models/selection.h"
#include "gui/models/shard_grid.h"
#include "gui/views/diagram_access.h"
#include "gui/views/shard_tiles.h"

namespace shardlab::gui {

class ShardWidget : public QWidget, public AccessibleDiagram {
  Q_OBJECT

 public:
  explicit ShardWidget(Selection& selection, QWidget* parent = nullptr);
  void set_array(int array);  // index; -1: none
  // A layout that is no array of the trace; `partial`: axes over which each holds a summand. Null: nothing.
  void set_layout(const std::string& name, const std::string& dtype, std::shared_ptr<const ArrayLayout> layout,
                  const std::vector<std::string>& partial);
  QString tooltip_at(QPoint position) const;
  QSize minimumSizeHint() const override { return {220, 140}; }

  int access_groups() const override { return int(grid_.planes.size()); }
  QString access_group_name(int group) const override;
  int access_items(int group) const override { return int(grid_.planes[std::size_t(group)].cells.size()); }
  QString access_item_name(int group, int item) const override;
  QRect access_item_box(int group, int item) const override;
  void access_choose(int group, int item) override;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  bool event(QEvent* event) override;

 private:
  void arrange();
  void show(Array array);
  const Array* array() const;

  void select(int device);

  Selection& selection_;
  TracePtr trace_;
  int array_ = -1;  // the trace's; -1: a layout that is none
  Array shown_;     // without a layout: nothing
  QString partial_;
  ShardGrid grid_;
  ShardTiles tiles_;
};

}  // namespace shardlab::gui
