// A table of the trace that follows the one selection: sortable, filtered as one types, rows toned by their state.
#pragma once

#include <QSortFilterProxyModel>
#include <QTableView>
#include <QTimer>

#include <functional>

#include "gui/models/selection.h"
#include "gui/models/table_def.h"

namespace shardlab::gui {

class TraceTable : public QTableView {
  Q_OBJECT

 public:
  TraceTable(const TableDef& def, Selection& selection, QWidget* parent = nullptr);

  std::function<void(int row)> on_choose;                      // by the user; a row of the trace
  std::function<int(const SelectionState& state)> chosen_row;  // the row to show as chosen, -1 for none
  void set_filter(const QString& text);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void keyboardSearch(const QString& text) override;

 private:
  void follow(const SelectionState& state);
  void choose(const QModelIndex& current);

  Selection& selection_;
  TraceTableModel* model_;
  QSortFilterProxyModel* proxy_;
  QString filter_;
  QTimer filter_timer_;
  bool following_ = false;  // the selection moves the current row, not the user
};

// Follows "process:3", "device:1", "collective:7", "diagnosis:0", "array:2". False where it is none of these.
bool follow_link(Selection& selection, const QString& link, QObject* origin);

}  // namespace shardlab::gui
