// The tables of arrays: where they lie, who holds them, which launches took and gave them, what their values were.
#pragma once

#include "traces/schema_columns.h"

namespace shardlab::traces::schema {

inline constexpr ColumnDef kTraceMeshes[] = {
    number("id", "From 1."),
    text("text", "\"mesh(a=4, b=2)\"."),
};
inline constexpr ColumnDef kTraceMeshAxes[] = {
    id_of("mesh", "id of meshes", "Whose."),
    number("position", "From 0, slowest first."),
    text("name", "Axis."),
    number("size", "Devices along it."),
};
inline constexpr ColumnDef kTraceMeshDevices[] = {
    id_of("mesh", "id of meshes", "Whose."),
    number("position", "From 0."),
    id_of("device", "ordinal", "There."),
};
inline constexpr ColumnDef kTraceLayouts[] = {
    number("id", "From 1."),
    id_of("mesh", "id of meshes", "0: single device."),
    list("shape", "Global."),
    text("spec", "\"P('a', None)\"."),
    list("axes", "Per dimension the list of mesh axes that shard it."),
};
inline constexpr ColumnDef kTraceShards[] = {
    id_of("layout", "id of layouts", "Of which."),
    id_of("device", "ordinal", "Holder."),
    number("replica", "Rank among the holders of the same part, from 0."),
    number("elements", "Of the part."),
};
inline constexpr ColumnDef kTraceShardRanges[] = {
    id_of("layout", "id of layouts", "Of which."),
    id_of("device", "ordinal", "Holder."),
    number("dimension", "From 0."),
    number("start", "First index."),
    number("stop", "One past the last."),
};
inline constexpr ColumnDef kTraceArrays[] = {
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
inline constexpr ColumnDef kTraceArrayHolders[] = {
    id_of("array", "id of arrays", "Which."),
    id_of("process", "process", "Whose devices hold their parts of it."),
    time_or_null("begin_ns",
                 "When the launch that makes it began there, or when it was put together; NULL: the launch never began, or failed."),
};
inline constexpr ColumnDef kTraceArrayEnds[] = {
    id_of("array", "id of arrays", "Which."),
    id_of("process", "process", "Whose devices let their parts of it go."),
    time("end_ns", "When: nobody held it any more and no launch of the process needed it, or it was donated."),
    number("donated", "1: its memory went to a program that it was given to."),
};
inline constexpr ColumnDef kTraceLaunchArrays[] = {
    id_of("process", "process", "Issuer."),
    number("launch", "Its number of the launch."),
    id_of("role", "code of value_role", "Whether it took the array or gave it."),
    number("position", "Among the operands or the results of the launch's program, from 0; an array that is given twice has two rows."),
    id_of("array", "id of arrays", "Which."),
    number("donated", "1: its memory went to the launch."),
};
inline constexpr ColumnDef kTraceChecksums[] = {
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

inline constexpr TableDef kArrayTables[] = {
    {"meshes", "Meshes that arrays lie on.", kTraceMeshes, "id"},
    {"mesh_axes", "Axes of meshes.", kTraceMeshAxes, "mesh, position", true},
    {"mesh_devices", "Devices of meshes, last axis fastest.", kTraceMeshDevices, "mesh, position", true},
    {"layouts", "How arrays of one shape and sharding lie on devices; shared by all arrays that lie so.", kTraceLayouts, "id"},
    {"shards", "Which devices hold a part.", kTraceShards, "layout, device", true},
    {"shard_ranges", "Which part: [start, stop) in each dimension.", kTraceShardRanges, "layout, device, dimension", true},
    {"arrays", "Arrays, one row for all processes that made them.", kTraceArrays, "id"},
    {"array_holders", "Since when each process's devices hold an array.", kTraceArrayHolders, "array, process", true, 1},
    {"array_ends", "Until when; no row: to the end of what the process recorded.", kTraceArrayEnds, "array, process", true, 1},
    {"launch_arrays",
     "Which arrays each launch took and gave, as each process issued it. No row of what was never told of: host data without a name, and "
     "arrays that were made before recording began.",
     kTraceLaunchArrays, "process, launch, role, position", true, 3},
    {"checksums",
     "What the values of arrays were, part by part: runtime/core/checksum.h defines them. They add up over the parts of an array, equal "
     "replicas taken once, whatever the mesh. No rows where the run was not asked for them.",
     kTraceChecksums, "array, device", true, 2},
};

}  // namespace shardlab::traces::schema
