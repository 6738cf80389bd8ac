// What the trace has: processes with their devices, and arrays.
#include <QHeaderView>
#include <QLabel>
#include <QSplitter>
#include <QStyledItemDelegate>
#include <QTreeView>
#include <QVBoxLayout>

#include "gui/models/process_model.h"
#include "gui/models/text_twin.h"
#include "gui/views/theme.h"
#include "gui/views/trace_table.h"
#include "gui/views/view_def.h"

namespace shardlab::gui {
namespace {

// Red for processes that ended badly, a colour chip for devices.
class ProcessDelegate : public QStyledItemDelegate {
 public:
  ProcessDelegate(Selection& selection, QObject* parent) : QStyledItemDelegate(parent), selection_(selection) {}

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
    QStyledItemDelegate::initStyleOption(option, index);
    option->textElideMode = Qt::ElideMiddle;
    const Theme& theme = theme_of(option->widget);
    if (index.column() != 0 && index.data(ProcessModel::kDeviceRole).toInt() >= 0) option->palette.setColor(QPalette::Text, theme.muted);
    if (index.data(ProcessModel::kBadRole).toBool()) option->palette.setColor(QPalette::Text, theme.error);
    const int device = index.data(ProcessModel::kDeviceRole).toInt();
    if (index.column() != 0 || device < 0 || !selection_.trace()) return;
    QPixmap chip(10, 10);
    chip.fill(theme.device(*selection_.trace(), device));
    option->features |= QStyleOptionViewItem::HasDecoration;
    option->decorationSize = QSize(10, 10);
    option->icon = QIcon(chip);
  }

 public:
  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    return {QStyledItemDelegate::sizeHint(option, index).width(), 21};
  }

 private:
  Selection& selection_;
};

class ExplorerView : public QWidget {
 public:
  explicit ExplorerView(ViewContext& context) : selection_(context.selection), model_(new ProcessModel(this)) {
    tree_ = new QTreeView(this);
    tree_->setModel(model_);
    tree_->setItemDelegate(new ProcessDelegate(selection_, tree_));
    tree_->setUniformRowHeights(true);
    tree_->setIndentation(14);
    tree_->setAccessibleName(QStringLiteral("Processes and devices"));
    tree_->header()->setStretchLastSection(true);
    tree_->header()->resizeSection(0, 150);
    tree_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    arrays_ = new TraceTable(array_table(), context, this);
    arrays_->on_choose = [this](int row) { selection_.select_array(row, this); };
    arrays_->chosen_row = [](const SelectionState& state) { return state.array; };
    arrays_->setColumnWidth(0, 56);
    arrays_->setColumnWidth(1, 100);
    arrays_->horizontalHeader()->setSectionResizeMode(2, QHeaderView::Stretch);
    // The rest is in the sharding view.
    for (int column = 3; column < arrays_->model()->columnCount(); ++column) arrays_->setColumnHidden(column, true);
    arrays_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    auto* split = new QSplitter(Qt::Vertical, this);
    split->addWidget(tree_);
    split->addWidget(arrays_);
    split->setChildrenCollapsible(false);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(split);
    setFocusProxy(tree_);
    connect(&selection_, &Selection::trace_changed, this, [this] { set_trace(); });
    connect(&selection_, &Selection::changed, this, [this](const SelectionState& state) { follow(state); });
    connect(tree_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
            [this](const QModelIndex& current) { choose(current); });
    connect(tree_, &QTreeView::clicked, this, [this](const QModelIndex& index) { choose(index); });
  }

 private:
  void set_trace() {
    following_ = true;
    model_->set_trace(selection_.trace());
    if (selection_.trace() && selection_.trace()->devices.size() <= 16) tree_->expandAll();
    following_ = false;
  }

  void choose(const QModelIndex& index) {
    if (following_ || !index.isValid()) return;
    const int device = index.data(ProcessModel::kDeviceRole).toInt();
    if (device >= 0)
      selection_.select_device(device, this);
    else
      selection_.select_process(index.data(ProcessModel::kProcessRole).toInt(), this);
  }

  void follow(const SelectionState& state) {
    following_ = true;
    const QModelIndex index = state.process >= 0 ? model_->index_of(state.process, state.device) : QModelIndex();
    if (index.isValid()) {
      tree_->setCurrentIndex(index);
      tree_->scrollTo(index);
    } else {
      tree_->clearSelection();
      tree_->setCurrentIndex({});
    }
    following_ = false;
  }

  Selection& selection_;
  ProcessModel* model_;
  QTreeView* tree_;
  TraceTable* arrays_;
  bool following_ = false;
};

QWidget* make_explorer(ViewContext& context) { return new ExplorerView(context); }

}  // namespace

const ViewDef kExplorerView{
    .id = "explorer",
    .title = "Explorer",
    .key = "Ctrl+Shift+X",
    .doc = "Processes with their devices, and the arrays of the program",
    .area = ViewArea::kLeft,
    .make = make_explorer,
    .text =
        [](const Selection& s) {
          ProcessModel processes;
          processes.set_trace(s.trace());
          TraceTableModel arrays(array_table());
          arrays.set_trace(s.trace());
          return model_text(processes) + QLatin1Char('\n') + model_text(arrays);
        },
};

}  // namespace shardlab::gui
