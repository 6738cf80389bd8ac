#include "virtualdev/transports/shm_segment.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "runtime/base/error.h"

namespace shardlab {
namespace {

constexpr std::uint64_t kMagic = 0x736861726473686dULL;  // "shardshm"
constexpr std::uint64_t kVersion = 3;

struct Header {
  std::uint64_t magic, version, num_processes, ring_bytes;
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

constexpr std::size_t kPage = 4096;
std::size_t round_up(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }
std::size_t doorbells_at() { return kPage; }
std::size_t boards_at(int n) { return doorbells_at() + round_up(std::size_t(n) * sizeof(ShmDoorbell)); }
std::size_t rings_at(int n) { return boards_at(n) + round_up(std::size_t(n) * sizeof(ShmPlace)); }
std::size_t data_at(int n) { return rings_at(n) + round_up(std::size_t(n) * n * sizeof(ShmRing)); }
std::size_t total_bytes(int n, std::size_t ring_bytes) { return data_at(n) + std::size_t(n) * n * ring_bytes; }

std::size_t ring_bytes_for(int n) {
  std::size_t share = ShmSegment::kTotalBytesMax / (std::size_t(n) * std::size_t(n));
  return std::clamp(std::bit_floor(share), ShmSegment::kRingBytesMin, ShmSegment::kRingBytesMax);
}

std::string random_name() {
  std::uint64_t words[2];
  if (getentropy(words, sizeof words) != 0) throw IoError(fmt::format("no random bytes: {}", std::strerror(errno)));
  return fmt::format("shardlab-{:016x}{:016x}", words[0], words[1]);
}

// A file without a name that others open through our descriptor; -1 where that does not work here.
int anonymous_file(std::string& name) {
  int descriptor = memfd_create("shardlab", MFD_CLOEXEC);
  if (descriptor < 0) return -1;
  name = fmt::format("/proc/{}/fd/{}", getpid(), descriptor);
  int probe = open(name.c_str(), O_RDWR | O_CLOEXEC);
  if (probe < 0) {
    close(descriptor);
    return -1;
  }
  close(probe);
  return descriptor;
}

int named_file(std::string& name, std::size_t bytes) {
  const char* temporary = std::getenv("TMPDIR");
  std::string file = random_name(), failed;
  for (std::string folder : {std::string("/dev/shm"), std::string(temporary && *temporary ? temporary : "/tmp")}) {
    struct statvfs space;
    if (statvfs(folder.c_str(), &space) != 0 || space.f_bavail * space.f_frsize < bytes) {
      failed += fmt::format(" {} lacks {} bytes;", folder, bytes);
      continue;
    }
    name = folder + "/" + file;
    int descriptor = open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (descriptor >= 0) return descriptor;
    failed += fmt::format(" {}: {};", name, std::strerror(errno));
  }
  throw IoError("no place for shared memory:" + failed);
}

long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value, const timespec* limit = nullptr) {
  return syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation, value, limit, nullptr, 0);
}

// Behind the header.
std::atomic<std::uint32_t>& arrivals(std::byte* base) { return *reinterpret_cast<std::atomic<std::uint32_t>*>(base + sizeof(Header)); }

}  // namespace

std::unique_ptr<ShmSegment> ShmSegment::create(int num_processes) {
  SL_CHECK(num_processes > 0, "{} processes", num_processes);
  std::unique_ptr<ShmSegment> segment(new ShmSegment);
  std::size_t ring_bytes = ring_bytes_for(num_processes);
  std::size_t bytes = total_bytes(num_processes, ring_bytes);
  int descriptor = anonymous_file(segment->name_);
  if (descriptor < 0) {
    descriptor = named_file(segment->name_, bytes);
    segment->remove_path_ = segment->name_;
  }
  segment->descriptor_ = descriptor;
  if (ftruncate(descriptor, off_t(bytes)) != 0)  // sparse and zero: only what is used takes memory
    throw IoError(fmt::format("shared memory of {} bytes: {}", bytes, std::strerror(errno)));
  segment->map(descriptor, bytes);
  segment->num_processes_ = num_processes;
  segment->ring_bytes_ = ring_bytes;
  Header header{kMagic, kVersion, std::uint64_t(num_processes), ring_bytes};
  std::memcpy(segment->base_, &header, sizeof header);
  return segment;
}

