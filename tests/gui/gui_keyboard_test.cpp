// The keyboard alone: every entry of the key map is pressed, and what it does is seen. An entry without a script here fails.
#include <gtest/gtest.h>

#include <QAction>
#include <QApplication>
#include <QDialog>
#include <QFileDialog>
#include <QKeySequenceEdit>
#include <QLineEdit>
#include <QListWidget>
#include <QMessageBox>
#include <QPushButton>
#include <QSettings>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>
#include <QToolButton>
#include <QWheelEvent>

#include <functional>
#include <map>
#include <set>

#include "gui/app/key_map.h"
#include "gui/app/main_window.h"
#include "gui/views/theme.h"
#include "gui/views/timeline_canvas.h"
#include "tests/gui/sample_traces.h"
#include "tests/gui/wait_idle.h"
#include "tests/traces/sample_trace.h"

namespace shardlab::gui {
namespace {

constexpr int kLongMs = 60'000;
constexpr int kLooksMax = 400;

// A window of its own for each key, over a trace that has what the key is for.
struct Scene {
  explicit Scene(const KeyEntry& the_entry) : entry(the_entry), window(Options{}) {
    window.show();
    activate();
    window.show_trace(entry.id.contains(QStringLiteral("problem")) ? sample::deadlock() : sample::grid(4, 2, 2, 6));
    QTest::qWait(0);
    focus_timeline();
  }
  void activate() {
    window.activateWindow();
    EXPECT_TRUE(QTest::qWaitForWindowActive(&window));
  }
  void focus_timeline() {
    canvas().setFocus();
    QTest::qWait(0);
  }
  TimelineCanvas& canvas() { return window.timeline(); }
  Selection& selection() { return window.selection(); }
  const SelectionState& state() { return window.selection().state(); }
  TimeRange shown() { return canvas().scale().window(); }
  TimeRange limits() { return canvas().scale().limits(); }
  LaneEvents& events() { return *selection().trace()->lanes[std::size_t(state().lane)].events; }
  // The first device's lane, an event in its middle.
  void select_event(std::int64_t event = 5) { selection().select_event(selection().trace()->lanes[0].device < 0 ? 1 : 0, event); }
  QImage picture() { return canvas().viewport()->grab().toImage(); }
  bool sees(std::string_view view) { return window.view(view).isVisible() && !window.view(view).visibleRegion().isEmpty(); }
  bool has_focus(std::string_view view) {
    QWidget* at = QApplication::focusWidget();
    return at && (at == &window.view(view) || window.view(view).isAncestorOf(at));
  }

  void press() { press(entry.fallback); }
  void press(const QKeySequence& key) {
    QWidget* at = QApplication::focusWidget();
    QTest::keyClick(at ? at : &window, key[0].key(), key[0].keyboardModifiers());
    QTest::qWait(0);
  }
  void press(const char* key) { press(QKeySequence(QString::fromUtf8(key))); }
  void type(const QString& text) { QTest::keyClicks(QApplication::focusWidget(), text); }
  // Types `path` into the dialog of files that the key opens, and Return until it has looked the folder up and takes it.
  void press_and_name(const QString& path) {
    int looks = 0;
    QTimer look, answer;  // two: a timer does not fire within itself, and Return may open a question
    QObject::connect(&look, &QTimer::timeout, &window, [&] {
      auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget());
      if (!dialog) return;
      auto* name = dialog->findChild<QLineEdit*>(QStringLiteral("fileNameEdit"));
      if (++looks > kLooksMax || !name) return dialog->reject();
      if (name->text() != path) {
        name->clear();
        QTest::keyClicks(name, path);
      }
      QTest::keyClick(name, Qt::Key_Return);
    });
    QObject::connect(&answer, &QTimer::timeout, &window, [&] {
      auto* question = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
      if (!question) return;
      ADD_FAILURE() << question->text().toStdString();
      question->reject();
      if (auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget())) dialog->reject();
    });
    look.start(5);
    answer.start(50);
    press();
    EXPECT_GT(looks, 0) << "no dialog of files came up";
  }
  QDialog* dialog() {
    for (QWidget* top : QApplication::topLevelWidgets())
      if (auto* found = qobject_cast<QDialog*>(top); found && found->isVisible()) return found;
    return nullptr;
  }
  QString file(const char* name) { return folder.filePath(QString::fromUtf8(name)); }

  const KeyEntry& entry;
  QTemporaryDir folder;
  MainWindow window;
};

