#include "gui/app/performance_panel.h"

#include <QLabel>
#include <QPainter>
#include <QTimer>
#include <QVBoxLayout>

#include "gui/app/bench.h"
#include "gui/app/main_window.h"
#include "gui/models/format.h"
#include "gui/models/frame_log.h"
#include "gui/views/theme.h"
#include "gui/views/timeline_canvas.h"

namespace shardlab::gui {
namespace {

constexpr int kRefreshMs = 250;

QString log_text(const FrameLog& log) {
  return QStringLiteral("%1 · last %2 · median %3 · 95 % %4 · longest %5 · %6 over %7")
      .arg(log.count())
      .arg(duration_text(log.last()), duration_text(log.percentile(0.5)), duration_text(log.percentile(0.95)), duration_text(log.longest()))
      .arg(log.over_budget())
      .arg(duration_text(FrameLog::kBudget));
}

// The lengths that are kept, as bars; the line is what 60 a second allow.
class LogBars : public QWidget {
 public:
  LogBars(const FrameLog& log, const QString& name, QWidget* parent) : QWidget(parent), log_(log) {
    setAccessibleName(name);
    setFixedHeight(56);
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    const Theme& theme = theme_of(this);
    QPainter painter(this);
    painter.fillRect(rect(), theme.base);
    const Ns most = std::max(2 * FrameLog::kBudget, log_.percentile(1));
    const double step = double(width()) / double(FrameLog::kKept);
    const auto height_of = [&](Ns length) { return double(length) / double(most) * height(); };
    for (std::size_t i = 0; i < log_.kept(); ++i) {
      const double tall = std::max(height_of(log_.at(i)), 1.0);
      painter.fillRect(QRectF(double(i) * step, height() - tall, std::max(step - 0.5, 1.0), tall),
                       log_.at(i) > FrameLog::kBudget ? theme.warning : theme.accent);
    }
    painter.setPen(QPen(theme.muted, 1, Qt::DashLine));
    const double line = height() - height_of(FrameLog::kBudget);
    painter.drawLine(QPointF(0, line), QPointF(width(), line));
  }

 private:
  const FrameLog& log_;
};

class PerformancePanel : public QDialog {
 public:
  explicit PerformancePanel(MainWindow& window) : QDialog(&window, Qt::Tool), window_(window) {
    setAttribute(Qt::WA_DeleteOnClose);
    setAttribute(Qt::WA_ShowWithoutActivating);
    setWindowTitle(QStringLiteral("Own Performance"));
    setObjectName(QStringLiteral("performance"));
    setFocusPolicy(Qt::NoFocus);
    auto* layout = new QVBoxLayout(this);
    layout->addWidget(new QLabel(QStringLiteral("<b>Frames of the timeline</b>"), this));
    layout->addWidget(frames_ = new QLabel(this));
    layout->addWidget(bars_ = new LogBars(window.timeline().frames(), QStringLiteral("Frames of the timeline"), this));
    layout->addWidget(new QLabel(QStringLiteral("<b>Memory</b>"), this));
    layout->addWidget(memory_ = new QLabel(this));
    layout->addStretch(1);
    resize(620, 220);
    timer_.setInterval(kRefreshMs);
    connect(&timer_, &QTimer::timeout, this, [this] { refresh(); });
    timer_.start();
    refresh();
  }

 private:
  void refresh() {
    frames_->setText(log_text(window_.timeline().frames()));
    bars_->update();
    QString text =
        QStringLiteral("resident %1, at most %2").arg(bytes_text(process_memory("VmRSS:")), bytes_text(process_memory("VmHWM:")));
    if (const TracePtr& trace = window_.selection().trace()) {
      const auto events = std::int64_t(trace->event_count());
      const auto bytes = std::int64_t(event_bytes(*trace));
      text += QStringLiteral("\n%1 in %2 take %3, %4 each; %5")
                  .arg(count_text(events, "event", "events"), count_text(std::int64_t(trace->lanes.size()), "lane", "lanes"),
                       bytes_text(bytes), bytes_text(events > 0 ? bytes / events : 0),
                       count_text(std::int64_t(trace->collectives.size()), "collective", "collectives"));
    }
    memory_->setText(text);
  }

  MainWindow& window_;
  QLabel *frames_, *memory_;
  LogBars* bars_;
  QTimer timer_;
};

}  // namespace

QDialog* make_performance_panel(MainWindow& window) { return new PerformancePanel(window); }

}  // namespace shardlab::gui
