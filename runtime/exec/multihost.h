// What processes do together beside computing: gather values, agree on them, wait for each other, send one another arrays.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/exec/operand.h"

namespace shardlab {

// All of these are launches like any other: matched over the processes, recorded, and part of a verdict where one does not call.
namespace multihost_utils {

// The whole value in every process, as an array of its own. Of an array over processes: its value. Of what each process has for itself:
// all of it, stacked along a new first dimension by process, or with `tiled` one after another along the present one; it has the same
// shape and dtype everywhere. Every process of the job calls it.
Array process_allgather(const Operand& x, bool tiled = false, std::source_location where = std::source_location::current());

// The value that the source has, in every process. `is_source` says whether the caller is the source; where nobody says so it is process
// 0. UserError unless there is exactly one.
Array broadcast_one_to_all(const Operand& x, std::optional<bool> is_source = {},
                           std::source_location where = std::source_location::current());

// Returns when every process has come here; the names must agree.
void sync_global_devices(std::string_view name, std::source_location where = std::source_location::current());

// UserError in every process where the values are not the same in all: with the message, what process 0 has, and what the first process
// has that differs from it, where.
void assert_equal(const Operand& x, std::string_view fail_message = "", std::source_location where = std::source_location::current());

}  // namespace multihost_utils

// One array to another process, and the other side of it (runtime/exec/messages.h): the types and the tags must agree, and messages
// between two processes are received in the order in which they are sent.
void send(const Operand& x, int peer, std::int64_t tag = 0, std::source_location where = std::source_location::current());
Array recv(const TensorType& type, int peer, std::int64_t tag = 0, std::source_location where = std::source_location::current());

// The same with the place given, and without waiting (scenarios). Whether the caller waits at once is part of what must agree.
enum class Waits : std::uint8_t { kAtOnce, kLater };
// Over one device a process, replicated.
Array allgather_async(const Operand& x, bool tiled, Where where, Waits waits = Waits::kAtOnce);
// An array over processes, whole on each of its own devices.
Array replicate_async(const Operand& x, Where where, Waits waits = Waits::kAtOnce);
Array broadcast_async(const Operand& x, int root, Where where, Waits waits = Waits::kAtOnce);
// There once all have come, or all of some, ascending, of which this process is one.
Array barrier_async(std::string_view name, Where where, Waits waits = Waits::kAtOnce, const std::vector<int>& some = {});
void barrier(std::string_view name, Where where);
void assert_equal_at(const Operand& x, std::string_view fail_message, Where where);
// This process's copy of a replicated value, as an array of its own; waits for it.
Array local_copy(const Array& x, Where where, std::string_view what);

}  // namespace shardlab
