#include "tests/gui/monkey.h"

#include <QAction>
#include <QApplication>
#include <QCursor>
#include <QFileDialog>
#include <QHelpEvent>
#include <QMenu>
#include <QPointer>
#include <QPushButton>
#include <QTest>
#include <QWheelEvent>

#include <algorithm>
#include <ctime>

#include "gui/views/timeline_canvas.h"

namespace shardlab::gui {
namespace {

// What a person types: filters, SQL, places, and what is none of them.
constexpr const char* kWords[] = {"kind:all-reduce",
                                  "dev:0-3 dur>10us",
                                  "-wait",
                                  "SELECT * FROM events",
                                  "process 3",
                                  "1.5ms",
                                  "array",
                                  "\" OR 1 = 1; --",
                                  "time>:<",
                                  "(((",
                                  "%s%n\\",
                                  "0",
                                  "99999999999999",
                                  "dur>1e400s",
                                  "dark",
                                  "SELECT count(*) FROM nay",
                                  "{\"a\": [1,}",
                                  "coll:-1"};

constexpr Qt::Key kKeys[] = {Qt::Key_Left,     Qt::Key_Right,  Qt::Key_Up,        Qt::Key_Down,  Qt::Key_Tab,   Qt::Key_Backtab,
                             Qt::Key_Return,   Qt::Key_Space,  Qt::Key_Escape,    Qt::Key_Home,  Qt::Key_End,   Qt::Key_PageUp,
                             Qt::Key_PageDown, Qt::Key_Delete, Qt::Key_Backspace, Qt::Key_Minus, Qt::Key_Plus,  Qt::Key_A,
                             Qt::Key_F,        Qt::Key_N,      Qt::Key_Slash,     Qt::Key_F6,    Qt::Key_Comma, Qt::Key_BracketRight};

double cpu_ms() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) * 1e3 + double(time.tv_nsec) / 1e6;
}

// Starts processes: what they do is no matter of the window.
bool starts_a_run(const MainWindow& window, const QWidget* widget) {
  return qobject_cast<const QPushButton*>(widget) && const_cast<MainWindow&>(window).view("run").isAncestorOf(widget);
}

QString name_of(const QWidget* widget) {
  if (!widget) return QStringLiteral("nothing");
  const QString name = QString::fromUtf8(widget->metaObject()->className());
  // The nearest that has a name says where it is.
  for (const QWidget* at = widget; at; at = at->parentWidget())
    for (const QString& said : {at->accessibleName(), at->isWindow() ? QStringLiteral("the window") : at->windowTitle(), at->objectName()})
      if (!said.isEmpty()) return name + (at == widget ? QLatin1String(" ") : QLatin1String(" in ")) + said;
  return name;
}

}  // namespace

Monkey::Monkey(MainWindow& window, unsigned seed) : window_(window), random_(seed) {
  butler_.setInterval(1);
  QObject::connect(&butler_, &QTimer::timeout, &window, [this] {
    if (auto* files = qobject_cast<QFileDialog*>(QApplication::activeModalWidget())) {
      dialog_ = true;
      files->reject();
    }
    if (auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget())) menu->close();
  });
  butler_.start();
}

Monkey::Deed Monkey::step() {
  dialog_ = false;
  if (!window_.isVisible()) window_.show();  // Quit closes it
  if (!QApplication::activeWindow()) window_.activateWindow();
  Deed deed;
  slowest_ms_ = within_ms_ = 0;
  const double all = frame([&] { deed.what = act(); });
  deed.cpu_ms = std::max(slowest_ms_, all - within_ms_);
  QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);  // no loop of the application is there to do it
  deed.dialog = dialog_;
  return deed;
}

double Monkey::frame(const std::function<void()>& run) {
  const double before = cpu_ms();
  run();
  QCoreApplication::sendPostedEvents();
  QCoreApplication::processEvents();
  return cpu_ms() - before;
}

void Monkey::part(const std::function<void()>& run) {
  const double ms = frame(run);
  slowest_ms_ = std::max(slowest_ms_, ms);
  within_ms_ += ms;
}

