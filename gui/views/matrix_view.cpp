// Who sends how much to whom: a heat map of devices, processes or a mesh axis for the visible window, and sums by kind.
#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QSplitter>
#include <QTableWidget>
#include <QTimer>
#include <QVBoxLayout>

#include <cmath>
#include <set>

#include "gui/models/background.h"
#include "gui/models/comm_matrix.h"
#include "gui/models/format.h"
#include "gui/models/text_twin.h"
#include "gui/views/heat_map.h"
#include "gui/views/table_export.h"
#include "gui/views/theme.h"
#include "gui/views/view_def.h"

namespace shardlab::gui {
namespace {

constexpr int kFollowMs = 60;

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
    offer_export(*kinds_);
    offer_export(*map_, [this] { return map_->as_table(); });
    const int widths[] = {98, 56, 42, 62, 66, 70, 70};
    for (int c = 0; c < 7; ++c) kinds_->setColumnWidth(c, widths[c]);
    auto* split = new QSplitter(Qt::Horizontal, this);
    split->addWidget(map_);
    split->addWidget(kinds_);
    split->setSizes({400, 480});
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
        [this, trace, by = options.by](CommMatrix matrix) {
          shown_ = trace;
          shown_by_ = by;
          show(std::move(matrix));
        });
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

  // Of what is shown: what was asked for since may have other rows.
  void choose(int row) {
    const TracePtr& trace = selection_.trace();
    if (!trace || trace != shown_) return;
    if (shown_by_ == MatrixBy::kDevice) selection_.select_device(trace->devices[std::size_t(row)].ordinal, this);
    if (shown_by_ == MatrixBy::kProcess) selection_.select_process(trace->processes[std::size_t(row)].index, this);
  }

  Selection& selection_;
  Background& background_;
  QComboBox *by_, *metric_, *kind_;
  QCheckBox* follow_;
  QLabel* total_;
  HeatMap* map_;
  QTableWidget* kinds_;
  QTimer timer_;
  TracePtr shown_;  // whose matrix is shown
  MatrixBy shown_by_ = MatrixBy::kDevice;
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
    .key = "Ctrl+Shift+M",
    .doc = "Bytes, calls, time and bandwidth from device to device, process to process or along an axis, in the visible window",
    .area = ViewArea::kBottomRight,
    .make = make_matrix,
    .text = text,
};

}  // namespace shardlab::gui
