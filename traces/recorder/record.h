// The observer's events as records of the ring: their fields, and their one binary encoding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/base/error.h"

namespace shardlab::recorder {

// Stored in files: codes are never reused.
enum class RecordType : std::uint32_t {
  kProcess = 1,
  kDevices,
  kText,
  kSite,
  kProgram,
  kLaunchIssued,
  kLaunchStarted,
  kLaunchDone,
  kCompute,
  kCallStarted,
  kCallWaiting,
  kCallDone,
  kLayout,
  kArray,
  kHostRead,
  kClosed,
  kEpoch,
  kArrayEnd,
  kChecksums,
  kModule,
  kStack,
  kLaunchTakes,
};

// A field at a record's end that older records lack.
template <typename T>
struct Later {
  T value{};
};

// Numbers as they lie in memory, then texts and lists with their length before them. Grows beyond its first bytes only for
// the big records, which are rare.
class Encoder {
 public:
  template <typename T>
  void operator()(const T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>)
      append(&value, sizeof value);
    else if constexpr (std::is_convertible_v<const T&, std::string_view>)
      text(value);
    else if constexpr (requires { value.first; })
      (*this)(value.first), (*this)(value.second);
    else if constexpr (requires { value.value; })
      (*this)(value.value);
    else if constexpr (requires { value.begin(); })
      list(value);
    else
      const_cast<T&>(value).fields(*this);
  }
  std::span<const std::byte> bytes() const { return {big_.empty() ? small_ : big_.data(), size_}; }

 private:
  void text(std::string_view value) {
    (*this)(std::uint32_t(value.size()));
    append(value.data(), value.size());
  }
  template <typename T>
  void list(const T& values) {
    (*this)(std::uint32_t(values.size()));
    for (const auto& value : values) (*this)(value);
  }
  void append(const void* data, std::size_t bytes) {
    if (bytes == 0) return;
    if (size_ + bytes > sizeof small_ && big_.size() < size_ + bytes) {
      const bool first = big_.empty();
      big_.resize(2 * (size_ + bytes));
      if (first) std::memcpy(big_.data(), small_, size_);
    }
    std::memcpy((big_.empty() ? small_ : big_.data()) + size_, data, bytes);
    size_ += bytes;
  }
  std::byte small_[256];
  std::vector<std::byte> big_;
  std::size_t size_ = 0;
};

// Throws IoError where the bytes end before the fields do.
class Decoder {
 public:
  explicit Decoder(std::span<const std::byte> bytes) : bytes_(bytes) {}
  template <typename T>
  void operator()(T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>)
      std::memcpy(&value, take(sizeof value), sizeof value);
    else if constexpr (std::is_same_v<T, std::string>) {
      const std::uint32_t size = length(1);
      value.assign(reinterpret_cast<const char*>(take(size)), size);
    } else if constexpr (requires { value.first; })
      (*this)(value.first), (*this)(value.second);
    else if constexpr (requires { value.value; }) {
      if (!bytes_.empty()) (*this)(value.value);
    } else if constexpr (requires { value.begin(); }) {
      value.resize(length(1));
      for (auto& item : value) (*this)(item);
    } else
      value.fields(*this);
  }

 private:
  const std::byte* take(std::size_t bytes) {
    if (bytes > bytes_.size()) throw IoError("a record ends before its fields do");
    const std::byte* data = bytes_.data();
    bytes_ = bytes_.subspan(bytes);
    return data;
  }
  std::uint32_t length(std::size_t bytes_each_min) {
    std::uint32_t size = 0;
    (*this)(size);
    if (size > bytes_.size() / bytes_each_min) throw IoError("a record's list is longer than the record");
    return size;
  }
  std::span<const std::byte> bytes_;
};

using Ns = std::int64_t;

// One list of fields serves both directions.
#define SL_RECORD_FIELDS(...)      \
  template <typename Visitor>      \
  void fields(Visitor& visit) {    \
    visit_all(visit, __VA_ARGS__); \
  }
template <typename Visitor, typename... Fields>
void visit_all(Visitor& visit, Fields&... fields) {
  (visit(fields), ...);
}

struct ProcessRecord {
  static constexpr auto kType = RecordType::kProcess;
  std::int32_t process = 0, process_count = 1;
  std::int64_t pid = 0;
  std::string host, command_line, version, clock_domain;
  Ns start_ns = 0;
  SL_RECORD_FIELDS(process, process_count, pid, host, command_line, version, clock_domain, start_ns)
};

