// Every scenario of the corpus that ends in a diagnosis, recorded now: from a cold open at most two keys to both guilty lines, and every
// lane, event, device and wait of every view has a name for a screen reader.
#include <gtest/gtest.h>

#include <QDir>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>
#include <QTextBrowser>

#include <algorithm>
#include <set>

#include "gui/app/main_window.h"
#include "gui/models/live_trace.h"
#include "gui/views/timeline_canvas.h"
#include "gui/views/when_seen.h"
#include "tests/gui/access_walk.h"
#include "tests/gui/wait_idle.h"

namespace shardlab::gui {
namespace {

constexpr int kRecordMs = 60'000;

// The code that a document expects, empty where it expects none.
QString expected_diagnosis(const QString& path) {
  QFile file(path);
  if (!file.open(QIODevice::ReadOnly)) return {};
  for (const QJsonValue& each : QJsonDocument::fromJson(file.readAll()).object()[QStringLiteral("expect")].toArray())
    if (const QString code = each.toObject()[QStringLiteral("diagnosis")].toString(); !code.isEmpty()) return code;
  return {};
}

// Both sides' places stand in a page that is in sight.
bool told(const MainWindow& window, const Diagnosis& diagnosis) {
  for (const auto* page : window.findChildren<QTextBrowser*>()) {
    if (!in_sight(*page)) continue;
    const QString text = page->toPlainText();
    const bool all = std::all_of(diagnosis.participants.begin(), diagnosis.participants.end(), [&](const Participant& side) {
      return side.where.empty() || text.contains(QString::fromStdString(side.where));
    });
    if (all) return true;
  }
  return false;
}

TEST(Corpus, AtMostTwoKeysToBothGuiltyLinesOfEveryDiagnosis) {
  const QString scenarios = qEnvironmentVariable("SHARDLAB_SOURCE_DIR") + QStringLiteral("/scenarios/");
  int opened = 0;
  std::set<QString> codes;
  QStringList documents;
  for (const QString& folder : {scenarios + QStringLiteral("corpus/"), scenarios + QStringLiteral("diagnoses/")})
    for (const QString& name : QDir(folder).entryList({QStringLiteral("*.json")}, QDir::Files, QDir::Name)) documents << folder + name;
  for (const QString& document : documents) {
    const QString name = QFileInfo(document).fileName(), code = expected_diagnosis(document);
    if (code.isEmpty()) continue;
    QTemporaryDir folder;
    QProcess record;
    record.setProcessChannelMode(QProcess::MergedChannels);
    record.start(shardlab_program(),
                 {QStringLiteral("replay"), document, QStringLiteral("--trace-dir"), folder.path(), QStringLiteral("--quiet")});
    ASSERT_TRUE(record.waitForFinished(kRecordMs)) << name.toStdString();
    const QStringList traces = QDir(folder.path()).entryList({QStringLiteral("*.db")}, QDir::Files, QDir::Name);
    if (traces.isEmpty()) continue;  // a cluster too large for a trace
    for (const QString& trace : traces) {
      SCOPED_TRACE((name + QLatin1Char(' ') + trace).toStdString());
      MainWindow window(Options{});
      window.show();
      window.activateWindow();
      window.open(folder.filePath(trace));
      ASSERT_TRUE(wait_idle(window));
      ASSERT_TRUE(window.selection().trace());
      const TracePtr& shown = window.selection().trace();
      ASSERT_FALSE(shown->diagnoses.empty());
      codes.insert(QString::fromStdString(shown->diagnoses[0].code));
      int keys = 0;
      for (; !told(window, shown->diagnoses[0]) && keys < 2; ++keys) QTest::keyClick(&window, Qt::Key_N);
      EXPECT_TRUE(told(window, shown->diagnoses[0])) << "after " << keys << " keys";
      window.show_sheet();
      QTest::qWait(0);
      std::map<QString, int> items = walk_diagrams(window);
      if (items[QStringLiteral("Timeline")] < int(shown->event_count())) {  // devices that did the same share a lane
        QTest::keyClick(&window.timeline(), Qt::Key_E);
        items = walk_diagrams(window);
      }
      EXPECT_EQ(items[QStringLiteral("Timeline")], int(shown->event_count()));
      EXPECT_EQ(items[QStringLiteral("Device mesh")] > 0, !shown->devices.empty());
      ++opened;
    }
  }
  EXPECT_GE(opened, 45);
  EXPECT_GE(codes.size(), 12u);
}

}  // namespace
}  // namespace shardlab::gui
