#include "virtualdev/transports/link_transport.h"

#include <linux/futex.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>

#include "runtime/base/error.h"

namespace shardlab {

using comm::ExchangeResult;
using comm::ExchangeStatus;
using comm::MessageHeader;
using comm::ProcessIndex;

namespace {

constexpr std::size_t kHeaderBytes = sizeof(MessageHeader);
// Messages up to this size are over when the link has them; of larger ones the sender sees them off.
constexpr std::int64_t kBufferedBytes = 32 * 1024;
// Between looks at polled links: short at first, for what comes soon.
constexpr std::chrono::nanoseconds kPauseMin{5'000}, kPauseMax{250'000};

void ring(int event_fd) {
  std::uint64_t one = 1;
  [[maybe_unused]] ssize_t n = write(event_fd, &one, sizeof one);  // full means that it has been rung
}

}  // namespace

// One message on its way out: the header and its parts as one stream.
class LinkTransport::Outgoing {
 public:
  Outgoing(ByteLink& link, const comm::Send& send, MessageHeader header) : link_(&link), peer_(send.to), header_(header) {
    header_.bytes = 0;
    parts_.reserve(send.parts.size() + 1);
    parts_.emplace_back();  // the header's place: set when this object lies where it stays
    for (std::span<const std::byte> part : send.parts) {
      header_.bytes += std::int64_t(part.size());
      parts_.push_back(part);
    }
    parts_[0] = {reinterpret_cast<const std::byte*>(&header_), kHeaderBytes};
  }
  Outgoing(const Outgoing&) = delete;
  Outgoing& operator=(const Outgoing&) = delete;

  bool done() const { return is_done_; }
  ProcessIndex peer() const { return peer_; }
  std::int64_t data_bytes() const { return header_.bytes; }

  bool progress() {
    std::size_t n = link_->write(std::span(parts_).subspan(at_));
    bool moved = n > 0;
    while (at_ < parts_.size() && n >= parts_[at_].size()) n -= parts_[at_++].size();
    if (n > 0) parts_[at_] = parts_[at_].subspan(n);
    is_done_ = at_ == parts_.size() && (header_.bytes <= kBufferedBytes || link_->is_flushed());
    return moved;
  }

 private:
  ByteLink* link_;
  ProcessIndex peer_;
  MessageHeader header_;
  std::vector<std::span<const std::byte>> parts_;
  std::size_t at_ = 0;
  bool is_done_ = false;
};

// One message on its way in.
class LinkTransport::Incoming {
 public:
  Incoming(ByteLink& link, Arriving& arriving, const comm::Receive& receive, MessageHeader expected)
      : link_(&link), arriving_(&arriving), receive_(&receive), expected_(expected) {
    expected_.bytes = std::int64_t(receive.data.size());
  }

  bool done() const { return agreed_ && offset_ == receive_->data.size(); }
  ProcessIndex peer() const { return receive_->from; }
  const std::optional<comm::WireMismatch>& mismatch() const { return mismatch_; }

  bool progress() {
    std::size_t moved = 0;
    if (!agreed_) {
      auto header = std::as_writable_bytes(std::span(&arriving_->header, 1));
      if (arriving_->bytes < kHeaderBytes) {
        moved = link_->read(header.subspan(arriving_->bytes));
        arriving_->bytes += moved;
      }
      if (arriving_->bytes < kHeaderBytes) return moved > 0;
      if (!arriving_->header.agrees(expected_) || arriving_->header.bytes != expected_.bytes) {
        mismatch_ = comm::WireMismatch{receive_->from, expected_, arriving_->header};
        return true;
      }
      agreed_ = true;
      arriving_->bytes = 0;
    }
    std::size_t n = offset_ < receive_->data.size() ? link_->read(receive_->data.subspan(offset_)) : 0;
    offset_ += n;
    return moved + n > 0;
  }

