// Pictures of the window, without a display where there is none.
#pragma once

#include <QString>
#include <QWidget>

namespace shardlab::gui {

// True where a window system can be reached, as far as the environment tells.
bool display_available();

// Paints `widget` and writes it as PNG. Throws IoError where the file cannot be written.
void write_picture(QWidget& widget, const QString& path);

}  // namespace shardlab::gui
