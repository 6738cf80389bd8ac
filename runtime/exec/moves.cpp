#include "runtime/exec/moves.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace shardlab {
namespace {

using spmd::Transfer;

// A box as a map key.
std::vector<std::int64_t> key_of(const Box& box) {
  std::vector<std::int64_t> key;
  key.reserve(box.size() * 2);
  for (const Interval& interval : box) {
    key.push_back(interval.start);
    key.push_back(interval.stop);
  }
  return key;
}

// Where the elements of a part of a shard begin that lie in it side by side; nothing where they do not.
std::optional<std::int64_t> place_of_run(const Box& held, const Box& part) {
  const Shape strides = strides_of(shape_of(held));
  std::size_t d = 0;
  while (d < part.size() && part[d].size() == 1) ++d;
  for (std::size_t rest = d + 1; rest < part.size(); ++rest)
    if (part[rest] != held[rest]) return std::nullopt;
  std::int64_t first = 0;
  for (d = 0; d < part.size(); ++d) first += (part[d].start - held[d].start) * strides[d];
  return first;
}

enum class Nearness : std::uint8_t { kSameProcess, kSameHost, kElsewhere };
constexpr Nearness kNearest[] = {Nearness::kSameProcess, Nearness::kSameHost, Nearness::kElsewhere};

Nearness nearness(int process, int other, const Ownership& ownership) {
  if (process == other) return Nearness::kSameProcess;
  bool same_host = !ownership.host_of || ownership.host_of(process) == ownership.host_of(other);
  return same_host ? Nearness::kSameHost : Nearness::kElsewhere;
}

// Takes parts of `wanted` from the candidates in their order of preference until it is covered. Boxes of one sharding are equal or
// disjoint, so what is left of a box is found by keeping each distinct intersection once.
void take_from(const Box& wanted, int target, const std::vector<int>& candidates, const Layout& from, std::vector<Transfer>& transfers) {
  std::set<std::vector<std::int64_t>> taken;
  std::int64_t left = element_count(wanted);
  for (int source : candidates) {
    if (left <= 0) return;
    Box part = intersect(from.boxes[std::size_t(source)], wanted);
    std::int64_t elements = element_count(part);
    if (elements == 0 || !taken.insert(key_of(part)).second) continue;
    transfers.push_back({source, target, part, 0});
    left -= elements;
  }
  SL_CHECK(left == 0, "target {} lacks {} elements", target, left);
}

}  // namespace

std::vector<Transfer> transfers_within(const Layout& from, const Layout& to, const std::vector<std::vector<int>>& groups,
                                       const Ownership& ownership) {
  std::vector<Transfer> transfers;
  if (groups.empty()) {
    for (int position = 0; position < int(to.devices.size()); ++position)
      take_from(to.boxes[std::size_t(position)], position, {position}, from, transfers);
    return transfers;
  }
  for (const auto& group : groups) {
    std::vector<int> owners;
    for (int position : group) owners.push_back(ownership.process_of(from.devices[std::size_t(position)]));
    for (std::size_t rank = 0; rank < group.size(); ++rank) {
      int position = group[rank];
      const Box& wanted = to.boxes[std::size_t(position)];
      std::vector<int> candidates;
      if (contains(from.boxes[std::size_t(position)], wanted)) candidates.push_back(position);
      for (Nearness wanted_nearness : kNearest)
        for (std::size_t other = 0; other < group.size(); ++other)
          if (nearness(owners[other], owners[rank], ownership) == wanted_nearness) candidates.push_back(group[other]);
      take_from(wanted, position, candidates, from, transfers);
    }
  }
  return transfers;
}

std::vector<Transfer> transfers_between(const Layout& from, const Layout& to, const Ownership& ownership) {
  std::vector<Transfer> transfers;
  int sources = int(from.devices.size());
  for (int target = 0; target < int(to.devices.size()); ++target) {
    int device = to.devices[std::size_t(target)], process = ownership.process_of(device);
    std::vector<int> own;
    std::map<Nearness, std::vector<int>> others;
    for (int i = 0; i < sources; ++i) {
      int source = (i + process) % sources;  // replicas in turn, one for all devices of a process: what they share crosses once
      int source_device = from.devices[std::size_t(source)];
      (source_device == device ? own : others[nearness(ownership.process_of(source_device), process, ownership)]).push_back(source);
    }
    for (Nearness each : kNearest) own.insert(own.end(), others[each].begin(), others[each].end());
    take_from(to.boxes[std::size_t(target)], target, own, from, transfers);
  }
  return transfers;
}

