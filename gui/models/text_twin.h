// Views as text: the same facts in the same order, for logs, tests and people who do not look at pictures.
#pragma once

#include <QAbstractItemModel>
#include <QString>

#include "gui/models/array_uses.h"
#include "gui/models/call_sequence.h"
#include "gui/models/comm_matrix.h"
#include "gui/models/compare.h"
#include "gui/models/reshard.h"
#include "gui/models/selection.h"
#include "gui/models/wait_graph.h"

namespace shardlab::gui {

// Columns padded to their widest cell; children of trees are indented. At most `rows_max` rows, then how many more.
QString model_text(const QAbstractItemModel& model, int rows_max = 200);
QString padded_text(const QStringList& head, const QList<QStringList>& rows, int rows_max = 200);

// What devices hold of arrays in the window of time: at most, and at its ends.
QString memory_text(const TraceData& trace, TimeRange window);
// A line an event of each lane in the window; stretches of short ones are summed. Then what devices hold.
QString timeline_text(const TraceData& trace, TimeRange window);
// A program's name, or what stands for it.
std::string launch_name(const TraceData& trace, int program);
// "at toy.cpp:31, as operand 0, processes 0–3, 1000 times".
QString use_text(const TraceData& trace, const UsesOfCall& use);
// The calls that gave the array and those that took it; `device`: with the collectives in them that it takes part in, -1: with all.
QString uses_text(const TraceData& trace, int array, int device);
QString array_text(const TraceData& trace, int array);
QString mesh_text(const TraceData& trace, int mesh, const SelectionState& state);
QString reshard_text(const TraceData& trace, const Reshard& reshard);
QString diagnosis_text(const TraceData& trace, int diagnosis);
QString sequence_text(const TraceData& trace, const CallSequence& sequence);
QString waits_text(const TraceData& trace, const WaitList& waits, Ns time, int process);
// The sentence, what differs in the whole, and the calls in pairs: a difference is marked with "≠".
QString compare_text(const TraceData& left, const TraceData& right, const Comparison& comparison);
QString matrix_text(const CommMatrix& matrix, MatrixMetric metric);
QString matrix_value_text(const MatrixCell& cell, MatrixMetric metric);

}  // namespace shardlab::gui
