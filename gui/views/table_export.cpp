#include "gui/views/table_export.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QFile>
#include <QFileDialog>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QMessageBox>
#include <QVariant>

#include "gui/models/text_twin.h"

namespace shardlab::gui {
namespace {

QByteArray field(QString text) {
  if (!text.contains(QLatin1Char(',')) && !text.contains(QLatin1Char('"')) && !text.contains(QLatin1Char('\n')) &&
      !text.contains(QLatin1Char('\r')))
    return text.toUtf8();
  return '"' + text.replace(QLatin1Char('"'), QStringLiteral("\"\"")).toUtf8() + '"';
}

void export_table(QWidget& view, const QAbstractItemModel& model) {
  const QString path = QFileDialog::getSaveFileName(&view, QStringLiteral("Export the table"), QStringLiteral("table.csv"),
                                                    QStringLiteral("CSV (*.csv);;JSON (*.json);;Text (*.txt)"));
  if (path.isEmpty()) return;
  const QByteArray bytes = path.endsWith(QLatin1String(".json"))  ? table_json(model)
                           : path.endsWith(QLatin1String(".txt")) ? model_text(model, 1 << 30).toUtf8()
                                                                  : table_csv(model);
  QFile file(path);
  if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size())
    QMessageBox::warning(&view, QStringLiteral("Export"), QStringLiteral("Cannot write %1: %2").arg(path, file.errorString()));
}

// The rows of a table; of a tree each node before its children, whose first cell has the path to them.
template <typename Visit>
void for_rows(const QAbstractItemModel& model, const QModelIndex& parent, const QString& path, const Visit& visit) {
  for (int r = 0; r < model.rowCount(parent); ++r) {
    QVariantList cells;
    for (int c = 0; c < model.columnCount(parent); ++c) cells << model.index(r, c, parent).data();
    if (!path.isEmpty()) cells[0] = path + cells[0].toString();
    visit(cells);
    if (const QModelIndex node = model.index(r, 0, parent); model.rowCount(node) > 0)
      for_rows(model, node, cells[0].toString() + QStringLiteral(" › "), visit);
  }
}

template <typename Run>
void add_action(QWidget& view, const char* title, const QKeySequence& key, Run run) {
  auto* action = new QAction(QString::fromUtf8(title), &view);
  action->setShortcut(key);
  action->setShortcutContext(Qt::WidgetShortcut);
  action->setStatusTip(action->text());
  QObject::connect(action, &QAction::triggered, &view, run);
  view.addAction(action);
}

}  // namespace

QByteArray table_csv(const QAbstractItemModel& model) {
  QByteArray csv;
  const int columns = model.columnCount();
  for (int c = 0; c < columns; ++c) csv += (c ? "," : "") + field(model.headerData(c, Qt::Horizontal).toString());
  csv += "\r\n";
  for_rows(model, {}, {}, [&](const QVariantList& cells) {
    for (qsizetype c = 0; c < cells.size(); ++c) csv += (c ? "," : "") + field(cells[c].toString());
    csv += "\r\n";
  });
  return csv;
}

QByteArray table_json(const QAbstractItemModel& model) {
  QJsonArray rows;
  for_rows(model, {}, {}, [&](const QVariantList& cells) {
    QJsonObject row;
    for (int c = 0; c < int(cells.size()); ++c) row[model.headerData(c, Qt::Horizontal).toString()] = QJsonValue::fromVariant(cells[c]);
    rows.append(row);
  });
  return QJsonDocument(rows).toJson();
}

void offer_export(QAbstractItemView& view) {
  view.setContextMenuPolicy(Qt::ActionsContextMenu);
  add_action(view, "Copy Row", QKeySequence(QStringLiteral("Ctrl+C")), [&view] {
    QStringList cells;
    const QModelIndex at = view.currentIndex();
    for (int c = 0; at.isValid() && c < view.model()->columnCount(); ++c) cells << at.siblingAtColumn(c).data().toString();
    QApplication::clipboard()->setText(cells.join(QLatin1Char('\t')));
  });
  add_action(view, "Copy Table as CSV", {}, [&view] { QApplication::clipboard()->setText(QString::fromUtf8(table_csv(*view.model()))); });
  add_action(view, "Export Table …", {}, [&view] { export_table(view, *view.model()); });
}

void offer_export(QWidget& diagram, const std::function<std::unique_ptr<QAbstractItemModel>()>& table) {
  diagram.setContextMenuPolicy(Qt::ActionsContextMenu);
  add_action(diagram, "Copy Table as CSV", {}, [table] { QApplication::clipboard()->setText(QString::fromUtf8(table_csv(*table()))); });
  add_action(diagram, "Export Table …", {}, [&diagram, table] { export_table(diagram, *table()); });
}

}  // namespace shardlab::gui
