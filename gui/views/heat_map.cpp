#include "gui/views/heat_map.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QStandardItemModel>
#include <QToolTip>

#include <algorithm>
#include <cmath>

#include "gui/models/format.h"
#include "gui/models/text_twin.h"
#include "gui/views/theme.h"

namespace shardlab::gui {
namespace {

constexpr int kMargin = 12, kLeastTextPx = 46, kScaleHeight = 17;

}  // namespace

HeatMap::HeatMap(QWidget* parent) : QWidget(parent) {
  setAccessibleName(QStringLiteral("Communication matrix"));
  setFocusPolicy(Qt::StrongFocus);
  setMouseTracking(true);
  setMinimumSize(220, 180);
}

void HeatMap::show_matrix(CommMatrix matrix, MatrixMetric metric) {
  matrix_ = std::move(matrix);
  metric_ = metric;
  most_ = matrix_.most(metric);
  receivers_.assign(matrix_.labels.size(), {});
  for (const auto& [at, cell] : matrix_.cells) receivers_[std::size_t(at >> 32)].push_back(int(at & 0xffffffff));
  for (auto& columns : receivers_) std::sort(columns.begin(), columns.end());
  if (row_ >= int(matrix_.labels.size()) || column_ >= int(matrix_.labels.size())) row_ = column_ = -1;
  describe();
  update();
}

void HeatMap::paintEvent(QPaintEvent*) {
  const Theme& theme = theme_of(this);
  QPainter painter(this);
  painter.fillRect(rect(), theme.base);
  const int n = int(matrix_.labels.size());
  if (n == 0 || matrix_.cells.empty()) {
    painter.setPen(theme.muted);
    painter.drawText(
        rect().adjusted(16, 0, -16, 0), Qt::AlignCenter | Qt::TextWordWrap,
        n == 0
            ? QStringLiteral("No devices were recorded.")
            : QStringLiteral("Nothing was sent in this window of time.\nWiden the timeline's window, or switch off \"visible window\"."));
    return;
  }
  const double size = cell_size();
  const QPointF origin = this->origin();
  const QFontMetrics metrics(font());
  painter.setPen(theme.muted);
  painter.drawText(QRectF(origin.x(), 2, n * size, 16), Qt::AlignLeft | Qt::AlignVCenter, QStringLiteral("to →"));
  painter.drawText(QRectF(2, origin.y() - 18, origin.x() - 8, 16), Qt::AlignRight | Qt::AlignVCenter, QStringLiteral("from ↓"));
  // Every k-th label, so that none touches the next.
  const int step = std::max(1, int(std::ceil((metrics.height() + 1) / size)));
  for (int i = 0; i < n; i += step) {
    painter.setPen(i == row_ ? theme.text : theme.muted);
    painter.drawText(QRectF(2, origin.y() + i * size, origin.x() - 8, size * step),
                     Qt::AlignRight | (step == 1 ? Qt::AlignVCenter : Qt::AlignTop),
                     metrics.elidedText(qstr(matrix_.labels[std::size_t(i)]), Qt::ElideMiddle, int(origin.x()) - 12));
    const QString brief = qstr(matrix_.labels[std::size_t(i)]).section(QLatin1Char(' '), -1);
    const int column_step = std::max(1, int(std::ceil((metrics.horizontalAdvance(QStringLiteral("0000")) + 4) / size)));
    if (i % column_step == 0) {
      painter.setPen(i == column_ ? theme.text : theme.muted);
      painter.drawText(QRectF(origin.x() + i * size, origin.y() - 18, std::max(size, 30.0), 16),
                       size > 24 ? Qt::AlignHCenter | Qt::AlignVCenter : Qt::AlignLeft | Qt::AlignVCenter, brief);
    }
  }
  painter.fillRect(QRectF(origin, QSizeF(n * size, n * size)), theme.lane_alternate);
  const MatrixCell* largest = nullptr;
  for (const auto& [at, cell] : matrix_.cells) {
    const int r = int(at >> 32), c = int(at & 0xffffffff);
    const double share = most_ > 0 ? std::sqrt(cell.value(metric_) / most_) : 0;
    if (!largest || cell.value(metric_) > largest->value(metric_)) largest = &cell;
    const QColor colour = theme.heat(share);
    const QRectF box(origin.x() + c * size, origin.y() + r * size, size, size);
    painter.fillRect(size > 4 ? box.adjusted(0, 0, -1, -1) : QRectF(box.topLeft(), QSizeF(std::max(size, 1.0), std::max(size, 1.0))),
                     colour);
    if (size < kLeastTextPx) continue;
    const QString text = matrix_value_text(cell, metric_);
    if (metrics.horizontalAdvance(text) > size - 4) continue;
    painter.setPen(ink_on(colour));
    painter.drawText(box, Qt::AlignCenter, text);
  }
  painter.setPen(theme.line);
  painter.drawRect(QRectF(origin, QSizeF(n * size, n * size)));
  paint_scale(painter, QPointF(origin.x(), origin.y() + n * size + 8), matrix_value_text(*largest, metric_));
  if (row_ >= 0 && column_ >= 0) {
    painter.setPen(QPen(theme.text, 2));
    painter.drawRect(QRectF(origin.x() + column_ * size, origin.y() + row_ * size, std::max(size, 3.0), std::max(size, 3.0)));
  }
  if (hasFocus()) {
    painter.setPen(theme.accent);
    painter.drawRect(rect().adjusted(0, 0, -1, -1));
  }
}

void HeatMap::mousePressEvent(QMouseEvent* event) {
  const auto [r, c] = at(event->pos());
  if (r >= 0) choose(r, c);
}

void HeatMap::keyPressEvent(QKeyEvent* event) {
  const int n = int(matrix_.labels.size());
  const QPoint step = event->key() == Qt::Key_Left    ? QPoint(-1, 0)
                      : event->key() == Qt::Key_Right ? QPoint(1, 0)
                      : event->key() == Qt::Key_Up    ? QPoint(0, -1)
                      : event->key() == Qt::Key_Down  ? QPoint(0, 1)
                                                      : QPoint();
  if (step.isNull() || n == 0) return QWidget::keyPressEvent(event);
  choose(std::clamp(row_ + step.y(), 0, n - 1), std::clamp(column_ + step.x(), 0, n - 1));
}

bool HeatMap::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const auto [r, c] = at(help->pos());
    QToolTip::showText(help->globalPos(), r < 0 ? QString() : cell_text(r, c), this);
    return true;
  }
  return QWidget::event(event);
}