namespace {

// The entry of a peer in a list of messages, made where there is none.
template <typename Message>
Message& message_of(std::vector<Message>& list, int peer) {
  auto found = std::find_if(list.begin(), list.end(), [&](const Message& each) { return each.peer == peer; });
  return found != list.end() ? *found : list.emplace_back(Message{.peer = peer});
}

template <typename Stages>
void add_sent_by(const Stages& stages, std::map<int, std::int64_t>& bytes_by_process) {
  for (const auto& stage : stages)
    for (const auto& message : stage.sends) bytes_by_process[message.peer] += message.bytes;
}

}  // namespace

void MovePlan::add_message(const SpreadMessage& message, int self, const Piece& piece, Arrival& arrival) {
  Stage& stage = stages_[std::size_t(message.stage)];
  std::int64_t bytes = element_count(piece.box) * element_bytes_;
  if (message.from == self) {
    Outgoing& out = message_of(stage.sends, message.to);
    out.pieces.push_back(piece);
    if (message.stage > 0) {
      out.pieces.back().source = -1;
      out.pieces.back().message = arrival.message;
      out.pieces.back().offset = arrival.offset;
    }
    out.bytes += bytes;
  }
  if (message.to == self) {
    bool is_new = std::none_of(stage.receives.begin(), stage.receives.end(), [&](const Incoming& in) { return in.peer == message.from; });
    Incoming& in = message_of(stage.receives, message.from);
    if (is_new) in.message = messages_++;
    arrival = {in.message, in.bytes};
    in.bytes += bytes;
  }
}

MovePlan::Arrivals MovePlan::plan_messages(const std::vector<Transfer>& transfers, const Ownership& ownership) {
  // The pieces that leave a process, each once, with those that want it. On one host those of others are none of our business. The order
  // is that of owner and box on every process: both ends of a message must list its pieces alike, whatever else they know of.
  struct Leaving {
    Piece piece;
    std::vector<int> wanting;
  };
  std::map<std::pair<int, std::vector<std::int64_t>>, Leaving> pieces;
  for (const Transfer& transfer : transfers) {
    int source = ownership.process_of(from_.devices[std::size_t(transfer.source)]);
    int target = ownership.process_of(to_.devices[std::size_t(transfer.target)]);
    if (source == target || (!ownership.host_of && source != ownership.self && target != ownership.self)) continue;
    Leaving& leaving =
        pieces.try_emplace({source, key_of(transfer.box)}, Leaving{{.source = transfer.source, .box = transfer.box}, {}}).first->second;
    leaving.wanting.push_back(target);
  }
  Arrivals arrivals;
  std::map<int, int> turns;
  stages_.resize(kSpreadStages);
  for (const auto& [key, each] : pieces) {
    Arrival arrival;
    for (const SpreadMessage& message : spread_route(key.first, each.wanting, turns[key.first]++, ownership.host_of))
      add_message(message, ownership.self, each.piece, arrival);
    if (arrival.message >= 0) arrivals[key] = arrival;
  }
  std::erase_if(stages_, [](const Stage& stage) { return stage.sends.empty() && stage.receives.empty(); });
  return arrivals;
}

void MovePlan::add_sent(std::map<int, std::int64_t>& bytes_by_process) const { add_sent_by(stages_, bytes_by_process); }

