// How busy each device was when: devices by time, the share of each stretch that went to one use as a colour.
#pragma once

#include <QImage>
#include <QWidget>

#include <functional>

#include "gui/models/overview.h"
#include "gui/views/diagram_access.h"

namespace shardlab::gui {

class UtilisationMap : public QWidget, public AccessibleDiagram {
  Q_OBJECT

 public:
  explicit UtilisationMap(QWidget* parent);
  std::function<void(int row, TimeRange range)> on_choose;  // of the overview
  std::function<void(TimeRange range)> on_open;             // by a double click or Return

  void show_overview(TracePtr trace, std::shared_ptr<const Overview> overview, TimeUse use);
  void choose_device(int device);  // marks its row; -1: none

  // A group is a device; its items are tenths of the run, of many devices the whole of it.
  int access_groups() const override { return overview_ ? int(overview_->rows.size()) : 0; }
  QString access_group_name(int group) const override;
  int access_items(int) const override { return access_groups() > kDevicesInTenths ? 1 : kTenths; }
  QString access_item_name(int group, int item) const override;
  QRect access_item_box(int group, int item) const override;
  void access_choose(int group, int item) override;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;

 private:
  static constexpr int kTenths = 10, kDevicesInTenths = 64;

  QRect plot() const;
  double row_height() const;
  QRectF box(int row, int first_bin, int last_bin) const;
  std::pair<int, int> at(QPoint position) const;  // row and bin; -1: beside the map
  QString name_of(int row) const;
  std::pair<int, int> bins_of(int access_item) const;  // [first, last)
  QString cell_text(int row, int first_bin, int last_bin) const;
  void paint_labels(QPainter& painter) const;
  void paint_scale(QPainter& painter) const;
  void build();
  void choose(int row, int bin);
  void open() const;

  TracePtr trace_;
  std::shared_ptr<const Overview> overview_;
  TimeUse use_ = TimeUse::kCompute;
  int names_width_ = 30;
  int row_ = -1, bin_ = -1;
  QImage cells_;
  bool cells_dark_ = false;
};

}  // namespace shardlab::gui
