// The partitioner's plan against what was recorded: collectives and shardings of every program, and what came otherwise.
#include "gui/models/text_twin.h"
#include "gui/views/trace_table.h"
#include "gui/views/view_def.h"

namespace shardlab::gui {
namespace {

QWidget* make_predicted(ViewContext& context) {
  Selection* selection = &context.selection;
  auto* table = new TraceTable(prediction_table(), context);
  table->setAccessibleName(QStringLiteral("Planned and recorded collectives and shardings"));
  table->on_choose = [selection, table](int row) {
    const Prediction& chosen = selection->trace()->predictions[std::size_t(row)];
    if (chosen.collective >= 0) selection->select_collective(chosen.collective, table);
    if (chosen.array >= 0) selection->select_array(chosen.array, table);
  };
  table->chosen_row = [selection](const SelectionState& state) {
    if (!selection->trace()) return -1;
    const auto& rows = selection->trace()->predictions;
    const Collective* call = state.collective < 0 ? nullptr : &selection->trace()->collectives[std::size_t(state.collective)];
    for (std::size_t r = 0; r < rows.size(); ++r)
      if (call ? rows[r].result < 0 && rows[r].program == call->program && rows[r].call == call->call
               : rows[r].array >= 0 && rows[r].array == state.array)
        return int(r);
    return -1;
  };
  return table;
}

}  // namespace

const ViewDef kPredictionView{
    .id = "predicted",
    .title = "Predicted",
    .key = "Ctrl+Shift+P",
    .doc = "What the partitioner planned against what was recorded: collectives, bytes, shardings",
    .area = ViewArea::kBottomRight,
    .make = make_predicted,
    .text =
        [](const Selection& s) {
          TraceTableModel model(prediction_table());
          model.set_trace(s.trace());
          return model_text(model);
        },
};

}  // namespace shardlab::gui
