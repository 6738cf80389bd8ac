// Who sends how much to whom: a heat map of devices, processes or a mesh axis for the visible window, and sums by kind.
#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QLabel>
#include <QMouseEvent>
#include <QPainter>
#include <QSplitter>
#include <QTableWidget>
#include <QTimer>
#include <QToolTip>
#include <QVBoxLayout>

#include <cmath>
#include <set>

#include "gui/models/background.h"
#include "gui/models/comm_matrix.h"
#include "gui/models/format.h"
#include "gui/models/text_twin.h"
#include "gui/views/theme.h"
#include "gui/views/view_def.h"

namespace shardlab::gui {
namespace {

constexpr int kMargin = 12, kLeastTextPx = 46, kFollowMs = 60;

class HeatMap : public QWidget {
 public:
  explicit HeatMap(QWidget* parent) : QWidget(parent) {
    setAccessibleName(QStringLiteral("Communication matrix"));
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setMinimumSize(220, 180);
  }
  std::function<void(int row, int column)> on_choose;

  void show_matrix(CommMatrix matrix, MatrixMetric metric) {
    matrix_ = std::move(matrix);
    metric_ = metric;
    most_ = matrix_.most(metric);
    if (row_ >= int(matrix_.labels.size()) || column_ >= int(matrix_.labels.size())) row_ = column_ = -1;
    describe();
    update();
  }
  const CommMatrix& matrix() const { return matrix_; }