MovePlan::MovePlan(Layout from, Layout to, std::vector<Transfer> transfers, DType dtype, const Ownership& ownership)
    : from_(std::move(from)), to_(std::move(to)), element_bytes_(size_of(dtype)) {
  Arrivals arrivals = plan_messages(transfers, ownership);
  std::map<int, Target> targets;
  for (const Transfer& transfer : transfers) {
    if (ownership.process_of(to_.devices[std::size_t(transfer.target)]) != ownership.self) continue;
    int source = ownership.process_of(from_.devices[std::size_t(transfer.source)]);
    std::vector<Part>& parts = targets[transfer.target].parts;
    if (source == ownership.self) {
      parts.push_back({transfer.box, transfer.source, -1, 0});
    } else {
      const Arrival& arrival = arrivals.at({source, key_of(transfer.box)});
      parts.push_back({transfer.box, -1, arrival.message, arrival.offset});
    }
  }
  for (std::size_t position = 0; position < to_.devices.size(); ++position)
    if (ownership.process_of(to_.devices[position]) == ownership.self) targets[int(position)];
  std::map<std::vector<std::int64_t>, std::size_t> distinct;
  for (auto& [position, target] : targets) {
    std::sort(target.parts.begin(), target.parts.end(), [](const Part& a, const Part& b) { return key_of(a.box) < key_of(b.box); });
    std::vector<std::int64_t> key = key_of(to_.boxes[std::size_t(position)]);
    for (const Part& part : target.parts)
      key.insert(key.end(), {part.source, part.message, part.offset, part.box.empty() ? 0 : part.box[0].start});
    auto [found, is_new] = distinct.try_emplace(std::move(key), targets_.size());
    if (is_new) targets_.push_back(std::move(target));
    targets_[found->second].positions.push_back(position);
  }
}

BufferRef MovePlan::assemble(const Target& target, int position, const std::vector<BufferRef>& sources, const Received& received,
                             Backend& backend) const {
  const Box& box = to_.boxes[std::size_t(position)];
  int ordinal = to_.devices[std::size_t(position)];
  if (target.parts.size() == 1 && target.parts[0].source >= 0 && from_.boxes[std::size_t(target.parts[0].source)] == box)
    return backend.place(sources[std::size_t(target.parts[0].source)], ordinal);  // pointers move, not bytes
  auto buffer = backend.allocate(std::size_t(element_count(box) * element_bytes_), ordinal);
  for (const Part& part : target.parts) {
    if (part.source >= 0)
      backend.copy_box(*sources[std::size_t(part.source)], 0, from_.boxes[std::size_t(part.source)], *buffer, box, part.box,
                       element_bytes_);
    else
      backend.copy_box(*received[std::size_t(part.message)], std::size_t(part.offset), part.box, *buffer, box, part.box, element_bytes_);
  }
  return buffer;
}

int MovePlan::receiver_of(std::size_t message) const {
  for (const Target& target : targets_)
    for (const Part& part : target.parts)
      if (part.source < 0 && std::size_t(part.message) == message) return to_.devices[std::size_t(target.positions[0])];
  throw InternalError("a message that no target wants");
}

