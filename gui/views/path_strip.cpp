#include "gui/views/path_strip.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>
#include <cmath>

#include "gui/models/format.h"
#include "gui/views/theme.h"

namespace shardlab::gui {
namespace {
constexpr int kMargin = 10, kRulerHeight = 20, kRowMax = 30;
constexpr std::size_t kChangesMax = 400;  // more lines would be a grey wash
constexpr double kLabelPxMin = 30;
}  // namespace

PathStrip::PathStrip(QWidget* parent) : QWidget(parent) {
  setAccessibleName(QStringLiteral("Critical path over time"));
  setFocusPolicy(Qt::StrongFocus);
  setMinimumSize(200, 100);
}

void PathStrip::show_path(TracePtr trace, std::shared_ptr<const CriticalPath> path) {
  trace_ = std::move(trace);
  path_ = std::move(path);
  step_ = -1;
  lanes_ = path_ ? path_->lanes() : std::vector<int>{};
  row_of_lane_.assign(trace_ ? trace_->lanes.size() : 0, -1);
  steps_.assign(lanes_.size(), {});
  const QFontMetrics metrics(font());
  names_width_ = 30;
  for (std::size_t row = 0; row < lanes_.size(); ++row) {
    row_of_lane_[std::size_t(lanes_[row])] = int(row);
    names_width_ = std::max(names_width_, metrics.horizontalAdvance(access_group_name(int(row))));
  }
  for (std::size_t s = 0; path_ && s < path_->steps.size(); ++s)
    steps_[std::size_t(row_of_lane_[std::size_t(path_->steps[s].lane)])].push_back(s);
  setAccessibleDescription(path_ ? path_summary(*path_) : QString());
  update();
}

void PathStrip::mark(std::int64_t step) {
  step_ = step;
  update();
}

QRect PathStrip::plot() const {
  const int left = std::min(names_width_, int(width() * 0.25)) + 14;
  return {left, kRulerHeight, std::max(width() - left - kMargin, 1), std::max(height() - kRulerHeight - kMargin, 1)};
}

double PathStrip::row_height() const {
  return std::min(double(plot().height()) / double(std::max<std::size_t>(lanes_.size(), 1)), double(kRowMax));
}

QRectF PathStrip::box_of(const PathStep& step) const {
  const QRect area = plot();
  const double scale = double(area.width()) / double(std::max<Ns>(path_->range.length(), 1));
  const double gap = row_height() >= 8 ? 3 : 0;
  return {area.left() + double(step.begin - path_->range.begin) * scale,
          area.top() + row_of_lane_[std::size_t(step.lane)] * row_height() + gap, double(step.end - step.begin) * scale,
          std::max(row_height() - 2 * gap, 1.0)};
}

QBrush PathStrip::brush_of(const PathStep& step) const {
  const Theme& theme = theme_of(this);
  const LaneEvents& events = *trace_->lanes[std::size_t(step.lane)].events;
  switch (step.use) {
    case PathUse::kCompute:
      return theme.compute;
    case PathUse::kTransfer:
      return theme.collective(trace_->collectives[std::size_t(events.collective[std::size_t(step.event)])].type->kind);
    case PathUse::kWait:
      return QBrush(theme.muted, Qt::BDiagPattern);
    case PathUse::kHost:
      return theme.host;
    default:
      return theme.faint;
  }
}

void PathStrip::paintEvent(QPaintEvent*) {
  const Theme& theme = theme_of(this);
  QPainter painter(this);
  painter.fillRect(rect(), theme.base);
  if (!path_ || path_->steps.empty()) {
    painter.setPen(theme.muted);
    if (path_) painter.drawText(rect().adjusted(16, 0, -16, 0), Qt::AlignCenter | Qt::TextWordWrap, path_summary(*path_));
    return;
  }
  paint_rows(painter);
  paint_changes(painter);
  paint_steps(painter);
  if (step_ >= 0) {
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(theme.text, 2));
    const QRectF box = box_of(path_->steps[std::size_t(step_)]);
    painter.drawRect(QRectF(box.topLeft(), QSizeF(std::max(box.width(), 3.0), box.height())));
  }
  if (hasFocus()) {
    painter.setPen(theme.accent);
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(rect().adjusted(0, 0, -1, -1));
  }
}

void PathStrip::paint_rows(QPainter& painter) const {
  const Theme& theme = theme_of(this);
  const QFontMetrics metrics(font());
  const QRect area = plot();
  // Every k-th name, so that none touches the next.
  const int step = std::max(1, int(std::ceil((metrics.height() + 1) / row_height())));
  for (int row = 0; row < access_groups(); ++row) {
    const QRectF band(area.left(), area.top() + row * row_height(), area.width(), row_height());
    if (row % 2 == 1) painter.fillRect(band, theme.lane_alternate);
    if (row % step != 0) continue;
    painter.setPen(theme.muted);
    painter.drawText(QRectF(2, band.top(), area.left() - 8, row_height() * step),
                     Qt::AlignRight | (step == 1 ? Qt::AlignVCenter : Qt::AlignTop),
                     metrics.elidedText(access_group_name(row), Qt::ElideMiddle, area.left() - 10));
  }
  painter.setPen(theme.muted);
  const QString first = duration_text(path_->range.begin - trace_->range.begin);
  const QString last = duration_text(path_->range.end - trace_->range.begin);
  painter.drawText(QRect(area.left(), 0, area.width(), kRulerHeight - 4), Qt::AlignLeft | Qt::AlignVCenter, first);
  painter.drawText(QRect(area.left(), 0, area.width(), kRulerHeight - 4), Qt::AlignRight | Qt::AlignVCenter, last);
}

