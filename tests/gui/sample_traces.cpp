#include "tests/gui/sample_traces.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "gui/models/array_uses.h"
#include "gui/models/prediction.h"
#include "tests/gui/trace_builder.h"

namespace shardlab::gui::sample {
namespace {

Ns jitter(std::mt19937& random, Ns least, Ns spread) { return least + Ns(random() % unsigned(spread)); }

void toy_program(TraceBuilder& b, const std::vector<int>& absent) {
  std::mt19937 random(7);
  const int put = b.site("toy.cpp", 8), line = b.site("toy.cpp", 10), multiply = b.site("toy.cpp", 11);
  b.array("x", {8, 16}, {"a", "b"}, put);
  b.array("w", {16, 8}, {"b", ""}, put);
  b.array("y", {8, 8}, {"a", ""}, multiply);
  b.array("bias", {9}, {"a"}, put);
  b.array("batch", {4, 6, 8}, {"a", "", "b"}, put);
  b.array("total", {}, {}, line);
  for (int d = 0; d < b.device_count(); ++d) {
    b.compute(d, jitter(random, 20'000, 9'000), "sin", line);
    b.compute(d, jitter(random, 6'000, 4'000), "reduce_sum", line);
  }
  b.collective(all_reduce({"sum", "[]", "a,b", 4, 56, line}), b.all(), 9'000);
  for (int d = 0; d < b.device_count(); ++d) b.compute(d, jitter(random, 30'000, 15'000), "matmul", multiply);
  b.collective(all_reduce({"matmul", "[2,8]", "b", 64, 512, multiply}), b.groups(true), 12'000, absent);
  for (int d = 0; d < b.device_count(); ++d)
    if (absent.empty()) b.compute(d, jitter(random, 4'000, 2'000), "relu", multiply);
  if (absent.empty()) {
    b.collective({.kind = "all-gather",
                  .op = "device_put",
                  .dtype = "float32",
                  .shape = "[8,8]",
                  .axes = "a",
                  .bytes = 256,
                  .wire_bytes = 1536,
                  .site = multiply},
                 b.groups(false), 14'000);
    for (std::size_t p = 0; p < b.trace.processes.size(); ++p) b.host_read(int(p), 11'000, "print", line);
  }
}

}  // namespace

TracePtr empty() {
  TraceData trace;
  trace.title = "empty.db";
  finish(trace);
  return std::make_shared<const TraceData>(std::move(trace));
}

TracePtr toy(int processes) {
  TraceBuilder b(4, 2, 8 / processes);
  toy_program(b, {});
  return b.done("toy.db");
}

TracePtr planned() {
  TraceBuilder b(4, 2, 2);
  const int put = b.site("toy.cpp", 8), line = b.site("toy.cpp", 10);
  b.array("x", {8, 16}, {"a", ""}, put);
  b.array("y", {8, 16}, {"", "b"}, put);
  b.array("z", {8, 8}, {"a", "b"}, line);
  const CollectiveType move{.kind = "transfer",
                            .op = "device_put",
                            .dtype = "float32",
                            .shape = "[8,8]",
                            .cause = "device_put: from P('a', None) to P(None, 'b')",
                            .sharding_before = "P('a', None)",
                            .sharding_after = "P(None, 'b')",
                            .bytes = 256,
                            .wire_bytes = 1536,
                            .site = put};
  CollectiveType sum = all_reduce({"matmul", "[2,8]", "b", 64, 512, line});
  sum.cause = "matmul: the contracted dimension lies over 'b'";
  for (int d = 0; d < b.device_count(); ++d) b.compute(d, 9'000 + 400 * d, "ones", put);
  b.collective(move, b.all(), 12'000);
  for (int d = 0; d < b.device_count(); ++d) b.compute(d, 24'000 - 700 * d, "matmul", line);
  CollectiveType larger = sum;
  larger.wire_bytes = 1024;
  b.collective(larger, b.groups(true), 8'000);
  TraceData& trace = b.trace;
  const auto program = [&](const char* name, int index, Program::Value operand, Program::Value result, const CollectiveType& plan) {
    auto type = std::make_shared<CollectiveType>(plan);
    type->groups = trace.collectives[std::size_t(index)].type->groups;
    trace.programs.push_back({.name = name, .operands = {std::move(operand)}, .results = {std::move(result)}, .collectives = {type}});
    trace.collectives[std::size_t(index)].program = index;
    trace.collectives[std::size_t(index)].launch = index;
    for (const auto& process : trace.processes)
      trace.launches.push_back(
          {.process = process.index, .number = index, .seq = index, .program = index, .site = plan.site, .started = 0, .done = 1});
    trace.arrays[std::size_t(index) + 1].launch = index;
  };
  program("device_put", 0, {"x", "float32", "P('a', None)", {8, 16}}, {"result", "float32", "P(None, 'b')", {8, 16}}, move);
  program("matmul", 1, {"%0", "float32", "P('a', None)", {8, 16}}, {"result 0", "float32", "P('a', None)", {8, 8}}, sum);
  std::stable_sort(trace.launches.begin(), trace.launches.end(),
                   [](const Launch& one, const Launch& other) { return one.process < other.process; });
  trace.predictions = compare_with_plan(trace);
  return b.done("planned.db");
}

TracePtr deadlock() {
  TraceBuilder b(4, 2, 2);
  toy_program(b, {6, 7});
  b.trace.collectives.back().state = "mismatched";
  b.trace.collectives.back().failed = true;
  const int other = b.site("toy.cpp", 13);
  b.collective(all_reduce({"matmul", "[16,16]", "a", 1024, 0, other}), b.groups(false), 9'000, {0, 1, 2, 3, 4, 5}, "mismatched");
  for (auto& process : b.trace.processes) process.state = "waiting";
  Diagnosis diagnosis{
      .code = "order-mismatch",
      .severity = "error",
      .message = "process 3 called matmul at toy.cpp:13 as its call 1, while processes 0, 1 and 2 called matmul at toy.cpp:11",
      .explain =
          "All processes must issue the same collectives in the same order. Process 3 took another turn, so both sides wait for each other "
          "and the program would hang for ever. Look for a branch on the process index, or operands in another order.",
      .processes = {3},
      .fields = {"where", "shape", "sharding"}};
  for (const int p : {3, 0, 1, 2})
    diagnosis.participants.push_back({.process = p,
                                      .seq = p == 3 ? 2 : 1,
                                      .kind = "all-reduce",
                                      .op = "matmul",
                                      .where = p == 3 ? "toy.cpp:13" : "toy.cpp:11",
                                      .sharding = p == 3 ? "P('b', 'a')" : "P('a', 'b')",
                                      .state = "waiting",
                                      .shape = p == 3 ? "[16,16]" : "[2,8]",
                                      .dtype = "float32",
                                      .mesh = "a=4, b=2",
                                      .devices = {2 * p, 2 * p + 1}});
  b.trace.diagnoses.push_back(diagnosis);
  return b.done("deadlock.db");
}

TracePtr grid(int rows, int cols, int devices_per_process, int steps) {
  TraceBuilder b(rows, cols, devices_per_process);
  std::mt19937 random(11);
  const int site = b.site("train.cpp", 88);
  b.array("params", {rows * 8, cols * 4}, {"a", "b"}, site);
  b.array("grads", {rows * cols * 2, 128}, {"a,b", ""}, site);
  b.array("scale", {cols * 3}, {"b"}, site);
  b.array("long", {rows * cols * 2}, {"a,b"}, site);
  for (int step = 0; step < steps; ++step) {
    for (int d = 0; d < b.device_count(); ++d) b.compute(d, jitter(random, 40'000, 20'000), "matmul", site);
    b.collective({.kind = step % 2 ? "reduce-scatter" : "all-reduce",
                  .op = "matmul",
                  .dtype = "float32",
                  .shape = "[8,4]",
                  .reduction = "sum",
                  .axes = step % 2 ? "a" : "b",
                  .bytes = 128,
                  .wire_bytes = (step % 2 ? rows : cols) > 1 ? 4096 : 0,  // a group of one sends nothing
                  .site = site},
                 b.groups(step % 2 == 0), 15'000);
  }
  return b.done(fmt::format("grid{}x{}.db", rows, cols));
}

LaneEvents random_lane(unsigned seed, int events, int flagged) {
  std::mt19937 random(seed);
  LaneEvents lane;
  Ns now = 0;
  for (int i = 0; i < events; ++i) {
    now += Ns(random() % 50);
    const Ns length = random() % 40 == 0 ? Ns(random() % 5000) : Ns(random() % 30);
    lane.begin.push_back(now);
    lane.end.push_back(now + length);
    lane.label.push_back(0);
    lane.collective.push_back(-1);
    lane.kind.push_back(EventKind::kCompute);
    lane.flags.push_back(kFlagCompute);
    now += length;
  }
  for (int i = 0; i < flagged && events > 0; ++i) lane.flags[random() % std::size_t(events)] |= kFlagError;
  lane.forest.build(lane.begin, lane.end, lane.flags);
  return lane;
}

TracePtr held() {
  TraceBuilder b(4, 2, 2);
  toy_program(b, {});
  TraceData& trace = b.trace;
  trace.records_array_ends = true;
  const auto hold = [&](int array, int process, Ns begin, Ns end = kOpen, bool donated = false) {
    trace.array_holds.push_back({array, process, begin, end, donated});
  };
  for (std::size_t a = 0; a < trace.arrays.size(); ++a)
    for (int p = 0; p < 4; ++p) switch (a) {
        case 0:  // x
          hold(int(a), p, 0, p == 3 ? 40'000 : 95'000);
          break;
        case 1:  // w
          hold(int(a), p, 5'000);
          break;
        case 2:  // y
          hold(int(a), p, 50'000);
          break;
        case 4:  // batch
          hold(int(a), p, 10'000, 60'000, true);
          break;
        case 5:  // total
          hold(int(a), p, 30'000, 110'000);
          break;
        default:  // bias: its launch failed, nobody holds it
          break;
      }
  trace.programs.push_back({.name = "matmul", .devices = b.all()[0], .processes = {0, 1, 2, 3}, .intermediate_bytes = 192});
  for (int p = 0; p < 4; ++p) trace.launches.push_back({.process = p, .program = 0, .issued = 48'000, .started = 50'000, .done = 90'000});
  return b.done("held.db");
}

TracePtr steps(int count) {
  TraceBuilder b(2, 2, 2);
  TraceData& trace = b.trace;
  const int init_line = b.site("net.cpp", 12), step_line = b.site("net.cpp", 31), end_line = b.site("net.cpp", 40);
  std::vector<ArrayUse> uses;
  const Program::Value value{.name = "weights", .dtype = "float32", .sharding = "P('a', None)", .shape = {8, 4}};
  for (const char* name : {"init", "train_step", "finish"})
    trace.programs.push_back({.name = name, .devices = b.all()[0], .processes = {0, 1}, .operands = {value, value, value}});
  trace.programs[0].operands.clear();
  const auto lane_of = [&](int device) {
    return std::find_if(trace.lanes.begin(), trace.lanes.end(), [&](const Lane& lane) { return lane.device == device; });
  };
  const auto run = [&](int program, int line, const std::vector<std::pair<int, bool>>& takes, int gives) {
    const std::int64_t number = std::ssize(trace.launches) / 2;
    std::vector<std::size_t> first;
    for (int d = 0; d < b.device_count(); ++d) first.push_back(lane_of(d)->events->size());
    for (int d = 0; d < b.device_count(); ++d) b.compute(d, 3'000, trace.programs[std::size_t(program)].name, line);
    if (program == 1) {
      const int call = b.collective(all_reduce({"grad", "[8,4]", "a", 128, 256, line}), b.groups(false), 1'000);
      trace.collectives[std::size_t(call)].program = program;
      trace.collectives[std::size_t(call)].seq = number;
      trace.collectives[std::size_t(call)].launch = number;
    }
    for (int p = 0; p < 2; ++p) {
      const LaneEvents& events = *lane_of(2 * p)->events;
      const Ns begin = events.begin[first[std::size_t(2 * p)]];
      trace.launches.push_back({.process = p,
                                .number = number,
                                .seq = number,
                                .program = program,
                                .site = line,
                                .issued = begin - 100,
                                .started = begin,
                                .done = events.end.back()});
      for (std::size_t i = 0; i < takes.size(); ++i)
        uses.push_back({.array = takes[i].first, .process = p, .launch = number, .position = int(i), .donated = takes[i].second});
      uses.push_back({.array = gives, .process = p, .launch = number, .position = 0, .gives = true});
    }
  };
  const auto array = [&](const std::string& name, int line) {
    b.array(name, {8, 4}, {"a", ""}, line);
    trace.arrays.back().launch = std::ssize(trace.launches) / 2;
    return int(trace.arrays.size()) - 1;
  };
  const int weights = array("weights", init_line);
  run(0, init_line, {}, weights);
  for (int n = 0; n < count; ++n) {
    const int loss = array("loss", step_line);
    run(1, step_line, {{weights, false}, {n == 0 ? weights : loss - 1, false}, {weights, false}}, loss);
  }
  const int last = array("trained", end_line);
  run(2, end_line, {{weights, true}, {last - 1, false}}, last);
  std::stable_sort(trace.launches.begin(), trace.launches.end(), [](const Launch& x, const Launch& y) { return x.process < y.process; });
  trace.array_uses = std::make_shared<const ArrayUses>(std::move(uses), trace.arrays.size(), true);
  return b.done("steps.db");
}

TracePtr long_names() {
  TraceBuilder b(2, 2, 2);
  const std::string name = "model.encoder.layers.17.self_attention.query_key_value_projection.weight.momentum_of_the_optimizer";
  const int site = b.site("/home/user/projects/a_rather_deeply_nested_folder/with_long_names/training_loop_of_the_model.cpp", 12345);
  b.array(name, {1024, 4096}, {"a", "b"}, site);
  b.hold(0);
  for (int d = 0; d < 4; ++d) b.compute(d, 50'000, name + ".fused_multiply_add", site);
  b.collective({.kind = "collective-permute",
                .op = name,
                .dtype = "complex64",
                .shape = "[512,2048]",
                .bytes = 1 << 23,
                .wire_bytes = 1 << 25,
                .site = site},
               {{0, 1, 2, 3}}, 20'000);
  b.trace.processes[1].host = "a-very-long-host-name.with.many.labels.example.org";
  return b.done(name + ".db");
}

TracePtr torn() {
  TraceBuilder b(4, 2, 2);
  toy_program(b, {6, 7});
  b.trace.collectives.back().state = "partial";
  b.trace.processes[3].state = "killed";
  b.trace.processes[3].signal = 9;
  b.trace.notices.push_back({"process 3's records end early (killed by signal 9)", true});
  return b.done("torn.db");
}

std::span<const Kind> kinds() {
  static constexpr Kind kKinds[] = {{"empty", empty},
                                    {"toy", [] { return toy(); }},
                                    {"toy_in_one_process", [] { return toy(1); }},
                                    {"planned", planned},
                                    {"deadlock", deadlock},
                                    {"torn", torn},
                                    {"held", held},
                                    {"long_names", long_names},
                                    {"seven_devices", [] { return grid(7, 1, 7, 3); }},
                                    {"uneven_mesh", [] { return grid(3, 2, 1, 3); }},
                                    {"devices_512", [] { return grid(32, 16, 64, 8); }}};
  return kKinds;
}

}  // namespace shardlab::gui::sample
