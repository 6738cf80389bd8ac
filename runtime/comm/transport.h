// The transport: ordered messages between processes, and the abort that reaches every waiter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/comm/launch.h"

namespace shardlab::comm {

// Travels before the data of every message; compared by the receiver before it combines anything.
struct MessageHeader {
  std::uint64_t fingerprint = 0;  // of the program
  std::uint64_t history = 0;      // rolling hash over the fingerprints of earlier launches on this device set
  std::uint64_t group = 0;        // hash of the ordered device set
  std::int64_t seq = 0;           // the launch's rank on that device set
  std::int32_t call = 0;          // index of the collective in the program
  std::uint32_t reserved = 0;
  std::int64_t bytes = 0;  // of the data that follows
  // Everything but the length: two calls that meet must agree in it.
  bool agrees(const MessageHeader& other) const {
    return fingerprint == other.fingerprint && history == other.history && group == other.group && seq == other.seq && call == other.call;
  }
};

struct Send {
  ProcessIndex to;
  std::vector<std::span<const std::byte>> parts;  // sent as one message, in order
};
struct Receive {
  ProcessIndex from;
  std::span<std::byte> data;
};

// What arrived instead of the expected message.
struct WireMismatch {
  ProcessIndex from;
  MessageHeader expected, got;
};

enum class ExchangeStatus : std::uint8_t { kDone, kMismatch, kAborted };

struct ExchangeResult {
  ExchangeStatus status = ExchangeStatus::kDone;
  std::vector<WireMismatch> mismatches;  // with kMismatch
};

// One per process and job. All calls but abort() come from one thread. Messages between two processes arrive in order.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual std::string_view name() const = 0;
  // Sends and receives all at once, with progress on all of them, sleeping (never spinning) while nothing moves. Every message
  // carries `header` with its own length; a received header that does not agree, or another length, is kMismatch: its data is not
  // taken. At most one send and one receive a peer. `on_wait` is called once, with the peers still awaited, before the first sleep.
  virtual ExchangeResult exchange(const MessageHeader& header, std::span<const Send> sends, std::span<const Receive> receives,
                                  const std::function<void(const std::vector<ProcessIndex>&)>& on_wait) = 0;
  // From any thread: every present and later exchange of this process ends with kAborted.
  virtual void abort(std::string_view why) = 0;
};

}  // namespace shardlab::comm
