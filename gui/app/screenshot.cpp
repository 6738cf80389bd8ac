#include "gui/app/screenshot.h"

#include <QBuffer>
#include <QFile>
#include <QFileInfo>
#include <QImageWriter>
#include <QPainter>
#include <QPdfWriter>
#include <QPixmap>
#include <QRegularExpression>

#include "gui/views/svg_device.h"
#include "runtime/base/error.h"

namespace shardlab::gui {
namespace {

QByteArray png(QWidget& widget) {
  QByteArray bytes;
  QBuffer buffer(&bytes);
  buffer.open(QIODevice::WriteOnly);
  QImageWriter writer(&buffer, "png");
  writer.setCompression(100);  // small files before fast ones
  if (!writer.write(widget.grab().toImage().convertToFormat(QImage::Format_RGB888))) throw IoError(writer.errorString().toStdString());
  return bytes;
}

QByteArray svg(QWidget& widget) {
  SvgDevice device(widget.size());
  QPainter painter(&device);
  widget.render(&painter);
  painter.end();
  return device.document(widget.window()->windowTitle());
}

// The writer puts the time and a random id into the file; neither says anything of the picture.
QByteArray without_time(QByteArray pdf) {
  QString text = QString::fromLatin1(pdf);
  static const QRegularExpression kDate(QStringLiteral("(D:)\\d{14}")), kIso(QStringLiteral("\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d")),
      kUuid(QStringLiteral("uuid:[0-9a-f-]{36}")), kId(QStringLiteral("/ID \\[ <[0-9a-f]+> <[0-9a-f]+> \\]"));
  text.replace(kDate, QStringLiteral("\\1") + QString(14, QLatin1Char('0')));
  text.replace(kIso, QStringLiteral("2000-01-01T00:00:00"));
  text.replace(kUuid, QStringLiteral("uuid:00000000-0000-0000-0000-000000000000"));
  for (auto it = kId.globalMatch(text); it.hasNext();) {
    const auto match = it.next();
    for (qsizetype i = match.capturedStart(); i < match.capturedEnd(); ++i)
      if (text[i].isDigit() || (text[i] >= QLatin1Char('a') && text[i] <= QLatin1Char('f'))) text[i] = QLatin1Char('0');
  }
  return text.toLatin1();
}

QByteArray pdf(QWidget& widget) {
  QByteArray bytes;
  QBuffer buffer(&bytes);
  buffer.open(QIODevice::WriteOnly);
  {
    QPdfWriter writer(&buffer);
    constexpr int kDpi = 96;
    writer.setResolution(kDpi);
    writer.setTitle(widget.window()->windowTitle());
    writer.setCreator(QStringLiteral("shardlab"));
    writer.setPageSize(QPageSize(QSizeF(widget.size()) * 72.0 / kDpi, QPageSize::Point));
    writer.setPageMargins(QMarginsF());
    QPainter painter(&writer);
    widget.render(&painter);
  }
  return without_time(bytes);
}

}  // namespace

bool display_available() {
  return !qEnvironmentVariableIsEmpty("DISPLAY") || !qEnvironmentVariableIsEmpty("WAYLAND_DISPLAY") ||
         !qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM");
}

QString picture_formats() { return QStringLiteral("*.png *.svg *.pdf *.txt"); }

void write_picture(QWidget& widget, const QString& path, const std::function<QString()>& text) {
  const QString ending = QFileInfo(path).suffix().toLower();
  QByteArray bytes;
  if (ending == QLatin1String("svg"))
    bytes = svg(widget);
  else if (ending == QLatin1String("pdf"))
    bytes = pdf(widget);
  else if (ending == QLatin1String("txt"))
    bytes = text().toUtf8();
  else if (ending == QLatin1String("png"))
    bytes = png(widget);
  else
    throw_user_error("cannot write the picture {}: \"{}\" is no format; end the name in .png, .svg, .pdf or .txt", path.toStdString(),
                     ending.toStdString());
  QFile file(path);
  if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size())
    throw IoError(fmt::format("cannot write the picture {}: {}", path.toStdString(), file.errorString().toStdString()));
}

}  // namespace shardlab::gui