using Script = std::function<void(Scene&)>;

void zooms(Scene& s) {
  const bool in = s.entry.fallback[0].key() == Qt::Key_W;
  if (!in) s.press("Shift+W");
  const Ns before = s.shown().length();
  s.press();
  const double ratio = double(s.shown().length()) / double(before);
  const double far = s.entry.fallback[0].keyboardModifiers() == Qt::ShiftModifier     ? 0.2015
                     : s.entry.fallback[0].keyboardModifiers() == Qt::ControlModifier ? 0.9
                                                                                      : 0.67;
  EXPECT_NEAR(ratio, in ? far : 1 / far, 0.03);
}

// To the left of where it was by `share` of the window, or to the right.
Script pans(int direction, double share) {
  return [=](Scene& s) {
    for (int i = 0; i < 8; ++i) s.press("W");
    const TimeRange before = s.shown();
    s.press();
    EXPECT_NEAR(double(s.shown().begin - before.begin), direction * share * double(before.length()), 0.02 * double(before.length()) + 2);
    EXPECT_NEAR(double(s.shown().length()), double(before.length()), 2);
  };
}

Script steps_event(int direction) {
  return [=](Scene& s) {
    s.select_event();
    s.press();
    EXPECT_EQ(s.state().event, 5 + direction);
  };
}

Script steps_lane(int direction) {
  return [=](Scene& s) {
    s.select_event();
    s.press("Down");
    const int lane = s.state().lane;
    s.press();
    EXPECT_EQ(s.state().lane - lane > 0, direction > 0);
    EXPECT_NE(s.state().lane, lane);
  };
}

Script steps_same(int direction) {
  return [=](Scene& s) {
    s.select_event(4);
    const std::uint32_t label = s.events().label[4];
    s.press();
    EXPECT_EQ(s.state().event, 4 + 2 * direction) << "compute and collective take turns";
    EXPECT_EQ(s.events().label[std::size_t(s.state().event)], label);
  };
}

Script steps_member(int direction) {
  return [=](Scene& s) {
    s.selection().select_collective(0);
    s.press("]");
    s.press("]");
    const int device = s.state().device;
    s.press();
    EXPECT_EQ(s.state().device, device + direction);
  };
}

void fits_the_event(Scene& s) {
  s.select_event();
  s.press();
  EXPECT_LT(s.shown().length(), s.limits().length());
  EXPECT_LE(s.shown().begin, s.events().begin[5]);
  EXPECT_GE(s.shown().end, s.events().end[5]);
}

void changes_the_picture(Scene& s) {
  const QImage before = s.picture();
  s.press();
  EXPECT_NE(s.picture(), before);
  s.press();
  EXPECT_EQ(s.picture(), before) << "the same key takes it back";
}

Script keeps_window(int number, bool keep) {
  return [=](Scene& s) {
    s.press("W");
    const TimeRange kept = s.shown();
    s.press(QKeySequence(QStringLiteral("Ctrl+%1").arg(number)));
    ASSERT_TRUE(s.canvas().bookmarks.contains(number));
    EXPECT_EQ(s.canvas().bookmarks[number], kept);
    s.press("0");
    if (keep) return;
    s.press();
    EXPECT_EQ(s.shown(), kept);
  };
}

Script goes_to(std::string_view view) {
  return [=](Scene& s) {
    s.press();
    EXPECT_TRUE(s.sees(view));
    EXPECT_TRUE(s.has_focus(view));
  };
}

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

