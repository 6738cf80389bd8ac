#include "gui/views/lane_bar.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QToolButton>

#include "gui/models/format.h"

namespace shardlab::gui {

LaneBar::LaneBar(TimelineCanvas& canvas, QWidget* parent)
    : QWidget(parent),
      canvas_(canvas),
      pattern_(new QLineEdit(this)),
      empty_(new QCheckBox(QStringLiteral("without events in sight"), this)),
      said_(new QLabel(this)) {
  pattern_->setAccessibleName(QStringLiteral("Hide lanes by a pattern"));
  pattern_->setPlaceholderText(QStringLiteral("CPU 1, proc 0 *, /CPU [0-3]$/, !proc 2"));
  pattern_->setToolTip(
      QStringLiteral("A part of the lanes' names, a glob or a /regular expression/; with ! before it all others are hidden. "
                     "Pinned lanes stay. Enter goes back to the timeline, Esc takes the pattern away"));
  pattern_->setMaximumWidth(300);
  pattern_->installEventFilter(this);
  empty_->setToolTip(QStringLiteral("Hide lanes that have no event in the window of time (Shift+E)"));
  said_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  auto* all = new QToolButton(this);
  all->setText(QStringLiteral("Show all"));
  all->setToolTip(QStringLiteral("Show all lanes (Shift+H)"));
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(8, 3, 8, 3);
  layout->setSpacing(6);
  layout->addWidget(new QLabel(QStringLiteral("Hide lanes"), this));
  layout->addWidget(pattern_, 1);
  layout->addWidget(empty_);
  layout->addWidget(said_, 2);
  layout->addWidget(all);
  setVisible(false);
  connect(pattern_, &QLineEdit::textEdited, this, [this] { type(); });
  connect(empty_, &QCheckBox::clicked, &canvas, &TimelineCanvas::toggle_hide_empty);
  connect(all, &QToolButton::clicked, this, [this] {
    canvas_.show_all_rows();
    canvas_.setFocus();
  });
  connect(&canvas, &TimelineCanvas::rows_changed, this, [this] { refresh(); });
  connect(&canvas, &TimelineCanvas::lane_filter_asked, this, [this] {
    setVisible(true);
    pattern_->setFocus(Qt::ShortcutFocusReason);
    pattern_->selectAll();
  });
}

void LaneBar::type() {
  canvas_.lane_filter = LaneFilter(pattern_->text());
  canvas_.set_up();
}

void LaneBar::refresh() {
  const TimelineCanvas::Hidden hidden = canvas_.hidden_lanes();
  const Theme& theme = theme_of(this);
  if (!pattern_->hasFocus()) pattern_->setText(canvas_.lane_filter.pattern());
  empty_->setChecked(canvas_.hide_empty);
  const QString& error = canvas_.lane_filter.error();
  QString text = hidden.lanes == 0 ? QStringLiteral("no lane is hidden") : count_text(hidden.lanes, "lane hidden", "lanes hidden");
  if (hidden.with_errors > 0)
    text += QStringLiteral(", <font color='%1'><b>%2 with an error</b></font>").arg(theme.error.name()).arg(hidden.with_errors);
  if (!error.isEmpty()) text = QStringLiteral("<font color='%1'>no pattern: %2</font>").arg(theme.error.name(), error.toHtmlEscaped());
  said_->setText(text);
  said_->setToolTip(text);
  setVisible(hidden.lanes > 0 || canvas_.hide_empty || !canvas_.lane_filter.empty() || pattern_->hasFocus());
}

bool LaneBar::eventFilter(QObject*, QEvent* event) {
  if (event->type() == QEvent::FocusOut) {
    refresh();
    return false;
  }
  if (event->type() != QEvent::KeyPress) return false;
  const int key = static_cast<QKeyEvent*>(event)->key();
  if (key != Qt::Key_Escape && key != Qt::Key_Return && key != Qt::Key_Enter) return false;
  if (key == Qt::Key_Escape) {
    pattern_->clear();
    type();
  }
  canvas_.setFocus(Qt::ShortcutFocusReason);
  return true;
}

}  // namespace shardlab::gui
