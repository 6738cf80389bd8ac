#include "gui/views/wait_graph_widget.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>
#include <QToolTip>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "gui/models/format.h"
#include "gui/views/theme.h"

namespace shardlab::gui {
namespace {
constexpr double kBoxWidth = 230, kBoxWidthMax = 360, kBoxHeight = 48, kMargin = 14, kInset = 10, kBesideWidth = 150, kArrow = 9, kGap = 12;
constexpr int kLegend = 20, kLegendRoom = 180;  // lower graphs have none
// Boxes of a circle in which its reasons do not fit: cut off, and at last the processes alone.
constexpr QSizeF kCircleBoxes[] = {{200, kBoxHeight}, {170, kBoxHeight}, {124, kBoxHeight}, {110, 26}, {76, 26}, {48, 22}, {30, 18}};

// On an ellipse within the area, so that the boxes stay in it. Two lie beside each other where there is room, more start at the top.
std::vector<QRectF> circle_boxes(const QRectF& area, std::size_t count, QSizeF size) {
  const double rx = std::max((area.width() - size.width()) / 2 - kMargin, 10.0);
  const double ry = std::max((area.height() - size.height()) / 2 - kMargin, 10.0);
  const bool beside = count == 2 && rx >= size.width() / 2 + kGap;
  const auto angle_of = [&](std::size_t i) {
    return 2 * std::numbers::pi * double(i) / double(count) + (beside ? std::numbers::pi : -std::numbers::pi / 2);
  };
  double widest = 0;  // those of a triangle do not reach the sides by themselves
  for (std::size_t i = 0; i < count; ++i) widest = std::max(widest, std::abs(std::cos(angle_of(i))));
  const double across = std::min(widest > 0.5 ? rx / widest : rx, 330.0);
  std::vector<QRectF> boxes;
  for (std::size_t i = 0; i < count; ++i) {
    const QPointF centre = area.center() + QPointF(std::cos(angle_of(i)) * across, std::sin(angle_of(i)) * std::min(ry, 200.0));
    boxes.emplace_back(centre - QPointF(size.width(), size.height()) / 2, size);
  }
  return boxes;
}

bool apart(const std::vector<QRectF>& boxes) {
  for (std::size_t i = 0; i < boxes.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (boxes[i].adjusted(-kGap, -kGap, kGap, kGap).intersects(boxes[j])) return false;
  return true;
}
}  // namespace

WaitGraphWidget::WaitGraphWidget(QWidget* parent) : QWidget(parent) {
  setAccessibleName(QStringLiteral("Wait-for graph"));
  setFocusPolicy(Qt::StrongFocus);
}

void WaitGraphWidget::show_graph(WaitGraph graph, const QString& empty_text) {
  graph_ = std::move(graph);
  edge_ = -1;
  empty_text_ = empty_text;
  QStringList words;
  for (const auto& node : graph_.nodes) words << title_of(node) + QStringLiteral(": ") + qstr(node.reason);
  setAccessibleDescription(words.join(QStringLiteral("; ")));
  arrange();
  update();
}

void WaitGraphWidget::choose(int process) {
  process_ = process;
  update();
}

QString WaitGraphWidget::sign_of(const WaitNode& node) const {
  return node.in_cycle ? QStringLiteral("⟳ ") : node.waits ? QStringLiteral("… ") : QString();
}

QString WaitGraphWidget::title_of(const WaitNode& node) const {
  return (node.processes.size() == 1 ? QStringLiteral("process ") : QStringLiteral("processes ")) + set_text(node.processes, 16);
}

void WaitGraphWidget::choose_edge(int edge) {
  edge_ = edge;
  update();
}

int WaitGraphWidget::legend_height() const { return graph_.edges.empty() || height() < kLegendRoom ? 0 : kLegend; }

void WaitGraphWidget::resizeEvent(QResizeEvent*) { arrange(); }

// Of the boxes of these nodes: what the longest text takes, within limits.
double WaitGraphWidget::wanted_width(const std::vector<std::size_t>& nodes) const {
  QFont bold = font();
  bold.setBold(true);
  double width = kBoxWidth / 2;
  for (const std::size_t n : nodes) {
    const WaitNode& node = graph_.nodes[n];
    width = std::max(width, QFontMetricsF(font()).horizontalAdvance(qstr(node.reason)) + 2 * kInset + 2);
    width = std::max(width, QFontMetricsF(bold).horizontalAdvance(sign_of(node) + title_of(node)) + 2 * kInset + 2);
  }
  return std::min(width, kBoxWidthMax);
}

// Columns: who waits outside of any circle, the circle, who waits for nobody.
void WaitGraphWidget::arrange() {
  boxes_.assign(graph_.nodes.size(), {});
  std::vector<std::size_t> waiting, circle, free;
  for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
    const auto& node = graph_.nodes[n];
    (node.in_cycle ? circle : node.waits ? waiting : free).push_back(n);
  }
  std::vector<std::vector<std::size_t>*> groups;
  for (auto* group : {&waiting, &circle, &free})
    if (!group->empty()) groups.push_back(group);
  if (groups.empty()) return;
  // Under each other where their reasons could not be read beside each other, and there is the height for it.
  constexpr double kStackedHeight = 130;
  const int bottom = height() - legend_height();
  const bool stacked = width() < int(groups.size()) * (kBoxWidth + 2 * kMargin) && bottom > double(groups.size()) * kStackedHeight;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const QRectF area =
        stacked ? QRectF(0, double(bottom) * double(g) / double(groups.size()), width(), double(bottom) / double(groups.size()))
                : QRectF(double(width()) * double(g) / double(groups.size()), 0, double(width()) / double(groups.size()), bottom);
    const auto& group = *groups[g];
    const double wanted = wanted_width(group), w = std::min(wanted, area.width() - 2 * kMargin);
    const auto place = [&](std::size_t node, QPointF centre) {
      centre.setX(std::clamp(centre.x(), area.left() + w / 2 + 4, std::max(area.right() - w / 2 - 4, area.left() + w / 2 + 4)));
      boxes_[node] = QRectF(centre.x() - w / 2, centre.y() - kBoxHeight / 2, w, kBoxHeight);
    };
    if (groups[g] == &circle && group.size() > 1) {
      std::vector<QRectF> boxes = circle_boxes(area, group.size(), {w, kBoxHeight});
      for (const QSizeF& size : kCircleBoxes) {
        if (apart(boxes)) break;
        boxes = circle_boxes(area, group.size(), {std::min(size.width(), w), size.height()});
      }
      for (std::size_t i = 0; i < group.size(); ++i) boxes_[group[i]] = boxes[i];
    } else if (const double each = area.width() / double(group.size()); stacked && group.size() > 1 && each >= kBesideWidth) {
      // Beside each other, so that no arrow passes behind the box below.
      const QSizeF size(std::min(wanted, each - kMargin), kBoxHeight);
      for (std::size_t i = 0; i < group.size(); ++i)
        boxes_[group[i]] = {QPointF(area.left() + each * (double(i) + 0.5) - size.width() / 2, area.center().y() - kBoxHeight / 2), size};
    } else {
      const double step = std::min((area.height() - 2 * kMargin) / double(group.size()), kBoxHeight + 18);
      for (std::size_t i = 0; i < group.size(); ++i)
        place(group[i], QPointF(area.center().x(), area.center().y() + (double(i) - double(group.size() - 1) / 2) * step));
    }
  }
}

