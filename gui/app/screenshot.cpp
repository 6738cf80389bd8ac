#include "gui/app/screenshot.h"

#include <QImageWriter>
#include <QPixmap>

#include "runtime/base/error.h"

namespace shardlab::gui {

bool display_available() {
  return !qEnvironmentVariableIsEmpty("DISPLAY") || !qEnvironmentVariableIsEmpty("WAYLAND_DISPLAY") ||
         !qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM");
}

void write_picture(QWidget& widget, const QString& path) {
  const QImage image = widget.grab().toImage();
  QImageWriter writer(path, "png");
  if (!writer.write(image))
    throw IoError(fmt::format("cannot write the picture {}: {}", path.toStdString(), writer.errorString().toStdString()));
}

}  // namespace shardlab::gui
