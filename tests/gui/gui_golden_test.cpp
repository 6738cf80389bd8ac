// Every view against its golden picture: the same traces, the bundled font, Fusion, compared with a little tolerance.
//
// SHARDLAB_UPDATE_GOLDEN=1 writes the pictures anew; look at each before it is committed. A picture that differs is written beside the
// test's working files as NAME.actual.png and NAME.differs.png, in the folder that the failure names.
#include <gtest/gtest.h>

#include <QDir>
#include <QImage>
#include <QTest>

#include <algorithm>

#include "gui/app/main_window.h"
#include "gui/app/options.h"
#include "tests/gui/sample_traces.h"
#include "tests/gui/wait_idle.h"

namespace shardlab::gui {
namespace {

constexpr int kChannelMax = 8;  // freetype's versions differ by less
constexpr double kFailingShareMax = 0.002;

struct GoldenCase {
  const char* name;
  const char* view;
  TracePtr (*trace)();
  const char* select = "";
  bool dark = false;
};

TracePtr toy() { return sample::toy(); }
TracePtr wide() { return sample::grid(8, 8, 8, 6); }

constexpr GoldenCase kCases[] = {
    {"timeline", "timeline", sample::deadlock, "diagnosis:0"},
    {"timeline_dark", "timeline", sample::deadlock, "diagnosis:0", true},
    {"timeline_wide", "timeline", wide, "collective:3"},
    {"timeline_torn", "timeline", sample::torn},
    {"timeline_empty", "timeline", sample::empty},
    {"overview", "overview", wide, "device:5"},
    {"overview_dark", "overview", sample::deadlock, "", true},
    {"sharding", "sharding", toy, "array:0"},
    {"sharding_dark", "sharding", toy, "array:0", true},
    {"reshard", "reshard", sample::planned, "collective:0"},
    {"reshard_dark", "reshard", sample::planned, "collective:0", true},
    {"diagnoses", "diagnoses", sample::deadlock, "diagnosis:0"},
    {"diagnoses_dark", "diagnoses", sample::deadlock, "diagnosis:0", true},
    {"sequence", "sequence", sample::deadlock},
    {"callsites", "callsites", sample::deadlock, "collective:1"},
    {"callsites_dark", "callsites", toy, "", true},
    {"waits", "waits", sample::deadlock},
    {"waits_dark", "waits", sample::deadlock, "", true},
    {"collectives", "collectives", wide, "collective:2"},
    {"events", "events", toy},
    {"stats", "stats", toy},
    {"path", "path", toy},
    {"memory", "memory", sample::held},
    {"memory_dark", "memory", sample::held, "device:6", true},
    {"timeline_memory", "timeline", sample::held, "device:3"},
    {"timeline_memory_dark", "timeline", sample::held, "", true},
    {"path_dark", "path", sample::deadlock, "", true},
    {"matrix", "matrix", wide},
    {"matrix_dark", "matrix", wide, "", true},
    {"predicted", "predicted", sample::planned, "collective:1"},
    {"compare", "compare", toy},
    {"run", "run", toy},
    {"explorer", "explorer", toy},
    {"inspector", "inspector", sample::deadlock, "diagnosis:0"},
};

QString folder() { return qEnvironmentVariable("SHARDLAB_SOURCE_DIR") + QStringLiteral("/tests/gui/golden"); }

QImage picture(const GoldenCase& what) {
  apply_style(what.dark);
  Options options;
  options.view = QString::fromUtf8(what.view);
  options.select = QString::fromUtf8(what.select);
  options.size = QSize(760, 420);
  MainWindow window(options);
  window.show();
  window.show_trace(what.trace());
  apply_selection(options, window.selection());
  EXPECT_TRUE(wait_idle(window));
  QTest::qWait(0);
  return window.grab().toImage().convertToFormat(QImage::Format_RGB32);
}

// Pixels of which a channel is off by more than a hair; `marked` gets them in red.
double failing_share(const QImage& actual, const QImage& golden, QImage& marked) {
  if (actual.size() != golden.size()) return 1;
  marked = actual.convertToFormat(QImage::Format_Grayscale8).convertToFormat(QImage::Format_RGB32);
  qint64 failing = 0;
  for (int y = 0; y < actual.height(); ++y)
    for (int x = 0; x < actual.width(); ++x) {
      const QRgb a = actual.pixel(x, y), b = golden.pixel(x, y);
      const int off = std::max({std::abs(qRed(a) - qRed(b)), std::abs(qGreen(a) - qGreen(b)), std::abs(qBlue(a) - qBlue(b))});
      if (off <= kChannelMax) continue;
      ++failing;
      marked.setPixel(x, y, qRgb(255, 0, 0));
    }
  return double(failing) / double(actual.width() * actual.height());
}

TEST(Golden, EveryViewLooksAsItDid) {
  const bool update = qEnvironmentVariableIsSet("SHARDLAB_UPDATE_GOLDEN");
  const QString kept = QDir::tempPath() + QStringLiteral("/shardlab-golden");
  for (const GoldenCase& each : kCases) {
    SCOPED_TRACE(each.name);
    const QImage actual = picture(each);
    const QString file = folder() + QLatin1Char('/') + QString::fromUtf8(each.name) + QStringLiteral(".png");
    if (update) {
      ASSERT_TRUE(actual.save(file));
      continue;
    }
    const QImage golden = QImage(file).convertToFormat(QImage::Format_RGB32);
    ASSERT_FALSE(golden.isNull()) << file.toStdString();
    QImage marked;
    const double share = failing_share(actual, golden, marked);
    if (share <= kFailingShareMax) continue;
    QDir().mkpath(kept);
    actual.save(QStringLiteral("%1/%2.actual.png").arg(kept, QString::fromUtf8(each.name)));
    marked.save(QStringLiteral("%1/%2.differs.png").arg(kept, QString::fromUtf8(each.name)));
    ADD_FAILURE() << 100 * share << " % of the pixels differ; see " << kept.toStdString();
  }
  apply_style(false);
}

// A test that cannot fail would be none: another theme is another picture, and one word of another colour is seen.
TEST(Golden, SeesWhatDiffers) {
  const QImage light = picture(kCases[0]), dark = picture(kCases[1]);
  apply_style(false);
  QImage marked;
  EXPECT_EQ(failing_share(light, light, marked), 0);
  EXPECT_GT(failing_share(light, dark, marked), 0.5);
  QImage changed = light;
  for (int y = 100; y < 112; ++y)
    for (int x = 200; x < 260; ++x) changed.setPixel(x, y, qRgb(10, 200, 30));
  EXPECT_GT(failing_share(changed, light, marked), kFailingShareMax);
}

// Every view is in the list above, but for those that a trace in memory cannot fill.
TEST(Golden, LeavesNoViewOut) {
  for (const ViewDef* def : all_views()) {
    if (def->id == "sql") continue;  // asks the file
    EXPECT_TRUE(std::any_of(std::begin(kCases), std::end(kCases), [&](const GoldenCase& each) { return def->id == each.view; })) << def->id;
  }
}

}  // namespace
}  // namespace shardlab::gui
