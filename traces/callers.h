// The calls of the program that led to each side of a diagnosis, with their lines. A live verdict has the functions alone: lines come from
// debugging information, which is read when a trace is made.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "traces/trace_reader.h"

namespace shardlab::traces {

// Innermost first, up to main. Borrowed from the reader.
using Callers = std::vector<FrameRow>;

// "step (train.cpp:31), train (train.cpp:60), main (train.cpp:72)": at most kCallersTold of them, then "…". `where`, the launch's own
// place, is told beside it, and its line not again.
inline constexpr std::size_t kCallersTold = 8;
std::string callers_text(std::span<const FrameRow> callers, std::string_view where = {});

// Whether a launch, by its rank on its devices and its program, is the one that the side stands in.
bool stands_in(const Participant& side, std::int64_t seq, std::string_view program, const std::vector<int>& devices);

// By diagnosis and participant; empty where the trace does not tell. Puts the text of what it tells into each participant.
std::vector<std::vector<Callers>> add_callers(TraceReader& reader, std::vector<Diagnosis>& diagnoses);

}  // namespace shardlab::traces
