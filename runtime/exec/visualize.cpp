// Source: jax/_src/debugging.py, visualize_sharding, and the table of the `rich` package that it draws with (box SQUARE).
#include "runtime/exec/visualize.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <iostream>
#include <numeric>

#include "runtime/exec/array_impl.h"
#include "runtime/exec/context.h"
#include "runtime/exec/explicit_marks.h"
#include "runtime/exec/explicit_types.h"
#include "runtime/exec/ops.h"
#include "runtime/exec/tracing.h"
#include "runtime/graph/inspection.h"

namespace shardlab {
namespace {

constexpr double kWidthToHeight = 2.5;  // of a cell of a square array, as characters are taller than wide
constexpr int kHeightOfArray = 10;      // lines

// What is drawn: which devices hold each part, and how large a cell is before its label widens it.
struct Grid {
  int rows = 1, columns = 1;
  std::vector<std::string> labels;  // row-major
  int cell_width = 0, cell_height = 1;
};

struct Color {
  int red, green, blue;
};

// The colour map "tab20b" of matplotlib, after JAX's conversion to bytes.
constexpr std::array<Color, 20> kColors = {{{57, 59, 121},   {82, 84, 163},   {107, 110, 207}, {156, 158, 222}, {99, 121, 57},
                                            {140, 162, 82},  {181, 207, 107}, {206, 219, 156}, {140, 109, 49},  {189, 158, 57},
                                            {231, 186, 82},  {231, 203, 148}, {132, 60, 57},   {173, 73, 74},   {214, 97, 107},
                                            {231, 150, 156}, {123, 65, 115},  {165, 81, 148},  {206, 109, 189}, {222, 158, 214}}};

// Which of the parts of a dimension a mesh position holds.
std::int64_t part_of(const Mesh& mesh, int position, const Axes& axes) {
  std::int64_t part = 0;
  for (const AxisPiece& piece : axes) part = part * piece.size + mesh.digit(position, piece);
  return part;
}

std::string label_of(const std::vector<int>& ordinals) {
  const Context* context = Context::current_or_null();
  std::string platform = "cpu";
  std::vector<int> ids = ordinals;
  if (context != nullptr && *std::max_element(ordinals.begin(), ordinals.end()) < int(context->all_devices().size())) {
    platform = context->device(ordinals.front()).platform;
    for (int& id : ids) id = context->device(id).id;
  }
  for (char& letter : platform) letter = char(std::toupper(static_cast<unsigned char>(letter)));
  std::sort(ids.begin(), ids.end());
  return fmt::format("{} {}", platform, fmt::join(ids, ","));
}

// The share that one of `parts` has of a dimension.
double fraction_of(std::int64_t size, std::int64_t parts) {
  return size == 0 ? 1.0 / double(parts) : double((size + parts - 1) / parts) / double(size);
}

// Which part of the dimensions before the last two is drawn: one number each.
using Block = std::vector<std::int64_t>;

bool is_in(const Block& block, const Mesh& mesh, int position, const Spec& spec) {
  for (std::size_t d = 0; d < block.size(); ++d)
    if (part_of(mesh, position, spec[d]) != block[d]) return false;
  return true;
}

// The last two dimensions (or the only one) of a block.
Grid grid_of(const Shape& whole_shape, const Spec& whole_spec, const Mesh& mesh, const Block& block, const VisualizeOptions& options) {
  const Shape shape(whole_shape.begin() + std::ptrdiff_t(block.size()), whole_shape.end());
  const Spec spec(whole_spec.begin() + std::ptrdiff_t(block.size()), whole_spec.end());
  const bool is_flat = shape.size() == 1;
  const Axes& across = spec.back();
  Grid grid;
  grid.rows = is_flat ? 1 : int(part_count(spec.front()));
  grid.columns = int(part_count(across));

  std::vector<std::vector<int>> holders(std::size_t(grid.rows) * std::size_t(grid.columns));
  for (int position = 0; position < mesh.size(); ++position) {
    if (!is_in(block, mesh, position, whole_spec)) continue;
    std::int64_t row = is_flat ? 0 : part_of(mesh, position, spec.front());
    std::int64_t cell = row * grid.columns + part_of(mesh, position, across);
    holders[std::size_t(cell)].push_back(mesh.devices()[std::size_t(position)]);
  }
  for (const auto& ordinals : holders) grid.labels.push_back(label_of(ordinals));

  const int height = int(kHeightOfArray * options.scale);
  const double aspect = (is_flat ? 1.0 : double(shape[1])) / double(std::max<std::int64_t>(shape[0], 1));
  const double width = std::floor(height * aspect);
  const double wanted = fraction_of(shape.back(), grid.columns) * width * kWidthToHeight;
  grid.cell_width = int(std::min(std::max(wanted, double(options.min_width)), double(options.max_columns)));
  if (!is_flat) grid.cell_height = int(fraction_of(shape[0], grid.rows) * height);
  return grid;
}

// A label broken after its blank and its commas into lines of at most `width`, as far as that goes.
std::vector<std::string> wrapped(const std::string& label, std::size_t width) {
  std::vector<std::string> lines = {""};
  std::size_t start = 0;
  while (start < label.size()) {
    std::size_t end = std::min(label.find_first_of(" ,", start), label.size() - 1) + 1;
    std::string word = label.substr(start, end - start);
    std::size_t length = word.size() - (word.back() == ' ');
    if (!lines.back().empty() && lines.back().size() + length > width) lines.emplace_back();
    lines.back() += word;
    start = end;
  }
  for (std::string& line : lines)
    if (!line.empty() && line.back() == ' ') line.pop_back();
  return lines;
}

// The blanks around a label of one line. Colours stand in for lines between cells and get one more on every side.
struct Padding {
  int before = 0, after = 0;
  Padding(int size, int content, bool color) {
    int rest = size - content;
    before = std::max(0, (rest >> 1) + color);
    after = std::max(0, (rest >> 1) + (rest & 1) + color);
  }
};

class Table {
 public:
  Table(Grid grid, const VisualizeOptions& options)
      : grid_(std::move(grid)), color_(options.color), padding_(grid_.cell_height, 2, color_) {
    measure(options.max_columns);
  }

