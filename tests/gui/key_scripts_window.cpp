// What shows that the keys of the window, of its views and perspectives do what the key map says.
#include <gtest/gtest.h>

#include <QDialog>
#include <QKeySequenceEdit>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPushButton>
#include <QSettings>
#include <QStatusBar>
#include <QTableWidget>
#include <QTest>

#include "gui/views/theme.h"
#include "tests/gui/key_scene.h"
#include "tests/gui/sample_traces.h"
#include "tests/gui/wait_idle.h"
#include "tests/traces/sample_trace.h"

namespace shardlab::gui::keys {
namespace {

Script steps_view(bool forward) {
  return [=](Scene& s) {
    std::vector<std::string_view> seen;
    for (const ViewDef* def : all_views())
      if (s.sees(def->id)) seen.push_back(def->id);
    ASSERT_GE(seen.size(), 4U);
    for (std::size_t i = 0; i < seen.size(); ++i) {
      s.press();
      const std::size_t now = forward ? (i + 1) % seen.size() : seen.size() - 1 - i;
      EXPECT_TRUE(s.has_focus(seen[now])) << "after " << i + 1 << " times not in " << seen[now];
    }
  };
}

// What one key copies the other goes to.
void leads_back(Scene& s) {
  s.selection().select_device(3);
  s.press("Ctrl+Shift+U");
  s.selection().clear();
  s.press("Ctrl+Shift+J");
  EXPECT_EQ(s.state().device, 3);
}

Script steps_history(bool forward) {
  return [=](Scene& s) {
    s.selection().select_device(3);
    s.selection().select_device(5);
    s.press("Alt+Left");
    EXPECT_EQ(s.state().device, 3);
    if (!forward) return;
    s.press();
    EXPECT_EQ(s.state().device, 5);
  };
}

void steps_problem(Scene& s) {
  s.selection().clear();
  s.press();
  EXPECT_EQ(s.state().diagnosis, 0);
  EXPECT_TRUE(s.sees("diagnoses"));
}

void opens(Scene& s) {
  const QString path = s.file("toy.db");
  traces::sample::write_sample_trace("toy", path.toStdString(), {});
  s.press_and_name(path);
  ASSERT_TRUE(QTest::qWaitFor([&] { return s.selection().trace()->title == "toy.db"; }, kLongMs));
}

void reads_again(Scene& s) {
  const QString path = s.file("t.db");
  traces::sample::write_sample_trace("toy", path.toStdString(), {});
  s.window.open(path);
  ASSERT_TRUE(wait_idle(s.window));
  EXPECT_TRUE(s.selection().trace()->diagnoses.empty());
  traces::sample::write_sample_trace("deadlock", path.toStdString(), {});
  s.focus_timeline();
  s.press();
  EXPECT_TRUE(QTest::qWaitFor([&] { return !s.selection().trace()->diagnoses.empty(); }, kLongMs));
}

Script saves(const char* name, const char* begin) {
  return [=](Scene& s) {
    s.press_and_name(s.file(name));
    QFile file(s.file(name));
    ASSERT_TRUE(file.open(QIODevice::ReadOnly)) << name;
    EXPECT_TRUE(file.readAll().startsWith(begin)) << name;
  };
}

// Without a pointer: a line by the arrows, its new key in the field, and the new key works.
void changes_a_key(Scene& s) {
  s.press();
  auto* dialog = s.dialog();
  ASSERT_NE(dialog, nullptr);
  auto* table = dialog->findChild<QTableWidget*>();
  EXPECT_EQ(std::size_t(table->rowCount()), all_keys().size());
  table->setFocus();
  int row = 0;
  while (table->item(row, 1)->text() != QStringLiteral("Select nothing")) ++row;
  for (int r = table->currentRow(); r < row; ++r) QTest::keyClick(table, Qt::Key_Down);
  QTest::keyClick(table, Qt::Key_Tab);
  auto* edit = dialog->findChild<QKeySequenceEdit*>();
  EXPECT_TRUE(edit->hasFocus() || edit->isAncestorOf(QApplication::focusWidget()));
  QTest::keyClick(edit, Qt::Key_J, Qt::ControlModifier);
  EXPECT_TRUE(QTest::qWaitFor([&] { return table->item(row, 0)->text() == QStringLiteral("Ctrl+J"); }, kLongMs));
  QTest::keyClick(dialog, Qt::Key_Escape);
  EXPECT_EQ(s.dialog(), nullptr);
  s.activate();
  s.focus_timeline();
  s.selection().select_device(5);
  s.press("Ctrl+J");
  EXPECT_EQ(s.state().device, -1);
  reset_keys();
}

// Without a pointer: one part is left out by the space bar, the rest is saved.
void builds_a_report(Scene& s) {
  s.press();
  auto* builder = s.dialog();
  ASSERT_NE(builder, nullptr);
  EXPECT_EQ(builder->windowTitle(), QStringLiteral("Report"));
  auto* parts = builder->findChild<QListWidget*>();
  ASSERT_GT(parts->count(), 10);
  parts->setFocus();
  QTest::keyClick(parts, Qt::Key_Home);
  const QString left_out = parts->currentItem()->text(), kept = parts->item(1)->text();
  QTest::keyClick(parts, Qt::Key_Space);
  s.name_file(s.file("report.html"), [&] { builder->findChild<QPushButton*>(QStringLiteral("save"))->click(); });
  QFile file(s.file("report.html"));
  ASSERT_TRUE(file.open(QIODevice::ReadOnly));
  const QByteArray page = file.readAll();
  EXPECT_TRUE(page.startsWith("<!doctype html>"));
  EXPECT_FALSE(page.contains("<h2>" + left_out.toUtf8() + "</h2>"));
  EXPECT_TRUE(page.contains("<h2>" + kept.toUtf8() + "</h2>"));
  QSettings().remove(QStringLiteral("report"));
}

void exports_the_trace(Scene& s) {
  s.press();
  EXPECT_TRUE(s.window.statusBar()->currentMessage().contains(QStringLiteral("no trace to export")))
      << "a trace of the test's own is no file";
  const QString path = s.file("toy.db");
  traces::sample::write_sample_trace("toy", path.toStdString(), {});
  s.window.open(path);
  ASSERT_TRUE(wait_idle(s.window));
  s.focus_timeline();
  s.press_and_name(s.file("toy.json"));
  ASSERT_TRUE(QTest::qWaitFor([&] { return s.window.statusBar()->currentMessage().startsWith(QStringLiteral("Exported")); }, kLongMs))
      << s.window.statusBar()->currentMessage().toStdString();
  QFile file(s.file("toy.json"));
  ASSERT_TRUE(file.open(QIODevice::ReadOnly));
  EXPECT_TRUE(file.readAll().startsWith("{\"displayTimeUnit\""));
}

void shows_its_performance(Scene& s) {
  s.press();
  ASSERT_NE(s.dialog(), nullptr);
  EXPECT_EQ(s.dialog()->windowTitle(), QStringLiteral("Own Performance"));
  const auto labels = s.dialog()->findChildren<QLabel*>();
  EXPECT_TRUE(
      std::any_of(labels.begin(), labels.end(), [](const QLabel* each) { return each->text().contains(QStringLiteral("median")); }));
  s.activate();
  s.focus_timeline();
  const std::int64_t frames = s.canvas().frames().count();
  s.press("W");
  EXPECT_TRUE(QTest::qWaitFor([&] { return s.canvas().frames().count() > frames; }, kLongMs)) << "what is painted is counted";
  s.press();
  EXPECT_EQ(s.dialog(), nullptr) << "the same key takes it away";
}

void runs_the_example(Scene& s) {
  s.press();
  EXPECT_TRUE(s.sees("run"));
  const auto buttons = s.window.view("run").findChildren<QPushButton*>();
  EXPECT_TRUE(std::any_of(buttons.begin(), buttons.end(),
                          [](const QPushButton* each) { return each->text() == QStringLiteral("Stop") && each->isEnabled(); }));
}

// Shows the trace beside itself; the second timeline.
TimelineCanvas* compares(Scene& s) {
  const QString path = s.file("toy.db");
  traces::sample::write_sample_trace("toy", path.toStdString(), {});
  s.window.open(path);
  if (!wait_idle(s.window)) return nullptr;
  s.window.show_view("compare");
  compare_with(&s.window.view("compare"), path);
  if (!QTest::qWaitFor([&] { return s.selection().other() != nullptr; }, kLongMs)) return nullptr;
  s.focus_timeline();
  return s.window.view("compare").findChild<TimelineCanvas*>();
}

bool says(Scene& s, const QString& words) {
  const auto labels = s.window.view("compare").findChildren<QLabel*>();
  return std::any_of(labels.begin(), labels.end(), [&](const QLabel* each) { return each->isVisible() && each->text().contains(words); });
}

}  // namespace

Scripts window_scripts() {
  Scripts all{
      {QStringLiteral("open"), opens},
      {QStringLiteral("picture"), saves("window.svg", "<?xml")},
      {QStringLiteral("view-picture"),
       [](Scene& s) {
         s.press("Ctrl+Shift+S");
         saves("view.svg", "<?xml")(s);
         QFile file(s.file("view.svg"));
         ASSERT_TRUE(file.open(QIODevice::ReadOnly));
         const QByteArray svg = file.readAll();
         EXPECT_TRUE(svg.contains("CPU 0") && !svg.contains("whole trace")) << "the sharding alone, no timeline";
       }},
      {QStringLiteral("report"), builds_a_report},
      {QStringLiteral("export"), exports_the_trace},
      {QStringLiteral("align-here"),
       [](Scene& s) {
         TimelineCanvas* other = compares(s);
         ASSERT_NE(other, nullptr);
         s.selection().select_collective(0);
         s.press();
         EXPECT_TRUE(s.sees("compare"));
         EXPECT_TRUE(says(s, QStringLiteral("aligned at what is chosen")));
         QTest::keyClick(other, Qt::Key_Escape);
         s.press();
         EXPECT_TRUE(says(s, QStringLiteral("choose"))) << "nothing is chosen in the second run";
       }},
      {QStringLiteral("align-start"),
       [](Scene& s) {
         ASSERT_NE(compares(s), nullptr);
         auto* edit = s.window.view("compare").findChild<QLineEdit*>();
         edit->setText(QStringLiteral("3 us"));
         QTest::keyClick(edit, Qt::Key_Return);
         EXPECT_TRUE(says(s, QStringLiteral("later")));
         s.focus_timeline();
         s.press();
         EXPECT_TRUE(says(s, QStringLiteral("aligned at start")));
       }},
      {QStringLiteral("align-typed"),
       [](Scene& s) {
         ASSERT_NE(compares(s), nullptr);
         s.press();
         EXPECT_EQ(QApplication::focusWidget(), s.window.view("compare").findChild<QLineEdit*>());
       }},
      {QStringLiteral("performance"), shows_its_performance},
      {QStringLiteral("reload"), reads_again},
      {QStringLiteral("copy-link"), leads_back},
      {QStringLiteral("go-to-link"), leads_back},
      {QStringLiteral("quit"),
       [](Scene& s) {
         s.press();
         EXPECT_FALSE(s.window.isVisible());
       }},
      {QStringLiteral("palette"), finds_in_the_palette},
      {QStringLiteral("next-view"), steps_view(true)},
      {QStringLiteral("previous-view"), steps_view(false)},
      {QStringLiteral("back"), steps_history(false)},
      {QStringLiteral("forward"), steps_history(true)},
      {QStringLiteral("next-problem"), steps_problem},
      {QStringLiteral("previous-problem"), steps_problem},
      {QStringLiteral("clear"),
       [](Scene& s) {
         s.selection().select_device(3);
         s.press();
         EXPECT_EQ(s.state().device, -1);
       }},
      {QStringLiteral("theme"),
       [](Scene& s) {
         const bool dark = theme_of(&s.window).dark;
         s.press();
         EXPECT_NE(theme_of(&s.window).dark, dark);
         apply_style(false);
       }},
      {QStringLiteral("example"), runs_the_example},
      {QStringLiteral("keys"), changes_a_key},
  };
  // From another view and another perspective, whichever is meant.
  for (const ViewDef* def : all_views())
    all[QStringLiteral("view-") + QString::fromUtf8(def->id.data(), qsizetype(def->id.size()))] = [def](Scene& s) {
      s.window.show_view(def == &kExplorerView ? "timeline" : "explorer");
      EXPECT_FALSE(s.has_focus(def->id));
      goes_to(def->id)(s);
    };
  for (const auto& def : all_perspectives())
    all[QStringLiteral("perspective-") + QString::fromUtf8(def.id.data(), qsizetype(def.id.size()))] = [&def](Scene& s) {
      for (const auto& other : all_perspectives())
        if (other.front != def.front) s.window.apply(other);
      EXPECT_FALSE(s.sees(def.front));
      s.press();
      EXPECT_TRUE(s.sees(def.front));
      EXPECT_EQ(s.sees("explorer"), def.left_px > 0);
      EXPECT_EQ(s.sees("inspector"), def.right_px > 0);
    };
  return all;
}

}  // namespace shardlab::gui::keys
