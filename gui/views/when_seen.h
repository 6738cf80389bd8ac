// Brings a view up to date when it is looked at: what lies behind another tab costs nothing while a run is watched.
#pragma once

#include <QObject>
#include <QWidget>

#include <functional>

namespace shardlab::gui {

// It is shown, and not behind another dock, which lies outside of its window. What covers it from within is a part of it.
bool in_sight(const QWidget& widget);

class WhenSeen : public QObject {
 public:
  // `refresh` is called on the window's thread; both outlive neither the view nor each other.
  WhenSeen(QWidget* view, std::function<void()> refresh);

  // What the view shows is out of date: it is refreshed now where it is in sight, else as soon as it comes into sight.
  void mark();
  bool stale() const { return stale_; }

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void seen();

  QWidget* view_;
  std::function<void()> refresh_;
  bool stale_ = false;
  bool watches_dock_ = false;
};

}  // namespace shardlab::gui