struct DeviceRecord {
  std::int32_t ordinal = 0, process = 0;
  std::string kind, name;
  SL_RECORD_FIELDS(ordinal, process, kind, name)
};
struct DevicesRecord {
  static constexpr auto kType = RecordType::kDevices;
  std::vector<DeviceRecord> devices;
  SL_RECORD_FIELDS(devices)
};

// Ids of texts, sites, programs and layouts are the process's own, from 1; 0 is none.
struct TextRecord {
  static constexpr auto kType = RecordType::kText;
  std::uint32_t id = 0;
  std::string text;
  SL_RECORD_FIELDS(id, text)
};
struct SiteRecord {
  static constexpr auto kType = RecordType::kSite;
  std::uint32_t id = 0;
  std::string file, function;
  std::uint32_t line = 0;
  std::int32_t statement = -1;
  SL_RECORD_FIELDS(id, file, function, line, statement)
};

// A file that the process runs from, and a stack of return addresses in such files, innermost first: their names are found by the merge.
struct ModuleRecord {
  static constexpr auto kType = RecordType::kModule;
  std::uint32_t id = 0;
  std::string path, build_id;
  SL_RECORD_FIELDS(id, path, build_id)
};
struct StackRecord {
  static constexpr auto kType = RecordType::kStack;
  std::uint32_t id = 0;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> calls;  // module (0: none), offset
  SL_RECORD_FIELDS(id, calls)
};

struct ValueRecord {
  std::string name, dtype, sharding;
  std::vector<std::int64_t> shape;
  SL_RECORD_FIELDS(name, dtype, sharding, shape)
};
struct CollectiveRecord {
  std::string kind;
  std::vector<std::vector<std::int32_t>> groups;
  std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
  std::vector<std::string> axes;
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::string reduction;
  std::int64_t bytes = 0, wire_bytes = 0;
  std::string op, cause, sharding_before, sharding_after;
  std::uint32_t site = 0;
  SL_RECORD_FIELDS(kind, groups, pairs, axes, dtype, shape, reduction, bytes, wire_bytes, op, cause, sharding_before, sharding_after, site)
};
struct ProgramRecord {
  static constexpr auto kType = RecordType::kProgram;
  std::uint32_t id = 0;
  std::uint64_t fingerprint = 0;
  std::string name, text, mesh;
  std::vector<std::int32_t> devices, processes;
  std::vector<ValueRecord> operands, results;
  std::vector<CollectiveRecord> collectives;
  Later<std::int64_t> intermediate_bytes;
  SL_RECORD_FIELDS(id, fingerprint, name, text, mesh, devices, processes, operands, results, collectives, intermediate_bytes)
};

struct TakenRecord {
  std::int64_t array = -1;  // the process's id of it
  bool donated = false;
  SL_RECORD_FIELDS(array, donated)
};
// Of a launch that takes many arrays the first ones; the others come in records of their own, so that none is lost for its size.
constexpr std::size_t kTakenEach = 128;
struct LaunchIssuedRecord {
  static constexpr auto kType = RecordType::kLaunchIssued;
  std::int64_t launch = 0, seq = 0;
  std::uint32_t program = 0, site = 0;
  Ns time_ns = 0;
  Later<std::uint32_t> stack;
  Later<std::vector<TakenRecord>> takes;
  SL_RECORD_FIELDS(launch, seq, program, site, time_ns, stack, takes)
};
struct LaunchTakesRecord {
  static constexpr auto kType = RecordType::kLaunchTakes;
  std::int64_t launch = 0;
  std::uint32_t position = 0;  // of the first of these
  std::vector<TakenRecord> takes;
  SL_RECORD_FIELDS(launch, position, takes)
};
struct LaunchStartedRecord {
  static constexpr auto kType = RecordType::kLaunchStarted;
  std::int64_t launch = 0;
  Ns time_ns = 0;
  SL_RECORD_FIELDS(launch, time_ns)
};
struct LaunchDoneRecord {
  static constexpr auto kType = RecordType::kLaunchDone;
  std::int64_t launch = 0;
  Ns time_ns = 0;
  std::uint8_t status = 0;  // comm::CallStatus
  SL_RECORD_FIELDS(launch, time_ns, status)
};
struct ComputeRecord {
  static constexpr auto kType = RecordType::kCompute;
  std::int64_t launch = 0;
  std::uint32_t op = 0, site = 0;
  Ns begin_ns = 0, end_ns = 0;
  SL_RECORD_FIELDS(launch, op, site, begin_ns, end_ns)
};
struct CallStartedRecord {
  static constexpr auto kType = RecordType::kCallStarted;
  std::int64_t launch = 0;
  std::int32_t call = 0;
  Ns time_ns = 0;
  SL_RECORD_FIELDS(launch, call, time_ns)
};
struct CallWaitingRecord {
  static constexpr auto kType = RecordType::kCallWaiting;
  std::int64_t launch = 0;
  std::int32_t call = 0;
  Ns time_ns = 0;
  std::vector<std::int32_t> peers;
  SL_RECORD_FIELDS(launch, call, time_ns, peers)
};
struct CallDoneRecord {
  static constexpr auto kType = RecordType::kCallDone;
  std::int64_t launch = 0;
  std::int32_t call = 0;
  Ns time_ns = 0;
  std::uint8_t status = 0;  // comm::CallStatus
  std::int64_t moved_bytes = 0;
  SL_RECORD_FIELDS(launch, call, time_ns, status, moved_bytes)
};

