#include "tests/traces/sample_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "runtime/base/sha256.h"
#include "runtime/base/text.h"
#include "traces/trace_writer.h"

namespace shardlab::traces::sample {
namespace {

constexpr Ns kStart = 1'000'000'000'000;

struct Grid {
  int rows, cols;  // mesh (a, b), or (i, j)
  int devices_per_process;
  const char* axes[2];
};

// A job in lockstep: one clock a process, moved by compute() and collective().
class Job {
 public:
  Job(const std::string& path, const Grid& grid, std::string_view title, std::string_view command)
      : writer_(path), grid_(grid), count_(grid.rows * grid.cols), processes_(count_ / grid.devices_per_process) {
    writer_.meta("title", title);
    writer_.meta("shardlab_version", "0.1.0");
    writer_.meta("process_count", std::to_string(processes_));
    writer_.meta("device_count", std::to_string(count_));
    writer_.meta("command_line", command);
    writer_.meta("clock_domain", "CLOCK_MONOTONIC of node0");
    writer_.meta("truncated", "0");
    for (int p = 0; p < processes_; ++p) {
      host_.push_back(writer_.add_track({.kind = TrackKind::kHost, .process = p, .name = fmt::format("process {} host", p)}));
      batch_.push_back(writer_.add_track({.kind = TrackKind::kBatch, .process = p, .name = fmt::format("process {} devices", p)}));
      rows_.push_back({.process = p, .pid = 4000 + p, .host = "node0", .state = ProcessState::kLeft, .first_ns = kStart, .closed = true});
      now_.push_back(kStart + 1000 * p);
    }
    MeshRow mesh{.axes = {{grid.axes[0], grid.rows}, {grid.axes[1], grid.cols}}};
    mesh.text = fmt::format("mesh({}={}, {}={})", grid.axes[0], grid.rows, grid.axes[1], grid.cols);
    for (int d = 0; d < count_; ++d) {
      const int p = owner(d);
      writer_.add(DeviceRow{d, p, d % grid.devices_per_process, "cpu", fmt::format("CPU {}", d)});
      writer_.add_track(
          {.kind = TrackKind::kDevice, .process = p, .device = d, .batch_track = batch_[std::size_t(p)], .name = fmt::format("CPU {}", d)});
      mesh.devices.push_back(d);
    }
    mesh_text_ = mesh.text;
    mesh_ = writer_.add(mesh);
  }

  TraceWriter& writer() { return writer_; }
  ProcessRow& process(int p) { return rows_[std::size_t(p)]; }
  int processes() const { return processes_; }
  Ns now(int p) const { return now_[std::size_t(p)]; }
  const std::string& mesh_text() const { return mesh_text_; }
  Id line(int number) { return writer_.site({.file = "/home/user/toy.cpp", .function = "int main()", .line = number}); }

  std::vector<std::vector<int>> groups(bool along_rows, bool along_cols) const {
    std::vector<std::vector<int>> out;
    for (int d = 0; d < count_; ++d) {
      const int r = d / grid_.cols, c = d % grid_.cols;
      const auto key = std::size_t((along_rows ? 0 : r) * (along_cols ? 1 : grid_.cols) + (along_cols ? 0 : c));
      if (out.size() <= key) out.resize(key + 1);
      out[key].push_back(d);
    }
    return out;
  }

