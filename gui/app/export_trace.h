// The trace that is open, for other tools: the formats of `shardlab export`.
#pragma once

namespace shardlab::gui {

class MainWindow;

// Asks for a file, whose ending says the format, and writes it beside the window's thread; the status bar says what came of it.
void choose_and_export(MainWindow& window);

}  // namespace shardlab::gui
