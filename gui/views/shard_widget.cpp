#include "gui/views/shard_widget.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>
#include <cmath>

#include "gui/models/format.h"
#include "gui/views/theme.h"

namespace shardlab::gui {
namespace {

constexpr int kRulerLeft = 44, kRulerTop = 20, kTitle = 20, kGap = 14, kMargin = 10, kNote = 24;
constexpr int kCellWidthMax = 340, kCellHeightMax = 130;

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

}  // namespace

ShardWidget::ShardWidget(Selection& selection, QWidget* parent) : QWidget(parent), selection_(selection) {
  setAccessibleName(QStringLiteral("Sharding of the array"));
  setMouseTracking(true);
  connect(&selection, &Selection::changed, this, [this] { update(); });
}

const Array* ShardWidget::array() const { return trace_ && shown_.layout ? &shown_ : nullptr; }

void ShardWidget::set_array(int array) {
  trace_ = selection_.trace();
  partial_.clear();
  show(trace_ && array >= 0 && std::size_t(array) < trace_->arrays.size() ? trace_->arrays[std::size_t(array)] : Array{});
}

void ShardWidget::set_layout(const std::string& name, const std::string& dtype, std::shared_ptr<const ArrayLayout> layout,
                             const std::vector<std::string>& partial) {
  trace_ = selection_.trace();
  QStringList axes;
  for (const auto& axis : partial) axes << qstr(axis);
  partial_ = axes.join(QStringLiteral(", "));
  show({.name = name, .dtype = dtype, .layout = std::move(layout)});
}

void ShardWidget::show(Array array) {
  shown_ = std::move(array);
  grid_ = this->array() ? make_shard_grid(shown_) : ShardGrid{};
  setAccessibleDescription(this->array() ? qstr(shown_.display_name() + ": " + grid_.summary()) : QString());
  arrange();
  update();
}

void ShardWidget::resizeEvent(QResizeEvent*) { arrange(); }

ShardWidget::Frame ShardWidget::frame_of(int pieces) const {
  const GridPlane& plane = grid_.planes[0];
  const int title = grid_.dims > 2 ? kTitle : 0;
  if (pieces > 3 && plane.cols() > plane.rows()) return {0, kRulerLeft, 3, true};
  if (pieces > 3 && plane.cols() == 1) return {kRulerTop, 0, 5, true};
  return {kRulerTop + title, kRulerLeft, kGap, false};
}

// How legible a cell is: 1 where a label with a second line fits, less where it is smaller.
double ShardWidget::score_of(int across, int pieces) const {
  const GridPlane& plane = grid_.planes[0];
  const bool by_rows = plane.rows() >= plane.cols();
  const int tiles = int(grid_.planes.size()) * pieces;
  const int down = (tiles + across - 1) / across;
  const int rows = by_rows ? (plane.rows() + pieces - 1) / pieces : plane.rows();
  const int cols = by_rows ? plane.cols() : (plane.cols() + pieces - 1) / pieces;
  const Frame frame = frame_of(pieces);
  const double w = (double(width() - 2 * kMargin) / across - frame.left - frame.gap) / cols;
  const double h = (double(tiles_height()) / down - frame.top - frame.gap) / rows;
  if (w <= 0 || h <= 0) return -1;
  // Pieces read less well than a whole, so they must earn it.
  return std::min(std::min(w / 76, 1.25), std::min(h / 34, 1.25)) - 0.02 * (pieces > 1) - 0.001 * pieces;
}

ShardWidget::Arrangement ShardWidget::best_arrangement() const {
  Arrangement best;
  const GridPlane& plane = grid_.planes[0];
  const int longest = std::max(plane.rows(), plane.cols());
  const int planes = int(grid_.planes.size());
  for (int pieces = 1; pieces <= std::min(longest, 64); ++pieces) {
    if (pieces > 1 && (planes > 1 || std::min(plane.rows(), plane.cols()) > 4)) break;
    for (int across = 1; across <= planes * pieces; ++across) {
      const double score = score_of(across, pieces);
      if (score > best.score) best = {across, pieces, score};
    }
  }
  return best;
}

int ShardWidget::tiles_height() const { return height() - 2 * kMargin - (partial_.isEmpty() ? 0 : kNote); }

void ShardWidget::arrange() {
  tiles_.clear();
  if (grid_.planes.empty()) return;
  const Arrangement chosen = best_arrangement();
  if (chosen.score < 0) return;
  const int tiles = int(grid_.planes.size()) * chosen.pieces;
  const int down = (tiles + chosen.across - 1) / chosen.across;
  const Frame frame = frame_of(chosen.pieces);
  compact_ = frame.compact;
  const int slot_w = (width() - 2 * kMargin) / chosen.across, slot_h = tiles_height() / down;
  for (int i = 0; i < tiles; ++i) {
    Tile tile{.plane = i / chosen.pieces};
    const GridPlane& plane = grid_.planes[std::size_t(tile.plane)];
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
    const int left = kMargin + i % chosen.across * slot_w + frame.left;
    const int top = kMargin + i / chosen.across * slot_h + frame.top;
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
    tiles_.push_back(std::move(tile));
  }
}

QRect ShardWidget::cell_box(const Tile& tile, const GridCell& cell) const {
  const int row_first = std::max(cell.row_first, tile.row_first), row_last = std::min(cell.row_last, tile.row_last);
  const int col_first = std::max(cell.col_first, tile.col_first), col_last = std::min(cell.col_last, tile.col_last);
  if (row_first >= row_last || col_first >= col_last) return {};
  const int top = tile.row_y[std::size_t(row_first - tile.row_first)], bottom = tile.row_y[std::size_t(row_last - tile.row_first)];
  const int left = tile.col_x[std::size_t(col_first - tile.col_first)], right = tile.col_x[std::size_t(col_last - tile.col_first)];
  return {left, top, right - left, bottom - top};
}

const GridCell* ShardWidget::cell_at(QPoint position) const {
  for (const auto& tile : tiles_)
    for (const auto& cell : grid_.planes[std::size_t(tile.plane)].cells)
      if (cell_box(tile, cell).contains(position)) return &cell;
  return nullptr;
}

void ShardWidget::paintEvent(QPaintEvent*) {
  const Theme& theme = theme_of(this);
  QPainter painter(this);
  painter.fillRect(rect(), theme.base);
  if (tiles_.empty()) {
    painter.setPen(theme.muted);
    const QString text = !trace_ || (trace_->arrays.empty() && !shown_.layout) ? QStringLiteral("No array was recorded.")
                         : !shown_.layout                                      ? QStringLiteral("It came from the host.")
                         : grid_.planes.empty()                                ? QStringLiteral("No shards were recorded for this array.")
                                                                               : QStringLiteral("Make this view larger to see the array.");
    painter.drawText(rect(), Qt::AlignCenter, text);
    return;
  }
  for (const auto& tile : tiles_) paint_tile(painter, tile);
  if (partial_.isEmpty()) return;
  // Summands: hatched over, and said.
  QColor veil = theme.warning;
  veil.setAlphaF(0.35F);
  for (const auto& tile : tiles_) painter.fillRect(tile.box, QBrush(veil, Qt::FDiagPattern));
  const QString note = QStringLiteral("Σ partial over %1").arg(partial_);
  const int left = tiles_[0].box.left(), high = fontMetrics().height() + 4;  // below the tiles: the cells keep their text
  const QRect plate(left, height() - kMargin / 2 - high, std::min(fontMetrics().horizontalAdvance(note) + 12, width() - left - kMargin),
                    high);
  painter.fillRect(plate, theme.warning_back);
  painter.setPen(theme.warning);
  painter.drawText(plate.adjusted(6, 0, -4, 0), Qt::AlignLeft | Qt::AlignVCenter,
                   fontMetrics().elidedText(note, Qt::ElideRight, plate.width() - 10));
}

void ShardWidget::paint_tile(QPainter& painter, const Tile& tile) {
  const Theme& theme = theme_of(this);
  const GridPlane& plane = grid_.planes[std::size_t(tile.plane)];
  const auto chosen = selection_.devices();
  paint_rulers(painter, tile);
  least_height_ = tile.box.height();
  for (std::size_t r = 1; r < tile.row_y.size(); ++r) least_height_ = std::min(least_height_, tile.row_y[r] - tile.row_y[r - 1]);
  for (const auto& cell : plane.cells) {
    const QRect box = cell_box(tile, cell);
    if (box.isEmpty()) continue;
    const bool lit =
        std::any_of(cell.devices.begin(), cell.devices.end(), [&](int d) { return std::binary_search(chosen.begin(), chosen.end(), d); });
    paint_cell(painter, cell, box, !chosen.empty() && !lit, lit && chosen.size() < trace_->devices.size());
  }
  painter.setPen(QPen(theme.muted, 1));
  painter.setBrush(Qt::NoBrush);
  painter.drawRect(tile.box.adjusted(0, 0, 0, 0));
}

void ShardWidget::paint_rulers(QPainter& painter, const Tile& tile) {
  const Theme& theme = theme_of(this);
  const GridPlane& plane = grid_.planes[std::size_t(tile.plane)];
  QFont small = font();
  small.setPixelSize(std::max(font().pixelSize() - 2, 9));
  painter.setFont(small);
  const QFontMetrics metrics(small);
  painter.setPen(theme.muted);
  if (grid_.dims > 2 && tile.row_first == 0 && tile.col_first == 0)
    painter.drawText(QRect(tile.box.left(), tile.box.top() - kRulerTop - kTitle + 2, std::max(tile.box.width(), 120), kTitle),
                     Qt::AlignLeft | Qt::AlignVCenter, qstr(plane.title));
  if (compact_) {
    if (plane.rows() >= plane.cols())
      painter.drawText(QRect(tile.box.left(), tile.box.top() - 18, tile.box.width(), 16), Qt::AlignHCenter | Qt::AlignVCenter,
                       QString::number(plane.row_cuts[std::size_t(tile.row_first)]));
    else
      painter.drawText(QRect(tile.box.left() - kRulerLeft, tile.box.center().y() - 8, kRulerLeft - 7, 16),
                       Qt::AlignRight | Qt::AlignVCenter, QString::number(plane.col_cuts[std::size_t(tile.col_first)]));
    painter.setFont(font());
    return;
  }
  // Every n-th cut has its number, n such that none touches the next.
  if (grid_.col_dim >= 0) {
    const int count = tile.col_last - tile.col_first;
    const int widest = metrics.horizontalAdvance(QString::number(plane.col_cuts[std::size_t(tile.col_last)])) + 8;
    const int step = std::max(1, (widest * count + tile.box.width() - 1) / std::max(tile.box.width(), 1));
    for (int c = 0; c <= count; ++c) {
      const int at = tile.col_x[std::size_t(c)];
      painter.drawLine(at, tile.box.top() - 4, at, tile.box.top() - 1);
      if (c % step != 0 && !(c == count && c % step > step / 2)) continue;
      painter.drawText(QRect(at - 60, tile.box.top() - 19, 120, 14), Qt::AlignHCenter | Qt::AlignBottom,
                       QString::number(plane.col_cuts[std::size_t(tile.col_first + c)]));
    }
  }
  if (grid_.row_dim >= 0) {
    const int count = tile.row_last - tile.row_first;
    const int step = std::max(1, (metrics.height() * count + tile.box.height() - 1) / std::max(tile.box.height(), 1));
    for (int r = 0; r <= count; ++r) {
      const int at = tile.row_y[std::size_t(r)];
      painter.drawLine(tile.box.left() - 4, at, tile.box.left() - 1, at);
      if (r % step != 0 && !(r == count && r % step > step / 2)) continue;
      painter.drawText(QRect(tile.box.left() - kRulerLeft, at - 8, kRulerLeft - 7, 16), Qt::AlignRight | Qt::AlignVCenter,
                       QString::number(plane.row_cuts[std::size_t(tile.row_first + r)]));
    }
  }
  painter.setFont(font());
}

void ShardWidget::paint_cell(QPainter& painter, const GridCell& cell, const QRect& box, bool dimmed, bool lit) {
  const Theme& theme = theme_of(this);
  const double strength = dimmed ? 0.10 : theme.dark ? 0.38 : 0.30;
  const bool large = box.width() >= 34 && box.height() >= 18;
  const QColor first = theme.device(*trace_, cell.devices.empty() ? -1 : cell.devices[0]);
  const QColor back = blend(first, theme.base, large ? strength : dimmed ? 0.15 : 0.62);
  painter.fillRect(box, back);
  if (large) {
    // A bar a copy, in the holder's colour; beyond what fits they are only counted.
    const int bars = std::min<int>(int(cell.devices.size()), std::max((box.height() - 2) / 3, 1));
    for (int i = 0; i < bars; ++i) {
      const int top = box.top() + i * box.height() / bars, bottom = box.top() + (i + 1) * box.height() / bars;
      const QColor colour = theme.device(*trace_, cell.devices[std::size_t(i)]);
      painter.fillRect(QRect(box.left(), top, 6, bottom - top), dimmed ? blend(colour, theme.base, 0.35) : colour);
    }
  }
  if (box.width() > 5 && box.height() > 5) {
    painter.setPen(theme.base);
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(box.adjusted(0, 0, -1, -1));
  }
  paint_cell_text(painter, cell, box, dimmed ? theme.muted : large ? theme.text : ink_on(back));
  if (lit) {
    painter.setPen(QPen(theme.text, 2));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(box.adjusted(2, 2, -3, -3));
  }
}

void ShardWidget::paint_cell_text(QPainter& painter, const GridCell& cell, const QRect& box, const QColor& ink) {
  const QFontMetrics metrics(font());
  const int room = box.width() - (box.width() >= 34 ? 14 : 4);
  if (room < 8 || box.height() < 9) return;
  const int chars = std::max(room / std::max(metrics.averageCharWidth(), 1), 1);
  const QString set = set_text(cell.devices, chars);
  const Device* device = trace_->device(cell.devices[0]);
  const QString platform = device ? qstr(device->name).section(QLatin1Char(' '), 0, 0) + QLatin1Char(' ') : QString();
  QString label = platform + set_text(cell.devices, chars);
  if (metrics.horizontalAdvance(label) > room) label = set;
  const QString slice = qstr(cell.slice_text());
  const bool copies = cell.devices.size() > 1;
  const bool second = box.height() >= 2 * metrics.height() + 6 && metrics.horizontalAdvance(slice) <= room;
  QRect line = box.adjusted(box.width() >= 34 ? 10 : 2, 0, -3, 0);
  painter.setPen(ink);
  QFont bold = font();
  bold.setBold(true);
  QFont used = second || box.height() >= metrics.height() ? bold : font();
  const bool crowded = !second && grid_.cell_count() > 64;  // one size for all of them
  if (crowded || box.height() < metrics.height() || QFontMetrics(used).horizontalAdvance(label) > room) {
    used = font();
    // By the tile's smallest cell, so that all labels have one size.
    used.setPixelSize(std::clamp(least_height_ - 2, 7, std::max(font().pixelSize() - 1, 7)));
    while (used.pixelSize() > 7 && QFontMetrics(used).horizontalAdvance(label) > room) used.setPixelSize(used.pixelSize() - 1);
    if (QFontMetrics(used).horizontalAdvance(label) > room) return;
  }
  const bool centred = box.width() < 34;
  painter.setFont(used);
  if (second) {
    const int top = box.center().y() - metrics.height();
    painter.drawText(QRect(line.left(), top, line.width(), metrics.height()), Qt::AlignLeft | Qt::AlignVCenter, label);
    painter.setFont(font());
    painter.setPen(blend(ink, theme_of(this).base, 0.8));
    painter.drawText(QRect(line.left(), top + metrics.height() + 1, line.width(), metrics.height()), Qt::AlignLeft | Qt::AlignVCenter,
                     slice);
  } else {
    painter.drawText(centred ? box : line, (centred ? Qt::AlignHCenter : Qt::AlignLeft) | Qt::AlignVCenter, label);
  }
  painter.setFont(font());
  const QString badge = QStringLiteral("×%1").arg(cell.devices.size());
  if (copies && second && room > metrics.horizontalAdvance(label + badge) + 24) {
    const QRect plate(box.right() - metrics.horizontalAdvance(badge) - 12, box.top() + 5, metrics.horizontalAdvance(badge) + 8,
                      metrics.height());
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme_of(this).raised);
    painter.drawRoundedRect(plate, 3, 3);
    painter.setPen(theme_of(this).text);
    painter.drawText(plate, Qt::AlignCenter, badge);
  }
}

