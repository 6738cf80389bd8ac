// What processes agree on through the job's coordinator, without devices: barriers over some of them, and named values.
#pragma once

#include <chrono>
#include <source_location>
#include <string>
#include <vector>

namespace shardlab::distributed {

// The methods of the client of jax.distributed, by their names there. From the issuing thread. Nothing here is a launch: what was launched
// runs on, and a process that waits here is told of a verdict on the others like any other (DiagnosisError).

// Returns when all `process_ids` (nothing given: all processes of the job) have come to the barrier of this name; who is none of them does
// not come. A name may be used again. It passes for all or fails for all:
// - UserError where a process is not among those that it names, names one that is not in the job, or where two give different lists;
// - TransportError at the end of `timeout` (the shortest of those given), with who has come, who is missing, and where those are; and at
//   once where one that takes part has ended. Who was missing is told so when it comes.
void wait_at_barrier(const std::string& barrier_id, std::chrono::milliseconds timeout, const std::vector<int>& process_ids = {},
                     std::source_location where = std::source_location::current());

// UserError where the key has a value already, unless it may be replaced.
void key_value_set(const std::string& key, const std::string& value, bool allow_overwrite = false,
                   std::source_location where = std::source_location::current());

// Waits until somebody sets it. TransportError at the end of `timeout`.
std::string blocking_key_value_get(const std::string& key, std::chrono::milliseconds timeout,
                                   std::source_location where = std::source_location::current());

}  // namespace shardlab::distributed