  // dims: per dimension 0 (whole), 1 (over rows), 2 (over columns), 3 (over both).
  Id array(std::string_view name, std::vector<std::int64_t> shape, std::vector<int> dims, Id site, std::int64_t launch) {
    LayoutRow layout{.mesh = mesh_, .shape = shape};
    layout.spec = "P(";
    for (int dim : dims) {
      std::vector<std::string> names;
      if (dim & 1) names.emplace_back(grid_.axes[0]);
      if (dim & 2) names.emplace_back(grid_.axes[1]);
      layout.spec += layout.spec.size() > 2 ? ", " : "";
      layout.spec += names.empty() ? "None" : names.size() == 1 ? "'" + names[0] + "'" : fmt::format("('{}', '{}')", names[0], names[1]);
      layout.axes.push_back(names);
    }
    layout.spec += ")";
    std::map<std::vector<std::pair<std::int64_t, std::int64_t>>, int> replicas;
    for (int d = 0; d < count_; ++d) {
      ShardRow shard{.device = d};
      for (std::size_t i = 0; i < shape.size(); ++i) {
        const int pieces = (dims[i] & 1 ? grid_.rows : 1) * (dims[i] & 2 ? grid_.cols : 1);
        const int piece = dims[i] == 3 ? d : dims[i] == 1 ? d / grid_.cols : dims[i] == 2 ? d % grid_.cols : 0;
        const std::int64_t size = (shape[i] + pieces - 1) / pieces;
        shard.ranges.emplace_back(std::min(shape[i], piece * size), std::min(shape[i], (piece + 1) * size));
      }
      shard.replica = replicas[shard.ranges]++;
      layout.shards.push_back(shard);
    }
    std::vector<int> all;
    for (int p = 0; p < processes_; ++p) all.push_back(p);
    return writer_.add(ArrayRow{.name = name,
                                .dtype = "float32",
                                .layout = writer_.add(layout),
                                .launch = launch,
                                .site = site,
                                .time_ns = now(0),
                                .processes = all});
  }

  Id program(const std::string& name, const std::vector<CollectiveShape>& collectives) {
    ProgramRow row{.name = name, .mesh = mesh_text_, .collectives = collectives};
    row.text = fmt::format("program {} on {}\n  %0 = operand float32[4,8]\n  %1 = {} %0\n  return %1\n", name, mesh_text_, name);
    row.fingerprint = sha256_prefix(row.text);
    for (int d = 0; d < count_; ++d) row.devices.push_back(d);
    for (int p = 0; p < processes_; ++p) row.processes.push_back(p);
    row.values = {{false, "x", "float32", "P('a', 'b')", {4, 8}}, {true, "", "float32", "P()", {4}}};
    return writer_.add(row);
  }

  void compute(int p, std::string_view op, Id site, Ns length, std::int64_t launch) {
    Ns& now = now_[std::size_t(p)];
    writer_.add(EventRow{.track = batch_[std::size_t(p)],
                         .time_ns = now,
                         .duration_ns = length,
                         .kind = EventKind::kCompute,
                         .name = op,
                         .launch = launch,
                         .site = site,
                         .flags = kBatched});
    now += length + 150;
  }

  // `who` meets; with `complete` false all of them wait for ever, in `state`.
  Id collective(Id program, const CollectiveShape& what, std::int64_t launch, Ns length, const std::vector<int>& who,
                MatchState state = MatchState::kMatched, bool complete = true, Id diagnosis = 0) {
    CollectiveRow row{.seq = launch, .program = program, .launch = launch, .what = what, .state = state, .diagnosis = diagnosis};
    Ns start = 0;
    for (int p : who) start = std::max(start, now(p));
    for (int p : who) {
      writer_.add(LaunchRow{.process = p,
                            .launch = launch,
                            .seq = launch,
                            .program = program,
                            .site = what.site,
                            .issued_ns = now(p) - 2000,
                            .started_ns = now(p),
                            .done_ns = complete ? start + length : kNoTime,
                            .status = complete ? MemberStatus::kOk : MemberStatus::kOpen});
      writer_.add(EventRow{.track = host_[std::size_t(p)],
                           .time_ns = now(p) - 2000,
                           .duration_ns = 0,
                           .kind = EventKind::kLaunch,
                           .name = what.op,
                           .launch = launch,
                           .site = what.site});
      const bool waits = !complete || now(p) + 200 < start;
      row.members.push_back({.process = p,
                             .launch = launch,
                             .site = what.site,
                             .issued_ns = now(p) - 2000,
                             .start_ns = now(p),
                             .wait_ns = waits ? now(p) + 100 : kNoTime,
                             .end_ns = complete ? start + length : kNoTime,
                             .moved_bytes = complete ? what.bytes : 0,
                             .status = complete ? MemberStatus::kOk : MemberStatus::kOpen});
      row.first_ns = row.first_ns == kNoTime ? now(p) : std::min(row.first_ns, now(p));
    }
    if (complete) row.last_ns = start + length;
    const Id id = writer_.add(row);
    for (const auto& member : row.members) {
      writer_.add(EventRow{.track = batch_[std::size_t(member.process)],
                           .time_ns = member.start_ns,
                           .duration_ns = complete ? member.end_ns - member.start_ns : kNoTime,
                           .kind = EventKind::kCollective,
                           .name = what.kind,
                           .collective = id,
                           .launch = launch,
                           .site = what.site,
                           .flags = kBatched | (member.wait_ns != kNoTime ? kWaited : 0u) | (diagnosis != 0 ? kErrorFlag : 0u)});
      if (member.wait_ns != kNoTime)
        for (int peer : who)
          if (peer != member.process && (!complete || now(peer) > now(member.process)))
            writer_.add(WaitEdgeRow{.process = member.process,
                                    .peer = peer,
                                    .begin_ns = member.wait_ns,
                                    .end_ns = complete ? start : kNoTime,
                                    .collective = id});
    }
    if (complete)
      for (int p : who) now_[std::size_t(p)] = start + length + 300;
    return id;
  }

