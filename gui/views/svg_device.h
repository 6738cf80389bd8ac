// A paint device that writes SVG: rectangles, lines, paths, text as text, patterns; equal pictures give equal bytes.
#pragma once

#include <QPaintDevice>
#include <QPaintEngine>

#include <memory>

namespace shardlab::gui {

class SvgEngine;

class SvgDevice : public QPaintDevice {
 public:
  explicit SvgDevice(QSize size);
  ~SvgDevice() override;
  QPaintEngine* paintEngine() const override;
  // The document; paint first, and end the painter.
  QByteArray document(const QString& title) const;

 protected:
  int metric(PaintDeviceMetric metric) const override;

 private:
  QSize size_;
  std::unique_ptr<SvgEngine> engine_;
};

}  // namespace shardlab::gui
