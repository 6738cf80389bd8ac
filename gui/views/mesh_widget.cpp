#include "gui/views/mesh_widget.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>
#include <QToolTip>

#include <algorithm>
#include <cmath>

#include "gui/models/format.h"
#include "gui/views/theme.h"

namespace shardlab::gui {
namespace {
constexpr int kMargin = 10, kAxisLeft = 30, kAxisLeftMax = 76, kAxisTop = 34, kPlaneGap = 26;
constexpr std::size_t kArrowsMax = 64;
constexpr int kCellMax = 104, kCellHeightMax = 72, kLabelPxMin = 8;
}  // namespace

MeshWidget::MeshWidget(Selection& selection, QWidget* parent) : QWidget(parent), selection_(selection) {
  setAccessibleName(QStringLiteral("Device mesh"));
  setMouseTracking(true);
  connect(&selection, &Selection::changed, this, [this] { update(); });
}

void MeshWidget::set_mesh(int mesh) {
  trace_ = selection_.trace();
  mesh_ = mesh;
  layout_ = {};
  if (trace_) layout_ = mesh >= 0 ? make_mesh_layout(trace_->meshes[std::size_t(mesh)]) : make_device_layout(*trace_);
  arrange();
  update();
}

void MeshWidget::resizeEvent(QResizeEvent*) { arrange(); }

void MeshWidget::arrange() {
  plane_origins_.clear();
  const int planes = int(layout_.plane_titles.size());
  if (planes == 0) return;
  // What stands for too many arrows has a room of its own below, where there is any.
  constexpr int kNoteHeight = 52, kHeightMin = 150;
  const int room = height() - 2 * kMargin - (arrows_.size() > kArrowsMax && height() > kHeightMin + kNoteHeight ? kNoteHeight : 0);
  axis_left_ = std::clamp(fontMetrics().horizontalAdvance(qstr(layout_.row_axis) + QStringLiteral(" ↓")), kAxisLeft, kAxisLeftMax);
  int best_across = 1, best = -1;
  for (int across = 1; across <= planes; ++across) {
    const int down = (planes + across - 1) / across;
    const int w = ((width() - 2 * kMargin) / across - axis_left_) / layout_.cols;
    const int h = (room / down - kAxisTop) / layout_.rows;
    if (std::min(w, h) > best) {
      best = std::min(w, h);
      best_across = across;
    }
  }
  const int down = (planes + best_across - 1) / best_across;
  const int slot_w = (width() - 2 * kMargin) / best_across, slot_h = room / down;
  cell_w_ = std::clamp((slot_w - axis_left_ - 8) / layout_.cols, 2, kCellMax);
  cell_h_ = std::clamp((slot_h - kAxisTop - (planes > 1 ? kPlaneGap - 8 : 8)) / layout_.rows, 2, kCellHeightMax);
  gap_ = std::min(cell_w_, cell_h_) >= 24 ? 8 : std::min(cell_w_, cell_h_) >= 12 ? 4 : std::min(cell_w_, cell_h_) >= 6 ? 2 : 0;
  for (int p = 0; p < planes; ++p)
    plane_origins_.push_back({kMargin + p % best_across * slot_w + axis_left_, kMargin + p / best_across * slot_h + kAxisTop});
}

QRect MeshWidget::place_box(const MeshPlace& place) const {
  const QPoint origin = plane_origins_[std::size_t(place.plane)];
  return {origin.x() + place.col * cell_w_ + gap_ / 2, origin.y() + place.row * cell_h_ + gap_ / 2, cell_w_ - gap_, cell_h_ - gap_};
}

QRect MeshWidget::outline_box(const PlaceBox& box, int margin) const {
  const QRect first = place_box({.plane = box.plane, .row = box.row_first, .col = box.col_first});
  const QRect last = place_box({.plane = box.plane, .row = box.row_last, .col = box.col_last});
  return first.united(last).adjusted(-margin, -margin, margin, margin);
}

void MeshWidget::paintEvent(QPaintEvent*) {
  const Theme& theme = theme_of(this);
  QPainter painter(this);
  painter.fillRect(rect(), theme.base);
  painter.setRenderHint(QPainter::Antialiasing);
  if (layout_.places.empty()) {
    painter.setPen(theme.muted);
    painter.drawText(rect(), Qt::AlignCenter, QStringLiteral("No devices were recorded."));
    return;
  }
  paint_axes(painter);
  paint_processes(painter);
  if (arrows_.empty()) paint_groups(painter);
  paint_places(painter);  // over the groups' outlines: where they are small their names stay readable
  if (!arrows_.empty()) paint_arrows(painter);
}

void MeshWidget::set_arrows(const std::vector<std::pair<int, int>>& arrows) {
  arrows_ = arrows;
  std::sort(arrows_.begin(), arrows_.end());
  arrows_.erase(std::unique(arrows_.begin(), arrows_.end()), arrows_.end());
  arrange();
  update();
}

void MeshWidget::paint_arrows(QPainter& painter) {
  const Theme& theme = theme_of(this);
  const int chosen = selection_.state().device;
  std::vector<std::pair<int, int>> shown;
  for (const auto& [source, target] : arrows_)
    if (chosen < 0 || source == chosen || target == chosen) shown.emplace_back(source, target);
  if (shown.empty()) shown = arrows_;
  if (shown.size() > kArrowsMax) {
    const QString note = QStringLiteral("%1 moves – select a device to see its own").arg(shown.size());
    constexpr int kFlags = Qt::AlignHCenter | Qt::AlignBottom | Qt::TextWordWrap;
    const QRect room = rect().adjusted(8, 0, -8, -6);
    // It may lie over the places, where there is no room below them.
    const QRect plate = QFontMetrics(painter.font()).boundingRect(room, kFlags, note).adjusted(-5, -2, 5, 2);
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme.base);
    painter.drawRoundedRect(plate, 3, 3);
    painter.setPen(theme.muted);
    painter.drawText(room, kFlags, note);
    return;
  }
  for (const auto& [source, target] : shown) {
    const MeshPlace *from = nullptr, *to = nullptr;
    for (const auto& place : layout_.places) {
      if (place.device == source) from = &place;
      if (place.device == target) to = &place;
    }
    if (!from || !to) continue;
    const QPointF a = QRectF(place_box(*from)).center(), b = QRectF(place_box(*to)).center();
    const QPointF d = b - a;
    const double length = std::max(std::hypot(d.x(), d.y()), 1.0);
    const QPointF unit = d / length, side(-unit.y(), unit.x());
    const double near = std::min(cell_w_, cell_h_) * 0.28;
    const QPointF start = a + unit * near + side * 4, end = b - unit * near + side * 4;
    const QPointF control = (start + end) / 2 + side * std::min(length * 0.16, 26.0);
    QPainterPath path(start);
    path.quadTo(control, end);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(theme.base, 3.6));
    painter.drawPath(path);
    painter.setPen(QPen(theme.text, 1.6));
    painter.drawPath(path);
    const double angle = std::atan2(end.y() - control.y(), end.x() - control.x());
    QPolygonF head{end};
    for (const double turn : {2.7, -2.7}) head << end + QPointF(std::cos(angle + turn), std::sin(angle + turn)) * 8;
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme.text);
    painter.drawPolygon(head);
  }
}

