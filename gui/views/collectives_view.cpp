// All collectives in a table with a filter.
#include <QLineEdit>
#include <QVBoxLayout>

#include "gui/models/text_twin.h"
#include "gui/views/trace_table.h"
#include "gui/views/view_def.h"

namespace shardlab::gui {
namespace {

QWidget* make_collectives(ViewContext& context) {
  auto* view = new QWidget;
  auto* filter = new QLineEdit(view);
  filter->setPlaceholderText(QStringLiteral("Filter: kind, op, type, source line …"));
  filter->setAccessibleName(QStringLiteral("Filter of collectives"));
  filter->setClearButtonEnabled(true);
  auto* table = new TraceTable(collective_table(), context, view);
  Selection* selection = &context.selection;
  table->on_choose = [selection, table](int row) { selection->select_collective(row, table); };
  table->chosen_row = [](const SelectionState& state) { return state.collective; };
  auto* layout = new QVBoxLayout(view);
  layout->setContentsMargins(0, 4, 0, 0);
  layout->setSpacing(4);
  layout->addWidget(filter);
  layout->addWidget(table, 1);
  view->setFocusProxy(table);
  QObject::connect(filter, &QLineEdit::textChanged, table, &TraceTable::set_filter);
  return view;
}

}  // namespace

const ViewDef kCollectivesView{
    .id = "collectives",
    .title = "Collectives",
    .key = "Ctrl+Shift+L",
    .doc = "Every collective with its op, groups, bytes, time and source line",
    .area = ViewArea::kBottomRight,
    .make = make_collectives,
    .text =
        [](const Selection& s) {
          TraceTableModel model(collective_table());
          model.set_trace(s.trace());
          return model_text(model);
        },
};

}  // namespace shardlab::gui
