// A user without a plan: random keys, clicks, drags, wheels, words and sizes from a seed, and what the window took over each.
#pragma once

#include <QString>
#include <QTimer>

#include <random>

#include "gui/app/main_window.h"

namespace shardlab::gui {

class Monkey {
 public:
  struct Deed {
    QString what;
    double cpu_ms = 0;    // of this thread, until nothing was left to handle or paint
    bool dialog = false;  // a dialog of files was up: Qt's own, and its loop runs inside of ours
  };

  Monkey(MainWindow& window, unsigned seed);
  Deed step();

 private:
  bool chance(int one_in) { return pick(one_in) == 0; }
  int pick(int count) { return int(random_() % unsigned(count)); }
  QWidget* any_widget();
  QPoint any_point(const QWidget& widget);
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
};

}  // namespace shardlab::gui
