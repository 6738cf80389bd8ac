// Paints the cells of an array: who holds each, with all copies named, and the rulers beside them.
#pragma once

#include <QFont>
#include <QPainter>

#include <vector>

#include "gui/models/trace_data.h"
#include "gui/views/shard_tiles.h"
#include "gui/views/theme.h"

namespace shardlab::gui {

class ShardPainter {
 public:
  // All are borrowed. `chosen`: the devices whose cells stand out, sorted; none: all alike.
  ShardPainter(QPainter& painter, const Theme& theme, const TraceData& trace, const ShardGrid& grid, const ShardTiles& tiles,
               const std::vector<int>& chosen)
      : painter_(painter), font_(painter.font()), theme_(theme), trace_(trace), grid_(grid), tiles_(tiles), chosen_(chosen) {}

  void paint_tile(const ShardTile& tile);
  // Each of the tile's devices holds a summand.
  void paint_partial(const ShardTile& tile);

 private:
  void paint_rulers(const ShardTile& tile);
  void paint_cell(const GridCell& cell, const QRect& box, bool dimmed, bool lit);
  void paint_cell_text(const GridCell& cell, const QRect& box, const QColor& ink);

  QPainter& painter_;
  QFont font_;
  const Theme& theme_;
  const TraceData& trace_;
  const ShardGrid& grid_;
  const ShardTiles& tiles_;
  const std::vector<int>& chosen_;
  int least_height_ = 0;  // of the cells of the tile being painted
};

}  // namespace shardlab::gui
