// The transport over links: one stream of bytes a pair of processes, through shared memory or a socket, and one place to sleep.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "virtualdev/transports/byte_link.h"
#include "virtualdev/transports/mpi_session.h"
#include "virtualdev/transports/process_transport.h"
#include "virtualdev/transports/shm_segment.h"

namespace shardlab {

// What a process is connected by. `to` has one link a process, nothing for itself. `segment`, where some links go through shared memory,
// holds this process's doorbell at `rank`. `mpi`, where some links go through it, outlives them.
struct Links {
  std::unique_ptr<MpiSession> mpi;
  std::vector<std::unique_ptr<ByteLink>> to;
  std::unique_ptr<ShmSegment> segment;
  int rank = 0;
};

// One thread exchanges; abort() may come from any thread, and through the segment from any process. A peer that dies leaves us asleep until
// somebody aborts: the control plane does as soon as it knows. A link that breaks while the control plane has no word of a death is an
// error of its own after kBrokenGraceMs.
//
// Where it sleeps: on the doorbell's futex while only links of shared memory are awaited, in poll() while only sockets are. Where both are,
// a helper thread turns what happens on the sockets into rings of the doorbell; it watches a socket only while it is awaited. Where links
// are polled, it sleeps for ever longer pauses.
class LinkTransport final : public ProcessTransport {
 public:
  static constexpr int kBrokenGraceMs = 1000;

  LinkTransport(std::string_view name, comm::ProcessIndex self, Links links);
  ~LinkTransport() override;

  std::string_view name() const override { return name_; }
  comm::ExchangeResult exchange(const comm::MessageHeader& header, std::span<const comm::Send> sends,
                                std::span<const comm::Receive> receives,
                                const std::function<void(const std::vector<comm::ProcessIndex>&)>& on_wait) override;
  void abort(std::string_view why) override;
  std::vector<SentBytes> sent() const override { return sent_; }
  void finish() override;

 private:
  // The header that has arrived, and how much of it. It stays here until it agrees.
  struct Arriving {
    comm::MessageHeader header;
    std::size_t bytes = 0;
  };
  // What the links were found to be waiting for.
  struct Awaited {
    comm::ProcessIndex peer;
    bool to_read = false, to_write = false;
  };
  class Outgoing;
  class Incoming;

  void check_peer(comm::ProcessIndex peer) const;
  bool aborted() const;
  void sleep(std::uint32_t bell, const std::vector<Awaited>& awaited);
  // How long at most; nothing: until something happens.
  std::optional<std::chrono::nanoseconds> pause(const std::vector<Awaited>& awaited);
  void sleep_on_sockets(const std::vector<Awaited>& awaited, const timespec* limit);
  void watch_sockets(const std::vector<Awaited>& awaited);
  // Throws when a link that we wait for has been broken for too long.
  void check_broken(const std::vector<Awaited>& awaited);
  void help(std::stop_token stop);

  std::string name_;
  comm::ProcessIndex self_;
  Links links_;
  std::vector<Arriving> arriving_;
  std::vector<SentBytes> sent_;
  std::atomic<bool> aborted_ = false;
  int wake_fd_ = -1;   // readable for good once aborted: ends every poll()
  int watch_fd_ = -1;  // the helper's epoll; -1 where there is no helper
  std::int64_t broken_since_ns_ = 0;
  std::chrono::nanoseconds next_pause_{};  // of polled links
  std::jthread helper_;
};

}  // namespace shardlab