  std::string text() const {
    std::string text = color_ ? "" : line("┌", "┬", "┐") + '\n';
    for (int row = 0; row < grid_.rows; ++row) {
      if (row > 0 && !color_) text += line("├", "┼", "┤") + '\n';
      text += row_text(row);
    }
    if (!color_) return text + line("└", "┴", "┘");
    text.pop_back();
    return text;
  }

 private:
  const std::string& label(int row, int column) const { return grid_.labels[std::size_t(row * grid_.columns + column)]; }

  // A column is as wide as its widest cell. Where that is too much for the terminal all shrink, and labels take several lines; but
  // never so far that a device's number is cut.
  void measure(int max_columns) {
    std::size_t total = 0, longest_word = 0;
    for (int column = 0; column < grid_.columns; ++column) {
      std::size_t widest = 0;
      for (int row = 0; row < grid_.rows; ++row) {
        int length = int(label(row, column).size());
        Padding sides(grid_.cell_width, length + 2, color_);
        widest = std::max(widest, std::size_t(sides.before + length + sides.after));
        for (const std::string& word : wrapped(label(row, column), 1)) longest_word = std::max(longest_word, word.size());
      }
      widths_.push_back(widest);
      total += widest;
    }
    int available = max_columns - (color_ ? 0 : grid_.columns + 1);
    if (int(total) <= available) return;
    std::size_t cap = std::max(std::size_t(std::max(available, 0) / grid_.columns), longest_word);
    for (std::size_t& width : widths_) width = std::min(width, cap);
  }

  std::string line(std::string_view left, std::string_view cross, std::string_view right) const {
    std::string text(left);
    for (int column = 0; column < grid_.columns; ++column) {
      if (column > 0) text += cross;
      for (std::size_t i = 0; i < widths_[std::size_t(column)]; ++i) text += "─";
    }
    return text.append(right);
  }

  std::string row_text(int row) const {
    std::vector<std::vector<std::string>> cells;
    std::size_t height = 0;
    for (int column = 0; column < grid_.columns; ++column) {
      cells.push_back(cell_lines(row, column));
      height = std::max(height, cells.back().size());
    }
    std::string text;
    for (std::size_t i = 0; i < height; ++i) {
      if (!color_) text += "│";
      for (int column = 0; column < grid_.columns; ++column) {
        const auto& cell = cells[std::size_t(column)];
        const std::string content = i < cell.size() ? cell[i] : std::string(widths_[std::size_t(column)], ' ');
        text += color_ ? colored(content, row * grid_.columns + column) : content + "│";
      }
      text += '\n';
    }
    return text;
  }

  std::vector<std::string> cell_lines(int row, int column) const {
    const std::size_t width = widths_[std::size_t(column)];
    std::vector<std::string> lines(std::size_t(padding_.before), std::string(width, ' '));
    for (const std::string& words : wrapped(label(row, column), width)) lines.push_back(centered(words, width));
    lines.insert(lines.end(), std::size_t(padding_.after), std::string(width, ' '));
    return lines;
  }

