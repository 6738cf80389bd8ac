// The main of every GUI test: an application on the offscreen platform unless told otherwise, in the style of the program.
#include <gtest/gtest.h>

#include <QApplication>

#include "gui/app/main_window.h"

int main(int argc, char** argv) {
  // Another platform has real windows: the pass under Xvfb.
  qputenv("QT_QPA_PLATFORM", qEnvironmentVariableIsSet("SHARDLAB_TEST_PLATFORM") ? qgetenv("SHARDLAB_TEST_PLATFORM") : "offscreen");
  testing::InitGoogleTest(&argc, argv);
  QApplication application(argc, argv);
  shardlab::gui::apply_style(false);
  return RUN_ALL_TESTS();
}
