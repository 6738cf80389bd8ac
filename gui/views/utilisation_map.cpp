#include "gui/views/utilisation_map.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>
#include <bit>
#include <cmath>

#include "gui/models/format.h"
#include "gui/views/theme.h"

namespace shardlab::gui {
namespace {
constexpr int kMargin = 12, kRulerHeight = 20, kScaleHeight = 24, kRowMax = 26;
constexpr const char* kUses[] = {"computing", "communicating", "waiting for peers"};
}  // namespace

UtilisationMap::UtilisationMap(QWidget* parent) : QWidget(parent) {
  setAccessibleName(QStringLiteral("Devices by time"));
  setFocusPolicy(Qt::StrongFocus);
  setMinimumSize(200, 120);
}

void UtilisationMap::show_overview(TracePtr trace, std::shared_ptr<const Overview> overview, TimeUse use) {
  trace_ = std::move(trace);
  overview_ = std::move(overview);
  use_ = use;
  const QFontMetrics metrics(font());
  names_width_ = 30;
  for (int row = 0; row < access_groups(); ++row) names_width_ = std::max(names_width_, metrics.horizontalAdvance(name_of(row)));
  if (row_ >= access_groups()) row_ = bin_ = -1;
  setAccessibleDescription(overview_ ? split_text(overview_->total, overview_->device_time()) : QString());
  cells_ = {};
  update();
}

void UtilisationMap::choose_device(int device) {
  int row = -1;
  for (int r = 0; r < access_groups() && device >= 0; ++r)
    if (overview_->rows[std::size_t(r)].device == device) row = r;
  if (row == row_) return;
  row_ = row;
  bin_ = -1;
  update();
}

QRect UtilisationMap::plot() const {
  const int left = std::min(names_width_, int(width() * 0.25)) + 18;
  return {left, kRulerHeight, std::max(width() - left - kMargin, 1), std::max(height() - kRulerHeight - kScaleHeight - 6, 1)};
}

double UtilisationMap::row_height() const { return std::min(double(plot().height()) / std::max(access_groups(), 1), double(kRowMax)); }

QRectF UtilisationMap::box(int row, int first_bin, int last_bin) const {
  const QRect area = plot();
  const auto x = [&](int bin) { return area.left() + double(area.width()) * bin / Overview::kBins; };
  return {x(first_bin), area.top() + row * row_height(), x(last_bin) - x(first_bin), row_height()};
}

std::pair<int, int> UtilisationMap::at(QPoint position) const {
  const QRect area = plot();
  const int row = int(std::floor((position.y() - area.top()) / row_height()));
  const int bin = int(std::floor(double(position.x() - area.left()) / area.width() * Overview::kBins));
  if (row < 0 || row >= access_groups() || bin < 0 || bin >= Overview::kBins) return {-1, -1};
  return {row, bin};
}

// The colours go through an image: many devices are more cells than there are pixels, and a row of pixels has the mean of its devices.
void UtilisationMap::build() {
  const Theme& theme = theme_of(this);
  cells_dark_ = theme.dark;
  const double height = row_height() * access_groups();
  const QSize size(plot().width(), std::max(int(std::lround(height)), 1));
  const double ratio = devicePixelRatioF();
  cells_ = QImage((QSizeF(size) * ratio).toSize(), QImage::Format_RGB32);
  cells_.setDevicePixelRatio(ratio);
  cells_.fill(theme.base);
  QPainter painter(&cells_);
  const int bands = std::min(access_groups(), size.height());
  const double band_height = height / bands;
  const int gap = band_height >= 6 ? 1 : 0;
  for (int band = 0; band < bands; ++band) {
    const auto first = std::size_t(band) * overview_->rows.size() / std::size_t(bands);
    const auto last = std::max(std::size_t(band + 1) * overview_->rows.size() / std::size_t(bands), first + 1);
    const int top = int(std::lround(band * band_height)), bottom = int(std::lround((band + 1) * band_height)) - gap;
    for (int bin = 0; bin < Overview::kBins; ++bin) {
      const int left = int(std::lround(double(size.width()) * bin / Overview::kBins));
      const int right = int(std::lround(double(size.width()) * (bin + 1) / Overview::kBins));
      painter.fillRect(QRect(left, top, std::max(right - left, 1), std::max(bottom - top, 1)),
                       theme.heat(std::sqrt(overview_->share(first, last, bin, bin + 1, use_))));
    }
  }
}

void UtilisationMap::paintEvent(QPaintEvent*) {
  const Theme& theme = theme_of(this);
  QPainter painter(this);
  painter.fillRect(rect(), theme.base);
  if (!overview_ || overview_->rows.empty()) {
    painter.setPen(theme.muted);
    painter.drawText(rect().adjusted(16, 0, -16, 0), Qt::AlignCenter | Qt::TextWordWrap,
                     overview_ ? QStringLiteral("No device has recorded anything.") : QString());
    return;
  }
  if (cells_.isNull() || cells_dark_ != theme.dark) build();
  painter.drawImage(plot().topLeft(), cells_);
  paint_labels(painter);
  paint_scale(painter);
  if (row_ >= 0) {
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(theme.text, bin_ >= 0 ? 2 : 1));
    const QRectF frame = bin_ >= 0 ? box(row_, bin_, bin_ + 1) : box(row_, 0, Overview::kBins);
    painter.drawRect(QRectF(frame.topLeft(), QSizeF(std::max(frame.width(), 3.0), std::max(frame.height() - 1, 2.0))));
  }
  if (hasFocus()) {
    painter.setPen(theme.accent);
    painter.drawRect(rect().adjusted(0, 0, -1, -1));
  }
}