QString ShardWidget::tooltip_at(QPoint position) const {
  const GridCell* cell = cell_at(position);
  const Array* array = this->array();
  if (!cell || !array) return {};
  std::vector<int> processes;
  for (const int d : cell->devices)
    if (const Device* device = trace_->device(d)) processes.push_back(device->process);
  QString text = QStringLiteral("<b>%1%2</b><br>held by %3 %4 (process %5)")
                     .arg(html(array->display_name()), html(cell->slice_text()),
                          cell->devices.size() == 1 ? QStringLiteral("device") : QStringLiteral("devices"), set_text(cell->devices, 80),
                          set_text(processes, 40));
  std::int64_t elements = 1;
  for (std::size_t d = 0; d < cell->begin.size(); ++d) elements *= cell->end[d] - cell->begin[d];
  return text + QStringLiteral("<br>%1").arg(count_text(elements, "element", "elements"));
}

void ShardWidget::mousePressEvent(QMouseEvent* event) {
  const GridCell* cell = cell_at(event->pos());
  if (!cell) return selection_.clear(this);
  // A second click on a shared cell goes on to its next holder.
  const auto at = std::find(cell->devices.begin(), cell->devices.end(), selection_.state().device);
  selection_.select_device(at == cell->devices.end() || at + 1 == cell->devices.end() ? cell->devices[0] : *(at + 1), this);
}

