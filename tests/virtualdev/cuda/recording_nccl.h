// A stand-in for NCCL among the members of one process: what was sent arrives when both ends have asked for it, and every call is checked.
// It is not NCCL, and nothing here has run on a GPU.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "virtualdev/cuda/gpu_api.h"

namespace shardlab::testing {

// Thread-safe; threads stand for processes. Rules that are checked: two members on one GPU are refused, sends and receives stand in groups
// and on communicators that are ready, both ends of a message agree on its bytes, every communicator is ended once, and not used
// afterwards.
class RecordingNccl {
 public:
  using Transfer = std::int64_t;  // work of a stream, done when both ends are there

  std::vector<std::string> faults() const;
  // Not ended.
  int open_communicators() const;
  // How many members each communicator had that was made, in that order.
  std::vector<int> sizes() const;
  // Several members of a communicator may be on one GPU.
  void let_ranks_share() { may_share_ = true; }
  // From now on: is_ready() of this rank's communicators throws, as where a peer is gone.
  void break_rank(int rank);

  std::string new_id();
  std::vector<cuda::Communicator> join(const std::string& id, std::span<const cuda::CommunicatorMember> own, int size);
  bool is_ready(cuda::Communicator communicator);
  void group_start();
  // What the group's work is, by stream.
  std::vector<std::pair<cuda::Stream, Transfer>> group_end();
  void send(const std::byte* data, std::size_t bytes, int to, cuda::Communicator communicator, cuda::Stream stream);
  void receive(std::byte* data, std::size_t bytes, int from, cuda::Communicator communicator, cuda::Stream stream);
  void finish(cuda::Communicator communicator);
  void destroy(cuda::Communicator communicator);
  void abort(cuda::Communicator communicator);

  bool is_done(Transfer transfer) const;
  // False: nobody came within the limit.
  bool wait(const std::set<Transfer>& transfers) const;

 private:
  bool may_share_ = false;
  struct Member {
    std::string id;
    int rank = 0, size = 0, gpu = 0;
    int busy = 2;  // looks until it has taken in what was asked
    bool is_finishing = false, is_over = false, was_aborted = false;
  };
  struct End {
    Transfer transfer = 0;
    std::uintptr_t communicator = 0;
    std::byte* to = nullptr;
    const std::byte* from = nullptr;
    std::size_t bytes = 0;
    int peer = 0;
    cuda::Stream stream{};
  };
  void fault(std::string_view text);
  Member* member_of(cuda::Communicator communicator, const std::string& what);
  void add(End end, cuda::Communicator communicator, const std::string& what);
  void match(const std::string& id, int from, int to);

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::vector<std::string> faults_;
  std::vector<int> sizes_;
  std::set<int> broken_;
  std::uintptr_t next_ = 1'000'000;
  Transfer next_transfer_ = 1;
  std::map<std::uintptr_t, Member> members_;
  std::map<std::string, std::map<int, std::uintptr_t>> ids_;                        // by id and rank
  std::map<std::thread::id, std::vector<End>> groups_;                              // being made
  std::map<std::tuple<std::string, int, int>, std::vector<End>> sends_, receives_;  // by id, sender, receiver
  std::set<Transfer> pending_;
};

}  // namespace shardlab::testing
