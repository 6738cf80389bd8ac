// What the length of the visible window, or of a range of time, hangs on: the chain of steps across devices, and its share by op.
#include <QHeaderView>
#include <QLabel>
#include <QSplitter>
#include <QTableView>
#include <QTimer>
#include <QVBoxLayout>

#include <algorithm>

#include "gui/models/background.h"
#include "gui/models/critical_path.h"
#include "gui/models/format.h"
#include "gui/views/path_strip.h"
#include "gui/views/table_export.h"
#include "gui/views/view_def.h"
#include "gui/views/when_seen.h"

namespace shardlab::gui {
namespace {

constexpr int kFollowMs = 80;
constexpr std::size_t kAtOnceMax = 20'000;  // events that are walked over without leaving the window's thread

// A range that was chosen, else what the timeline shows.
TimeRange window_of(const Selection& selection) {
  const TimeRange whole = selection.trace()->range;
  const TimeRange window = selection.state().range.empty() ? selection.visible() : selection.state().range;
  if (window.empty()) return whole;
  return {std::max(window.begin, whole.begin), std::min(window.end, whole.end)};
}

class CriticalPathView : public QWidget {
 public:
  explicit CriticalPathView(ViewContext& context)
      : selection_(context.selection),
        background_(context.background),
        path_(std::make_shared<CriticalPath>()),
        model_(new PathModel(this)) {
    summary_ = new QLabel(this);
    summary_->setContentsMargins(10, 6, 10, 6);
    summary_->setWordWrap(true);
    summary_->setTextFormat(Qt::PlainText);
    strip_ = new PathStrip(this);
    strip_->on_choose = [this](std::size_t step) { choose(step); };
    table_ = new QTableView(this);
    table_->setModel(model_);
    table_->setAccessibleName(QStringLiteral("The critical path by op"));
    table_->setSelectionBehavior(QAbstractItemView::SelectRows);
    table_->setSelectionMode(QAbstractItemView::SingleSelection);
    table_->setShowGrid(false);
    table_->setWordWrap(false);
    table_->setTabKeyNavigation(false);
    table_->setTextElideMode(Qt::ElideMiddle);
    table_->horizontalHeader()->setHighlightSections(false);
    table_->horizontalHeader()->setStretchLastSection(true);
    table_->verticalHeader()->hide();
    table_->verticalHeader()->setDefaultSectionSize(22);
    const int widths[] = {160, 130, 116, 74, 66, 52, 60};
    for (int c = 0; c < PathModel::kColumnCount; ++c) table_->setColumnWidth(c, widths[c]);
    offer_export(*table_);
    auto* split = new QSplitter(Qt::Vertical, this);
    split->addWidget(strip_);
    split->addWidget(table_);
    split->setSizes({220, 180});
    split->setChildrenCollapsible(false);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(summary_);
    layout->addWidget(split, 1);
    setFocusProxy(strip_);
    timer_.setSingleShot(true);
    timer_.setInterval(kFollowMs);
    connect(&timer_, &QTimer::timeout, this, [this] {
      if (selection_.trace() && window_of(selection_) != window_) seen_.mark();
    });
    connect(&selection_, &Selection::trace_changed, this, [this] {
      background_.cancel(this);
      seen_.mark();
    });
    connect(&selection_, &Selection::visible_changed, this, [this] { follow(); });
    connect(&selection_, &Selection::changed, this, [this] { follow(); });
    connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& at) {
      if (!filling_ && at.isValid()) choose(model_->at(at.row()).longest);
    });
  }
  ~CriticalPathView() override { background_.cancel(this); }

 private:
  void follow() {
    if (selection_.trace() && window_of(selection_) != window_ && !timer_.isActive()) timer_.start();
  }

  // What is shown stays until the new is found.
  void find() {
    const TracePtr trace = selection_.trace();
    if (!trace || trace->preview) return show_path(nullptr, {});
    window_ = window_of(selection_);
    background_.run(
        this, trace->event_count() < kAtOnceMax,
        [trace, window = window_](const std::stop_token& stop) { return find_critical_path(*trace, window, stop); },
        [this, trace](CriticalPath path) { show_path(trace, std::move(path)); });
  }

  void show_path(TracePtr trace, CriticalPath path) {
    filling_ = true;
    trace_ = std::move(trace);
    path_ = std::make_shared<const CriticalPath>(std::move(path));
    strip_->show_path(trace_, trace_ ? path_ : nullptr);
    model_->set(trace_, path_->shares, path_->range.length());
    if (model_->rowCount() > 0) table_->selectRow(0);  // or the first to get the focus would be taken for chosen
    const bool chosen = trace_ && !selection_.state().range.empty();
    summary_->setText(trace_ ? (chosen ? QStringLiteral("Of the chosen range, ") : QStringLiteral("Of the visible window, ")) +
                                   path_summary(*path_)
                             : QString());
    filling_ = false;
  }

  void choose(std::size_t index) {
    const PathStep& step = path_->steps[index];
    strip_->mark(std::int64_t(index));
    if (trace_ != selection_.trace()) return;  // of a trace that grew since
    const Lane& lane = trace_->lanes[std::size_t(step.lane)];
    const TimeRange range = selection_.state().range;
    if (step.event >= 0)
      selection_.select_event(step.lane, step.event, this);
    else if (lane.device >= 0)
      selection_.select_device(lane.device, this);
    else
      selection_.select_process(lane.process, this);
    if (!range.empty()) selection_.select_range(range, this);  // or the path would be of another stretch of time now
  }

  Selection& selection_;
  Background& background_;
  TracePtr trace_;  // whose path is shown
  std::shared_ptr<const CriticalPath> path_;
  TimeRange window_;
  PathModel* model_;
  QLabel* summary_;
  PathStrip* strip_;
  QTableView* table_;
  QTimer timer_;
  bool filling_ = false;
  WhenSeen seen_{this, [this] { find(); }};
};

QWidget* make_critical_path_view(ViewContext& context) { return new CriticalPathView(context); }

QString text(const Selection& selection) {
  return path_text(*selection.trace(), find_critical_path(*selection.trace(), window_of(selection)));
}

}  // namespace

const ViewDef kCriticalPathView{
    .id = "path",
    .title = "Critical Path",
    .key = "Ctrl+Shift+G",
    .doc = "The chain of steps across devices that the length of a range, or of the visible window, hangs on, and its share by op",
    .area = ViewArea::kBottomRight,
    .make = make_critical_path_view,
    .text = text,
};

}  // namespace shardlab::gui