QString ShardWidget::access_group_name(int group) const {
  const auto& plane = grid_.planes[std::size_t(group)];
  return QStringLiteral("%1 %2").arg(qstr(shown_.display_name()), plane.title.empty() ? qstr(grid_.summary()) : qstr(plane.title));
}

QString ShardWidget::access_item_name(int group, int item) const {
  const GridCell& cell = grid_.planes[std::size_t(group)].cells[std::size_t(item)];
  return QStringLiteral("%1 on %2 %3")
      .arg(qstr(cell.slice_text()), cell.devices.size() == 1 ? QStringLiteral("device") : QStringLiteral("devices"),
           set_text(cell.devices));
}

QRect ShardWidget::access_item_box(int group, int item) const {
  for (const auto& tile : tiles_)
    if (tile.plane == group)
      if (const QRect box = cell_box(tile, grid_.planes[std::size_t(group)].cells[std::size_t(item)]); !box.isEmpty()) return box;
  return {};
}

void ShardWidget::access_choose(int group, int item) {
  const auto& devices = grid_.planes[std::size_t(group)].cells[std::size_t(item)].devices;
  if (!devices.empty()) selection_.select_device(devices[0], this);
}

bool ShardWidget::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    QToolTip::showText(help->globalPos(), tooltip_at(help->pos()), this);
    return true;
  }
  return QWidget::event(event);
}

}  // namespace shardlab::gui
