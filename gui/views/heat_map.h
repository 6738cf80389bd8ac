// The communication matrix as a heat map: who sends (rows) how much to whom (columns).
#pragma once

#include <QAbstractItemModel>
#include <QWidget>

#include <functional>
#include <memory>
#include <vector>

#include "gui/models/comm_matrix.h"
#include "gui/views/diagram_access.h"

namespace shardlab::gui {

class HeatMap : public QWidget, public AccessibleDiagram {
  Q_OBJECT

 public:
  explicit HeatMap(QWidget* parent);
  std::function<void(int row, int column)> on_choose;

  void show_matrix(CommMatrix matrix, MatrixMetric metric);
  const CommMatrix& matrix() const { return matrix_; }
  // A row for each pair with traffic, with all of its figures.
  std::unique_ptr<QAbstractItemModel> as_table() const;

  // A group is a sender, its items are those that it sends to.
  int access_groups() const override { return int(receivers_.size()); }
  QString access_group_name(int group) const override;
  int access_items(int group) const override { return int(receivers_[std::size_t(group)].size()); }
  QString access_item_name(int group, int item) const override;
  QRect access_item_box(int group, int item) const override;
  void access_choose(int group, int item) override { choose(group, receivers_[std::size_t(group)][std::size_t(item)]); }

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;

 private:
  void paint_scale(QPainter& painter, QPointF at, const QString& most) const;
  QPointF origin() const;
  double cell_size() const;
  QRectF cell_box(int row, int column) const;
  std::pair<int, int> at(QPoint position) const;  // row and column; -1: beside the map
  QString cell_text(int row, int column) const;
  void choose(int row, int column);
  void describe();

  CommMatrix matrix_;
  std::vector<std::vector<int>> receivers_;  // of each row: the columns with traffic
  MatrixMetric metric_ = MatrixMetric::kBytes;
  double most_ = 0;
  int row_ = -1, column_ = -1;
};

}  // namespace shardlab::gui
