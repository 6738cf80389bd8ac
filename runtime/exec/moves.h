// Moves of data between devices: planned once for a process, run at every launch.
//
// A plan knows all devices of all processes, so both ends of a message list the same pieces in the same order. What several devices of a
// process need is sent to it once, and what several processes of another host need crosses the network once (routes.h).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "runtime/exec/backend.h"
#include "runtime/exec/routes.h"
#include "runtime/spmd/program.h"

namespace shardlab {

// Devices with what they hold: ordinals and boxes, in mesh order.
struct Layout {
  std::vector<int> devices;
  std::vector<Box> boxes;
};

// Who owns which device, and who we are.
struct Ownership {
  std::function<int(int)> process_of;  // ordinal → process
  int self = 0;
  HostOf host_of = {};
};

struct MoveStatus {
  comm::ExchangeResult exchange;
  std::int64_t bytes_sent = 0;
};

// Whether positions that have the same box have the same elements in it; in per-device code they need not.
enum class SameBoxes : std::uint8_t { kAreEqual, kMayDiffer };

// Every element of a target's box comes from one source.
class MovePlan {
 public:
  // Transfers index `from` and `to`; each target's transfers cover its box and do not overlap.
  MovePlan(Layout from, Layout to, std::vector<spmd::Transfer> transfers, DType dtype, const Ownership& ownership,
           SameBoxes same_boxes = SameBoxes::kAreEqual);
  // `sources` per `from` position (only local ones are read); fills `targets` for the local ones.
  MoveStatus run(const std::vector<BufferRef>& sources, std::vector<BufferRef>& targets, const LinkContext& link) const;
  // Adds what every run sends to each process.
  void add_sent(std::map<int, std::int64_t>& bytes_by_process) const;
  // Into targets here, by every run: a buffer that is a target's whole box is handed on, where devices share their memory.
  std::int64_t elements_copied() const;

 private:
  // What is sent: of what we hold, or of what we have received and hand on.
  struct Piece {
    int source = -1;  // `from` position, or
    Box box;
    int message = -1;  // index of a received message, and
    std::int64_t offset = 0;
  };
  struct Part {
    Box box;
    int source = -1;   // local `from` position, or
    int message = -1;  // index of a received message, and
    std::int64_t offset = 0;
  };
  // Positions that want the same box from the same sources.
  struct Target {
    std::vector<int> positions;
    std::vector<Part> parts;  // by box
  };
  struct Outgoing {
    int peer = 0;
    std::int64_t bytes = 0;
    std::vector<Piece> pieces;
  };
  struct Incoming {
    int peer = 0;
    std::int64_t bytes = 0;
    int message = 0;
  };
  // Messages that need nothing of each other.
  struct Stage {
    std::vector<Outgoing> sends;
    std::vector<Incoming> receives;
  };
  struct Arrival {
    int message = -1;
    std::int64_t offset = 0;
  };
  using Arrivals = std::map<std::pair<int, std::vector<std::int64_t>>, Arrival>;  // by the process that has it, and the piece
  Arrivals plan_messages(const std::vector<spmd::Transfer>& transfers, const Ownership& ownership, SameBoxes same_boxes);
  void add_message(const SpreadMessage& message, int self, const Piece& piece, Arrival& arrival);
  using Received = std::vector<std::shared_ptr<Buffer>>;
  BufferRef assemble(const Target& target, int position, const std::vector<BufferRef>& sources, const Received& received,
                     Backend& backend) const;
  // A device here that wants what this peer sends.
  int receiver_of(std::size_t message) const;
  bool is_handed_on(const Target& target) const;
  static bool is_at_hand(const Target& target, const std::vector<BufferRef>& sources);

  Layout from_, to_;
  std::int64_t element_bytes_;
  std::vector<Stage> stages_;
  int messages_ = 0;  // received ones
  std::vector<Target> targets_;
};

// Targets get the combination over their group's members, by one balanced binary tree over the ranks of the group, whatever the layout
// of processes: results are equal to the last bit. A process combines the complete subtrees that it owns, and sends those. Large ones
// are cut into parts of their elements, each with a route of its own (part_route() in routes.h).
class ReducePlan {
 public:
  ReducePlan(Layout from, Layout to, std::vector<std::vector<int>> groups, Reduction reduction, DType dtype, const Ownership& ownership);
  MoveStatus run(const std::vector<BufferRef>& sources, std::vector<BufferRef>& targets, const LinkContext& link) const;

  // Adds what every run sends to each process.
  void add_sent(std::map<int, std::int64_t>& bytes_by_process) const;

 private:
  // One combination that this process sends to or needs.
  struct Task {
    std::vector<int> group;  // positions by rank
    Box box;
    std::vector<RankRange> own;  // what this process combines by itself
    std::vector<int> targets;    // local positions that want the result
    int parts = 1;
  };
  static constexpr int kWhole = -1;
  // The combined value of ranks [first, last), the whole or a part of its elements.
  struct ValueKey {
    int part = kWhole, first = 0, last = 0;
    auto operator<=>(const ValueKey&) const = default;
  };
  // In a message.
  struct Value {
    int task = 0;
    ValueKey key;
  };
  struct ElementRange {
    std::int64_t first = 0, count = 0;
  };
  struct Message {
    int peer = 0;
    std::int64_t bytes = 0;
    std::vector<Value> values;
  };
  struct Stage {
    std::vector<Message> sends, receives;
  };
  using KnownValues = std::map<ValueKey, BufferRef>;
  using Known = std::vector<KnownValues>;  // per task
  int ordinal_of(const Task& task) const { return task.targets.empty() ? receiver_ : to_.devices[std::size_t(task.targets[0])]; }
  ElementRange range_of(const Task& task, int part) const;
  void plan_messages(const std::vector<int>& owners, const std::vector<int>& wanting, int turn, const Ownership& ownership);
  BufferRef value(const KnownValues& known, const Task& task, const ValueKey& key, Backend& backend) const;
  std::span<const std::byte> sent(KnownValues& known, const Task& task, const ValueKey& key, Backend& backend,
                                  std::vector<BufferRef>& kept) const;
  BufferRef whole_result(const KnownValues& known, const Task& task, Backend& backend) const;
  comm::ExchangeResult run_stage(const Stage& stage, Known& known, MoveStatus& status, const LinkContext& link) const;
  Backend::Stretch leaf(const Task& task, int rank, const std::vector<BufferRef>& sources, Backend& backend, int ordinal) const;
  BufferRef own_subtree(const Task& task, int first, int last, const std::vector<BufferRef>& sources, Backend& backend) const;

  Layout from_, to_;
  Reduction reduction_;
  DType dtype_;
  std::int64_t element_bytes_;
  int receiver_ = -1;  // the device here that messages are received by
  std::vector<Task> tasks_;
  std::vector<Stage> stages_;
};

// For moves by groups: each target's box from itself where it holds the whole of it, else from the members of its group, those of its own
// process and then of its host first, in the group's order. Groups are mesh positions; no groups: from itself alone (a slice).
std::vector<spmd::Transfer> transfers_within(const Layout& from, const Layout& to, const std::vector<std::vector<int>>& groups,
                                             const Ownership& ownership);
// For moves between any two layouts: each target's box from whoever holds it, nearest first, replicas taken in turn.
std::vector<spmd::Transfer> transfers_between(const Layout& from, const Layout& to, const Ownership& ownership);

}  // namespace shardlab
