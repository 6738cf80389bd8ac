// Where a program's work came from, as a tree: files, their lines, the ops there, or the functions that called each other down to what they
// launched; what each took, sent, and which processes did it.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "gui/models/trace_data.h"

namespace shardlab::gui {

// A file, a line or statement in it, or an op there; or a line of a function that called, or a program that it launched. What its children
// did is its own, too.
struct CallSite {
  std::string name;           // "toy.cpp", "line 11 in main", "all-reduce of matmul"; "main (toy.cpp:50)"
  int site = -1;              // of the trace; the first of a line; -1: a file, or no place was recorded
  int frame = -1;             // of the trace, of a line of a function that called
  int parent = -1;            // index of a node; -1: a file
  std::vector<int> children;  // lines by number, ops by time
  std::int64_t calls = 0;     // launches issued there, by all processes
  std::int64_t events = 0;
  Ns time = 0;                  // of its events on all lanes
  Ns wait = 0;                  // for peers, of that
  std::int64_t wire_bytes = 0;  // of collectives, by the ring model
  std::vector<int> processes;   // that issued launches or have events there, ascending
  int rank_class = -1;          // equal lists of processes have equal numbers; 0: all that did anything; -1: none
  std::vector<int> at_end;      // processes that the trace says stood there at the end
  int lane = -1;                // of its longest event
  std::int64_t event = -1;
};

struct CallSites {
  std::vector<CallSite> nodes;
  std::vector<int> files;  // by name
  Ns time = 0;             // of all of them
  // The node of a site's line, -1 where there is none.
  int line_of(int site) const { return site >= 0 && std::size_t(site) < lines.size() ? lines[std::size_t(site)] : -1; }
  std::vector<int> lines;  // by site
};

// Of events that meet `window` (they count whole), and launches issued in it. What was left when it was stopped is not counted.
CallSites make_call_sites(const TraceData& trace, TimeRange window, const std::stop_token& stop = {});

// Whether the trace has the functions above its launches.
bool knows_callers(const TraceData& trace);
// The functions of the program from main down to the launches that were issued in `window`, as of a parallel stack trace: equal stacks of
// all processes are one path. Time is that of the launches, on each process that ran them; waiting and events are not told apart.
CallSites make_call_tree(const TraceData& trace, TimeRange window, const std::stop_token& stop = {});

}  // namespace shardlab::gui
