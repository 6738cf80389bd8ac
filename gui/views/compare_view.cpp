// A second run beside this one: the first difference, facts side by side, and its timeline with the same window of time.
#include <QEvent>
#include <QFileDialog>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSplitter>
#include <QStyledItemDelegate>
#include <QTableView>
#include <QTableWidget>
#include <QVBoxLayout>

#include "gui/models/background.h"
#include "gui/models/compare.h"
#include "gui/models/format.h"
#include "gui/models/load_job.h"
#include "gui/models/run_shift.h"
#include "gui/models/text_twin.h"
#include "gui/views/table_export.h"
#include "gui/views/theme.h"
#include "gui/views/timeline_canvas.h"
#include "gui/views/view_def.h"
#include "gui/views/when_seen.h"

namespace shardlab::gui {
namespace {

constexpr std::size_t kAtOnceMax = 1000;  // collectives that are compared without leaving the window's thread

// Rows with a difference stand out.
class PairDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
    QStyledItemDelegate::initStyleOption(option, index);
    if (index.data(ComparePairsModel::kDiffersRole).toBool()) option->backgroundBrush = theme_of(option->widget).differ_back;
  }
};

// So do arrays that are others; those that differ by rounding are told in words.
class ValuesDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
    QStyledItemDelegate::initStyleOption(option, index);
    if (index.data(CompareValuesModel::kLikenessRole).toInt() == int(Likeness::kDifferent))
      option->backgroundBrush = theme_of(option->widget).differ_back;
  }
};

template <typename Table>
Table* table(QWidget* parent, const QString& name) {
  auto* made = new Table(parent);
  made->setAccessibleName(name);
  made->verticalHeader()->hide();
  made->verticalHeader()->setDefaultSectionSize(22);
  made->setShowGrid(false);
  made->setEditTriggers(QAbstractItemView::NoEditTriggers);
  made->setSelectionBehavior(QAbstractItemView::SelectRows);
  made->horizontalHeader()->setHighlightSections(false);
  made->horizontalHeader()->setStretchLastSection(true);
  made->setTabKeyNavigation(false);
  return made;
}

