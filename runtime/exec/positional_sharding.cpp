#include "runtime/exec/positional_sharding.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <numeric>

namespace shardlab {
namespace {

// Where each device lies: per place the index of its set, as one number per dimension.
std::vector<Shape> indices_of(const Shape& shape, const std::vector<std::vector<int>>& sets, std::size_t device_count) {
  std::vector<Shape> indices(device_count);
  for (std::size_t set = 0; set < sets.size(); ++set) {
    Shape index(shape.size());
    std::int64_t rest = std::int64_t(set);
    for (std::size_t d = shape.size(); d-- > 0;) {
      index[d] = rest % shape[d];
      rest /= shape[d];
    }
    for (int place : sets[set]) indices[std::size_t(place)] = index;
  }
  return indices;
}

// One digit of a place, major to minor, and what it decides.
struct Digit {
  std::int64_t size = 1;
  int dimension = -1;       // -1: copies
  std::int64_t weight = 0;  // how much one step of it adds to the dimension's index
};

// Reads places as digits of these sizes: fails where some digit takes part in two dimensions, or an index is no sum of digits.
std::optional<std::vector<Digit>> digits_of(const std::vector<std::int64_t>& sizes, const std::vector<Shape>& indices) {
  std::vector<Digit> digits;
  std::int64_t stride = std::int64_t(indices.size());
  for (std::int64_t size : sizes) {
    stride /= size;
    Digit digit{size, -1, 0};
    const Shape& step = indices[std::size_t(stride)];
    for (std::size_t d = 0; d < step.size(); ++d) {
      if (step[d] == 0) continue;
      if (digit.dimension >= 0) return std::nullopt;
      digit.dimension = int(d);
      digit.weight = step[d];
    }
    digits.push_back(digit);
  }
  for (std::size_t place = 0; place < indices.size(); ++place) {
    Shape sum(indices[place].size(), 0);
    std::int64_t rest = std::int64_t(place);
    for (std::size_t i = digits.size(); i-- > 0;) {
      if (digits[i].dimension >= 0) sum[std::size_t(digits[i].dimension)] += rest % digits[i].size * digits[i].weight;
      rest /= digits[i].size;
    }
    if (sum != indices[place]) return std::nullopt;
  }
  return digits;
}

std::vector<std::int64_t> prime_factors(std::int64_t n) {
  std::vector<std::int64_t> factors;
  for (std::int64_t p = 2; n > 1; ++p)
    for (; n % p == 0; n /= p) factors.push_back(p);
  return factors;
}

void append_text(std::string& text, const std::vector<std::string>& sets, const Shape& shape, std::size_t dimension, std::size_t& next,
                 std::size_t indent) {
  if (dimension == shape.size()) {
    text += sets[next++];
    return;
  }
  text += '[';
  for (std::int64_t i = 0; i < shape[dimension]; ++i) {
    const bool is_last = dimension + 1 == shape.size();
    if (i > 0) text += is_last ? " " : std::string(shape.size() - dimension - 1, '\n') + std::string(indent + 1, ' ');
    append_text(text, sets, shape, dimension + 1, next, indent + 1);
  }
  text += ']';
}

}  // namespace

PositionalSharding::PositionalSharding(const DeviceGrid& grid) : devices_(grid.devices), shape_(grid.shape) {
  if (devices_.empty()) throw_user_error("PositionalSharding.__init__ requires at least one device, got []");
  if (element_count(shape_) != std::int64_t(devices_.size()))
    throw_user_error("PositionalSharding: {} devices do not fill shape {}", devices_.size(), text_of(shape_));
  for (int place = 0; place < int(devices_.size()); ++place) sets_.push_back({place});
}

PositionalSharding::PositionalSharding(const std::vector<Device>& devices)
    : PositionalSharding(DeviceGrid{{std::int64_t(devices.size())}, devices}) {}

PositionalSharding PositionalSharding::reshape(Shape shape) const {
  std::int64_t known = 1;
  for (std::int64_t size : shape) known *= size == -1 ? 1 : size;
  for (std::int64_t& size : shape)
    if (size == -1 && known > 0) size = std::int64_t(sets_.size()) / known;
  if (element_count(shape) != std::int64_t(sets_.size()))
    throw_user_error("PositionalSharding.reshape: cannot reshape {} sets of shape {} into shape {}", sets_.size(), text_of(shape_),
                     text_of(shape));
  return {devices_, std::move(shape), sets_};
}

PositionalSharding PositionalSharding::transpose(std::vector<int> axes) const {
  if (axes.empty()) {
    axes.resize(shape_.size());
    std::iota(axes.rbegin(), axes.rend(), 0);
  }
  std::vector<int> sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  for (int i = 0; i < int(sorted.size()); ++i)
    if (sorted[std::size_t(i)] != i || sorted.size() != shape_.size())
      throw_user_error("PositionalSharding.transpose: axes ({}) are no permutation of the {} dimensions of shape {}", fmt::join(axes, ", "),
                       shape_.size(), text_of(shape_));
  Shape strides = strides_of(shape_), shape, steps;
  for (int axis : axes) {
    shape.push_back(shape_[std::size_t(axis)]);
    steps.push_back(strides[std::size_t(axis)]);
  }
  std::vector<std::vector<int>> sets(sets_.size());
  for (std::size_t target = 0; target < sets.size(); ++target) {
    std::int64_t rest = std::int64_t(target), source = 0;
    for (std::size_t d = shape.size(); d-- > 0;) {
      source += rest % shape[d] * steps[d];
      rest /= shape[d];
    }
    sets[target] = sets_[std::size_t(source)];
  }
  return {devices_, std::move(shape), std::move(sets)};
}

PositionalSharding PositionalSharding::replicate(std::optional<int> axis, bool keepdims) const {
  const int rank = ndim();
  if (axis && (*axis < -rank || *axis >= rank))
    throw_user_error("PositionalSharding.replicate: axis {} is out of bounds for {} dimensions of shape {}", *axis, rank, text_of(shape_));
  const int kept_axis = axis ? (*axis + rank) % rank : -1;
  auto is_united = [&](int d) { return !axis || d == kept_axis; };
  Shape shape = shape_;
  for (int d = 0; d < rank; ++d)
    if (is_united(d)) shape[std::size_t(d)] = 1;
  Shape steps = strides_of(shape);
  std::vector<std::vector<int>> sets(std::size_t(element_count(shape)));
  for (std::size_t source = 0; source < sets_.size(); ++source) {
    std::int64_t rest = std::int64_t(source), target = 0;
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (!is_united(int(d))) target += rest % shape_[d] * steps[d];
      rest /= shape_[d];
    }
    auto& set = sets[std::size_t(target)];
    set.insert(set.end(), sets_[source].begin(), sets_[source].end());
  }
  for (auto& set : sets) std::sort(set.begin(), set.end());
  if (!keepdims) {
    Shape squeezed;
    for (int d = 0; d < rank; ++d)
      if (!is_united(d)) squeezed.push_back(shape[std::size_t(d)]);
    shape = squeezed;
  }
  return {devices_, std::move(shape), std::move(sets)};
}