  void host_read(int p, std::string_view what, Id site, Ns length) {
    writer_.add(HostReadRow{.process = p, .begin_ns = now(p), .end_ns = now(p) + length, .what = what, .site = site});
    writer_.add(EventRow{.track = host_[std::size_t(p)],
                         .time_ns = now(p),
                         .duration_ns = length,
                         .kind = EventKind::kHostRead,
                         .name = what,
                         .site = site});
    now_[std::size_t(p)] += length;
  }

  std::vector<int> all() const {
    std::vector<int> who;
    for (int p = 0; p < processes_; ++p) who.push_back(p);
    return who;
  }

  void finish() {
    Ns last = kStart;
    for (int p = 0; p < processes_; ++p) {
      rows_[std::size_t(p)].last_ns = now(p);
      last = std::max(last, now(p));
      writer_.add(rows_[std::size_t(p)]);
    }
    writer_.meta("first_ns", std::to_string(kStart));
    writer_.meta("last_ns", std::to_string(last));
    writer_.finish();
  }

 private:
  int owner(int device) const { return device / grid_.devices_per_process; }
  TraceWriter writer_;
  Grid grid_;
  int count_, processes_;
  Id mesh_ = 0;
  std::string mesh_text_;
  std::vector<Id> host_, batch_;
  std::vector<ProcessRow> rows_;
  std::vector<Ns> now_;
};

// An all-reduce of `bytes` on each device. The texts live in `store`.
struct Words {
  std::string groups, axes, shape;
};
CollectiveShape all_reduce(Words& store, const std::vector<std::vector<int>>& groups, std::vector<std::string> axes,
                           std::vector<std::int64_t> shape, std::string_view op, Id site) {
  std::int64_t elements = 1;
  for (auto size : shape) elements *= size;
  std::int64_t wire = 0;
  for (const auto& group : groups) wire += 2 * (std::int64_t(group.size()) - 1) * elements * 4;
  store = {json_list(groups), json_list(axes), json_list(shape)};
  return {.kind = "all-reduce",
          .groups = store.groups,
          .axes = store.axes,
          .dtype = "float32",
          .shape = store.shape,
          .bytes = elements * 4,
          .wire_bytes = wire,
          .reduction = "sum",
          .op = op,
          .cause = "sum over the sharded factor",
          .sharding_before = "partial sum",
          .sharding_after = "P()",
          .site = site};
}

constexpr Grid kToyGrid{4, 2, 2, {"i", "j"}};

void write_toy(const std::string& path) {
  Job job(path, kToyGrid, "toy", "shardlab run -n 4 -d 2 -- toy");
  Words words;
  job.array("x", {4, 8}, {1, 2}, job.line(8), -1);
  const auto what = all_reduce(words, job.groups(true, true), {"i", "j"}, {}, "sum", job.line(10));
  const Id program = job.program("sum", {what});
  for (int p : job.all()) {
    job.compute(p, "sin", job.line(10), 4000, 1);
    job.compute(p, "sum", job.line(10), 2000 + 900 * p, 2);
  }
  job.collective(program, what, 2, 15'000, job.all());
  job.array("y", {}, {}, job.line(10), 2);
  for (int p : job.all()) job.host_read(p, "print", job.line(11), 20'000);
  job.finish();
}

Participant side(const Job& job, int process, std::string_view op, std::string_view where, std::string_view state,
                 std::string_view sharding) {
  Participant out{.process = process,
                  .seq = 5,
                  .kind = "all-reduce",
                  .op = std::string(op),
                  .where = std::string(where),
                  .sharding = std::string(sharding),
                  .state = std::string(state),
                  .shape = "[8,8]",
                  .dtype = "float32",
                  .mesh = job.mesh_text()};
  out.devices = {0, 1, 2, 3, 4, 5, 6, 7};
  return out;
}

void write_deadlock(const std::string& path) {
  Job job(path, {4, 2, 2, {"a", "b"}}, "operands swapped", "shardlab run -n 4 -d 2 -- swapped");
  Words one, two, three;
  job.array("x", {8, 8}, {1, 2}, job.line(20), 0);
  job.array("y", {8, 8}, {2, 0}, job.line(21), 1);
  const auto sum = all_reduce(one, job.groups(true, false), {"a"}, {8, 8}, "sum", job.line(24));
  const Id sum_program = job.program("sum", {sum});
  for (int step = 0; step < 3; ++step) {
    for (int p : job.all()) job.compute(p, "relu", job.line(23), 3000 + 500 * p, 2 + step);
    job.collective(sum_program, sum, 2 + step, 9000, job.all());
  }
  const auto xy = all_reduce(two, job.groups(false, true), {"b"}, {8, 8}, "matmul", job.line(31));
  const auto yx = all_reduce(three, job.groups(false, true), {"b"}, {8, 8}, "matmul", job.line(36));
  Diagnosis diagnosis{
      .code = "order-mismatch",
      .severity = "error",
      .message = "process 3 issues matmul(y, x) at toy.cpp:36 where processes 0, 1 and 2 issue matmul(x, y) at toy.cpp:31",
      .explain = "All processes must issue the same calls in the same order. Process 3 issues these two the other way round.",
      .processes = {3}};
  diagnosis.participants = {side(job, 3, "matmul", "toy.cpp:36", "waiting", "P('b', None), P('a', 'b')"),
                            side(job, 0, "matmul", "toy.cpp:31", "waiting", "P('a', 'b'), P('b', None)")};
  diagnosis.fields = {"op", "sharding"};
  diagnosis.details = {{"first_call", "5"}};
  diagnosis.evidence_ns = job.now(3) + 3000;
  diagnosis.detected_ns = job.now(3) + 8'003'000;
  const Id left = job.collective(job.program("matmul", {xy}), xy, 5, 0, {0, 1, 2}, MatchState::kMismatched, false, 1);
  const Id right = job.collective(job.program("matmul_swapped", {yx}), yx, 5, 0, {3}, MatchState::kMismatched, false, 1);
  job.writer().add(diagnosis, {right, left});
  for (int p : job.all()) {
    job.process(p).state = ProcessState::kRaised;
    job.process(p).exit_code = 1;
    job.process(p).error = "DiagnosisError: " + diagnosis.message;
    job.process(p).place = p == 3 ? "toy.cpp:36" : "toy.cpp:31";
  }
  job.finish();
}

void write_killed(const std::string& path) {
  Job job(path, kToyGrid, "killed", "shardlab run -n 4 -d 2 -- toy");
  Words words;
  const auto what = all_reduce(words, job.groups(true, true), {"i", "j"}, {16}, "sum", job.line(10));
  const Id program = job.program("sum", {what});
  for (int step = 0; step < 5; ++step) {
    for (int p : job.all()) job.compute(p, "sin", job.line(9), 4000, step);
    job.collective(program, what, step, 12'000, job.all());
  }
  Diagnosis diagnosis{.code = "process-killed",
                      .severity = "error",
                      .message = "process 1 was killed by signal 9 (SIGKILL); 0, 2 and 3 wait for it in all-reduce at toy.cpp:10",
                      .explain = "Something outside the program ended it: the kernel for want of memory, or a person.",
                      .processes = {1}};
  diagnosis.participants = {side(job, 1, "sum", "toy.cpp:10", "killed by signal 9 (SIGKILL)", ""),
                            side(job, 0, "sum", "toy.cpp:10", "waiting", "")};
  diagnosis.evidence_ns = job.now(0);
  diagnosis.detected_ns = job.now(0) + 4'000'000;
  const Id open = job.collective(program, what, 5, 0, {0, 2, 3}, MatchState::kPartial, false, 1);
  job.writer().add(diagnosis, {0, open});
  for (int p : job.all()) job.process(p).state = p == 1 ? ProcessState::kKilled : ProcessState::kRaised;
  job.process(1).signal = 9;
  job.process(1).closed = false;
  job.writer().add(
      DroppedRow{.process = 1, .time_ns = kNoTime, .count = 1, .bytes = 88, .reason = "a record was cut off by the process's death"});
  job.finish();
}

void write_steps(const std::string& path, const Grid& grid, std::string_view title, std::int64_t steps) {
  Job job(path, grid, title, "shardlab run -- steps");
  Words words[2];
  const CollectiveShape what[2] = {all_reduce(words[0], job.groups(true, false), {grid.axes[0]}, {256, 256}, "matmul", job.line(40)),
                                   all_reduce(words[1], job.groups(false, true), {grid.axes[1]}, {1024}, "sum", job.line(41))};
  const Id programs[2] = {job.program("matmul", {what[0]}), job.program("sum", {what[1]})};
  job.array("w", {4096, 4096}, {1, 2}, job.line(30), -1);
  job.array("x", {65536}, {3}, job.line(31), -1);
  std::uint64_t random = 1;
  for (std::int64_t step = 0; step < steps; ++step) {
    const auto which = std::size_t(step % 2);
    for (int p : job.all()) {
      random = random * 6364136223846793005ULL + 1442695040888963407ULL;
      job.compute(p, which == 0 ? "matmul" : "sum", job.line(40 + int(which)), Ns(2000 + (random >> 33) % 30'000), step);
    }
    job.collective(programs[which], what[which], step, Ns(5000 + (random >> 40) % 20'000), job.all());
  }
  for (int p : job.all()) job.host_read(p, "fetch", job.line(50), 50'000);
  job.finish();
}

void write_torn(const std::string& path) {
  write_steps(path, kToyGrid, "torn", 2000);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) * 2 / 3);
}

void write_empty(const std::string& path) { Job(path, {1, 1, 1, {"i", "j"}}, "empty", "shardlab run -- nothing").finish(); }

}  // namespace

std::vector<std::string_view> sample_names() { return {"toy", "deadlock", "killed", "devices512", "empty", "torn", "large"}; }

void write_sample_trace(std::string_view name, const std::string& path, const SampleOptions& options) {
  if (name == "toy") return write_toy(path);
  if (name == "deadlock") return write_deadlock(path);
  if (name == "killed") return write_killed(path);
  if (name == "devices512") return write_steps(path, {32, 16, 64, {"a", "b"}}, "512 devices", 40);
  if (name == "empty") return write_empty(path);
  if (name == "torn") return write_torn(path);
  if (name == "large") return write_steps(path, {4, 2, 4, {"a", "b"}}, "large", options.collectives);
  const auto names = sample_names();
  throw UserError(fmt::format("there is no sample trace '{}'{}", name, did_you_mean(name, names)));
}

}  // namespace shardlab::traces::sample