MoveStatus MovePlan::run(const std::vector<BufferRef>& sources, std::vector<BufferRef>& targets, const LinkContext& link) const {
  MoveStatus status;
  Backend& backend = *link.backend;
  Received received(std::size_t(messages_), nullptr);
  for (const Stage& stage : stages_) {
    std::vector<BufferRef> kept;
    Received packed;  // parts that are not a whole shard are packed first
    std::vector<comm::Send> sends;
    for (const Outgoing& peer : stage.sends) {
      comm::Send send{peer.peer, {}};
      for (const Piece& piece : peer.pieces) {
        std::size_t bytes = std::size_t(element_count(piece.box) * element_bytes_);
        if (piece.source < 0) {
          auto message = std::size_t(piece.message);
          send.parts.push_back(backend.part(received[message], std::size_t(piece.offset), bytes, receiver_of(message), kept));
          continue;
        }
        const Buffer& source = *sources[std::size_t(piece.source)];
        const Box& held = from_.boxes[std::size_t(piece.source)];
        if (piece.box == held) {
          send.parts.push_back(source.bytes());
          continue;
        }
        packed.push_back(backend.allocate(bytes, from_.devices[std::size_t(piece.source)]));
        backend.copy_box(source, 0, held, *packed.back(), piece.box, piece.box, element_bytes_);
        send.parts.push_back(packed.back()->bytes());
      }
      sends.push_back(std::move(send));
      status.bytes_sent += peer.bytes;
    }
    std::vector<comm::Receive> receives;
    for (const Incoming& peer : stage.receives) {
      std::shared_ptr<Buffer>& into = received[std::size_t(peer.message)];
      into = backend.allocate(std::size_t(peer.bytes), receiver_of(std::size_t(peer.message)));
      receives.push_back({peer.peer, {into->data(), into->size()}});
    }
    status.exchange = backend.exchange(link, sends, receives);
    if (status.exchange.status != comm::ExchangeStatus::kDone) return status;
  }
  // Targets that want the same box from the same buffers share one, within one memory.
  struct Shared {
    const Target* target = nullptr;
    std::vector<int> positions;
  };
  using Key = std::tuple<int, std::vector<std::int64_t>, std::vector<std::pair<const void*, std::int64_t>>>;
  std::map<Key, Shared> distinct;
  for (const Target& target : targets_) {
    std::vector<std::pair<const void*, std::int64_t>> parts;
    for (const Part& part : target.parts)
      parts.emplace_back(part.source >= 0 ? static_cast<const void*>(sources[std::size_t(part.source)]->data())
                                          : static_cast<const void*>(received[std::size_t(part.message)]->data()),
                         part.offset);
    for (int position : target.positions) {
      Shared& shared = distinct[{backend.memory_of(to_.devices[std::size_t(position)]), key_of(to_.boxes[std::size_t(position)]), parts}];
      shared.target = &target;
      shared.positions.push_back(position);
    }
  }
  std::vector<const Shared*> groups;
  for (const auto& [key, shared] : distinct) groups.push_back(&shared);
  auto make = [&](std::int64_t i) {
    const Shared& shared = *groups[std::size_t(i)];
    BufferRef buffer = assemble(*shared.target, shared.positions[0], sources, received, backend);
    for (int position : shared.positions) targets[std::size_t(position)] = buffer;
  };
  std::int64_t bytes = targets_.empty() ? 0 : element_count(to_.boxes[std::size_t(targets_[0].positions[0])]) * element_bytes_;
  backend.parallel_for(std::int64_t(groups.size()), bytes, make);
  return status;
}

ReducePlan::ReducePlan(Layout from, Layout to, std::vector<std::vector<int>> groups, Reduction reduction, DType dtype,
                       const Ownership& ownership)
    : from_(std::move(from)), to_(std::move(to)), reduction_(reduction), dtype_(dtype), element_bytes_(size_of(dtype)) {
  for (std::size_t position = from_.devices.size(); position-- > 0;)
    if (ownership.process_of(from_.devices[position]) == ownership.self) receiver_ = from_.devices[position];
  stages_.resize(kReduceStages);
  int turn = 0;
  for (const auto& group : groups) {
    std::vector<int> owners;
    for (int position : group) owners.push_back(ownership.process_of(from_.devices[std::size_t(position)]));
    if (std::find(owners.begin(), owners.end(), ownership.self) == owners.end()) {
      ++turn;
      continue;
    }
    // Each distinct box that some member wants, with its ranks.
    std::vector<std::pair<Box, std::vector<int>>> wanted;
    std::map<std::vector<std::int64_t>, std::size_t> index;
    for (std::size_t rank = 0; rank < group.size(); ++rank) {
      const Box& box = to_.boxes[std::size_t(group[rank])];
      auto [found, is_new] = index.try_emplace(key_of(box), wanted.size());
      if (is_new) wanted.push_back({box, {}});
      wanted[found->second].second.push_back(int(rank));
    }
    std::vector<RankRange> own = owned_subtrees(owners);
    std::erase_if(own, [&](const RankRange& subtree) { return subtree.owner != ownership.self; });
    int box_turn = turn;  // the same on every process
    for (const auto& [box, ranks] : wanted) {
      Task task{.group = group, .box = box, .own = own, .targets = {}};
      std::vector<int> wanting;
      for (int rank : ranks) {
        wanting.push_back(owners[std::size_t(rank)]);
        if (wanting.back() == ownership.self) task.targets.push_back(group[std::size_t(rank)]);
      }
      tasks_.push_back(std::move(task));
      plan_messages(owners, wanting, box_turn++, ownership);
    }
    ++turn;
  }
  std::erase_if(stages_, [](const Stage& stage) { return stage.sends.empty() && stage.receives.empty(); });
}

