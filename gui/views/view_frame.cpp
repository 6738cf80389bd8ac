#include "gui/views/view_frame.h"

#include <QHBoxLayout>
#include <QVBoxLayout>

namespace shardlab::gui {
namespace {

constexpr int kFollowMs = 80;

// Two panes beside each other, or under each other where they would be too narrow to be read.
class Panes : public QSplitter {
 public:
  Panes(const PanesDef& def, QWidget* parent) : QSplitter(Qt::Horizontal, parent), narrow_px_(def.narrow_px), beside_(def.sizes) {
    addWidget(def.first);
    addWidget(def.second);
    setSizes(def.sizes);
    setChildrenCollapsible(false);
  }

 protected:
  void resizeEvent(QResizeEvent* event) override {
    const Qt::Orientation wanted = width() < narrow_px_ ? Qt::Vertical : Qt::Horizontal;
    if (wanted != orientation()) {
      // What nobody has seen yet, a window that is still being laid out, is no choice of sizes.
      if (isVisible()) (orientation() == Qt::Horizontal ? beside_ : below_) = sizes();
      setOrientation(wanted);
      setSizes(wanted == Qt::Horizontal ? beside_ : below_);
    }
    QSplitter::resizeEvent(event);
  }

 private:
  int narrow_px_;
  QList<int> beside_, below_{100, 100};  // as they were left in each orientation
};

}  // namespace

void lay_out(QWidget* view, const PanesDef& def) {
  auto* layout = new QVBoxLayout(view);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  for (std::size_t b = 0; b < def.bars.size(); ++b) {
    auto* bar = new QHBoxLayout;
    bar->setContentsMargins(8, b == 0 ? 5 : 0, 8, 5);
    bar->setSpacing(6);
    for (QWidget* each : def.bars[b]) bar->addWidget(each, each == def.bars[b].back() ? 1 : 0);
    layout->addLayout(bar);
  }
  layout->addWidget(new Panes(def, view), 1);
}

WindowFollower::WindowFollower(QWidget* view, Selection& selection, Background& background, std::function<void()> refresh,
                               const QAbstractButton* follow)
    : QObject(view), view_(view), background_(background), seen_(view, std::move(refresh)) {
  timer_.setSingleShot(true);
  timer_.setInterval(kFollowMs);
  connect(&timer_, &QTimer::timeout, this, [this] { seen_.mark(); });
  if (follow) connect(follow, &QAbstractButton::toggled, this, [this] { seen_.mark(); });
  connect(&selection, &Selection::trace_changed, this, [this] {
    background_.cancel(view_);
    seen_.mark();
  });
  connect(&selection, &Selection::visible_changed, this, [this, follow] {
    if ((!follow || follow->isChecked()) && !timer_.isActive()) timer_.start();
  });
}

WindowFollower::~WindowFollower() { background_.cancel(view_); }

}  // namespace shardlab::gui
