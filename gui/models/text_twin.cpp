#include "gui/models/text_twin.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <QRegularExpression>

#include <algorithm>

#include "gui/models/format.h"
#include "gui/models/lane_fold.h"
#include "gui/models/launch_events.h"
#include "gui/models/memory.h"
#include "gui/models/shard_grid.h"
#include "gui/models/side_facts.h"

namespace shardlab::gui {
namespace {

constexpr int kItemsMax = 40;   // of a lane
constexpr int kStretches = 60;  // of a window, for folding

void collect(const QAbstractItemModel& model, const QModelIndex& parent, int depth, QList<QStringList>& rows) {
  for (int r = 0; r < model.rowCount(parent); ++r) {
    QStringList cells;
    for (int c = 0; c < model.columnCount(parent); ++c) {
      QString text = model.index(r, c, parent).data(Qt::DisplayRole).toString();
      text.replace(QLatin1Char('\n'), QStringLiteral(" "));
      cells << (c == 0 ? QString(2 * depth, QLatin1Char(' ')) + text : text);
    }
    rows << cells;
    collect(model, model.index(r, 0, parent), depth + 1, rows);
  }
}

QString wide_duration(Ns ns) { return ns == kOpen ? QStringLiteral("never ended") : duration_text(ns); }

}  // namespace

QString padded_text(const QStringList& head, const QList<QStringList>& rows, int rows_max) {
  QList<qsizetype> widths;
  const auto measure = [&](const QStringList& row) {
    for (qsizetype c = 0; c < row.size(); ++c) {
      if (c >= widths.size()) widths << 0;
      widths[c] = std::max(widths[c], row[c].size());
    }
  };
  measure(head);
  for (qsizetype r = 0; r < std::min<qsizetype>(rows.size(), rows_max); ++r) measure(rows[r]);
  QString text;
  const auto write = [&](const QStringList& row) {
    QString line;
    for (qsizetype c = 0; c < row.size(); ++c) line += row[c].leftJustified(widths[c]) + QStringLiteral("  ");
    text += line.trimmed().isEmpty() ? QStringLiteral("\n")
                                     : QString(line).remove(QRegularExpression(QStringLiteral("\\s+$"))) + QLatin1Char('\n');
  };
  if (!head.join(QString()).isEmpty()) write(head);
  for (qsizetype r = 0; r < std::min<qsizetype>(rows.size(), rows_max); ++r) write(rows[r]);
  if (rows.size() > rows_max) text += QStringLiteral("… and %1 more\n").arg(rows.size() - rows_max);
  return text;
}

QString model_text(const QAbstractItemModel& model, int rows_max) {
  QStringList head;
  for (int c = 0; c < model.columnCount(); ++c) {
    QString title = model.headerData(c, Qt::Horizontal).toString();
    head << title.replace(QLatin1Char('\n'), QLatin1Char(' '));
  }
  QList<QStringList> rows;
  collect(model, {}, 0, rows);
  return padded_text(head, rows, rows_max);
}

QString memory_text(const TraceData& trace, TimeRange window) {
  if (const std::string why = why_no_memory(trace); !why.empty()) return QStringLiteral("memory: %1\n").arg(qstr(why));
  if (!trace.memory) return {};
  QList<QStringList> rows;
  for (const auto& each : trace.memory->devices()) {
    const auto most = each.arrays.most_in(window.begin, window.end);
    QStringList row{QStringLiteral("  devices %1 of process %2").arg(set_text(each.devices, 40)).arg(each.process),
                    QStringLiteral("at most %1").arg(bytes_text(most.value)),
                    QStringLiteral("at %1").arg(duration_text(most.time - trace.range.begin)),
                    QStringLiteral("%1 … %2").arg(bytes_text(each.arrays.at(window.begin)), bytes_text(each.arrays.at(window.end)))};
    if (!each.with_steps.empty())
      row << QStringLiteral("%1 with what runs").arg(bytes_text(each.with_steps.most_in(window.begin, window.end).value));
    rows << row;
  }
  return QStringLiteral("memory: of arrays, each device for itself\n") + padded_text({}, rows);
}

QString timeline_text(const TraceData& trace, TimeRange window) {
  QString text = QStringLiteral("window %1 … %2 of %3\n")
                     .arg(duration_text(window.begin - trace.range.begin), duration_text(window.end - trace.range.begin),
                          duration_text(trace.range.length()));
  for (const auto& lane : trace.lanes) {
    text += QStringLiteral("process %1, %2: ").arg(lane.process).arg(qstr(lane.name));
    if (trace.preview || lane.events->size() == 0) {
      text +=
          trace.torn() && lane.events->size() == 0 ? QStringLiteral("no records\n") : count_text(lane.summary.count, "event\n", "events\n");
      continue;
    }
    std::vector<LaneItem> items;
    fold_lane(*lane.events, window, std::max<Ns>(window.length() / kStretches, 1), items);
    text += count_text(std::int64_t(items.size()), "item\n", "items\n");
    QList<QStringList> rows;
    for (const auto& item : items) {
      const std::size_t i = item.index;
      QString name = qstr(trace.labels[lane.events->label[i]].name);
      if (item.count > 1) name = count_text(item.count, "event", "events") + QStringLiteral(", longest ") + name;
      QStringList notes;
      if (item.flags & kFlagError) notes << QStringLiteral("diagnosed");
      if (item.flags & kFlagOpen) notes << QStringLiteral("never ended");
      rows << QStringList{QStringLiteral("  ") + duration_text(item.begin - trace.range.begin), duration_text(item.end - item.begin), name,
                          qstr(trace.site_text(trace.labels[lane.events->label[i]].site)), notes.join(QStringLiteral(", "))};
    }
    text += padded_text({}, rows, kItemsMax);
  }
  return text + memory_text(trace, window);
}

QString array_text(const TraceData& trace, int index) {
  if (index < 0 || std::size_t(index) >= trace.arrays.size()) return QStringLiteral("no array was recorded\n");
  const Array& array = trace.arrays[std::size_t(index)];
  const ShardGrid grid = make_shard_grid(array);
  QString text = QStringLiteral("%1 %2 %3: %4\n")
                     .arg(qstr(array.display_name()), qstr(array.type_text()), qstr(array.layout->spec), qstr(grid.summary()));
  const std::string where = trace.site_text(array.site);
  if (!where.empty()) text += QStringLiteral("made at %1\n").arg(qstr(where));
  if (array.values) text += QStringLiteral("values %1\n").arg(qstr(traces::checksum_text(array.values->checksum)));
  QList<QStringList> rows;
  for (const auto& plane : grid.planes)
    for (const auto& cell : plane.cells)
      rows << QStringList{QStringLiteral("  ") + qstr(cell.slice_text()), QStringLiteral("on ") + set_text(cell.devices)};
  return text + padded_text({}, rows);
}

std::string launch_name(const TraceData& trace, int program) {
  return program >= 0 ? trace.programs[std::size_t(program)].name : "a program whose record was lost";
}

QString use_text(const TraceData& trace, const UsesOfCall& use) {
  QStringList parts;
  if (const std::string where = trace.site_text(use.site); !where.empty()) parts << QStringLiteral("at ") + qstr(where);
  // A call that gives one thing gives it as the first.
  if (use.positions.size() > 1 || (use.positions.size() == 1 && (!use.gives || use.positions.front() > 0)))
    parts << QStringLiteral("as %1%2 %3")
                 .arg(use.gives ? QStringLiteral("result") : QStringLiteral("operand"),
                      use.positions.size() == 1 ? QString() : QStringLiteral("s"), set_text(use.positions, 30));
  parts << QStringLiteral("process%1 %2").arg(use.processes.size() == 1 ? QString() : QStringLiteral("es"), set_text(use.processes, 30));
  if (use.launches > int(use.processes.size())) parts << QStringLiteral("%1 times").arg(use.launches);
  if (use.donated > 0) parts << QStringLiteral("donated");
  return parts.join(QStringLiteral(", "));
}

QString uses_text(const TraceData& trace, int array, int device) {
  constexpr std::size_t kCallsMax = 200;
  if (array < 0 || trace.launches.empty()) return {};
  if (!trace.array_uses) return qstr(why_no_uses(trace)) + QLatin1Char('\n');
  const std::vector<UsesOfCall> uses = uses_of(trace, array);
  QString text;
  for (std::size_t i = 0; i < std::min(uses.size(), kCallsMax); ++i) {
    const UsesOfCall& use = uses[i];
    text +=
        QStringLiteral("%1 by %2 %3")
            .arg(use.gives ? QStringLiteral("made") : QStringLiteral("taken"), qstr(launch_name(trace, use.program)), use_text(trace, use));
    QStringList kinds;
    if (const Launch* launch = trace.launch(use.process, use.launch))
      for (const int call : collectives_of_launch(trace, *launch, device))
        kinds << qstr(trace.collectives[std::size_t(call)].type->kind) + QStringLiteral(" #%1").arg(call);
    text += (kinds.isEmpty() ? QString() : QStringLiteral(", with ") + kinds.join(QStringLiteral(", "))) + QLatin1Char('\n');
  }
  if (uses.size() > kCallsMax) text += QStringLiteral("… and %1 calls more\n").arg(uses.size() - kCallsMax);
  if (std::none_of(uses.begin(), uses.end(), [](const UsesOfCall& use) { return !use.gives; }))
    text += trace.array_uses->told() ? QStringLiteral("taken by no launch\n") : QStringLiteral("taken by no call that it can be told of\n");
  if (!trace.array_uses->told()) text += QStringLiteral("found by elimination: this trace does not tell which arrays launches took\n");
  return text;
}

QString mesh_text(const TraceData& trace, int mesh, const SelectionState& state) {
  const MeshLayout layout =
      mesh >= 0 && std::size_t(mesh) < trace.meshes.size() ? make_mesh_layout(trace.meshes[std::size_t(mesh)]) : make_device_layout(trace);
  QString text =
      mesh >= 0 ? QStringLiteral("mesh %1\n").arg(qstr(trace.meshes[std::size_t(mesh)].text())) : QStringLiteral("devices by process\n");
  for (std::size_t p = 0; p < layout.plane_titles.size(); ++p) {
    if (!layout.plane_titles[p].empty()) text += qstr(layout.plane_titles[p]) + QLatin1Char('\n');
    QList<QStringList> rows;
    for (int r = 0; r < layout.rows; ++r) rows << QStringList(layout.cols);
    for (const auto& place : layout.places)
      if (place.plane == int(p)) rows[place.row][place.col] = QString::number(place.device);
    text += padded_text({}, rows);
  }
  if (state.collective >= 0) {
    const auto& lists = trace.collectives[std::size_t(state.collective)].type->groups->lists;
    for (std::size_t g = 0; g < lists.size(); ++g) text += QStringLiteral("group %1: devices %2\n").arg(g).arg(set_text(lists[g]));
  }
  return text;
}

QString reshard_text(const TraceData& trace, const Reshard& reshard) {
  const auto side = [](const std::shared_ptr<const ArrayLayout>& layout, const std::vector<std::string>& partial) {
    if (!layout) return QStringLiteral("the host");
    QString text = qstr(layout->spec);
    if (!partial.empty()) text += QStringLiteral(" partial over ") + qstr(fmt::format("{}", fmt::join(partial, ", ")));
    return text;
  };
  QString text = QStringLiteral("%1: %2 → %3\n")
                     .arg(qstr(reshard.name), side(reshard.before, reshard.partial_before), side(reshard.after, reshard.partial_after));
  if (!reshard.why.empty()) text += QStringLiteral("why: %1\n").arg(qstr(reshard.why));
  if (!reshard.recorded.empty()) text += QStringLiteral("recorded: %1\n").arg(qstr(reshard.recorded));
  if (!reshard.before) return text;
  const MovePlan plan = plan_moves(trace, *reshard.before, *reshard.after);
  text += QStringLiteral("%1 moved, %2 of them between processes; %3 elements stay\n")
              .arg(count_text(plan.elements, "element", "elements"))
              .arg(plan.across)
              .arg(plan.kept);
  QList<QStringList> rows;
  for (const auto& move : plan.moves)
    rows << QStringList{QStringLiteral("  %1 → %2").arg(move.source).arg(move.target), qstr(move.slice_text()),
                        count_text(move.elements, "element", "elements")};
  return text + padded_text({}, rows);
}

namespace {

// What the trace knows of a side beside the verdict.
QString side_text(const TraceData& trace, const Participant& side) {
  const Launch* launch = launch_of_side(trace, side);
  if (!launch) return {};
  QStringList facts, takes, gives;
  if (const std::string callers = callers_text(trace, *launch); !callers.empty()) facts << QStringLiteral("called in ") + qstr(callers);
  for (const SideArray& each : arrays_of_side(trace, *launch)) {
    const Array& array = trace.arrays[std::size_t(each.array)];
    QString text = qstr(array.display_name() + " " + array.type_text() + " " + array.layout->spec);
    if (!each.made.empty()) text += QStringLiteral(" of ") + qstr(each.made);
    (each.gives ? gives : takes) << text;
  }
  if (!takes.isEmpty()) facts << QStringLiteral("takes ") + takes.join(QStringLiteral(", "));
  if (!gives.isEmpty()) facts << QStringLiteral("gives ") + gives.join(QStringLiteral(", "));
  if (facts.isEmpty()) return {};
  return QStringLiteral("  process %1: %2\n").arg(side.process).arg(facts.join(QStringLiteral("; ")));
}

}  // namespace

QString diagnosis_text(const TraceData& trace, int index) {
  if (trace.diagnoses.empty()) return QStringLiteral("no diagnosis\n");
  const Diagnosis& diagnosis = trace.diagnoses[std::size_t(std::clamp(index, 0, int(trace.diagnoses.size()) - 1))];
  QString text = QStringLiteral("%1 (%2): %3\n").arg(qstr(diagnosis.code), qstr(diagnosis.severity), qstr(diagnosis.message));
  QList<QStringList> rows;
  for (const auto& side : diagnosis.participants) {
    const bool guilty = std::find(diagnosis.processes.begin(), diagnosis.processes.end(), side.process) != diagnosis.processes.end();
    rows << QStringList{QStringLiteral("  %1 process %2").arg(guilty ? QStringLiteral("✖") : QStringLiteral(" ")).arg(side.process),
                        qstr(side.op),
                        qstr(side.kind),
                        qstr(side.where),
                        qstr(side.sharding),
                        qstr(side.shape),
                        qstr(side.state)};
  }
  text += padded_text({}, rows);
  for (const auto& side : diagnosis.participants) text += side_text(trace, side);
  if (!diagnosis.explain.empty()) text += qstr(diagnosis.explain) + QLatin1Char('\n');
  for (const auto& [name, value] : diagnosis.details) text += QStringLiteral("%1: %2\n").arg(qstr(name), qstr(value));
  return qstr(trace.places.in(text.toStdString()));
}

QString sequence_text(const TraceData& trace, const CallSequence& sequence) {
  if (sequence.columns.empty()) return QStringLiteral("no calls were recorded\n");
  QString text = count_text(std::int64_t(sequence.columns.size()), "call", "calls") + QStringLiteral(", ");
  if (sequence.first_divergence < 0) return text + qstr(same_words(sequence)) + QLatin1Char('\n');
  text += QStringLiteral("%1 differ, the first is call %2\n")
              .arg(sequence.divergence_count)
              .arg(sequence.columns[std::size_t(sequence.first_divergence)].seq);
  for (std::size_t c = 0; c < sequence.columns.size(); ++c) {
    if (!sequence.columns[c].divergent) continue;
    for (std::size_t r = 0; r < sequence.rows.size(); ++r)
      if (sequence.rows[r].cells[c].match != CallMatch::kOutside)
        text += QStringLiteral("  %1 %2\n")
                    .arg(sequence.rows[r].cells[c].match == CallMatch::kEqual ? QStringLiteral("=") : QStringLiteral("≠"),
                         qstr(describe(trace, sequence, r, c)));
  }
  return text;
}

QString waits_text(const TraceData& trace, const WaitList& waits, Ns time, int process) {
  if (waits.empty()) return QStringLiteral("no process waited for another\n");
  const WaitGraph graph = make_wait_graph(trace, waits, time);
  QString text = QStringLiteral("at %1:\n").arg(duration_text(time - trace.range.begin));
  for (const auto& node : graph.nodes)
    text += QStringLiteral("  %1 %2: %3\n")
                .arg(node.in_cycle ? QStringLiteral("⟳")
                     : node.waits  ? QStringLiteral("…")
                                   : QStringLiteral("·"),
                     set_text(node.processes), qstr(node.reason));
  for (const auto& [from, to] : graph.edges)
    text += QStringLiteral("  %1 waits for %2%3\n")
                .arg(set_text(graph.nodes[std::size_t(from)].processes), set_text(graph.nodes[std::size_t(to)].processes),
                     graph.any.contains({from, to}) ? QStringLiteral(" (any of those it waits for so is enough)") : QString());
  for (const auto& cycle : graph.cycles)
    text += QStringLiteral("circle: processes %1 wait for each other%2\n")
                .arg(set_text(cycle.processes),
                     cycle.lasting() ? QString() : QStringLiteral(" for %1: it dissolved").arg(duration_text(cycle.end - time)));
  for (const auto& [waiting, peer] : waits_that_close(waits, time, 4))
    text += QStringLiteral("if process %1 did not wait for process %2, no circle would be left\n").arg(waiting).arg(peer);
  for (const auto& each : best_unblockers(trace, waits, time))
    text += QStringLiteral("if process %1 came, it would free %2\n").arg(each.process).arg(set_text(each.frees));
  if (process >= 0)
    for (const auto& step : explain_wait(trace, waits, process, time)) text += QStringLiteral("  → %1\n").arg(qstr(step.text));
  return text;
}

QString matrix_value_text(const MatrixCell& cell, MatrixMetric metric) {
  const double value = cell.value(metric);
  switch (metric) {
    case MatrixMetric::kBytes:
      return bytes_text(std::int64_t(value));
    case MatrixMetric::kCount:
      return QString::number(cell.count);
    case MatrixMetric::kTime:
      return wide_duration(cell.time);
    default:
      return cell.time > 0 ? QStringLiteral("%1/s").arg(bytes_text(std::int64_t(value))) : QStringLiteral("–");
  }
}

QString matrix_text(const CommMatrix& matrix, MatrixMetric metric) {
  constexpr std::size_t kShownMax = 64;
  QString text;
  if (matrix.labels.size() <= kShownMax) {
    QStringList head{QString()};
    for (const auto& label : matrix.labels) head << qstr(label);
    QList<QStringList> rows;
    for (std::size_t r = 0; r < matrix.labels.size(); ++r) {
      QStringList row{qstr(matrix.labels[r])};
      for (std::size_t c = 0; c < matrix.labels.size(); ++c) {
        const MatrixCell* cell = matrix.cell(r, c);
        row << (cell ? matrix_value_text(*cell, metric) : QStringLiteral("·"));
      }
      rows << row;
    }
    text += padded_text(head, rows);
  }
  QList<QStringList> rows;
  for (const auto& sum : matrix.kinds)
    rows << QStringList{qstr(sum.kind),
                        qstr(sum.axes),
                        QString::number(sum.cell.count),
                        bytes_text(std::int64_t(sum.cell.bytes)),
                        duration_text(sum.cell.time),
                        matrix_value_text(sum.cell, MatrixMetric::kAlgbw),
                        matrix_value_text(sum.cell, MatrixMetric::kBusbw)};
  return text + padded_text({QStringLiteral("kind"), QStringLiteral("axes"), QStringLiteral("calls"), QStringLiteral("wire"),
                             QStringLiteral("time"), QStringLiteral("algbw"), QStringLiteral("busbw")},
                            rows);
}

QString compare_text(const TraceData& left, const TraceData& right, const Comparison& comparison) {
  const auto mark = [](bool differs) { return differs ? QStringLiteral("≠") : QString(); };
  QList<QStringList> facts, pairs;
  for (const auto& fact : comparison.facts) facts << QStringList{mark(fact.differs), fact.name, fact.left, fact.right};
  for (std::size_t p = 0; p < comparison.pairs.size(); ++p) {
    const ComparePair& pair = comparison.pairs[p];
    pairs << QStringList{mark(!pair.differences.isEmpty()), QString::number(p), pair_name(left, pair.left), pair_name(right, pair.right),
                         pair.differences.join(QStringLiteral(", "))};
  }
  QString values;
  if (!comparison.values.pairs.empty()) {
    CompareValuesModel model;
    model.set(std::make_shared<const Compared>(Compared{nullptr, nullptr, comparison}));
    values = QLatin1Char('\n') + model_text(model);
  }
  return QStringLiteral("%1 beside %2: %3\n").arg(qstr(left.title), qstr(right.title), comparison.verdict) +
         padded_text({QString(), QStringLiteral("What"), QStringLiteral("First"), QStringLiteral("Second")}, facts) + QLatin1Char('\n') +
         padded_text({QString(), QStringLiteral("#"), QStringLiteral("First"), QStringLiteral("Second"), QStringLiteral("Differs in")},
                     pairs) +
         values;
}

}  // namespace shardlab::gui