void UtilisationMap::paint_labels(QPainter& painter) const {
  const Theme& theme = theme_of(this);
  const QFontMetrics metrics(font());
  const QRect area = plot();
  // Every 2^k-th device's name, so that none touches the next; events that overlap lie in several rows of a device, which is named once.
  const auto step = std::bit_ceil(unsigned(std::max(1, int(std::ceil((metrics.height() + 1) / row_height())))));
  double free = 0;
  unsigned devices = 0;
  for (int row = 0; row < access_groups(); ++row) {
    if (row > 0 && name_of(row) == name_of(row - 1)) continue;
    const double top = box(row, 0, 1).top();
    if (devices++ % step != 0 || top < free) continue;
    painter.setPen(row == row_ ? theme.text : theme.muted);
    painter.drawText(QRectF(2, top, area.left() - 10, row_height() * step), Qt::AlignRight | (step == 1 ? Qt::AlignVCenter : Qt::AlignTop),
                     metrics.elidedText(name_of(row), Qt::ElideMiddle, area.left() - 12));
    free = top + row_height() * step;
  }
  painter.setPen(theme.muted);
  constexpr int kTicks = 5;
  for (int tick = 0; tick < kTicks; ++tick) {
    const int bin = Overview::kBins * tick / (kTicks - 1);
    const QString text = tick == 0 ? QStringLiteral("0") : duration_text(overview_->range.length() * tick / (kTicks - 1));
    const double x = area.left() + double(area.width()) * bin / Overview::kBins;
    const double width = metrics.horizontalAdvance(text);
    if (tick % 2 == 1 && area.width() < 420) continue;
    painter.drawLine(QPointF(x, area.top() - 4), QPointF(x, area.top() - 1));
    painter.drawText(QRectF(std::clamp(x - width / 2, 0.0, std::max(this->width() - width - 2, 0.0)), 0, width + 2, kRulerHeight - 4),
                     Qt::AlignLeft | Qt::AlignVCenter, text);
  }
}

