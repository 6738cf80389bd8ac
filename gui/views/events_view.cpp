// All events in a table, found by the filter language, with the timeline's selection in sight.
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QStyledItemDelegate>
#include <QTableView>
#include <QTimer>
#include <QVBoxLayout>

#include "gui/models/background.h"
#include "gui/models/event_model.h"
#include "gui/models/format.h"
#include "gui/models/text_twin.h"
#include "gui/views/table_export.h"
#include "gui/views/theme.h"
#include "gui/views/view_def.h"

namespace shardlab::gui {
namespace {

constexpr std::size_t kRowsMax = 20'000'000;
constexpr int kTypeMs = 150;  // from the last key to the search

class EventDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
    QStyledItemDelegate::initStyleOption(option, index);
    option->textElideMode = Qt::ElideMiddle;
    if (index.data(EventModel::kErrorRole).toBool()) option->backgroundBrush = theme_of(option->widget).error_back;
  }
};

class EventsView : public QWidget {
 public:
  explicit EventsView(ViewContext& context) : selection_(context.selection), background_(context.background), model_(new EventModel(this)) {
    filter_ = new QLineEdit(this);
    filter_->setPlaceholderText(QStringLiteral("Filter: kind:all-gather dev:0-3 dur>10us at:toy.cpp matmul"));
    filter_->setAccessibleName(QStringLiteral("Filter of events"));
    filter_->setClearButtonEnabled(true);
    QStringList help;
    for (const auto& field : filter_fields())
      help << QStringLiteral("%1: %2").arg(QString::fromUtf8(field.name), QString::fromUtf8(field.doc));
    filter_->setToolTip(QStringLiteral("Words are joined by \"and\"; - before a word negates it.\n") + help.join(QLatin1Char('\n')));
    note_ = new QLabel(this);
    note_->setContentsMargins(8, 0, 8, 0);
    table_ = new QTableView(this);
    table_->setModel(model_);
    table_->setItemDelegate(new EventDelegate(table_));
    table_->setAccessibleName(QStringLiteral("Events"));
    table_->setSelectionBehavior(QAbstractItemView::SelectRows);
    table_->setSelectionMode(QAbstractItemView::SingleSelection);
    table_->setShowGrid(false);
    table_->setWordWrap(false);
    table_->setTabKeyNavigation(false);
    table_->verticalHeader()->hide();
    table_->verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    table_->verticalHeader()->setDefaultSectionSize(22);
    table_->horizontalHeader()->setHighlightSections(false);
    table_->horizontalHeader()->setStretchLastSection(true);
    table_->horizontalHeader()->setSortIndicator(-1, Qt::AscendingOrder);
    const int widths[] = {90, 78, 130, 90, 90, 78, 140};
    for (int c = 0; c < EventModel::kColumnCount; ++c) table_->setColumnWidth(c, widths[c]);
    offer_export(*table_);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 4, 0, 0);
    layout->setSpacing(4);
    layout->addWidget(filter_);
    layout->addWidget(note_);
    layout->addWidget(table_, 1);
    setFocusProxy(filter_);
    timer_.setSingleShot(true);
    timer_.setInterval(kTypeMs);
    connect(filter_, &QLineEdit::textChanged, &timer_, qOverload<>(&QTimer::start));
    filter_->installEventFilter(this);
    connect(&timer_, &QTimer::timeout, this, [this] { find(); });
    connect(table_->horizontalHeader(), &QHeaderView::sectionClicked, this, [this](int column) {
      const bool again = table_->horizontalHeader()->isSortIndicatorShown() && sorted_ == column && order_ == Qt::AscendingOrder;
      order_ = again ? Qt::DescendingOrder : Qt::AscendingOrder;
      sorted_ = column;
      table_->horizontalHeader()->setSortIndicatorShown(true);
      table_->horizontalHeader()->setSortIndicator(column, order_);
      sort();
    });
    connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& at) {
      if (!following_ && at.isValid()) selection_.select_event(int(model_->at(at.row()).lane), model_->at(at.row()).event, this);
    });
    connect(&selection_, &Selection::trace_changed, this, [this] {
      model_->set_rows(nullptr, {});
      found_ = nullptr;
      if (isVisible()) find();
    });
    connect(&selection_, &Selection::changed, this, [this](const SelectionState& state, QObject* origin) {
      if (origin != this) follow(state);
    });
  }
  ~EventsView() override { background_.cancel(this); }
  void set_filter(const QString& filter) { filter_->setText(filter); }

 protected:
  // Enter goes through what is found, Shift+Enter back; Down into the table.
  bool eventFilter(QObject* /*watched*/, QEvent* event) override {
    if (event->type() != QEvent::KeyPress) return false;
    const auto* key = static_cast<QKeyEvent*>(event);
    if (key->key() == Qt::Key_Down) table_->setFocus();
    if (key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter) step(key->modifiers() & Qt::ShiftModifier ? -1 : 1);
    return key->key() == Qt::Key_Down || key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter;
  }
  void showEvent(QShowEvent* event) override {
    QWidget::showEvent(event);
    if (found_ != selection_.trace().get()) find();
  }

 private:
  // In the background, and only where there are many.
  void sort() {
    const TracePtr trace = selection_.trace();
    if (!trace || found_ != trace.get()) return;
    constexpr int kAtOnceMax = 50'000;
    if (model_->rowCount() <= kAtOnceMax) return model_->sort(sorted_, order_);
    background_.run(
        this,
        [trace, rows = model_->rows(), column = sorted_, order = order_](const std::stop_token&) {
          std::vector<EventRef> sorted = rows;
          sort_events(*trace, sorted, column, order);
          return sorted;
        },
        [this, trace](std::vector<EventRef> rows) {
          following_ = true;
          model_->set_rows(trace, std::move(rows));
          following_ = false;
          follow(selection_.state());
        });
  }

  void find() {
    const TracePtr trace = selection_.trace();
    if (!trace || trace->preview) return;
    found_ = trace.get();
    QString error;
    const Filter filter = Filter::parse(filter_->text(), &error);
    if (!error.isEmpty()) return note_->setText(error);
    note_->setText(QStringLiteral("Searching …"));
    background_.run(
        this, [trace, filter](const std::stop_token& stop) { return find_events(*trace, filter, kRowsMax, stop); },
        [this, trace](std::vector<EventRef> rows) {
          const auto count = std::int64_t(rows.size());
          following_ = true;
          model_->set_rows(trace, std::move(rows));
          following_ = false;
          note_->setText(count_text(count, "event", "events") +
                         (std::size_t(count) < trace->event_count()
                              ? QStringLiteral(" of %1").arg(count_text(std::int64_t(trace->event_count()), "", "").trimmed())
                              : QString()));
          if (count == 0 && trace->event_count() > 0) note_->setText(QStringLiteral("No event passes the filter."));
          follow(selection_.state());
        });
  }

  void step(int direction) {
    const int count = model_->rowCount(), now = table_->currentIndex().isValid() ? table_->currentIndex().row() : -1;
    if (count > 0) table_->selectRow(now < 0 ? (direction > 0 ? 0 : count - 1) : (now + direction + count) % count);
  }

  void follow(const SelectionState& state) {
    if (!isVisible() || state.lane < 0 || state.event < 0) return;
    const int row = model_->row_of(state.lane, state.event);
    if (row < 0) return;
    following_ = true;
    table_->selectRow(row);
    table_->scrollTo(model_->index(row, 0));
    following_ = false;
  }

  Selection& selection_;
  Background& background_;
  EventModel* model_;
  QLineEdit* filter_;
  QLabel* note_;
  QTableView* table_;
  QTimer timer_;
  const TraceData* found_ = nullptr;
  int sorted_ = -1;
  Qt::SortOrder order_ = Qt::AscendingOrder;
  bool following_ = false;
};

QWidget* make_events(ViewContext& context) { return new EventsView(context); }
QString text(const Selection& selection) {
  EventModel model;
  model.set_rows(selection.trace(), find_events(*selection.trace(), {}, 2000, {}));
  return model_text(model);
}

}  // namespace

void filter_events(QWidget* events_view, const QString& filter) {
  if (auto* view = dynamic_cast<EventsView*>(events_view)) view->set_filter(filter);
}

const ViewDef kEventsView{
    .id = "events",
    .title = "Events",
    .key = "Ctrl+F",
    .doc = "Every event in a table with a filter: kind:all-gather dev:0-3 dur>10us",
    .area = ViewArea::kBottomRight,
    .make = make_events,
    .text = text,
};

}  // namespace shardlab::gui
