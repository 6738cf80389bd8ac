// A monkey at the window, over every kind of trace: no crash, no assertion, and in the long run no frame that holds up the window.
//
// SHARDLAB_MONKEY_EVENTS (of each kind), SHARDLAB_MONKEY_SEED; with SHARDLAB_MONKEY_TRACES=folder over each trace (*.db) and each run
// that goes on (a folder) in it, instead of the samples, each compared with SHARDLAB_MONKEY_COMPARE or else with itself.
// `benchmarks/soak_window` records them all and asks for 10,000 events of each.
#include <gtest/gtest.h>

#include <QApplication>
#include <QDir>
#include <QSettings>
#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <functional>
#include <ostream>
#include <vector>

#include "gui/app/main_window.h"
#include "tests/gui/monkey.h"
#include "tests/gui/sample_traces.h"
#include "tests/gui/wait_idle.h"
#include "tests/traces/sample_trace.h"

namespace shardlab::gui {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double kFrameMsMax = 1e9;  // what instrumented code takes says nothing
#else
constexpr double kFrameMsMax = 100;
#endif
constexpr int kEvents = 150, kSeed = 20261121, kGrowEvery = 30;

int setting(const char* name, int fallback) {
  const int value = qEnvironmentVariableIntValue(name);
  return value > 0 ? value : fallback;
}

struct Kind {
  friend void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }
  std::string name;
  QString file;                             // or, where that is empty:
  std::function<TracePtr(int step)> trace;  // step 0 first, later ones of a run that grows
};

std::vector<Kind> kinds() {
  const QString folder = qEnvironmentVariable("SHARDLAB_MONKEY_TRACES");
  if (folder.isEmpty()) {
    std::vector<Kind> all{{"growing", {}, [](int step) { return sample::grid(4, 2, 2, 1 + step); }}};
    for (const auto& each : sample::kinds()) all.push_back({each.name, {}, [make = each.make](int) { return make(); }});
    return all;
  }
  std::vector<Kind> found;
  for (const QFileInfo& each : QDir(folder).entryInfoList(QDir::Files | QDir::Dirs | QDir::NoDotAndDotDot, QDir::Name))
    if (each.isDir() || each.suffix() == QStringLiteral("db")) {
      std::string name = each.completeBaseName().toStdString();
      std::replace_if(
          name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
      found.push_back({name, each.absoluteFilePath()});
    }
  return found;
}

// The second trace of the view that compares; none for a run that goes on, unless it is given.
QString compared(const Kind& kind, const QTemporaryDir& folder) {
  if (const QString given = qEnvironmentVariable("SHARDLAB_MONKEY_COMPARE"); !given.isEmpty()) return given;
  if (!kind.file.isEmpty()) return QFileInfo(kind.file).isDir() ? QString() : kind.file;
  const QString toy = folder.filePath(QStringLiteral("toy.db"));
  traces::sample::write_sample_trace("toy", toy.toStdString(), {});
  return toy;
}

class MonkeyTest : public testing::TestWithParam<Kind> {
 protected:
  static void SetUpTestSuite() {
    // It changes keys and saves nothing of anybody's.
    static QTemporaryDir folder;
    QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, folder.path());
    QCoreApplication::setOrganizationName(QStringLiteral("shardlab-test"));
    QCoreApplication::setApplicationName(QStringLiteral("monkey"));
    QCoreApplication::setAttribute(Qt::AA_DontUseNativeDialogs);
  }
  void TearDown() override { apply_style(false); }
};

TEST_P(MonkeyTest, FindsNothingToBreak) {
  const Kind& kind = GetParam();
  const int seed = setting("SHARDLAB_MONKEY_SEED", kSeed), events = setting("SHARDLAB_MONKEY_EVENTS", kEvents);
  SCOPED_TRACE("seed " + std::to_string(seed));
  // A second run beside it, as the user's who compares.
  QTemporaryDir folder;
  Options options;
  options.compare = compared(kind, folder);
  MainWindow window{options};
  window.show();
  window.activateWindow();
  int step = 0;
  if (kind.trace) {
    window.show_trace(kind.trace(step));
  } else {
    window.open(kind.file);
  }
  ASSERT_TRUE(wait_idle(window, 120'000));
  QTest::qWait(0);
  Monkey monkey(window, unsigned(seed));
  std::vector<double> frames;
  QString slowest;
  double slowest_ms = 0;
  for (int i = 0; i < events; ++i) {
    if (kind.trace && i % kGrowEvery == kGrowEvery - 1) window.selection().follow_trace(kind.trace(++step));
    const Monkey::Deed deed = monkey.step();
    if (!deed.dialog) frames.push_back(deed.cpu_ms);
    if (!deed.dialog && deed.cpu_ms > slowest_ms) {
      slowest = deed.what;
      slowest_ms = deed.cpu_ms;
    }
    // A time is judged in the long run over recorded traces alone: what a busy machine takes is no reason to fail.
    EXPECT_TRUE(deed.dialog || kind.trace || deed.cpu_ms < kFrameMsMax)
        << "event " << i << ", " << deed.what.toStdString() << ": " << deed.cpu_ms << " ms";
  }
  std::sort(frames.begin(), frames.end());
  if (!frames.empty())
    std::printf("%s: %d events, seed %d; processor time of a frame: %.1f ms at the 95th percentile, %.1f ms at most (%s)\n",
                kind.name.c_str(), events, seed, frames[frames.size() * 95 / 100], frames.back(), qPrintable(slowest));
  RecordProperty("frame_ms_max", frames.empty() ? 0 : int(frames.back()));
}

INSTANTIATE_TEST_SUITE_P(Traces, MonkeyTest, testing::ValuesIn(kinds()), [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace shardlab::gui
