#include "gui/models/statement_text.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

#include "gui/models/format.h"
#include "traces/trace_reader.h"

namespace shardlab::gui {
namespace {

constexpr qsizetype kTextMax = 160;

QString value_text(const QJsonValue& value) {
  if (value.isString()) return value.toString();
  if (value.isArray()) {
    const QJsonArray list = value.toArray();
    QStringList parts;
    for (const auto& each : list) {
      if (each.isObject() && each.toObject().contains(QStringLiteral("op"))) return count_text(list.size(), "statement", "statements");
      parts << value_text(each);
    }
    return QLatin1Char('[') + parts.join(QStringLiteral(", ")) + QLatin1Char(']');
  }
  if (value.isObject()) return QString::fromUtf8(QJsonDocument(value.toObject()).toJson(QJsonDocument::Compact));
  return value.toVariant().isNull() ? QStringLiteral("None") : value.toVariant().toString();
}

// "y = device_put(h, sharding: [None, b])"
QString statement_text(const QJsonObject& statement) {
  QStringList inside;
  for (const auto& each : statement[QStringLiteral("args")].toArray()) inside << value_text(each);
  for (auto it = statement.begin(); it != statement.end(); ++it)
    if (it.key() != QStringLiteral("let") && it.key() != QStringLiteral("op") && it.key() != QStringLiteral("args"))
      inside << it.key() + QStringLiteral(": ") + value_text(it.value());
  QString text = inside.join(QStringLiteral(", "));
  if (const QString op = statement[QStringLiteral("op")].toString(); !op.isEmpty()) text = op + QLatin1Char('(') + text + QLatin1Char(')');
  if (statement.contains(QStringLiteral("let"))) text = value_text(statement[QStringLiteral("let")]) + QStringLiteral(" = ") + text;
  return text.size() > kTextMax ? text.left(kTextMax) + QStringLiteral(" …") : text;
}

}  // namespace

std::string scenario_of(const std::string& trace_path) {
  if (trace_path.empty()) return {};
  try {
    return traces::TraceReader(trace_path).meta("scenario");
  } catch (const IoError&) { return {}; }  // the window has said already what is wrong with the file
}

SourceLines read_statement_lines(const std::string& scenario, const std::string& pointer, int context) {
  SourceLines result;
  QStringList path = qstr(pointer).split(QLatin1Char('/'), Qt::SkipEmptyParts);
  bool is_number = false;
  const int place = path.isEmpty() ? -1 : path.takeLast().toInt(&is_number);
  if (!is_number) return result;
  QJsonValue at = QJsonDocument::fromJson(QByteArray::fromStdString(scenario)).object();
  for (const QString& name : path) at = at.isArray() ? at.toArray().at(name.toInt()) : at.toObject().value(name);
  const QJsonArray list = at.toArray();
  if (place < 0 || place >= list.size()) return result;
  result.file = qstr(pointer);
  result.line = place;
  result.first = std::max(place - context, 0);
  for (int i = result.first; i < std::min(int(list.size()), place + context + 1); ++i)
    result.lines << statement_text(list.at(i).toObject());
  return result;
}

}  // namespace shardlab::gui
