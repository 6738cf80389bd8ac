// The keyboard alone: every entry of the key map is pressed, and what it does is seen. An entry without a script fails.
#include <gtest/gtest.h>

#include <QAction>
#include <QCoreApplication>
#include <QDialog>
#include <QSettings>
#include <QTemporaryDir>

#include <algorithm>
#include <set>

#include "gui/app/key_map.h"
#include "gui/app/main_window.h"
#include "tests/gui/key_scene.h"

namespace shardlab::gui::keys {
namespace {

Scripts scripts() {
  Scripts all = window_scripts();
  all.merge(moving_scripts());
  all.merge(setting_scripts());
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

// However often they are asked for: each one more would have to be closed, and be painted anew with every change of the theme.
TEST(Keyboard, OpensEachDialogOnce) {
  MainWindow window{Options{}};
  window.show();
  for (int i = 0; i < 3; ++i) {
    window.show_keys();
    window.show_palette();
  }
  const auto dialogs = window.findChildren<QDialog*>();
  EXPECT_EQ(dialogs.size(), 2);
  for (QDialog* each : dialogs) each->close();
  window.show_keys();
  EXPECT_TRUE(std::any_of(window.children().begin(), window.children().end(), [](QObject* each) {
    const auto* dialog = qobject_cast<QDialog*>(each);
    return dialog && dialog->isVisible();
  })) << "closed, it opens again";
}

}  // namespace
}  // namespace shardlab::gui::keys
