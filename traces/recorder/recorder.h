// The recorder: the observer that puts every event into a mapped ring, and the thread that moves them into the process's part.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "runtime/base/modules.h"
#include "runtime/comm/observer.h"
#include "traces/recorder/part.h"
#include "traces/recorder/record.h"
#include "traces/recorder/ring.h"

namespace shardlab::recorder {

struct RecorderOptions {
  std::string directory;  // the job's, on a local disk; must exist
  int process = 0;
  int process_count = 1;
  int incarnation = 0;  // of an elastic job: how many have recorded before in this process's place
  std::size_t ring_bytes = kRingBytesDefault;
  std::string command_line;
  int drain_ms = 50;  // how often the writer thread looks
  // Of virtual time, for what only happened in it; nothing: the machine's.
  std::function<comm::Ns()> clock = nullptr;
};

// Every on_…() has put its record into the ring when it returns: a process killed after call N leaves call N. None of them
// blocks; where the ring is full the record is counted and becomes a row of `dropped`. Thread-safe; close() once, by one thread.
class Recorder final : public comm::Observer {
 public:
  // Throws IoError where ring or part cannot be made.
  explicit Recorder(RecorderOptions options);
  // close()s.
  ~Recorder() override;
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // All devices of the job, once they are known.
  void describe_devices(const std::vector<DeviceRecord>& devices);

  // Of an elastic job: launches are numbered anew, and are those of these processes, ascending.
  void begin_epoch(std::int64_t epoch, const std::vector<int>& live);

  // Programs are told with their first launch.
  void on_launch_issued(const comm::Launch& launch) override;
  void on_launch_started(const comm::Launch& launch, comm::Ns time) override;
  void on_launch_done(const comm::Launch& launch, comm::Ns time, comm::CallStatus status) override;
  void on_compute(const comm::Launch& launch, std::string_view op, Where where, comm::Ns begin, comm::Ns end) override;
  void on_call_started(const comm::Launch& launch, int index, comm::Ns time) override;
  void on_call_waiting(const comm::Launch& launch, int index, comm::Ns time, const std::vector<comm::ProcessIndex>& peers) override;
  void on_call_done(const comm::Launch& launch, int index, comm::Ns time, comm::CallStatus status, std::int64_t moved_bytes) override;
  void on_array(const comm::ArrayInfo& array) override;
  void on_array_end(std::int64_t id, bool donated) override;
  void on_checksums(std::int64_t id, const std::vector<comm::PartChecksum>& parts) override;
  void on_host_read(std::string_view what, Where where, comm::Ns begin, comm::Ns end) override;

  // Writes what is left and ends the thread; later events stay in the ring, where the merge finds them. Returns the text of the last
  // failure to write the part, or
  // "": what failed stays in the ring, for drain_ring_into_part. Never throws.
  std::string close();

  std::uint64_t dropped_records() const { return ring_.dropped_records(); }
  const std::string& part_file() const { return part_file_; }
  const std::string& ring_file() const { return ring_.path(); }

 private:
  struct WhereKey {
    const char* file;
    const char* function;
    std::uint32_t line;
    std::int32_t statement;
    bool operator==(const WhereKey&) const = default;
  };
  struct WhereHash {
    std::size_t operator()(const WhereKey& key) const;
  };
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  struct KnownProgram {
    std::weak_ptr<const comm::ProgramInfo> program;
    std::uint32_t id = 0;
    WhereKey first_launch{};
  };

  static WhereKey key_of(Where where);
  template <typename Record>
  bool put(const Record& record) noexcept;
  std::uint32_t site(Where where);
  std::uint32_t text(std::string_view text);
  std::uint32_t program(const comm::Launch& launch);
  std::uint32_t place_in(const comm::Launch& launch, Where where);
  std::uint32_t layout(const comm::ArrayInfo& array);
  std::uint32_t stack(const RecordedStack* stack);
  std::uint32_t module(const Module& module);
  comm::Ns now() const { return options_.clock ? options_.clock() : comm::now_ns(); }
  void write_until_stopped(std::stop_token stop);
  void drain_once();

  RecorderOptions options_;
  RingFile ring_;
  RingReader reader_;  // the writer thread's; after it, close()'s
  std::string part_file_;
  PartWriter part_;      // the same
  std::string failure_;  // the same

  std::mutex known_mutex_;  // what this process has told already; held for look-ups and for the telling
  std::unordered_map<WhereKey, std::uint32_t, WhereHash> sites_;
  std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>> texts_;
  std::unordered_map<const comm::ProgramInfo*, KnownProgram> programs_;
  std::unordered_map<std::uint64_t, std::uint32_t> layouts_;   // by hash of the contents
  std::unordered_map<std::uint32_t, std::uint32_t> stacks_;    // by the process's number of it
  std::unordered_map<std::uintptr_t, std::uint32_t> modules_;  // by where they lie
  std::uint32_t next_site_ = 0, next_text_ = 0, next_program_ = 0, next_layout_ = 0, next_stack_ = 0, next_module_ = 0;

  std::mutex wake_mutex_;
  std::condition_variable_any wake_;
  bool closed_ = false;
  std::jthread writer_;  // last: it uses all of the above
};

}  // namespace shardlab::recorder
