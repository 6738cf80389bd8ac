#include "gui/views/when_seen.h"

#include <QDockWidget>
#include <QEvent>

namespace shardlab::gui {

bool in_sight(const QWidget& widget) {
  QRect seen = widget.rect();
  for (const QWidget* at = &widget; !at->isWindow() && at->parentWidget(); at = at->parentWidget())
    seen = seen.translated(at->pos()) & at->parentWidget()->rect();
  return widget.isVisible() && !seen.isEmpty();
}

WhenSeen::WhenSeen(QWidget* view, std::function<void()> refresh) : QObject(view), view_(view), refresh_(std::move(refresh)) {
  view->installEventFilter(this);
}

void WhenSeen::mark() {
  stale_ = true;
  // A dock behind another one is shown, and moved out of sight: it alone tells when it comes back.
  for (QWidget* at = view_; at && !watches_dock_; at = at->parentWidget())
    if (auto* dock = qobject_cast<QDockWidget*>(at)) {
      watches_dock_ = true;
      connect(dock, &QDockWidget::visibilityChanged, this, [this](bool visible) {
        if (visible) seen();
      });
    }
  if (in_sight(*view_)) seen();
}

bool WhenSeen::eventFilter(QObject* /*watched*/, QEvent* event) {
  if (event->type() == QEvent::Show) seen();
  return false;
}

void WhenSeen::seen() {
  if (!stale_) return;
  stale_ = false;
  refresh_();
}

}  // namespace shardlab::gui
