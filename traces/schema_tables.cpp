// The two schemas, put together of their tables, enums and views.
#include <algorithm>
#include <array>

#include "traces/schema_arrays.h"
#include "traces/schema_run.h"
#include "traces/schema_verdict.h"
#include "traces/schema_words.h"

namespace shardlab::traces {
namespace {

using namespace schema;

template <std::size_t... Sizes>
constexpr auto joined(const TableDef (&... groups)[Sizes]) {
  std::array<TableDef, (Sizes + ...)> all;
  auto at = all.begin();
  ((at = std::copy(std::begin(groups), std::end(groups), at)), ...);
  return all;
}
constexpr auto kTraceTables = joined(kRunTables, kArrayTables, kVerdictTables);

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
