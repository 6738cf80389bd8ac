// The mesh: its devices at their coordinates, the processes that own them, the groups of the selected collective.
#pragma once

#include <QWidget>

#include <vector>

#include "gui/models/selection.h"
#include "gui/models/shard_grid.h"
#include "gui/views/diagram_access.h"

namespace shardlab::gui {

class MeshWidget : public QWidget, public AccessibleDiagram {
  Q_OBJECT

 public:
  explicit MeshWidget(Selection& selection, QWidget* parent = nullptr);
  // The mesh to show: an index, or -1 for the devices by process.
  void set_mesh(int mesh);
  // Moves to draw as arrows from device to device; too many to be told apart are only counted.
  void set_arrows(const std::vector<std::pair<int, int>>& arrows);
  QString tooltip_at(QPoint position) const;
  QSize minimumSizeHint() const override { return {160, 120}; }

  int access_groups() const override { return int(layout_.plane_titles.size()); }
  QString access_group_name(int group) const override;
  int access_items(int group) const override;
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
  QRect place_box(const MeshPlace& place) const;
  QRect outline_box(const PlaceBox& box, int margin) const;
  void paint_axes(QPainter& painter);
  void paint_processes(QPainter& painter);
  void paint_places(QPainter& painter);
  void paint_process_names(QPainter& painter);
  void paint_groups(QPainter& painter);
  void paint_arrows(QPainter& painter);
  const MeshPlace* place_at(QPoint position) const;
  const MeshPlace* place_of(int plane, int item) const;
  QString place_text(const MeshPlace& place) const;  // HTML

  Selection& selection_;
  TracePtr trace_;
  int mesh_ = -1;
  MeshLayout layout_;
  std::vector<std::pair<int, int>> arrows_;
  std::vector<QPoint> plane_origins_;
  int cell_w_ = 0, cell_h_ = 0, gap_ = 0;
  int axis_left_ = 0;  // room for the name of the axis that goes down
};

}  // namespace shardlab::gui