void WaitGraphWidget::paintEvent(QPaintEvent*) {
  const Theme& theme = theme_of(this);
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.fillRect(rect(), theme.base);
  if (graph_.edges.empty() && !empty_text_.isEmpty()) {
    painter.setPen(theme.muted);
    painter.drawText(rect().adjusted(20, 0, -20, 0), Qt::AlignCenter | Qt::TextWordWrap, empty_text_);
    return;
  }
  for (int edge = 0; edge < int(graph_.edges.size()); ++edge) paint_edge(painter, edge);
  for (std::size_t n = 0; n < graph_.nodes.size(); ++n) paint_node(painter, n);
  if (legend_height() > 0) paint_legend(painter);
  if (hasFocus()) {
    painter.setBrush(Qt::NoBrush);
    painter.setPen(theme.accent);
    painter.drawRect(rect().adjusted(0, 0, -1, -1));
  }
}

// From border to border along a curve that leaves to the right of its direction, so that both ways are seen.
QPainterPath WaitGraphWidget::path_of(int edge) const {
  const auto [from, to] = graph_.edges[std::size_t(edge)];
  const QRectF a = boxes_[std::size_t(from)], b = boxes_[std::size_t(to)];
  const bool both = std::find(graph_.edges.begin(), graph_.edges.end(), std::pair(to, from)) != graph_.edges.end();
  const QPointF direct = b.center() - a.center();
  const double length = std::max(std::hypot(direct.x(), direct.y()), 1.0);
  const QPointF side(-direct.y() / length, direct.x() / length);
  const double bend = both ? std::min(length * 0.22, 46.0) : 0;
  const QPointF control = (a.center() + b.center()) / 2 + side * bend;
  const auto border = [](const QRectF& box, QPointF towards) {
    const QPointF d = towards - box.center();
    const double sx = std::abs(d.x()) > 1e-6 ? box.width() / 2 / std::abs(d.x()) : 1e9;
    const double sy = std::abs(d.y()) > 1e-6 ? box.height() / 2 / std::abs(d.y()) : 1e9;
    return box.center() + d * std::min({sx, sy, 1.0});
  };
  QPainterPath path(border(a, control));
  path.quadTo(control, border(b, control));
  return path;
}

