// The wait-for graph at one time: a box a class of processes, those in a circle on a circle, arrows to whom they wait for.
#pragma once

#include <QWidget>

#include "gui/models/selection.h"
#include "gui/models/wait_graph.h"
#include "gui/views/diagram_access.h"

namespace shardlab::gui {

class WaitGraphWidget : public QWidget, public AccessibleDiagram {
  Q_OBJECT

 public:
  explicit WaitGraphWidget(QWidget* parent = nullptr);
  void show_graph(WaitGraph graph, const QString& empty_text);
  void choose(int process);
  const WaitGraph& graph() const { return graph_; }
  QSize minimumSizeHint() const override { return {260, 160}; }

  int access_groups() const override { return graph_.nodes.empty() ? 0 : 1; }
  QString access_group_name(int) const override { return accessibleName(); }
  int access_items(int) const override { return int(graph_.nodes.size()); }
  QString access_item_name(int group, int item) const override;
  QRect access_item_box(int group, int item) const override;
  void access_choose(int /*group*/, int item) override { Q_EMIT chosen(graph_.nodes[std::size_t(item)].processes[0]); }

 Q_SIGNALS:
  void chosen(int process);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;

 private:
  void arrange();
  void paint_edge(QPainter& painter, int from, int to, bool both);
  void paint_node(QPainter& painter, std::size_t node);
  int node_at(QPoint position) const;
  QString title_of(const WaitNode& node) const;

  WaitGraph graph_;
  QString empty_text_;
  std::vector<QRectF> boxes_;
  int process_ = -1;
};

}  // namespace shardlab::gui
