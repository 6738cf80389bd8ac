#include "gui/models/shard_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace shardlab::gui {
namespace {

using Slice = std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>;

int interval(const std::vector<std::int64_t>& cuts, std::int64_t at) {
  return static_cast<int>(std::lower_bound(cuts.begin(), cuts.end(), at) - cuts.begin());
}

std::vector<std::int64_t> cuts_of(const std::vector<GridCell>& cells, int dim, std::int64_t size) {
  if (dim < 0) return {0, 1};
  std::set<std::int64_t> cuts{0, size};
  for (const auto& cell : cells) {
    cuts.insert(cell.begin[std::size_t(dim)]);
    cuts.insert(cell.end[std::size_t(dim)]);
  }
  if (cuts.size() == 1) cuts.insert(size + 1);  // an empty dimension still has a place in the picture
  return {cuts.begin(), cuts.end()};
}

std::string slice_text_of(const std::vector<std::int64_t>& begin, const std::vector<std::int64_t>& end, std::size_t dims) {
  std::string text = "[";
  for (std::size_t d = 0; d < begin.size(); ++d) {
    if (d > 0) text += ", ";
    text += d < dims ? fmt::format("{}:{}", begin[d], end[d]) : ":";
  }
  return text + "]";
}

void place(GridPlane& plane, const ShardGrid& grid, const Array& array) {
  plane.row_cuts = cuts_of(plane.cells, grid.row_dim, grid.row_dim < 0 ? 1 : array.layout->shape[std::size_t(grid.row_dim)]);
  plane.col_cuts = cuts_of(plane.cells, grid.col_dim, grid.col_dim < 0 ? 1 : array.layout->shape[std::size_t(grid.col_dim)]);
  for (auto& cell : plane.cells) {
    if (grid.row_dim >= 0) {
      cell.row_first = interval(plane.row_cuts, cell.begin[std::size_t(grid.row_dim)]);
      cell.row_last = std::max(interval(plane.row_cuts, cell.end[std::size_t(grid.row_dim)]), cell.row_first + 1);
    }
    if (grid.col_dim >= 0) {
      cell.col_first = interval(plane.col_cuts, cell.begin[std::size_t(grid.col_dim)]);
      cell.col_last = std::max(interval(plane.col_cuts, cell.end[std::size_t(grid.col_dim)]), cell.col_first + 1);
    }
  }
}

}  // namespace

std::string GridCell::slice_text() const { return slice_text_of(begin, end, begin.size()); }

std::size_t ShardGrid::cell_count() const {
  std::size_t count = 0;
  for (const auto& plane : planes) count += plane.cells.size();
  return count;
}

std::string ShardGrid::summary() const {
  const std::size_t cells = cell_count();
  std::string text;
  if (cells == 0) return "no shards recorded";
  if (cells == 1)
    text = copies_max == 1 ? "one device holds all" : fmt::format("replicated: {} devices each hold all", copies_max);
  else if (copies_max == 1)
    text = fmt::format("{} shards, one device each", cells);
  else if (copies_min == copies_max)
    text = fmt::format("{} shards, {} copies of each", cells, copies_max);
  else
    text = fmt::format("{} shards, {} to {} copies of each", cells, copies_min, copies_max);
  if (uneven) text += ", of uneven size";
  if (!idle.empty()) text += fmt::format(", {} {} nothing", idle.size(), idle.size() == 1 ? "device holds" : "devices hold");
  return text;
}

ShardGrid make_shard_grid(const Array& array) {
  ShardGrid grid;
  grid.dims = static_cast<int>(array.layout->shape.size());
  grid.col_dim = grid.dims - 1;
  grid.row_dim = grid.dims >= 2 ? grid.dims - 2 : -1;

  std::map<Slice, GridCell> distinct;
  const bool has_elements = std::find(array.layout->shape.begin(), array.layout->shape.end(), 0) == array.layout->shape.end();
  for (const auto& shard : array.layout->shards) {
    bool nothing = false;
    for (std::size_t d = 0; d < shard.begin.size(); ++d) nothing |= shard.begin[d] >= shard.end[d];
    if (nothing && has_elements) {
      grid.idle.push_back(shard.device);
      continue;
    }
    auto& cell = distinct[{shard.begin, shard.end}];
    cell.begin = shard.begin;
    cell.end = shard.end;
    cell.devices.push_back(shard.device);
  }
  const std::size_t leading = std::size_t(std::max(grid.dims - 2, 0));
  std::map<Slice, GridPlane> planes;
  std::set<std::vector<std::int64_t>> sizes;
  for (auto& [slice, cell] : distinct) {
    std::sort(cell.devices.begin(), cell.devices.end());
    const int copies = static_cast<int>(cell.devices.size());
    grid.copies_min = grid.copies_min == 0 ? copies : std::min(grid.copies_min, copies);
    grid.copies_max = std::max(grid.copies_max, copies);
    std::vector<std::int64_t> size;
    for (std::size_t d = 0; d < cell.begin.size(); ++d) size.push_back(cell.end[d] - cell.begin[d]);
    sizes.insert(size);
    const std::vector<std::int64_t> begin(cell.begin.begin(), cell.begin.begin() + std::ptrdiff_t(leading));
    const std::vector<std::int64_t> end(cell.end.begin(), cell.end.begin() + std::ptrdiff_t(leading));
    auto& plane = planes[{begin, end}];
    if (leading > 0) plane.title = slice_text_of(cell.begin, cell.end, leading);
    plane.cells.push_back(cell);
  }
  grid.uneven = sizes.size() > 1;
  for (auto& [key, plane] : planes) {
    place(plane, grid, array);
    grid.planes.push_back(std::move(plane));
  }
  return grid;
}

