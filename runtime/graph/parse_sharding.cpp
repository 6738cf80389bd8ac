#include "runtime/graph/parse_sharding.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace shardlab {
namespace {

constexpr std::int64_t kMeshSizeMax = std::int64_t(1) << 20;

void check_disjoint(const TextReader& text, const Spec& checked) {
  Axes all;
  for (const Axes& axes : checked)
    for (const AxisPiece& axis : axes) {
      for (const AxisPiece& other : all)
        if (overlaps(axis, other)) text.fail("an axis is used twice in one spec");
      all.push_back(axis);
    }
}

// 'a', or 'a:(1)2' for a sub-axis.
AxisPiece read_piece(TextReader& text, const Mesh& mesh) {
  std::size_t at = text.next();
  if (text.peek() != '\'') text.fail("wanted an axis, got {}", text.got());
  std::string axis_text = text.quoted();
  if (auto axis = mesh.axis_index(axis_text)) return mesh.whole_axis(*axis);
  std::size_t colon = axis_text.rfind(":(");
  std::size_t close = axis_text.find(')', colon == std::string::npos ? axis_text.size() : colon);
  auto axis = colon == std::string::npos ? std::nullopt : mesh.axis_index(axis_text.substr(0, colon));
  if (!axis || close == std::string::npos) text.fail_at(at, "the mesh has no axis '{}'", axis_text);
  AxisPiece result{*axis, 0, 0};
  std::from_chars(axis_text.data() + colon + 2, axis_text.data() + close, result.pre);
  std::from_chars(axis_text.data() + close + 1, axis_text.data() + axis_text.size(), result.size);
  std::int64_t whole = mesh.axis_size(*axis);
  if (result.pre < 1 || result.size < 1 || result.pre > whole || result.size > whole || whole % (result.pre * result.size) != 0)
    text.fail_at(at, "'{}' is no part of an axis of size {}", axis_text, whole);
  return result;
}

Spec read_spec(TextReader& text, const Mesh& mesh) {
  text.expect_word("P");
  text.expect('(');
  Spec result;
  while (!text.accept(')')) {
    if (!result.empty()) {
      text.expect(',');
      if (text.accept(')')) break;  // P('a',)
    }
    if (result.size() >= TextReader::kRankMax) text.fail("more than {} entries", TextReader::kRankMax);
    Axes axes;
    if (text.peek() == '\'') {
      axes.push_back(read_piece(text, mesh));
    } else if (text.accept('(')) {
      do axes.push_back(read_piece(text, mesh));
      while (text.accept(','));
      text.expect(')');
    } else {
      text.expect_word("None");
    }
    result.push_back(std::move(axes));
  }
  check_disjoint(text, result);
  return result;
}

// (Explicit, Auto), of one axis (Explicit,).
std::vector<AxisType> read_axis_types(TextReader& text) {
  std::vector<AxisType> types;
  text.expect('(');
  while (!text.accept(')')) {
    if (!types.empty()) {
      text.expect(',');
      if (text.accept(')')) break;
    }
    std::size_t at = text.next();
    std::string_view word = text.name("an axis type");
    constexpr AxisType kTypes[] = {AxisType::kAuto, AxisType::kExplicit, AxisType::kManual};
    const auto* found = std::find_if(std::begin(kTypes), std::end(kTypes), [&](AxisType type) { return name_of(type) == word; });
    if (found == std::end(kTypes)) text.fail_at(at, "unknown axis type '{}'", word);
    types.push_back(*found);
  }
  return types;
}

std::vector<int> read_devices(TextReader& text) {
  std::size_t at = text.next();
  std::vector<int> devices;
  for (std::int64_t device : text.integer_list('[', ']', std::size_t(kMeshSizeMax))) {
    if (device < 0 || device > std::numeric_limits<int>::max()) text.fail_at(at, "device {} is out of range", device);
    devices.push_back(int(device));
  }
  return devices;
}

Mesh read_mesh(TextReader& text) {
  std::size_t at = text.next();
  text.expect_word("Mesh");
  text.expect('(');
  Shape sizes;
  std::vector<std::string> names;
  std::vector<int> devices;
  std::vector<AxisType> types;
  std::int64_t total = 1;
  bool is_first = true;
  while (!text.accept(')')) {
    if (!is_first) text.expect(',');
    is_first = false;
    if (text.peek() != '\'') {
      std::size_t word_at = text.next();
      std::string_view word = text.name("an axis, axis_types or devices");
      text.expect('=');
      if (word == "axis_types")
        types = read_axis_types(text);
      else if (word == "devices")
        devices = read_devices(text);
      else
        text.fail_at(word_at, "wanted an axis, axis_types or devices, got '{}'", word);
      continue;
    }
    names.push_back(text.quoted());
    text.expect(':');
    sizes.push_back(text.integer());
    if (sizes.size() > TextReader::kRankMax || sizes.back() < 1 || sizes.back() > kMeshSizeMax || (total *= sizes.back()) > kMeshSizeMax)
      text.fail_at(at, "the mesh is out of range: at most {} devices", kMeshSizeMax);
  }
  if (devices.empty())
    for (std::int64_t d = 0; d < total; ++d) devices.push_back(int(d));
  try {
    return Mesh(sizes, names, devices, types);
  } catch (const UserError& error) { text.fail_at(at, "{}", error.what()); }
}

Sharding single_device_sharding(TextReader& text) {
  text.expect('(');
  text.expect_word("device");
  text.expect('=');
  std::size_t at = text.next();
  std::int64_t device = text.integer();
  if (device < 0 || device > kMeshSizeMax) text.fail_at(at, "device {} is out of range", device);
  text.expect(')');
  return Sharding::on_device(int(device));
}

Sharding named_sharding(TextReader& text) {
  text.expect('(');
  text.expect_word("mesh");
  text.expect('=');
  Mesh parsed = read_mesh(text);
  text.expect(',');
  text.expect_word("spec");
  text.expect('=');
  std::size_t at = text.next();
  Spec parsed_spec = read_spec(text, parsed);
  text.expect(')');
  try {
    Sharding sharding(parsed, parsed_spec);
    SL_CHECK(sharding.spec(int(parsed_spec.size())).size() == parsed_spec.size());
    return sharding;
  } catch (const UserError& error) { text.fail_at(at, "{}", error.what()); }
}

}  // namespace

bool stands_sharding(const TextReader& text) { return text.stands("NamedSharding(") || text.stands("SingleDeviceSharding("); }

Sharding read_sharding(TextReader& text) {
  std::size_t at = text.next();
  std::string_view word = text.name("a sharding");
  if (word == "NamedSharding") return named_sharding(text);
  if (word == "SingleDeviceSharding") return single_device_sharding(text);
  text.fail_at(at, "wanted a sharding");
}

}  // namespace shardlab
