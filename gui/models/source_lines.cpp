#include "gui/models/source_lines.h"

#include <QFile>
#include <QFileInfo>
#include <QTextStream>

#include "gui/models/format.h"

namespace shardlab::gui {
namespace {

constexpr qint64 kFileBytesMax = 8 << 20;

QString find(const QString& file, const QString& trace_folder) {
  const QString base = QFileInfo(file).fileName();
  for (const QString& candidate : {file, trace_folder + QLatin1Char('/') + file, trace_folder + QLatin1Char('/') + base}) {
    const QFileInfo info(candidate);
    if (info.isFile() && info.isReadable() && info.size() <= kFileBytesMax) return candidate;
  }
  return {};
}

}  // namespace

SourceLines read_source_lines(const std::string& where, const std::string& trace_path, int context) {
  SourceLines result;
  const QString text = qstr(where);
  const qsizetype colon = text.lastIndexOf(QLatin1Char(':'));
  if (colon <= 0) return result;
  result.line = text.mid(colon + 1).toInt();
  result.file = text.left(colon);
  if (result.line <= 0) return result;
  const QString path = find(result.file, QFileInfo(qstr(trace_path)).absolutePath());
  QFile file(path);
  if (path.isEmpty() || !file.open(QIODevice::ReadOnly | QIODevice::Text)) return result;
  result.file = path;
  result.first = std::max(1, result.line - context);
  QTextStream stream(&file);
  for (int number = 1; !stream.atEnd() && number <= result.line + context; ++number) {
    const QString line = stream.readLine();
    if (number >= result.first) result.lines << line;
  }
  return result;
}

}  // namespace shardlab::gui
