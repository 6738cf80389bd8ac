// The picture of one array: its cells, who holds each, with all copies named; one to n dimensions.
#pragma once

#include <QWidget>

#include <vector>

#include "gui/models/selection.h"
#include "gui/models/shard_grid.h"
#include "gui/views/diagram_access.h"

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
  // A plane, or a piece of one whose long dimension is broken into several lines.
  struct Tile {
    int plane = 0;
    int row_first = 0, row_last = 0;
    int col_first = 0, col_last = 0;
    QRect box;                      // of the cells, without rulers and title
    std::vector<int> row_y, col_x;  // edges of rows and columns
  };
  // Room that a tile needs beside its cells; many pieces of one line have only the index they begin with.
  struct Frame {
    int top, left, gap;
    bool compact;
  };
  Frame frame_of(int pieces) const;
  struct Arrangement {
    int across = 1;  // tiles beside each other
    int pieces = 1;  // of each plane
    double score = -1;
  };

  void arrange();
  int tiles_height() const;  // the room for the diagram; what is said of summands lies below it
  Arrangement best_arrangement() const;
  double score_of(int across, int pieces) const;
  QRect cell_box(const Tile& tile, const GridCell& cell) const;
  void paint_tile(QPainter& painter, const Tile& tile);
  void paint_rulers(QPainter& painter, const Tile& tile);
  void paint_cell(QPainter& painter, const GridCell& cell, const QRect& box, bool dimmed, bool lit);
  void paint_cell_text(QPainter& painter, const GridCell& cell, const QRect& box, const QColor& ink);
  const GridCell* cell_at(QPoint position) const;
  const Array* array() const;

  Selection& selection_;
  TracePtr trace_;
  void show(Array array);
  Array shown_;  // without a layout: nothing
  QString partial_;
  ShardGrid grid_;
  std::vector<Tile> tiles_;
  bool compact_ = false;
  int least_height_ = 0;  // of the cells of the tile being painted
};

}  // namespace shardlab::gui
