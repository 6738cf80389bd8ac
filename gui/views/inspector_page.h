// The page of the Inspector as it is written: titles with facts below them, as HTML.
#pragma once

#include <QString>
#include <QStringList>

#include "gui/models/selection.h"
#include "gui/views/theme.h"

namespace shardlab::gui {

class Page {
 public:
  // `all`: lists are not cut.
  Page(const Theme& theme, bool all) : theme_(theme), all_(all) {}
  void title(const QString& text, const QString& note = {}) {
    close();
    text_ += QStringLiteral("<p style='margin:6px 0 4px 0'><b>%1</b> <font color='%2'>%3</font></p>").arg(text, theme_.muted.name(), note);
  }
  void fact(const char* name, const QString& value) {
    if (value.isEmpty()) return;
    open();
    text_ += QStringLiteral("<tr><td width='84'><font color='%1'>%2</font></td><td>%3</td></tr>")
                 .arg(theme_.muted.name(), QString::fromUtf8(name), value);
  }
  void paragraph(const QString& text) {
    close();
    text_ += QStringLiteral("<p>%1</p>").arg(text);
  }
  void raw(const QString& text) {
    close();
    text_ += text;
  }
  // Lines of a list, with a link to the rest where there are many.
  void facts(const char* name, QStringList lines) {
    constexpr qsizetype kLinesMax = 12;
    const qsizetype more = all_ ? 0 : lines.size() - kLinesMax - 1;  // for one the link takes as much room
    if (more > 0) {
      lines.resize(kLinesMax);
      lines << QStringLiteral("<a href='all'>and %1 more</a>").arg(more + 1);
    }
    fact(name, lines.join(QStringLiteral("<br>")));
  }
  QString done() {
    close();
    return text_;
  }
  const Theme& theme() const { return theme_; }

 private:
  void open() {
    if (!table_) text_ += QStringLiteral("<table cellspacing='0' cellpadding='2' width='100%'>");
    table_ = true;
  }
  void close() {
    if (table_) text_ += QStringLiteral("</table>");
    table_ = false;
  }
  const Theme& theme_;
  bool all_;
  QString text_;
  bool table_ = false;
};

// Which arrays it took and gave.
void describe_launch(Page& page, const TraceData& trace, const Launch& launch);
// What made the array that is chosen, every call that took it, and what its values were.
void describe_array(Page& page, const TraceData& trace, const SelectionState& state);

}  // namespace shardlab::gui
