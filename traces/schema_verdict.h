// The tables of what left, of verdicts and of what was lost.
#pragma once

#include "traces/schema_columns.h"

namespace shardlab::traces::schema {

inline constexpr ColumnDef kTraceHostReads[] = {
    id_of("process", "process", "Whose."), time("begin_ns", "Asked."),    number("seq", "Tells reads of one time apart."),
    time_or_null("end_ns", "Had."),        word("what", "What is read."), id_of("site", "id of sites", "The user's line."),
};
inline constexpr ColumnDef kTraceDiagnoses[] = {
    number("id", "From 1."),
    text("code", "Of docs/diagnoses.md."),
    text("severity", "\"error\", \"warning\", \"info\"."),
    text("message", "One sentence with both sides."),
    text("explain", "What it means and what to do."),
    list("processes", "The guilty."),
    number("tie", "1: no majority, no blame."),
    list("fields", "What differs."),
    list("details", "[name, value] pairs."),
    time("evidence_ns", "When the evidence was complete."),
    time("detected_ns", "When the verdict was reached."),
};
inline constexpr ColumnDef kTraceParticipants[] = {
    id_of("diagnosis", "id of diagnoses", "Of which."),
    number("position", "From 0."),
    id_of("process", "process", "Side."),
    number("seq", "Rank of its launch on its device set; -1: none."),
    text("kind", "Of the collective, or \"launch\"."),
    text("op", "The user's op."),
    text("place", "Source line."),
    number("statement", "Of a scenario; -1 otherwise."),
    text("sharding", "Of operands and results."),
    text("state", "\"waiting\", \"left\", \"killed by signal 9\" …"),
    text("shape", "Of the result."),
    text("dtype", "Of the result."),
    text("mesh", "As text."),
    list("devices", "Ordinals."),
    id_or_null("collective", "id of collectives", "The recorded one that it names."),
};
inline constexpr ColumnDef kTraceEvidence[] = {
    number("id", "0."),
    list("evidence", "Of traces/checks/evidence.h, by its field names."),
};
inline constexpr ColumnDef kTraceDropped[] = {
    number("id", "From 1."),
    id_of("process", "process", "Whose."),
    time_or_null("time_ns", "When it was noticed."),
    number("count", "Records."),
    bytes("bytes", "Of them."),
    text("reason", "Why."),
};
inline constexpr ColumnDef kTraceImportLog[] = {
    number("id", "From 1."),
    id_or_null("process", "process", "Whose part."),
    text("source", "File."),
    text("severity", "\"error\": something is missing; \"info\"."),
    text("message", "What, and what it means."),
};

inline constexpr TableDef kVerdictTables[] = {
    {"host_reads", "Where a value left: print, fetch, checkpoint, exit.", kTraceHostReads, "process, begin_ns, seq", true},
    {"diagnoses", "The verdicts.", kTraceDiagnoses, "id"},
    {"participants", "The sides of diagnoses, the guilty first.", kTraceParticipants, "diagnosis, position", true},
    {"evidence", "What the verdict rests on: the ledger's last state.", kTraceEvidence, "id"},
    {"dropped", "Records that were lost.", kTraceDropped, "id"},
    {"import_log", "What went wrong when this file was made.", kTraceImportLog, "id"},
};

}  // namespace shardlab::traces::schema
