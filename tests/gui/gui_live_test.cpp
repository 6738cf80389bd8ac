// Runs that go on, that were killed, and files that were cut: real processes, real files, seen through the window.
#include <gtest/gtest.h>

#include <signal.h>

#include <QFile>
#include <QLabel>
#include <QPlainTextEdit>
#include <QProcess>
#include <QPushButton>
#include <QSpinBox>
#include <QTemporaryDir>
#include <QTest>

#include <algorithm>

#include "gui/app/main_window.h"
#include "gui/models/live_trace.h"
#include "gui/models/trace_loader.h"
#include "gui/models/verdict.h"
#include "gui/views/timeline_canvas.h"
#include "runtime/base/error.h"

namespace shardlab::gui {
namespace {

constexpr int kLongMs = 60'000;  // on a machine that others use too

enum class Late { kStopped, kDelayed };  // until somebody continues it; for longer than any test

// Two processes that meet once a round. In the rounds of `late` process 0 comes late: a test decides when, however busy the machine is.
QByteArray rounds(const std::vector<int>& late, Late how, int count = 6) {
  QStringList faults;
  const QString at = QStringLiteral(R"({"at": "/program/2/body/0", "iteration": %1, "processes": [0], "do": %2})");
  // What it did before must have left it before it stops.
  for (const int round : late) {
    if (how == Late::kStopped) faults << at.arg(round - 1).arg(QStringLiteral(R"({"delay_ms": 400})"));
    faults << at.arg(round).arg(how == Late::kStopped ? QStringLiteral(R"({"stop_ms": 0})") : QStringLiteral(R"({"delay_ms": 600000})"));
  }
  return QStringLiteral(R"({
  "shardlab": 1,
  "name": "rounds",
  "cluster": {"processes": 2, "devices": 2, "run": "spawned"},
  "meshes": {"m": {"shape": [4], "axes": ["a"]}},
  "program": [
    {"let": "x", "op": "arange", "args": [64], "dtype": "float32"},
    {"let": "x", "op": "device_put", "args": ["x"], "sharding": ["a"]},
    {"repeat": %1, "body": [{"let": "s", "op": "sum", "args": ["x"]}, {"let": "v", "op": "fetch", "args": ["s"]}]}
  ],
  "faults": [%2],
  "limits": {"run_ms": 600000, "stuck_ms": 600000}
})")
      .arg(count)
      .arg(faults.join(QStringLiteral(", ")))
      .toUtf8();
}

bool is_whole(const TracePtr& trace) { return trace && !trace->running && !trace->live; }

// The state of a process as its kernel has it: 'T' where it is stopped.
char state_of(qint64 pid) {
  QFile file(QStringLiteral("/proc/%1/stat").arg(pid));
  if (!file.open(QIODevice::ReadOnly)) return 0;
  const QByteArray line = file.readAll();
  return line.mid(line.lastIndexOf(')') + 2).at(0);
}

// Process 0 goes on from where it stopped, as soon as it has.
void go_on(const TraceData& trace) {
  const Process* process = trace.process(0);
  ASSERT_NE(process, nullptr);
  const qint64 pid = process->pid;
  ASSERT_GT(pid, 0);
  ASSERT_TRUE(QTest::qWaitFor([&] { return state_of(pid) == 'T'; }, kLongMs));
  ASSERT_EQ(::kill(pid_t(pid), SIGCONT), 0);
}

class LiveTest : public testing::Test {
 protected:
  // Starts `shardlab replay` of the document in a group of its own, recording into parts().
  void start(const QByteArray& document) {
    QFile file(folder_.filePath(QStringLiteral("s.json")));
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(document);
    file.close();
    run_.setProcessChannelMode(QProcess::ForwardedChannels);
    run_.setChildProcessModifier([] { ::setpgid(0, 0); });
    run_.start(shardlab_program(), {QStringLiteral("replay"), file.fileName(), QStringLiteral("--parts"), parts()});
    ASSERT_TRUE(run_.waitForStarted()) << shardlab_program().toStdString();
    ASSERT_TRUE(QTest::qWaitFor([&] { return QFile::exists(parts() + QStringLiteral("/part-0.db")); }, kLongMs));
  }
  ~LiveTest() override {
    if (run_.state() == QProcess::NotRunning) return;
    ::kill(-pid_t(run_.processId()), SIGKILL);
    run_.waitForFinished(kLongMs);
  }
  bool over() {
    return QTest::qWaitFor([&] { return run_.state() == QProcess::NotRunning; }, kLongMs);
  }
  QString parts() const { return folder_.filePath(QStringLiteral("parts")); }

