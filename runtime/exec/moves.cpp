#include "runtime/exec/moves.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "runtime/exec/move_parts.h"

namespace shardlab {

using spmd::Transfer;

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

namespace {

// What crosses once for all who want it.
std::vector<std::int64_t> piece_of(const Transfer& transfer, SameBoxes same_boxes) {
  std::vector<std::int64_t> piece = key_of(transfer.box);
  if (same_boxes == SameBoxes::kMayDiffer) piece.push_back(transfer.source);
  return piece;
}

}  // namespace

MovePlan::Arrivals MovePlan::plan_messages(const std::vector<Transfer>& transfers, const Ownership& ownership, SameBoxes same_boxes) {
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
        pieces.try_emplace({source, piece_of(transfer, same_boxes)}, Leaving{{.source = transfer.source, .box = transfer.box}, {}})
            .first->second;
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

MovePlan::MovePlan(Layout from, Layout to, std::vector<Transfer> transfers, DType dtype, const Ownership& ownership, SameBoxes same_boxes)
    : from_(std::move(from)), to_(std::move(to)), element_bytes_(size_of(dtype)) {
  Arrivals arrivals = plan_messages(transfers, ownership, same_boxes);
  std::map<int, Target> targets;
  for (const Transfer& transfer : transfers) {
    if (ownership.process_of(to_.devices[std::size_t(transfer.target)]) != ownership.self) continue;
    int source = ownership.process_of(from_.devices[std::size_t(transfer.source)]);
    std::vector<Part>& parts = targets[transfer.target].parts;
    if (source == ownership.self) {
      parts.push_back({transfer.box, transfer.source, -1, 0});
    } else {
      const Arrival& arrival = arrivals.at({source, piece_of(transfer, same_boxes)});
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
  if (is_handed_on(target)) return backend.place(sources[std::size_t(target.parts[0].source)], ordinal);  // pointers move, not bytes
  auto buffer = backend.allocate(std::size_t(element_count(box) * element_bytes_), ordinal);
  std::vector<Backend::BoxCopy> copies;
  for (const Part& part : target.parts) {
    if (part.source >= 0)
      copies.push_back({sources[std::size_t(part.source)].get(), 0, &from_.boxes[std::size_t(part.source)], &part.box});
    else
      copies.push_back({received[std::size_t(part.message)].get(), std::size_t(part.offset), &part.box, &part.box});
  }
  backend.copy_boxes(copies, *buffer, box, element_bytes_);
  return buffer;
}

bool MovePlan::is_handed_on(const Target& target) const {
  return target.parts.size() == 1 && target.parts[0].source >= 0 &&
         from_.boxes[std::size_t(target.parts[0].source)] == to_.boxes[std::size_t(target.positions[0])];
}

// Devices that took another branch of per-device code, or left a loop of it, have nothing to move.
bool MovePlan::is_at_hand(const Target& target, const std::vector<BufferRef>& sources) {
  return std::all_of(target.parts.begin(), target.parts.end(),
                     [&](const Part& part) { return part.source < 0 || sources[std::size_t(part.source)] != nullptr; });
}

std::int64_t MovePlan::elements_copied() const {
  std::int64_t elements = 0;
  for (const Target& target : targets_)
    if (!is_handed_on(target)) elements += element_count(to_.boxes[std::size_t(target.positions[0])]);
  return elements;
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
    if (!is_at_hand(target, sources)) continue;
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

}  // namespace shardlab
