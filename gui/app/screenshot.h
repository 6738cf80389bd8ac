// One path from a widget to a file: PNG, SVG, PDF as painted, or text that says the same. Equal pictures give equal bytes.
#pragma once

#include <QString>
#include <QWidget>

#include <functional>

namespace shardlab::gui {

// True where a window system can be reached, as far as the environment tells.
bool display_available();

// The formats, as "*.png *.svg *.pdf *.txt".
QString picture_formats();

// Paints `widget` into `path`, in the format that its ending names; `text` gives what a .txt holds. Throws IoError where the file
// cannot be written, UserError where the ending is no format.
void write_picture(QWidget& widget, const QString& path, const std::function<QString()>& text);

}  // namespace shardlab::gui
