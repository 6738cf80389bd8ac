// The wait-for graph at one time: a box a class of processes, those in a circle on a circle, arrows to whom they wait for.
#pragma once

#include <QPainterPath>
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
  void choose_edge(int edge);  // index into the graph's, -1: none
  int edge() const { return edge_; }
  const WaitGraph& graph() const { return graph_; }
  QSize minimumSizeHint() const override { return {260, 160}; }

  // The processes, and the waits between them.
  int access_groups() const override { return graph_.nodes.empty() ? 0 : graph_.edges.empty() ? 1 : 2; }
  QString access_group_name(int group) const override { return group == 0 ? accessibleName() : QStringLiteral("Waits"); }
  int access_items(int group) const override { return int(group == 0 ? graph_.nodes.size() : graph_.edges.size()); }
  QString access_item_name(int group, int item) const override;
  QRect access_item_box(int group, int item) const override;
  void access_choose(int group, int item) override;

 Q_SIGNALS:
  void chosen(int process);
  void edge_chosen(int edge);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;

 private:
  void arrange();
  int legend_height() const;
  QPainterPath path_of(int edge) const;  // along which it is drawn
  void paint_edge(QPainter& painter, int edge);
  void paint_legend(QPainter& painter);
  void paint_node(QPainter& painter, std::size_t node);
  int node_at(QPoint position) const;
  int edge_at(QPoint position) const;
  QString title_of(const WaitNode& node) const;
  QString sign_of(const WaitNode& node) const;
  double wanted_width(const std::vector<std::size_t>& nodes) const;

  WaitGraph graph_;
  QString empty_text_;
  std::vector<QRectF> boxes_;
  int process_ = -1, edge_ = -1;
};

}  // namespace shardlab::gui
