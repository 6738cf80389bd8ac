// The whole window as one HTML file: the verdict, each view as inline SVG with its text below; no script, no network.
#pragma once

#include <QByteArray>

namespace shardlab::gui {

class MainWindow;

QByteArray html_report(MainWindow& window);

}  // namespace shardlab::gui
