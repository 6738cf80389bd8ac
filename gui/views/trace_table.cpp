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

TraceTable::TraceTable(const TableDef& def, Selection& selection, QWidget* parent)
    : QTableView(parent), selection_(selection), model_(new TraceTableModel(def, this)), proxy_(new QSortFilterProxyModel(this)) {
  proxy_->setSourceModel(model_);
  proxy_->setSortRole(TraceTableModel::kSortRole);
  proxy_->setFilterKeyColumn(-1);
  proxy_->setFilterCaseSensitivity(Qt::CaseInsensitive);
  filter_timer_.setSingleShot(true);
  connect(&filter_timer_, &QTimer::timeout, this, [this] { proxy_->setFilterFixedString(filter_); });
  setModel(proxy_);
  setItemDelegate(new ToneDelegate(this));
  setAccessibleName(QString::fromUtf8(def.title));
  setSelectionBehavior(QAbstractItemView::SelectRows);
  setSelectionMode(QAbstractItemView::SingleSelection);
  setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
  setEditTriggers(QAbstractItemView::NoEditTriggers);
  setShowGrid(false);
  setWordWrap(false);
  setTabKeyNavigation(false);
  setSortingEnabled(true);
  sortByColumn(-1, Qt::AscendingOrder);
  offer_export(*this);
  verticalHeader()->hide();
  verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
  verticalHeader()->setDefaultSectionSize(22);
  horizontalHeader()->setHighlightSections(false);
  horizontalHeader()->setStretchLastSection(true);
  horizontalHeader()->setMinimumSectionSize(24);
  for (std::size_t c = 0; c < def.columns.size(); ++c) setColumnWidth(int(c), def.columns[c].width_px);
  connect(&selection, &Selection::trace_changed, this, [this] { model_->set_trace(selection_.trace()); });
  connect(&selection, &Selection::changed, this, [this](const SelectionState& state) { follow(state); });
  connect(selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& current) { choose(current); });
  connect(this, &QAbstractItemView::clicked, this, [this](const QModelIndex& index) { choose(index); });
}

// Among many rows not at each key, but when the word is there.
void TraceTable::set_filter(const QString& text) {
  constexpr int kAtOnceMax = 1000, kTypeMs = 150;
  filter_ = text;
  if (model_->rowCount() <= kAtOnceMax)
    proxy_->setFilterFixedString(filter_);
  else
    filter_timer_.start(kTypeMs);
}

// Among very many rows the search would hold up the window; the filter is there for them.
void TraceTable::keyboardSearch(const QString& text) {
  constexpr int kRowsMax = 5000;
  if (proxy_->rowCount() <= kRowsMax) QTableView::keyboardSearch(text);
}

void TraceTable::paintEvent(QPaintEvent* event) {
  QTableView::paintEvent(event);
  if (!selection_.trace() || proxy_->rowCount() > 0) return;
  QPainter painter(viewport());
  painter.setPen(theme_of(this).muted);
  const QString what = QString::fromUtf8(model_->def().title).toLower();
  painter.drawText(viewport()->rect().adjusted(8, 0, -8, 0), Qt::AlignCenter | Qt::TextWordWrap,
                   model_->rowCount() > 0 ? QStringLiteral("No %1 match the filter.").arg(what) : QString::fromUtf8(model_->def().nothing));
}

void TraceTable::follow(const SelectionState& state) {
  if (!chosen_row) return;
  following_ = true;
  const int row = chosen_row(state);
  const QModelIndex index = row >= 0 ? proxy_->mapFromSource(model_->index(row, 0)) : QModelIndex();
  if (!index.isValid()) {
    clearSelection();
    setCurrentIndex({});
  } else if (currentIndex().row() != index.row() || !selectionModel()->isRowSelected(index.row())) {
    setCurrentIndex(index);
    selectRow(index.row());
    scrollTo(index);
  }
  following_ = false;
}

void TraceTable::choose(const QModelIndex& current) {
  if (!following_ && current.isValid() && on_choose) on_choose(proxy_->mapToSource(current).row());
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
    void (Selection::*select)(int, QObject*);
  };
  const auto within = [value](const auto& rows) { return std::size_t(value) < rows.size(); };
  const Kind kinds[] = {{"process", trace->process(value) != nullptr, &Selection::select_process},
                        {"device", trace->device(value) != nullptr, &Selection::select_device},
                        {"collective", within(trace->collectives), &Selection::select_collective},
                        {"diagnosis", within(trace->diagnoses), &Selection::select_diagnosis},
                        {"array", within(trace->arrays), &Selection::select_array}};
  for (const Kind& kind : kinds) {
    if (link.left(colon) != QLatin1String(kind.name) || !kind.known) continue;
    (selection.*kind.select)(value, origin);
    return true;
  }
  return false;
}

}  // namespace shardlab::gui
