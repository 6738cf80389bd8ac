// Calls in lockstep and the wait-for graph: hard cases made by hand.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <QAbstractItemModelTester>

#include "gui/models/sequence_model.h"
#include "gui/models/text_twin.h"
#include "gui/models/wait_graph.h"
#include "tests/gui/trace_builder.h"

namespace shardlab::gui {
namespace {

// Processes with one device each; programs by name over all or some of them.
struct Job : sample::TraceBuilder {
  explicit Job(int processes) : TraceBuilder(processes, 1, 1) {
    for (auto& process : trace.processes) process.state = "waiting";
    trace.range = {0, 1000};
  }
};

TEST(CallSequence, MergesEqualProcessesAndFindsTheSwap) {
  Job job(4);
  const int a = job.program("a", {0, 1, 2, 3}), b = job.program("b", {0, 1, 2, 3}), c = job.program("c", {0, 1, 2, 3});
  for (int p = 0; p < 4; ++p) {
    job.launch(p, a, 0, 10 + p);
    job.launch(p, p == 2 ? c : b, 1, 20 + p);
    job.launch(p, p == 2 ? b : c, 2, 30 + p);
  }
  const CallSequence sequence = make_call_sequence(job.trace);
  ASSERT_EQ(sequence.columns.size(), 3U);
  EXPECT_EQ(sequence.first_divergence, 1);
  EXPECT_EQ(sequence.divergence_count, 2U);
  ASSERT_EQ(sequence.rows.size(), 2U);
  EXPECT_EQ(sequence.rows[0].processes, (std::vector<int>{0, 1, 3}));
  EXPECT_EQ(sequence.rows[1].cells[1].match, CallMatch::kDiffers);
  EXPECT_EQ(sequence.rows[1].cells[1].same_as, 2) << "the swapped call is found where the others run it";
  EXPECT_EQ(sequence.rows[1].cells[2].same_as, 1) << "and the other one before it, after which nobody runs it";
  EXPECT_NE(describe(job.trace, sequence, 1, 1).find("most run that as call 2"), std::string::npos) << describe(job.trace, sequence, 1, 1);
}

TEST(CallSequence, DisjointGroupsDoNotDivergeAndAbsenceDoes) {
  Job job(4);
  const int left = job.program("left", {0, 1}), right = job.program("right", {2, 3});
  for (const int p : {0, 1}) job.launch(p, left, 0, 10);
  for (const int p : {2, 3}) job.launch(p, right, 0, 11);
  EXPECT_EQ(make_call_sequence(job.trace).first_divergence, -1);
  job.launch(2, right, 1, 20);
  const CallSequence sequence = make_call_sequence(job.trace);
  ASSERT_EQ(sequence.first_divergence, 2);
  for (const auto& row : sequence.rows)
    EXPECT_EQ(row.cells[2].match, row.processes[0] == 3   ? CallMatch::kMissing
                                  : row.processes[0] == 2 ? CallMatch::kEqual
                                                          : CallMatch::kOutside);
}

// Each call is made by all that it needs, and yet none of them can be first.
TEST(CallSequence, OrdersThatDoNotFitTogetherAreTold) {
  for (const bool circle : {false, true}) {
    Job job(3);
    const int calls[] = {job.program("a", {0, 1}), job.program("b", {1, 2}), job.program("c", {0, 2})};
    const auto both = [&](int process, int first, int second) {
      job.launch(process, calls[first], 0, 10 + process);
      job.launch(process, calls[second], 0, 20 + process);
    };
    both(0, 0, 2);
    both(1, circle ? 1 : 0, circle ? 0 : 1);
    both(2, circle ? 2 : 1, circle ? 1 : 2);
    const CallSequence sequence = make_call_sequence(job.trace);
    EXPECT_EQ(sequence.first_divergence, -1);
    EXPECT_EQ(sequence.in_one_order, !circle);
    EXPECT_EQ(sequence_text(job.trace, sequence).contains(QStringLiteral("orders that do not fit together")), circle);
  }
}

TEST(CallSequence, TwoAgainstTwoBlamesNobody) {
  Job job(4);
  const int a = job.program("a", {0, 1, 2, 3}), b = job.program("b", {0, 1, 2, 3});
  for (int p = 0; p < 4; ++p) job.launch(p, p < 2 ? a : b, 0, p);
  const CallSequence sequence = make_call_sequence(job.trace);
  for (const auto& row : sequence.rows) EXPECT_EQ(row.cells[0].match, CallMatch::kTie);
}

TEST(SequenceModel, KeepsTheRulesAndFoldsEqualStretches) {
  Job job(3);
  const int a = job.program("a", {0, 1, 2}), b = job.program("b", {0, 1, 2});
  for (int p = 0; p < 3; ++p)
    for (int i = 0; i < 100; ++i) job.launch(p, i == 60 && p == 1 ? b : a, i, 10 * i + p);
  SequenceModel model;
  QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
  model.set_trace(nullptr);
  model.set_trace(std::make_shared<TraceData>(job.trace));
  EXPECT_LT(model.columnCount(), 20);
  const int at = model.first_divergent_column();
  ASSERT_GE(at, 0);
  EXPECT_EQ(model.calls_of(at), (std::pair(60, 61)));
  EXPECT_EQ(model.index(1, at).data().toString(), QStringLiteral("b"));
  int calls = 0;
  for (int c = 0; c < model.columnCount(); ++c) calls += model.calls_of(c).second - model.calls_of(c).first;
  EXPECT_EQ(calls, 100) << "no call is lost by folding";
  EXPECT_TRUE(model_text(model).contains(QStringLiteral("equal")));
}

// Each device set counts its own calls: two first ones must not look like one.
TEST(SequenceModel, SaysOnWhichDevicesWhereThereAreSeveralSets) {
  Job job(4);
  const int left = job.program("left", {0, 1}), right = job.program("right", {2, 3});
  for (const int p : {0, 1}) job.launch(p, left, 0, 10);
  SequenceModel model;
  const auto title = [&](int column) { return model.headerData(column, Qt::Horizontal, Qt::DisplayRole).toString(); };
  model.set_trace(std::make_shared<TraceData>(job.trace));
  EXPECT_EQ(title(0), QStringLiteral("call 0"));
  for (const int p : {2, 3}) job.launch(p, right, 0, 11);
  model.set_trace(std::make_shared<TraceData>(job.trace));
  ASSERT_EQ(model.columnCount(), 2);
  EXPECT_NE(title(0), title(1));
  EXPECT_TRUE(title(0).startsWith(QStringLiteral("call 0 on "))) << title(0).toStdString();
}

Wait wait(int process, int peer, Ns begin, Ns end = kOpen) { return {.process = process, .peer = peer, .begin = begin, .end = end}; }

TEST(WaitGraph, ACircleFormsAndDissolves) {
  Job job(3);
  const std::vector<Wait> waits{wait(0, 1, 10), wait(1, 2, 20, 90), wait(2, 0, 30, 80)};
  EXPECT_EQ(change_times(waits), (std::vector<Ns>{10, 20, 30, 80, 90}));
  EXPECT_TRUE(make_wait_graph(job.trace, waits, 20).cycles.empty());
  const WaitGraph graph = make_wait_graph(job.trace, waits, 30);
  ASSERT_EQ(graph.cycles.size(), 1U);
  EXPECT_EQ(graph.cycles[0].processes, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(graph.cycles[0].end, 80) << "it dissolved by itself";
  EXPECT_TRUE(graph.nodes[0].in_cycle);
  EXPECT_FALSE(graph.nodes[0].lasting);
  EXPECT_NE(explain_wait(job.trace, waits, 0, 30).back().text.find("dissolved"), std::string::npos);
  EXPECT_TRUE(make_wait_graph(job.trace, waits, 80).cycles.empty());
  EXPECT_EQ(telling_time(job.trace, waits), 30);
}

// What is sent and not yet read looks like waiting for each other; only what lasts to the verdict, or for ever, is a deadlock.
TEST(WaitGraph, ACircleIsADeadlockWhereTheVerdictEndsIt) {
  Job job(3);
  const std::vector<Wait> waits{wait(0, 1, 10, 20), wait(1, 0, 12, 22), wait(0, 2, 50, 900), wait(2, 0, 60, 905)};
  EXPECT_EQ(telling_time(job.trace, waits), 60) << "nothing lasts: the last time at which most wait";
  EXPECT_FALSE(make_wait_graph(job.trace, waits, 60).cycles[0].lasting());
  job.trace.diagnoses.push_back({.code = "deadlock", .severity = "error", .detected_ns = 899});
  EXPECT_EQ(telling_time(job.trace, waits), 60);
  const WaitGraph graph = make_wait_graph(job.trace, waits, 60);
  ASSERT_EQ(graph.cycles.size(), 1U);
  EXPECT_TRUE(graph.cycles[0].lasting() && graph.nodes[0].lasting);
  EXPECT_FALSE(make_wait_graph(job.trace, waits, 15).cycles[0].lasting()) << "before the verdict's circle there was one in passing";
  EXPECT_NE(explain_wait(job.trace, waits, 0, 60).back().text.find("none of them can go on"), std::string::npos);
}

// More wait in passing than in the end: what the verdict is about comes first.
TEST(WaitGraph, WhoWaitsInVainIsShownFirst) {
  Job job(4);
  const std::vector<Wait> waits{wait(1, 0, 10, 20), wait(2, 0, 11, 20), wait(3, 0, 12, 20), wait(0, 1, 50, 900)};
  EXPECT_EQ(telling_time(job.trace, waits), 12);
  job.trace.diagnoses.push_back({.code = "missing-participant", .severity = "error", .detected_ns = 899});
  EXPECT_EQ(telling_time(job.trace, waits), 50);
}

// A process that is stopped before its call begins records no wait in it; the verdict's evidence knows at which call each stood.
TEST(WaitGraph, TheLedgerKnowsWhoStoodWhere) {
  Job job(3);
  for (int p = 0; p < 3; ++p) job.launch(p, job.program(fmt::format("put{}", p), {p, (p + 1) % 3}), 0, 10 + p);
  EXPECT_TRUE(find_waits(job.trace).empty());
  for (int p = 0; p < 3; ++p) job.trace.ledger_waits.push_back({.process = p, .peer = (p + 1) % 3, .launch = 0});
  job.trace.diagnoses.push_back({.code = "deadlock", .severity = "error", .detected_ns = 500});
  const auto waits = find_waits(job.trace);
  const Ns time = telling_time(job.trace, waits);
  EXPECT_EQ(time, 12);
  const WaitGraph graph = make_wait_graph(job.trace, waits, time);
  ASSERT_EQ(graph.cycles.size(), 1U);
  EXPECT_EQ(graph.cycles[0].processes, (std::vector<int>{0, 1, 2}));
  EXPECT_TRUE(graph.cycles[0].lasting());
  EXPECT_EQ(graph.nodes[std::size_t(graph.node_of(1))].reason, "put1");
  EXPECT_TRUE(make_wait_graph(job.trace, waits, 500).edges.empty()) << "the verdict frees all";
}

TEST(WaitGraph, ManyWaitingForOneAreOneNode) {
  Job job(512);
  std::vector<Wait> waits;
  for (int p = 0; p < 511; ++p) waits.push_back(wait(p, 511, 10));
  const WaitGraph graph = make_wait_graph(job.trace, waits, 10);
  ASSERT_EQ(graph.nodes.size(), 2U);
  EXPECT_EQ(graph.nodes[0].processes.size(), 511U);
  EXPECT_EQ(graph.edges, (std::vector<std::pair<int, int>>{{0, 1}}));
  const auto best = best_unblockers(job.trace, waits, 10);
  ASSERT_EQ(best.size(), 1U);
  EXPECT_EQ(best[0].process, 511);
  EXPECT_EQ(best[0].frees.size(), 511U);
}

TEST(WaitGraph, ACollectiveWantsAllOfThem) {
  Job job(3);
  const std::vector<Wait> waits{wait(0, 1, 10), wait(0, 2, 10)};
  EXPECT_TRUE(freed_by(waits, 10, {1}).empty());
  EXPECT_EQ(freed_by(waits, 10, {1, 2}), (std::vector<int>{0}));
}

// A wait that falls away frees who waited, and perhaps opens the circle.
TEST(WaitGraph, WithoutOneWait) {
  const std::vector<Wait> ring{wait(0, 1, 10), wait(1, 2, 10), wait(2, 0, 10)};
  EXPECT_EQ(without_waits(ring, 10, {}, {}).circles, (std::vector<std::vector<int>>{{0, 1, 2}}));
  const WhatIf open = without_waits(ring, 10, {1}, {2});
  EXPECT_EQ(open.freed, (std::vector<int>{0, 1, 2})) << "who is free frees who waits for it";
  EXPECT_TRUE(open.circles.empty());
  EXPECT_EQ(waits_that_close(ring, 10, 8), (std::vector<std::pair<int, int>>{{0, 1}, {1, 2}, {2, 0}}));
  EXPECT_EQ(waits_that_close(ring, 10, 2).size(), 2U);
  // Two circles through process 0: only what both go through opens them.
  const std::vector<Wait> two{wait(0, 1, 10), wait(1, 0, 10), wait(0, 2, 10), wait(2, 0, 10)};
  const WhatIf left = without_waits(two, 10, {0}, {1});
  EXPECT_TRUE(left.freed.empty()) << "it waits for process 2, too";
  EXPECT_EQ(left.circles, (std::vector<std::vector<int>>{{0, 2}}));
  EXPECT_TRUE(waits_that_close(two, 10, 8).empty());
}

// For a key any other process would do that sets it.
TEST(WaitGraph, OfSomeWaitsOneIsEnough) {
  std::vector<Wait> waits{wait(0, 1, 10), wait(0, 2, 10), wait(1, 0, 10)};
  waits[0].any = waits[1].any = true;
  EXPECT_EQ(freed_by(waits, 10, {2}), (std::vector<int>{0, 1})) << "process 2 alone sets it";
  EXPECT_EQ(without_waits(waits, 10, {0}, {2}).freed, (std::vector<int>{0, 1}));
  Job job(3);
  const WaitGraph graph = make_wait_graph(job.trace, waits, 10);
  EXPECT_TRUE(graph.any.contains({graph.node_of(0), graph.node_of(2)}));
  EXPECT_FALSE(graph.any.contains({graph.node_of(1), graph.node_of(0)}));
}

// The launcher kills who is stuck once the verdict is there: that is not why the others waited.
TEST(WaitGraph, WhoIsStuckIsNotSaidToHaveBeenKilled) {
  Job job(2);
  job.trace.processes[1].signal = 9;
  job.trace.processes[1].last = 400;
  const auto reason = [&] {
    const WaitGraph graph = make_wait_graph(job.trace, {{wait(0, 1, 1000)}}, 500);
    return graph.nodes[std::size_t(graph.node_of(1))].reason;
  };
  EXPECT_EQ(reason(), "was killed by signal 9");
  Diagnosis stuck{.code = "process-stuck", .severity = "error", .processes = {1}};
  stuck.participants.push_back({.process = 1, .where = "toy.cpp:17"});
  job.trace.diagnoses.push_back(stuck);
  EXPECT_EQ(reason(), "does not go on at toy.cpp:17");
}

// Barriers and keys are waited for beside the launches: the verdict's evidence knows for whom.
TEST(WaitGraph, KnowsWaitsBesideLaunches) {
  Job job(2);
  job.trace.range = {0, 1000};
  job.trace.ledger_waits = {{.process = 0, .peer = 1, .doing = "barrier \"b\" at a.cpp:3", .since = 100},
                            {.process = 1, .peer = 0, .doing = "key \"k\", asked for at a.cpp:9", .since = 200, .any = true}};
  job.trace.diagnoses.push_back({.code = "deadlock", .severity = "error", .detected_ns = 500});
  const auto waits = find_waits(job.trace);
  const WaitGraph graph = make_wait_graph(job.trace, waits, telling_time(job.trace, waits));
  ASSERT_EQ(graph.cycles.size(), 1U);
  EXPECT_TRUE(graph.cycles[0].lasting());
  EXPECT_EQ(graph.nodes[std::size_t(graph.node_of(0))].reason, "barrier \"b\" at a.cpp:3");
  EXPECT_EQ(graph.any, (std::set<std::pair<int, int>>{{graph.node_of(1), graph.node_of(0)}}));
}

// Who ended is shown so from its end on, and before it as what it did then.
TEST(WaitGraph, SaysWhatAProcessDidAtTheTime) {
  Job job(2);
  const int a = job.program("a", {0, 1});
  job.launch(1, a, 0, 40);
  job.trace.processes[1].state = "killed";
  job.trace.processes[1].signal = 9;
  job.trace.processes[1].last = 100;
  const std::vector<Wait> waits{wait(0, 1, 10)};
  const auto state_at = [&](Ns time) { return explain_wait(job.trace, waits, 0, time).back().text; };
  EXPECT_NE(state_at(20).find("has issued nothing yet"), std::string::npos) << state_at(20);
  EXPECT_NE(state_at(50).find("runs; the last it issued is a"), std::string::npos) << state_at(50);
  job.launch(1, -1, 1, 60);
  EXPECT_NE(state_at(70).find("the last it issued is a program whose record was lost"), std::string::npos) << state_at(70);
  EXPECT_NE(state_at(100).find("killed by signal 9"), std::string::npos) << state_at(100);
  const auto reason = [&](Ns time) { return make_wait_graph(job.trace, waits, time).nodes.back().reason; };
  EXPECT_FALSE(has_ended(job.trace, 1, 99));
  EXPECT_TRUE(has_ended(job.trace, 1, 100));
  EXPECT_FALSE(has_ended(job.trace, 0, 1000)) << "it left no last record, and its state is no end";
  EXPECT_EQ(reason(50).find("killed"), std::string::npos);
  EXPECT_NE(reason(200).find("killed"), std::string::npos);
}

TEST(WaitGraph, FindsTheWaitOfABar) {
  Job job(2);
  auto events = std::make_shared<LaneEvents>();
  events->begin = {0, 50, 80, 300};
  events->end = {50, 80, 200, 400};
  events->collective = {-1, 4, 5, -1};
  events->kind = {EventKind::kCompute, EventKind::kCollective, EventKind::kCollective, EventKind::kHostRead};
  job.trace.lanes = {{.process = 0, .device = 0, .events = events}};
  std::vector<Wait> waits{wait(1, 0, 82), wait(0, 1, 84)};
  for (auto& each : waits) each.collective = 5;
  waits.push_back(wait(0, 1, 20));  // a read of the host thread, while the device computes
  waits.push_back(wait(0, 1, 300));
  EXPECT_EQ(wait_of_event(job.trace, waits, 0, 0), -1);
  EXPECT_EQ(wait_of_event(job.trace, waits, 0, 1), -1);
  EXPECT_EQ(wait_of_event(job.trace, waits, 0, 2), 2) << "by their begin";
  EXPECT_EQ(wait_of_event(job.trace, waits, 0, 3), 3);
}

TEST(WaitGraph, AReadWaitsForWhatIsNotAgreed) {
  Job job(2);
  const int a = job.program("a", {0, 1}), b = job.program("b", {0, 1});
  job.launch(0, a, 0, 10);
  job.launch(1, b, 0, 12);
  job.trace.host_reads = {{.process = 0, .begin = 20, .end = 500, .what = "print"},
                          {.process = 1, .begin = 25, .end = 500, .what = "print"}};
  job.trace.diagnoses.push_back({.code = "program-mismatch", .severity = "error", .detected_ns = 490});
  const auto waits = find_waits(job.trace);
  const WaitGraph graph = make_wait_graph(job.trace, waits, 100);
  ASSERT_EQ(graph.cycles.size(), 1U);
  EXPECT_TRUE(graph.cycles[0].lasting());
  const auto steps = explain_wait(job.trace, waits, 0, 100);
  ASSERT_EQ(steps.size(), 3U);
  EXPECT_NE(steps[0].text.find("print"), std::string::npos) << steps[0].text;
  EXPECT_NE(steps[2].text.find("circle is closed"), std::string::npos);
  EXPECT_TRUE(make_wait_graph(job.trace, waits, 500).cycles.empty()) << "the verdict frees all";
}

// The reads of a long run are joined with its launches in a time that grows as they do: two processes, each a step ahead of the other in
// turn, read after every launch.
TEST(WaitGraph, FindsTheWaitsOfALongRun) {
  constexpr int kSteps = 30'000;
  Job job(2);
  const int program = job.program("step", {0, 1});
  for (int p = 0; p < 2; ++p)
    for (int step = 0; step < kSteps; ++step) {
      const Ns issued = 100 * step + (step % 2 == p ? 10 : 0);
      job.launch(p, program, step, issued);
      job.trace.host_reads.push_back({.process = p, .begin = issued + 5, .end = issued + 50, .what = "fetch"});
    }
  const WaitList waits = find_waits(job.trace);
  ASSERT_EQ(waits.size(), std::size_t(kSteps)) << "who is ahead waits until the other has come";
  for (std::size_t w = 0; w < waits.size(); ++w) {
    EXPECT_EQ(waits[w].begin, Ns(100 * w + 5));
    EXPECT_EQ(waits[w].end, Ns(100 * w + 10));
    EXPECT_EQ(waits[w].process, int(1 - w % 2));
  }
  int seen = 0;
  waits.at(100 * (kSteps - 1) + 7, [&](const Wait&) { ++seen; });
  EXPECT_EQ(seen, 1);
}

}  // namespace
}  // namespace shardlab::gui
