// The report of the window: one page that needs nothing else, with the parts that were chosen.
#include <gtest/gtest.h>

#include <QListWidget>
#include <QPushButton>
#include <QSettings>
#include <QTemporaryDir>
#include <QTest>

#include "gui/app/html_report.h"
#include "gui/app/main_window.h"
#include "gui/app/report_builder.h"
#include "tests/gui/sample_traces.h"
#include "tests/gui/wait_idle.h"
#include "tests/traces/sample_trace.h"

namespace shardlab::gui {
namespace {

struct Shown {
  explicit Shown(TracePtr trace) : window(Options{}) {
    window.show();
    if (trace) window.show_trace(std::move(trace));
    QTest::qWait(0);
  }
  MainWindow window;
};

bool has(const QByteArray& page, const QString& title) { return page.contains("<h2>" + title.toHtmlEscaped().toUtf8() + "</h2>"); }

TEST(Report, IsOneFileWithEveryView) {
  Shown shown(sample::deadlock());
  const QByteArray page = html_report(shown.window);
  for (const ViewDef* def : all_views()) EXPECT_EQ(has(page, QString::fromUtf8(def->title)), def->in_report) << def->id;
  EXPECT_TRUE(page.contains("<svg") && page.contains("toy.cpp:13"));
  EXPECT_FALSE(page.contains("http://") && page.contains("<script"));
  EXPECT_EQ(page, html_report(shown.window)) << "the same each time";
}

TEST(Report, HasThePartsThatWereChosen) {
  Shown shown(sample::toy());
  auto sections = report_sections(shown.window);
  for (const auto& section : sections) EXPECT_NE(section.id, "summary") << "of a trace that is no file";
  const ReportSection left_out = sections[2];
  sections.erase(sections.begin() + 2);
  const QByteArray page = html_report(shown.window, sections);
  EXPECT_FALSE(has(page, left_out.title));
  for (const auto& section : sections) EXPECT_TRUE(has(page, section.title)) << section.id;
}

TEST(Report, BeginsWithTheSummaryOfAFile) {
  QTemporaryDir folder;
  const std::string path = folder.filePath(QStringLiteral("deadlock.db")).toStdString();
  traces::sample::write_sample_trace("deadlock", path, {});
  Shown shown(nullptr);
  EXPECT_TRUE(report_sections(shown.window).empty());
  shown.window.open(QString::fromStdString(path));
  ASSERT_TRUE(wait_idle(shown.window));
  const auto sections = report_sections(shown.window);
  ASSERT_FALSE(sections.empty());
  EXPECT_EQ(sections[0].id, "summary");
  const QByteArray page = html_report(shown.window, {sections[0]});
  EXPECT_TRUE(page.contains("order-mismatch")) << page.toStdString();
  EXPECT_FALSE(page.contains("<svg"));
  // A file that is gone by now is said, not passed over.
  ASSERT_TRUE(QFile::remove(QString::fromStdString(path)));
  EXPECT_TRUE(html_report(shown.window, {sections[0]}).contains("deadlock.db"));
}

TEST(ReportBuilder, KeepsWhatIsLeftOutAndWantsOnePart) {
  QTemporaryDir folder;
  QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, folder.path());
  QCoreApplication::setOrganizationName(QStringLiteral("shardlab-test"));
  QCoreApplication::setApplicationName(QStringLiteral("report"));
  QSettings().setValue(QStringLiteral("report/left_out"), QStringList{QStringLiteral("timeline")});
  Shown shown(sample::toy());
  QDialog* builder = make_report_builder(shown.window);
  builder->open();
  auto* parts = builder->findChild<QListWidget*>();
  auto* save = builder->findChild<QPushButton*>(QStringLiteral("save"));
  EXPECT_EQ(parts->item(0)->checkState(), Qt::Unchecked);
  EXPECT_EQ(parts->item(1)->checkState(), Qt::Checked);
  EXPECT_TRUE(save->isEnabled());
  for (int row = 0; row < parts->count(); ++row) parts->item(row)->setCheckState(Qt::Unchecked);
  EXPECT_FALSE(save->isEnabled());
  builder->close();
}

}  // namespace
}  // namespace shardlab::gui