std::string PositionalSharding::text() const {
  std::string platform = devices_[0].platform;
  for (char& letter : platform) letter = char(std::toupper(static_cast<unsigned char>(letter)));
  std::vector<std::string> sets;
  for (const auto& set : sets_) {
    std::vector<int> ids;
    for (int place : set) ids.push_back(devices_[std::size_t(place)].id);
    std::sort(ids.begin(), ids.end());
    sets.push_back(fmt::format("{{{} {}}}", platform, fmt::join(ids, ", ")));
  }
  std::string text = "PositionalSharding(";
  std::size_t next = 0;
  append_text(text, sets, shape_, 0, next, text.size());
  return text + ")";
}

PositionalSharding::operator Sharding() const {
  const std::vector<Shape> indices = indices_of(shape_, sets_, devices_.size());
  std::vector<std::int64_t> sizes = prime_factors(std::int64_t(devices_.size()));
  std::optional<std::vector<Digit>> digits;
  do digits = digits_of(sizes, indices);
  while (!digits && std::next_permutation(sizes.begin(), sizes.end()));
  if (!digits)
    throw_user_error(
        "no mesh of the {} devices in their order has the layout {}; keep the dimensions apart when you reshape after a transpose",
        devices_.size(), text());

  Shape extents;
  std::vector<std::string> names;
  std::vector<std::vector<std::pair<std::int64_t, int>>> cuts(shape_.size());  // per dimension: weight, axis
  for (int axis = 0; axis < int(digits->size()); ++axis) {
    const Digit& digit = (*digits)[std::size_t(axis)];
    extents.push_back(digit.size);
    names.push_back(fmt::format("positional{}", axis));
    if (digit.dimension >= 0) cuts[std::size_t(digit.dimension)].emplace_back(digit.weight, axis);
  }
  std::vector<int> ordinals;
  for (const Device& device : devices_) ordinals.push_back(device.ordinal);
  Mesh mesh(extents, names, ordinals);
  Spec spec;
  for (auto& cut : cuts) {
    std::sort(cut.rbegin(), cut.rend());
    spec.emplace_back();
    for (const auto& [weight, axis] : cut) spec.back().push_back(mesh.whole_axis(axis));
  }
  return Sharding(std::move(mesh), std::move(spec)).aligned_right();
}

bool PositionalSharding::operator==(const PositionalSharding& other) const {
  return devices_ == other.devices_ && shape_ == other.shape_ && sets_ == other.sets_;
}

}  // namespace shardlab
