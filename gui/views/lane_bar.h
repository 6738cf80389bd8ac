// The line above the timeline's legend that says which lanes are hidden, and in which the pattern that hides them is typed.
#pragma once

#include <QCheckBox>
#include <QLabel>
#include <QLineEdit>

#include "gui/views/timeline_canvas.h"

namespace shardlab::gui {

// In sight only while lanes are hidden, or a pattern is typed.
class LaneBar : public QWidget {
 public:
  explicit LaneBar(TimelineCanvas& canvas, QWidget* parent = nullptr);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void refresh();
  void type();

  TimelineCanvas& canvas_;
  QLineEdit* pattern_;
  QCheckBox* empty_;
  QLabel* said_;
};

}  // namespace shardlab::gui