 private:
  ByteLink* link_;
  Arriving* arriving_;
  const comm::Receive* receive_;
  MessageHeader expected_;
  std::optional<comm::WireMismatch> mismatch_;
  std::size_t offset_ = 0;
  bool agreed_ = false;
};

LinkTransport::LinkTransport(std::string_view name, ProcessIndex self, Links links)
    : name_(name), self_(self), links_(std::move(links)), arriving_(links_.to.size()), sent_(links_.to.size()) {
  wake_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_fd_ < 0) throw IoError(fmt::format("no event descriptor: {}", std::strerror(errno)));
  bool sockets = std::any_of(links_.to.begin(), links_.to.end(), [](const auto& link) { return link && link->fd() >= 0; });
  if (!sockets || !links_.segment) return;
  watch_fd_ = epoll_create1(EPOLL_CLOEXEC);
  if (watch_fd_ < 0) throw IoError(fmt::format("no epoll descriptor: {}", std::strerror(errno)));
  auto add = [&](int fd, std::uint32_t events) {
    epoll_event event{.events = events, .data = {.fd = fd}};
    if (epoll_ctl(watch_fd_, EPOLL_CTL_ADD, fd, &event) != 0) throw IoError(fmt::format("epoll: {}", std::strerror(errno)));
  };
  add(wake_fd_, EPOLLIN | EPOLLET);  // never cleared: who sleeps in poll() must see it too
  for (const auto& link : links_.to)
    if (link && link->fd() >= 0) add(link->fd(), EPOLLONESHOT);
  helper_ = std::jthread([this](std::stop_token stop) { help(stop); });
}

LinkTransport::~LinkTransport() {
  if (helper_.joinable()) {
    helper_.request_stop();
    ring(wake_fd_);
    helper_.join();
  }
  if (watch_fd_ >= 0) close(watch_fd_);
  if (wake_fd_ >= 0) close(wake_fd_);
}

ExchangeResult LinkTransport::exchange(const MessageHeader& header, std::span<const comm::Send> sends,
                                       std::span<const comm::Receive> receives,
                                       const std::function<void(const std::vector<ProcessIndex>&)>& on_wait) {
  std::vector<std::unique_ptr<Outgoing>> outgoing;
  std::vector<Incoming> incoming;
  outgoing.reserve(sends.size());
  incoming.reserve(receives.size());
  for (const comm::Send& send : sends) {
    check_peer(send.to);
    outgoing.push_back(std::make_unique<Outgoing>(*links_.to[std::size_t(send.to)], send, header));
  }
  for (const comm::Receive& receive : receives) {
    check_peer(receive.from);
    incoming.emplace_back(*links_.to[std::size_t(receive.from)], arriving_[std::size_t(receive.from)], receive, header);
  }
  bool told = false;
  while (true) {
    // Read before looking at the links: what changes from here on changes it.
    std::uint32_t bell = links_.segment ? links_.segment->doorbell(links_.rank).bell.load() : 0;
    if (aborted()) return {ExchangeStatus::kAborted, {}};
    bool moved = false, done = true;
    for (auto& out : outgoing)
      if (!out->done()) {
        moved |= out->progress();
        done &= out->done();
        if (!out->done()) continue;
        SentBytes& sent = sent_[std::size_t(out->peer())];
        ++sent.messages;
        sent.bytes += out->data_bytes();
      }
    ExchangeResult result{ExchangeStatus::kMismatch, {}};
    for (Incoming& in : incoming)
      if (!in.done()) {
        moved |= in.progress();
        done &= in.done();
        if (in.mismatch()) result.mismatches.push_back(*in.mismatch());
      }
    if (!result.mismatches.empty()) return result;
    if (done) return {};
    if (moved) {
      next_pause_ = kPauseMin;
      continue;
    }
    std::vector<Awaited> awaited;
    auto awaited_of = [&](ProcessIndex peer) -> Awaited& {
      auto found = std::find_if(awaited.begin(), awaited.end(), [&](const Awaited& each) { return each.peer == peer; });
      return found != awaited.end() ? *found : awaited.emplace_back(Awaited{peer});
    };
    for (const Incoming& in : incoming)
      if (!in.done()) awaited_of(in.peer()).to_read = true;
    for (const auto& out : outgoing)
      if (!out->done()) awaited_of(out->peer()).to_write = true;
    std::sort(awaited.begin(), awaited.end(), [](const Awaited& a, const Awaited& b) { return a.peer < b.peer; });
    if (!told && on_wait) {
      std::vector<ProcessIndex> peers;
      for (const Awaited& each : awaited) peers.push_back(each.peer);
      on_wait(peers);
    }
    told = true;
    check_broken(awaited);
    sleep(bell, awaited);
  }
}

void LinkTransport::finish() {
  if (!links_.mpi || aborted()) return;
  for (auto& link : links_.to)
    if (link && link->is_polled()) link.reset();
  links_.mpi->finish();
}

