#include "runtime/exec/moves.h"

#include <algorithm>
#include <map>
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
      for (std::size_t other = 0; other < group.size(); ++other)
        if (owners[other] == owners[rank]) candidates.push_back(group[other]);
      for (std::size_t other = 0; other < group.size(); ++other)
        if (owners[other] != owners[rank]) candidates.push_back(group[other]);
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
    std::vector<int> own, near, far;
    for (int i = 0; i < sources; ++i) {
      int source = (i + process) % sources;  // replicas in turn, one for all devices of a process: what they share crosses once
      int source_device = from.devices[std::size_t(source)];
      (source_device == device ? own : ownership.process_of(source_device) == process ? near : far).push_back(source);
    }
    own.insert(own.end(), near.begin(), near.end());
    own.insert(own.end(), far.begin(), far.end());
    take_from(to.boxes[std::size_t(target)], target, own, from, transfers);
  }
  return transfers;
}

MovePlan::MovePlan(Layout from, Layout to, std::vector<Transfer> transfers, DType dtype, const Ownership& ownership)
    : from_(std::move(from)), to_(std::move(to)), element_bytes_(size_of(dtype)) {
  auto source_owner = [&](const Transfer& t) { return ownership.process_of(from_.devices[std::size_t(t.source)]); };
  auto target_owner = [&](const Transfer& t) { return ownership.process_of(to_.devices[std::size_t(t.target)]); };
  std::map<int, Target> targets;
  std::map<int, int> send_index, receive_index;
  std::map<std::pair<int, std::vector<std::int64_t>>, std::int64_t> sent, received;  // (peer, box) → offset
  auto slot = [](std::map<int, int>& index, std::vector<PeerPieces>& list, int peer) -> PeerPieces& {
    auto [found, is_new] = index.try_emplace(peer, int(list.size()));
    if (is_new) list.push_back({peer, 0, {}});
    return list[std::size_t(found->second)];
  };
  for (const Transfer& transfer : transfers) {
    int source = source_owner(transfer), target = target_owner(transfer);
    std::int64_t bytes = element_count(transfer.box) * element_bytes_;
    if (target == ownership.self) {
      Target& entry = targets[transfer.target];
      if (source == ownership.self) {
        entry.parts.push_back({transfer.box, transfer.source, -1, 0});
      } else {
        PeerPieces& peer = slot(receive_index, receives_, source);
        auto [found, is_new] = received.try_emplace({source, key_of(transfer.box)}, peer.bytes);
        if (is_new) {
          peer.pieces.push_back({-1, transfer.box, peer.bytes});
          peer.bytes += bytes;
        }
        entry.parts.push_back({transfer.box, -1, receive_index[source], found->second});
      }
    } else if (source == ownership.self) {
      PeerPieces& peer = slot(send_index, sends_, target);
      if (sent.try_emplace({target, key_of(transfer.box)}, peer.bytes).second) {
        peer.pieces.push_back({transfer.source, transfer.box, peer.bytes});
        peer.bytes += bytes;
      }
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
  Received received;
  if (!sends_.empty() || !receives_.empty()) {
    Received packed;  // parts that are not a whole shard are packed first
    std::vector<comm::Send> sends;
    for (const PeerPieces& peer : sends_) {
      comm::Send send{peer.peer, {}};
      for (const Piece& piece : peer.pieces) {
        const Buffer& source = *sources[std::size_t(piece.source)];
        const Box& held = from_.boxes[std::size_t(piece.source)];
        if (piece.box == held) {
          send.parts.push_back(source.bytes());
          continue;
        }
        packed.push_back(
            backend.allocate(std::size_t(element_count(piece.box) * element_bytes_), from_.devices[std::size_t(piece.source)]));
        backend.copy_box(source, 0, held, *packed.back(), piece.box, piece.box, element_bytes_);
        send.parts.push_back(packed.back()->bytes());
      }
      sends.push_back(std::move(send));
      status.bytes_sent += peer.bytes;
    }
    std::vector<comm::Receive> receives;
    for (const PeerPieces& peer : receives_) {
      received.push_back(backend.allocate(std::size_t(peer.bytes), receiver_of(received.size())));
      receives.push_back({peer.peer, {received.back()->data(), received.back()->size()}});
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
  std::map<int, int> send_index, receive_index;
  auto slot = [](std::map<int, int>& index, std::vector<PeerSubtrees>& list, int peer) -> PeerSubtrees& {
    auto [found, is_new] = index.try_emplace(peer, int(list.size()));
    if (is_new) list.push_back({peer, 0, {}});
    return list[std::size_t(found->second)];
  };
  for (const auto& group : groups) {
    std::vector<int> owners;
    for (int position : group) owners.push_back(ownership.process_of(from_.devices[std::size_t(position)]));
    // Maximal subtrees with one owner.
    std::vector<Subtree> subtrees;
    std::function<void(int, int)> divide = [&](int first, int last) {
      if (std::all_of(owners.begin() + first, owners.begin() + last, [&](int owner) { return owner == owners[std::size_t(first)]; })) {
        subtrees.push_back({first, last, owners[std::size_t(first)], -1, 0});
        return;
      }
      int middle = first + tree_split(last - first);
      divide(first, middle);
      divide(middle, last);
    };
    divide(0, int(group.size()));
    // Each distinct box that some member wants, with the processes that want it, in the order of ranks.
    std::vector<std::pair<Box, std::vector<int>>> wanted;  // box → ranks
    std::map<std::vector<std::int64_t>, std::size_t> index;
    for (std::size_t rank = 0; rank < group.size(); ++rank) {
      const Box& box = to_.boxes[std::size_t(group[rank])];
      auto [found, is_new] = index.try_emplace(key_of(box), wanted.size());
      if (is_new) wanted.push_back({box, {}});
      wanted[found->second].second.push_back(int(rank));
    }
    bool owns_some = std::find(owners.begin(), owners.end(), ownership.self) != owners.end();
    if (!owns_some) continue;
    for (const auto& [box, ranks] : wanted) {
      Task task{group, box, subtrees, {}};
      std::set<int> wanting;
      for (int rank : ranks) {
        wanting.insert(owners[std::size_t(rank)]);
        if (owners[std::size_t(rank)] == ownership.self) task.targets.push_back(group[std::size_t(rank)]);
      }
      int task_index = int(tasks_.size());
      std::int64_t bytes = element_count(box) * element_bytes_;
      for (std::size_t s = 0; s < task.subtrees.size(); ++s) {
        Subtree& subtree = task.subtrees[s];
        if (subtree.owner == ownership.self) {
          for (int peer : wanting) {
            if (peer == ownership.self) continue;
            PeerSubtrees& list = slot(send_index, sends_, peer);
            list.subtrees.push_back({task_index, int(s)});
            list.bytes += bytes;
          }
        } else if (wanting.count(ownership.self) != 0) {
          PeerSubtrees& list = slot(receive_index, receives_, subtree.owner);
          subtree.message = receive_index[subtree.owner];
          subtree.offset = list.bytes;
          list.bytes += bytes;
        }
      }
      tasks_.push_back(std::move(task));
    }
  }
}

BufferRef ReducePlan::leaf(const Task& task, int rank, const std::vector<BufferRef>& sources, Backend& backend, int ordinal) const {
  int position = task.group[std::size_t(rank)];
  const Box& held = from_.boxes[std::size_t(position)];
  if (held == task.box) return sources[std::size_t(position)];
  auto part = backend.allocate(std::size_t(element_count(task.box) * element_bytes_), ordinal);
  backend.copy_box(*sources[std::size_t(position)], 0, held, *part, task.box, task.box, element_bytes_);
  return part;
}

BufferRef ReducePlan::combine_range(const Task& task, int first, int last, const Subtrees& subtree_of, Backend& backend,
                                    int ordinal) const {
  if (BufferRef value = subtree_of(first, last)) return value;
  int middle = first + tree_split(last - first);
  const BufferRef halves[] = {combine_range(task, first, middle, subtree_of, backend, ordinal),
                              combine_range(task, middle, last, subtree_of, backend, ordinal)};
  return backend.combine(reduction_, dtype_, halves, element_count(task.box), ordinal);
}

BufferRef ReducePlan::own_subtree(const Task& task, int first, int last, const std::vector<BufferRef>& sources, Backend& backend) const {
  int ordinal = from_.devices[std::size_t(task.group[std::size_t(first)])];
  std::vector<BufferRef> leaves;
  for (int rank = first; rank < last; ++rank) leaves.push_back(leaf(task, rank, sources, backend, ordinal));
  return backend.combine(reduction_, dtype_, leaves, element_count(task.box), ordinal);
}

MoveStatus ReducePlan::run(const std::vector<BufferRef>& sources, std::vector<BufferRef>& targets, const LinkContext& link) const {
  MoveStatus status;
  Backend& backend = *link.backend;
  std::vector<std::vector<BufferRef>> own(tasks_.size());
  std::int64_t task_bytes = tasks_.empty() ? 0 : element_count(tasks_[0].box) * element_bytes_;
  backend.parallel_for(std::int64_t(tasks_.size()), task_bytes, [&](std::int64_t t) {
    const Task& task = tasks_[std::size_t(t)];
    own[std::size_t(t)].resize(task.subtrees.size());
    for (std::size_t s = 0; s < task.subtrees.size(); ++s)
      if (task.subtrees[s].message < 0 && sources[std::size_t(task.group[std::size_t(task.subtrees[s].first)])])
        own[std::size_t(t)][s] = own_subtree(task, task.subtrees[s].first, task.subtrees[s].last, sources, backend);
  });
  std::vector<std::shared_ptr<Buffer>> received;
  if (!sends_.empty() || !receives_.empty()) {
    std::vector<comm::Send> sends;
    for (const PeerSubtrees& peer : sends_) {
      comm::Send send{peer.peer, {}};
      for (const Outgoing& out : peer.subtrees) send.parts.push_back(own[std::size_t(out.task)][std::size_t(out.subtree)]->bytes());
      status.bytes_sent += peer.bytes;
      sends.push_back(std::move(send));
    }
    std::vector<comm::Receive> receives;
    for (const PeerSubtrees& peer : receives_) {
      received.push_back(backend.allocate(std::size_t(peer.bytes), receiver_));
      receives.push_back({peer.peer, {received.back()->data(), received.back()->size()}});
    }
    status.exchange = backend.exchange(link, sends, receives);
    if (status.exchange.status != comm::ExchangeStatus::kDone) return status;
  }
  backend.parallel_for(std::int64_t(tasks_.size()), task_bytes, [&](std::int64_t t) {
    const Task& task = tasks_[std::size_t(t)];
    if (task.targets.empty()) return;
    int ordinal = to_.devices[std::size_t(task.targets[0])];
    auto subtree_of = [&](int first, int last) -> BufferRef {
      for (std::size_t s = 0; s < task.subtrees.size(); ++s) {
        const Subtree& subtree = task.subtrees[s];
        if (subtree.first != first || subtree.last != last) continue;
        if (subtree.message < 0) return own[std::size_t(t)][s];
        std::size_t bytes = std::size_t(element_count(task.box) * element_bytes_);
        auto copy = backend.allocate(bytes, ordinal);
        backend.copy_bytes(*received[std::size_t(subtree.message)], std::size_t(subtree.offset), *copy, 0, bytes);
        return copy;
      }
      return nullptr;
    };
    BufferRef result = combine_range(task, 0, int(task.group.size()), subtree_of, backend, ordinal);
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