 protected:
  void paintEvent(QPaintEvent*) override {
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
      painter.drawText(QRectF(2, origin.y() + i * size, origin.x() - 8, size * step), Qt::AlignRight | Qt::AlignTop,
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
    for (const auto& [at, cell] : matrix_.cells) {
      const int r = int(at >> 32), c = int(at & 0xffffffff);
      const double share = most_ > 0 ? std::sqrt(cell.value(metric_) / most_) : 0;
      const QColor colour =
          blend(theme.dark ? QColor(0x8fd0ff) : QColor(0x08306b), theme.dark ? QColor(0x1d2733) : QColor(0xe3eef8), share);
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
    if (row_ >= 0 && column_ >= 0) {
      painter.setPen(QPen(theme.text, 2));
      painter.drawRect(QRectF(origin.x() + column_ * size, origin.y() + row_ * size, std::max(size, 3.0), std::max(size, 3.0)));
    }
    if (hasFocus()) {
      painter.setPen(theme.accent);
      painter.drawRect(rect().adjusted(0, 0, -1, -1));
    }
  }

  void mousePressEvent(QMouseEvent* event) override {
    const auto [r, c] = at(event->pos());
    if (r >= 0) choose(r, c);
  }
  void keyPressEvent(QKeyEvent* event) override {
    const int n = int(matrix_.labels.size());
    const QPoint step = event->key() == Qt::Key_Left    ? QPoint(-1, 0)
                        : event->key() == Qt::Key_Right ? QPoint(1, 0)
                        : event->key() == Qt::Key_Up    ? QPoint(0, -1)
                        : event->key() == Qt::Key_Down  ? QPoint(0, 1)
                                                        : QPoint();
    if (step.isNull() || n == 0) return QWidget::keyPressEvent(event);
    choose(std::clamp(row_ + step.y(), 0, n - 1), std::clamp(column_ + step.x(), 0, n - 1));
  }
  bool event(QEvent* event) override {
    if (event->type() == QEvent::ToolTip) {
      const auto* help = static_cast<QHelpEvent*>(event);
      const auto [r, c] = at(help->pos());
      QToolTip::showText(help->globalPos(), r < 0 ? QString() : cell_text(r, c), this);
      return true;
    }
    return QWidget::event(event);
  }

 private:
  QPointF origin() const {
    const QFontMetrics metrics(font());
    int widest = metrics.horizontalAdvance(QStringLiteral("from ↓"));
    for (const auto& label : matrix_.labels) widest = std::max(widest, metrics.horizontalAdvance(qstr(label)));
    return {std::min(double(widest), width() * 0.3) + 14, 38};
  }
  double cell_size() const {
    const QPointF o = origin();
    return std::clamp(
        std::min((width() - o.x() - kMargin), (height() - o.y() - kMargin)) / double(std::max<std::size_t>(matrix_.labels.size(), 1)), 0.05,
        88.0);
  }
  std::pair<int, int> at(QPoint position) const {
    const QPointF p = (QPointF(position) - origin()) / cell_size();
    const int n = int(matrix_.labels.size());
    if (p.x() < 0 || p.y() < 0 || p.x() >= n || p.y() >= n) return {-1, -1};
    return {int(p.y()), int(p.x())};
  }
  QString cell_text(int r, int c) const {
    const MatrixCell* cell = matrix_.cell(std::size_t(r), std::size_t(c));
    QString text = qstr(matrix_.labels[std::size_t(r)]) + QStringLiteral(" → ") + qstr(matrix_.labels[std::size_t(c)]);
    if (!cell) return text + QStringLiteral("\nnothing");
    for (const auto& def : kMatrixMetrics)
      text += QStringLiteral("\n%1: %2").arg(QString::fromUtf8(def.title), matrix_value_text(*cell, def.metric));
    return text;
  }
  void choose(int r, int c) {
    row_ = r;
    column_ = c;
    describe();
    update();
    if (on_choose) on_choose(r, c);
  }
  void describe() {
    setAccessibleDescription(row_ >= 0 && column_ >= 0
                                 ? cell_text(row_, column_)
                                 : QStringLiteral("%1 by %1, %2 with traffic").arg(matrix_.labels.size()).arg(matrix_.cells.size()));
  }

  CommMatrix matrix_;
  MatrixMetric metric_ = MatrixMetric::kBytes;
  double most_ = 0;
  int row_ = -1, column_ = -1;
};

class MatrixView : public QWidget {
 public:
  explicit MatrixView(ViewContext& context) : selection_(context.selection), background_(context.background) {
    by_ = combo(QStringLiteral("Rows and columns"),
                QStringLiteral("What the rows and columns are: devices, processes, or the places along a mesh axis"));
    metric_ = combo(QStringLiteral("What is shown"), QString());
    for (const auto& def : kMatrixMetrics) {
      metric_->addItem(QString::fromUtf8(def.title), int(def.metric));
      metric_->setItemData(metric_->count() - 1, QString::fromUtf8(def.doc), Qt::ToolTipRole);
    }
    kind_ = combo(QStringLiteral("Kind"), QStringLiteral("Collectives of one kind, or all"));
    follow_ = new QCheckBox(QStringLiteral("visible window"), this);
    follow_->setChecked(true);
    follow_->setToolTip(QStringLiteral("Count what meets the timeline's window; off: the whole trace"));
    total_ = new QLabel(this);
    total_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    total_->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    auto* bar = new QHBoxLayout;
    bar->setContentsMargins(8, 5, 8, 5);
    bar->setSpacing(6);
    for (QWidget* each :
         {static_cast<QWidget*>(by_), static_cast<QWidget*>(metric_), static_cast<QWidget*>(kind_), static_cast<QWidget*>(follow_)})
      bar->addWidget(each);
    bar->addWidget(total_, 1);
    map_ = new HeatMap(this);
    map_->on_choose = [this](int row, int) { choose(row); };
    kinds_ = new QTableWidget(this);
    kinds_->setColumnCount(7);
    kinds_->setHorizontalHeaderLabels({QStringLiteral("Kind"), QStringLiteral("Axes"), QStringLiteral("Calls"), QStringLiteral("Wire"),
                                       QStringLiteral("Time"), QStringLiteral("algbw"), QStringLiteral("busbw")});
    kinds_->setAccessibleName(QStringLiteral("Sums by kind and axes"));
    kinds_->verticalHeader()->hide();
    kinds_->verticalHeader()->setDefaultSectionSize(22);
    kinds_->setShowGrid(false);
    kinds_->setEditTriggers(QAbstractItemView::NoEditTriggers);
    kinds_->setSelectionBehavior(QAbstractItemView::SelectRows);
    kinds_->horizontalHeader()->setHighlightSections(false);
    kinds_->setTabKeyNavigation(false);
    const int widths[] = {118, 86, 48, 72, 76, 82, 82};
    for (int c = 0; c < 7; ++c) kinds_->setColumnWidth(c, widths[c]);
    auto* split = new QSplitter(Qt::Horizontal, this);
    split->addWidget(map_);
    split->addWidget(kinds_);
    split->setSizes({460, 460});
    split->setChildrenCollapsible(false);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addLayout(bar);
    layout->addWidget(split, 1);
    setFocusProxy(map_);
    timer_.setSingleShot(true);
    timer_.setInterval(kFollowMs);
    connect(&timer_, &QTimer::timeout, this, [this] { count(); });
    for (QComboBox* each : {by_, metric_, kind_}) connect(each, &QComboBox::activated, this, [this] { count(); });
    connect(follow_, &QCheckBox::toggled, this, [this] { count(); });
    connect(&selection_, &Selection::trace_changed, this, [this] { set_trace(); });
    connect(&selection_, &Selection::visible_changed, this, [this] {
      if (follow_->isChecked() && isVisible() && !timer_.isActive()) timer_.start();
    });
  }
  ~MatrixView() override { background_.cancel(this); }

 protected:
  void showEvent(QShowEvent* event) override {
    QWidget::showEvent(event);
    count();
  }

 private:
  QComboBox* combo(const QString& name, const QString& tip) {
    auto* box = new QComboBox(this);
    box->setAccessibleName(name);
    box->setSizeAdjustPolicy(QComboBox::AdjustToContents);  // what it offers is known with the trace
    box->setToolTip(tip.isEmpty() ? name : tip);
    return box;
  }

  void set_trace() {
    by_->clear();
    kind_->clear();
    kind_->addItem(QStringLiteral("all kinds"), QString());
    const TracePtr& trace = selection_.trace();
    if (trace) {
      by_->addItem(QStringLiteral("devices"), QPoint(int(MatrixBy::kDevice), 0));
      by_->addItem(QStringLiteral("processes"), QPoint(int(MatrixBy::kProcess), 0));
      std::set<std::string> kinds;
      for (const auto& call : trace->collectives) kinds.insert(call.type->kind);
      for (const auto& kind : kinds) kind_->addItem(qstr(kind), qstr(kind));
      for (std::size_t m = 0; m < trace->meshes.size(); ++m)
        for (std::size_t a = 0; a < trace->meshes[m].axes.size(); ++a)
          if (trace->meshes[m].axes[a].size > 1)
            by_->addItem(QStringLiteral("axis %1 of %2").arg(qstr(trace->meshes[m].axes[a].name), qstr(trace->meshes[m].text())),
                         QPoint(int(MatrixBy::kAxis), int(m << 8 | a)));
      if (trace->devices.size() > 64) by_->setCurrentIndex(1);
    }
    count();
  }

  void count() {
    const TracePtr trace = selection_.trace();
    if (!trace || trace->preview || !isVisible()) return;
    const QPoint by = by_->currentData().toPoint();
    MatrixOptions options{
        .by = MatrixBy(by.x()), .mesh = by.y() >> 8, .axis = by.y() & 255, .kind = kind_->currentData().toString().toStdString()};
    if (follow_->isChecked()) options.window = selection_.visible();
    background_.run(
        this,
        [trace, options](std::stop_token stop) {
          MatrixOptions with_stop = options;
          with_stop.stop = std::move(stop);
          return make_comm_matrix(*trace, with_stop);
        },
        [this](CommMatrix matrix) { show(std::move(matrix)); });
  }

  using QWidget::show;
  void show(CommMatrix matrix) {
    const auto metric = MatrixMetric(metric_->currentData().toInt());
    kinds_->setRowCount(int(matrix.kinds.size()));
    for (int r = 0; r < int(matrix.kinds.size()); ++r) {
      const KindSum& sum = matrix.kinds[std::size_t(r)];
      const QString texts[] = {
          qstr(sum.kind),
          qstr(sum.axes),
          QString::number(sum.cell.count) + (sum.unfinished > 0 ? QStringLiteral(" +%1 open").arg(sum.unfinished) : QString()),
          bytes_text(std::int64_t(sum.cell.bytes)),
          duration_text(sum.cell.time),
          matrix_value_text(sum.cell, MatrixMetric::kAlgbw),
          matrix_value_text(sum.cell, MatrixMetric::kBusbw)};
      for (int c = 0; c < 7; ++c) {
        auto* item = new QTableWidgetItem(texts[c]);
        item->setTextAlignment((c >= 2 ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
        item->setToolTip(texts[c]);
        kinds_->setItem(r, c, item);
      }
    }
    QString total = QStringLiteral("%1 in %2")
                        .arg(bytes_text(std::int64_t(matrix.total.bytes)), count_text(matrix.total.count, "collective", "collectives"));
    if (matrix.skipped > 0) total += QStringLiteral(", %1 never ended").arg(matrix.skipped);
    total_->setText(total);
    total_->setToolTip(total);
    map_->show_matrix(std::move(matrix), metric);
  }

  void choose(int row) {
    const auto by = MatrixBy(by_->currentData().toPoint().x());
    const TracePtr& trace = selection_.trace();
    if (by == MatrixBy::kDevice) selection_.select_device(trace->devices[std::size_t(row)].ordinal, this);
    if (by == MatrixBy::kProcess) selection_.select_process(trace->processes[std::size_t(row)].index, this);
  }

  Selection& selection_;
  Background& background_;
  QComboBox *by_, *metric_, *kind_;
  QCheckBox* follow_;
  QLabel* total_;
  HeatMap* map_;
  QTableWidget* kinds_;
  QTimer timer_;
};

QWidget* make_matrix(ViewContext& context) { return new MatrixView(context); }
QString text(const Selection& selection) {
  const TraceData& trace = *selection.trace();
  return matrix_text(
      make_comm_matrix(trace, {.by = trace.devices.size() > 64 ? MatrixBy::kProcess : MatrixBy::kDevice, .window = selection.visible()}),
      MatrixMetric::kBytes);
}

}  // namespace

const ViewDef kMatrixView{
    .id = "matrix",
    .title = "Traffic",
    .key = "Ctrl+9",
    .doc = "Bytes, calls, time and bandwidth from device to device, process to process or along an axis, in the visible window",
    .area = ViewArea::kBottomRight,
    .make = make_matrix,
    .text = text,
};

}  // namespace shardlab::gui
