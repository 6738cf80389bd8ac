// A table of the trace that follows the one selection: sortable, filtered as one types, rows toned by their state.
//
// Where there are many rows they are filtered and sorted off the window's thread; what is shown stays until that is done.
#pragma once

#include <QTableView>
#include <QTimer>

#include <functional>

#include "gui/models/table_def.h"
#include "gui/views/view_def.h"

namespace shardlab::gui {

class TraceTable : public QTableView {
  Q_OBJECT

 public:
  TraceTable(const TableDef& def, ViewContext& context, QWidget* parent = nullptr);
  ~TraceTable() override;

  std::function<void(int row)> on_choose;                      // by the user; a row of the trace
  std::function<int(const SelectionState& state)> chosen_row;  // the row to show as chosen, -1 for none
  void set_filter(const QString& text);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void keyboardSearch(const QString& text) override;

 private:
  void find();
  void follow(const SelectionState& state);
  void choose(const QModelIndex& current);

  Selection& selection_;
  Background& background_;
  TraceTableModel* model_;
  RowsWanted wanted_;
  QTimer filter_timer_;
  bool following_ = false;  // the selection moves the current row, not the user
};

// Follows "process:3", "device:1", "collective:7", "diagnosis:0", "array:2". False where it is none of these.
bool follow_link(Selection& selection, const QString& link, QObject* origin);

}  // namespace shardlab::gui
