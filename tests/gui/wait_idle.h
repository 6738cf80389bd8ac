// Runs the event loop until a window has nothing left to load, lay out or paint: what tests do instead of sleeping.
#pragma once

#include <QEventLoop>
#include <QTimer>

#include "gui/app/main_window.h"

namespace shardlab::gui {

// False where it took longer than `limit_ms`.
inline bool wait_idle(MainWindow& window, int limit_ms = 20'000) {
  QEventLoop loop;
  bool idle = false;
  QObject::connect(&window, &MainWindow::idle, &loop, [&] {
    idle = true;
    loop.quit();
  });
  QTimer::singleShot(limit_ms, &loop, &QEventLoop::quit);
  loop.exec();
  return idle;
}

}  // namespace shardlab::gui