// What the colours mean. They go by the square root, so that what is small is seen beside what is large.
void HeatMap::paint_scale(QPainter& painter, QPointF at, const QString& most) const {
  constexpr int kWidth = 90, kHeight = 9;
  const Theme& theme = theme_of(this);
  const QFontMetrics metrics(font());
  const double zero = metrics.horizontalAdvance(QLatin1Char('0')) + 6;
  for (int x = 0; x < kWidth; ++x)
    painter.fillRect(QRectF(at.x() + zero + x, at.y() + 2, 1, kHeight), theme.heat(std::sqrt((x + 0.5) / kWidth)));
  painter.setPen(theme.muted);
  painter.drawText(QRectF(at.x(), at.y() - 2, zero, kScaleHeight), Qt::AlignLeft | Qt::AlignVCenter, QStringLiteral("0"));
  painter.drawText(QRectF(at.x() + zero + kWidth + 6, at.y() - 2, 200, kScaleHeight), Qt::AlignLeft | Qt::AlignVCenter, most);
}

QPointF HeatMap::origin() const {
  const QFontMetrics metrics(font());
  int widest = metrics.horizontalAdvance(QStringLiteral("from ↓"));
  for (const auto& label : matrix_.labels) widest = std::max(widest, metrics.horizontalAdvance(qstr(label)));
  return {std::min(double(widest), width() * 0.3) + 14, 38};
}

double HeatMap::cell_size() const {
  const QPointF o = origin();
  return std::clamp(std::min((width() - o.x() - kMargin), (height() - o.y() - kMargin - kScaleHeight - 8)) /
                        double(std::max<std::size_t>(matrix_.labels.size(), 1)),
                    0.05, 88.0);
}

QRectF HeatMap::cell_box(int row, int column) const {
  const double size = cell_size();
  return {origin().x() + column * size, origin().y() + row * size, size, size};
}

std::pair<int, int> HeatMap::at(QPoint position) const {
  const QPointF p = (QPointF(position) - origin()) / cell_size();
  const int n = int(matrix_.labels.size());
  if (p.x() < 0 || p.y() < 0 || p.x() >= n || p.y() >= n) return {-1, -1};
  return {int(p.y()), int(p.x())};
}

QString HeatMap::cell_text(int r, int c) const {
  const MatrixCell* cell = matrix_.cell(std::size_t(r), std::size_t(c));
  QString text = qstr(matrix_.labels[std::size_t(r)]) + QStringLiteral(" → ") + qstr(matrix_.labels[std::size_t(c)]);
  if (!cell) return text + QStringLiteral("\nnothing");
  for (const auto& def : kMatrixMetrics)
    text += QStringLiteral("\n%1: %2").arg(QString::fromUtf8(def.title), matrix_value_text(*cell, def.metric));
  return text;
}

void HeatMap::choose(int r, int c) {
  row_ = r;
  column_ = c;
  describe();
  update();
  if (on_choose) on_choose(r, c);
}

void HeatMap::describe() {
  setAccessibleDescription(row_ >= 0 && column_ >= 0
                               ? cell_text(row_, column_)
                               : QStringLiteral("%1 by %1, %2 with traffic").arg(matrix_.labels.size()).arg(matrix_.cells.size()));
}

std::unique_ptr<QAbstractItemModel> HeatMap::as_table() const {
  auto table = std::make_unique<QStandardItemModel>();
  QStringList titles{QStringLiteral("From"), QStringLiteral("To")};
  for (const auto& def : kMatrixMetrics) titles << QString::fromUtf8(def.title);
  table->setHorizontalHeaderLabels(titles);
  for (std::size_t row = 0; row < receivers_.size(); ++row)
    for (const int column : receivers_[row]) {
      QList<QStandardItem*> items{new QStandardItem(qstr(matrix_.labels[row])),
                                  new QStandardItem(qstr(matrix_.labels[std::size_t(column)]))};
      const MatrixCell& cell = *matrix_.cell(row, std::size_t(column));
      for (const auto& def : kMatrixMetrics) items << new QStandardItem(matrix_value_text(cell, def.metric));
      table->appendRow(items);
    }
  return table;
}

QString HeatMap::access_group_name(int group) const {
  return QStringLiteral("from %1, to %2").arg(qstr(matrix_.labels[std::size_t(group)]), count_text(access_items(group), "other", "others"));
}

QString HeatMap::access_item_name(int group, int item) const {
  return cell_text(group, receivers_[std::size_t(group)][std::size_t(item)]).replace(QLatin1Char('\n'), QStringLiteral(", "));
}

QRect HeatMap::access_item_box(int group, int item) const {
  const QRectF box = cell_box(group, receivers_[std::size_t(group)][std::size_t(item)]);
  return QRect(box.toRect().topLeft(), QSize(std::max(int(box.width()), 1), std::max(int(box.height()), 1)));
}

}  // namespace shardlab::gui
