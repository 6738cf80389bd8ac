#include "gui/views/verdict_banner.h"

#include <QEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>
#include <QVBoxLayout>

#include "gui/models/format.h"
#include "gui/views/theme.h"

namespace shardlab::gui {
namespace {

constexpr int kLeftPx = 50, kRightPx = 14, kLinesMax = 3;

struct Tone {
  QColor ink, back;
};

Tone tone_of(const Theme& theme, VerdictLevel level) {
  switch (level) {
    case VerdictLevel::kGood:
      return {theme.good, theme.good_back};
    case VerdictLevel::kWarning:
      return {theme.warning, theme.warning_back};
    case VerdictLevel::kError:
      return {theme.error, theme.error_back};
    case VerdictLevel::kNote:
      break;
  }
  return {theme.muted, theme.raised};
}

// A sign that does not rest on colour: tick, cross, exclamation mark in a triangle, dot.
void paint_icon(QPainter& painter, const QRectF& box, VerdictLevel level, const QColor& ink, const QColor& back) {
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(ink);
  const QPointF c = box.center();
  const double r = box.width() / 2;
  if (level == VerdictLevel::kWarning)
    painter.drawPolygon(QPolygonF{{c.x(), box.top()}, {box.right(), box.bottom() - 1}, {box.left(), box.bottom() - 1}});
  else
    painter.drawEllipse(box);
  painter.setPen(QPen(back, 2.4, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
  const double s = r * 0.42;
  switch (level) {
    case VerdictLevel::kGood:
      painter.drawPolyline(QPolygonF{{c.x() - s, c.y()}, {c.x() - s * 0.2, c.y() + s * 0.8}, {c.x() + s, c.y() - s * 0.7}});
      break;
    case VerdictLevel::kError:
      painter.drawLine(QPointF(c.x() - s, c.y() - s), QPointF(c.x() + s, c.y() + s));
      painter.drawLine(QPointF(c.x() - s, c.y() + s), QPointF(c.x() + s, c.y() - s));
      break;
    default:
      painter.drawLine(QPointF(c.x(), c.y() - s * 0.7), QPointF(c.x(), c.y() + s * 0.5));
      painter.drawPoint(QPointF(c.x(), c.y() + s * 1.4));
  }
}

}  // namespace

VerdictBanner::VerdictBanner(Selection& selection, QWidget* parent)
    : QFrame(parent), selection_(selection), sentence_(new QLabel(this)), context_(new QLabel(this)) {
  setAccessibleName(QStringLiteral("Verdict"));
  QFont large = font();
  large.setPixelSize(15);
  large.setBold(true);
  sentence_->setFont(large);
  sentence_->setWordWrap(true);
  sentence_->setTextFormat(Qt::PlainText);
  sentence_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Ignored);
  sentence_->setAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  context_->setTextFormat(Qt::PlainText);
  context_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
  for (auto* label : {sentence_, context_}) label->setAttribute(Qt::WA_TransparentForMouseEvents);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(kLeftPx, 8, kRightPx, 8);
  layout->setSpacing(2);
  layout->addWidget(sentence_, 1);
  layout->addWidget(context_);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  connect(&selection, &Selection::trace_changed, this, [this] {
    if (selection_.trace()) set(make_verdict(*selection_.trace()));
  });
}

void VerdictBanner::set(const Verdict& verdict) {
  verdict_ = verdict;
  setAccessibleDescription(verdict.sentence);
  setCursor(verdict.level == VerdictLevel::kError ? Qt::PointingHandCursor : Qt::ArrowCursor);
  restyle();
}

void VerdictBanner::show_loading(const QString& path, double fraction) {
  set({.level = VerdictLevel::kNote,
       .sentence = QStringLiteral("Reading the trace …"),
       .context = fraction > 0 ? QStringLiteral("%1 · %2 %").arg(path).arg(int(fraction * 100)) : path});
}

void VerdictBanner::show_failure(const QString& message) {
  set({.level = VerdictLevel::kError, .sentence = QStringLiteral("The trace could not be opened."), .context = message});
}

// The sentence, or as many of its words as the lines have room for.
QString VerdictBanner::fitting(const QFontMetrics& metrics, int width, int height) const {
  const auto fits = [&](const QString& text) {
    return metrics.boundingRect(QRect(0, 0, width, 4 * height), Qt::TextWordWrap, text).height() <= height;
  };
  QString text = verdict_.sentence;
  for (qsizetype end = text.lastIndexOf(QLatin1Char(' ')); end > 0 && !fits(text);
       end = verdict_.sentence.lastIndexOf(QLatin1Char(' '), end - 1))
    text = verdict_.sentence.left(end) + QStringLiteral(" …");
  return text;
}

void VerdictBanner::restyle() {
  const Theme& theme = theme_of(this);
  QPalette ink = palette();
  ink.setColor(QPalette::WindowText, tone_of(theme, verdict_.level).ink);
  sentence_->setPalette(ink);
  ink.setColor(QPalette::WindowText, theme.muted);
  context_->setPalette(ink);
  // As high as its sentence needs, up to three lines.
  const QFontMetrics large(sentence_->font());
  const int room = std::max(width() - kLeftPx - kRightPx, 100);
  const QString shown = fitting(large, room, kLinesMax * large.lineSpacing());
  const int lines_height = large.boundingRect(QRect(0, 0, room, 1000), Qt::TextWordWrap, shown).height();
  setFixedHeight(std::max(lines_height, large.height()) + QFontMetrics(context_->font()).height() + 20);
  sentence_->setText(shown);
  sentence_->setToolTip(verdict_.sentence);
  context_->setText(QFontMetrics(context_->font()).elidedText(verdict_.context, Qt::ElideMiddle, std::max(width() - 70, 100)));
  context_->setToolTip(verdict_.context);
  update();
}

void VerdictBanner::paintEvent(QPaintEvent*) {
  const Theme& theme = theme_of(this);
  const Tone tone = tone_of(theme, verdict_.level);
  QPainter painter(this);
  painter.fillRect(rect(), tone.back);
  painter.fillRect(QRect(0, 0, 5, height()), tone.ink);
  painter.fillRect(QRect(0, height() - 1, width(), 1), theme.line);
  paint_icon(painter, QRectF(17, height() / 2.0 - 11, 22, 22), verdict_.level, tone.ink, tone.back);
}

void VerdictBanner::mousePressEvent(QMouseEvent*) {
  if (selection_.trace() && !selection_.trace()->diagnoses.empty()) selection_.select_diagnosis(0, this);
}

void VerdictBanner::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange) restyle();
  QFrame::changeEvent(event);
}

void VerdictBanner::resizeEvent(QResizeEvent* event) {
  QFrame::resizeEvent(event);
  restyle();
}

}  // namespace shardlab::gui
