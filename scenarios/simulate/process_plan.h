// What one process of a run would do, step by step, known beforehand.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/comm/launch.h"
#include "traces/checks/evidence.h"

namespace shardlab::simulate {

// What a trace says of a launch and of the arrays that it makes, beyond what a verdict needs.
struct LaunchRecord {
  comm::Launch launch;  // its times are those of the run
  std::vector<comm::ArrayInfo> arrays;
};

struct Event {
  static constexpr std::int64_t kEverything = INT64_MAX;
  enum class Kind : std::uint8_t {
    kStatement,  // a statement begins: where faults strike
    kCall,       // a launch that others take part in
    kStep,       // a launch of its own, or a read of a value that needs no agreement
    kRead,       // a host-visible read: goes on when `needs` is matched
    kSpawn,      // another issuer begins
    kJoin,       // waits until that issuer has ended
  };
  Kind kind = Kind::kStatement;
  int issuer = 0;       // who does it: 0 is the process's first thread
  int other = -1;       // the issuer of a spawn or a join
  std::string pointer;  // of the statement
  CallEvidence call;    // kCall
  std::shared_ptr<const ProgramEvidence> program;
  StepEvidence step;                     // kStep and kRead
  std::int64_t number = -1;              // kCall: among the plan's calls
  std::int64_t needs = -1;               // kRead: the number of the last call that the value depends on; kEverything: all that were issued
  std::int64_t collectives = 0;          // of a launch: what faults count
  std::shared_ptr<LaunchRecord> record;  // of a launch, where a trace is wanted
  Where place;                           // of a read
  std::vector<std::int64_t> array_ends;  // let go of since the event before, by id; where a trace is wanted
};

// One issuer's events are in order; those of several are told apart by `issuer`.
struct ProcessPlan {
  std::vector<Event> events;
  std::int64_t calls = 0;
  int issuers = 1;
  std::optional<std::string> error;  // what the program ends in
  std::string error_where;
  std::int32_t error_statement = -1;
};

}  // namespace shardlab::simulate