// The messages of the last task.
void ReducePlan::plan_messages(const std::vector<int>& owners, const std::vector<int>& wanting, int turn, const Ownership& ownership) {
  int index = int(tasks_.size()) - 1;
  Task& task = tasks_.back();
  auto add_all = [&](int part, const std::vector<ReduceMessage>& route) {
    for (const ReduceMessage& message : route) {
      Stage& stage = stages_[std::size_t(message.stage)];
      auto add = [&](std::vector<Message>& list, int peer) {
        Message& entry = message_of(list, peer);
        entry.values.push_back({index, {part, message.first, message.last}});
        entry.bytes += range_of(task, part).count * element_bytes_;
      };
      if (message.from == ownership.self) add(stage.sends, message.to);
      if (message.to == ownership.self) add(stage.receives, message.from);
    }
  };
  task.parts = reduce_parts(owners, wanting, element_count(task.box) * element_bytes_);
  if (task.parts == 1) return add_all(kWhole, reduce_route(owners, wanting, turn, ownership.host_of));
  for (int part = 0; part < task.parts; ++part) add_all(part, part_route(owners, wanting, part, ownership.host_of));
}

ReducePlan::ElementRange ReducePlan::range_of(const Task& task, int part) const {
  std::int64_t count = element_count(task.box);
  if (part == kWhole) return {0, count};
  // Cut where rows of memory are aligned.
  constexpr std::int64_t kAligned = 64;
  auto cut = [&](int k) { return k == task.parts ? count : count * k / task.parts / kAligned * kAligned; };
  return {cut(part), cut(part + 1) - cut(part)};
}

void ReducePlan::add_sent(std::map<int, std::int64_t>& bytes_by_process) const { add_sent_by(stages_, bytes_by_process); }

Backend::Stretch ReducePlan::leaf(const Task& task, int rank, const std::vector<BufferRef>& sources, Backend& backend, int ordinal) const {
  int position = task.group[std::size_t(rank)];
  const Box& held = from_.boxes[std::size_t(position)];
  if (auto first = place_of_run(held, task.box)) return {sources[std::size_t(position)], std::size_t(*first * element_bytes_)};
  auto part = backend.allocate(std::size_t(element_count(task.box) * element_bytes_), ordinal);
  backend.copy_box(*sources[std::size_t(position)], 0, held, *part, task.box, task.box, element_bytes_);
  return {part};
}

BufferRef ReducePlan::own_subtree(const Task& task, int first, int last, const std::vector<BufferRef>& sources, Backend& backend) const {
  int ordinal = from_.devices[std::size_t(task.group[std::size_t(first)])];
  std::vector<Backend::Stretch> leaves;
  for (int rank = first; rank < last; ++rank) leaves.push_back(leaf(task, rank, sources, backend, ordinal));
  return backend.combine(reduction_, dtype_, leaves, element_count(task.box), ordinal);
}

BufferRef ReducePlan::value(const KnownValues& known, const Task& task, const ValueKey& key, Backend& backend) const {
  if (auto found = known.find(key); found != known.end()) return found->second;
  int ordinal = ordinal_of(task);
  ElementRange range = range_of(task, key.part);
  if (auto whole = known.find({kWhole, key.first, key.last}); whole != known.end()) {
    std::size_t bytes = std::size_t(range.count * element_bytes_);
    auto copy = backend.allocate(bytes, ordinal);
    backend.copy_bytes(*whole->second, std::size_t(range.first * element_bytes_), *copy, 0, bytes);
    return copy;
  }
  SL_CHECK(key.last - key.first > 1, "the value of rank {} never came", key.first);
  int middle = key.first + tree_split(key.last - key.first);
  const Backend::Stretch halves[] = {{value(known, task, {key.part, key.first, middle}, backend)},
                                     {value(known, task, {key.part, middle, key.last}, backend)}};
  return backend.combine(reduction_, dtype_, halves, range.count, ordinal);
}

// As exchange() takes it.
std::span<const std::byte> ReducePlan::sent(KnownValues& known, const Task& task, const ValueKey& key, Backend& backend,
                                            std::vector<BufferRef>& kept) const {
  auto whole = known.find({kWhole, key.first, key.last});
  if (key.part != kWhole && whole != known.end()) {
    ElementRange range = range_of(task, key.part);
    return backend.part(whole->second, std::size_t(range.first * element_bytes_), std::size_t(range.count * element_bytes_),
                        ordinal_of(task), kept);
  }
  BufferRef combined = value(known, task, key, backend);
  known[key] = combined;  // who hands it on to several combines it once
  return combined->bytes();
}