class CompareView : public QWidget {
 public:
  explicit CompareView(ViewContext& context)
      : selection_(context.selection), background_(context.background), other_(new Selection(this)), job_(new LoadJob(this)) {
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
    bar->addWidget(make_shift_bar());
    facts_ = table<QTableWidget>(this, QStringLiteral("Facts of both runs"));
    facts_->setColumnCount(3);
    facts_->setHorizontalHeaderLabels({QStringLiteral("What"), QStringLiteral("First"), QStringLiteral("Second")});
    pairs_ = table<QTableView>(this, QStringLiteral("Collectives of both runs"));
    pairs_->setModel(model_ = new ComparePairsModel(this));
    pairs_->setItemDelegate(new PairDelegate(pairs_));
    pairs_->setWordWrap(false);
    pairs_->verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    values_ = table<QTableView>(this, QStringLiteral("Values of both runs"));
    values_->setModel(values_model_ = new CompareValuesModel(this));
    values_->setItemDelegate(new ValuesDelegate(values_));
    values_->setWordWrap(false);
    values_->verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    values_->hide();
    for (QAbstractItemView* each : std::initializer_list<QAbstractItemView*>{facts_, pairs_, values_}) offer_export(*each);
    for (const auto& [column, width] : {std::pair(0, 96), std::pair(1, 104), std::pair(2, 104), std::pair(3, 190), std::pair(4, 150)})
      values_->setColumnWidth(column, width);
    for (const auto& [column, width] : {std::pair(0, 36), std::pair(1, 148), std::pair(2, 148)}) pairs_->setColumnWidth(column, width);
    canvas_ = new TimelineCanvas(*other_, context.background, this);
    canvas_->setAccessibleName(QStringLiteral("Timeline of the second run"));
    auto* below = new QSplitter(Qt::Horizontal, this);
    below->addWidget(facts_);
    below->addWidget(pairs_);
    below->addWidget(values_);
    for (const auto& [column, width] : {std::pair(0, 86), std::pair(1, 72), std::pair(2, 64)}) facts_->setColumnWidth(column, width);
    below->setSizes({300, 560, 560});
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
      shift_ = {};
      selection_.set_other(trace);
      refresh();
    });
    connect(job_, &LoadJob::failed, this, [this](const QString& message) { verdict_->setText(message); });
    connect(&selection_, &Selection::trace_changed, this, [this] { seen_.mark(); });
    connect(&selection_, &Selection::changed, this, [this](const SelectionState& state, QObject* origin) {
      if (origin != this) follow(state);
    });
    // Coupled: the same stretch of time after the moment at which the runs are aligned.
    connect(&selection_, &Selection::visible_changed, this, [this](TimeRange window) {
      if (coupling_ || !other_->trace() || !selection_.trace()) return;
      coupling_ = true;
      make_room();
      canvas_->set_window({window.begin + shift(), window.end + shift()}, WindowStep::kFollow);
      coupling_ = false;
    });
    connect(canvas_, &TimelineCanvas::window_changed, this, [this, show_time = context.show_time](TimeRange window) {
      if (coupling_ || !show_time || !other_->trace() || !selection_.trace()) return;
      coupling_ = true;
      show_time({window.begin - shift(), window.end - shift()});
      coupling_ = false;
    });
    connect(pairs_->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& at) {
      if (filling_ || !current() || !at.isValid()) return;
      const ComparePair& pair = model_->compared()->comparison.pairs[std::size_t(at.row())];
      if (pair.left >= 0) selection_.select_collective(pair.left, this);
      if (pair.right >= 0) other_->select_collective(pair.right, this);
    });
    connect(values_->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& at) {
      if (filling_ || !current() || !at.isValid()) return;
      const Comparison& comparison = model_->compared()->comparison;
      const traces::ValuePair& pair = comparison.values.pairs[std::size_t(at.row())];
      if (pair.left >= 0) selection_.select_array(int(comparison.left_values[std::size_t(pair.left)].array), this);
      if (pair.right >= 0) other_->select_array(int(comparison.right_values[std::size_t(pair.right)].array), this);
    });
    refresh();
  }
  ~CompareView() override { background_.cancel(this); }

  void compare_with(const QString& path) {
    verdict_->setText(QStringLiteral("Reading %1 …").arg(path));
    job_->start(path.toStdString());
  }
  bool busy() const { return job_->running(); }

  void align(Alignment alignment) {
    const TracePtr first = selection_.trace(), second = other_->trace();
    if (!first || !second) return;
    if (alignment == Alignment::kTyped) {
      shift_edit_->setFocus(Qt::ShortcutFocusReason);
      return shift_edit_->selectAll();
    }
    if (alignment == Alignment::kStart) return set_shift({});
    if (const auto shift = aligned_here(*first, selection_.state(), *second, other_->state()))
      set_shift(*shift);
    else
      shift_text_->setText(QStringLiteral("choose an event, a collective or a range in both runs"));
  }

 protected:
  void changeEvent(QEvent* event) override {
    if (event->type() == QEvent::PaletteChange && model_ && model_->compared()) show_facts();
    QWidget::changeEvent(event);
  }

 private:
  Ns shift() const { return shift_.between(*selection_.trace(), *other_->trace()); }

  QWidget* make_shift_bar() {
    shift_bar_ = new QWidget(this);
    auto* here = new QPushButton(QStringLiteral("Align here"), shift_bar_);
    here->setObjectName(QStringLiteral("align-here"));
    here->setToolTip(QStringLiteral("Lay what is chosen in both runs at one place: an event, a collective, the begin of a range"));
    shift_edit_ = new QLineEdit(shift_bar_);
    shift_edit_->setAccessibleName(QStringLiteral("By how much later the second run is shown"));
    shift_edit_->setToolTip(QStringLiteral("By how much later the second run is shown, with a unit: 3.2 ms, -40 us; 0: aligned at start"));
    shift_edit_->setPlaceholderText(QStringLiteral("3.2 ms"));
    shift_edit_->setFixedWidth(76);
    shift_text_ = new QLabel(shift_bar_);
    auto* layout = new QHBoxLayout(shift_bar_);
    layout->setContentsMargins(0, 0, 0, 0);
    for (QWidget* each : std::initializer_list<QWidget*>{shift_text_, here, shift_edit_}) layout->addWidget(each);
    connect(here, &QPushButton::clicked, this, [this] { align(Alignment::kHere); });
    connect(shift_edit_, &QLineEdit::returnPressed, this, [this] {
      if (const auto offset = parse_shift(shift_edit_->text()))
        set_shift({RunShift::How::kTyped, *offset});
      else
        shift_text_->setText(QStringLiteral("a shift is a number with a unit, as 3.2 ms"));
    });
    shift_bar_->hide();
    return shift_bar_;
  }

  // Where the first run begins earlier or ends later there is nothing of the second one: shown empty, or the two would part.
  void make_room() {
    const TimeRange first = selection_.trace()->range;
    canvas_->set_room({first.begin + shift(), first.end + shift()});
  }

  // The first run stays where it is.
  void set_shift(const RunShift& shift) {
    shift_ = shift;
    shift_text_->setText(shift_.text());
    if (selection_.visible().empty()) return;
    coupling_ = true;
    make_room();
    const TimeRange window = selection_.visible();
    canvas_->set_window({window.begin + this->shift(), window.end + this->shift()}, WindowStep::kFollow);
    coupling_ = false;
  }

  // What is shown is of what the window and the second timeline hold now.
  bool current() const {
    return model_->compared() && model_->compared()->left == selection_.trace() && model_->compared()->right == other_->trace();
  }

  // What is selected, in the second run as well.
  void follow(const SelectionState& state) {
    if (!current() || state.collective < 0) return;
    const Comparison& comparison = model_->compared()->comparison;
    const int row = comparison.pair_of_left[std::size_t(state.collective)];
    if (row < 0) return;
    filling_ = true;
    pairs_->setCurrentIndex(model_->index(row, 0));
    pairs_->scrollTo(model_->index(row, 0), QAbstractItemView::PositionAtCenter);
    filling_ = false;
    if (const int right = comparison.pairs[std::size_t(row)].right; right >= 0)
      other_->select_collective(right, this);
    else
      other_->clear(this);
  }

  // What is shown stays until the new is found.
  void refresh() {
    const TracePtr left = selection_.trace(), right = other_->trace();
    split_->setVisible(right != nullptr);
    shift_bar_->setVisible(left && right);
    shift_text_->setText(shift_.text());
    if (!left || !right) {
      background_.cancel(this);
      verdict_->setText(QStringLiteral("Open a second trace to see where two runs part: in programs, collectives, bytes, values or time."));
      return;
    }
    if (current() || left->preview) return;
    background_.run(
        this, left->collectives.size() + right->collectives.size() < kAtOnceMax,
        [left, right](const std::stop_token& stop) {
          return std::make_shared<const Compared>(Compared{left, right, compare_traces(*left, *right, stop)});
        },
        [this](std::shared_ptr<const Compared> compared) { show_compared(std::move(compared)); });
  }

  void show_compared(std::shared_ptr<const Compared> compared) {
    filling_ = true;
    values_model_->set(compared);
    model_->set(std::move(compared));
    const Comparison& comparison = model_->compared()->comparison;
    values_->setVisible(!comparison.values.pairs.empty());
    const int first_values =
        comparison.values.first_difference >= 0 ? comparison.values.first_difference : comparison.values.first_rounding;
    if (first_values >= 0) values_->scrollTo(values_model_->index(first_values, 0), QAbstractItemView::PositionAtCenter);
    verdict_->setText(comparison.verdict);
    show_facts();
    if (comparison.first_divergence >= 0)
      pairs_->scrollTo(model_->index(comparison.first_divergence, 0), QAbstractItemView::PositionAtCenter);
    filling_ = false;
    follow(selection_.state());
  }

  void show_facts() {
    const auto& facts = model_->compared()->comparison.facts;
    facts_->setRowCount(int(facts.size()));
    for (int r = 0; r < facts_->rowCount(); ++r) {
      const CompareFact& fact = facts[std::size_t(r)];
      const QString texts[] = {fact.name, fact.left, fact.right};
      for (int c = 0; c < 3; ++c) {
        auto* item = new QTableWidgetItem(texts[c]);
        item->setToolTip(texts[c]);
        if (fact.differs) item->setBackground(theme_of(this).differ_back);
        facts_->setItem(r, c, item);
      }
    }
  }

  Selection& selection_;
  Background& background_;
  Selection* other_;
  LoadJob* job_;
  ComparePairsModel* model_ = nullptr;
  CompareValuesModel* values_model_ = nullptr;
  RunShift shift_;
  QWidget* shift_bar_ = nullptr;
  QLabel *verdict_, *shift_text_ = nullptr;
  QLineEdit* shift_edit_ = nullptr;
  QTableWidget* facts_;
  QTableView *pairs_, *values_;
  TimelineCanvas* canvas_;
  QSplitter* split_;
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
void align_runs(QWidget* compare_view, Alignment alignment) {
  if (auto* view = dynamic_cast<CompareView*>(compare_view)) view->align(alignment);
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
