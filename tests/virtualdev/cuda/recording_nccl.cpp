#include "tests/virtualdev/cuda/recording_nccl.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>

namespace shardlab::testing {

using cuda::Communicator;
using cuda::Stream;

void RecordingNccl::fault(std::string_view text) { faults_.emplace_back(text); }

std::vector<std::string> RecordingNccl::faults() const {
  std::lock_guard lock(mutex_);
  return faults_;
}
int RecordingNccl::open_communicators() const {
  std::lock_guard lock(mutex_);
  return int(std::count_if(members_.begin(), members_.end(), [](const auto& each) { return !each.second.is_over; }));
}
std::vector<int> RecordingNccl::sizes() const {
  std::lock_guard lock(mutex_);
  return sizes_;
}
void RecordingNccl::break_rank(int rank) {
  std::lock_guard lock(mutex_);
  broken_.insert(rank);
}

std::string RecordingNccl::new_id() {
  std::lock_guard lock(mutex_);
  std::string id(128, '\0');
  std::string number = fmt::format("{}", next_++);
  std::memcpy(id.data() + 3, number.data(), number.size());
  ids_[id];
  return id;
}

RecordingNccl::Member* RecordingNccl::member_of(Communicator communicator, const std::string& what) {
  auto found = members_.find(std::uintptr_t(communicator));
  if (found == members_.end() || found->second.is_over) {
    fault(fmt::format("{} of a communicator that is not there", what));
    return nullptr;
  }
  return &found->second;
}

std::vector<Communicator> RecordingNccl::join(const std::string& id, std::span<const cuda::CommunicatorMember> own, int size) {
  std::lock_guard lock(mutex_);
  auto found = ids_.find(id);
  if (found == ids_.end()) {
    fault("a communicator is joined with an id that nobody made");
    found = ids_.try_emplace(id).first;
  }
  if (found->second.empty()) sizes_.push_back(size);
  std::vector<Communicator> made;
  for (const cuda::CommunicatorMember& each : own) {
    if (each.rank < 0 || each.rank >= size) fault(fmt::format("rank {} of a communicator of {}", each.rank, size));
    for (const auto& [rank, communicator] : found->second) {
      if (members_[communicator].gpu == each.gpu && !may_share_) fault(fmt::format("two ranks of a communicator are on GPU {}", each.gpu));
      if (members_[communicator].size != size) fault("a communicator's members differ in its size");
    }
    if (!found->second.try_emplace(each.rank, next_).second) fault(fmt::format("rank {} joins twice", each.rank));
    members_[next_] = {.id = id, .rank = each.rank, .size = size, .gpu = each.gpu};
    made.push_back(Communicator(next_++));
  }
  return made;
}

bool RecordingNccl::is_ready(Communicator communicator) {
  std::lock_guard lock(mutex_);
  Member* member = member_of(communicator, "a look at the state");
  if (member == nullptr) return true;
  if (broken_.count(member->rank) > 0)
    throw cuda::NcclError("NCCL, meanwhile: remote process exited or there was a network error (stand-in)");
  if (int(ids_[member->id].size()) < member->size) return false;  // who has not joined yet is waited for
  return member->busy == 0 || --member->busy == 0;
}

void RecordingNccl::group_start() {
  std::lock_guard lock(mutex_);
  if (!groups_.try_emplace(std::this_thread::get_id()).second) fault("a group within a group");
}

void RecordingNccl::add(End end, Communicator communicator, const std::string& what) {
  auto group = groups_.find(std::this_thread::get_id());
  if (group == groups_.end()) return fault(fmt::format("a {} outside of a group", what));
  Member* member = member_of(communicator, what);
  if (member == nullptr) return;
  if (member->busy > 0 || member->is_finishing) fault(fmt::format("a {} on a communicator that is not ready", what));
  if (end.peer < 0 || end.peer >= member->size) fault(fmt::format("a {} names rank {} of {}", what, end.peer, member->size));
  if (end.bytes == 0) fault(fmt::format("a {} of no bytes", what));
  end.communicator = std::uintptr_t(communicator);
  end.transfer = next_transfer_++;
  group->second.push_back(end);
}

void RecordingNccl::send(const std::byte* data, std::size_t bytes, int to, Communicator communicator, Stream stream) {
  std::lock_guard lock(mutex_);
  add({.from = data, .bytes = bytes, .peer = to, .stream = stream}, communicator, "send");
}
void RecordingNccl::receive(std::byte* data, std::size_t bytes, int from, Communicator communicator, Stream stream) {
  std::lock_guard lock(mutex_);
  add({.to = data, .bytes = bytes, .peer = from, .stream = stream}, communicator, "receive");
}

std::vector<std::pair<Stream, RecordingNccl::Transfer>> RecordingNccl::group_end() {
  std::lock_guard lock(mutex_);
  std::vector<std::pair<Stream, Transfer>> work;
  auto group = groups_.find(std::this_thread::get_id());
  if (group == groups_.end()) {
    fault("a group ends that did not begin");
    return work;
  }
  std::vector<End> ends = std::move(group->second);
  groups_.erase(group);
  for (const End& end : ends) {
    Member& member = members_[end.communicator];
    member.busy = 2;
    bool sends = end.from != nullptr;
    int from = sends ? member.rank : end.peer, to = sends ? end.peer : member.rank;
    pending_.insert(end.transfer);
    work.emplace_back(end.stream, end.transfer);
    (sends ? sends_ : receives_)[{member.id, from, to}].push_back(end);
    match(member.id, from, to);
  }
  return work;
}

void RecordingNccl::match(const std::string& id, int from, int to) {
  auto &sends = sends_[{id, from, to}], &receives = receives_[{id, from, to}];
  while (!sends.empty() && !receives.empty()) {
    const End send = sends.front(), receive = receives.front();
    sends.erase(sends.begin());
    receives.erase(receives.begin());
    if (send.bytes != receive.bytes)
      fault(fmt::format("rank {} sends {} bytes and rank {} receives {}", from, send.bytes, to, receive.bytes));
    std::memcpy(receive.to, send.from, std::min(send.bytes, receive.bytes));
    pending_.erase(send.transfer);
    pending_.erase(receive.transfer);
  }
  changed_.notify_all();
}

void RecordingNccl::finish(Communicator communicator) {
  std::lock_guard lock(mutex_);
  Member* member = member_of(communicator, "a finish");
  if (member == nullptr) return;
  if (member->busy > 0) fault("a finish of a communicator that is not ready");
  member->is_finishing = true;
  member->busy = 2;
}
void RecordingNccl::destroy(Communicator communicator) {
  std::lock_guard lock(mutex_);
  Member* member = member_of(communicator, "a destroy");
  if (member == nullptr) return;
  if (!member->is_finishing || member->busy > 0) fault("a communicator is destroyed that is not finished");
  member->is_over = true;
}

// Its own work ends as it is; what others wait for from it stays undone.
void RecordingNccl::abort(Communicator communicator) {
  std::lock_guard lock(mutex_);
  if (groups_.count(std::this_thread::get_id()) > 0) fault("an abort within a group, at whose end alone it would be taken in");
  Member* member = member_of(communicator, "an abort");
  if (member == nullptr) return;
  member->is_over = member->was_aborted = true;
  for (auto* ends : {&sends_, &receives_})
    for (auto& [key, list] : *ends)
      std::erase_if(list, [&](const End& end) {
        bool is_own = end.communicator == std::uintptr_t(communicator);
        if (is_own) pending_.erase(end.transfer);
        return is_own;
      });
  changed_.notify_all();
}

bool RecordingNccl::is_done(Transfer transfer) const {
  std::lock_guard lock(mutex_);
  return pending_.count(transfer) == 0;
}

bool RecordingNccl::wait(const std::set<Transfer>& transfers) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::seconds(20), [&] {
    return std::none_of(transfers.begin(), transfers.end(), [&](Transfer each) { return pending_.count(each) > 0; });
  });
}

}  // namespace shardlab::testing
