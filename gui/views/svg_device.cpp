#include "gui/views/svg_device.h"

#include <QBuffer>
#include <QImage>
#include <QPainterPath>
#include <QPixmap>

#include <map>

namespace shardlab::gui {
namespace {

QByteArray number(double value) {
  QByteArray text = QByteArray::number(value, 'f', 2);
  while (text.endsWith('0')) text.chop(1);
  if (text.endsWith('.')) text.chop(1);
  return text == "-0" ? QByteArray("0") : text;
}

QByteArray path_data(const QPainterPath& path) {
  QByteArray data;
  for (int i = 0; i < path.elementCount(); ++i) {
    const auto at = path.elementAt(i);
    switch (at.type) {
      case QPainterPath::MoveToElement:
        data += "M";
        break;
      case QPainterPath::LineToElement:
        data += "L";
        break;
      case QPainterPath::CurveToElement:
        data += "C";
        break;
      case QPainterPath::CurveToDataElement:
        data += " ";
        break;
    }
    data += number(at.x) + ' ' + number(at.y);
  }
  return data;
}

QByteArray opacity(const char* name, const QColor& colour, double more) {
  const double alpha = colour.alphaF() * more;
  return alpha >= 0.999 ? QByteArray() : QByteArray(" ") + name + "=\"" + number(alpha) + "\"";
}

}  // namespace

class SvgEngine : public QPaintEngine {
 public:
  SvgEngine()
      : QPaintEngine(PaintEngineFeatures(QPaintEngine::AllFeatures) &
                     ~(PatternTransform | PerspectiveTransform | ConicalGradientFill | RasterOpModes | ObjectBoundingModeGradients)) {}

  bool begin(QPaintDevice*) override {
    body_.clear();
    definitions_.clear();
    patterns_.clear();
    clips_.clear();
    setActive(true);
    return true;
  }
  bool end() override {
    setActive(false);
    return true;
  }
  Type type() const override { return QPaintEngine::SVG; }

  void updateState(const QPaintEngineState& changed) override {
    const DirtyFlags dirty = changed.state();
    if (dirty & DirtyPen) pen_ = changed.pen();
    if (dirty & DirtyBrush) brush_ = changed.brush();
    if (dirty & DirtyFont) font_ = changed.font();
    if (dirty & DirtyOpacity) opacity_ = changed.opacity();
    if (dirty & DirtyTransform) transform_ = changed.transform();
    if (dirty & (DirtyClipPath | DirtyClipRegion | DirtyClipEnabled | DirtyTransform)) {
      has_clip_ = painter()->hasClipping();
      if (has_clip_) clip_ = transform_.map(painter()->clipPath());
    }
  }