// How arrays of one shape and sharding lie; told once.
struct LayoutRecord {
  static constexpr auto kType = RecordType::kLayout;
  std::uint32_t id = 0;
  std::vector<std::int64_t> shape;
  std::string spec;
  std::vector<std::int64_t> mesh_shape;
  std::vector<std::string> mesh_axes;
  std::vector<std::vector<std::string>> spec_axes;
  std::vector<std::int32_t> devices;
  std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> shards;
  SL_RECORD_FIELDS(id, shape, spec, mesh_shape, mesh_axes, spec_axes, devices, shards)
};
struct ArrayRecord {
  static constexpr auto kType = RecordType::kArray;
  std::int64_t id = 0, launch = -1;
  std::uint32_t name = 0, dtype = 0, layout = 0, site = 0;
  bool committed = true;
  Ns time_ns = 0;
  Later<std::int32_t> result{-1};  // its place among the launch's; -1: not known
  SL_RECORD_FIELDS(id, launch, name, dtype, layout, site, committed, time_ns, result)
};
struct ArrayEndRecord {
  static constexpr auto kType = RecordType::kArrayEnd;
  std::int64_t id = 0;
  bool donated = false;
  Ns time_ns = 0;
  SL_RECORD_FIELDS(id, donated, time_ns)
};
// Of an array's parts that the process has: runtime/core/checksum.h.
struct ChecksumRecord {
  std::int32_t device = 0;
  std::uint64_t hash = 0;
  std::int64_t numbers = 0, nans = 0, infinities = 0;
  double min = 0, max = 0, sum = 0, squares = 0;
  std::vector<double> sketches;
  SL_RECORD_FIELDS(device, hash, numbers, nans, infinities, min, max, sum, squares, sketches)
};
struct ChecksumsRecord {
  static constexpr auto kType = RecordType::kChecksums;
  std::int64_t id = 0;
  std::vector<ChecksumRecord> parts;
  SL_RECORD_FIELDS(id, parts)
};
struct HostReadRecord {
  static constexpr auto kType = RecordType::kHostRead;
  std::uint32_t what = 0, site = 0;
  Ns begin_ns = 0, end_ns = 0;
  SL_RECORD_FIELDS(what, site, begin_ns, end_ns)
};
struct ClosedRecord {
  static constexpr auto kType = RecordType::kClosed;
  Ns time_ns = 0;
  SL_RECORD_FIELDS(time_ns)
};

// Of an elastic job: what follows is of this set of processes.
struct EpochRecord {
  static constexpr auto kType = RecordType::kEpoch;
  std::int64_t epoch = 0;
  std::vector<std::int32_t> live;
  Ns time_ns = 0;
  SL_RECORD_FIELDS(epoch, live, time_ns)
};

#undef SL_RECORD_FIELDS

// Throws IoError where the bytes are not such a record.
template <typename Record>
Record decode(std::span<const std::byte> body) {
  Record record;
  Decoder decoder(body);
  decoder(record);
  return record;
}

}  // namespace shardlab::recorder