QString Monkey::act() {
  const int dice = pick(100);
  if (dice < 26) return timeline_key();
  if (dice < 36) return shortcut();
  if (dice < 46) return plain_key();
  if (dice < 64) return click();
  if (dice < 72) return drag();
  if (dice < 80) return wheel();
  if (dice < 86) return hover();
  if (dice < 90) return words();
  if (dice < 96) return select();
  if (dice < 98) return resize();
  QTest::qWait(1 + pick(4));  // what runs beside the window comes to its end
  return QStringLiteral("waits");
}

QWidget* Monkey::any_widget() {
  QWidgetList widgets;
  for (QWidget* top : QApplication::topLevelWidgets()) {
    if (!top->isVisible()) continue;
    QWidgetList parts = top->findChildren<QWidget*>();
    parts << top;
    for (QWidget* each : std::as_const(parts))
      if (each->isVisible() && each->width() > 4 && each->height() > 4 && !starts_a_run(window_, each)) widgets << each;
  }
  return widgets.isEmpty() ? &window_ : widgets[pick(int(widgets.size()))];
}

QPoint Monkey::any_point(const QWidget& widget) { return {pick(std::max(widget.width(), 1)), pick(std::max(widget.height(), 1))}; }

QString Monkey::timeline_key() {
  const auto keys = timeline_keys();
  const QKeySequence key(QString::fromUtf8(keys[std::size_t(pick(int(keys.size())))].key));
  QTest::keyClick(&window_.timeline(), key[0].key(), key[0].keyboardModifiers());
  return QStringLiteral("timeline ") + key.toString();
}

QString Monkey::shortcut() {
  const QList<QAction*> actions = window_.actions_of_menus();
  QAction* action = actions[pick(int(actions.size()))];
  const QString text = action->text();
  // Most of these end the program or ask for a file; once in a while they are used, too.
  if (text.contains(QStringLiteral("Example")) || action->shortcut().isEmpty()) return QStringLiteral("nothing");
  if (text.contains(QStringLiteral("…")) && !text.contains(QStringLiteral("Palette")) && !text.contains(QStringLiteral("Keys")) &&
      !chance(4))
    return QStringLiteral("nothing");
  QWidget* focus = QApplication::focusWidget();
  QTest::keyClick(focus ? focus : &window_, action->shortcut()[0].key(), action->shortcut()[0].keyboardModifiers());
  return QStringLiteral("shortcut ") + text;
}

QString Monkey::plain_key() {
  QWidget* widget = QApplication::focusWidget() ? QApplication::focusWidget() : &window_;
  if (starts_a_run(window_, widget)) return QStringLiteral("nothing");
  const Qt::Key key = kKeys[pick(int(std::size(kKeys)))];
  const Qt::KeyboardModifiers modifiers = chance(5) ? Qt::ShiftModifier : Qt::NoModifier;
  const QString what = QStringLiteral("key %1 to %2").arg(QKeySequence(key).toString(), name_of(widget));
  QTest::keyClick(widget, key, modifiers);
  return what;
}

QString Monkey::click() {
  QWidget* widget = any_widget();
  const QPoint at = any_point(*widget);
  const QString what = QStringLiteral("click %1 at %2, %3").arg(name_of(widget)).arg(at.x()).arg(at.y());
  const Qt::KeyboardModifiers modifiers = chance(3) ? (chance(2) ? Qt::ShiftModifier : Qt::ControlModifier) : Qt::NoModifier;
  const int how = pick(8);
  if (how == 0) {
    QTest::mouseDClick(widget, Qt::LeftButton, modifiers, at);
    return QStringLiteral("double ") + what;
  }
  if (how == 1) {
    QContextMenuEvent menu(QContextMenuEvent::Mouse, at, widget->mapToGlobal(at));
    QTest::mouseClick(widget, Qt::RightButton, modifiers, at);
    QApplication::sendEvent(widget, &menu);
    return QStringLiteral("right ") + what;
  }
  QTest::mouseClick(widget, how == 2 ? Qt::MiddleButton : Qt::LeftButton, modifiers, at);
  return what;
}