void finds_in_the_palette(Scene& s) {
  s.press();
  ASSERT_NE(s.dialog(), nullptr);
  EXPECT_EQ(s.dialog()->accessibleName(), QStringLiteral("Command palette"));
  s.dialog()->activateWindow();
  auto* field = s.dialog()->findChild<QLineEdit*>();
  QTest::keyClicks(field, QStringLiteral("device 5"));
  QTest::keyClick(field, Qt::Key_Return);
  EXPECT_EQ(s.state().device, 5);
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

void runs_the_example(Scene& s) {
  s.press();
  EXPECT_TRUE(s.sees("run"));
  const auto buttons = s.window.view("run").findChildren<QPushButton*>();
  EXPECT_TRUE(std::any_of(buttons.begin(), buttons.end(),
                          [](const QPushButton* each) { return each->text() == QStringLiteral("Stop") && each->isEnabled(); }));
}

// One process whose devices share a store of events.
TracePtr lockstep() {
  auto trace = std::make_shared<TraceData>(*sample::grid(1, 4, 4, 3));
  std::shared_ptr<LaneEvents> first;
  for (auto& lane : trace->lanes) {
    if (lane.device < 0) continue;
    if (first) lane.events = first;
    first = lane.events;
  }
  return trace;
}

// Dragging from a third to two thirds of the window does what the mode says.
Script drags(MouseMode mode) {
  return [=](Scene& s) {
    s.press("Alt+3");
    s.press("Alt+1");
    for (int i = 0; i < 3; ++i) s.press("W");
    if (mode != MouseMode::kSelect) s.press();
    EXPECT_EQ(s.canvas().mouse_mode(), mode);
    const TimeRange before = s.shown();
    QWidget* on = s.canvas().viewport();
    const int left = s.canvas().label_width(), width = on->width() - left;
    const QPoint from(left + width / 3, 60), to(left + 2 * width / 3, 60);
    QTest::mousePress(on, Qt::LeftButton, {}, from);
    for (const QPoint at : {(from + to) / 2, to}) {
      QMouseEvent move(QEvent::MouseMove, at, on->mapToGlobal(at), Qt::NoButton, Qt::LeftButton, Qt::NoModifier);
      QApplication::sendEvent(on, &move);
    }
    QTest::mouseRelease(on, Qt::LeftButton, {}, to);
    const TimeRange chosen = s.state().range;
    if (mode == MouseMode::kPan) {
      EXPECT_NEAR(double(before.begin - s.shown().begin), double(before.length()) / 3, 0.02 * double(before.length()));
    } else if (mode == MouseMode::kZoom) {
      EXPECT_NEAR(double(s.shown().length()), double(before.length()) / 3, 0.02 * double(before.length()));
    } else {
      EXPECT_EQ(s.shown(), before);
      EXPECT_NEAR(double(chosen.length()), double(before.length()) / 3, 0.1 * double(before.length()));
    }
    EXPECT_EQ(chosen.empty(), mode == MouseMode::kPan || mode == MouseMode::kZoom);
  };
}

std::map<QString, Script> scripts() {
  std::map<QString, Script> all{
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
      {QStringLiteral("report"), saves("report.html", "<!doctype html>")},
      {QStringLiteral("reload"), reads_again},
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
      {QStringLiteral("timeline-W"), zooms},
      {QStringLiteral("timeline-S"), zooms},
      {QStringLiteral("timeline-A"), pans(-1, 0.15)},
      {QStringLiteral("timeline-D"), pans(1, 0.15)},
      {QStringLiteral("timeline-Shift+A"), pans(-1, 0.6)},
      {QStringLiteral("timeline-Shift+D"), pans(1, 0.6)},
      {QStringLiteral("timeline-Ctrl+A"), pans(-1, 0.0375)},
      {QStringLiteral("timeline-Ctrl+D"), pans(1, 0.0375)},
      {QStringLiteral("timeline-Shift+W"), zooms},
      {QStringLiteral("timeline-Shift+S"), zooms},
      {QStringLiteral("timeline-Ctrl+W"), zooms},
      {QStringLiteral("timeline-Ctrl+S"), zooms},
      {QStringLiteral("timeline-F"),
       [](Scene& s) {
         fits_the_event(s);
         const TimeRange event = s.shown();
         s.press();
         const Collective& call = s.selection().trace()->collectives[std::size_t(s.state().collective)];
         EXPECT_NE(s.shown(), event) << "its collective";
         EXPECT_TRUE(s.shown().begin <= call.span().begin && s.shown().end >= call.span().end);
         s.press();
         EXPECT_EQ(s.shown(), s.limits());
       }},
      {QStringLiteral("timeline-Backspace"),
       [](Scene& s) {
         const TimeRange whole = s.shown();
         s.press("W");
         const TimeRange near = s.shown();
         s.press("D");
         s.press();
         EXPECT_EQ(s.shown(), near);
         s.press();
         EXPECT_EQ(s.shown(), whole);
         s.press();
         EXPECT_EQ(s.shown(), whole) << "there is nothing before";
       }},
      {QStringLiteral("timeline-Shift+Backspace"),
       [](Scene& s) {
         s.press("W");
         s.press("W");
         const TimeRange last = s.shown();
         s.press("Backspace");
         s.press("Backspace");
         s.press();
         s.press();
         EXPECT_EQ(s.shown(), last);
       }},
      {QStringLiteral("timeline-0"),
       [](Scene& s) {
         s.press("W");
         s.press();
         EXPECT_EQ(s.shown(), s.limits());
       }},
      {QStringLiteral("timeline-."), steps_same(1)},
      {QStringLiteral("timeline-,"), steps_same(-1)},
      {QStringLiteral("timeline-Right"), steps_event(1)},
      {QStringLiteral("timeline-Left"), steps_event(-1)},
      {QStringLiteral("timeline-Down"), steps_lane(1)},
      {QStringLiteral("timeline-Up"), steps_lane(-1)},
      {QStringLiteral("timeline-Esc"),
       [](Scene& s) {
         s.select_event();
         s.press();
         EXPECT_EQ(s.state().lane, -1);
       }},
      {QStringLiteral("timeline-Return"), fits_the_event},
      {QStringLiteral("timeline-]"), steps_member(1)},
      {QStringLiteral("timeline-["), steps_member(-1)},
      {QStringLiteral("timeline-L"), changes_the_picture},
      {QStringLiteral("timeline-T"),
       [](Scene& s) {
         s.press();
         EXPECT_EQ(s.canvas().axis(), TimeAxis::kVirtual);
         s.press();
         EXPECT_EQ(s.canvas().axis(), TimeAxis::kLogical);
       }},
      {QStringLiteral("timeline-M"),
       [](Scene& s) {
         s.select_event();
         s.press();
         EXPECT_EQ(s.canvas().marks.size(), 1U);
       }},
      {QStringLiteral("timeline-R"),
       [](Scene& s) {
         s.select_event(4);
         s.press();
         EXPECT_EQ(s.state().range, (TimeRange{s.events().begin[4], s.events().end[4]}));
       }},
      {QStringLiteral("timeline-P"),
       [](Scene& s) {
         s.selection().select_device(5);
         s.press();
         EXPECT_TRUE(s.canvas().access_group_name(0).contains(QStringLiteral("CPU 5")));
       }},
      {QStringLiteral("timeline-H"),
       [](Scene& s) {
         const int lanes = s.canvas().access_groups();
         s.selection().select_device(5);
         s.press();
         EXPECT_EQ(s.canvas().access_groups(), lanes - 1);
       }},
      {QStringLiteral("timeline-Shift+H"),
       [](Scene& s) {
         const int lanes = s.canvas().access_groups();
         s.selection().select_device(5);
         s.press("H");
         s.press();
         EXPECT_EQ(s.canvas().access_groups(), lanes);
       }},
      {QStringLiteral("timeline-Shift+G"),
       [](Scene& s) {
         s.press();
         EXPECT_STRNE(s.canvas().grouping().title.c_str(), "process");
       }},
      {QStringLiteral("timeline-B"), changes_the_picture},
      {QStringLiteral("timeline-E"),
       [](Scene& s) {
         s.window.show_trace(lockstep());
         QTest::qWait(0);
         const int lanes = s.canvas().access_groups();
         s.press();
         EXPECT_EQ(s.canvas().access_groups(), lanes - 3) << "four devices that did the same";
         s.press();
         EXPECT_EQ(s.canvas().access_groups(), lanes);
       }},
      {QStringLiteral("timeline-C"),
       [](Scene& s) {
         const QString path = s.file("toy.db");
         traces::sample::write_sample_trace("toy", path.toStdString(), {});
         s.window.open(path);
         ASSERT_TRUE(wait_idle(s.window));
         compare_with(&s.window.view("compare"), path);
         ASSERT_TRUE(QTest::qWaitFor([&] { return s.selection().other() != nullptr; }, kLongMs));
         s.focus_timeline();
         const int last = int(s.selection().trace()->collectives.size()) - 1;
         ASSERT_GE(last, 0);
         s.selection().select_collective(last);
         s.press();
         EXPECT_TRUE(s.sees("compare"));
         EXPECT_TRUE(QTest::qWaitFor([&] {
           const auto tables = s.window.view("compare").findChildren<QTableWidget*>();
           return std::any_of(tables.begin(), tables.end(), [&](const QTableWidget* each) {
             return each->accessibleName() == QStringLiteral("Collectives of both runs") && each->currentRow() == last;
           });
         }));
       }},
      {QStringLiteral("timeline-Space"),
       [](Scene& s) {
         s.window.show_trace(sample::deadlock());
         QTest::qWait(0);
         s.focus_timeline();
         auto* play = s.window.view("waits").findChild<QToolButton*>(QStringLiteral("play"));
         s.press();
         EXPECT_TRUE(s.sees("waits"));
         EXPECT_EQ(play->isChecked(), play->isEnabled());
         s.press();
         EXPECT_FALSE(play->isChecked()) << "the same key stops it, in the view of waits";
       }},
      {QStringLiteral("timeline-G"), finds_in_the_palette},
      {QStringLiteral("timeline-?"),
       [](Scene& s) {
         QTest::keyClick(QApplication::focusWidget(), '?');
         QTest::qWait(0);
         ASSERT_NE(s.dialog(), nullptr);
         EXPECT_EQ(s.dialog()->windowTitle(), QStringLiteral("Keys"));
       }},
      {QStringLiteral("timeline-Alt+1"), drags(MouseMode::kSelect)},
      {QStringLiteral("timeline-Alt+2"), drags(MouseMode::kPan)},
      {QStringLiteral("timeline-Alt+3"), drags(MouseMode::kZoom)},
      {QStringLiteral("timeline-Alt+4"), drags(MouseMode::kMeasure)},
      {QStringLiteral("timeline-Shift+Z"),
       [](Scene& s) {
         const auto wheel = [&](Qt::KeyboardModifiers modifiers) {
           const QPointF at(s.canvas().label_width() + 200, 60);
           QWheelEvent turn(at, s.canvas().viewport()->mapToGlobal(at), {}, {0, 120}, {}, modifiers, Qt::NoScrollPhase, false);
           const TimeRange before = s.shown();
           QApplication::sendEvent(s.canvas().viewport(), &turn);
           return s.shown() != before;
         };
         EXPECT_FALSE(wheel({}));
         EXPECT_TRUE(wheel(Qt::ControlModifier));
         s.press();
         EXPECT_TRUE(wheel({}));
         EXPECT_FALSE(wheel(Qt::ControlModifier));
         s.press();
         EXPECT_FALSE(wheel({}));
       }},
      {QStringLiteral("timeline-X"), goes_to("waits")},
      {QStringLiteral("timeline-/"), goes_to("events")},
  };
  for (int n = 1; n <= 9; ++n) {
    all[QStringLiteral("timeline-%1").arg(n)] = keeps_window(n, false);
    all[QStringLiteral("timeline-Ctrl+%1").arg(n)] = keeps_window(n, true);
  }
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

class KeyTest : public testing::TestWithParam<std::size_t> {
 protected:
  static void SetUpTestSuite() {
    static QTemporaryDir settings;
    QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, settings.path());
    QCoreApplication::setOrganizationName(QStringLiteral("shardlab-test"));
    QCoreApplication::setApplicationName(QStringLiteral("keyboard"));
    QCoreApplication::setAttribute(Qt::AA_DontUseNativeDialogs);
  }
};

TEST_P(KeyTest, DoesWhatTheKeyMapSays) {
  const KeyEntry entry = all_keys()[GetParam()];
  SCOPED_TRACE((entry.section + QStringLiteral(": ") + entry.fallback.toString() + QStringLiteral(", ") + entry.doc).toStdString());
  const auto all = scripts();
  const auto script = all.find(entry.id);
  ASSERT_NE(script, all.end()) << "no script shows what this key does: " << entry.id.toStdString();
  ASSERT_FALSE(entry.fallback.isEmpty()) << "not to be reached by a key";
  Scene scene(entry);
  script->second(scene);
}

INSTANTIATE_TEST_SUITE_P(KeyMap, KeyTest, testing::Range(std::size_t(0), all_keys().size()));

TEST(Keyboard, HasNoScriptForAKeyThatIsNoMore) {
  std::set<QString> known;
  for (const KeyEntry& entry : all_keys()) known.insert(entry.id);
  for (const auto& [id, script] : scripts()) EXPECT_TRUE(known.contains(id)) << id.toStdString();
}

// What the menus offer is in the key map, too.
TEST(Keyboard, HasAnEntryForEveryThingInTheMenus) {
  MainWindow window{Options{}};
  std::size_t menus = 0;
  for (const auto& entry : all_keys()) menus += entry.section != QStringLiteral("Timeline");
  EXPECT_EQ(std::size_t(window.actions_of_menus().size()), menus);
}

}  // namespace
}  // namespace shardlab::gui