  QTemporaryDir folder_;
  QProcess run_;
};

TEST_F(LiveTest, ARunIsWatchedWhileItGrowsAndToItsEnd) {
  start(rounds({2, 4}, Late::kStopped));
  MainWindow window(Options{});
  window.show();
  window.open(parts());
  const auto trace = [&] { return window.selection().trace(); };
  ASSERT_TRUE(QTest::qWaitFor([&] { return trace() && trace()->collectives.size() >= 2 && trace()->process(0)->pid > 0; }, kLongMs));
  ASSERT_TRUE(trace()->running);
  EXPECT_TRUE(make_verdict(*trace()).sentence.startsWith(QStringLiteral("Running:"))) << make_verdict(*trace()).sentence.toStdString();
  // What a person set up stays while it grows: what is selected, and a window at the end that moves with it.
  window.selection().select_collective(0);
  const std::size_t before = trace()->collectives.size();
  auto& canvas = window.timeline();
  const TimeRange limits = canvas.scale().limits();
  canvas.set_window({limits.end - limits.length() / 4, limits.end});
  go_on(*TracePtr(trace()));
  ASSERT_TRUE(QTest::qWaitFor([&] { return trace()->collectives.size() > before + 1; }, kLongMs));
  EXPECT_EQ(window.selection().state().collective, 0);
  EXPECT_EQ(canvas.scale().window().end, canvas.scale().limits().end);
  EXPECT_LT(canvas.scale().window().length(), canvas.scale().limits().length() / 2);
  go_on(*TracePtr(trace()));
  ASSERT_TRUE(QTest::qWaitFor([&] { return is_whole(trace()) && trace()->collectives.size() >= 6; }, kLongMs));
  const Verdict verdict = make_verdict(*trace());
  EXPECT_EQ(verdict.level, VerdictLevel::kNote) << "who stood still is a straggler: " << verdict.sentence.toStdString();
  EXPECT_TRUE(verdict.sentence.contains(QStringLiteral("for process 0"))) << verdict.sentence.toStdString();
  ASSERT_TRUE(over());
  EXPECT_EQ(run_.exitCode(), 0) << "who is watched runs as if nobody watched";
}

TEST_F(LiveTest, ARunThatWasKilledWithItsLauncherShowsWhatItHadRecordedAndSaysSo) {
  start(rounds({3}, Late::kDelayed));
  MainWindow window(Options{});
  window.show();
  window.open(parts());
  const auto trace = [&] { return window.selection().trace(); };
  ASSERT_TRUE(QTest::qWaitFor([&] { return trace() && trace()->collectives.size() >= 3; }, kLongMs));
  const std::size_t seen = trace()->collectives.size();
  ::kill(-pid_t(run_.processId()), SIGKILL);
  run_.waitForFinished(kLongMs);
  ASSERT_TRUE(QTest::qWaitFor([&] { return !trace()->running; }, kLongMs));
  EXPECT_GE(trace()->collectives.size(), seen);
  EXPECT_TRUE(trace()->torn());
  ASSERT_FALSE(trace()->notices.empty());
  EXPECT_NE(trace()->notices[0].text.find("is gone"), std::string::npos) << trace()->notices[0].text;
  EXPECT_EQ(make_verdict(*trace()).level, VerdictLevel::kWarning);
}

// A real trace cut anywhere: what is there is shown, what is missing is said; or the error says that it is no trace.
TEST_F(LiveTest, ATraceCutAnywhereShowsWhatIsLeft) {
  start(rounds({}, Late::kDelayed, 40));
  ASSERT_TRUE(over());
  const QString whole = parts() + QStringLiteral("/trace.db"), cut = folder_.filePath(QStringLiteral("cut.db"));
  const TracePtr all = load_trace({.path = whole.toStdString()});
  ASSERT_FALSE(all->torn());
  const qint64 size = QFile(whole).size();
  int shown = 0, refused = 0;
  for (qint64 part = 1; part < 24; ++part) {
    QFile::remove(cut);
    ASSERT_TRUE(QFile::copy(whole, cut));
    ASSERT_TRUE(QFile::resize(cut, size * part / 24));
    try {
      const TracePtr left = load_trace({.path = cut.toStdString()});
      EXPECT_TRUE(left->torn()) << "cut at " << part << "/24";
      EXPECT_LE(left->collectives.size(), all->collectives.size());
      EXPECT_LE(left->event_count(), all->event_count());
      EXPECT_NE(make_verdict(*left).level, VerdictLevel::kGood);
      MainWindow window(Options{});
      window.show();
      window.show_trace(left);
      QTest::qWait(0);
      EXPECT_FALSE(window.text().isEmpty());
      ++shown;
    } catch (const IoError& problem) {
      EXPECT_NE(std::string(problem.what()).find("cut.db"), std::string::npos);
      ++refused;
    }
  }
  EXPECT_EQ(refused, 0) << "each part of it is more than a page: what lies there is shown";
}

class RunViewTest : public testing::Test {
 protected:
  RunViewTest() : window(Options{}) {
    window.show();
    window.show_view("run");
  }
  QWidget& view() { return window.view("run"); }
  QPushButton* button(const QString& text) {
    for (auto* each : view().findChildren<QPushButton*>())
      if (each->text() == text) return each;
    return nullptr;
  }
  QPlainTextEdit* document() {
    for (auto* each : view().findChildren<QPlainTextEdit*>())
      if (each->accessibleName() == QStringLiteral("Scenario")) return each;
    return nullptr;
  }
  QSpinBox* spin(const QString& name) {
    for (auto* each : view().findChildren<QSpinBox*>())
      if (each->accessibleName() == name) return each;
    return nullptr;
  }
  TracePtr trace() { return window.selection().trace(); }
  void run() { QTest::mouseClick(button(QStringLiteral("Run")), Qt::LeftButton); }
  bool ended() {
    return QTest::qWaitFor([&] { return button(QStringLiteral("Run"))->isEnabled() && is_whole(trace()); }, kLongMs);
  }
  MainWindow window;
};

TEST_F(RunViewTest, RunsChangesAParameterAndRunsAgain) {
  document()->setPlainText(QString::fromUtf8(rounds({3}, Late::kStopped)));
  run();
  ASSERT_TRUE(QTest::qWaitFor([&] { return trace() && trace()->running; }, kLongMs));
  EXPECT_TRUE(
      QTest::qWaitFor([&] { return trace()->process(0) && trace()->process(0)->pid > 0 && trace()->collectives.size() >= 3; }, kLongMs));
  EXPECT_TRUE(trace()->running);
  go_on(*TracePtr(trace()));
  ASSERT_TRUE(ended());
  EXPECT_EQ(trace()->processes.size(), 2u);
  EXPECT_EQ(trace()->devices.size(), 4u);
  spin(QStringLiteral("Processes"))->setValue(4);
  spin(QStringLiteral("Devices of each"))->setValue(1);
  EXPECT_TRUE(document()->toPlainText().contains(QStringLiteral("\"processes\": 4")));
  document()->setPlainText(document()->toPlainText().replace(QStringLiteral("\"stop_ms\": 0"), QStringLiteral("\"stop_ms\": 20")));
  run();
  ASSERT_TRUE(QTest::qWaitFor([&] { return trace()->processes.size() == 4; }, kLongMs));
  ASSERT_TRUE(ended());
  EXPECT_EQ(trace()->devices.size(), 4u);
  EXPECT_GE(trace()->collectives.size(), 6u);
}

// What the first run shows has something for every view: collectives, waits, reshards, values, host reads.
TEST_F(RunViewTest, TheExampleFillsEveryView) {
  window.run_example();
  ASSERT_TRUE(QTest::qWaitFor([&] { return trace() != nullptr; }, kLongMs));
  ASSERT_TRUE(ended());
  const Verdict verdict = make_verdict(*trace());
  EXPECT_EQ(verdict.level, VerdictLevel::kNote) << "its delayed processes are stragglers: " << verdict.sentence.toStdString();
  const auto& found = trace()->diagnoses;
  EXPECT_TRUE(std::any_of(found.begin(), found.end(), [](const Diagnosis& each) { return each.processes == std::vector{1}; }))
      << verdict.sentence.toStdString();
  EXPECT_GE(trace()->collectives.size(), 18u);
  EXPECT_GE(trace()->wait_edges.size(), 1u);
  EXPECT_GE(trace()->host_reads.size(), 6u);
  EXPECT_GE(trace()->arrays.size(), 6u);
  ASSERT_FALSE(trace()->predictions.empty());
  for (const auto& each : trace()->predictions) EXPECT_TRUE(each.as_planned) << each.program << " call " << each.call;
}

TEST_F(RunViewTest, StopsARunThatWouldNotEnd) {
  document()->setPlainText(QString::fromUtf8(rounds({2}, Late::kDelayed)));
  run();
  ASSERT_TRUE(QTest::qWaitFor([&] { return trace() && trace()->running && trace()->collectives.size() >= 2; }, kLongMs));
  QTest::mouseClick(button(QStringLiteral("Stop")), Qt::LeftButton);
  ASSERT_TRUE(ended());
  EXPECT_GE(trace()->collectives.size(), 2u);
}

TEST_F(RunViewTest, SaysWhatIsWrongWithADocument) {
  document()->setPlainText(QStringLiteral("{\"shardlab\": 1, \"programme\": []}"));
  run();
  ASSERT_TRUE(QTest::qWaitFor([&] { return button(QStringLiteral("Run"))->isEnabled(); }, kLongMs));
  bool said = false;
  for (auto* each : view().findChildren<QPlainTextEdit*>())
    said |= each->toPlainText().contains(QStringLiteral("programme")) && each->isReadOnly();
  EXPECT_TRUE(said);
  EXPECT_FALSE(trace());
}

}  // namespace
}  // namespace shardlab::gui
