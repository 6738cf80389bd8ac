// The window's program without a display: pictures and texts in every format, and what it says is wrong.
#include <gtest/gtest.h>

#include <QFile>
#include <QImage>
#include <QProcess>
#include <QTemporaryDir>

#include <set>

#include "gui/models/format.h"
#include "gui/views/view_def.h"
#include "tests/traces/sample_trace.h"

namespace shardlab::gui {
namespace {

int colours(const QImage& image) {
  std::set<QRgb> seen;
  for (int y = 0; y < image.height(); y += 3)
    for (int x = 0; x < image.width(); x += 3) seen.insert(image.pixel(x, y));
  return int(seen.size());
}

class CommandLine : public testing::Test {
 protected:
  struct Result {
    int code;
    QString error;
  };
  Result run(const QStringList& arguments, const char* scale = nullptr) {
    QProcess process;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    if (scale) environment.insert(QStringLiteral("QT_SCALE_FACTOR"), QString::fromUtf8(scale));
    for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"}) environment.remove(QString::fromUtf8(name));
    process.setProcessEnvironment(environment);
    process.start(qEnvironmentVariable("SHARDLAB_BIN_DIR") + QStringLiteral("/shardlab-view"), arguments);
    EXPECT_TRUE(process.waitForFinished(60'000));
    return {process.exitCode(), QString::fromUtf8(process.readAllStandardError())};
  }
  QString trace(const char* name) {
    const QString path = folder_.filePath(QString::fromUtf8(name) + QStringLiteral(".db"));
    traces::sample::write_sample_trace(name, path.toStdString(), {});
    return path;
  }
  QTemporaryDir folder_;
};

TEST_F(CommandLine, TakesPicturesWithoutADisplay) {
  const QString out = folder_.filePath(QStringLiteral("out.png"));
  for (const QStringList& more :
       std::initializer_list<QStringList>{{},
                                          {QStringLiteral("--view=sharding"), QStringLiteral("--array"), QStringLiteral("y")},
                                          {QStringLiteral("--theme"), QStringLiteral("dark"), QStringLiteral("--select"),
                                           QStringLiteral("device:3"), QStringLiteral("--size=900x600")}}) {
    QFile::remove(out);
    const Result result = run(QStringList{trace("deadlock"), QStringLiteral("--screenshot"), out} + more);
    EXPECT_EQ(result.code, 0) << result.error.toStdString();
    EXPECT_TRUE(result.error.isEmpty()) << result.error.toStdString();
    EXPECT_GT(colours(QImage(out)), 12);
  }
  EXPECT_EQ(QImage(out).size(), QSize(900, 600));
}

// Twice the pixels, and they are used: a picture that was only enlarged would have blocks of one colour.
TEST_F(CommandLine, PaintsFinerOnFinerScreens) {
  const QString db = trace("deadlock"), out = folder_.filePath(QStringLiteral("fine.png"));
  for (const ViewDef* def : {&kTimelineView, &kShardingView, &kWaitsView, &kMatrixView}) {
    ASSERT_EQ(
        run({db, QStringLiteral("--screenshot"), out, QStringLiteral("--view"), qstr(def->id), QStringLiteral("--size=800x500")}, "2").code,
        0);
    const QImage image(out);
    ASSERT_EQ(image.size(), QSize(1600, 1000)) << def->id;
    int fine = 0;
    for (int y = 200; y + 1 < image.height(); y += 2)
      for (int x = 0; x + 1 < image.width(); x += 2)
        fine += image.pixel(x, y) != image.pixel(x + 1, y) || image.pixel(x, y) != image.pixel(x, y + 1);
    EXPECT_GT(fine, 500) << def->id;
  }
}

// Every view of a trace in one picture, each under its title.
TEST_F(CommandLine, PutsAllViewsOnOneSheet) {
  const QString db = trace("deadlock");
  for (const char* ending : {"svg", "txt"}) {
    const QString out = folder_.filePath(QStringLiteral("sheet.") + QString::fromUtf8(ending));
    const Result result =
        run({db, QStringLiteral("--screenshot"), out, QStringLiteral("--view"), QStringLiteral("all"), QStringLiteral("--size=1800x2000")});
    ASSERT_EQ(result.code, 0) << result.error.toStdString();
    QFile file(out);
    ASSERT_TRUE(file.open(QIODevice::ReadOnly));
    const QByteArray text = file.readAll();
    for (const ViewDef* def : all_views()) EXPECT_TRUE(text.contains(def->title)) << def->id << " in " << ending;
  }
}

// The same bytes each time, in every format, and the text says what the picture shows.
TEST_F(CommandLine, WritesEveryFormatTheSameEachTime) {
  const QString db = trace("deadlock");
  for (const char* ending : {"png", "svg", "pdf", "txt"}) {
    QByteArray bytes[2];
    for (int i = 0; i < 2; ++i) {
      const QString out = folder_.filePath(QStringLiteral("%1.%2").arg(i).arg(QString::fromUtf8(ending)));
      const Result result = run({db, QStringLiteral("--screenshot"), out});
      EXPECT_EQ(result.code, 0) << result.error.toStdString();
      QFile file(out);
      EXPECT_TRUE(file.open(QIODevice::ReadOnly));
      bytes[i] = file.readAll();
    }
    EXPECT_GT(bytes[0].size(), 500) << ending;
    EXPECT_EQ(bytes[0], bytes[1]) << ending;
    if (qstrcmp(ending, "svg") == 0) { EXPECT_TRUE(bytes[0].contains("all-reduce</text>") && bytes[0].endsWith("</svg>\n")); }
    if (qstrcmp(ending, "txt") == 0) { EXPECT_TRUE(bytes[0].contains("== Timeline ==") && bytes[0].contains("✖ process")); }
  }
}

TEST_F(CommandLine, WritesEveryViewAsText) {
  const QString db = trace("deadlock"), out = folder_.filePath(QStringLiteral("view.txt"));
  for (const ViewDef* def : all_views()) {
    ASSERT_TRUE(def->text) << def->id;
    EXPECT_EQ(run({db, QStringLiteral("--screenshot"), out, QStringLiteral("--view"), qstr(def->id)}).code, 0) << def->id;
    QFile file(out);
    EXPECT_TRUE(file.open(QIODevice::ReadOnly));
    EXPECT_TRUE(file.readAll().contains(QStringLiteral("== %1 ==").arg(QString::fromUtf8(def->title)).toUtf8())) << def->id;
  }
}

TEST_F(CommandLine, SaysWhatIsWrongAndExitsWith3) {
  const QString out = folder_.filePath(QStringLiteral("out.png")), toy = trace("toy");
  const std::vector<std::pair<QStringList, QString>> cases{
      {{QStringLiteral("/nowhere.db"), QStringLiteral("--screenshot"), out}, QStringLiteral("nowhere.db")},
      {{toy, QStringLiteral("--screenshot"), out, QStringLiteral("--view"), QStringLiteral("timelin")},
       QStringLiteral("did you mean 'timeline'?")},
      {{toy, QStringLiteral("--screenshot"), out, QStringLiteral("--array"), QStringLiteral("nothing")},
       QStringLiteral("no array \"nothing\"")},
      {{toy, QStringLiteral("--screenshot"), out, QStringLiteral("--select"), QStringLiteral("device:99")}, QStringLiteral("device:99")},
      {{toy, QStringLiteral("--screenshot"), out, QStringLiteral("--size"), QStringLiteral("big")}, QStringLiteral("WIDTHxHEIGHT")},
      {{toy, QStringLiteral("--screenshot")}, QStringLiteral("OUT.png")},
      {{toy, QStringLiteral("--screenshot"), QStringLiteral("picture.bmp")}, QStringLiteral(".svg")},
      {{toy, QStringLiteral("--screenshot"), QStringLiteral("/nowhere/out.png")}, QStringLiteral("cannot write")},
      {{toy}, QStringLiteral("no display")},
      {{toy, QStringLiteral("--bogus")}, QStringLiteral("--bogus")}};
  for (const auto& [arguments, message] : cases) {
    const Result result = run(arguments);
    EXPECT_EQ(result.code, 3) << arguments.join(QLatin1Char(' ')).toStdString();
    EXPECT_TRUE(result.error.contains(message)) << result.error.toStdString();
  }
}

}  // namespace
}  // namespace shardlab::gui
