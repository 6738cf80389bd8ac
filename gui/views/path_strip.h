// The critical path over time: a row for each lane that it goes over, its steps as bars, and a line where it changes the lane.
#pragma once

#include <QWidget>

#include <functional>
#include <memory>

#include "gui/models/critical_path.h"
#include "gui/views/diagram_access.h"

namespace shardlab::gui {

class PathStrip : public QWidget, public AccessibleDiagram {
  Q_OBJECT

 public:
  explicit PathStrip(QWidget* parent);
  std::function<void(std::size_t step)> on_choose;

  void show_path(TracePtr trace, std::shared_ptr<const CriticalPath> path);
  // Marks a step without telling; -1: none.
  void mark(std::int64_t step);

  // A group is a lane; its items are the path's steps there.
  int access_groups() const override { return int(lanes_.size()); }
  QString access_group_name(int group) const override;
  int access_items(int group) const override { return int(steps_[std::size_t(group)].size()); }
  QString access_item_name(int group, int item) const override { return step_text(steps_[std::size_t(group)][std::size_t(item)]); }
  QRect access_item_box(int group, int item) const override;
  void access_choose(int group, int item) override { choose(std::int64_t(steps_[std::size_t(group)][std::size_t(item)])); }

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;

 private:
  QRect plot() const;
  double row_height() const;
  QRectF box_of(const PathStep& step) const;
  std::int64_t step_at(QPoint position) const;  // -1: beside the path
  QString step_text(std::size_t step) const;
  QBrush brush_of(const PathStep& step) const;
  void paint_rows(QPainter& painter) const;
  void paint_changes(QPainter& painter) const;
  void paint_steps(QPainter& painter) const;
  void choose(std::int64_t step);

  TracePtr trace_;
  std::shared_ptr<const CriticalPath> path_;
  std::vector<int> lanes_;                       // that it goes over
  std::vector<int> row_of_lane_;                 // -1 where it does not
  std::vector<std::vector<std::size_t>> steps_;  // of each row
  int names_width_ = 30;
  std::int64_t step_ = -1;
};

}  // namespace shardlab::gui