  void drawRects(const QRectF* rects, int count) override {
    for (int i = 0; i < count; ++i) {
      QPainterPath path;
      path.addRect(rects[i]);
      draw(path, true);
    }
  }
  void drawRects(const QRect* rects, int count) override {
    for (int i = 0; i < count; ++i) {
      const QRectF each(rects[i]);
      drawRects(&each, 1);
    }
  }
  void drawLines(const QLineF* lines, int count) override {
    for (int i = 0; i < count; ++i) {
      QPainterPath path(lines[i].p1());
      path.lineTo(lines[i].p2());
      draw(path, false);
    }
  }
  void drawLines(const QLine* lines, int count) override {
    for (int i = 0; i < count; ++i) {
      const QLineF each(lines[i]);
      drawLines(&each, 1);
    }
  }
  void drawEllipse(const QRectF& rect) override {
    QPainterPath path;
    path.addEllipse(rect);
    draw(path, true);
  }
  void drawPath(const QPainterPath& path) override { draw(path, true); }
  void drawPolygon(const QPointF* points, int count, PolygonDrawMode mode) override {
    QPainterPath path(points[0]);
    for (int i = 1; i < count; ++i) path.lineTo(points[i]);
    if (mode != PolylineMode) path.closeSubpath();
    draw(path, mode != PolylineMode);
  }
  void drawPoints(const QPointF* points, int count) override {
    for (int i = 0; i < count; ++i) {
      const QLineF dot(points[i], points[i] + QPointF(0.01, 0));
      drawLines(&dot, 1);
    }
  }
  void drawPixmap(const QRectF& box, const QPixmap& pixmap, const QRectF& source) override { drawImage(box, pixmap.toImage(), source); }
  void drawImage(const QRectF& box, const QImage& image, const QRectF& source, Qt::ImageConversionFlags = Qt::AutoColor) override {
    QByteArray bytes;
    QBuffer buffer(&bytes);
    buffer.open(QIODevice::WriteOnly);
    image.copy(source.toRect()).save(&buffer, "PNG");
    body_ += "<image x=\"" + number(box.x()) + "\" y=\"" + number(box.y()) + "\" width=\"" + number(box.width()) + "\" height=\"" +
             number(box.height()) + "\" preserveAspectRatio=\"none\"" + placed() + " href=\"data:image/png;base64," + bytes.toBase64() +
             "\"/>\n";
  }
  void drawTextItem(const QPointF& at, const QTextItem& item) override {
    const QFont font = item.font();
    body_ += "<text x=\"" + number(at.x()) + "\" y=\"" + number(at.y()) + "\" font-family=\"" + font.family().toHtmlEscaped().toUtf8() +
             ", sans-serif\" font-size=\"" + number(font.pixelSize() > 0 ? font.pixelSize() : font.pointSizeF() * 4 / 3) + "\"";
    if (font.weight() > QFont::Medium) body_ += " font-weight=\"" + QByteArray::number(font.weight()) + "\"";
    if (font.italic()) body_ += " font-style=\"italic\"";
    // A reader without the font still gets lines of the same length.
    if (item.text().size() > 1) body_ += " textLength=\"" + number(item.width()) + "\" lengthAdjust=\"spacingAndGlyphs\"";
    body_ += " fill=\"" + pen_.color().name().toUtf8() + "\"" + opacity("fill-opacity", pen_.color(), opacity_) + placed() + ">" +
             item.text().toHtmlEscaped().toUtf8() + "</text>\n";
  }

  QByteArray body_, definitions_;

 private:
  void draw(const QPainterPath& path, bool fill) {
    const bool filled = fill && brush_.style() != Qt::NoBrush;
    const bool stroked = pen_.style() != Qt::NoPen;
    if (!filled && !stroked) return;
    body_ += "<path d=\"" + path_data(path) + "\"";
    body_ += filled ? fill_of() : QByteArray(" fill=\"none\"");
    if (filled && path.fillRule() == Qt::OddEvenFill) body_ += " fill-rule=\"evenodd\"";
    if (stroked) {
      body_ += " stroke=\"" + pen_.color().name().toUtf8() + "\"" + opacity("stroke-opacity", pen_.color(), opacity_);
      const double width = std::max(pen_.widthF(), 1.0);
      if (width != 1.0) body_ += " stroke-width=\"" + number(width) + "\"";
      if (pen_.style() != Qt::SolidLine) {
        QByteArray dashes;
        for (const double dash : pen_.dashPattern()) dashes += (dashes.isEmpty() ? "" : " ") + number(dash * width);
        body_ += " stroke-dasharray=\"" + dashes + "\"";
      }
      if (pen_.capStyle() == Qt::RoundCap) body_ += " stroke-linecap=\"round\"";
    }
    body_ += placed() + "/>\n";
  }