std::unique_ptr<ShmSegment> ShmSegment::open(const std::string& name) {
  std::unique_ptr<ShmSegment> segment(new ShmSegment);
  int descriptor = ::open(name.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) throw IoError(fmt::format("shared memory {} cannot be opened: {}", name, std::strerror(errno)));
  segment->descriptor_ = descriptor;
  struct stat status;
  Header header{};
  if (fstat(descriptor, &status) != 0 || pread(descriptor, &header, sizeof header, 0) != ssize_t(sizeof header) || header.magic != kMagic ||
      header.version != kVersion || header.num_processes == 0 || header.num_processes > 65536 ||
      std::size_t(status.st_size) != total_bytes(int(header.num_processes), header.ring_bytes))
    throw IoError(fmt::format("{} is not shared memory of this version of shardlab", name));
  segment->name_ = name;
  segment->num_processes_ = int(header.num_processes);
  segment->ring_bytes_ = header.ring_bytes;
  segment->map(descriptor, std::size_t(status.st_size));
  return segment;
}

void ShmSegment::map(int descriptor, std::size_t bytes) {
  void* address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
  if (address == MAP_FAILED) throw IoError(fmt::format("shared memory {} cannot be mapped: {}", name_, std::strerror(errno)));
  base_ = static_cast<std::byte*>(address);
  bytes_ = bytes;
}

ShmSegment::~ShmSegment() {
  if (base_) munmap(base_, bytes_);
  if (descriptor_ >= 0) close(descriptor_);
  if (!remove_path_.empty()) unlink(remove_path_.c_str());
}

ShmDoorbell& ShmSegment::doorbell(int process) const { return reinterpret_cast<ShmDoorbell*>(base_ + doorbells_at())[process]; }
ShmRing& ShmSegment::ring(int from, int to) const {
  return reinterpret_cast<ShmRing*>(base_ + rings_at(num_processes_))[std::size_t(from) * num_processes_ + to];
}
std::byte* ShmSegment::ring_data(int from, int to) const {
  return base_ + data_at(num_processes_) + (std::size_t(from) * num_processes_ + to) * ring_bytes_;
}

ShmPlace& ShmSegment::board(int process) const { return reinterpret_cast<ShmPlace*>(base_ + boards_at(num_processes_))[process]; }

void ShmSegment::put_place(int process, Where where) const {
  ShmPlace& place = board(process);
  auto put = [](char* to, const char* text) {
    std::size_t size = strnlen(text, ShmPlace::kTextMax - 1);
    std::memcpy(to, text, size);
    to[size] = '\0';
  };
  place.version.fetch_add(1, std::memory_order_acquire);
  place.line = where.line;
  place.statement = where.statement;
  put(place.file, where.file);
  put(place.function, where.function);
  place.version.fetch_add(1, std::memory_order_release);
}

Where ShmSegment::place(int process) const {
  const ShmPlace& place = board(process);
  std::uint32_t version = place.version.load(std::memory_order_acquire);
  if (version == 0 || version % 2 != 0) return {};
  auto text = [](const char* from) { return intern({from, strnlen(from, ShmPlace::kTextMax)}); };
  return {text(place.file), text(place.function), place.line, place.statement};
}

void ShmSegment::arrive() const {
  arrivals(base_).fetch_add(1);
  futex(arrivals(base_), FUTEX_WAKE, INT_MAX);
}

bool ShmSegment::wait_arrived(int others, std::chrono::milliseconds limit) const {
  auto end = std::chrono::steady_clock::now() + limit;
  while (true) {
    std::uint32_t count = arrivals(base_).load();
    if (int(count) >= others) return true;
    auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(end - std::chrono::steady_clock::now()).count();
    if (left <= 0) return false;
    timespec time{time_t(left / 1'000'000'000), long(left % 1'000'000'000)};
    futex(arrivals(base_), FUTEX_WAIT, count, &time);
  }
}

void ShmSegment::ring_bell(int process) const {
  ShmDoorbell& door = doorbell(process);
  door.bell.fetch_add(1);
  if (door.sleeping.load() != 0) futex(door.bell, FUTEX_WAKE, INT_MAX);
}

void ShmSegment::abort(int process) const {
  doorbell(process).aborted.store(1);
  ring_bell(process);
}

void ShmSegment::abort_all() const {
  for (int p = 0; p < num_processes_; ++p) abort(p);
}

}  // namespace shardlab