  std::string centered(const std::string& words, std::size_t width) const {
    if (words.size() >= width) return words;
    // The label's own blanks first, then what the column is wider than this cell.
    Padding sides(grid_.cell_width, int(words.size()) + 2, color_);
    int rest = int(width) - int(words.size()) - sides.before - sides.after;
    int before = rest >= 0 ? sides.before + rest / 2 : int(width - words.size()) / 2;
    return std::string(std::size_t(before), ' ') + words + std::string(width - words.size() - std::size_t(before), ' ');
  }

  std::string colored(const std::string& content, int cell) const {
    const int count = grid_.rows * grid_.columns;
    // JAX strides through the map by half its length, so that neighbours differ; with 2, 6, 10 … parts its stride repeats colours.
    int step = count / 2 + (count % 2 == 0 ? 1 : 0);
    while (std::gcd(step, count) > 1) ++step;
    const int index = int(std::int64_t(cell) * step % count);
    const double place = count == 1 ? 0.0 : double(index) / double(count - 1);
    const Color back = kColors[std::min<std::size_t>(std::size_t(place * double(kColors.size())), kColors.size() - 1)];
    const int front = back.red * 0.299 + back.green * 0.587 + back.blue * 0.114 > 186 ? 0 : 255;
    return fmt::format("\x1b[38;2;{0};{0};{0};48;2;{1};{2};{3}m{4}\x1b[0m", front, back.red, back.green, back.blue, content);
  }

  Grid grid_;
  bool color_;
  Padding padding_;  // above and below a label
  std::vector<std::size_t> widths_;
};

// "[0:4, :, ...]" of a block, as its elements are named.
std::string heading_of(const Shape& shape, const Spec& spec, const Block& block) {
  std::string text = "[";
  for (std::size_t d = 0; d < block.size(); ++d) {
    const std::int64_t parts = part_count(spec[d]), size = (shape[d] + parts - 1) / parts;
    if (parts == 1)
      text += ":, ";
    else
      text += fmt::format("{}:{}, ", std::min(shape[d], block[d] * size), std::min(shape[d], (block[d] + 1) * size));
  }
  return text + ":, :]";
}

}  // namespace

std::string sharding_text(const Shape& shape, const Sharding& sharding, const VisualizeOptions& options) {
  if (shape.empty())
    throw_user_error(
        "`visualize_sharding` only works for shapes with 1 and more dimensions, got shape (); a scalar has no parts, print its sharding()");
  const Spec spec = sharding.spec(int(shape.size()));
  const std::size_t leading = shape.size() > 2 ? shape.size() - 2 : 0;
  if (leading == 0) return Table(grid_of(shape, spec, sharding.mesh(), {}, options), options).text();
  // More dimensions: a picture of the last two for every part of those before.
  std::string text;
  Block block(leading, 0);
  for (bool is_done = false; !is_done;) {
    text += heading_of(shape, spec, block) + '\n' + Table(grid_of(shape, spec, sharding.mesh(), block, options), options).text() + '\n';
    std::size_t d = leading;
    while (d-- > 0 && ++block[d] == part_count(spec[d])) block[d] = 0;
    is_done = d == std::size_t(-1);
  }
  text.pop_back();
  return text;
}

std::string array_sharding_text(const Array& array, const VisualizeOptions& options) {
  return sharding_text(array.shape(), array.sharding(), options);
}

void visualize_array_sharding(const Operand& array, const VisualizeOptions& options) {
  Shape shape = array.is_array() ? array.array().shape() : Shape{};
  inspect_array_sharding(array,
                         [shape, options](const Sharding& sharding) { std::cout << sharding_text(shape, sharding, options) << std::endl; });
}

void inspect_array_sharding(const Operand& value, std::function<void(const Sharding&)> callback) {
  if (!value.is_array()) throw_user_error("inspect_array_sharding at {}: a number lies nowhere; give an array", value.where().text());
  if (Context::current().tracer())
    apply("inspect_sharding", {value}, inspection_attrs(std::move(callback)), value.where());
  else
    callback(value.array().sharding());
}

std::string typeof_text(const Array& array) {
  if (array.impl()->is_tracer()) return fmt::format("{}{}", array.impl()->weak ? "~" : "", array.impl()->tracer->type_text(array.impl()->value));
  const Mesh& mesh = array.sharding().mesh();
  const Spec spec = array.sharding().spec(array.ndim());
  return fmt::format("{}{}", array.impl()->weak ? "~" : "",
                     typed_text(array.type(), mesh.has_explicit_axes() ? within(spec, explicit_axes_of(mesh)) : spec, mesh));
}

}  // namespace shardlab