// The colours go by the square root, so that what is small is seen beside what is large.
void UtilisationMap::paint_scale(QPainter& painter) const {
  constexpr int kWidth = 90, kHeight = 9;
  const Theme& theme = theme_of(this);
  const QFontMetrics metrics(font());
  const QString zero = QStringLiteral("0 %"), full = QStringLiteral("100 % of the time %1").arg(QString::fromUtf8(kUses[int(use_)]));
  const double left = plot().left(), top = height() - kScaleHeight, begin = left + metrics.horizontalAdvance(zero) + 6;
  for (int x = 0; x < kWidth; ++x) painter.fillRect(QRectF(begin + x, top + 6, 1, kHeight), theme.heat(std::sqrt((x + 0.5) / kWidth)));
  painter.setPen(theme.muted);
  painter.drawText(QRectF(left, top, 40, 20), Qt::AlignLeft | Qt::AlignVCenter, zero);
  painter.drawText(QRectF(begin + kWidth + 6, top, std::max(width() - begin - kWidth - 6, 0.0), 20), Qt::AlignLeft | Qt::AlignVCenter,
                   full);
}

void UtilisationMap::resizeEvent(QResizeEvent*) { cells_ = {}; }

void UtilisationMap::mousePressEvent(QMouseEvent* event) {
  const auto [row, bin] = at(event->pos());
  if (event->button() == Qt::LeftButton && row >= 0) choose(row, bin);
}

void UtilisationMap::mouseDoubleClickEvent(QMouseEvent* event) {
  if (at(event->pos()).first >= 0) open();
}

void UtilisationMap::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) return open();
  const QPoint step = event->key() == Qt::Key_Left    ? QPoint(-1, 0)
                      : event->key() == Qt::Key_Right ? QPoint(1, 0)
                      : event->key() == Qt::Key_Up    ? QPoint(0, -1)
                      : event->key() == Qt::Key_Down  ? QPoint(0, 1)
                                                      : QPoint();
  if (step.isNull() || access_groups() == 0) return QWidget::keyPressEvent(event);
  choose(std::clamp(row_ + step.y(), 0, access_groups() - 1), std::clamp(bin_ + step.x(), 0, Overview::kBins - 1));
}

bool UtilisationMap::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const auto [row, bin] = at(help->pos());
    QToolTip::showText(help->globalPos(), row < 0 ? QString() : cell_text(row, bin, bin + 1), this);
    return true;
  }
  return QWidget::event(event);
}

QString UtilisationMap::name_of(int row) const { return qstr(trace_->lanes[std::size_t(overview_->rows[std::size_t(row)].lane)].name); }

QString UtilisationMap::cell_text(int row, int first_bin, int last_bin) const {
  const Overview::Row& each = overview_->rows[std::size_t(row)];
  TimeSplit split;
  for (int bin = first_bin; bin < last_bin; ++bin) split.add(each.bins[std::size_t(bin)]);
  const Ns begin = overview_->bin_range(first_bin).begin, end = overview_->bin_range(last_bin - 1).end;
  return QStringLiteral("%1, %2 to %3\n%4")
      .arg(name_of(row), duration_text(begin - overview_->range.begin), duration_text(end - overview_->range.begin),
           split_text(split, end - begin));
}

void UtilisationMap::choose(int row, int bin) {
  row_ = row;
  bin_ = bin;
  setAccessibleDescription(cell_text(row, bin, bin + 1));
  update();
  if (on_choose) on_choose(row, overview_->bin_range(bin));
}

void UtilisationMap::open() const {
  if (row_ >= 0 && bin_ >= 0 && on_open) on_open(overview_->bin_range(bin_));
}

QString UtilisationMap::access_group_name(int group) const {
  return name_of(group) + QStringLiteral(": ") + split_text(overview_->rows[std::size_t(group)].total, overview_->range.length());
}

std::pair<int, int> UtilisationMap::bins_of(int access_item) const {
  const int bins = Overview::kBins / access_items(0);
  return {access_item * bins, (access_item + 1) * bins};
}

QString UtilisationMap::access_item_name(int group, int item) const {
  const auto [first, last] = bins_of(item);
  return cell_text(group, first, last).replace(QLatin1Char('\n'), QStringLiteral(": "));
}

QRect UtilisationMap::access_item_box(int group, int item) const {
  const auto [first, last] = bins_of(item);
  const QRect cell = box(group, first, last).toRect();
  return {cell.topLeft(), QSize(std::max(cell.width(), 1), std::max(cell.height(), 1))};
}

void UtilisationMap::access_choose(int group, int item) { choose(group, bins_of(item).first); }

}  // namespace shardlab::gui
