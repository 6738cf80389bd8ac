#include "gui/views/shard_widget.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>

#include "gui/models/format.h"
#include "gui/views/shard_painter.h"
#include "gui/views/theme.h"

namespace shardlab::gui {
namespace {
constexpr int kNote = 24;
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
  array_ = trace_ && array >= 0 && std::size_t(array) < trace_->arrays.size() ? array : -1;
  show(array_ >= 0 ? trace_->arrays[std::size_t(array_)] : Array{});
}

void ShardWidget::select(int device) {
  if (array_ >= 0)
    selection_.select_shard(array_, device, this);
  else
    selection_.select_device(device, this);
}

void ShardWidget::set_layout(const std::string& name, const std::string& dtype, std::shared_ptr<const ArrayLayout> layout,
                             const std::vector<std::string>& partial) {
  trace_ = selection_.trace();
  array_ = -1;
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

void ShardWidget::arrange() { tiles_ = arrange_shards(grid_, {width(), height() - (partial_.isEmpty() ? 0 : kNote)}); }

void ShardWidget::paintEvent(QPaintEvent*) {
  const Theme& theme = theme_of(this);
  QPainter painter(this);
  painter.fillRect(rect(), theme.base);
  if (tiles_.tiles.empty()) {
    painter.setPen(theme.muted);
    const QString text = !trace_ || (trace_->arrays.empty() && !shown_.layout) ? QStringLiteral("No array was recorded.")
                         : !shown_.layout                                      ? QStringLiteral("It came from the host.")
                         : grid_.planes.empty()                                ? QStringLiteral("No shards were recorded for this array.")
                                                                               : QStringLiteral("Make this view larger to see the array.");
    painter.drawText(rect(), Qt::AlignCenter, text);
    return;
  }
  const auto chosen = selection_.devices();
  ShardPainter shards(painter, theme, *trace_, grid_, tiles_, chosen);
  for (const auto& tile : tiles_.tiles) shards.paint_tile(tile);
  if (partial_.isEmpty()) return;
  // Summands: hatched over, and said.
  for (const auto& tile : tiles_.tiles) shards.paint_partial(tile);
  const QString note = QStringLiteral("Σ partial over %1").arg(partial_);
  const int left = tiles_.tiles[0].box.left(), high = fontMetrics().height() + 4;  // below the tiles: the cells keep their text
  const QRect plate(left, height() - kShardMargin / 2 - high,
                    std::min(fontMetrics().horizontalAdvance(note) + 12, width() - left - kShardMargin), high);
  painter.fillRect(plate, theme.warning_back);
  painter.setPen(theme.warning);
  painter.drawText(plate.adjusted(6, 0, -4, 0), Qt::AlignLeft | Qt::AlignVCenter,
                   fontMetrics().elidedText(note, Qt::ElideRight, plate.width() - 10));
}

QString ShardWidget::tooltip_at(QPoint position) const {
  const GridCell* cell = tiles_.cell_at(grid_, position);
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
  const GridCell* cell = tiles_.cell_at(grid_, event->pos());
  if (!cell) return selection_.clear(this);
  // A second click on a shared cell goes on to its next holder.
  const auto at = std::find(cell->devices.begin(), cell->devices.end(), selection_.state().device);
  select(at == cell->devices.end() || at + 1 == cell->devices.end() ? cell->devices[0] : *(at + 1));
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
  for (const auto& tile : tiles_.tiles)
    if (tile.plane == group)
      if (const QRect box = tile.cell_box(grid_.planes[std::size_t(group)].cells[std::size_t(item)]); !box.isEmpty()) return box;
  return {};
}

void ShardWidget::access_choose(int group, int item) {
  const auto& devices = grid_.planes[std::size_t(group)].cells[std::size_t(item)].devices;
  if (!devices.empty()) select(devices[0]);
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