// Waits for all have a full head, those of which one is enough are dotted and have an open one.
static void paint_arrow(QPainter& painter, const QPainterPath& path, QPen pen, bool any, const QColor& base) {
  if (any) pen.setStyle(Qt::DotLine);
  painter.setBrush(Qt::NoBrush);
  painter.setPen(pen);
  painter.drawPath(path);
  const QPointF end = path.currentPosition(), before = path.elementAt(std::max(path.elementCount() - 2, 0));
  const double angle = std::atan2(end.y() - before.y(), end.x() - before.x());
  QPolygonF head{end};
  for (const double turn : {2.7, -2.7}) head << end + QPointF(std::cos(angle + turn), std::sin(angle + turn)) * kArrow;
  painter.setPen(any ? QPen(pen.color(), 1.4) : QPen(Qt::NoPen));
  painter.setBrush(any ? base : pen.color());
  painter.drawPolygon(head);
}

void WaitGraphWidget::paint_edge(QPainter& painter, int edge) {
  const Theme& theme = theme_of(this);
  const auto [from, to] = graph_.edges[std::size_t(edge)];
  const WaitNode &a = graph_.nodes[std::size_t(from)], &b = graph_.nodes[std::size_t(to)];
  const bool cyclic = a.in_cycle && b.in_cycle;
  const QPainterPath path = path_of(edge);
  if (edge == edge_) {
    QColor halo = theme.accent;
    halo.setAlphaF(0.45F);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(halo, 7, Qt::SolidLine, Qt::RoundCap));
    painter.drawPath(path);
  }
  const QColor colour = a.lasting && b.lasting ? theme.error : theme.muted;
  paint_arrow(painter, path, QPen(colour, cyclic ? 2.2 : 1.4, cyclic ? Qt::SolidLine : Qt::DashLine), graph_.any.contains({from, to}),
              theme.base);
}

// What the two kinds of arrows mean, where there are both or the one that is seldom.
void WaitGraphWidget::paint_legend(QPainter& painter) {
  const Theme& theme = theme_of(this);
  double x = 10;
  const double y = height() - kLegend / 2.0;
  for (const bool any : {false, true}) {
    if (any ? graph_.any.empty() : graph_.any.size() == graph_.edges.size()) continue;
    QPainterPath path(QPointF(x, y));
    path.lineTo(x + 30, y);
    paint_arrow(painter, path, QPen(theme.muted, 1.6), any, theme.base);
    const QString text = any ? QStringLiteral("waits for any of them: one is enough") : QStringLiteral("waits for all of them");
    painter.setPen(theme.muted);
    const double room = width() - x - 42;
    painter.drawText(QRectF(x + 37, y - kLegend / 2.0, std::max(room, 0.0), kLegend), Qt::AlignLeft | Qt::AlignVCenter,
                     fontMetrics().elidedText(text, Qt::ElideRight, std::max(int(room), 0)));
    x += 55 + fontMetrics().horizontalAdvance(text);
  }
}

void WaitGraphWidget::paint_node(QPainter& painter, std::size_t n) {
  const Theme& theme = theme_of(this);
  const WaitNode& node = graph_.nodes[n];
  const QRectF box = boxes_[n];
  const bool chosen = std::binary_search(node.processes.begin(), node.processes.end(), process_);
  painter.setPen(QPen(chosen ? theme.accent : node.lasting ? theme.error : theme.line, chosen ? 2.4 : 1.4));
  painter.setBrush(node.lasting ? theme.error_back : node.waits ? theme.warning_back : theme.raised);
  painter.drawRoundedRect(box, 6, 6);
  const bool small = box.height() < kBoxHeight;  // room for its processes alone
  const QRectF inside = small ? box.adjusted(4, 2, -4, -2) : box.adjusted(kInset, 6, -kInset, -6);
  QFont bold = font();
  bold.setBold(true);
  painter.setFont(bold);
  painter.setPen(node.lasting ? theme.error : theme.text);
  if (small) {
    QString title = title_of(node);
    if (QFontMetrics(bold).horizontalAdvance(title) > inside.width()) title = set_text(node.processes, 16);
    painter.drawText(inside, Qt::AlignCenter, QFontMetrics(bold).elidedText(title, Qt::ElideRight, int(inside.width())));
    painter.setFont(font());
    return;
  }
  painter.drawText(inside.adjusted(0, 0, 0, -inside.height() / 2), Qt::AlignLeft | Qt::AlignVCenter,
                   QFontMetrics(bold).elidedText(sign_of(node) + title_of(node), Qt::ElideRight, int(inside.width())));
  painter.setFont(font());
  painter.setPen(theme.muted);
  painter.drawText(inside.adjusted(0, inside.height() / 2, 0, 0), Qt::AlignLeft | Qt::AlignVCenter,
                   fontMetrics().elidedText(qstr(node.reason), Qt::ElideMiddle, int(inside.width())));
}

