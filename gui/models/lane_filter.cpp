#include "gui/models/lane_filter.h"

#include "gui/models/format.h"

namespace shardlab::gui {
namespace {

// All of a text: * is anything, ? one letter, [a-c] one of those.
QString of_glob(const QString& glob) {
  QString text;
  bool set = false;
  for (const QChar letter : glob) {
    if (letter == QLatin1Char('[')) set = true;
    if (set)
      text += letter;
    else if (letter == QLatin1Char('*'))
      text += QStringLiteral(".*");
    else if (letter == QLatin1Char('?'))
      text += QLatin1Char('.');
    else
      text += QRegularExpression::escape(QString(letter));
    if (letter == QLatin1Char(']')) set = false;
  }
  return QStringLiteral("^(%1)$").arg(text);
}

}  // namespace

LaneFilter::LaneFilter(const QString& pattern) : pattern_(pattern.trimmed()) {
  QString text = pattern_;
  if (text.startsWith(QLatin1Char('!'))) {
    others_ = true;
    text = text.mid(1).trimmed();
  }
  if (text.isEmpty()) {
    pattern_.clear();
    return;
  }
  const bool regular = text.size() > 2 && text.startsWith(QLatin1Char('/')) && text.endsWith(QLatin1Char('/'));
  if (regular) {
    text = text.mid(1, text.size() - 2);
  } else {
    const bool glob = text.contains(QLatin1Char('*')) || text.contains(QLatin1Char('?')) || text.contains(QLatin1Char('['));
    text = glob ? of_glob(text) : QRegularExpression::escape(text);
  }
  expression_ = QRegularExpression(text, QRegularExpression::CaseInsensitiveOption);
  if (!expression_.isValid()) error_ = expression_.errorString();
}

bool LaneFilter::hides(const Lane& lane) const {
  if (empty() || !error_.isEmpty()) return false;
  const bool fits = expression_.match(lane_title(lane)).hasMatch() || expression_.match(qstr(lane.name)).hasMatch();
  return fits != others_;
}

QString lane_title(const Lane& lane) { return QStringLiteral("proc %1 %2").arg(lane.process).arg(qstr(lane.name)); }

}  // namespace shardlab::gui
