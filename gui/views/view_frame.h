// What views of one shape share: a bar over two panes, and following the timeline's window of time.
#pragma once

#include <QAbstractButton>
#include <QList>
#include <QSplitter>
#include <QTimer>

#include <functional>
#include <vector>

#include "gui/models/background.h"
#include "gui/models/selection.h"
#include "gui/views/when_seen.h"

namespace shardlab::gui {

struct PanesDef {
  std::vector<std::vector<QWidget*>> bars;  // rows above the panes; the last of each takes what room is left
  QWidget *first = nullptr, *second = nullptr;
  QList<int> sizes;   // of the panes, beside each other
  int narrow_px = 0;  // a narrower view has them under each other
};
// Gives the widget a layout; the focus goes to the widget that is given as its proxy.
void lay_out(QWidget* view, const PanesDef& def);

// Refreshes a view that is looked at, or as soon as it is: when the trace changes, and a moment after the window of time does, while
// `follow` is checked (null: always). Made at the end of the view's constructor: what the view itself does with a new trace comes first.
class WindowFollower : public QObject {
 public:
  WindowFollower(QWidget* view, Selection& selection, Background& background, std::function<void()> refresh,
                 const QAbstractButton* follow = nullptr);
  ~WindowFollower() override;
  // What the view shows is out of date.
  void mark() { seen_.mark(); }

 private:
  const QWidget* view_;
  Background& background_;
  QTimer timer_;
  WhenSeen seen_;
};

}  // namespace shardlab::gui
