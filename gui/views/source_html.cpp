#include "gui/views/source_html.h"

#include "gui/models/format.h"

namespace shardlab::gui {

QString source_html(const traces::SourceLines& source, const Theme& theme) {
  if (source.lines.empty()) return {};
  QString text;
  for (std::size_t i = 0; i < source.lines.size(); ++i) {
    const bool here = source.first + int(i) == source.line;
    const QString line = QStringLiteral("%1  %2").arg(source.first + int(i), 4).arg(qstr(source.lines[i])).toHtmlEscaped();
    text += QStringLiteral("<tr><td bgcolor='%1'><pre style='margin:0; color:%2; white-space:pre-wrap'>%3</pre></td></tr>")
                .arg((here ? theme.differ_back : theme.lane_alternate).name(), (here ? theme.text : theme.muted).name(), line);
  }
  return QStringLiteral("<table cellspacing='0' cellpadding='1' width='100%'>%1</table>").arg(text);
}

}  // namespace shardlab::gui
