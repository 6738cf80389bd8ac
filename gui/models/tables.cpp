// The definitions of the tables: arrays, collectives, diagnoses, the plan against the record.
#include <algorithm>
#include <array>

#include "gui/models/format.h"
#include "gui/models/table_def.h"

namespace shardlab::gui {
namespace {

const Array& array_at(const TraceData& t, int row) { return t.arrays[std::size_t(row)]; }
const Collective& collective_at(const TraceData& t, int row) { return t.collectives[std::size_t(row)]; }
const Diagnosis& diagnosis_at(const TraceData& t, int row) { return t.diagnoses[std::size_t(row)]; }

QString type_of(const Collective& c) { return qstr(c.type->dtype + c.type->shape); }

QString groups_of(const Collective& c) {
  const auto& lists = c.type->groups->lists;
  return lists.empty() ? QString() : QStringLiteral("%1 × %2").arg(lists.size()).arg(lists[0].size());
}

Ns duration_of(const Collective& c) { return c.open ? kOpen : c.span().length(); }

// "" where the run was not asked for them.
std::string values_of(const Array& array) { return array.values ? traces::checksum_text(array.values->checksum) : std::string(); }

constexpr std::array<ColumnDef, 7> kArrayColumns{{
    {"Array", "The array's name in the program", [](const TraceData& t, int r) -> QVariant { return qstr(array_at(t, r).display_name()); },
     nullptr, 110},
    {"Type", "Element type and global shape", [](const TraceData& t, int r) -> QVariant { return qstr(array_at(t, r).type_text()); },
     nullptr, 110},
    {"Sharding", "How its dimensions lie over the mesh axes",
     [](const TraceData& t, int r) -> QVariant { return qstr(array_at(t, r).layout->spec); }, nullptr, 120},
    {"On each device", "Bytes that one device holds",
     [](const TraceData& t, int r) -> QVariant { return qlonglong(array_at(t, r).bytes_per_device()); },
     [](const TraceData& t, int r) {
       return array_at(t, r).bytes_per_device() > 0 ? bytes_text(array_at(t, r).bytes_per_device()) : QString();
     },
     90, true},
    {"Mesh", "The mesh's axes and their sizes",
     [](const TraceData& t, int r) -> QVariant {
       const int mesh = array_at(t, r).layout->mesh;
       return mesh < 0 ? QString() : qstr(t.meshes[std::size_t(mesh)].text());
     },
     nullptr, 80},
    {"Where", "The source line that gave it this sharding",
     [](const TraceData& t, int r) -> QVariant { return qstr(t.site_text(array_at(t, r).site)); }, nullptr, 120},
    {"Values", "Checksum and statistics, of runs that were recorded with --checksums",
     [](const TraceData& t, int r) -> QVariant { return qstr(values_of(array_at(t, r))); }, nullptr, 120},
}};

constexpr std::array<ColumnDef, 10> kCollectiveColumns{{
    {"#", "Order in the trace", [](const TraceData&, int r) -> QVariant { return r; }, nullptr, 40, true},
    {"Kind", "What the collective does", [](const TraceData& t, int r) -> QVariant { return qstr(collective_at(t, r).type->kind); },
     nullptr, 122},
    {"Op", "The operation of the program that asked for it",
     [](const TraceData& t, int r) -> QVariant { return qstr(collective_at(t, r).type->op); }, nullptr, 88},
    {"Type", "Element type and shape on one device", [](const TraceData& t, int r) -> QVariant { return type_of(collective_at(t, r)); },
     nullptr, 108},
    {"Groups", "Groups × devices in each", [](const TraceData& t, int r) -> QVariant { return groups_of(collective_at(t, r)); }, nullptr,
     64},
    {"Bytes", "Of the result on one device",
     [](const TraceData& t, int r) -> QVariant { return qlonglong(collective_at(t, r).type->bytes); },
     [](const TraceData& t, int r) { return bytes_text(collective_at(t, r).type->bytes); }, 64, true},
    {"Wire", "Bytes that the model counts on the links, over all devices",
     [](const TraceData& t, int r) -> QVariant { return qlonglong(collective_at(t, r).type->wire_bytes); },
     [](const TraceData& t, int r) { return bytes_text(collective_at(t, r).type->wire_bytes); }, 66, true},
    {"Took", "From the first arrival to the last departure",
     [](const TraceData& t, int r) -> QVariant { return qlonglong(duration_of(collective_at(t, r))); },
     [](const TraceData& t, int r) {
       const Ns ns = duration_of(collective_at(t, r));
       return ns == kOpen ? QStringLiteral("never ended") : duration_text(ns);
     },
     88, true},
    {"State", "Matched, or what went wrong", [](const TraceData& t, int r) -> QVariant { return qstr(collective_at(t, r).state); }, nullptr,
     84},
    {"Where", "The source line of the operation",
     [](const TraceData& t, int r) -> QVariant { return qstr(t.site_text(collective_at(t, r).type->site)); }, nullptr, 80},
}};

constexpr std::array<ColumnDef, 4> kDiagnosisColumns{{
    {"Code", "The check that found it", [](const TraceData& t, int r) -> QVariant { return qstr(diagnosis_at(t, r).code); }, nullptr, 150},
    {"Severity", "Error, warning or information", [](const TraceData& t, int r) -> QVariant { return qstr(diagnosis_at(t, r).severity); },
     nullptr, 75},
    {"Processes", "The guilty ones", [](const TraceData& t, int r) -> QVariant { return set_text(diagnosis_at(t, r).processes, 24); },
     nullptr, 80},
    {"Message", "What happened, with both sides", [](const TraceData& t, int r) -> QVariant { return qstr(diagnosis_at(t, r).message); },
     nullptr, 400},
}};

const Prediction& prediction_at(const TraceData& t, int row) { return t.predictions[std::size_t(row)]; }
const CollectiveType& type_of(const Prediction& p) { return p.planned ? *p.planned : *p.seen; }

// What was recorded differs from the plan in this.
QString difference_of(const Prediction& p) {
  if (p.result >= 0)
    return p.array < 0    ? QStringLiteral("not recorded")
           : p.as_planned ? QStringLiteral("as planned")
                          : QStringLiteral("recorded as ") + qstr(p.seen_sharding);
  if (p.as_planned) return p.recorded < p.runs ? QStringLiteral("as planned so far") : QStringLiteral("as planned");
  if (!p.planned) return QStringLiteral("not planned");
  if (!p.seen) return QStringLiteral("planned, never recorded");
  QStringList parts;
  if (p.planned->kind != p.seen->kind) parts << QStringLiteral("kind: ") + qstr(p.seen->kind);
  if (p.planned->groups->lists != p.seen->groups->lists || p.planned->pairs != p.seen->pairs) parts << QStringLiteral("other groups");
  if (p.planned->bytes != p.seen->bytes) parts << bytes_text(p.seen->bytes) + QStringLiteral(" on a device");
  if (p.planned->wire_bytes != p.seen->wire_bytes) parts << bytes_text(p.seen->wire_bytes) + QStringLiteral(" on the wire");
  if (p.recorded != p.runs) parts << QStringLiteral("%1 times in %2 runs").arg(p.recorded).arg(p.runs);
  return parts.join(QStringLiteral(", "));
}

constexpr std::array<ColumnDef, 10> kPredictionColumns{{
    {"Program", "Whose run makes it",
     [](const TraceData& t, int r) -> QVariant { return qstr(t.programs[std::size_t(prediction_at(t, r).program)].name); }, nullptr, 90},
    {"#", "Its place among the program's collectives, or among its results",
     [](const TraceData& t, int r) -> QVariant {
       const Prediction& p = prediction_at(t, r);
       return p.result >= 0 ? p.result : p.call;
     },
     nullptr, 28, true},
    {"Planned", "The kind of the collective, or a result of the program",
     [](const TraceData& t, int r) -> QVariant {
       return prediction_at(t, r).result >= 0 ? QStringLiteral("result") : qstr(type_of(prediction_at(t, r)).kind);
     },
     nullptr, 86},
    {"Along", "Mesh axes that the collective's groups run along, or the planned sharding of the result",
     [](const TraceData& t, int r) -> QVariant {
       const Prediction& p = prediction_at(t, r);
       return qstr(p.result >= 0 ? p.planned_sharding : type_of(p).axes);
     },
     nullptr, 110},
    {"Plan and record", "Whether they agree, and in what they do not",
     [](const TraceData& t, int r) -> QVariant { return difference_of(prediction_at(t, r)); }, nullptr, 156},
    {"Wire, each", "Planned bytes on the links of one run, over all devices",
     [](const TraceData& t, int r) -> QVariant {
       const Prediction& p = prediction_at(t, r);
       return p.result >= 0 ? qlonglong(0) : qlonglong(type_of(p).wire_bytes);
     },
     [](const TraceData& t, int r) {
       const Prediction& p = prediction_at(t, r);
       return p.result >= 0 ? QString() : bytes_text(type_of(p).wire_bytes);
     },
     76, true},
    {"Runs", "Of the program", [](const TraceData& t, int r) -> QVariant { return prediction_at(t, r).runs; }, nullptr, 50, true},
    {"Recorded", "How often it was made", [](const TraceData& t, int r) -> QVariant { return prediction_at(t, r).recorded; }, nullptr, 78,
     true},
    {"Crossed", "Bytes seen to cross processes, of all runs",
     [](const TraceData& t, int r) -> QVariant { return qlonglong(prediction_at(t, r).moved_bytes); },
     [](const TraceData& t, int r) {
       const Prediction& p = prediction_at(t, r);
       return p.result >= 0 ? QString() : bytes_text(p.moved_bytes);
     },
     76, true},
    {"Why", "What the partitioner said",
     [](const TraceData& t, int r) -> QVariant {
       const Prediction& p = prediction_at(t, r);
       return p.result >= 0 ? QString() : qstr(type_of(p).cause);
     },
     nullptr, 260},
}};

RowTone prediction_tone(const TraceData& t, int r) { return prediction_at(t, r).as_planned ? RowTone::kPlain : RowTone::kWarning; }

RowTone plain(const TraceData&, int) { return RowTone::kPlain; }
RowTone collective_tone(const TraceData& t, int r) {
  const Collective& c = collective_at(t, r);
  return c.failed ? RowTone::kError : c.open ? RowTone::kWarning : RowTone::kPlain;
}
RowTone diagnosis_tone(const TraceData& t, int r) {
  const auto& severity = diagnosis_at(t, r).severity;
  return severity == "error" ? RowTone::kError : severity == "warning" ? RowTone::kWarning : RowTone::kPlain;
}

}  // namespace

const TableDef& array_table() {
  static constexpr TableDef kDef{"arrays",
                                 "Arrays",
                                 kArrayColumns,
                                 [](const TraceData& t) { return int(t.arrays.size()); },
                                 plain,
                                 "No arrays were recorded.",
                                 [](const TraceData& t) {
                                   return std::any_of(t.arrays.begin(), t.arrays.end(),
                                                      [](const Array& each) { return each.values != nullptr; });
                                 }};
  return kDef;
}

const TableDef& collective_table() {
  static constexpr TableDef kDef{"collectives",      "Collectives",
                                 kCollectiveColumns, [](const TraceData& t) { return int(t.collectives.size()); },
                                 collective_tone,    "No collectives were recorded."};
  return kDef;
}

const TableDef& prediction_table() {
  static constexpr TableDef kDef{"predicted",        "Predicted",
                                 kPredictionColumns, [](const TraceData& t) { return int(t.predictions.size()); },
                                 prediction_tone,    "The trace has no program, so there is no plan to hold it against."};
  return kDef;
}

const TableDef& diagnosis_table() {
  static constexpr TableDef kDef{"diagnoses",       "Diagnoses",
                                 kDiagnosisColumns, [](const TraceData& t) { return int(t.diagnoses.size()); },
                                 diagnosis_tone,    "Nothing is diagnosed."};
  return kDef;
}

}  // namespace shardlab::gui
