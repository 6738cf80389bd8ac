// The timeline: overview strip, canvas, and the line that explains its signs.
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QVBoxLayout>

#include <set>
#include <vector>

#include "gui/models/format.h"
#include "gui/models/text_twin.h"
#include "gui/views/lane_bar.h"
#include "gui/views/timeline_canvas.h"
#include "gui/views/timeline_minimap.h"
#include "gui/views/touch_mark.h"
#include "gui/views/view_def.h"

namespace shardlab::gui {
namespace {

// What colours and patterns mean, for the kinds that this trace has.
class Legend : public QWidget {
 public:
  explicit Legend(Selection& selection, QWidget* parent = nullptr) : QWidget(parent), selection_(selection) {
    setFixedHeight(24);
    setAccessibleName(QStringLiteral("Legend of the timeline"));
    connect(&selection, &Selection::trace_changed, this, [this] {
      find_kinds();
      update();
    });
    connect(&selection, &Selection::changed, this, [this] { update(); });
  }
  void set_hint(const QString& text) {
    hint_ = text;
    update();
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    const Theme& theme = theme_of(this);
    QPainter painter(this);
    painter.fillRect(rect(), theme.window);
    std::vector<std::pair<QBrush, QString>> entries;
    if (compute_) entries.emplace_back(theme.compute, QStringLiteral("compute"));
    for (const auto& kind : kinds_) entries.emplace_back(theme.collective(kind), qstr(kind));
    auto kinds_end = entries.end() - entries.begin();
    if (!kinds_.empty()) entries.emplace_back(QBrush(theme.muted, Qt::BDiagPattern), QStringLiteral("waiting for peers"));
    if (host_) entries.emplace_back(theme.host, QStringLiteral("host read"));
    if (memory_) entries.emplace_back(memory_colour(theme), QStringLiteral("memory of arrays"));
    if (error_) entries.emplace_back(theme.error, QStringLiteral("diagnosed"));
    // Where there is no room for all, the bars still name their kinds; what the other signs mean stands here alone.
    const auto end = [&] {
      int x = 8;
      for (const auto& [brush, text] : entries) x += 35 + fontMetrics().horizontalAdvance(text);
      return x;
    };
    const QStringList touched = touched_names();
    int signs = 0;
    for (const QString& name : touched) signs += 35 + fontMetrics().horizontalAdvance(name);
    while (end() + signs > width() + 8 && kinds_end > (compute_ ? 1 : 0)) entries.erase(entries.begin() + --kinds_end);
    int x = 8;
    for (const auto& [brush, text] : entries) {
      painter.fillRect(QRect(x, 7, 14, 10), theme.base);
      painter.fillRect(QRect(x, 7, 14, 10), brush);
      painter.setPen(theme.muted);
      painter.drawText(x + 19, 16, text);
      x += 35 + fontMetrics().horizontalAdvance(text);
    }
    for (qsizetype i = 0; i < touched.size(); ++i) {
      paint_touch_mark(painter, QRectF(x, 7, 14, 10), i == 0, theme);
      painter.setPen(theme.muted);
      painter.drawText(x + 19, 16, touched[i]);
      x += 35 + fontMetrics().horizontalAdvance(touched[i]);
    }
    painter.setPen(theme.muted);
    const QString hint =
        hint_.isEmpty() ? QStringLiteral("W A S D · Ctrl+wheel zoom · drag selects · Shift+drag measures · F fit · Backspace back") : hint_;
    const int room = width() - x - 8;
    if (fontMetrics().horizontalAdvance(hint) < room)
      painter.drawText(QRect(x, 0, room, height()), Qt::AlignRight | Qt::AlignVCenter, hint);
  }

 private:
  // What the marks of the chosen array mean: of its maker, of those that took it.
  QStringList touched_names() const {
    constexpr int kNamePx = 110;
    const TracePtr& trace = selection_.trace();
    const SelectionState& state = selection_.state();
    if (!trace || !trace->array_uses || !state.touched) return {};
    const QString name = fontMetrics().elidedText(qstr(trace->arrays[std::size_t(state.array)].display_name()), Qt::ElideMiddle, kNamePx);
    return {QStringLiteral("made ") + name, QStringLiteral("took ") + name};
  }
  void find_kinds() {
    kinds_.clear();
    compute_ = host_ = error_ = memory_ = false;
    const TracePtr& trace = selection_.trace();
    if (!trace) return;
    std::uint8_t flags = 0;
    for (const auto& lane : trace->lanes) flags |= lane.events->summary().flags;
    compute_ = flags & kFlagCompute;
    host_ = flags & kFlagHost;
    error_ = flags & kFlagError;
    memory_ = trace->memory && !trace->memory->empty();
    for (const auto& call : trace->collectives) kinds_.insert(call.type->kind);
  }
  Selection& selection_;
  std::set<std::string> kinds_;
  bool compute_ = false, host_ = false, error_ = false, memory_ = false;
  QString hint_;
};

QWidget* make_timeline(ViewContext& context) {
  auto* view = new QWidget;
  auto* canvas = new TimelineCanvas(context.selection, context.background, view);
  auto* minimap = new TimelineMinimap(context.background, canvas->label_width(), view);
  auto* legend = new Legend(context.selection, view);
  auto* layout = new QVBoxLayout(view);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  layout->addWidget(minimap);
  layout->addWidget(canvas, 1);
  layout->addWidget(new LaneBar(*canvas, view));
  layout->addWidget(legend);
  view->setFocusProxy(canvas);
  QObject::connect(canvas, &TimelineCanvas::window_changed, minimap, &TimelineMinimap::set_window);
  canvas->request = context.request;
  // On another axis times mean something else: the other views then have the whole.
  QObject::connect(canvas, &TimelineCanvas::window_changed, &context.selection, [canvas, selection = &context.selection](TimeRange window) {
    if (selection->trace()) selection->set_visible(canvas->axis() == TimeAxis::kWall ? window : selection->trace()->range);
  });
  QObject::connect(minimap, &TimelineMinimap::window_asked, canvas,
                   [canvas](TimeRange window) { canvas->set_window(window, WindowStep::kGlide); });
  QObject::connect(canvas, &TimelineCanvas::hovered, legend, &Legend::set_hint);
  QObject::connect(canvas, &TimelineCanvas::shown_changed, minimap, [canvas, minimap] {
    minimap->set_trace(canvas->shown(), canvas->scale().limits());
    minimap->set_window(canvas->scale().window());
  });
  return view;
}

}  // namespace

const ViewDef kTimelineView{
    .id = "timeline",
    .title = "Timeline",
    .key = "Ctrl+Shift+T",
    .doc = "What every device did when: compute, collectives over all their members, host reads",
    .area = ViewArea::kCentre,
    .make = make_timeline,
    .text =
        [](const Selection& s) {
          const SelectionState& state = s.state();
          const QString text = timeline_text(*s.trace(), s.visible());
          if (!state.touched) return text;
          return text +
                 QStringLiteral("marked: the launches that touched %1\n")
                     .arg(qstr(s.trace()->arrays[std::size_t(state.array)].display_name())) +
                 uses_text(*s.trace(), state.array, state.device);
        },
};

}  // namespace shardlab::gui
