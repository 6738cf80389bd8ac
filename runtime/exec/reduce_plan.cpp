// Combinations of partial results over devices of several processes.
#include <algorithm>
#include <map>
#include <optional>

#include "runtime/exec/move_parts.h"
#include "runtime/exec/moves.h"

namespace shardlab {
namespace {

// Where the elements of a part of a shard begin that lie in it side by side; nothing where they do not.
std::optional<std::int64_t> place_of_run(const Box& held, const Box& part) {
  std::size_t d = 0;
  while (d < part.size() && part[d].size() == 1) ++d;
  for (std::size_t rest = d + 1; rest < part.size(); ++rest)
    if (part[rest] != held[rest]) return std::nullopt;
  std::int64_t first = 0, stride = 1;
  for (d = part.size(); d-- > 0; stride *= held[d].size()) first += (part[d].start - held[d].start) * stride;
  return first;
}

}  // namespace

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