void MeshWidget::paint_axes(QPainter& painter) {
  const Theme& theme = theme_of(this);
  QFont small = font();
  small.setPixelSize(std::max(font().pixelSize() - 2, 9));
  const QFontMetrics metrics(small);
  for (std::size_t p = 0; p < plane_origins_.size(); ++p) {
    const QPoint origin = plane_origins_[p];
    const int w = layout_.cols * cell_w_;
    painter.setFont(small);
    painter.setPen(theme.muted);
    QString across = layout_.col_axis.empty() ? QString() : qstr(layout_.col_axis) + QStringLiteral(" →");
    if (!layout_.plane_titles[p].empty()) across.prepend(qstr(layout_.plane_titles[p]) + QStringLiteral("   "));
    painter.drawText(QRect(origin.x(), origin.y() - 32, std::max(w, 80), 14), Qt::AlignLeft | Qt::AlignVCenter, across);
    if (!layout_.row_axis.empty())
      painter.drawText(QRect(origin.x() - axis_left_ - 4, origin.y() - 18, axis_left_, 14), Qt::AlignRight | Qt::AlignVCenter,
                       metrics.elidedText(qstr(layout_.row_axis) + QStringLiteral(" ↓"), Qt::ElideMiddle, axis_left_));
    if (layout_.col_axis.empty()) continue;
    const int col_step = std::max(1, (metrics.horizontalAdvance(QString::number(layout_.cols)) + 6 + cell_w_ - 1) / cell_w_);
    for (int c = 0; c < layout_.cols; c += col_step)
      painter.drawText(QRect(origin.x() + c * cell_w_ - 10, origin.y() - 17, cell_w_ + 20, 14), Qt::AlignCenter, QString::number(c));
    const int row_step = std::max(1, (metrics.height() + cell_h_ - 1) / cell_h_);
    for (int r = 0; !layout_.row_axis.empty() && r < layout_.rows; r += row_step)
      painter.drawText(QRect(origin.x() - axis_left_ - 4, origin.y() + r * cell_h_ - 6, axis_left_, cell_h_ + 12),
                       Qt::AlignRight | Qt::AlignVCenter, QString::number(r));
  }
  painter.setFont(font());
}

