// The enums of a trace, and the questions that people ask of it.
#pragma once

#include "traces/schema.h"

namespace shardlab::traces::schema {

inline constexpr EnumValue kTraceProcessState[] = {
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
inline constexpr EnumValue kTraceTrackKind[] = {
    {0, "host", "A process's issuing thread: launches as they are issued, host reads."},
    {1, "batch", "A process's devices, those of one launch in lockstep: compute and collectives, marked batched."},
    {2, "device", "One device; with batch_track, the batched events are its own too."},
};
inline constexpr EnumValue kTraceEventKind[] = {
    {0, "compute", "A step of local computation."},
    {1, "collective", "A call."},
    {2, "host_read", "A value leaves."},
    {3, "launch", "A program is issued (no duration)."},
    {4, "other", "Anything else, from other tools."},
};
inline constexpr EnumValue kTraceCallStatus[] = {
    {0, "ok", "Done."},
    {1, "poisoned", "Issued after a first finding; no data moved."},
    {2, "failed", "Ended in an error."},
    {3, "issued", "Issued, never begun."},
    {4, "open", "Begun, never ended."},
};
inline constexpr EnumValue kTraceMatchState[] = {
    {0, "matched", "All processes of the program issued it."},
    {1, "partial", "Some did not issue it."},
    {2, "mismatched", "Another issued something else in its place."},
};
inline constexpr EnumValue kTraceValueRole[] = {
    {0, "operand", "Taken."},
    {1, "result", "Given."},
};

inline constexpr EnumDef kTraceEnums[] = {
    {"process_state", "Where a process is.", kTraceProcessState},
    {"track_kind", "What a track shows.", kTraceTrackKind},
    {"event_kind", "What an event is.", kTraceEventKind},
    {"call_status", "How a call or launch ended.", kTraceCallStatus},
    {"match_state", "Whether the processes agree in a collective.", kTraceMatchState},
    {"value_role", "Which side of a program a value is on.", kTraceValueRole},
};

inline constexpr SqlViewDef kTraceViews[] = {
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
    {"array_launches", "Which launches took or gave which array, with their words.",
     "SELECT u.array, n.text AS name, r.name AS role, u.process, u.launch, u.position, u.donated, p.name AS program, f.text AS file, "
     "s.line,\n"
     "  s.statement, l.issued_ns, l.started_ns, l.done_ns\n"
     "FROM launch_arrays u JOIN launches l ON l.process = u.process AND l.launch = u.launch JOIN arrays a ON a.id = u.array\n"
     "  JOIN value_role r ON r.code = u.role LEFT JOIN programs p ON p.id = l.program LEFT JOIN strings n ON n.id = a.name\n"
     "  LEFT JOIN sites s ON s.id = l.site LEFT JOIN strings f ON f.id = s.file"},
};

}  // namespace shardlab::traces::schema
