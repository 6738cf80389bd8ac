// Who sends how much to whom: a heat map of devices, processes or a mesh axis for the visible window, and sums by kind.
#include <QCheckBox>
#include <QComboBox>
#include <QHeaderView>
#include <QLabel>
#include <QSpinBox>
#include <QTableWidget>

#include <algorithm>
#include <cmath>

#include "gui/models/comm_matrix.h"
#include "gui/models/format.h"
#include "gui/models/text_twin.h"
#include "gui/views/heat_map.h"
#include "gui/views/table_export.h"
#include "gui/views/theme.h"
#include "gui/views/view_def.h"
#include "gui/views/view_frame.h"

namespace shardlab::gui {
namespace {

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
    op_ = combo(QStringLiteral("Op"), QStringLiteral("Collectives that one op of the program needs, or all"));
    group_ = combo(QStringLiteral("Group"), QStringLiteral("What one group of devices sends among itself, or all groups"));
    step_ = new QSpinBox(this);
    step_->setAccessibleName(QStringLiteral("Step"));
    step_->setSpecialValueText(QStringLiteral("all steps"));
    step_->setPrefix(QStringLiteral("step "));
    step_->setMaximum(0);
    step_->setToolTip(QStringLiteral("One run of each program: its first is step 1. At 0 all of them"));
    follow_ = new QCheckBox(QStringLiteral("visible window"), this);
    follow_->setChecked(true);
    follow_->setToolTip(QStringLiteral("Count what meets the timeline's window; off: the whole trace"));
    total_ = new QLabel(this);
    total_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    total_->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
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
    const int widths[] = {98, 60, 46, 68, 72, 76, 76};
    for (int c = 0; c < 7; ++c) kinds_->setColumnWidth(c, widths[c]);
    auto* rest = new QLabel(this);
    lay_out(this, {.bars = {{by_, metric_, follow_, total_}, {kind_, op_, group_, step_, rest}},
                   .first = map_,
                   .second = kinds_,
                   .sizes = {400, 480}});
    setFocusProxy(map_);
    connect(&selection_, &Selection::trace_changed, this, [this] { set_trace(); });
    auto* follower = new WindowFollower(
        this, selection_, background_, [this] { count(); }, follow_);
    for (QComboBox* each : {by_, metric_, kind_, op_, group_}) connect(each, &QComboBox::activated, follower, &WindowFollower::mark);
    connect(step_, &QSpinBox::valueChanged, follower, &WindowFollower::mark);
  }

 private:
  QComboBox* combo(const QString& name, const QString& tip) {
    constexpr int kLettersMin = 8;
    auto* box = new QComboBox(this);
    box->setAccessibleName(name);
    // Names of ops and groups may be long; the list that opens has the room for them.
    box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    box->setMinimumContentsLength(kLettersMin);
    box->setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Fixed);
    box->setToolTip(tip.isEmpty() ? name : tip);
    return box;
  }

  // What was chosen stays where there is such a thing: a trace that grows comes anew and anew.
  static void fill(QComboBox* box, const QList<std::pair<QString, QVariant>>& items) {
    const QString before = box->currentText();
    qsizetype letters = 0;
    box->clear();
    for (const auto& [text, data] : items) {
      box->addItem(text, data);
      box->setItemData(box->count() - 1, text, Qt::ToolTipRole);
      letters = std::max(letters, text.size());
    }
    box->setMinimumContentsLength(int(std::clamp<qsizetype>(letters, 6, 16)));
    if (const int at = box->findText(before); at >= 0) box->setCurrentIndex(at);
  }

  void set_trace() {
    const TracePtr& trace = selection_.trace();
    QList<std::pair<QString, QVariant>> by, kinds{{QStringLiteral("all kinds"), QString()}}, ops{{QStringLiteral("all ops"), QString()}},
        groups{{QStringLiteral("all groups"), QVariant()}};
    if (trace) {
      by = {{QStringLiteral("devices"), QPoint(int(MatrixBy::kDevice), 0)},
            {QStringLiteral("processes"), QPoint(int(MatrixBy::kProcess), 0)}};
      for (std::size_t m = 0; m < trace->meshes.size(); ++m)
        for (std::size_t a = 0; a < trace->meshes[m].axes.size(); ++a)
          if (trace->meshes[m].axes[a].size > 1)
            by.emplace_back(QStringLiteral("axis %1 of %2").arg(qstr(trace->meshes[m].axes[a].name), qstr(trace->meshes[m].text())),
                            QPoint(int(MatrixBy::kAxis), int(m << 8 | a)));
      MatrixChoices choices = matrix_choices(*trace);
      for (const auto& kind : choices.kinds) kinds.emplace_back(qstr(kind), qstr(kind));
      for (const auto& op : choices.ops) ops.emplace_back(qstr(op), qstr(op));
      for (std::size_t g = 0; g < choices.groups.size(); ++g)
        groups.emplace_back(QStringLiteral("devices ") + set_text(choices.groups[g], 60), int(g));
      group_lists_ = std::move(choices.groups);
    }
    const bool first = by_->count() == 0;
    fill(by_, by);
    fill(kind_, kinds);
    fill(op_, ops);
    fill(group_, groups);
    // What there is but one of is nothing to choose by.
    for (QComboBox* each : {kind_, op_, group_}) each->setVisible(each->count() > 2);
    if (trace && first && trace->devices.size() > 64) by_->setCurrentIndex(1);
  }

  void count() {
    const TracePtr trace = selection_.trace();
    if (!trace || trace->preview) return;
    const QPoint by = by_->currentData().toPoint();
    MatrixOptions options{.by = MatrixBy(by.x()),
                          .mesh = by.y() >> 8,
                          .axis = by.y() & 255,
                          .kind = kind_->currentData().toString().toStdString(),
                          .op = op_->currentData().toString().toStdString(),
                          .step = step_->value()};
    if (group_->currentData().isValid()) options.group = group_lists_[std::size_t(group_->currentData().toInt())];
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
    {
      const QSignalBlocker blocked(step_);  // a trace that shrinks has fewer: what is counted then is asked for anew
      step_->setMaximum(std::max(matrix.steps, step_->value()));
      step_->setVisible(matrix.steps > 1);
    }
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
  QComboBox *by_, *metric_, *kind_, *op_, *group_;
  QSpinBox* step_;
  std::vector<std::vector<int>> group_lists_;
  QCheckBox* follow_;
  QLabel* total_;
  HeatMap* map_;
  QTableWidget* kinds_;
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
