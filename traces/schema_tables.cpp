// The tables, enums and views themselves.
#include "traces/schema.h"

namespace shardlab::traces {
namespace {

constexpr auto kText = ColumnType::kText;
constexpr auto kBlob = ColumnType::kBlob;
constexpr auto kInt = ColumnType::kInteger;

constexpr ColumnDef number(std::string_view name, std::string_view doc) { return {name, kInt, "", doc}; }
constexpr ColumnDef real_or_null(std::string_view name, std::string_view doc) { return {name, ColumnType::kReal, "", doc, true}; }
constexpr ColumnDef time(std::string_view name, std::string_view doc) { return {name, kInt, "ns", doc}; }
constexpr ColumnDef time_or_null(std::string_view name, std::string_view doc) { return {name, kInt, "ns", doc, true}; }
constexpr ColumnDef bytes(std::string_view name, std::string_view doc) { return {name, kInt, "bytes", doc}; }
constexpr ColumnDef id_of(std::string_view name, std::string_view unit, std::string_view doc) { return {name, kInt, unit, doc}; }
constexpr ColumnDef id_or_null(std::string_view name, std::string_view unit, std::string_view doc) { return {name, kInt, unit, doc, true}; }
constexpr ColumnDef word(std::string_view name, std::string_view doc) { return {name, kInt, "id of strings", doc}; }
constexpr ColumnDef text(std::string_view name, std::string_view doc) { return {name, kText, "", doc}; }
constexpr ColumnDef list(std::string_view name, std::string_view doc) { return {name, kText, "JSON", doc}; }

constexpr ColumnDef kTraceMeta[] = {
    text("key", "The name."),
    text("value", "The value, as text."),
};
constexpr ColumnDef kTraceStrings[] = {
    number("id", "From 1; 0 elsewhere means none."),
    text("text", "The text."),
};
constexpr ColumnDef kTraceSites[] = {
    number("id", "From 1; 0 elsewhere means unknown."),
    word("file", "Source file, or the scenario's name."),
    word("function", "Enclosing function; none for statements."),
    number("line", "1-based; 0 for statements."),
    number("statement", "Index in the scenario's program; -1 for C++."),
    word("pointer", "The statement's JSON pointer; none for C++."),
};
constexpr ColumnDef kTraceProcesses[] = {
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
constexpr ColumnDef kTraceEpochs[] = {
    number("epoch", "From 0, which all processes began."),
    time("first_ns", "When the first of them began it."),
    list("live", "The processes that went on together, ascending."),
    list("gone", "Those of the epoch before that are not among them, or are another incarnation."),
    list("came", "Those that are among them and were not before, or are another incarnation."),
};
constexpr ColumnDef kTraceDevices[] = {
    number("ordinal", "Global ordinal."),
    id_of("process", "process", "Its owner."),
    number("local_index", "Its place among its process's devices."),
    text("kind", "\"cpu\", \"cuda\"."),
    text("name", "For people."),
};
constexpr ColumnDef kTraceTracks[] = {
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
constexpr ColumnDef kTraceEvents[] = {
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
           "ended, "
           "4 error (poisoned, failed, or named by a diagnosis), 8 waited for peers."),
};
constexpr ColumnDef kTracePrograms[] = {
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
constexpr ColumnDef kTraceProgramValues[] = {
    id_of("program", "id of programs", "Whose."),
    id_of("role", "code of value_role", "Which side."),
    number("position", "From 0."),
    text("name", "The user's, or empty."),
    text("dtype", "\"float32\"."),
    list("shape", "Global."),
    text("sharding", "As text."),
};
constexpr ColumnDef kTraceProgramCollectives[] = {
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
constexpr ColumnDef kTraceLaunches[] = {
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
constexpr ColumnDef kTraceFrames[] = {
    number("id", "From 1; 0 elsewhere means none."),
    id_of("parent", "id of frames", "Who called; 0: nobody above it is known."),
    word("function", "Without parameters and template arguments."),
    word("file", "Source file; none where the program has no debugging information."),
    number("line", "1-based: of the call within the function; 0 where unknown."),
};
constexpr ColumnDef kTraceCollectives[] = {
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
constexpr ColumnDef kTraceMembers[] = {
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
constexpr ColumnDef kTraceWaitEdges[] = {
    id_of("process", "process", "That waited."), time("begin_ns", "Begin."),
    id_of("peer", "process", "Waited for."),     id_of("collective", "id of collectives", "In which."),
    time_or_null("end_ns", "NULL: to the end."),
};
constexpr ColumnDef kTraceMeshes[] = {
    number("id", "From 1."),
    text("text", "\"mesh(a=4, b=2)\"."),
};
constexpr ColumnDef kTraceMeshAxes[] = {
    id_of("mesh", "id of meshes", "Whose."),
    number("position", "From 0, slowest first."),
    text("name", "Axis."),
    number("size", "Devices along it."),
};
constexpr ColumnDef kTraceMeshDevices[] = {
    id_of("mesh", "id of meshes", "Whose."),
    number("position", "From 0."),
    id_of("device", "ordinal", "There."),
};
constexpr ColumnDef kTraceLayouts[] = {
    number("id", "From 1."),
    id_of("mesh", "id of meshes", "0: single device."),
    list("shape", "Global."),
    text("spec", "\"P('a', None)\"."),
    list("axes", "Per dimension the list of mesh axes that shard it."),
};
constexpr ColumnDef kTraceShards[] = {
    id_of("layout", "id of layouts", "Of which."),
    id_of("device", "ordinal", "Holder."),
    number("replica", "Rank among the holders of the same part, from 0."),
    number("elements", "Of the part."),
};
constexpr ColumnDef kTraceShardRanges[] = {
    id_of("layout", "id of layouts", "Of which."),
    id_of("device", "ordinal", "Holder."),
    number("dimension", "From 0."),
    number("start", "First index."),
    number("stop", "One past the last."),
};
constexpr ColumnDef kTraceArrays[] = {
    number("id", "From 1, by time."),
    word("name", "The user's, or none."),
    word("dtype", "\"float32\"."),
    id_of("layout", "id of layouts", "Where it lies; its shape too."),
    number("committed", "1: placed by the user; 0: free to move."),
    id_of("process", "process", "The lowest that made it."),
    id_or_null("launch", "launch number of that process", "That made it."),
    id_of("site", "id of sites", "The user's line."),
    time("time_ns", "When it was made."),
    word("processes", "JSON: those that made it, ascending."),
    bytes("element_bytes", "Of one element."),
};
constexpr ColumnDef kTraceArrayHolders[] = {
    id_of("array", "id of arrays", "Which."),
    id_of("process", "process", "Whose devices hold their parts of it."),
    time_or_null("begin_ns",
                 "When the launch that makes it began there, or when it was put together; NULL: the launch never began, or failed."),
};
constexpr ColumnDef kTraceArrayEnds[] = {
    id_of("array", "id of arrays", "Which."),
    id_of("process", "process", "Whose devices let their parts of it go."),
    time("end_ns", "When: nobody held it any more and no launch of the process needed it, or it was donated."),
    number("donated", "1: its memory went to a program that it was given to."),
};
constexpr ColumnDef kTraceChecksums[] = {
    id_of("array", "id of arrays", "Which."),
    id_of("device", "ordinal",
          "The first device of the process that holds the part, and these values; its ranges are those of the layout."),
    id_of("process", "process", "Who computed it."),
    number("hash", "Of every bit: the sum, modulo 2^64, of mix(mix(index) ^ bits) over the numbers; as a signed integer."),
    number("numbers", "Elements; twice as many for complex ones, whose parts are numbers of their own."),
    number("nans", "Not a number."),
    number("infinities", "Of either sign."),
    real_or_null("min", "Of the finite ones; NULL where there is none."),
    real_or_null("max", "The same."),
    real_or_null("sum", "Of the finite ones; NULL here and below where it overflows both ways."),
    real_or_null("squares", "Of the finite ones, the sum of their squares."),
    real_or_null("sketch0", "Of the finite ones, the sum with the sign that bit 0 of mix(index) chooses; likewise the next three."),
    real_or_null("sketch1", "By bit 1."),
    real_or_null("sketch2", "By bit 2."),
    real_or_null("sketch3", "By bit 3."),
};
constexpr ColumnDef kTraceHostReads[] = {
    id_of("process", "process", "Whose."), time("begin_ns", "Asked."),    number("seq", "Tells reads of one time apart."),
    time_or_null("end_ns", "Had."),        word("what", "What is read."), id_of("site", "id of sites", "The user's line."),
};
constexpr ColumnDef kTraceDiagnoses[] = {
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
constexpr ColumnDef kTraceParticipants[] = {
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
constexpr ColumnDef kTraceEvidence[] = {
    number("id", "0."),
    list("evidence", "Of traces/checks/evidence.h, by its field names."),
};
constexpr ColumnDef kTraceDropped[] = {
    number("id", "From 1."),
    id_of("process", "process", "Whose."),
    time_or_null("time_ns", "When it was noticed."),
    number("count", "Records."),
    bytes("bytes", "Of them."),
    text("reason", "Why."),
};
constexpr ColumnDef kTraceImportLog[] = {
    number("id", "From 1."),
    id_or_null("process", "process", "Whose part."),
    text("source", "File."),
    text("severity", "\"error\": something is missing; \"info\"."),
    text("message", "What, and what it means."),
};

constexpr TableDef kTraceTables[] = {
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
    {"meshes", "Meshes that arrays lie on.", kTraceMeshes, "id"},
    {"mesh_axes", "Axes of meshes.", kTraceMeshAxes, "mesh, position", true},
    {"mesh_devices", "Devices of meshes, last axis fastest.", kTraceMeshDevices, "mesh, position", true},
    {"layouts", "How arrays of one shape and sharding lie on devices; shared by all arrays that lie so.", kTraceLayouts, "id"},
    {"shards", "Which devices hold a part.", kTraceShards, "layout, device", true},
    {"shard_ranges", "Which part: [start, stop) in each dimension.", kTraceShardRanges, "layout, device, dimension", true},
    {"arrays", "Arrays, one row for all processes that made them.", kTraceArrays, "id"},
    {"array_holders", "Since when each process's devices hold an array.", kTraceArrayHolders, "array, process", true, 1},
    {"array_ends", "Until when; no row: to the end of what the process recorded.", kTraceArrayEnds, "array, process", true, 1},
    {"checksums",
     "What the values of arrays were, part by part: runtime/core/checksum.h defines them. They add up over the parts of an array, equal "
     "replicas taken once, whatever the mesh. No rows where the run was not asked for them.",
     kTraceChecksums, "array, device", true, 2},
    {"host_reads", "Where a value left: print, fetch, checkpoint, exit.", kTraceHostReads, "process, begin_ns, seq", true},
    {"diagnoses", "The verdicts.", kTraceDiagnoses, "id"},
    {"participants", "The sides of diagnoses, the guilty first.", kTraceParticipants, "diagnosis, position", true},
    {"evidence", "What the verdict rests on: the ledger's last state.", kTraceEvidence, "id"},
    {"dropped", "Records that were lost.", kTraceDropped, "id"},
    {"import_log", "What went wrong when this file was made.", kTraceImportLog, "id"},
};

constexpr EnumValue kTraceProcessState[] = {
    {0, "joining", "Not yet heard of."},
    {1, "running", "Computes."},
    {2, "reading", "Blocked at a host-visible read until its calls are matched."},
    {3, "waiting", "Blocked in a call, for peers."},
    {4, "left", "Ended normally."},
    {5, "raised", "Ended in an error."},
    {6, "exited", "Ended with a code, or without leaving the job."},
    {7, "killed", "By a signal."},
    {8, "silent", "No heartbeat."},
};
constexpr EnumValue kTraceTrackKind[] = {
    {0, "host", "A process's issuing thread: launches as they are issued, host reads."},
    {1, "batch", "A process's devices, those of one launch in lockstep: compute and collectives, marked batched."},
    {2, "device", "One device; with batch_track, the batched events are its own too."},
};
constexpr EnumValue kTraceEventKind[] = {
    {0, "compute", "A step of local computation."},
    {1, "collective", "A call."},
    {2, "host_read", "A value leaves."},
    {3, "launch", "A program is issued (no duration)."},
    {4, "other", "Anything else, from other tools."},
};
constexpr EnumValue kTraceCallStatus[] = {
    {0, "ok", "Done."},
    {1, "poisoned", "Issued after a first finding; no data moved."},
    {2, "failed", "Ended in an error."},
    {3, "issued", "Issued, never begun."},
    {4, "open", "Begun, never ended."},
};
constexpr EnumValue kTraceMatchState[] = {
    {0, "matched", "All processes of the program issued it."},
    {1, "partial", "Some did not issue it."},
    {2, "mismatched", "Another issued something else in its place."},
};
constexpr EnumValue kTraceValueRole[] = {
    {0, "operand", "Taken."},
    {1, "result", "Given."},
};

constexpr EnumDef kTraceEnums[] = {
    {"process_state", "Where a process is.", kTraceProcessState},
    {"track_kind", "What a track shows.", kTraceTrackKind},
    {"event_kind", "What an event is.", kTraceEventKind},
    {"call_status", "How a call or launch ended.", kTraceCallStatus},
    {"match_state", "Whether the processes agree in a collective.", kTraceMatchState},
    {"value_role", "Which side of a program a value is on.", kTraceValueRole},
};

constexpr SqlViewDef kTraceViews[] = {
    {"collective_text", "Collectives with their words.",
     "SELECT c.id, c.seq, k.text AS kind, g.text AS groups, p.text AS pairs, a.text AS axes, t.text AS dtype, h.text AS shape, c.bytes,\n"
     "  c.wire_bytes, r.text AS reduction, o.text AS op, u.text AS cause, f.text AS file, s.line, s.statement, m.name AS state,\n"
     "  c.first_ns, c.last_ns, c.program, c.call, c.launch, c.diagnosis\n"
     "FROM collectives c LEFT JOIN strings k ON k.id = c.kind LEFT JOIN strings g ON g.id = c.groups LEFT JOIN strings p ON p.id = "
     "c.pairs\n"
     "  LEFT JOIN strings a ON a.id = c.axes LEFT JOIN strings t ON t.id = c.dtype LEFT JOIN strings h ON h.id = c.shape\n"
     "  LEFT JOIN strings r ON r.id = c.reduction LEFT JOIN strings o ON o.id = c.op LEFT JOIN strings u ON u.id = c.cause\n"
     "  LEFT JOIN sites s ON s.id = c.site LEFT JOIN strings f ON f.id = s.file LEFT JOIN match_state m ON m.code = c.state"},
    {"member_devices", "Members of collectives, one row a device.",
     "SELECT m.collective, d.ordinal AS device, m.process, m.issued_ns, m.start_ns, m.wait_ns, m.end_ns, m.moved_bytes, m.status, m.site\n"
     "FROM members m JOIN collectives c ON c.id = m.collective JOIN devices d ON d.process = m.process\n"
     "WHERE m.device = d.ordinal OR m.device = -1 AND d.ordinal IN (\n"
     "  SELECT e.atom FROM strings s, json_tree(s.text) e WHERE s.id IN (c.groups, c.pairs) AND e.type = 'integer')"},
    {"array_shards", "Which device holds which part of which array.",
     "SELECT a.id AS array, n.text AS name, s.device, s.replica, r.dimension, r.start, r.stop\n"
     "FROM arrays a LEFT JOIN strings n ON n.id = a.name JOIN shards s ON s.layout = a.layout\n"
     "  LEFT JOIN shard_ranges r ON r.layout = s.layout AND r.device = s.device"},
    {"array_memory",
     "What each device holds of which array, from when to when. Every device counts its own part, as on a machine where each has memory of "
     "its own: virtual devices of one process share the memory of equal replicas, and this does not say so.",
     "SELECT a.id AS array, n.text AS name, h.process, s.device, s.elements * a.element_bytes AS bytes, h.begin_ns, e.end_ns, e.donated\n"
     "FROM array_holders h JOIN arrays a ON a.id = h.array JOIN shards s ON s.layout = a.layout\n"
     "  JOIN devices d ON d.ordinal = s.device AND d.process = h.process LEFT JOIN strings n ON n.id = a.name\n"
     "  LEFT JOIN array_ends e ON e.array = h.array AND e.process = h.process WHERE h.begin_ns IS NOT NULL"},
};

constexpr ColumnDef kPartMeta[] = {
    text("key", "The name."),
    text("value", "The value, as text."),
};
constexpr ColumnDef kPartRecords[] = {
    number("position", "Place in the ring's stream of bytes."),
    number("type", "Of traces/recorder/record.h."),
    {"body", kBlob, "", "Encoded as there."},
};
constexpr ColumnDef kPartDropped[] = {
    number("id", "From 1."), time_or_null("time_ns", "When it was noticed."), number("count", "Records."), bytes("bytes", "Of them."),
    text("reason", "Why."),
};

constexpr TableDef kPartTables[] = {
    {"meta", "What holds for the part, by key: schema_version, process, pid, closed (0 or 1), drained_to (position in the ring's stream).",
     kPartMeta, "key", true},
    {"records", "The observer's events as they lay in the ring, in order.", kPartRecords, "position"},
    {"dropped", "Records that were lost.", kPartDropped, "id"},
};

constexpr Schema kTraceSchema{"The merged trace", kTraceApplicationId, kTraceTables, kTraceEnums, kTraceViews};
constexpr Schema kPartSchema{"One process's part", kPartApplicationId, kPartTables, {}, {}};

}  // namespace

const Schema& trace_schema() { return kTraceSchema; }
const Schema& part_schema() { return kPartSchema; }

}  // namespace shardlab::traces
