#include "traces/sharding_svg.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "traces/svg.h"

namespace shardlab::traces {
namespace {

constexpr int kPartsMax = 256;

struct Axis {
  std::string name;
  int size = 1;
};

std::optional<int> whole_number(std::string_view text) {
  int value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "'a': 4, 'b': 2" of a mesh's text, in order.
std::vector<Axis> axes_of(std::string_view mesh) {
  std::vector<Axis> axes;
  for (std::size_t at = 0; (at = mesh.find('\'', at)) != mesh.npos;) {
    std::size_t end = mesh.find("': ", at + 1);
    if (end == mesh.npos) break;
    std::size_t stop = mesh.find_first_of(",)", end);
    auto size = whole_number(mesh.substr(end + 3, stop - end - 3));
    if (!size) break;
    axes.push_back({std::string(mesh.substr(at + 1, end - at - 1)), *size});
    at = stop;
  }
  return axes;
}

// The axes of each entry of "P('a', None, ('b', 'c'))"; nothing where it names a part of an axis.
std::optional<std::vector<std::vector<std::string>>> spec_of(std::string_view text) {
  if (!text.starts_with("P(")) return std::nullopt;
  std::vector<std::vector<std::string>> entries;
  std::string_view rest = text.substr(2, text.rfind(')') - 2);
  while (!rest.empty()) {
    while (!rest.empty() && (rest.front() == ' ' || rest.front() == ',')) rest.remove_prefix(1);
    if (rest.empty()) break;
    std::size_t end = rest.front() == '(' ? rest.find(')') + 1 : rest.find(',');
    std::string_view entry = rest.substr(0, end);
    rest.remove_prefix(std::min(rest.size(), entry.size()));
    entries.emplace_back();
    for (std::size_t at = 0; (at = entry.find('\'', at)) != entry.npos;) {
      std::size_t close = entry.find('\'', at + 1);
      if (close == entry.npos) return std::nullopt;
      entries.back().emplace_back(entry.substr(at + 1, close - at - 1));
      at = close + 1;
    }
  }
  return entries;
}

}  // namespace

std::string sharding_svg(std::string_view value, std::string_view mesh, const std::vector<int>& devices) {
  std::size_t space = value.find(' '), open = value.find('['), close = value.find(']');
  if (space == value.npos || open > space || close > space) return "";
  auto spec = spec_of(value.substr(space + 1));
  std::vector<Axis> axes = axes_of(mesh);
  if (!spec) return "";
  std::map<std::string, std::pair<int, int>> stride_and_size;  // by axis
  int stride = 1;
  for (std::size_t i = axes.size(); i-- > 0; stride *= axes[i].size) stride_and_size[axes[i].name] = {stride, axes[i].size};
  if (std::size_t(stride) != devices.size()) return "";
  // A part's number along each dimension, for each position of the mesh.
  int counts[2] = {1, 1};
  std::vector<std::pair<int, int>> parts(devices.size());
  for (std::size_t d = 0; d < std::min<std::size_t>(2, spec->size()); ++d)
    for (const std::string& name : (*spec)[d]) {
      auto axis = stride_and_size.find(name);
      if (axis == stride_and_size.end()) return "";
      auto [step, size] = axis->second;
      for (std::size_t p = 0; p < devices.size(); ++p) {
        int& part = d == 0 ? parts[p].first : parts[p].second;
        part = part * size + int(p) / step % size;
      }
      counts[d] *= size;
    }
  if (counts[0] * counts[1] > kPartsMax) return "";
  std::map<std::pair<int, int>, std::vector<int>> holders;
  for (std::size_t p = 0; p < devices.size(); ++p) holders[parts[p]].push_back(devices[p]);
  double cell_width = std::max(44.0, 220.0 / counts[1]), cell_height = std::max(22.0, 110.0 / counts[0]);
  double width = cell_width * counts[1], height = cell_height * counts[0];
  std::string svg =
      fmt::format("<figure><svg class='sharding' width='{:.0f}' height='{:.0f}' viewBox='-1 -1 {:.0f} {:.0f}' role='img' aria-label='{}'>",
                  width + 2, height + 2, width + 2, height + 2, escaped(value));
  for (const auto& [part, held] : holders) {
    double x = part.second * cell_width, y = part.first * cell_height;
    // The colour tells the part: golden angle, so that neighbours differ.
    double hue = 137.5 * (part.first * counts[1] + part.second);
    svg += fmt::format(
        "<rect x='{:.1f}' y='{:.1f}' width='{:.1f}' height='{:.1f}' fill='hsl({:.0f} 55% 82%)'/><text x='{:.1f}' y='{:.1f}'>{}</text>", x,
        y, cell_width, cell_height, hue - 360 * double(int(hue / 360)), x + cell_width / 2, y + cell_height / 2 + 4,
        escaped(shortened(fmt::format("{}", fmt::join(held, ",")), 18)));
  }
  return svg + fmt::format("</svg><figcaption><code>{}</code> on <code>{}</code></figcaption></figure>", escaped(value), escaped(mesh));
}

}  // namespace shardlab::traces
