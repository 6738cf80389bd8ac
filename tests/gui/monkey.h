// A user without a plan: random keys, clicks, drags, wheels, words and sizes from a seed, and what the window took over each.
#pragma once

#include <QString>
#include <QTimer>

#include <functional>
#include <random>

#include "gui/app/main_window.h"

namespace shardlab::gui {

class Monkey {
 public:
  struct Deed {
    QString what;
    double cpu_ms = 0;    // of this thread, until nothing was left to handle or paint; of several the slowest
    bool dialog = false;  // a dialog of files was up: Qt's own, and its loop runs inside of ours
  };

  Monkey(MainWindow& window, unsigned seed);
  Deed step();

 private:
  bool chance(int one_in) { return pick(one_in) == 0; }
  int pick(int count) { return int(random_() % unsigned(count)); }
  QWidget* any_widget();
  QPoint any_point(const QWidget& widget);
  double frame(const std::function<void()>& run);  // what it took with all that came of it
  void part(const std::function<void()>& run);     // of a deed of several events: a frame of its own
  QString act();
  QString timeline_key();
  QString shortcut();
  QString plain_key();
  QString click();
  QString drag();
  QString wheel();
  QString hover();
  QString words();
  QString select();
  QString resize();

  MainWindow& window_;
  std::mt19937 random_;
  QTimer butler_;  // ends what waits for an answer
  bool dialog_ = false;
  double slowest_ms_ = 0, within_ms_ = 0;  // of the frames within a deed
};

}  // namespace shardlab::gui
