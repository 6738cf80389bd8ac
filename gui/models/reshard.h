// From one layout of an array to another: which slice goes from which device to which, exactly, and how many bytes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gui/models/trace_data.h"

namespace shardlab::gui {

// A sharding as text, taken apart: "P('a', ('b', 'c')) partial over ('d')".
struct Spec {
  std::vector<std::vector<std::string>> axes;  // per dimension
  std::vector<std::string> partial;            // axes over which every device holds only a summand
};
std::optional<Spec> parse_spec(const std::string& text);

// The layout of an array of that shape and spec on a mesh; trailing dimensions may be missing in the spec. Pieces are
// ceil(size / parts) long, the last ones shorter or empty, as the runtime cuts. Nothing where the spec names an unknown axis.
std::shared_ptr<const ArrayLayout> make_layout(const TraceData& trace, int mesh, const std::vector<std::int64_t>& shape, const Spec& spec);

struct Move {
  int source = 0, target = 0;
  std::vector<std::int64_t> begin, end;  // of the slice, in each dimension
  std::int64_t elements = 0;
  std::string slice_text() const;
};

struct MovePlan {
  std::vector<Move> moves;    // by target, then slice
  std::int64_t elements = 0;  // moved
  std::int64_t kept = 0;      // already where they are wanted
  std::int64_t missing = 0;   // held by nobody before
  std::int64_t across = 0;    // moved between processes
};

// Every device that lacks a part of its new shard fetches it from a holder: of its own process where there is one, and of those
// with fewest sent so far.
MovePlan plan_moves(const TraceData& trace, const ArrayLayout& before, const ArrayLayout& after);

// What a reshard is about: layouts before and after, and where it comes from.
struct Reshard {
  std::string name, dtype;
  std::shared_ptr<const ArrayLayout> before, after;  // before: null where it came from the host
  std::vector<std::string> partial_before, partial_after;
  std::string why;       // the planner's cause
  std::string recorded;  // "all-gather, 512 B on the wire"
  bool from_host = false;
};
// Of a collective with its shardings; nothing where the trace does not say them.
std::optional<Reshard> reshard_of_collective(const TraceData& trace, int collective);
// Of an array that a program made out of one of the same shape.
std::optional<Reshard> reshard_of_array(const TraceData& trace, int array);

}  // namespace shardlab::gui
