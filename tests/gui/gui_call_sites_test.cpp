// Where the work came from: files, lines and ops with what each took, sent, and which processes did it.
#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <QTemporaryDir>
#include <QTest>
#include <QTextBrowser>
#include <QTreeView>

#include "gui/app/main_window.h"
#include "gui/models/call_site_model.h"
#include "gui/models/text_twin.h"
#include "gui/models/trace_loader.h"
#include "gui/views/table_export.h"
#include "gui/views/timeline_canvas.h"
#include "tests/gui/sample_traces.h"
#include "tests/gui/trace_builder.h"
#include "tests/gui/wait_idle.h"
#include "tests/traces/sample_trace.h"

namespace shardlab::gui {
namespace {

// Three processes: all compute at line 10, processes 0 and 1 meet at line 11, process 2 reads at line 13 of another file.
TracePtr three() {
  sample::TraceBuilder b(3, 1, 1);
  const int compute = b.site("src/toy.cpp", 10), meet = b.site("src/toy.cpp", 11), read = b.site("lib/io.cpp", 13);
  for (int d = 0; d < 3; ++d) b.compute(d, d == 1 ? 500 : 100, "sin", compute);
  b.collective(sample::all_reduce({"sum", "[8]", "a", 32, 64, meet}), {{0, 1}}, 50);
  b.host_read(2, 70, "print", read);
  const int program = b.program("sin", {0, 1, 2});
  for (int p = 0; p < 3; ++p) {
    b.launch(p, program, 0, 10);
    b.trace.launches.back().site = compute;
  }
  b.trace.processes[2].where = "io.cpp:13";
  return b.done("three.db");
}

CallSites sites_of(const TracePtr& trace) { return make_call_sites(*trace, trace->range); }

const CallSite& node(const CallSites& sites, const std::vector<std::string>& path) {
  const std::vector<int>* list = &sites.files;
  const CallSite* at = nullptr;
  for (const auto& name : path) {
    at = nullptr;
    for (const int n : *list)
      if (sites.nodes[std::size_t(n)].name == name) at = &sites.nodes[std::size_t(n)];
    if (!at) throw std::out_of_range(name);
    list = &at->children;
  }
  return *at;
}

TEST(CallSites, SumOverFilesLinesAndOps) {
  const CallSites sites = sites_of(three());
  ASSERT_EQ(sites.files.size(), 2U);
  EXPECT_EQ(sites.nodes[std::size_t(sites.files[0])].name, "io.cpp");
  const CallSite& sin = node(sites, {"toy.cpp", "line 10 in main", "sin"});
  EXPECT_EQ(sin.time, 700);
  EXPECT_EQ(sin.calls, 3) << "launched and computed under one name";
  EXPECT_EQ(sin.events, 3);
  EXPECT_EQ(sin.processes, (std::vector<int>{0, 1, 2}));
  const CallSite& meet = node(sites, {"toy.cpp", "line 11 in main", "all-reduce of sum"});
  EXPECT_EQ(meet.wire_bytes, 64) << "of the collective, not of each member";
  EXPECT_EQ(meet.wait, 400);
  EXPECT_EQ(meet.processes, (std::vector<int>{0, 1}));
  const CallSite& file = node(sites, {"toy.cpp"});
  EXPECT_EQ(file.time, sin.time + meet.time);
  EXPECT_EQ(file.event, sin.event) << "the longest below it";
  EXPECT_EQ(sites.time, file.time + 70);
  EXPECT_EQ(node(sites, {"io.cpp", "line 13 in main"}).at_end, (std::vector<int>{2}));
  EXPECT_TRUE(node(sites, {"toy.cpp"}).at_end.empty());
}

// From main down: two processes call train and step, the third goes from main to evaluate, where it stands at the end.
TEST(CallSites, FunctionsAreATreeOverAllProcesses) {
  sample::TraceBuilder b(3, 1, 1);
  const int line = b.site("src/toy.cpp", 10);
  b.trace.frames = {{"main", "src/toy.cpp", 40, -1},
                    {"train", "src/toy.cpp", 20, 0},
                    {"step", "src/toy.cpp", 10, 1},
                    {"main", "src/toy.cpp", 44, -1},
                    {"evaluate", "", 0, 3}};
  const int program = b.program("sin", {0, 1, 2});
  for (int round = 0; round < 2; ++round)
    for (int p = 0; p < 3; ++p) {
      b.launch(p, program, round, 10 + 100 * round);
      auto& launch = b.trace.launches.back();
      launch.site = line;
      launch.frame = p < 2 ? 2 : 4;
      launch.started = launch.issued, launch.done = launch.issued + 50;
    }
  b.launch(0, program, 2, 300);  // of which nothing above is known
  b.trace.processes[2].where = "toy.cpp:10";
  const TracePtr trace = b.done("three.db");
  ASSERT_TRUE(knows_callers(*trace));
  const CallSites tree = make_call_tree(*trace, {0, 1000});
  const CallSite& step = node(tree, {"main (toy.cpp:40)", "train (toy.cpp:20)", "step (toy.cpp:10)"});
  EXPECT_EQ(step.calls, 4);
  EXPECT_EQ(step.time, 200);
  EXPECT_EQ(step.processes, (std::vector<int>{0, 1}));
  EXPECT_EQ(step.frame, 2);
  const CallSite& evaluate = node(tree, {"main (toy.cpp:44)", "evaluate"});
  EXPECT_EQ(evaluate.processes, (std::vector<int>{2}));
  EXPECT_EQ(evaluate.at_end, (std::vector<int>{2}));
  EXPECT_TRUE(step.at_end.empty());
  EXPECT_NE(step.rank_class, evaluate.rank_class);
  EXPECT_EQ(node(tree, {"main (toy.cpp:40)"}).calls, 4) << "with what is below it";
  EXPECT_EQ(node(tree, {"(no function above it is known)", "sin"}).calls, 1);
  EXPECT_TRUE(make_call_tree(*trace, {500, 600}).nodes.empty());
}

TEST(CallSites, EqualSetsOfProcessesHaveOneClass) {
  const CallSites sites = sites_of(three());
  EXPECT_EQ(node(sites, {"toy.cpp", "line 10 in main"}).rank_class, 0) << "all of them";
  const int pair = node(sites, {"toy.cpp", "line 11 in main"}).rank_class;
  EXPECT_GT(pair, 0);
  EXPECT_EQ(node(sites, {"toy.cpp", "line 11 in main", "all-reduce of sum"}).rank_class, pair);
  EXPECT_NE(node(sites, {"io.cpp"}).rank_class, pair);
}

TEST(CallSites, KeepToTheWindow) {
  const auto trace = three();
  const CallSites early = make_call_sites(*trace, {trace->range.begin, trace->range.begin + 50});
  EXPECT_EQ(node(early, {"toy.cpp"}).time, 700) << "events that meet it count whole";
  EXPECT_THROW(node(early, {"toy.cpp", "line 11 in main"}), std::out_of_range);
}

class CallSitesOfKind : public testing::TestWithParam<sample::Kind> {};

TEST_P(CallSitesOfKind, TreeKeepsTheRulesAndLosesNothing) {
  const auto trace = GetParam().make();
  CallSiteModel model;
  const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
  model.set(nullptr, {});
  model.set(trace, sites_of(trace));
  std::int64_t events = 0;
  Ns time = 0;
  for (const int file : model.sites().files) {
    events += model.sites().nodes[std::size_t(file)].events;
    time += model.sites().nodes[std::size_t(file)].time;
  }
  EXPECT_EQ(events, std::int64_t(trace->event_count()));
  EXPECT_EQ(time, model.sites().time);
  for (std::size_t n = 0; n < model.sites().nodes.size(); ++n)
    EXPECT_EQ(model.index_of(int(n)).data(CallSiteModel::kNodeRole).toInt(), int(n));
  // Text and table have every node.
  const QByteArray csv = table_csv(model);
  EXPECT_EQ(std::size_t(csv.count('\n')), model.sites().nodes.size() + 1);
  for (const auto& each : model.sites().nodes)
    EXPECT_TRUE(model_text(model, 1 << 20).contains(QString::fromStdString(each.name))) << each.name;
}

INSTANTIATE_TEST_SUITE_P(Samples, CallSitesOfKind, testing::ValuesIn(sample::kinds().begin(), sample::kinds().end()),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(CallSites, ALineAndItsEventsLeadToEachOther) {
  Options options;
  options.view = QStringLiteral("callsites");
  MainWindow window(options);
  window.show();
  window.show_trace(three());
  ASSERT_TRUE(wait_idle(window));
  auto* tree = window.view("callsites").findChild<QTreeView*>();
  Selection& selection = window.selection();
  selection.select_collective(0);
  EXPECT_EQ(tree->currentIndex().data().toString(), QStringLiteral("line 11 in main"));
  tree->setFocus();
  QTest::keyClick(tree, Qt::Key_Down);
  EXPECT_EQ(tree->currentIndex().data().toString(), QStringLiteral("all-reduce of sum"));
  EXPECT_GE(selection.state().event, 0) << "the longest event there";
  QTest::keyClick(tree, Qt::Key_Up);
  QTest::keyClick(tree, Qt::Key_Up);
  QTest::keyClick(tree, Qt::Key_Up);
  const SelectionState& state = selection.state();
  EXPECT_EQ(selection.trace()->lanes[std::size_t(state.lane)].device, 1) << "process 1 computed longest";
}

// What was opened and closed by hand stays so when another window of time is summed.
TEST(CallSites, StayOpenAndClosedWhenTheWindowMoves) {
  Options options;
  options.view = QStringLiteral("callsites");
  MainWindow window(options);
  window.show();
  window.show_trace(three());
  ASSERT_TRUE(wait_idle(window));
  auto* tree = window.view("callsites").findChild<QTreeView*>();
  const auto line = [&] { return tree->model()->index(0, 0, tree->model()->index(1, 0)); };
  ASSERT_TRUE(tree->isExpanded(line())) << "few lines are open at first";
  const QString name = line().data().toString();
  tree->collapse(line());
  const TimeRange all = window.selection().trace()->range;
  const auto took = [&] { return tree->model()->index(1, CallSiteModel::kTime).data().toString(); };
  const QString whole = took();
  window.timeline().set_window({all.begin, all.begin + all.length() * 2 / 3});
  ASSERT_TRUE(QTest::qWaitFor([&] { return took() != whole; }));
  EXPECT_EQ(line().data().toString(), name);
  EXPECT_FALSE(tree->isExpanded(line()));
  tree->expand(line());
  window.timeline().set_window(all);
  ASSERT_TRUE(QTest::qWaitFor([&] { return took() == whole; }));
  EXPECT_TRUE(tree->isExpanded(line()));
}

// A recorded program's source is beside the tree, where it can be read.
TEST(CallSites, ShowTheSource) {
  QTemporaryDir folder;
  QFile source(folder.filePath(QStringLiteral("toy.cpp")));
  ASSERT_TRUE(source.open(QIODevice::WriteOnly));
  for (int line = 1; line <= 40; ++line) source.write(QByteArray("// this is line ") + QByteArray::number(line) + "\n");
  source.close();
  const std::string path = folder.filePath(QStringLiteral("toy.db")).toStdString();
  traces::sample::write_sample_trace("toy", path, {});
  Options options;
  options.view = QStringLiteral("callsites");
  MainWindow window(options);
  window.show();
  window.open(QString::fromStdString(path));
  ASSERT_TRUE(wait_idle(window));
  auto* tree = window.view("callsites").findChild<QTreeView*>();
  tree->setFocus();
  QTest::keyClick(tree, Qt::Key_Home);
  QTest::keyClick(tree, Qt::Key_Down);
  const TraceData& trace = *window.selection().trace();
  const auto* browser = window.view("callsites").findChild<QTextBrowser*>();
  const QString name = tree->currentIndex().data().toString();
  EXPECT_TRUE(std::any_of(trace.sites.begin(), trace.sites.end(),
                          [&](const Site& site) {
                            return browser->toPlainText().contains(QStringLiteral("this is line %1").arg(site.line)) &&
                                   name.startsWith(QStringLiteral("line %1").arg(site.line));
                          }))
      << name.toStdString() << browser->toPlainText().toStdString();
}

}  // namespace
}  // namespace shardlab::gui
