// How diagnoses speak: processes, calls, sides.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "traces/checks/evidence.h"
#include "traces/checks/positions.h"

namespace shardlab {

std::string processes_text(const std::vector<int>& processes);                  // "process 3", "processes 0, 1 and 2"
std::string subject(const std::vector<int>& processes, std::string_view verb);  // "process 3 runs"; verb is "run"
std::string call_text(const Evidence&, const CallEvidence&);                    // "matmul(P('a', None), P('b', None))"
std::string call_at(const Evidence&, const CallEvidence&);                      // call_text + " at toy.cpp:31"
std::string where_text(std::string_view where);                                 // " at toy.cpp:31" or ""
// Where a process that ended was last seen: " at LINE, after OP at LINE"; `in_call`, as " in or after OP at LINE", where it is that line.
std::string last_seen_text(const Positions&, int process, std::string_view in_call);
std::string state_text(const ProcessEvidence&);  // "waiting", "killed by signal 9 (SIGKILL)"
std::string signal_name(int signal);             // "SIGKILL", or "" where it has none
// Where a process is and what it does: "waiting (fetch) at toy.cpp:12; sum(P('a')) at toy.cpp:31 waits for the others".
std::string whereabouts(const Evidence&, int process);
// Of all processes, a line each.
std::string whereabouts_text(const Evidence&);

// The side of one process: at `call`, or at its head, or where it was last seen.
Participant participant(const Positions&, int process, const CallEvidence* call = nullptr);

// What is involved beside the guilty: all who have something unmatched that includes one of them, in order.
std::vector<Participant> sides(const Positions&, const std::vector<int>& guilty, const std::vector<int>& others);

// Begun, to be waited for later.
bool is_async(const ProgramEvidence& program);
std::string_view text_waiting_aside(const ProgramEvidence& program);  // the same for both
// Which properties of two programs differ, in the words of docs/diagnoses.md; and the first line of their texts that does.
std::vector<std::string> differing_fields(const ProgramEvidence* a, const ProgramEvidence* b);
struct LineDifference {
  int line = 0;  // 1-based; 0: the texts are equal
  std::string a, b;
};
LineDifference first_difference(std::string_view a, std::string_view b);

// The name of details on values that processes have seen otherwise before they disagreed.
inline constexpr std::string_view kMayHaveDecided = "may have decided";

// The sides beside each other: those that stand alike are one, and what is equal on all is told once.
struct FoldedSide {
  const Participant* side = nullptr;  // the first of them that says in which functions it was called
  std::vector<int> processes;
};
struct SideTable {
  std::vector<FoldedSide> sides;
  // "op", "seq", "kind", "type", "sharding", "mesh", "at", "state"; empty values where a side has none.
  std::vector<std::pair<std::string, std::vector<std::string>>> differing;  // one value a side; all of them where there is one side
  std::vector<std::pair<std::string, std::string>> common;
};
SideTable side_table(const Diagnosis&);

// The whole diagnosis for a terminal or an error's what(): the message, one line a side with what differs, and what does not.
std::string text_of(const Diagnosis&);

}  // namespace shardlab
