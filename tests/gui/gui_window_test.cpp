// The window on the offscreen platform: pictures of every view, links between views, keys.
//
// With SHARDLAB_GUI_PICTURES=folder the pictures are kept there, to be looked at.
#include <gtest/gtest.h>

#include <QAction>
#include <QFontMetrics>
#include <QKeySequence>
#include <QLabel>
#include <QMenuBar>
#include <QSignalSpy>
#include <QTest>

#include <map>
#include <set>

#include "gui/app/main_window.h"
#include "gui/app/screenshot.h"
#include "gui/models/array_uses.h"
#include "gui/models/format.h"
#include "gui/models/side_facts.h"
#include "gui/models/text_twin.h"
#include "gui/views/diagnosis_html.h"
#include "gui/views/mesh_widget.h"
#include "gui/views/shard_widget.h"
#include "gui/views/timeline_canvas.h"
#include "gui/views/verdict_banner.h"
#include "gui/views/when_seen.h"
#include "tests/gui/sample_traces.h"

namespace shardlab::gui {
namespace {

QImage picture(MainWindow& window, const QString& name) {
  QTest::qWait(0);
  const QImage image = window.grab().toImage();
  const QString folder = qEnvironmentVariable("SHARDLAB_GUI_PICTURES");
  if (!folder.isEmpty()) image.save(folder + QLatin1Char('/') + name + QStringLiteral(".png"));
  return image;
}

int colours(const QImage& image) {
  std::set<QRgb> seen;
  for (int y = 0; y < image.height(); y += 3)
    for (int x = 0; x < image.width(); x += 3) seen.insert(image.pixel(x, y));
  return int(seen.size());
}

struct Shown {
  explicit Shown(TracePtr trace, Options options = {}) : window(options) {
    window.show();
    window.show_trace(std::move(trace));
    QTest::qWait(0);
  }
  template <typename Widget>
  Widget& find() {
    // The one in sight: other views have widgets of the kind too.
    for (Widget* each : window.findChildren<Widget*>())
      if (in_sight(*each)) return *each;
    return *window.findChild<Widget*>();
  }
  MainWindow window;
};

const std::map<std::string, TracePtr>& samples() {
  static const std::map<std::string, TracePtr> kSamples{{"empty", sample::empty()},
                                                        {"toy", sample::toy()},
                                                        {"toy1", sample::toy(1)},
                                                        {"deadlock", sample::deadlock()},
                                                        {"512", sample::grid(32, 16, 64, 20)},
                                                        {"torn", sample::torn()},
                                                        {"long", sample::long_names()}};
  return kSamples;
}

// What the banner says of a verdict is whole lines, and all of it is there for who points at it.
TEST(Window, AVerdictThatIsTooLongEndsAtAWord) {
  auto trace = std::make_shared<TraceData>(*sample::deadlock());
  for (int i = 0; i < 60; ++i) trace->diagnoses.at(0).message += " and so on";
  Shown shown(trace);
  for (const int width : {700, 900, 1600}) {
    shown.window.resize(width, 700);
    QTest::qWait(0);
    const auto& sentence = *shown.find<VerdictBanner>().findChild<QLabel*>();
    const QFontMetrics metrics(sentence.font());
    const QRect needed = metrics.boundingRect(QRect(0, 0, sentence.width(), 1000), Qt::TextWordWrap, sentence.text());
    EXPECT_TRUE(sentence.text().endsWith(QStringLiteral(" …"))) << sentence.text().toStdString();
    EXPECT_GT(sentence.text().size(), width / 5);
    EXPECT_LE(needed.height(), sentence.height()) << width;
    EXPECT_TRUE(sentence.toolTip().endsWith(QStringLiteral("and so on"))) << sentence.toolTip().toStdString();
  }
}

TEST(Window, PaintsEverySampleInBothThemes) {
  for (const bool dark : {false, true}) {
    apply_style(dark);
    for (const auto& [name, trace] : samples()) {
      Shown shown(trace);
      const QImage image = picture(shown.window, qstr(name) + (dark ? QStringLiteral("_dark") : QString()));
      EXPECT_EQ(image.size(), QSize(1600, 1000));
      EXPECT_GT(colours(image), 12) << name;
    }
  }
  apply_style(false);
}

TEST(Window, PaintsEveryViewAloneAtAnySize) {
  for (const ViewDef* def : all_views())
    for (const QSize size : {QSize(1200, 800), QSize(420, 300), QSize(2400, 1500)}) {
      Options options;
      options.view = qstr(def->id);
      options.size = size;
      Shown shown(sample::empty(), options);  // one window for all: what was shown before must not stay
      for (const auto& [name, trace] : samples()) {
        if (size.width() > 2000 && name != "512") continue;  // one large one is enough
        shown.window.show_trace(trace);
        const QImage image = picture(shown.window, QStringLiteral("view_%1_%2_%3").arg(qstr(def->id), qstr(name)).arg(size.width()));
        EXPECT_GT(colours(image), 4) << def->id << " of " << name;
      }
    }
}

TEST(Window, PaintsEveryArrayOfTheSamples) {
  Options options;
  options.view = QStringLiteral("sharding");
  options.size = QSize(1100, 640);
  for (const auto& [name, trace] : samples()) {
    Shown shown(trace, options);
    for (std::size_t i = 0; i < trace->arrays.size(); ++i) {
      shown.window.selection().select_array(int(i));
      EXPECT_GT(colours(picture(shown.window, QStringLiteral("array_%1_%2").arg(qstr(name)).arg(i))), 8);
    }
  }
}

TEST(Window, IsTheSamePictureEachTime) {
  Shown first(sample::deadlock()), second(sample::deadlock());
  EXPECT_EQ(picture(first.window, QStringLiteral("first")), picture(second.window, QStringLiteral("second")));
}

TEST(Window, SelectingInOneViewSelectsInAll) {
  Shown shown(sample::deadlock());
  Selection& selection = shown.window.selection();
  selection.clear();
  auto& mesh = shown.find<MeshWidget>();
  // Every click on the mesh selects one device of it, and the timeline has its lane.
  int hits = 0;
  for (int y = 2; y < mesh.height(); y += 9)
    for (int x = 2; x < mesh.width(); x += 9) {
      QTest::mouseClick(&mesh, Qt::LeftButton, {}, QPoint(x, y));
      if (selection.state().device < 0) continue;
      ++hits;
      EXPECT_TRUE(mesh.tooltip_at({x, y}).contains(QStringLiteral("CPU %1").arg(selection.state().device)));
      EXPECT_EQ(selection.trace()->lanes[std::size_t(selection.lane())].device, selection.state().device);
    }
  EXPECT_GT(hits, 8);
}

TEST(Window, AClickOnASharedCellGoesThroughItsHolders) {
  Shown shown(sample::toy());
  Selection& selection = shown.window.selection();
  selection.select_array(1);  // w: four copies of each part
  auto& shards = shown.find<ShardWidget>();
  std::set<int> seen;
  for (int i = 0; i < 4; ++i) {
    QTest::mouseClick(&shards, Qt::LeftButton, {}, QPoint(120, 60));
    seen.insert(selection.state().device);
  }
  EXPECT_EQ(seen, (std::set<int>{0, 2, 4, 6}));
}

// The frame of a chosen device's cell must not hide what the cell says.
TEST(Window, AChosenCellKeepsItsText) {
  Shown shown(sample::toy());
  shown.window.selection().select_array(1);  // w: two cells with four copies each
  auto& shards = shown.find<ShardWidget>();
  for (const int device : {0, 1}) {
    shown.window.selection().select_device(device);
    const QImage image = shards.grab().toImage();
    const int top = device == 0 ? 0 : image.height() / 2;
    EXPECT_GT(colours(image.copy(60, top + 20, 200, image.height() / 2 - 40)), 12) << "device " << device;
  }
}

// What is said of summands must not lie over the cells.
TEST(Window, ThePlateOfSummandsLeavesTheCellsAlone) {
  Shown shown(sample::toy());
  const auto& array = shown.window.selection().trace()->arrays[1];
  ShardWidget shards(shown.window.selection());
  shards.resize(420, 300);
  const auto lowest = [&](const std::vector<std::string>& partial) {
    shards.set_layout(array.name, array.dtype, array.layout, partial);
    int bottom = 0;
    for (int i = 0; i < shards.access_items(0); ++i) bottom = std::max(bottom, shards.access_item_box(0, i).bottom());
    return bottom;
  };
  const int plate = shards.fontMetrics().height() + 4;
  EXPECT_GT(lowest({}), 300 - plate - 20) << "all of the room where there is nothing to say";
  EXPECT_LT(lowest({"a", "b"}), 300 - plate - 5);
}

TEST(Timeline, KeysMoveTheSelectionAndTheWindow) {
  Shown shown(sample::toy());
  auto& canvas = shown.window.timeline();
  Selection& selection = shown.window.selection();
  canvas.setFocus();
  QTest::keyClick(&canvas, Qt::Key_Down);
  const int lane = selection.state().lane;
  EXPECT_GE(lane, 0);
  QTest::keyClick(&canvas, Qt::Key_Down);
  EXPECT_GT(selection.state().lane, lane);
  const auto event = selection.state().event;
  QTest::keyClick(&canvas, Qt::Key_Left);
  EXPECT_NE(selection.state().event, event);
  QTest::keyClick(&canvas, Qt::Key_Right);
  EXPECT_EQ(selection.state().event, event);
  const TimeRange all = canvas.scale().window();
  QTest::keyClick(&canvas, Qt::Key_W);
  EXPECT_LT(canvas.scale().window().length(), all.length());
  QTest::keyClick(&canvas, Qt::Key_F);
  const auto& lanes = selection.trace()->lanes;
  const LaneEvents& events = *lanes[std::size_t(selection.state().lane)].events;
  EXPECT_LE(canvas.scale().window().begin, events.begin[std::size_t(selection.state().event)]);
  EXPECT_GE(canvas.scale().window().end, events.end[std::size_t(selection.state().event)]);
  QTest::keyClick(&canvas, Qt::Key_0);
  EXPECT_EQ(canvas.scale().window(), all);
  QTest::keyClick(&canvas, Qt::Key_Escape);
  EXPECT_EQ(selection.state().lane, -1);
}

TEST(Timeline, WheelZoomsAtTheCursorAndTooltipsNameTheCollective) {
  Shown shown(sample::deadlock());
  auto& canvas = shown.window.timeline();
  bool found = false;
  for (int y = 30; y < canvas.height() && !found; y += 7)
    for (int x = canvas.label_width(); x < canvas.width() && !found; x += 11) {
      const QString tip = canvas.tooltip_at({x, y});
      found = tip.contains(QStringLiteral("order-mismatch")) && tip.contains(QStringLiteral("toy.cpp:11"));
    }
  EXPECT_TRUE(found);
  const double x = 300;
  const Ns before = canvas.scale().time_at(x);
  QWheelEvent wheel(QPointF(canvas.label_width() + x, 80), canvas.mapToGlobal(QPointF(canvas.label_width() + x, 80)), {}, {0, 240}, {},
                    Qt::ControlModifier, Qt::NoScrollPhase, false);
  const Ns length = canvas.scale().window().length();
  QApplication::sendEvent(canvas.viewport(), &wheel);
  EXPECT_LT(canvas.scale().window().length(), length);
  EXPECT_NEAR(double(canvas.scale().time_at(x) - before), 0, canvas.scale().ns_per_px() + 1);
}

// Also where the labels take more than there is: nothing of a lane is painted left of them.
TEST(Timeline, IsPaintedHoweverNarrowItIs) {
  Selection selection;
  Background background;
  TimelineCanvas canvas(selection, background);
  canvas.show();
  selection.set_trace(sample::deadlock());
  selection.select_collective(0);
  for (const int width : {1, 20, canvas.label_width() - 20, canvas.label_width() - 1, canvas.label_width(), canvas.label_width() + 1})
    for (const int height : {1, 20, 300}) {
      canvas.setFixedSize(width, height);
      EXPECT_EQ(canvas.grab().width(), width);
    }
}

// An error is red at any zoom.
TEST(Timeline, ErrorsSurviveZoomingOut) {
  TraceData trace = *sample::grid(2, 2, 4, 20'000);
  trace.collectives[7'000].failed = true;
  for (auto& lane : trace.lanes) lane.events = std::make_shared<LaneEvents>(*lane.events);
  finish(trace);
  Options options;
  options.view = QStringLiteral("timeline");
  Shown shown(std::make_shared<const TraceData>(std::move(trace)), options);
  auto& canvas = shown.window.timeline();
  const QImage image = canvas.viewport()->grab().toImage();
  const QRgb red = light_theme().error.rgb();
  std::set<int> rows;
  for (int y = 0; y < image.height(); ++y)
    for (int x = canvas.label_width(); x < image.width(); ++x)
      if (image.pixel(x, y) == red) rows.insert(y / 26);
  EXPECT_GE(rows.size(), 4U);
}

TEST(Keys, AreUniqueAndEveryActionIsExplained) {
  std::map<QString, std::string> owner;
  const auto add = [&](const char* key, const std::string& what) {
    const QString text = QKeySequence(QString::fromUtf8(key)).toString();
    ASSERT_FALSE(text.isEmpty()) << what << " has no valid key: " << key;
    EXPECT_TRUE(owner.emplace(text, what).second) << text.toStdString() << ": " << what << " and " << owner[text];
  };
  for (const auto& def : all_actions()) add(def.key, def.id);
  for (const ViewDef* def : all_views()) add(def->key, std::string(def->id));
  for (const auto& def : all_perspectives()) add(def.key, std::string(def.id));
  for (const auto& def : timeline_keys()) add(def.key, def.doc);
  MainWindow window{Options{}};
  for (const QAction* action : window.findChildren<QAction*>())
    if (action->menu() == nullptr && !action->isSeparator() && action->shortcut() != QKeySequence()) {
      EXPECT_FALSE(action->statusTip().isEmpty()) << action->text().toStdString();
    }
}

TEST(Views, HaveOneInTheCentreAndNamesOfTheirOwn) {
  std::set<std::string_view> ids;
  int centre = 0;
  for (const ViewDef* def : all_views()) {
    EXPECT_TRUE(ids.insert(def->id).second);
    centre += def->area == ViewArea::kCentre;
  }
  EXPECT_EQ(centre, 1);
  for (const auto& def : all_perspectives()) EXPECT_TRUE(ids.contains(def.front)) << def.id;
}

TEST(Diagnoses, PutBothSidesBesideEachOtherAndMarkWhatDiffers) {
  const auto trace = sample::deadlock();
  const auto sides = sides_of(trace->diagnoses[0]);
  ASSERT_EQ(sides.size(), 2U);
  EXPECT_TRUE(sides[0].guilty);
  EXPECT_EQ(sides[1].processes, (std::vector<int>{0, 1, 2}));
  const QString text = diagnosis_html(*trace, 0, light_theme());
  EXPECT_TRUE(text.contains(QStringLiteral("≠ Where")));
  EXPECT_TRUE(text.contains(QStringLiteral("≠ Sharding")));
  EXPECT_FALSE(text.contains(QStringLiteral("≠ Op")));
  EXPECT_TRUE(text.contains(QStringLiteral("toy.cpp:13")) && text.contains(QStringLiteral("toy.cpp:11")));
}

TEST(Diagnoses, FindTheFileOfALineWhereNothingWasLaunched) {
  TraceData trace;
  trace.sites = {{.file = "/src/toy.cpp", .line = 31}, {.file = "/src/toy.cpp", .line = 33}, {.file = "/other/boy.cpp", .line = 34}};
  EXPECT_EQ(place_with_folders(trace, "toy.cpp:33"), "/src/toy.cpp:33");
  EXPECT_EQ(place_with_folders(trace, "toy.cpp:34"), "/src/toy.cpp:34");
  EXPECT_EQ(place_with_folders(trace, "man.cpp:34"), "man.cpp:34");
  EXPECT_EQ(place_with_folders(trace, "process 3"), "process 3");
  trace.sites.push_back({.file = "/other/toy.cpp", .line = 35});
  EXPECT_EQ(place_with_folders(trace, "toy.cpp:34"), "toy.cpp:34") << "two of that name";
  EXPECT_EQ(place_with_folders(trace, "toy.cpp:35"), "/other/toy.cpp:35");
}

// Sides are compared with their like; the trace adds the callers with their lines, and the arrays.
TEST(Diagnoses, TellCallersArraysAndOwnStepsApart) {
  TraceData trace = *sample::deadlock();
  Diagnosis& diagnosis = trace.diagnoses[0];
  Participant& side = diagnosis.participants.front();
  trace.programs.push_back({.name = side.op, .devices = side.devices});
  trace.frames = {{"main", "src/toy.cpp", 40, -1}, {"step", "src/toy.cpp", 13, 0}};
  trace.launches = {
      {.process = side.process, .number = 7, .seq = side.seq, .program = int(trace.programs.size()) - 1, .site = 0, .frame = 1}};
  ASSERT_GE(trace.arrays.size(), 2U);
  trace.array_uses = std::make_shared<const ArrayUses>(
      std::vector<ArrayUse>{{.array = 0, .process = side.process, .launch = 7, .position = 0},
                            {.array = 1, .process = side.process, .launch = 7, .position = 0, .gives = true}},
      trace.arrays.size(), true);
  for (const int process : {3, 0})
    diagnosis.participants.push_back(
        {.process = process, .kind = "local", .op = "arange", .where = "toy.cpp:9", .state = "differs here first"});
  const QString text = diagnosis_html(trace, 0, light_theme());
  EXPECT_TRUE(text.contains(QStringLiteral("step (toy.cpp:13), main (toy.cpp:40)"))) << text.toStdString();
  EXPECT_TRUE(text.contains(QStringLiteral("<a href='array:0'>")) && text.contains(QStringLiteral("<a href='array:1'>")));
  EXPECT_TRUE(text.contains(QStringLiteral("Where they went apart")));
  EXPECT_FALSE(text.contains(QStringLiteral("≠ Op"))) << "steps of their own are not compared with the calls";
  const QString twin = diagnosis_text(trace, 0);
  EXPECT_TRUE(twin.contains(QStringLiteral("called in step (toy.cpp:13), main (toy.cpp:40); takes "))) << twin.toStdString();
}

}  // namespace
}  // namespace shardlab::gui
