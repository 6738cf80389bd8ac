// The whole window as one HTML file: the verdict, each view as inline SVG with its text below; no script, no network.
#pragma once

#include <QByteArray>
#include <QString>

#include <string_view>
#include <vector>

namespace shardlab::gui {

class MainWindow;

// A part of the report that may be left out.
struct ReportSection {
  std::string_view id;  // of a view, or "summary"
  QString title, doc;
};
// Those that the trace shown can have, in their order: the summary of `shardlab report` where the trace is a file, then the views.
std::vector<ReportSection> report_sections(MainWindow& window);

QByteArray html_report(MainWindow& window);  // all of them
QByteArray html_report(MainWindow& window, const std::vector<ReportSection>& sections);

}  // namespace shardlab::gui
