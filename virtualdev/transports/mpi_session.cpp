#include "virtualdev/transports/mpi_session.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "runtime/base/error.h"
#include "virtualdev/transports/mpi_library.h"

namespace shardlab {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kTag = 0x5348;  // of all messages; the communicator is ours alone
// A message that MPI takes over at once (its eager limit is 4 KB in shared memory): small exchanges end without the receiver.
constexpr std::size_t kSmallBytes = 3584;
constexpr std::size_t kChunkBytes = std::size_t(256) << 10;
constexpr std::size_t kSlots = 4;  // of chunks under way, in each direction of a link
// Decided by measurement: decision 0026.
constexpr int kThreadLevel = MPI_THREAD_SERIALIZED;

// How often MPI is looked after when nobody calls it, and for how long after the last traffic.
constexpr std::chrono::microseconds kTick{1000};
constexpr std::chrono::milliseconds kTicksFor{500};

struct Shared {
  const MpiLibrary& mpi;
  MPI_Comm comm = nullptr;
  std::mutex mutex;                          // around every call of MPI
  std::vector<std::vector<std::byte>> kept;  // under the mutex
  std::atomic<Clock::rep> last_traffic = 0;
  std::mutex sleep_mutex;
  std::condition_variable_any woken;

  void check(int code, const char* call) const {
    if (code == MPI_SUCCESS) return;
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    mpi.error_string(code, text.data(), &length);
    throw TransportError(fmt::format("{} failed: {}", call, std::string_view(text.data(), std::size_t(length))));
  }
  // There is traffic: the helper looks after it from now on.
  void note_traffic() {
    auto now = Clock::now().time_since_epoch().count();
    auto before = last_traffic.exchange(now);
    if (now - before < Clock::duration(kTicksFor / 2).count()) return;
    std::lock_guard lock(sleep_mutex);
    woken.notify_all();
  }
};

// A stream of bytes in chunks, each a message of MPI; they arrive in the order in which they were sent.
class MpiLink final : public ByteLink {
 public:
  MpiLink(std::shared_ptr<Shared> shared, int peer) : shared_(std::move(shared)), peer_(peer) {
    for (Slot& slot : receiving_) {
      slot.data.resize(kChunkBytes);
      post(slot);
    }
  }
  ~MpiLink() override {
    std::lock_guard lock(shared_->mutex);
    int is_finalized = 0;
    shared_->mpi.finalized(&is_finalized);
    if (is_finalized) return;
    for (Slot& slot : receiving_)
      if (slot.is_busy) shared_->mpi.cancel(&slot.request);
    // What does not end, because a peer is gone, keeps its memory: MPI may read and write there until the process ends.
    for (std::vector<Slot>* slots : {&sending_, &receiving_})
      for (Slot& slot : *slots)
        if (is_under_way(slot)) shared_->kept.push_back(std::move(slot.data));
  }

  std::size_t write(std::span<const std::span<const std::byte>> parts) override {
    if (broken_) return 0;
    std::lock_guard lock(shared_->mutex);
    std::size_t total = 0;
    for (std::span<const std::byte> part : parts) total += part.size();
    std::size_t taken = 0, part = 0, offset = 0;
    while (taken < total) {
      Slot* slot = free_slot(total <= kSmallMax ? kSendSlots : kSlots);
      if (slot == nullptr) break;
      std::size_t want = std::min(total - taken, total <= kSmallMax ? kSmallBytes : kChunkBytes), filled = 0;
      slot->data.resize(std::max(slot->data.size(), want));
      while (filled < want) {
        std::size_t n = std::min(want - filled, parts[part].size() - offset);
        std::memcpy(slot->data.data() + filled, parts[part].data() + offset, n);
        filled += n;
        offset += n;
        if (offset == parts[part].size()) {
          ++part;
          offset = 0;
        }
      }
      if (!succeeds(shared_->mpi.isend(slot->data.data(), int(filled), shared_->mpi.byte, peer_, kTag, shared_->comm, &slot->request)))
        break;
      slot->is_busy = true;
      taken += filled;
    }
    if (taken > 0) shared_->note_traffic();
    return taken;
  }

  std::size_t read(std::span<std::byte> into) override {
    std::lock_guard lock(shared_->mutex);
    std::size_t taken = 0;
    while (taken < into.size() && !broken_) {
      Slot& slot = receiving_[next_];
      if (slot.is_busy) {
        int arrived = 0;
        MPI_Status status;
        if (!succeeds(shared_->mpi.test(&slot.request, &arrived, &status)) || !arrived) break;
        int bytes = 0;
        shared_->mpi.get_count(&status, shared_->mpi.byte, &bytes);
        slot.is_busy = false;
        slot.filled = std::size_t(bytes);
        slot.offset = 0;
      }
      std::size_t n = std::min(slot.filled - slot.offset, into.size() - taken);
      std::memcpy(into.data() + taken, slot.data.data() + slot.offset, n);
      slot.offset += n;
      taken += n;
      if (slot.offset < slot.filled) break;
      post(slot);
      next_ = (next_ + 1) % kSlots;
    }
    if (taken > 0) shared_->note_traffic();
    return taken;
  }

  bool is_polled() const override { return true; }
  bool is_flushed() override {
    std::lock_guard lock(shared_->mutex);
    return std::none_of(sending_.begin(), sending_.end(), [&](Slot& slot) { return is_under_way(slot); });
  }
  std::optional<std::string> broken() const override { return broken_; }