MeshLayout make_mesh_layout(const Mesh& mesh) {
  MeshLayout layout;
  const std::size_t axes = mesh.axes.size();
  if (axes >= 1) {
    layout.cols = mesh.axes[axes - 1].size;
    layout.col_axis = mesh.axes[axes - 1].name;
  }
  if (axes >= 2) {
    layout.rows = mesh.axes[axes - 2].size;
    layout.row_axis = mesh.axes[axes - 2].name;
  }
  int planes = 1;
  for (std::size_t a = 0; a + 2 < axes; ++a) planes *= mesh.axes[a].size;
  for (int p = 0; p < planes; ++p) {
    std::string title;
    int rest = p;
    for (std::size_t a = axes > 2 ? axes - 2 : 0; a-- > 0;) {
      title = fmt::format("{}={}{}{}", mesh.axes[a].name, rest % mesh.axes[a].size, title.empty() ? "" : ", ", title);
      rest /= mesh.axes[a].size;
    }
    layout.plane_titles.push_back(title);
  }
  for (std::size_t i = 0; i < mesh.devices.size(); ++i) {
    MeshPlace place{.device = mesh.devices[i]};
    int rest = static_cast<int>(i);
    place.coordinates.resize(axes);
    for (std::size_t a = axes; a-- > 0;) {
      place.coordinates[a] = rest % mesh.axes[a].size;
      rest /= mesh.axes[a].size;
    }
    place.col = axes >= 1 ? place.coordinates[axes - 1] : 0;
    place.row = axes >= 2 ? place.coordinates[axes - 2] : 0;
    place.plane = axes > 2 ? static_cast<int>(i) / (layout.rows * layout.cols) : 0;
    layout.places.push_back(std::move(place));
  }
  return layout;
}

MeshLayout make_device_layout(const TraceData& trace) {
  MeshLayout layout;
  layout.plane_titles = {""};
  int row = 0;
  constexpr int kColsMax = 32;
  for (const auto& process : trace.processes) {
    int col = 0;
    for (const int device : process.devices) {
      if (col == kColsMax) {
        col = 0;
        ++row;
      }
      layout.places.push_back({.device = device, .row = row, .col = col++});
      layout.cols = std::max(layout.cols, col);
    }
    if (!process.devices.empty()) ++row;
  }
  layout.rows = std::max(row, 1);
  return layout;
}

std::vector<PlaceBox> boxes_of(const MeshLayout& layout, const std::vector<int>& devices) {
  const std::set<int> wanted(devices.begin(), devices.end());
  std::map<int, std::vector<const MeshPlace*>> by_plane;
  for (const auto& place : layout.places)
    if (wanted.contains(place.device)) by_plane[place.plane].push_back(&place);
  std::vector<PlaceBox> boxes;
  for (const auto& [plane, places] : by_plane) {
    PlaceBox box{plane, places[0]->row, places[0]->col, places[0]->row, places[0]->col};
    for (const auto* place : places) {
      box.row_first = std::min(box.row_first, place->row);
      box.row_last = std::max(box.row_last, place->row);
      box.col_first = std::min(box.col_first, place->col);
      box.col_last = std::max(box.col_last, place->col);
    }
    const auto area = std::size_t(box.row_last - box.row_first + 1) * std::size_t(box.col_last - box.col_first + 1);
    if (area == places.size()) {
      boxes.push_back(box);
      continue;
    }
    for (const auto* place : places) boxes.push_back({plane, place->row, place->col, place->row, place->col});
  }
  return boxes;
}

}  // namespace shardlab::gui
