// The window as it is used: every key, the Inspector, the palette, what is measured, two keys to both guilty lines.
#include <gtest/gtest.h>

#include <QAction>
#include <QApplication>
#include <QDialog>
#include <QLineEdit>
#include <QSettings>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>
#include <QTextBrowser>

#include <map>
#include <set>

#include "gui/app/key_map.h"
#include "gui/app/main_window.h"
#include "gui/app/palette.h"
#include "gui/app/sheet.h"
#include "gui/models/trace_loader.h"
#include "gui/views/heat_map.h"
#include "gui/views/table_export.h"
#include "gui/views/timeline_canvas.h"
#include "gui/views/when_seen.h"
#include "tests/gui/sample_traces.h"
#include "tests/gui/shown.h"
#include "tests/gui/wait_idle.h"
#include "tests/traces/sample_trace.h"

namespace shardlab::gui {
namespace {

void press(QWidget* widget, const QKeySequence& key) {
  const QKeyCombination combination = key[0];
  QTest::keyClick(widget, combination.key(), combination.keyboardModifiers());
}

// Every key of the map does what it says or says why not: nothing is left without a handler.
TEST(Keyboard, ReachesEveryThingInTheKeyMap) {
  Shown shown(sample::deadlock());
  auto* canvas = &shown.window.timeline();
  std::set<QString> triggered;
  for (QAction* action : shown.window.actions_of_menus())
    QObject::connect(action, &QAction::triggered, &shown.window, [&triggered, action] { triggered.insert(action->text()); });
  const std::set<QString> opens_files{QStringLiteral("&Open …"), QStringLiteral("Save &Picture …"), QStringLiteral("Save This &View …"),
                                      QStringLiteral("&Quit"), QStringLiteral("Run the &Example")};
  for (QAction* action : shown.window.actions_of_menus()) {
    EXPECT_FALSE(action->shortcut().isEmpty()) << action->text().toStdString();
    if (opens_files.contains(action->text())) continue;  // a file dialog would wait for a person, a run take its time
    activate(shown.window);
    canvas->setFocus();
    press(&shown.window, action->shortcut());
    EXPECT_TRUE(triggered.contains(action->text()))
        << action->text().toStdString() << " by " << action->shortcut().toString().toStdString();
    for (QWidget* dialog : QApplication::topLevelWidgets())
      if (qobject_cast<QDialog*>(dialog)) dialog->close();
    QTest::qWait(0);
  }
  apply_style(false);
  activate(shown.window);
  shown.window.apply(perspective("hang"));
  for (const auto& def : timeline_keys()) {
    canvas->setFocus();
    press(canvas, QKeySequence(QString::fromUtf8(def.key)));
    while (canvas->axis() != TimeAxis::kWall) canvas->cycle_axis();  // windows are kept in wall time
  }
  EXPECT_EQ(canvas->bookmarks.size(), 9U);
}

TEST(Keyboard, KeysCanBeChangedAndAreKeptApart) {
  QTemporaryDir folder;
  QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, folder.path());
  QCoreApplication::setOrganizationName(QStringLiteral("shardlab-test"));
  QCoreApplication::setApplicationName(QStringLiteral("keys"));
  reset_keys();
  const auto entries = all_keys();
  EXPECT_GT(entries.size(), 60U);
  set_key(QStringLiteral("palette"), QKeySequence(QStringLiteral("Ctrl+J")));
  EXPECT_EQ(key_of(QStringLiteral("palette"), {}), QKeySequence(QStringLiteral("Ctrl+J")));
  ASSERT_NE(holder_of(entries, QKeySequence(QStringLiteral("Ctrl+J")), QStringLiteral("open")), nullptr);
  EXPECT_EQ(holder_of(entries, QKeySequence(QStringLiteral("Ctrl+J")), QStringLiteral("palette")), nullptr);
  MainWindow window{Options{}};
  const QList<QAction*> actions = window.actions_of_menus();
  EXPECT_TRUE(std::any_of(actions.begin(), actions.end(),
                          [](const QAction* action) { return action->shortcut() == QKeySequence(QStringLiteral("Ctrl+J")); }));
  EXPECT_TRUE(key_map_html().contains(QStringLiteral("Ctrl+J")));
  reset_keys();
}

TEST(Timeline, MarksBookmarksPinsAndAxes) {
  Shown shown(sample::toy());
  auto* canvas = &shown.window.timeline();
  canvas->setFocus();
  const int rows = canvas->access_groups();
  press(canvas, QKeySequence(QStringLiteral("Down")));
  press(canvas, QKeySequence(QStringLiteral("M")));
  ASSERT_EQ(canvas->marks.size(), 1U);
  press(canvas, QKeySequence(QStringLiteral("M")));
  EXPECT_TRUE(canvas->marks.empty()) << "the same place again takes it away";
  press(canvas, QKeySequence(QStringLiteral("W")));
  const TimeRange kept = canvas->scale().window();
  press(canvas, QKeySequence(QStringLiteral("Ctrl+2")));
  press(canvas, QKeySequence(QStringLiteral("0")));
  press(canvas, QKeySequence(QStringLiteral("2")));
  EXPECT_EQ(canvas->scale().window(), kept);
  shown.window.selection().select_device(5);
  press(canvas, QKeySequence(QStringLiteral("P")));
  EXPECT_TRUE(canvas->access_group_name(0).contains(QStringLiteral("CPU 5")));
  press(canvas, QKeySequence(QStringLiteral("H")));
  EXPECT_EQ(canvas->access_groups(), rows - 1);
  press(canvas, QKeySequence(QStringLiteral("Shift+H")));
  EXPECT_EQ(canvas->access_groups(), rows);
  const Ns wall = canvas->scale().limits().length();
  press(canvas, QKeySequence(QStringLiteral("T")));
  EXPECT_EQ(canvas->axis(), TimeAxis::kVirtual);
  press(canvas, QKeySequence(QStringLiteral("T")));
  EXPECT_EQ(canvas->axis(), TimeAxis::kLogical);
  press(canvas, QKeySequence(QStringLiteral("T")));
  EXPECT_EQ(canvas->scale().limits().length(), wall);
  shown.window.selection().select_collective(0);
  const int before = shown.window.selection().state().device;
  press(canvas, QKeySequence(QStringLiteral("]")));
  EXPECT_NE(shown.window.selection().state().device, before);
}

// Shift+drag measures from edge to edge where it passes near them, and to the pixel elsewhere.
TEST(Timeline, MeasuresAndSnaps) {
  Shown shown(sample::toy());
  auto* canvas = &shown.window.timeline();
  int group = 0;
  while (canvas->access_items(group) < 2) ++group;
  const QRect first = canvas->access_item_box(group, 0), second = canvas->access_item_box(group, 1);
  ASSERT_GT(second.width(), 20);
  const TracePtr& trace = shown.window.selection().trace();
  shown.window.selection().select_event(0, 0);
  const auto measure = [&](QPoint from, QPoint to) {
    QTest::mousePress(canvas->viewport(), Qt::LeftButton, Qt::ShiftModifier, from);
    QTest::mouseMove(canvas->viewport(), (from + to) / 2);
    QTest::mouseMove(canvas->viewport(), to);
    QTest::mouseRelease(canvas->viewport(), Qt::LeftButton, Qt::ShiftModifier, to);
    return shown.window.selection().state().range;
  };
  const int y = second.center().y();
  const TimeRange snapped = measure({second.left() + 2, y}, {second.right() - 2, y});
  std::vector<Ns> edges;
  for (const auto& lane : trace->lanes)
    for (std::size_t i = 0; i < lane.events->size(); ++i) edges.insert(edges.end(), {lane.events->begin[i], lane.events->end[i]});
  const auto is_edge = [&](Ns time) { return std::find(edges.begin(), edges.end(), time) != edges.end(); };
  EXPECT_TRUE(is_edge(snapped.begin) && is_edge(snapped.end)) << snapped.begin << " " << snapped.end;
  EXPECT_FALSE(snapped.empty());
  const TimeRange free = measure({second.center().x() - 1, y}, {second.center().x() + 2, y});
  EXPECT_LT(free.length(), snapped.length());
  EXPECT_FALSE(first.isEmpty());
}

// Shift+G goes through the groupings and comes back; the rows are the same ones in another order.
TEST(Timeline, GroupsLanes) {
  Shown shown(sample::grid(4, 2, 2, 3));
  auto* canvas = &shown.window.timeline();
  canvas->setFocus();
  const auto names = [&] {
    std::multiset<QString> all;
    for (int g = 0; g < canvas->access_groups(); ++g) all.insert(canvas->access_group_name(g));
    return all;
  };
  const auto by_process = names();
  const QString first = canvas->access_group_name(canvas->access_groups() - 1);
  std::set<std::string> titles{canvas->grouping().title};
  press(canvas, QKeySequence(QStringLiteral("Shift+G")));
  while (canvas->grouping().title != "process") {
    titles.insert(canvas->grouping().title);
    EXPECT_EQ(names(), by_process);
    press(canvas, QKeySequence(QStringLiteral("Shift+G")));
  }
  EXPECT_TRUE(titles.contains("axis a") && titles.contains("axis b"));
  EXPECT_EQ(canvas->access_group_name(canvas->access_groups() - 1), first);
}

// From a cold open, what is on the screen names both sides' lines at once; a key goes from one diagnosis to the next.
TEST(Keyboard, AtMostTwoKeysToBothGuiltyLines) {
  QTemporaryDir folder;
  for (const char* name : {"deadlock", "killed"}) {
    const std::string path = folder.filePath(QString::fromUtf8(name)).toStdString() + ".db";
    traces::sample::write_sample_trace(name, path, {});
    const TracePtr trace = load_trace({.path = path});
    if (trace->diagnoses.empty()) continue;
    Shown shown(trace);
    int keys = 0;
    const auto told = [&] {
      for (const auto* browser : shown.window.findChildren<QTextBrowser*>()) {
        if (!in_sight(*browser)) continue;
        const QString text = browser->toPlainText();
        const auto& sides = trace->diagnoses[0].participants;
        if (std::all_of(sides.begin(), sides.end(),
                        [&](const Participant& side) { return side.where.empty() || text.contains(QString::fromStdString(side.where)); }))
          return true;
      }
      return false;
    };
    for (; !told() && keys < 2; ++keys) press(&shown.window, QKeySequence(QStringLiteral("N")));
    EXPECT_TRUE(told()) << name;
    EXPECT_LE(keys, 2);
  }
}

// Of many members those that came last, and a way to all of them.
TEST(Inspector, TellsWhoCameLastAndLeadsToTheRest) {
  Shown shown(sample::grid(32, 16, 64, 2));
  MainWindow& window = shown.window;
  ASSERT_TRUE(wait_idle(window));
  auto& page = dynamic_cast<QTextBrowser&>(window.view("inspector"));
  ASSERT_TRUE(in_sight(page));
  window.selection().select_collective(0);
  EXPECT_FALSE(page.toPlainText().contains(QStringLiteral("Members"))) << "laid out once before the next frame, not at each change";
  QTest::qWait(0);
  const Collective& call = window.selection().trace()->collectives[0];
  ASSERT_EQ(call.members.size(), 512U);
  const QString text = page.toPlainText();
  EXPECT_TRUE(text.contains(QStringLiteral("the 16 of 512 that came last"))) << text.toStdString();
  const auto last =
      std::max_element(call.members.begin(), call.members.end(), [](const Member& a, const Member& b) { return a.enter < b.enter; });
  EXPECT_TRUE(page.toHtml().contains(QStringLiteral("device:%1\"").arg(last->device)));
  EXPECT_LT(page.document()->blockCount(), 140) << "a table takes long to lay out";
  Q_EMIT page.anchorClicked(QUrl(QStringLiteral("events:coll:0")));
  ASSERT_TRUE(QTest::qWaitFor([&] { return window.view("events").findChild<QTableView*>()->model()->rowCount() == 512; }));
  EXPECT_TRUE(in_sight(window.view("events")));
}

// Who issued a collective and stood elsewhere is not said to have never come, nor is it said to match.
TEST(Inspector, SaysWhoIssuedACollectiveAndNeverBeganIt) {
  TraceData trace = *sample::deadlock();
  for (auto& call : trace.collectives) {
    call.failed = call.open = false;
    call.state = "matched";
    call.members.resize(1);
    call.members[0].exit = call.members[0].enter + 10;
    call.not_begun = {1, 2};
  }
  Shown shown(std::make_shared<TraceData>(trace));
  shown.window.selection().select_collective(0);
  QTest::qWait(0);
  const QString text = dynamic_cast<QTextBrowser&>(shown.window.view("inspector")).toPlainText();
  EXPECT_TRUE(text.contains(QStringLiteral("matched when issued, not begun by all"))) << text.toStdString();
  EXPECT_TRUE(text.contains(QStringLiteral("Issued, but never begun: devices 2–5"))) << text.toStdString();
  EXPECT_TRUE(text.contains(QStringLiteral("Never came: devices 1,6,7"))) << text.toStdString();
}

TEST(Palette, FindsCommandsThingsAndTimes) {
  Shown shown(sample::deadlock());
  const auto titles = [&](const char* text) {
    QStringList found;
    for (const auto& entry : find_entries(shown.window, QString::fromUtf8(text))) found << entry.title;
    return found;
  };
  EXPECT_TRUE(titles("dark").contains(QStringLiteral("Dark or Light")));
  EXPECT_TRUE(titles("order-mismatch").contains(QStringLiteral("order-mismatch")));
  EXPECT_TRUE(titles("process 3").contains(QStringLiteral("process 3")));
  EXPECT_TRUE(titles("array bias").contains(QStringLiteral("array bias")));
  EXPECT_TRUE(titles("12us").value(0).startsWith(QStringLiteral("Go to")));
  EXPECT_TRUE(titles("nothing like this at all").isEmpty());
  for (const auto& entry : find_entries(shown.window, QStringLiteral("device 5"))) entry.run();
  EXPECT_EQ(shown.window.selection().state().device, 5);
}

// Shown alone from the start, as for a picture, and brought to the front later.
TEST(Sql, HasAnAnswerWhereverItIsShown) {
  QTemporaryDir folder;
  const std::string path = folder.filePath(QStringLiteral("toy.db")).toStdString();
  traces::sample::write_sample_trace("toy", path, {});
  for (const bool alone : {true, false}) {
    Options options;
    if (alone) options.view = QStringLiteral("sql");
    MainWindow window(options);
    window.show();
    window.open(QString::fromStdString(path));
    ASSERT_TRUE(wait_idle(window));
    if (!alone) window.show_view("sql");
    const auto* answer = window.view("sql").findChild<QTableView*>();
    EXPECT_TRUE(QTest::qWaitFor([&] { return answer->model()->rowCount() > 0; }, 20'000)) << (alone ? "alone" : "raised");
  }
}

// Two runs in one window of time, whichever of the two timelines is moved.
TEST(Compare, ZoomsBothRunsTogether) {
  QTemporaryDir folder;
  std::vector<QString> paths;
  for (const char* name : {"one", "other"}) {
    paths.push_back(folder.filePath(QString::fromUtf8(name)) + QStringLiteral(".db"));
    traces::sample::write_sample_trace("toy", paths.back().toStdString(), {});
  }
  Options options;
  options.compare = paths[1];
  MainWindow window(options);
  window.show();
  window.open(paths[0]);
  ASSERT_TRUE(wait_idle(window));
  window.show_view("compare");
  auto* other = window.view("compare").findChild<TimelineCanvas*>();
  auto& first = window.timeline();
  ASSERT_TRUE(QTest::qWaitFor([&] { return other->isVisible() && other->width() > 0; }));
  const Ns shift = other->shown()->range.begin - first.shown()->range.begin;
  const auto together = [&] {
    const TimeRange a = first.scale().window(), b = other->scale().window();
    return a.begin + shift == b.begin && a.length() == b.length();
  };
  const TimeRange whole = first.scale().window();
  const Ns quarter = whole.length() / 4;
  first.set_window({whole.begin + quarter, whole.begin + 2 * quarter});
  EXPECT_TRUE(together());
  const TimeRange before = first.scale().window();
  const TimeRange moved = other->scale().window();
  other->set_window({moved.begin + quarter / 2, moved.begin + quarter});
  EXPECT_NE(first.scale().window(), before);
  EXPECT_TRUE(together());

  // By what is typed the second run is shown later; at its start again.
  auto* edit = window.view("compare").findChild<QLineEdit*>();
  ASSERT_NE(edit, nullptr);
  edit->setText(QStringLiteral("40 us"));
  QTest::keyClick(edit, Qt::Key_Return);
  const auto apart = [&] { return other->scale().window().begin - first.scale().window().begin; };
  EXPECT_EQ(apart(), shift - 40'000);
  first.set_window({whole.begin + quarter, whole.begin + 2 * quarter});
  EXPECT_EQ(apart(), shift - 40'000) << "coupled all the same";
  align_runs(&window.view("compare"), Alignment::kStart);
  EXPECT_EQ(apart(), shift);
  EXPECT_TRUE(together());
}

// Whatever is shown as a table, or is one in other clothes, leaves as one.
TEST(Export, EveryTableOffersIt) {
  Shown shown(sample::toy());
  shown.window.show_sheet();
  QTest::qWait(0);
  int tables = 0;
  const auto offers = [](const QWidget& widget) {
    const auto actions = widget.actions();
    return std::any_of(actions.begin(), actions.end(),
                       [](const QAction* action) { return action->text() == QStringLiteral("Export Table …"); });
  };
  for (auto* view : shown.window.findChildren<QTableView*>()) {
    ++tables;
    EXPECT_TRUE(offers(*view)) << view->accessibleName().toStdString();
  }
  EXPECT_GE(tables, 10);
  auto* map = shown.window.findChild<HeatMap*>();
  EXPECT_TRUE(offers(*map));
  ASSERT_TRUE(QTest::qWaitFor([&] { return map->access_groups() == 8; }));
  const QString csv = QString::fromUtf8(table_csv(*map->as_table()));
  EXPECT_TRUE(csv.startsWith(QStringLiteral("From,To,Bytes,Calls,Time,algbw,busbw\r\n"))) << csv.toStdString();
  EXPECT_EQ(int(csv.count(QLatin1Char('\n'))) - 1, int(map->matrix().cells.size()));
  EXPECT_TRUE(csv.contains(QStringLiteral("CPU 0,CPU 1,")));
}

}  // namespace
}  // namespace shardlab::gui