void LinkTransport::abort(std::string_view) {
  aborted_.store(true);
  if (links_.segment) links_.segment->abort(links_.rank);
  ring(wake_fd_);
}

void LinkTransport::check_peer(ProcessIndex peer) const {
  SL_CHECK(peer >= 0 && peer < int(links_.to.size()) && links_.to[std::size_t(peer)], "process {} exchanges with process {} of {}", self_,
           peer, links_.to.size());
}

bool LinkTransport::aborted() const {
  return aborted_.load() || (links_.segment && links_.segment->doorbell(links_.rank).aborted.load() != 0);
}

void LinkTransport::check_broken(const std::vector<Awaited>& awaited) {
  for (const Awaited& each : awaited) {
    auto reason = links_.to[std::size_t(each.peer)]->broken();
    if (!reason) continue;
    std::int64_t now = comm::now_ns();
    if (broken_since_ns_ == 0) broken_since_ns_ = now;
    if (now - broken_since_ns_ < std::int64_t(kBrokenGraceMs) * 1'000'000) continue;
    throw TransportError(fmt::format("the connection of process {} to process {} broke: {}", self_, each.peer, *reason));
  }
}

std::optional<std::chrono::nanoseconds> LinkTransport::pause(const std::vector<Awaited>& awaited) {
  std::optional<std::chrono::nanoseconds> pause;
  if (broken_since_ns_ != 0) pause = std::chrono::milliseconds(kBrokenGraceMs / 4);
  if (std::none_of(awaited.begin(), awaited.end(), [&](const Awaited& each) { return links_.to[std::size_t(each.peer)]->is_polled(); }))
    return pause;
  next_pause_ = std::clamp(next_pause_, kPauseMin, kPauseMax);
  pause = next_pause_;
  next_pause_ *= 2;
  return pause;
}

void LinkTransport::sleep(std::uint32_t bell, const std::vector<Awaited>& awaited) {
  auto limit = pause(awaited);
  timespec limit_time{};
  if (limit) limit_time = {limit->count() / 1'000'000'000, limit->count() % 1'000'000'000};
  const timespec* at_most = limit ? &limit_time : nullptr;
  auto rings = [&](const Awaited& each) {
    const ByteLink& link = *links_.to[std::size_t(each.peer)];
    return link.fd() < 0 && !link.is_polled();
  };
  if (std::none_of(awaited.begin(), awaited.end(), rings)) return sleep_on_sockets(awaited, at_most);
  watch_sockets(awaited);
  // The flag is up before the kernel compares the bell: a peer that rings later sees it, one that rang before changed the bell.
  ShmDoorbell& door = links_.segment->doorbell(links_.rank);
  door.sleeping.store(1);
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&door.bell), FUTEX_WAIT, bell, at_most, nullptr, 0);
  door.sleeping.store(0, std::memory_order_relaxed);
}

void LinkTransport::sleep_on_sockets(const std::vector<Awaited>& awaited, const timespec* limit) {
  std::vector<pollfd> polled{{wake_fd_, POLLIN, 0}};
  for (const Awaited& each : awaited) {
    const ByteLink& link = *links_.to[std::size_t(each.peer)];
    if (link.fd() < 0 || link.broken()) continue;  // a broken one would be ready for ever
    polled.push_back({link.fd(), short((each.to_read ? POLLIN : 0) | (each.to_write ? POLLOUT : 0)), 0});
  }
  ppoll(polled.data(), polled.size(), limit, nullptr);
}

void LinkTransport::watch_sockets(const std::vector<Awaited>& awaited) {
  for (const Awaited& each : awaited) {
    const ByteLink& link = *links_.to[std::size_t(each.peer)];
    if (link.fd() < 0 || link.broken()) continue;
    epoll_event event{.events = EPOLLONESHOT | (each.to_read ? EPOLLIN : 0u) | (each.to_write ? EPOLLOUT : 0u), .data = {.fd = link.fd()}};
    epoll_ctl(watch_fd_, EPOLL_CTL_MOD, link.fd(), &event);
  }
}

void LinkTransport::help(std::stop_token stop) {
  constexpr int kEventsMax = 16;
  epoll_event events[kEventsMax];
  while (true) {
    int count = epoll_wait(watch_fd_, events, kEventsMax, -1);
    if ((count < 0 && errno != EINTR) || stop.stop_requested()) return;
    if (count > 0) links_.segment->ring_bell(links_.rank);
  }
}

}  // namespace shardlab
