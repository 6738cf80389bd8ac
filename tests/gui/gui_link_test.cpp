// A view as a text to send to somebody: what the text holds, and that it leads back.
#include <gtest/gtest.h>

#include <QApplication>
#include <QClipboard>
#include <QStatusBar>

#include "gui/app/options.h"
#include "gui/app/palette.h"
#include "gui/app/view_link.h"
#include "gui/views/timeline_canvas.h"
#include "runtime/base/error.h"
#include "tests/gui/sample_traces.h"
#include "tests/gui/shown.h"

namespace shardlab::gui {
namespace {

TracePtr named(TracePtr trace, const char* name) {
  auto copy = std::make_shared<TraceData>(*trace);
  copy->title = name;
  copy->path = std::string("/somewhere/of/mine/") + name;
  return copy;
}

TEST(ViewLink, IsATextAndBack) {
  ViewLink link{
      .trace = QStringLiteral("a run, two & \"three\".db"), .view = QStringLiteral("waits"), .select = QStringLiteral("event:3@-12")};
  link.array = 4;
  link.time = {-50, 1200};
  link.range = {7, 9};
  link.axis = TimeAxis::kLogical;
  link.lanes = QStringLiteral("axis a");
  link.hide = QStringLiteral("/CPU [0-3]$|a+b&c=d%/");
  link.hide_empty = true;
  const QString text = to_text(link);
  EXPECT_FALSE(text.contains(QLatin1Char(' '))) << text.toStdString();
  EXPECT_TRUE(is_link(text));
  EXPECT_EQ(link_from_text(text), link) << text.toStdString();
  EXPECT_EQ(to_text({.trace = QStringLiteral("run.db")}).toStdString(), "shardlab://view/run.db");
  EXPECT_EQ(link_from_text(QStringLiteral("shardlab://view/run.db?new-in-some-later-year=1&time=none")),
            (ViewLink{.trace = QStringLiteral("run.db")}));
  for (const char* wrong :
       {"", "run.db", "shardlab://view/", "shardlab://view//etc/passwd", "shardlab://view/..%2Frun.db", "other://view/run.db"})
    EXPECT_THROW(link_from_text(QString::fromUtf8(wrong)), UserError) << wrong;
}

TEST(ViewLink, LeadsAnotherWindowToWhatThisOneShows) {
  const TracePtr trace = named(sample::deadlock(), "run.db");
  QString text;
  TimeRange window;
  {
    Shown shown(trace);
    auto* canvas = &shown.window.timeline();
    canvas->zoom_by(0.4);
    canvas->pan_by(0.1);
    canvas->lane_filter = LaneFilter(QStringLiteral("CPU 1"));
    canvas->set_up();
    shown.window.selection().select_event(trace->lanes[0].device < 0 ? 2 : 1, 1);
    window = canvas->scale().window();
    shown.window.show_view("waits");
    shown.window.copy_link();
    text = QApplication::clipboard()->text();
  }
  EXPECT_TRUE(text.startsWith(QStringLiteral("shardlab://view/run.db?"))) << text.toStdString();
  EXPECT_FALSE(text.contains(QStringLiteral("mine"))) << "no folder of this machine: " << text.toStdString();
  Shown other(trace);
  other.window.selection().clear();
  other.window.go_to_link();
  auto* canvas = &other.window.timeline();
  EXPECT_EQ(canvas->scale().window(), window);
  EXPECT_EQ(canvas->lane_filter.pattern(), QStringLiteral("CPU 1"));
  EXPECT_EQ(other.window.view_in_front(), "waits");
  EXPECT_EQ(other.window.selection().state().event, 1);
  EXPECT_EQ(to_text(link_of(other.window)), text) << "and gives the same again";
  // What is pasted into the palette is offered.
  const auto entries = find_entries(other.window, text);
  ASSERT_FALSE(entries.empty());
  EXPECT_EQ(entries[0].title, QStringLiteral("Go to this link"));
}

TEST(ViewLink, OfAnotherTraceSaysSo) {
  Shown shown(named(sample::toy(), "mine.db"));
  shown.window.go_to_link(QStringLiteral("shardlab://view/yours.db?select=device:3"));
  EXPECT_TRUE(shown.window.statusBar()->currentMessage().contains(QStringLiteral("the link is of yours.db, and mine.db is open")))
      << shown.window.statusBar()->currentMessage().toStdString();
  EXPECT_NE(shown.window.selection().state().device, 3);
}

TEST(ViewLink, IsTakenOnTheCommandLine) {
  const QString link = QStringLiteral("shardlab://view/run.db?view=waits");
  EXPECT_EQ(parse_options({link}).trace, QStringLiteral("run.db")) << "looked for where one is";
  const Options both = parse_options({QStringLiteral("/there/run.db"), link});
  EXPECT_EQ(both.trace, QStringLiteral("/there/run.db"));
  EXPECT_EQ(both.link, link);
  EXPECT_THROW(parse_options({QStringLiteral("shardlab://view/")}), UsageError);
}

}  // namespace
}  // namespace shardlab::gui
