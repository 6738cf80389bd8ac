#include "gui/views/shard_tiles.h"

#include <algorithm>
#include <cmath>

namespace shardlab::gui {
namespace {

constexpr int kGap = 14;
constexpr int kCellWidthMax = 340, kCellHeightMax = 130;

// Room that a tile needs beside its cells.
struct GridFrame {
  int top, left, gap;
  bool compact;
};

struct Arrangement {
  int across = 1;  // tiles beside each other
  int pieces = 1;  // of each plane
  double score = -1;
};

// Edges of intervals: proportional to their lengths, but none so small that it could not be seen.
std::vector<int> edges(const std::vector<std::int64_t>& cuts, int first, int last, int from, int length) {
  const int n = last - first;
  const double total = double(std::max<std::int64_t>(cuts[std::size_t(last)] - cuts[std::size_t(first)], 1));
  const double least = 0.35 * length / std::max(n, 1);
  std::vector<double> sizes;
  double sum = 0;
  for (int i = first; i < last; ++i) {
    sizes.push_back(std::max(double(cuts[std::size_t(i) + 1] - cuts[std::size_t(i)]) / total * length, least));
    sum += sizes.back();
  }
  std::vector<int> at{from};
  double position = from;
  for (const double size : sizes) {
    position += size * length / sum;
    at.push_back(int(std::lround(position)));
  }
  return at;
}

GridFrame frame_of(const ShardGrid& grid, int pieces) {
  const GridPlane& plane = grid.planes[0];
  const int title = grid.dims > 2 ? kShardTitle : 0;
  if (pieces > 3 && plane.cols() > plane.rows()) return {0, kShardRulerLeft, 3, true};
  if (pieces > 3 && plane.cols() == 1) return {kShardRulerTop, 0, 5, true};
  return {kShardRulerTop + title, kShardRulerLeft, kGap, false};
}

// How legible a cell is: 1 where a label with a second line fits, less where it is smaller.
double score_of(const ShardGrid& grid, QSize room, int across, int pieces) {
  const GridPlane& plane = grid.planes[0];
  const bool by_rows = plane.rows() >= plane.cols();
  const int tiles = int(grid.planes.size()) * pieces;
  const int down = (tiles + across - 1) / across;
  const int rows = by_rows ? (plane.rows() + pieces - 1) / pieces : plane.rows();
  const int cols = by_rows ? plane.cols() : (plane.cols() + pieces - 1) / pieces;
  const GridFrame frame = frame_of(grid, pieces);
  const double w = (double(room.width() - 2 * kShardMargin) / across - frame.left - frame.gap) / cols;
  const double h = (double(room.height() - 2 * kShardMargin) / down - frame.top - frame.gap) / rows;
  if (w <= 0 || h <= 0) return -1;
  // Pieces read less well than a whole, so they must earn it.
  return std::min(std::min(w / 76, 1.25), std::min(h / 34, 1.25)) - 0.02 * (pieces > 1) - 0.001 * pieces;
}

Arrangement best_arrangement(const ShardGrid& grid, QSize room) {
  Arrangement best;
  const GridPlane& plane = grid.planes[0];
  const int longest = std::max(plane.rows(), plane.cols());
  const int planes = int(grid.planes.size());
  for (int pieces = 1; pieces <= std::min(longest, 64); ++pieces) {
    if (pieces > 1 && (planes > 1 || std::min(plane.rows(), plane.cols()) > 4)) break;
    for (int across = 1; across <= planes * pieces; ++across) {
      const double score = score_of(grid, room, across, pieces);
      if (score > best.score) best = {across, pieces, score};
    }
  }
  return best;
}

}  // namespace

ShardTiles arrange_shards(const ShardGrid& grid, QSize room) {
  ShardTiles made;
  if (grid.planes.empty()) return made;
  const Arrangement chosen = best_arrangement(grid, room);
  if (chosen.score < 0) return made;
  const int tiles = int(grid.planes.size()) * chosen.pieces;
  const int down = (tiles + chosen.across - 1) / chosen.across;
  const GridFrame frame = frame_of(grid, chosen.pieces);
  made.compact = frame.compact;
  const int slot_w = (room.width() - 2 * kShardMargin) / chosen.across, slot_h = (room.height() - 2 * kShardMargin) / down;
  for (int i = 0; i < tiles; ++i) {
    ShardTile tile{.plane = i / chosen.pieces};
    const GridPlane& plane = grid.planes[std::size_t(tile.plane)];
    const bool by_rows = plane.rows() >= plane.cols();
    const int piece = i % chosen.pieces;
    const int length = by_rows ? plane.rows() : plane.cols();
    const int each = (length + chosen.pieces - 1) / chosen.pieces;
    const int first = std::min(piece * each, length), last = std::min(first + each, length);
    if (first == last) continue;
    tile.row_first = by_rows ? first : 0;
    tile.row_last = by_rows ? last : plane.rows();
    tile.col_first = by_rows ? 0 : first;
    tile.col_last = by_rows ? plane.cols() : last;
    const int rows = by_rows ? each : plane.rows(), cols = by_rows ? plane.cols() : each;
    const int left = kShardMargin + i % chosen.across * slot_w + frame.left;
    const int top = kShardMargin + i / chosen.across * slot_h + frame.top;
    // A last, shorter piece has cells of the same size as the others.
    const int cell_w = std::min((slot_w - frame.left - frame.gap) / cols, kCellWidthMax);
    const int cell_h = std::min((slot_h - frame.top - frame.gap) / rows, kCellHeightMax);
    const bool exact = cell_w < 12 || cell_h < 12;  // small cells use all of the room
    const int w = exact ? std::min((slot_w - frame.left - frame.gap) * (tile.col_last - tile.col_first) / cols, kCellWidthMax * cols)
                        : cell_w * (tile.col_last - tile.col_first);
    const int h = exact ? std::min((slot_h - frame.top - frame.gap) * (tile.row_last - tile.row_first) / rows, kCellHeightMax * rows)
                        : cell_h * (tile.row_last - tile.row_first);
    tile.box = QRect(left, top, std::max(w, 1), std::max(h, 1));
    tile.row_y = edges(plane.row_cuts, tile.row_first, tile.row_last, tile.box.top(), tile.box.height());
    tile.col_x = edges(plane.col_cuts, tile.col_first, tile.col_last, tile.box.left(), tile.box.width());
    made.tiles.push_back(std::move(tile));
  }
  return made;
}

QRect ShardTile::cell_box(const GridCell& cell) const {
  const int top_row = std::max(cell.row_first, row_first), bottom_row = std::min(cell.row_last, row_last);
  const int left_col = std::max(cell.col_first, col_first), right_col = std::min(cell.col_last, col_last);
  if (top_row >= bottom_row || left_col >= right_col) return {};
  const int top = row_y[std::size_t(top_row - row_first)], bottom = row_y[std::size_t(bottom_row - row_first)];
  const int left = col_x[std::size_t(left_col - col_first)], right = col_x[std::size_t(right_col - col_first)];
  return {left, top, right - left, bottom - top};
}

int ShardTile::least_row_height() const {
  int least = box.height();
  for (std::size_t r = 1; r < row_y.size(); ++r) least = std::min(least, row_y[r] - row_y[r - 1]);
  return least;
}

const GridCell* ShardTiles::cell_at(const ShardGrid& grid, QPoint position) const {
  for (const auto& tile : tiles)
    for (const auto& cell : grid.planes[std::size_t(tile.plane)].cells)
      if (tile.cell_box(cell).contains(position)) return &cell;
  return nullptr;
}

}  // namespace shardlab::gui