void MeshWidget::paint_processes(QPainter& painter) {
  const Theme& theme = theme_of(this);
  if (trace_->processes.size() < 2 || gap_ < 2) return;
  for (const auto& process : trace_->processes) {
    const bool chosen = selection_.state().process == process.index;
    QColor fill = process.ended_badly() ? theme.error_back : theme.raised;
    painter.setPen(QPen(chosen ? theme.accent : theme.line, chosen ? 2 : 1));
    painter.setBrush(fill);
    for (const auto& box : boxes_of(layout_, process.devices))
      painter.drawRoundedRect(QRectF(outline_box(box, gap_ / 2 - 1)).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4);
  }
}

void MeshWidget::paint_places(QPainter& painter) {
  const Theme& theme = theme_of(this);
  const auto chosen = selection_.devices();
  // All labels or none: one size in which the longest fits.
  int highest = 0;
  for (const auto& place : layout_.places) highest = std::max(highest, place.device);
  QFont used = font();
  used.setBold(cell_h_ > 20);
  used.setPixelSize(std::clamp(cell_h_ - gap_ - 2, 1, font().pixelSize()));
  while (used.pixelSize() > 1 && QFontMetrics(used).horizontalAdvance(QString::number(highest)) > cell_w_ - gap_ - 1)
    used.setPixelSize(used.pixelSize() - 1);
  const bool labelled = used.pixelSize() >= kLabelPxMin;
  painter.setFont(used);
  for (const auto& place : layout_.places) {
    const QRect box = place_box(place);
    const bool lit = chosen.empty() || std::binary_search(chosen.begin(), chosen.end(), place.device);
    const QColor colour = lit ? theme.device(*trace_, place.device) : blend(theme.device(*trace_, place.device), theme.base, 0.25);
    painter.setPen(Qt::NoPen);
    painter.setBrush(colour);
    if (gap_ >= 4)
      painter.drawRoundedRect(box, 3, 3);
    else
      painter.fillRect(box, colour);
    if (place.device == selection_.state().device) {
      painter.setPen(QPen(theme.text, 2));
      painter.setBrush(Qt::NoBrush);
      painter.drawRoundedRect(QRectF(box).adjusted(-1, -1, 1, 1), 3, 3);
    }
    if (!labelled) continue;
    painter.setPen(lit ? ink_on(colour) : theme.muted);
    painter.drawText(box, Qt::AlignCenter, QString::number(place.device));
  }
  painter.setFont(font());
  if (!labelled) paint_process_names(painter);
}

void MeshWidget::paint_process_names(QPainter& painter) {
  const Theme& theme = theme_of(this);
  const QFontMetrics metrics(font());
  for (const auto& process : trace_->processes) {
    const auto boxes = boxes_of(layout_, process.devices);
    if (boxes.size() != 1) continue;
    const QRect box = outline_box(boxes[0], 0);
    const QString name = QStringLiteral("proc %1").arg(process.index);
    const QRect plate(box.center().x() - metrics.horizontalAdvance(name) / 2 - 5, box.center().y() - metrics.height() / 2 - 1,
                      metrics.horizontalAdvance(name) + 10, metrics.height() + 2);
    if (plate.height() > box.height() || plate.width() > box.width()) continue;
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme.base);
    painter.drawRoundedRect(plate, 3, 3);
    painter.setPen(process.ended_badly() ? theme.error : theme.text);
    painter.drawText(plate, Qt::AlignCenter, name);
  }
}

