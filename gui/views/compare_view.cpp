// A second run beside this one: the first difference, facts side by side, and its timeline with the same window of time.
#include <QFileDialog>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QSplitter>
#include <QTableWidget>
#include <QVBoxLayout>

#include "gui/models/compare.h"
#include "gui/models/format.h"
#include "gui/models/load_job.h"
#include "gui/models/text_twin.h"
#include "gui/views/table_export.h"
#include "gui/views/theme.h"
#include "gui/views/timeline_canvas.h"
#include "gui/views/view_def.h"
#include "gui/views/when_seen.h"

namespace shardlab::gui {
namespace {

QTableWidget* table(QWidget* parent, const QStringList& titles, const QString& name) {
  auto* made = new QTableWidget(parent);
  made->setColumnCount(int(titles.size()));
  made->setHorizontalHeaderLabels(titles);
  made->setAccessibleName(name);
  made->verticalHeader()->hide();
  made->verticalHeader()->setDefaultSectionSize(22);
  made->setShowGrid(false);
  made->setEditTriggers(QAbstractItemView::NoEditTriggers);
  made->setSelectionBehavior(QAbstractItemView::SelectRows);
  made->horizontalHeader()->setHighlightSections(false);
  made->horizontalHeader()->setStretchLastSection(true);
  made->setTabKeyNavigation(false);
  offer_export(*made);
  return made;
}

class CompareView : public QWidget {
 public:
  explicit CompareView(ViewContext& context) : selection_(context.selection), other_(new Selection(this)), job_(new LoadJob(this)) {
    auto* open = new QPushButton(QStringLiteral("Compare with …"), this);
    open->setToolTip(QStringLiteral("Choose a second trace: the same program on another mesh, back end or version"));
    verdict_ = new QLabel(this);
    verdict_->setTextFormat(Qt::PlainText);
    verdict_->setWordWrap(true);
    auto* bar = new QHBoxLayout;
    bar->setContentsMargins(8, 5, 8, 5);
    bar->setSpacing(10);
    bar->addWidget(open);
    bar->addWidget(verdict_, 1);
    facts_ = table(this, {QStringLiteral("What"), QStringLiteral("First"), QStringLiteral("Second")}, QStringLiteral("Facts of both runs"));
    pairs_ = table(this, {QStringLiteral("#"), QStringLiteral("First"), QStringLiteral("Second"), QStringLiteral("Differs in")},
                   QStringLiteral("Collectives of both runs"));
    for (const auto& [column, width] : {std::pair(0, 32), std::pair(1, 142), std::pair(2, 142)}) pairs_->setColumnWidth(column, width);
    canvas_ = new TimelineCanvas(*other_, context.background, this);
    canvas_->setAccessibleName(QStringLiteral("Timeline of the second run"));
    auto* below = new QSplitter(Qt::Horizontal, this);
    below->addWidget(facts_);
    below->addWidget(pairs_);
    for (const auto& [column, width] : {std::pair(0, 84), std::pair(1, 82)}) facts_->setColumnWidth(column, width);
    below->setSizes({300, 560});
    auto* split = new QSplitter(Qt::Vertical, this);
    split->addWidget(canvas_);
    split->addWidget(below);
    split->setSizes({200, 220});
    split_ = split;
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addLayout(bar);
    layout->addWidget(split, 1);
    setFocusProxy(open);
    connect(open, &QPushButton::clicked, this, [this] {
      const QString path =
          QFileDialog::getOpenFileName(this, QStringLiteral("Compare with"), {}, QStringLiteral("Traces (*.db);;All files (*)"));
      if (!path.isEmpty()) compare_with(path);
    });
    connect(job_, &LoadJob::finished, this, [this](const TracePtr& trace) {
      coupling_ = true;  // what comes to be shown does not move what is
      other_->set_trace(trace);
      coupling_ = false;
      selection_.set_other(trace);
      refresh();
    });
    connect(job_, &LoadJob::failed, this, [this](const QString& message) { verdict_->setText(message); });
    connect(&selection_, &Selection::trace_changed, this, [this] { seen_.mark(); });
    connect(&selection_, &Selection::changed, this, [this](const SelectionState& state, QObject* origin) {
      if (origin != this) follow(state);
    });
    // Coupled: the same stretch of time after the start of either run.
    connect(&selection_, &Selection::visible_changed, this, [this](TimeRange window) {
      if (coupling_ || !other_->trace() || !selection_.trace()) return;
      coupling_ = true;
      canvas_->set_window({window.begin + shift(), window.end + shift()}, WindowStep::kFollow);
      coupling_ = false;
    });
    connect(canvas_, &TimelineCanvas::window_changed, this, [this, show_time = context.show_time](TimeRange window) {
      if (coupling_ || !show_time || !other_->trace() || !selection_.trace()) return;
      coupling_ = true;
      show_time({window.begin - shift(), window.end - shift()});
      coupling_ = false;
    });
    connect(pairs_, &QTableWidget::currentCellChanged, this, [this](int row) {
      if (filling_ || compared_ != selection_.trace() || row < 0 || std::size_t(row) >= comparison_.pairs.size()) return;
      const ComparePair& pair = comparison_.pairs[std::size_t(row)];
      if (pair.left >= 0) selection_.select_collective(pair.left, this);
      if (pair.right >= 0) other_->select_collective(pair.right, this);
    });
    refresh();
  }

