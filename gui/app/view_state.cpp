#include "gui/app/view_state.h"

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QSaveFile>

namespace shardlab::gui {
namespace {

// JSON's numbers hold 53 bits: times are text.
QJsonValue time_json(Ns ns) { return QString::number(ns); }
Ns time_of(const QJsonValue& value) { return value.toString().toLongLong(); }
QJsonArray range_json(TimeRange range) { return {time_json(range.begin), time_json(range.end)}; }
TimeRange range_of(const QJsonValue& value) { return {time_of(value.toArray().at(0)), time_of(value.toArray().at(1))}; }

QJsonArray lanes_json(const std::vector<std::pair<int, int>>& lanes) {
  QJsonArray array;
  for (const auto& [process, device] : lanes) array.append(QJsonArray{process, device});
  return array;
}
std::vector<std::pair<int, int>> lanes_of(const QJsonValue& value) {
  std::vector<std::pair<int, int>> lanes;
  for (const auto& each : value.toArray()) lanes.emplace_back(each.toArray().at(0).toInt(), each.toArray().at(1).toInt());
  return lanes;
}

}  // namespace

QString state_path(const QString& trace) { return trace + QStringLiteral(".view.json"); }

QByteArray to_json(const ViewState& state) {
  QJsonArray marks;
  for (const auto& mark : state.marks)
    marks.append(QJsonObject{{QStringLiteral("time"), time_json(mark.time)}, {QStringLiteral("text"), mark.text}});
  QJsonObject bookmarks;
  for (const auto& [number, range] : state.bookmarks) bookmarks[QString::number(number)] = range_json(range);
  return QJsonDocument(QJsonObject{{QStringLiteral("version"), 1},
                                   {QStringLiteral("perspective"), state.perspective},
                                   {QStringLiteral("theme"), state.theme},
                                   {QStringLiteral("window"), range_json(state.window)},
                                   {QStringLiteral("marks"), marks},
                                   {QStringLiteral("bookmarks"), bookmarks},
                                   {QStringLiteral("pinned"), lanes_json(state.pinned)},
                                   {QStringLiteral("hidden"), lanes_json(state.hidden)},
                                   {QStringLiteral("lane_filter"), state.lane_filter},
                                   {QStringLiteral("hide_empty"), state.hide_empty},
                                   {QStringLiteral("docks"), QString::fromLatin1(state.docks.toBase64())}})
      .toJson();
}

ViewState state_from_json(const QByteArray& json) {
  const QJsonObject object = QJsonDocument::fromJson(json).object();
  ViewState state;
  if (object[QStringLiteral("version")].toInt() != 1) return state;
  state.perspective = object[QStringLiteral("perspective")].toString();
  state.theme = object[QStringLiteral("theme")].toString();
  state.window = range_of(object[QStringLiteral("window")]);
  for (const auto& mark : object[QStringLiteral("marks")].toArray())
    state.marks.push_back({time_of(mark.toObject()[QStringLiteral("time")]), mark.toObject()[QStringLiteral("text")].toString()});
  const QJsonObject bookmarks = object[QStringLiteral("bookmarks")].toObject();
  for (auto it = bookmarks.begin(); it != bookmarks.end(); ++it)
    if (const int number = it.key().toInt(); number >= 1 && number <= 9) state.bookmarks[number] = range_of(it.value());
  state.pinned = lanes_of(object[QStringLiteral("pinned")]);
  state.hidden = lanes_of(object[QStringLiteral("hidden")]);
  state.lane_filter = object[QStringLiteral("lane_filter")].toString();
  state.hide_empty = object[QStringLiteral("hide_empty")].toBool();
  state.docks = QByteArray::fromBase64(object[QStringLiteral("docks")].toString().toLatin1());
  return state;
}

ViewState read_state(const QString& trace) {
  QFile file(state_path(trace));
  return file.open(QIODevice::ReadOnly) ? state_from_json(file.readAll()) : ViewState{};
}

bool write_state(const QString& trace, const ViewState& state) {
  QSaveFile file(state_path(trace));
  const QByteArray json = to_json(state);
  return file.open(QIODevice::WriteOnly) && file.write(json) == json.size() && file.commit();
}

}  // namespace shardlab::gui