comm::ExchangeResult ReducePlan::run_stage(const Stage& stage, Known& known, MoveStatus& status, const LinkContext& link) const {
  Backend& backend = *link.backend;
  std::vector<comm::Send> sends;
  std::vector<BufferRef> kept;
  for (const Message& message : stage.sends) {
    comm::Send send{message.peer, {}};
    for (const Value& each : message.values)
      send.parts.push_back(sent(known[std::size_t(each.task)], tasks_[std::size_t(each.task)], each.key, backend, kept));
    status.bytes_sent += message.bytes;
    sends.push_back(std::move(send));
  }
  std::vector<std::shared_ptr<Buffer>> received;
  std::vector<comm::Receive> receives;
  for (const Message& message : stage.receives) {
    int ordinal = message.values.size() == 1 ? ordinal_of(tasks_[std::size_t(message.values[0].task)]) : receiver_;
    received.push_back(backend.allocate(std::size_t(message.bytes), ordinal));
    receives.push_back({message.peer, {received.back()->data(), received.back()->size()}});
  }
  comm::ExchangeResult result = backend.exchange(link, sends, receives);
  if (result.status != comm::ExchangeStatus::kDone) return result;
  for (std::size_t m = 0; m < received.size(); ++m) {
    const std::vector<Value>& values = stage.receives[m].values;
    if (values.size() == 1) {
      known[std::size_t(values[0].task)][values[0].key] = received[m];
      continue;
    }
    std::size_t offset = 0;
    for (const Value& each : values) {
      const Task& task = tasks_[std::size_t(each.task)];
      std::size_t bytes = std::size_t(range_of(task, each.key.part).count * element_bytes_);
      auto copy = backend.allocate(bytes, ordinal_of(task));
      backend.copy_bytes(*received[m], offset, *copy, 0, bytes);
      known[std::size_t(each.task)][each.key] = std::move(copy);
      offset += bytes;
    }
  }
  return result;
}

BufferRef ReducePlan::whole_result(const KnownValues& known, const Task& task, Backend& backend) const {
  int ranks = int(task.group.size());
  if (task.parts == 1) return value(known, task, {kWhole, 0, ranks}, backend);
  auto result = backend.allocate(std::size_t(element_count(task.box) * element_bytes_), ordinal_of(task));
  for (int part = 0; part < task.parts; ++part) {
    ElementRange range = range_of(task, part);
    backend.copy_bytes(*value(known, task, {part, 0, ranks}, backend), 0, *result, std::size_t(range.first * element_bytes_),
                       std::size_t(range.count * element_bytes_));
  }
  return result;
}

MoveStatus ReducePlan::run(const std::vector<BufferRef>& sources, std::vector<BufferRef>& targets, const LinkContext& link) const {
  MoveStatus status;
  Backend& backend = *link.backend;
  Known known(tasks_.size());
  std::int64_t task_bytes = tasks_.empty() ? 0 : element_count(tasks_[0].box) * element_bytes_;
  backend.parallel_for(std::int64_t(tasks_.size()), task_bytes, [&](std::int64_t t) {
    const Task& task = tasks_[std::size_t(t)];
    for (const RankRange& each : task.own)
      known[std::size_t(t)][{kWhole, each.first, each.last}] = own_subtree(task, each.first, each.last, sources, backend);
  });
  for (const Stage& stage : stages_) {
    status.exchange = run_stage(stage, known, status, link);
    if (status.exchange.status != comm::ExchangeStatus::kDone) return status;
  }
  backend.parallel_for(std::int64_t(tasks_.size()), task_bytes, [&](std::int64_t t) {
    const Task& task = tasks_[std::size_t(t)];
    if (task.targets.empty()) return;
    BufferRef result = whole_result(known[std::size_t(t)], task, backend);
    std::map<int, BufferRef> placed;  // by memory
    for (int position : task.targets) {
      int device = to_.devices[std::size_t(position)];
      BufferRef& here = placed[backend.memory_of(device)];
      if (!here) here = backend.place(result, device);
      targets[std::size_t(position)] = here;
    }
  });
  return status;
}

}  // namespace shardlab
