// Where the picture of an array has its planes and cells: as large as the room allows, long ones broken into several lines.
#pragma once

#include <QRect>
#include <QSize>

#include <vector>

#include "gui/models/shard_grid.h"

namespace shardlab::gui {

constexpr int kShardMargin = 10, kShardRulerLeft = 44, kShardRulerTop = 20, kShardTitle = 20;

// A plane, or a piece of one whose long dimension is broken into several lines.
struct ShardTile {
  int plane = 0;
  int row_first = 0, row_last = 0;
  int col_first = 0, col_last = 0;
  QRect box;                                   // of the cells, without rulers and title
  std::vector<int> row_y, col_x;               // edges of rows and columns
  QRect cell_box(const GridCell& cell) const;  // empty where the cell lies in another tile
  int least_row_height() const;
};

struct ShardTiles {
  std::vector<ShardTile> tiles;
  bool compact = false;  // many pieces of one line have only the index they begin with
  const GridCell* cell_at(const ShardGrid& grid, QPoint position) const;
};

// No tiles where the room is too small for any.
ShardTiles arrange_shards(const ShardGrid& grid, QSize room);

}  // namespace shardlab::gui
