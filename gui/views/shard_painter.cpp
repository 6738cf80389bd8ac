#include "gui/views/shard_painter.h"

#include <algorithm>

#include "gui/models/format.h"

namespace shardlab::gui {

void ShardPainter::paint_partial(const ShardTile& tile) {
  QColor veil = theme_.warning;
  veil.setAlphaF(0.35F);
  painter_.fillRect(tile.box, QBrush(veil, Qt::FDiagPattern));
}

void ShardPainter::paint_tile(const ShardTile& tile) {
  const GridPlane& plane = grid_.planes[std::size_t(tile.plane)];
  paint_rulers(tile);
  least_height_ = tile.least_row_height();
  for (const auto& cell : plane.cells) {
    const QRect box = tile.cell_box(cell);
    if (box.isEmpty()) continue;
    const bool lit =
        std::any_of(cell.devices.begin(), cell.devices.end(), [&](int d) { return std::binary_search(chosen_.begin(), chosen_.end(), d); });
    paint_cell(cell, box, !chosen_.empty() && !lit, lit && chosen_.size() < trace_.devices.size());
  }
  painter_.setPen(QPen(theme_.muted, 1));
  painter_.setBrush(Qt::NoBrush);
  painter_.drawRect(tile.box.adjusted(0, 0, 0, 0));
}

void ShardPainter::paint_rulers(const ShardTile& tile) {
  const GridPlane& plane = grid_.planes[std::size_t(tile.plane)];
  QFont small = font_;
  small.setPixelSize(std::max(font_.pixelSize() - 2, 9));
  painter_.setFont(small);
  const QFontMetrics metrics(small);
  painter_.setPen(theme_.muted);
  if (grid_.dims > 2 && tile.row_first == 0 && tile.col_first == 0)
    painter_.drawText(
        QRect(tile.box.left(), tile.box.top() - kShardRulerTop - kShardTitle + 2, std::max(tile.box.width(), 120), kShardTitle),
        Qt::AlignLeft | Qt::AlignVCenter, qstr(plane.title));
  if (tiles_.compact) {
    if (plane.rows() >= plane.cols())
      painter_.drawText(QRect(tile.box.left(), tile.box.top() - 18, tile.box.width(), 16), Qt::AlignHCenter | Qt::AlignVCenter,
                        QString::number(plane.row_cuts[std::size_t(tile.row_first)]));
    else
      painter_.drawText(QRect(tile.box.left() - kShardRulerLeft, tile.box.center().y() - 8, kShardRulerLeft - 7, 16),
                        Qt::AlignRight | Qt::AlignVCenter, QString::number(plane.col_cuts[std::size_t(tile.col_first)]));
    painter_.setFont(font_);
    return;
  }
  // Every n-th cut has its number, n such that none touches the next.
  if (grid_.col_dim >= 0) {
    const int count = tile.col_last - tile.col_first;
    const int widest = metrics.horizontalAdvance(QString::number(plane.col_cuts[std::size_t(tile.col_last)])) + 8;
    const int step = std::max(1, (widest * count + tile.box.width() - 1) / std::max(tile.box.width(), 1));
    for (int c = 0; c <= count; ++c) {
      const int at = tile.col_x[std::size_t(c)];
      painter_.drawLine(at, tile.box.top() - 4, at, tile.box.top() - 1);
      if (c % step != 0 && !(c == count && c % step > step / 2)) continue;
      painter_.drawText(QRect(at - 60, tile.box.top() - 19, 120, 14), Qt::AlignHCenter | Qt::AlignBottom,
                        QString::number(plane.col_cuts[std::size_t(tile.col_first + c)]));
    }
  }
  if (grid_.row_dim >= 0) {
    const int count = tile.row_last - tile.row_first;
    const int step = std::max(1, (metrics.height() * count + tile.box.height() - 1) / std::max(tile.box.height(), 1));
    for (int r = 0; r <= count; ++r) {
      const int at = tile.row_y[std::size_t(r)];
      painter_.drawLine(tile.box.left() - 4, at, tile.box.left() - 1, at);
      if (r % step != 0 && !(r == count && r % step > step / 2)) continue;
      painter_.drawText(QRect(tile.box.left() - kShardRulerLeft, at - 8, kShardRulerLeft - 7, 16), Qt::AlignRight | Qt::AlignVCenter,
                        QString::number(plane.row_cuts[std::size_t(tile.row_first + r)]));
    }
  }
  painter_.setFont(font_);
}

void ShardPainter::paint_cell(const GridCell& cell, const QRect& box, bool dimmed, bool lit) {
  const double strength = dimmed ? 0.10 : theme_.dark ? 0.38 : 0.30;
  const bool large = box.width() >= 34 && box.height() >= 18;
  const QColor first = theme_.device(trace_, cell.devices.empty() ? -1 : cell.devices[0]);
  const QColor back = blend(first, theme_.base, large ? strength : dimmed ? 0.15 : 0.62);
  painter_.fillRect(box, back);
  if (large) {
    // A bar a copy, in the holder's colour; beyond what fits they are only counted.
    const int bars = std::min<int>(int(cell.devices.size()), std::max((box.height() - 2) / 3, 1));
    for (int i = 0; i < bars; ++i) {
      const int top = box.top() + i * box.height() / bars, bottom = box.top() + (i + 1) * box.height() / bars;
      const QColor colour = theme_.device(trace_, cell.devices[std::size_t(i)]);
      painter_.fillRect(QRect(box.left(), top, 6, bottom - top), dimmed ? blend(colour, theme_.base, 0.35) : colour);
    }
  }
  if (box.width() > 5 && box.height() > 5) {
    painter_.setPen(theme_.base);
    painter_.setBrush(Qt::NoBrush);
    painter_.drawRect(box.adjusted(0, 0, -1, -1));
  }
  paint_cell_text(cell, box, dimmed ? theme_.muted : large ? theme_.text : ink_on(back));
  if (lit) {
    painter_.setPen(QPen(theme_.text, 2));
    painter_.setBrush(Qt::NoBrush);
    painter_.drawRect(box.adjusted(2, 2, -3, -3));
  }
}

void ShardPainter::paint_cell_text(const GridCell& cell, const QRect& box, const QColor& ink) {
  const QFontMetrics metrics(font_);
  const int room = box.width() - (box.width() >= 34 ? 14 : 4);
  if (room < 8 || box.height() < 9) return;
  const int chars = std::max(room / std::max(metrics.averageCharWidth(), 1), 1);
  const QString set = set_text(cell.devices, chars);
  const Device* device = trace_.device(cell.devices[0]);
  const QString platform = device ? qstr(device->name).section(QLatin1Char(' '), 0, 0) + QLatin1Char(' ') : QString();
  QString label = platform + set_text(cell.devices, chars);
  if (metrics.horizontalAdvance(label) > room) label = set;
  const QString slice = qstr(cell.slice_text());
  const bool copies = cell.devices.size() > 1;
  const bool second = box.height() >= 2 * metrics.height() + 6 && metrics.horizontalAdvance(slice) <= room;
  QRect line = box.adjusted(box.width() >= 34 ? 10 : 2, 0, -3, 0);
  painter_.setPen(ink);
  QFont bold = font_;
  bold.setBold(true);
  QFont used = second || box.height() >= metrics.height() ? bold : font_;
  const bool crowded = !second && grid_.cell_count() > 64;  // one size for all of them
  if (crowded || box.height() < metrics.height() || QFontMetrics(used).horizontalAdvance(label) > room) {
    used = font_;
    // By the tile's smallest cell, so that all labels have one size.
    used.setPixelSize(std::clamp(least_height_ - 2, 7, std::max(font_.pixelSize() - 1, 7)));
    while (used.pixelSize() > 7 && QFontMetrics(used).horizontalAdvance(label) > room) used.setPixelSize(used.pixelSize() - 1);
    if (QFontMetrics(used).horizontalAdvance(label) > room) return;
  }
  const bool centred = box.width() < 34;
  painter_.setFont(used);
  if (second) {
    const int top = box.center().y() - metrics.height();
    painter_.drawText(QRect(line.left(), top, line.width(), metrics.height()), Qt::AlignLeft | Qt::AlignVCenter, label);
    painter_.setFont(font_);
    painter_.setPen(blend(ink, theme_.base, 0.8));
    painter_.drawText(QRect(line.left(), top + metrics.height() + 1, line.width(), metrics.height()), Qt::AlignLeft | Qt::AlignVCenter,
                      slice);
  } else {
    painter_.drawText(centred ? box : line, (centred ? Qt::AlignHCenter : Qt::AlignLeft) | Qt::AlignVCenter, label);
  }
  painter_.setFont(font_);
  const QString badge = QStringLiteral("×%1").arg(cell.devices.size());
  if (copies && second && room > metrics.horizontalAdvance(label + badge) + 24) {
    const QRect plate(box.right() - metrics.horizontalAdvance(badge) - 12, box.top() + 5, metrics.horizontalAdvance(badge) + 8,
                      metrics.height());
    painter_.setPen(Qt::NoPen);
    painter_.setBrush(theme_.raised);
    painter_.drawRoundedRect(plate, 3, 3);
    painter_.setPen(theme_.text);
    painter_.drawText(plate, Qt::AlignCenter, badge);
  }
}

}  // namespace shardlab::gui
