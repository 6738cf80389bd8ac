// The tables of what ran: processes, devices, programs, launches, events, collectives.
#pragma once

#include "traces/schema_columns.h"

namespace shardlab::traces::schema {

inline constexpr ColumnDef kTraceMeta[] = {
    text("key", "The name."),
    text("value", "The value, as text."),
};
inline constexpr ColumnDef kTraceStrings[] = {
    number("id", "From 1; 0 elsewhere means none."),
    text("text", "The text."),
};
inline constexpr ColumnDef kTraceSites[] = {
    number("id", "From 1; 0 elsewhere means unknown."),
    word("file", "Source file, or the scenario's name."),
    word("function", "Enclosing function; none for statements."),
    number("line", "1-based; 0 for statements."),
    number("statement", "Index in the scenario's program; -1 for C++."),
    word("pointer", "The statement's JSON pointer; none for C++."),
};
inline constexpr ColumnDef kTraceProcesses[] = {
    number("process", "Process index."),
    number("pid", "Process id on its host; 0 where unknown."),
    text("host", "Host name."),
    id_of("state", "code of process_state", "Where it was at the end."),
    number("exit_code", "Of exit; 0 where it did not exit."),
    number("signal", "That killed it; 0 for none."),
    text("error", "Its last words: the error's text, or the end of its stderr."),
    text("place", "The line of the error, the read or the call it was in."),
    number("statement", "Of a scenario; -1 otherwise."),
    text("doing", "\"print\", \"fetch\", \"exit\" …"),
    number("issued", "Launches that span processes, issued."),
    number("matched", "Of these, matched on all processes."),
    time_or_null("first_ns", "Its first record."),
    time_or_null("last_ns", "Its last record."),
    number("closed", "1 where its recorder ended in order, 0 where the rest was drained from what it left."),
};
inline constexpr ColumnDef kTraceEpochs[] = {
    number("epoch", "From 0, which all processes began."),
    time("first_ns", "When the first of them began it."),
    list("live", "The processes that went on together, ascending."),
    list("gone", "Those of the epoch before that are not among them, or are another incarnation."),
    list("came", "Those that are among them and were not before, or are another incarnation."),
};
inline constexpr ColumnDef kTraceDevices[] = {
    number("ordinal", "Global ordinal."),
    id_of("process", "process", "Its owner."),
    number("local_index", "Its place among its process's devices."),
    text("kind", "\"cpu\", \"cuda\"."),
    text("name", "For people."),
};
inline constexpr ColumnDef kTraceTracks[] = {
    number("id", "From 1."),
    id_of("kind", "code of track_kind", "What it shows."),
    id_of("process", "process", "Whose."),
    id_or_null("device", "ordinal", "With kind device."),
    id_or_null("batch_track", "id of tracks", "With kind device: the track whose events marked batched are this device's too."),
    text("name", "For people."),
    number("event_count", "Of events, those of batch_track that concern the device included."),
    time_or_null("first_ns", "Begin of the first event."),
    time_or_null("last_ns", "End of the last event."),
    time("busy_ns", "Sum of durations."),
    number("error_count", "Events with flag error."),
    number("open_count", "Events that never ended."),
};
inline constexpr ColumnDef kTraceEvents[] = {
    id_of("track", "id of tracks", "Where."),
    time("time_ns", "Begin."),
    number("seq", "Tells events of one time apart."),
    time_or_null("duration_ns", "NULL: it never ended."),
    id_of("kind", "code of event_kind", "What."),
    word("name", "Op, collective kind, or what is read."),
    id_or_null("collective", "id of collectives", "With kind collective."),
    id_or_null("launch", "launch number of the track's process", "That it is part of."),
    id_of("site", "id of sites", "The user's line."),
    number("flags",
           "Bits: 1 batched (one span for all local devices of its launch's program; a collective's only for its member devices), 2 never "
           "ended, 4 error (poisoned, failed, or named by a diagnosis), 8 waited for peers."),
};
inline constexpr ColumnDef kTracePrograms[] = {
    number("id", "From 1."),
    number("fingerprint", "First 64 bits of SHA-256 of text, as a signed integer."),
    text("name", "The op's or function's name."),
    text("text", "Canonical text: what must be equal on all processes."),
    text("mesh", "Mesh, as text."),
    list("devices", "Ordinals, in order."),
    list("processes", "That own any of them."),
    bytes("intermediate_bytes",
          "Of one run, at most, on the device that holds most: the values between its steps, beside operands and results; not what an op "
          "needs while it computes one. Where steps are not run but simulated, those that a run would fuse count too."),
};
inline constexpr ColumnDef kTraceProgramValues[] = {
    id_of("program", "id of programs", "Whose."),
    id_of("role", "code of value_role", "Which side."),
    number("position", "From 0."),
    text("name", "The user's, or empty."),
    text("dtype", "\"float32\"."),
    list("shape", "Global."),
    text("sharding", "As text."),
};
inline constexpr ColumnDef kTraceProgramCollectives[] = {
    id_of("program", "id of programs", "Whose."),
    number("call", "Index in the program, from 0."),
    word("kind", "HLO's name."),
    word("groups", "JSON: lists of ordinals."),
    word("pairs", "JSON: [source, target] of permutes and transfers."),
    word("axes", "JSON: mesh axes the groups run along."),
    word("dtype", "\"float32\"."),
    word("shape", "JSON: of the result on one device."),
    bytes("bytes", "Of the result on one device."),
    bytes("wire_bytes", "The ring model's count over all devices."),
    word("reduction", "\"sum\" …"),
    word("op", "The user's op that needs it."),
    word("cause", "Why."),
    word("sharding_before", "Of the value."),
    word("sharding_after", "Of the value."),
    id_of("site", "id of sites", "In the program."),
};
inline constexpr ColumnDef kTraceLaunches[] = {
    id_of("process", "process", "Issuer."),
    number("launch", "Its number, from 0."),
    number("seq", "Rank on its device set."),
    id_of("program", "id of programs", "What ran; 0 where its record was lost."),
    id_of("site", "id of sites", "Where it was issued."),
    time("issued_ns", "Issue."),
    time_or_null("started_ns", "Execution began."),
    time_or_null("done_ns", "Execution ended."),
    id_of("status", "code of call_status", "How."),
    id_of("frame", "id of frames", "The innermost of the program's calls on the stack at its issue; 0: none is known. Since version 2."),
};
inline constexpr ColumnDef kTraceFrames[] = {
    number("id", "From 1; 0 elsewhere means none."),
    id_of("parent", "id of frames", "Who called; 0: nobody above it is known."),
    word("function", "Without parameters and template arguments."),
    word("file", "Source file; none where the program has no debugging information."),
    number("line", "1-based: of the call within the function; 0 where unknown."),
};
inline constexpr ColumnDef kTraceCollectives[] = {
    number("id", "From 1."),
    number("seq", "Rank of its launch on its device set."),
    id_of("program", "id of programs", "Whose."),
    number("call", "Index in the program."),
    number("launch", "The launch's number on the lowest process that issued it."),
    word("kind", "HLO's name, or \"transfer\"."),
    word("groups", "JSON: lists of ordinals."),
    word("pairs", "JSON: [source, target]."),
    word("axes", "JSON: mesh axes."),
    word("dtype", "\"float32\"."),
    word("shape", "JSON: of the result on one device."),
    bytes("bytes", "Of the result on one device."),
    bytes("wire_bytes", "The ring model's count over all devices."),
    word("reduction", "\"sum\" …"),
    word("op", "The user's op."),
    word("cause", "Why."),
    word("sharding_before", "Of the value."),
    word("sharding_after", "Of the value."),
    id_of("site", "id of sites", "The user's line, on the lowest process."),
    id_of("state", "code of match_state", "Whether the processes agree."),
    time_or_null("first_ns", "First member's start, or issue."),
    time_or_null("last_ns", "Last member's end; NULL while one is open."),
    id_or_null("diagnosis", "id of diagnoses", "That names it."),
};
inline constexpr ColumnDef kTraceMembers[] = {
    id_of("collective", "id of collectives", "Of which."),
    id_of("process", "process", "Whose."),
    number("device", "Ordinal; -1: all devices of the process that are in its groups or pairs, batched."),
    number("launch", "The process's number of the launch."),
    id_of("site", "id of sites", "Where the process issued it."),
    time("issued_ns", "Issue of its launch."),
    time_or_null("start_ns", "The call began."),
    time_or_null("wait_ns", "It began to wait for peers; NULL: it never did."),
    time_or_null("end_ns", "The call ended."),
    bytes("moved_bytes", "Seen to leave for other processes."),
    id_of("status", "code of call_status", "How."),
};
inline constexpr ColumnDef kTraceWaitEdges[] = {
    id_of("process", "process", "That waited."), time("begin_ns", "Begin."),
    id_of("peer", "process", "Waited for."),     id_of("collective", "id of collectives", "In which."),
    time_or_null("end_ns", "NULL: to the end."),
};

inline constexpr TableDef kRunTables[] = {
    {"meta",
     "What holds for the whole file, by key: schema_version, shardlab_version, process_count, device_count, command_line, clock_domain, "
     "first_ns, last_ns, truncated (0 or 1), running (1: made while the run went on), growth (of a trace that grows: what came and went "
     "with its last growth, as JSON), title.",
     kTraceMeta, "key", true},
    {"strings", "Every text that repeats, once.", kTraceStrings, "id"},
    {"sites", "Call sites: a line of a C++ program, or a statement of a scenario.", kTraceSites, "id"},
    {"processes", "The processes of the job and how each ended.", kTraceProcesses, "process"},
    {"epochs", "Of an elastic job: the sets of processes that went on together, one after the other; no rows for other jobs.", kTraceEpochs,
     "epoch"},
    {"devices", "All devices, by ordinal: their place in devices().", kTraceDevices, "ordinal"},
    {"tracks", "The lanes of the timeline with their summaries, so that a first picture needs no scan of events.", kTraceTracks, "id"},
    {"events", "What happened on a track, in order.", kTraceEvents, "track, time_ns, seq", true},
    {"programs", "Captured and partitioned functions, one row for all processes that agree in them.", kTracePrograms, "id"},
    {"program_values", "Operands and results of programs.", kTraceProgramValues, "program, role, position", true},
    {"program_collectives", "The collectives that each run of a program makes.", kTraceProgramCollectives, "program, call", true},
    {"launches", "Runs of programs, as each process issued them.", kTraceLaunches, "process, launch", true},
    {"frames",
     "Calls of the program on whose stacks launches were issued, as a tree from main on: each row is a line of a function that calls.",
     kTraceFrames, "id", false, 2},
    {"collectives", "One row per logical collective over all its groups and processes, by time.", kTraceCollectives, "id"},
    {"members", "One side of a collective: a process with its devices in it, or one device where devices have times of their own.",
     kTraceMembers, "collective, process, device", true},
    {"wait_edges", "Who waited for whom, when: the wait-for graph at a time is one range query.", kTraceWaitEdges,
     "process, begin_ns, peer, collective", true},
};

}  // namespace shardlab::traces::schema
