// A window in sight over a trace, active as a person's would be.
#pragma once

#include <gtest/gtest.h>

#include <QTest>

#include "gui/app/main_window.h"

namespace shardlab::gui {

// Keys go to the active window; without a window manager nothing becomes it by itself when a dialog goes.
inline void activate(MainWindow& window) {
  window.activateWindow();
  EXPECT_TRUE(QTest::qWaitForWindowActive(&window));
}

struct Shown {
  explicit Shown(TracePtr trace, const Options& options = {}) : window(options) {
    window.show();
    activate(window);
    window.show_trace(std::move(trace));
    QTest::qWait(0);
  }
  MainWindow window;
};

}  // namespace shardlab::gui