int WaitGraphWidget::node_at(QPoint position) const {
  for (std::size_t n = 0; n < boxes_.size(); ++n)
    if (boxes_[n].contains(position)) return int(n);
  return -1;
}

int WaitGraphWidget::edge_at(QPoint position) const {
  constexpr double kNearPx = 7;
  int nearest = -1;
  double best = kNearPx;
  for (int edge = 0; edge < int(graph_.edges.size()); ++edge) {
    const QPainterPath path = path_of(edge);
    constexpr int kParts = 32;
    for (int part = 0; part <= kParts; ++part) {
      const QPointF away = path.pointAtPercent(double(part) / kParts) - QPointF(position);
      if (const double distance = std::hypot(away.x(), away.y()); distance < best) {
        best = distance;
        nearest = edge;
      }
    }
  }
  return nearest;
}

void WaitGraphWidget::access_choose(int group, int item) {
  group == 0 ? Q_EMIT chosen(graph_.nodes[std::size_t(item)].processes[0]) : Q_EMIT edge_chosen(item);
}

QString WaitGraphWidget::access_item_name(int group, int item) const {
  if (group == 1) {
    const auto edge = graph_.edges[std::size_t(item)];
    return QStringLiteral("%1 waits for %2%3")
        .arg(title_of(graph_.nodes[std::size_t(edge.first)]), title_of(graph_.nodes[std::size_t(edge.second)]),
             graph_.any.contains(edge) ? QStringLiteral(", or for another") : QString());
  }
  const WaitNode& node = graph_.nodes[std::size_t(item)];
  QString text = title_of(node) + (node.in_cycle ? QStringLiteral(", in a circle") : QString()) + QStringLiteral(": ") + qstr(node.reason);
  QStringList peers;
  for (const auto& [from, to] : graph_.edges)
    if (from == item) peers << title_of(graph_.nodes[std::size_t(to)]);
  if (!peers.isEmpty()) text += QStringLiteral("; waits for ") + peers.join(QStringLiteral(", "));
  return text;
}

QRect WaitGraphWidget::access_item_box(int group, int item) const {
  // A straight arc has no width to be pointed at.
  return group == 0 ? boxes_[std::size_t(item)].toRect() : path_of(item).boundingRect().toAlignedRect().adjusted(-2, -2, 2, 2) & rect();
}

void WaitGraphWidget::mousePressEvent(QMouseEvent* event) {
  const int node = node_at(event->pos());
  if (node < 0) {
    if (const int edge = edge_at(event->pos()); edge >= 0) Q_EMIT edge_chosen(edge);
    return;
  }
  // A second click goes on to the next process of the node.
  const auto& processes = graph_.nodes[std::size_t(node)].processes;
  const auto at = std::find(processes.begin(), processes.end(), process_);
  Q_EMIT chosen(at == processes.end() || at + 1 == processes.end() ? processes[0] : *(at + 1));
}

void WaitGraphWidget::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_E && !graph_.edges.empty()) {
    const int count = int(graph_.edges.size());
    const bool back = event->modifiers() & Qt::ShiftModifier;
    Q_EMIT edge_chosen(edge_ < 0 ? (back ? count - 1 : 0) : (edge_ + (back ? count - 1 : 1)) % count);
    return;
  }
  const int step = event->key() == Qt::Key_Right || event->key() == Qt::Key_Down ? 1
                   : event->key() == Qt::Key_Left || event->key() == Qt::Key_Up  ? -1
                                                                                 : 0;
  if (step == 0 || graph_.nodes.empty()) return QWidget::keyPressEvent(event);
  const int count = int(graph_.nodes.size());
  const int now = graph_.node_of(process_);
  Q_EMIT chosen(graph_.nodes[std::size_t((std::max(now, step > 0 ? -1 : 0) + step + count) % count)].processes[0]);
}

bool WaitGraphWidget::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const int node = node_at(help->pos()), edge = node < 0 ? edge_at(help->pos()) : -1;
    QToolTip::showText(help->globalPos(),
                       edge >= 0 ? access_item_name(1, edge) + QStringLiteral("\nClick: what if it did not (E goes through all waits)")
                       : node < 0
                           ? QString()
                           : title_of(graph_.nodes[std::size_t(node)]) + QLatin1Char('\n') + qstr(graph_.nodes[std::size_t(node)].reason),
                       this);
    return true;
  }
  return QWidget::event(event);
}

}  // namespace shardlab::gui