 private:
  // Messages up to this size go in small chunks, for which there are slots enough.
  static constexpr std::size_t kSmallMax = std::size_t(40) << 10;
  static constexpr std::size_t kSendSlots = kSmallMax / kSmallBytes + kSlots;

  struct Slot {
    std::vector<std::byte> data;
    MPI_Request request = nullptr;
    bool is_busy = false;
    std::size_t filled = 0, offset = 0;  // of what arrived
  };

  bool succeeds(int code) {
    try {
      shared_->check(code, "a call of MPI");
      return true;
    } catch (const TransportError& error) {
      broken_ = error.what();
      return false;
    }
  }
  void post(Slot& slot) {
    slot.is_busy =
        succeeds(shared_->mpi.irecv(slot.data.data(), int(kChunkBytes), shared_->mpi.byte, peer_, kTag, shared_->comm, &slot.request));
  }
  bool is_under_way(Slot& slot) {
    if (!slot.is_busy) return false;
    int done = 0;
    if (succeeds(shared_->mpi.test(&slot.request, &done, MPI_STATUS_IGNORE)) && done) slot.is_busy = false;
    return slot.is_busy;
  }
  Slot* free_slot(std::size_t of_first) {
    for (std::size_t i = 0; i < of_first; ++i)
      if (!is_under_way(sending_[i])) return &sending_[i];
    return nullptr;
  }

  std::shared_ptr<Shared> shared_;
  int peer_;
  std::vector<Slot> sending_{kSendSlots}, receiving_{kSlots};
  std::size_t next_ = 0;  // the receiving slot whose chunk comes next
  std::optional<std::string> broken_;
};

class Session final : public MpiSession {
 public:
  Session() : shared_(std::make_shared<Shared>(MpiLibrary::load())) {
    const MpiLibrary& mpi = shared_->mpi;
    int is_initialized = 0, is_finalized = 0, level = MPI_THREAD_SINGLE;
    mpi.finalized(&is_finalized);
    if (is_finalized) throw_user_error("the transport mpi comes after MPI_Finalize; join the job before it");
    mpi.initialized(&is_initialized);
    if (is_initialized) {
      mpi.query_thread(&level);
    } else {
      shared_->check(mpi.init_thread(nullptr, nullptr, kThreadLevel, &level), "MPI_Init_thread");
      is_ours_ = true;
    }
    if (level < MPI_THREAD_SERIALIZED)
      throw_user_error(
          "the transport mpi needs MPI_THREAD_SERIALIZED, and MPI was initialised for less (level {}); initialise it with "
          "MPI_Init_thread, or leave that to shardlab",
          level);
    // Messages of the program's own cannot meet ours; a failure is told, not the end of the process.
    shared_->check(mpi.comm_dup(mpi.world, &shared_->comm), "MPI_Comm_dup");
    for (MPI_Comm comm : {mpi.world, shared_->comm})
      if (is_ours_ || comm != mpi.world) shared_->check(mpi.comm_set_errhandler(comm, mpi.errors_return), "MPI_Comm_set_errhandler");
    mpi.comm_rank(shared_->comm, &rank_);
    helper_ = std::jthread([shared = shared_](std::stop_token stop) { look_after(*shared, stop); });
  }
  ~Session() override { stop(); }

  int rank() const override { return rank_; }
  std::unique_ptr<ByteLink> link_to(int rank) override { return std::make_unique<MpiLink>(shared_, rank); }
  void finish() override {
    stop();
    if (is_ours_) shared_->mpi.finalize();
    is_ours_ = false;
  }

 private:
  void stop() {
    helper_.request_stop();
    shared_->woken.notify_all();
    if (helper_.joinable()) helper_.join();
  }
  static void look_after(Shared& shared, std::stop_token stop) {
    while (!stop.stop_requested()) {
      auto idle = Clock::now().time_since_epoch() - Clock::duration(shared.last_traffic.load());
      if (idle > kTicksFor) {
        std::unique_lock lock(shared.sleep_mutex);
        auto seen = shared.last_traffic.load();
        shared.woken.wait(lock, stop, [&] { return shared.last_traffic.load() != seen; });
        continue;
      }
      std::this_thread::sleep_for(kTick);
      std::lock_guard lock(shared.mutex);
      int found = 0;
      MPI_Status status;
      shared.mpi.iprobe(MPI_ANY_SOURCE, kTag + 1, shared.comm, &found, &status);  // nobody sends it: MPI moves what is under way
    }
  }

  std::shared_ptr<Shared> shared_;
  int rank_ = 0;
  bool is_ours_ = false;
  std::jthread helper_;
};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

std::string MpiSession::why_absent() { return ""; }
std::string MpiSession::job() { return variable("OMPI_COMM_WORLD_RANK").empty() ? "" : variable("PMIX_NAMESPACE"); }
int MpiSession::job_size() { return std::atoi(variable("OMPI_COMM_WORLD_SIZE").c_str()); }
int MpiSession::job_rank() { return std::atoi(variable("OMPI_COMM_WORLD_RANK").c_str()); }
std::unique_ptr<MpiSession> MpiSession::start() { return std::make_unique<Session>(); }

}  // namespace shardlab