QString Monkey::drag() {
  const QPointer<QWidget> widget = any_widget();
  const QString what = QStringLiteral("drag over ") + name_of(widget);
  const Qt::MouseButton button = chance(4) ? Qt::MiddleButton : Qt::LeftButton;
  const Qt::KeyboardModifiers modifiers = chance(2) ? Qt::ShiftModifier : Qt::NoModifier;
  part([&] { QTest::mousePress(widget, button, modifiers, any_point(*widget)); });
  QPoint at;
  for (int i = 0; i < 4 && widget; ++i) {
    at = any_point(*widget) + QPoint(pick(60) - 30, pick(60) - 30);  // also beyond its edges
    part([&] {
      QMouseEvent move(QEvent::MouseMove, at, widget->mapToGlobal(at), Qt::NoButton, button, modifiers);
      QApplication::sendEvent(widget, &move);
    });
  }
  if (widget) QTest::mouseRelease(widget, button, modifiers, at);
  return what;
}

QString Monkey::wheel() {
  QWidget* widget = any_widget();
  const QPoint at = any_point(*widget);
  const Qt::KeyboardModifiers modifiers[] = {Qt::NoModifier, Qt::NoModifier, Qt::ControlModifier, Qt::ShiftModifier};
  const int strong = chance(6) ? 20 : 1;
  const QPoint turn(chance(4) ? (pick(3) - 1) * 120 * strong : 0, (chance(2) ? 120 : -120) * strong);
  QWheelEvent event(QPointF(at), widget->mapToGlobal(QPointF(at)), {}, turn, {}, modifiers[pick(4)], Qt::NoScrollPhase, false);
  QApplication::sendEvent(widget, &event);
  return QStringLiteral("wheel over ") + name_of(widget);
}

QString Monkey::hover() {
  QWidget* widget = any_widget();
  const QPoint at = any_point(*widget);
  QMouseEvent move(QEvent::MouseMove, at, widget->mapToGlobal(at), Qt::NoButton, Qt::NoButton, Qt::NoModifier);
  QApplication::sendEvent(widget, &move);
  if (chance(2)) {
    QHelpEvent help(QEvent::ToolTip, at, widget->mapToGlobal(at));
    QApplication::sendEvent(widget, &help);
  }
  return QStringLiteral("hover over ") + name_of(widget);
}

QString Monkey::words() {
  const QPointer<QWidget> widget = QApplication::focusWidget();
  if (!widget || starts_a_run(window_, widget)) return QStringLiteral("nothing");
  const char* text = kWords[pick(int(std::size(kWords)))];
  const QString what = QStringLiteral("types %1 into %2").arg(QString::fromUtf8(text), name_of(widget));
  for (const char* letter = text; *letter != 0 && widget; ++letter) part([&] { QTest::keyClick(widget, *letter); });
  if (QWidget* now = QApplication::focusWidget(); chance(2) && now && !starts_a_run(window_, now)) QTest::keyClick(now, Qt::Key_Return);
  return what;
}

QString Monkey::select() {
  Selection& selection = window_.selection();
  const TracePtr& trace = selection.trace();
  if (!trace) return QStringLiteral("nothing");
  const auto any_of = [&](std::size_t count) { return pick(int(std::max<std::size_t>(count, 1))); };
  switch (pick(5)) {
    case 0:
      if (!trace->collectives.empty()) selection.select_collective(any_of(trace->collectives.size()));
      return QStringLiteral("selects a collective");
    case 1:
      if (!trace->arrays.empty()) selection.select_array(any_of(trace->arrays.size()));
      return QStringLiteral("selects an array");
    case 2:
      if (!trace->devices.empty()) selection.select_device(trace->devices[std::size_t(any_of(trace->devices.size()))].ordinal);
      return QStringLiteral("selects a device");
    case 3:
      if (!trace->diagnoses.empty()) selection.select_diagnosis(any_of(trace->diagnoses.size()));
      return QStringLiteral("selects a diagnosis");
    default:
      chance(2) ? selection.back() : selection.forward();
      return QStringLiteral("goes through the history");
  }
}

QString Monkey::resize() {
  const QSize size(300 + pick(1700), 200 + pick(1100));
  window_.resize(size);
  return QStringLiteral("resize to %1 x %2").arg(size.width()).arg(size.height());
}

}  // namespace shardlab::gui
