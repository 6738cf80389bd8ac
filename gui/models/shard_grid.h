// The picture of a sharded array as data: which cells there are, who holds each, where its cuts are.
#pragma once

#include <string>
#include <vector>

#include "gui/models/trace_data.h"

namespace shardlab::gui {

// A distinct slice of the array and all devices that hold it.
struct GridCell {
  std::vector<int> devices;              // ordinals, sorted
  std::vector<std::int64_t> begin, end;  // in every dimension
  int row_first = 0, row_last = 1;       // intervals between the plane's row cuts that it covers
  int col_first = 0, col_last = 1;
  std::string slice_text() const;  // "[0:2, 4:8]"
};

// The last two dimensions at one place of the leading ones.
struct GridPlane {
  std::string title;                   // "[0:2, 1:3, :, :]", empty where there are at most two dimensions
  std::vector<std::int64_t> row_cuts;  // n + 1 indices for n rows; {0, 1} where the array has one dimension
  std::vector<std::int64_t> col_cuts;
  std::vector<GridCell> cells;
  int rows() const { return static_cast<int>(row_cuts.size()) - 1; }
  int cols() const { return static_cast<int>(col_cuts.size()) - 1; }
};

struct ShardGrid {
  std::vector<GridPlane> planes;
  int dims = 0;
  int row_dim = -1, col_dim = -1;  // the array's dimensions drawn downwards and across; -1: none
  int copies_min = 0, copies_max = 0;
  bool uneven = false;    // cells of different sizes
  std::vector<int> idle;  // devices that hold no element, sorted
  std::size_t cell_count() const;
  std::string summary() const;  // "8 shards, 2 copies of each, uneven"
};

ShardGrid make_shard_grid(const Array& array);

// Where the devices of a mesh are drawn: the last axis across, the one before it downwards, earlier ones as planes.
struct MeshPlace {
  int device = 0;
  int plane = 0, row = 0, col = 0;
  std::vector<int> coordinates;
};

struct MeshLayout {
  std::vector<MeshPlace> places;
  std::vector<std::string> plane_titles;  // "c=1", empty where there is one plane
  int rows = 1, cols = 1;
  std::string row_axis, col_axis;
};

MeshLayout make_mesh_layout(const Mesh& mesh);
// Where no mesh is known: a line a process.
MeshLayout make_device_layout(const TraceData& trace);

// A set of places as rectangles: one where the set fills its bounding box in one plane, else one a place.
struct PlaceBox {
  int plane, row_first, col_first, row_last, col_last;  // inclusive
};
std::vector<PlaceBox> boxes_of(const MeshLayout& layout, const std::vector<int>& devices);

}  // namespace shardlab::gui
