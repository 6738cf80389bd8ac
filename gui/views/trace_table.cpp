#include "gui/views/trace_table.h"

#include <QHeaderView>
#include <QPainter>
#include <QStyledItemDelegate>

#include "gui/views/table_export.h"
#include "gui/views/theme.h"

namespace shardlab::gui {
namespace {

// Tones rows with errors and warnings, and elides in the middle, where long names differ least.
class ToneDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
    QStyledItemDelegate::initStyleOption(option, index);
    option->textElideMode = Qt::ElideMiddle;
    const Theme& theme = theme_of(option->widget);
    const auto tone = static_cast<RowTone>(index.data(TraceTableModel::kToneRole).toInt());
    if (tone == RowTone::kPlain) return;
    option->backgroundBrush = tone == RowTone::kError ? theme.error_back : theme.warning_back;
    if (index.column() == 0 && option->text.isEmpty()) option->text = QStringLiteral("✖");
  }
};

}  // namespace

TraceTable::TraceTable(const TableDef& def, ViewContext& context, QWidget* parent)
    : QTableView(parent), selection_(context.selection), background_(context.background), model_(new TraceTableModel(def, this)) {
  filter_timer_.setSingleShot(true);
  connect(&filter_timer_, &QTimer::timeout, this, [this] { find(); });
  setModel(model_);
  setItemDelegate(new ToneDelegate(this));
  setAccessibleName(QString::fromUtf8(def.title));
  setSelectionBehavior(QAbstractItemView::SelectRows);
  setSelectionMode(QAbstractItemView::SingleSelection);
  setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
  setEditTriggers(QAbstractItemView::NoEditTriggers);
  setShowGrid(false);
  setWordWrap(false);
  setTabKeyNavigation(false);
  horizontalHeader()->setSortIndicator(-1, Qt::AscendingOrder);
  setSortingEnabled(true);
  offer_export(*this);
  verticalHeader()->hide();
  verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
  verticalHeader()->setDefaultSectionSize(22);
  horizontalHeader()->setHighlightSections(false);
  horizontalHeader()->setStretchLastSection(true);
  horizontalHeader()->setMinimumSectionSize(24);
  for (std::size_t c = 0; c < def.columns.size(); ++c) setColumnWidth(int(c), def.columns[c].width_px);
  connect(horizontalHeader(), &QHeaderView::sortIndicatorChanged, this, [this](int column, Qt::SortOrder order) {
    wanted_.column = column;
    wanted_.order = order;
    find();
  });
  connect(&selection_, &Selection::trace_changed, this, [this] { find(); });
  connect(&selection_, &Selection::changed, this, [this](const SelectionState& state) { follow(state); });
  connect(selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& current) { choose(current); });
  connect(this, &QAbstractItemView::clicked, this, [this](const QModelIndex& index) { choose(index); });
}

TraceTable::~TraceTable() { background_.cancel(this); }

namespace {
constexpr int kAtOnceMax = 1000;  // rows that are filtered and sorted without leaving the window's thread
}

// Among many rows not at each key, but when the word is there.
void TraceTable::set_filter(const QString& text) {
  constexpr int kTypeMs = 150;
  wanted_.filter = text;
  const TracePtr& trace = selection_.trace();
  if (!trace || model_->def().rows(*trace) <= kAtOnceMax)
    find();
  else
    filter_timer_.start(kTypeMs);
}

void TraceTable::find() {
  const TracePtr trace = selection_.trace();
  if (!trace || wanted_.all_as_they_are()) {
    background_.cancel(this);
    following_ = true;
    model_->set_trace(trace);
    following_ = false;
    return follow(selection_.state());
  }
  background_.run(
      this, model_->def().rows(*trace) <= kAtOnceMax,
      [&def = model_->def(), trace, wanted = wanted_](const std::stop_token& stop) { return find_rows(def, *trace, wanted, stop); },
      [this, trace](std::vector<int> rows) {
        following_ = true;
        model_->set_rows(trace, std::move(rows));
        following_ = false;
        follow(selection_.state());
      });
}

// Among very many rows the search would hold up the window; the filter is there for them.
void TraceTable::keyboardSearch(const QString& text) {
  constexpr int kRowsMax = 5000;
  if (model_->rowCount() <= kRowsMax) QTableView::keyboardSearch(text);
}

void TraceTable::paintEvent(QPaintEvent* event) {
  QTableView::paintEvent(event);
  if (!selection_.trace() || model_->rowCount() > 0) return;
  QPainter painter(viewport());
  painter.setPen(theme_of(this).muted);
  const QString what = QString::fromUtf8(model_->def().title).toLower();
  const bool filtered = model_->trace() && model_->def().rows(*model_->trace()) > 0;
  painter.drawText(viewport()->rect().adjusted(8, 0, -8, 0), Qt::AlignCenter | Qt::TextWordWrap,
                   filtered ? QStringLiteral("No %1 match the filter.").arg(what) : QString::fromUtf8(model_->def().nothing));
}

void TraceTable::follow(const SelectionState& state) {
  if (!chosen_row || model_->trace() != selection_.trace()) return;
  following_ = true;
  const int row = model_->row_of(chosen_row(state));
  if (row < 0) {
    clearSelection();
    setCurrentIndex({});
  } else if (currentIndex().row() != row || !selectionModel()->isRowSelected(row)) {
    const QModelIndex index = model_->index(row, 0);
    setCurrentIndex(index);
    selectRow(row);
    scrollTo(index);
  }
  following_ = false;
}

void TraceTable::choose(const QModelIndex& current) {
  if (!following_ && current.isValid() && on_choose && model_->trace() == selection_.trace()) on_choose(model_->trace_row(current.row()));
}

bool follow_link(Selection& selection, const QString& link, QObject* origin) {
  const qsizetype colon = link.indexOf(QLatin1Char(':'));
  bool number = false;
  const int value = link.mid(colon + 1).toInt(&number);
  const TracePtr& trace = selection.trace();
  if (colon <= 0 || !number || value < 0 || !trace) return false;
  struct Kind {
    const char* name;
    bool known;
    void (*select)(Selection&, int, QObject*);
  };
  const auto within = [value](const auto& rows) { return std::size_t(value) < rows.size(); };
  const Kind kinds[] = {
      {"process", trace->process(value) != nullptr, [](Selection& s, int row, QObject* by) { s.select_process(row, by); }},
      {"device", trace->device(value) != nullptr, [](Selection& s, int row, QObject* by) { s.select_device(row, by); }},
      {"collective", within(trace->collectives), [](Selection& s, int row, QObject* by) { s.select_collective(row, by); }},
      {"diagnosis", within(trace->diagnoses), [](Selection& s, int row, QObject* by) { s.select_diagnosis(row, by); }},
      {"array", within(trace->arrays), [](Selection& s, int row, QObject* by) { s.select_array(row, by); }}};
  for (const Kind& kind : kinds) {
    if (link.left(colon) != QLatin1String(kind.name) || !kind.known) continue;
    kind.select(selection, value, origin);
    return true;
  }
  return false;
}

}  // namespace shardlab::gui
