// The partitioner's plan against what was recorded: every collective of every program, and what came otherwise.
#include "gui/models/text_twin.h"
#include "gui/views/trace_table.h"
#include "gui/views/view_def.h"

namespace shardlab::gui {
namespace {

QWidget* make_predicted(ViewContext& context) {
  Selection* selection = &context.selection;
  auto* table = new TraceTable(prediction_table(), context.selection);
  table->setAccessibleName(QStringLiteral("Planned and recorded collectives"));
  table->on_choose = [selection, table](int row) {
    const int collective = selection->trace()->predictions[std::size_t(row)].collective;
    if (collective >= 0) selection->select_collective(collective, table);
  };
  table->chosen_row = [selection](const SelectionState& state) {
    if (!selection->trace() || state.collective < 0) return -1;
    const Collective& call = selection->trace()->collectives[std::size_t(state.collective)];
    const auto& rows = selection->trace()->predictions;
    for (std::size_t r = 0; r < rows.size(); ++r)
      if (rows[r].program == call.program && rows[r].call == call.call) return int(r);
    return -1;
  };
  return table;
}

}  // namespace

const ViewDef kPredictionView{
    .id = "predicted",
    .title = "Predicted",
    .key = "Ctrl+Shift+P",
    .doc = "What the partitioner planned against what was recorded: collectives, bytes, how often",
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
