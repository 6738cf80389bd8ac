#include "traces/wait_graph_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

#include "traces/checks/positions.h"
#include "traces/checks/wording.h"
#include "traces/svg.h"

namespace shardlab::traces {
namespace {

constexpr std::size_t kProcessesMax = 24;
constexpr double kNode = 22, kWidth = 720;

struct Edge {
  int from, to;
};

// p waits for q: p's call needs q, which stands at another one or at none.
std::vector<Edge> edges_of(const Positions& positions) {
  std::vector<Edge> edges;
  for (int p : positions.processes()) {
    const CallEvidence* head = positions.head(p);
    if (!head) continue;
    for (int q : positions.participants(*head)) {
      const CallEvidence* other = q == p ? head : positions.head(q);
      if (q != p && !(other && key_of(*other) == key_of(*head))) edges.push_back({p, q});
    }
  }
  return edges;
}

}  // namespace

std::string wait_graph_svg(const Evidence& evidence) {
  Positions positions(evidence);
  std::vector<Edge> edges = edges_of(positions);
  std::set<int> drawn;
  for (const Edge& edge : edges) drawn.insert({edge.from, edge.to});
  std::vector<int> nodes(drawn.begin(), drawn.end());
  if (nodes.empty() || nodes.size() > kProcessesMax) return "";
  double radius = nodes.size() == 1 ? 0 : std::max(90.0, 18.0 * double(nodes.size()));
  double height = 2 * radius + 130, cx = kWidth / 2, cy = height / 2;
  auto place = [&](int process) {
    double i = double(std::find(nodes.begin(), nodes.end(), process) - nodes.begin());
    double angle = 2 * std::numbers::pi * i / double(nodes.size()) - std::numbers::pi / 2;
    return std::pair{cx + radius * std::cos(angle), cy + radius * std::sin(angle)};
  };
  std::string svg =
      fmt::format("<svg class='graph' viewBox='0 0 {:.0f} {:.0f}' role='img' aria-label='wait-for graph: {} processes, {} waits'>", kWidth,
                  height, nodes.size(), edges.size());
  for (const Edge& edge : edges) {
    auto [x1, y1] = place(edge.from);
    auto [x2, y2] = place(edge.to);
    double length = std::max(1.0, std::hypot(x2 - x1, y2 - y1)), ux = (x2 - x1) / length, uy = (y2 - y1) / length;
    // Bent to one side, so that two that wait for each other have two arrows.
    double bend = 14, mx = (x1 + x2) / 2 - uy * bend, my = (y1 + y2) / 2 + ux * bend;
    double ex = x2 - ux * (kNode + 3), ey = y2 - uy * (kNode + 3);
    double turn = std::max(1.0, std::hypot(ex - mx, ey - my)), vx = (ex - mx) / turn, vy = (ey - my) / turn;
    svg += fmt::format("<path class='edge' d='M{:.1f} {:.1f}Q{:.1f} {:.1f} {:.1f} {:.1f}'/>", x1 + ux * kNode, y1 + uy * kNode, mx, my, ex,
                       ey);
    svg += fmt::format("<path class='head' d='M{:.1f} {:.1f}L{:.1f} {:.1f}L{:.1f} {:.1f}z'/>", ex + vx * 2, ey + vy * 2,
                       ex - vx * 8 - vy * 4, ey - vy * 8 + vx * 4, ex - vx * 8 + vy * 4, ey - vy * 8 - vx * 4);
  }
  for (int process : nodes) {
    auto [x, y] = place(process);
    const CallEvidence* head = positions.head(process);
    std::string label = head ? call_text(evidence, *head) : state_text(positions.at(process));
    std::string where = head ? head->where : participant(positions, process).where;
    bool right = x > cx + 1, middle = std::abs(x - cx) <= 1;
    double tx = middle ? x : x + (right ? kNode + 6 : -kNode - 6), ty = middle ? (y < cy ? y - kNode - 22 : y + kNode + 16) : y - 2;
    svg += fmt::format(
        "<circle class='node{}' cx='{:.1f}' cy='{:.1f}' r='{}'/><text class='number' x='{:.1f}' y='{:.1f}'>{}</text>"
        "<text class='{}' x='{:.1f}' y='{:.1f}'>{}<tspan x='{:.1f}' dy='1.2em'>{}</tspan></text>",
        head ? "" : " gone", x, y, kNode, x, y + 5, process,
        middle  ? "middle"
        : right ? "start"
                : "end",
        tx, ty, escaped(shortened(label)), tx, escaped(shortened(where)));
  }
  return svg + "</svg>";
}

}  // namespace shardlab::traces