  void compare_with(const QString& path) {
    verdict_->setText(QStringLiteral("Reading %1 …").arg(path));
    job_->start(path.toStdString());
  }
  bool busy() const { return job_->running(); }

 private:
  Ns shift() const { return other_->trace()->range.begin - selection_.trace()->range.begin; }

  // What is selected, in the second run as well.
  void follow(const SelectionState& state) {
    if (!other_->trace() || compared_ != selection_.trace() || state.collective < 0) return;
    for (std::size_t r = 0; r < comparison_.pairs.size(); ++r) {
      if (comparison_.pairs[r].left != state.collective) continue;
      filling_ = true;
      pairs_->setCurrentCell(int(r), 0);
      pairs_->scrollToItem(pairs_->item(int(r), 0), QAbstractItemView::PositionAtCenter);
      filling_ = false;
      if (comparison_.pairs[r].right >= 0)
        other_->select_collective(comparison_.pairs[r].right, this);
      else
        other_->clear(this);
      return;
    }
  }

  void refresh() {
    compared_ = selection_.trace();
    split_->setVisible(other_->trace() != nullptr);
    if (!selection_.trace() || !other_->trace()) {
      verdict_->setText(QStringLiteral("Open a second trace to see where two runs part: in programs, collectives, bytes or time."));
      return;
    }
    comparison_ = compare_traces(*selection_.trace(), *other_->trace());
    verdict_->setText(comparison_.verdict);
    const Theme& theme = theme_of(this);
    filling_ = true;
    const auto put = [&](QTableWidget* into, int row, int column, const QString& text, bool differs) {
      auto* item = new QTableWidgetItem(text);
      item->setToolTip(text);
      if (differs) item->setBackground(theme.differ_back);
      into->setItem(row, column, item);
    };
    facts_->setRowCount(int(comparison_.facts.size()));
    for (int r = 0; r < facts_->rowCount(); ++r) {
      const CompareFact& fact = comparison_.facts[std::size_t(r)];
      const QString texts[] = {fact.name, fact.left, fact.right};
      for (int c = 0; c < 3; ++c) put(facts_, r, c, texts[c], fact.differs);
    }
    pairs_->setRowCount(int(comparison_.pairs.size()));
    for (int r = 0; r < pairs_->rowCount(); ++r) {
      const ComparePair& pair = comparison_.pairs[std::size_t(r)];
      const QString texts[] = {QString::number(r), pair_name(*selection_.trace(), pair.left), pair_name(*other_->trace(), pair.right),
                               pair.differences.join(QStringLiteral(", "))};
      for (int c = 0; c < 4; ++c) put(pairs_, r, c, texts[c], !pair.differences.isEmpty());
    }
    if (comparison_.first_divergence >= 0)
      pairs_->scrollToItem(pairs_->item(comparison_.first_divergence, 0), QAbstractItemView::PositionAtCenter);
    filling_ = false;
    follow(selection_.state());
  }

  Selection& selection_;
  Selection* other_;
  LoadJob* job_;
  Comparison comparison_;
  QLabel* verdict_;
  QTableWidget *facts_, *pairs_;
  TimelineCanvas* canvas_;
  QSplitter* split_;
  TracePtr compared_;  // whose comparison is shown
  bool coupling_ = false, filling_ = false;
  WhenSeen seen_{this, [this] { refresh(); }};
};

QWidget* make_compare(ViewContext& context) { return new CompareView(context); }
QString text(const Selection& selection) {
  return selection.other() ? compare_text(*selection.trace(), *selection.other(), compare_traces(*selection.trace(), *selection.other()))
                           : QStringLiteral("open a second trace to compare with\n");
}

}  // namespace

bool compare_with(QWidget* compare_view, const QString& path) {
  auto* view = dynamic_cast<CompareView*>(compare_view);
  if (view) view->compare_with(path);
  return view;
}
bool compare_busy(const QWidget* compare_view) {
  const auto* view = dynamic_cast<const CompareView*>(compare_view);
  return view && view->busy();
}

const ViewDef kCompareView{
    .id = "compare",
    .title = "Compare",
    .key = "Ctrl+Shift+C",
    .doc = "A second run beside this one: the first difference, and its timeline in the same window of time",
    .area = ViewArea::kBottomRight,
    .make = make_compare,
    .text = text,
    .in_report = false,
};

}  // namespace shardlab::gui
