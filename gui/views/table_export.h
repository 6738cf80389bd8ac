// Any table as CSV, JSON or text, and its right-click menu that offers them.
#pragma once

#include <QAbstractItemModel>
#include <QAbstractItemView>

#include <functional>
#include <memory>

namespace shardlab::gui {

// RFC 4180: a header line, fields with commas, quotes or line breaks in quotes, \r\n. Of trees every node, with the path to it.
QByteArray table_csv(const QAbstractItemModel& model);
// A list of objects by column title.
QByteArray table_json(const QAbstractItemModel& model);

// Adds "Copy as CSV", "Export …" to the view's context menu, and Ctrl+C for the chosen row.
void offer_export(QAbstractItemView& view);
// The same for what is painted: `table` makes what there is to tell of it.
void offer_export(QWidget& diagram, const std::function<std::unique_ptr<QAbstractItemModel>()>& table);

}  // namespace shardlab::gui
