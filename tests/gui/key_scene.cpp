#include "tests/gui/key_scene.h"

#include <gtest/gtest.h>

#include <QApplication>
#include <QFileDialog>
#include <QLineEdit>
#include <QMessageBox>
#include <QTest>
#include <QTimer>

#include "tests/gui/sample_traces.h"

namespace shardlab::gui::keys {
namespace {
constexpr int kLooksMax = 400;
}

Scene::Scene(const KeyEntry& the_entry) : entry(the_entry), window(Options{}) {
  window.show();
  activate();
  window.show_trace(entry.id.contains(QStringLiteral("problem")) ? sample::deadlock() : sample::grid(4, 2, 2, 6));
  QTest::qWait(0);
  focus_timeline();
}

void Scene::activate() {
  window.activateWindow();
  EXPECT_TRUE(QTest::qWaitForWindowActive(&window));
}

void Scene::focus_timeline() {
  canvas().setFocus();
  QTest::qWait(0);
}

bool Scene::has_focus(std::string_view view) {
  QWidget* at = QApplication::focusWidget();
  return at && (at == &window.view(view) || window.view(view).isAncestorOf(at));
}

void Scene::press(const QKeySequence& key) {
  QWidget* at = QApplication::focusWidget();
  QTest::keyClick(at ? at : &window, key[0].key(), key[0].keyboardModifiers());
  QTest::qWait(0);
}

void Scene::name_file(const QString& path, const std::function<void()>& deed) {
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
  deed();
  EXPECT_GT(looks, 0) << "no dialog of files came up";
}

QDialog* Scene::dialog() {
  for (QWidget* top : QApplication::topLevelWidgets())
    if (auto* found = qobject_cast<QDialog*>(top); found && found->isVisible()) return found;
  return nullptr;
}

Script goes_to(std::string_view view) {
  return [=](Scene& s) {
    s.press();
    EXPECT_TRUE(s.sees(view));
    EXPECT_TRUE(s.has_focus(view));
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

}  // namespace shardlab::gui::keys
