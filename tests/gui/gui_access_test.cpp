// What a screen reader is told: every lane, event, device, shard, wait and link of every kind of trace has a name, and a press selects it.
#include <gtest/gtest.h>

#include <QAccessible>
#include <QTest>

#include <map>
#include <set>

#include "gui/app/main_window.h"
#include "gui/app/sheet.h"
#include "gui/views/diagram_access.h"
#include "gui/views/timeline_canvas.h"
#include "tests/gui/access_walk.h"
#include "tests/gui/sample_traces.h"
#include "tests/gui/shown.h"
#include "tests/gui/wait_idle.h"

namespace shardlab::gui {
namespace {

TEST(Accessibility, NamesEveryLaneAndEventOfTheDiagrams) {
  Shown shown(sample::deadlock());
  const TracePtr& trace = shown.window.selection().trace();
  auto* canvas = &shown.window.timeline();
  QAccessibleInterface* root = QAccessible::queryAccessibleInterface(canvas);
  ASSERT_NE(root, nullptr);
  EXPECT_EQ(root->text(QAccessible::Name), QStringLiteral("Timeline"));
  QSet<QString> texts;
  EXPECT_EQ(walk_access(root, texts), canvas->access_groups() + int(trace->event_count()));
  EXPECT_TRUE(std::any_of(texts.begin(), texts.end(), [](const QString& text) {
    return text.contains(QStringLiteral("all-reduce")) && text.contains(QStringLiteral("diagnosed"));
  }));
  // To press an item selects it.
  QAccessibleInterface* item = root->child(0)->child(0);
  item->actionInterface()->doAction(QAccessibleActionInterface::pressAction());
  EXPECT_GE(shown.window.selection().state().event, 0);
  for (QWidget* widget : shown.window.findChildren<QWidget*>())
    if (dynamic_cast<AccessibleDiagram*>(widget) && widget->isVisible()) { EXPECT_FALSE(widget->accessibleName().isEmpty()); }
}

// Every lane, event, device, shard, wait and link of every kind of trace has a name of its own, and a press selects it.
class AccessOfKind : public testing::TestWithParam<sample::Kind> {};

TEST_P(AccessOfKind, NamesEverythingThatIsPainted) {
  Options options;
  options.view = QString::fromUtf8(kSheet);  // all views in sight
  MainWindow window(options);
  window.show();
  window.show_trace(GetParam().make());
  ASSERT_TRUE(wait_idle(window));
  const TracePtr& trace = window.selection().trace();
  std::map<QString, int> items = walk_diagrams(window);
  for (QWidget* widget : window.findChildren<QWidget*>()) {
    auto* diagram = dynamic_cast<AccessibleDiagram*>(widget);
    if (!diagram || !widget->isVisible()) continue;
    QAccessibleInterface* root = QAccessible::queryAccessibleInterface(widget);
    for (int group = 0; group < diagram->access_groups(); ++group)
      for (int item = 0; item < diagram->access_items(group); item += std::max(diagram->access_items(group) / 3, 1)) {
        QAccessibleInterface* part = root->child(group)->child(item);
        part->actionInterface()->doAction(QAccessibleActionInterface::pressAction());
        ASSERT_TRUE(part->isValid());
      }
    QTest::qWait(0);  // what the last one changed is laid out and painted
  }
  std::set<QString> lanes;
  auto& canvas = window.timeline();
  for (int group = 0; group < canvas.access_groups(); ++group) lanes.insert(canvas.access_group_name(group));
  EXPECT_EQ(int(lanes.size()), canvas.access_groups()) << "no two lanes have one name";
  for (const auto& device : trace->devices)
    EXPECT_TRUE(std::any_of(lanes.begin(), lanes.end(), [&](const QString& lane) {
      return lane.contains(QString::fromStdString(device.name));
    })) << device.name;
  const int events = int(trace->event_count());
  EXPECT_EQ(items[QStringLiteral("Timeline")], events);
  EXPECT_EQ(items[QStringLiteral("Devices by time")] > 0, events > 0);
  EXPECT_EQ(items[QStringLiteral("Critical path over time")] > 0, events > 0);
  EXPECT_EQ(items[QStringLiteral("Device mesh")] > 0, !trace->devices.empty());
  EXPECT_EQ(items[QStringLiteral("Sharding of the array")] > 0, !trace->arrays.empty());
  EXPECT_EQ(items[QStringLiteral("Communication matrix")] > 0,
            std::any_of(trace->collectives.begin(), trace->collectives.end(),
                        [](const Collective& call) { return !call.open && call.type->wire_bytes > 0; }));
}

INSTANTIATE_TEST_SUITE_P(Samples, AccessOfKind, testing::ValuesIn(sample::kinds().begin(), sample::kinds().end()),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace shardlab::gui
