// What a trace knows of the sides of a diagnosis beyond what the verdict says: the launch that a side stands in, the calls of the program
// that led to it, with their lines, and the arrays that it takes and gives.
#pragma once

#include <string>
#include <vector>

#include "gui/models/trace_data.h"

namespace shardlab::gui {

// A step of the process's own, or what a loop went by, beside the sides that disagree.
bool is_own_step(const Participant& side);

// The launch that the side stands in; null where it stands in none, or its record is missing.
const Launch* launch_of_side(const TraceData& trace, const Participant& side);

// "step (toy.cpp:31), train (toy.cpp:60), main (toy.cpp:72)": from where the launch was issued to main; "" where the trace does not tell.
std::string callers_text(const TraceData& trace, const Launch& launch);

// A place of a verdict, "toy.cpp:31", with the folders of its file, where the trace knows one file of that name alone.
std::string place_with_folders(const TraceData& trace, const std::string& where);

// An array that the side's launch takes or gives.
struct SideArray {
  int array = -1;
  bool gives = false, donated = false;
  std::string made;  // "device_put at toy.cpp:31": who made what it takes
};
// By position; empty where the trace does not tell.
std::vector<SideArray> arrays_of_side(const TraceData& trace, const Launch& launch);

}  // namespace shardlab::gui