void PathStrip::paint_changes(QPainter& painter) const {
  if (path_->changes > kChangesMax) return;
  const Theme& theme = theme_of(this);
  painter.setPen(theme.text);
  for (std::size_t s = 1; s < path_->steps.size(); ++s) {
    if (path_->steps[s].lane == path_->steps[s - 1].lane) continue;
    const QRectF from = box_of(path_->steps[s - 1]), to = box_of(path_->steps[s]);
    painter.drawLine(QPointF(to.left(), from.center().y()), QPointF(to.left(), to.center().y()));
  }
}

// Steps narrower than a pixel are painted once a pixel and row.
void PathStrip::paint_steps(QPainter& painter) const {
  const Theme& theme = theme_of(this);
  const QFontMetrics metrics(font());
  std::vector<double> painted(lanes_.size(), -1);
  for (std::size_t s = 0; s < path_->steps.size(); ++s) {
    const PathStep& step = path_->steps[s];
    QRectF box = box_of(step);
    double& until = painted[std::size_t(row_of_lane_[std::size_t(step.lane)])];
    if (box.right() < until + 0.5) continue;
    box.setWidth(std::max(box.width(), 1.0));
    until = box.right();
    const QBrush brush = brush_of(step);
    painter.fillRect(box, brush);
    if (step.use == PathUse::kWait && box.width() > 2) {
      painter.setPen(theme.muted);
      painter.setBrush(Qt::NoBrush);
      painter.drawRect(box);
    }
    if (box.width() < kLabelPxMin || box.height() < metrics.height() || step.use == PathUse::kWait) continue;
    painter.setPen(ink_on(brush.color()));
    painter.drawText(box.adjusted(4, 0, -2, 0), Qt::AlignLeft | Qt::AlignVCenter,
                     metrics.elidedText(path_->what(*trace_, s), Qt::ElideRight, int(box.width()) - 6));
  }
}

std::int64_t PathStrip::step_at(QPoint position) const {
  const QRect area = plot();
  const int row = int(std::floor((position.y() - area.top()) / row_height()));
  if (row < 0 || row >= access_groups()) return -1;
  const auto time = path_->range.begin + Ns(double(position.x() - area.left()) / area.width() * double(path_->range.length()));
  const Ns slack = 3 * path_->range.length() / area.width();
  std::int64_t best = -1;
  Ns nearest = slack + 1;
  for (const std::size_t s : steps_[std::size_t(row)]) {
    const PathStep& step = path_->steps[s];
    const Ns distance = time < step.begin ? step.begin - time : time > step.end ? time - step.end : 0;
    if (distance >= nearest) continue;
    nearest = distance;
    best = std::int64_t(s);
  }
  return best;
}

void PathStrip::mousePressEvent(QMouseEvent* event) {
  if (event->button() == Qt::LeftButton && path_) choose(step_at(event->pos()));
}

void PathStrip::keyPressEvent(QKeyEvent* event) {
  const int step = event->key() == Qt::Key_Left ? -1 : event->key() == Qt::Key_Right ? 1 : 0;
  if (step == 0 || !path_ || path_->steps.empty()) return QWidget::keyPressEvent(event);
  choose(std::clamp<std::int64_t>(step_ + step, 0, std::ssize(path_->steps) - 1));
}

bool PathStrip::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip && path_) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const std::int64_t step = step_at(help->pos());
    QToolTip::showText(help->globalPos(), step < 0 ? QString() : step_text(std::size_t(step)), this);
    return true;
  }
  return QWidget::event(event);
}

QString PathStrip::step_text(std::size_t index) const {
  const PathStep& step = path_->steps[index];
  return QStringLiteral("%1, %2 of %3 from %4")
      .arg(path_->what(*trace_, index), path_use_name(step.use), duration_text(step.end - step.begin),
           duration_text(step.begin - trace_->range.begin));
}

QString PathStrip::access_group_name(int group) const {
  const Lane& lane = trace_->lanes[std::size_t(lanes_[std::size_t(group)])];
  return lane.device >= 0 ? qstr(lane.name) : QStringLiteral("%1 of process %2").arg(qstr(lane.name)).arg(lane.process);
}

QRect PathStrip::access_item_box(int group, int item) const {
  const QRectF box = box_of(path_->steps[steps_[std::size_t(group)][std::size_t(item)]]);
  return {box.topLeft().toPoint(), QSize(std::max(int(box.width()), 1), std::max(int(box.height()), 1))};
}

void PathStrip::choose(std::int64_t step) {
  if (step < 0) return;
  mark(step);
  setAccessibleDescription(step_text(std::size_t(step)));
  if (on_choose) on_choose(std::size_t(step));
}

}  // namespace shardlab::gui