  QByteArray fill_of() {
    const QColor colour = brush_.color();
    if (brush_.style() == Qt::LinearGradientPattern && brush_.gradient()) {
      const auto& gradient = *static_cast<const QLinearGradient*>(brush_.gradient());
      const QByteArray id = "g" + QByteArray::number(next_++);
      definitions_ += "<linearGradient id=\"" + id + "\" gradientUnits=\"userSpaceOnUse\" x1=\"" + number(gradient.start().x()) +
                      "\" y1=\"" + number(gradient.start().y()) + "\" x2=\"" + number(gradient.finalStop().x()) + "\" y2=\"" +
                      number(gradient.finalStop().y()) + "\">";
      for (const auto& [at, stop] : gradient.stops())
        definitions_ +=
            "<stop offset=\"" + number(at) + "\" stop-color=\"" + stop.name().toUtf8() + "\"" + opacity("stop-opacity", stop, 1) + "/>";
      definitions_ += "</linearGradient>\n";
      return " fill=\"url(#" + id + ")\"";
    }
    if (brush_.style() >= Qt::Dense1Pattern && brush_.style() <= Qt::DiagCrossPattern) {
      const bool rising = brush_.style() == Qt::BDiagPattern;
      QByteArray& id = patterns_[{int(brush_.style()), colour.rgba()}];
      if (id.isEmpty()) {
        id = "p" + QByteArray::number(next_++);
        definitions_ += "<pattern id=\"" + id + "\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\"><path d=\"" +
                        (rising ? "M-1 1L1 -1M0 8L8 0M7 9L9 7" : "M-1 7L1 9M0 0L8 8M7 -1L9 1") + "\" stroke=\"" + colour.name().toUtf8() +
                        "\"" + opacity("stroke-opacity", colour, opacity_) + "/></pattern>\n";
      }
      return " fill=\"url(#" + id + ")\"";
    }
    return " fill=\"" + colour.name().toUtf8() + "\"" + opacity("fill-opacity", colour, opacity_);
  }

  // The transformation and the clip of what is drawn now.
  QByteArray placed() {
    QByteArray text;
    if (transform_.type() == QTransform::TxTranslate)
      text += " transform=\"translate(" + number(transform_.dx()) + "," + number(transform_.dy()) + ")\"";
    else if (!transform_.isIdentity())
      text += " transform=\"matrix(" + number(transform_.m11()) + "," + number(transform_.m12()) + "," + number(transform_.m21()) + "," +
              number(transform_.m22()) + "," + number(transform_.dx()) + "," + number(transform_.dy()) + ")\"";
    if (!has_clip_) return text;
    // A clip lies in the coordinates of what it clips.
    const QByteArray data = path_data(transform_.inverted().map(clip_));
    QByteArray& id = clips_[data];
    if (id.isEmpty()) {
      id = "c" + QByteArray::number(next_++);
      definitions_ += "<clipPath id=\"" + id + "\"><path d=\"" + data + "\"/></clipPath>\n";
    }
    return text + " clip-path=\"url(#" + id + ")\"";
  }

  QPen pen_;
  QBrush brush_;
  QFont font_;
  QTransform transform_;
  QPainterPath clip_;
  bool has_clip_ = false;
  double opacity_ = 1;
  int next_ = 0;
  std::map<std::pair<int, QRgb>, QByteArray> patterns_;
  std::map<QByteArray, QByteArray> clips_;
};

SvgDevice::SvgDevice(QSize size) : size_(size), engine_(std::make_unique<SvgEngine>()) {}
SvgDevice::~SvgDevice() = default;
QPaintEngine* SvgDevice::paintEngine() const { return engine_.get(); }

QByteArray SvgDevice::document(const QString& title) const {
  const QByteArray w = QByteArray::number(size_.width()), h = QByteArray::number(size_.height());
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + w + "\" height=\"" + h +
         "\" viewBox=\"0 0 " + w + " " + h + "\">\n<title>" + title.toHtmlEscaped().toUtf8() + "</title>\n<defs>\n" +
         engine_->definitions_ + "</defs>\n" + engine_->body_ + "</svg>\n";
}

int SvgDevice::metric(PaintDeviceMetric metric) const {
  constexpr int kDpi = 96;
  switch (metric) {
    case PdmWidth:
      return size_.width();
    case PdmHeight:
      return size_.height();
    case PdmWidthMM:
      return int(size_.width() * 25.4 / kDpi);
    case PdmHeightMM:
      return int(size_.height() * 25.4 / kDpi);
    case PdmNumColors:
      return 1 << 24;
    case PdmDepth:
      return 32;
    case PdmDpiX:
    case PdmDpiY:
    case PdmPhysicalDpiX:
    case PdmPhysicalDpiY:
      return kDpi;
    case PdmDevicePixelRatio:
      return 1;
    case PdmDevicePixelRatioScaled:
      return int(devicePixelRatioFScale());
  }
  return 0;
}

}  // namespace shardlab::gui