void MeshWidget::paint_groups(QPainter& painter) {
  const int collective = selection_.state().collective;
  if (collective < 0) return;
  const Collective& call = trace_->collectives[std::size_t(collective)];
  const Theme& theme = theme_of(this);
  painter.setBrush(Qt::NoBrush);
  for (std::size_t g = 0; g < call.type->groups->lists.size(); ++g) {
    // Colour and dashes both tell groups apart; one group alone needs neither.
    QPen pen(call.type->groups->lists.size() == 1 ? theme.text : theme.group(int(g)), 2.2);
    if (call.type->groups->lists.size() > 1 && g % 2 == 1) pen.setDashPattern({4, 2});
    painter.setPen(pen);
    for (const auto& box : boxes_of(layout_, call.type->groups->lists[g]))
      painter.drawRoundedRect(QRectF(outline_box(box, std::max(gap_ / 2 - 2, 1)).adjusted(0, 0, -1, -1)), 5, 5);
  }
}

const MeshPlace* MeshWidget::place_at(QPoint position) const {
  for (const auto& place : layout_.places)
    if (place_box(place).contains(position)) return &place;
  return nullptr;
}

QString MeshWidget::tooltip_at(QPoint position) const {
  const MeshPlace* place = place_at(position);
  return place ? place_text(*place) : QString();
}

QString MeshWidget::place_text(const MeshPlace& place) const {
  const Device* device = trace_->device(place.device);
  if (!device) return {};
  QStringList coordinates;
  for (std::size_t a = 0; a < place.coordinates.size() && mesh_ >= 0; ++a)
    coordinates << QStringLiteral("%1=%2").arg(html(trace_->meshes[std::size_t(mesh_)].axes[a].name)).arg(place.coordinates[a]);
  QString text = QStringLiteral("<b>%1</b><br>process %2").arg(html(device->name)).arg(device->process);
  if (!coordinates.isEmpty()) text += QStringLiteral("<br>") + coordinates.join(QStringLiteral(", "));
  const int collective = selection_.state().collective;
  if (collective >= 0) {
    const int group = trace_->collectives[std::size_t(collective)].type->groups->group_of(place.device);
    if (group >= 0) text += QStringLiteral("<br>group %1 of the selected collective").arg(group);
  }
  return text;
}

const MeshPlace* MeshWidget::place_of(int plane, int item) const {
  for (const auto& place : layout_.places)
    if (place.plane == plane && item-- == 0) return &place;
  return nullptr;
}

QString MeshWidget::access_group_name(int group) const {
  const auto& title = layout_.plane_titles[std::size_t(group)];
  return title.empty() ? accessibleName() : qstr(title);
}

int MeshWidget::access_items(int group) const {
  return int(std::count_if(layout_.places.begin(), layout_.places.end(), [&](const MeshPlace& place) { return place.plane == group; }));
}

QString MeshWidget::access_item_name(int group, int item) const {
  const MeshPlace* place = place_of(group, item);
  if (!place) return {};
  QString text = place_text(*place);
  return text.replace(QStringLiteral("<br>"), QStringLiteral(", ")).remove(QStringLiteral("<b>")).remove(QStringLiteral("</b>"));
}

QRect MeshWidget::access_item_box(int group, int item) const {
  const MeshPlace* place = place_of(group, item);
  return place ? place_box(*place) : QRect();
}

void MeshWidget::access_choose(int group, int item) {
  if (const MeshPlace* place = place_of(group, item)) selection_.select_device(place->device, this);
}

void MeshWidget::mousePressEvent(QMouseEvent* event) {
  if (const MeshPlace* place = place_at(event->pos()))
    selection_.select_device(place->device, this);
  else
    selection_.clear(this);
}

bool MeshWidget::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    QToolTip::showText(help->globalPos(), tooltip_at(help->pos()), this);
    return true;
  }
  return QWidget::event(event);
}

}  // namespace shardlab::gui
