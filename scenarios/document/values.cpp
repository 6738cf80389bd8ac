#include "scenarios/document/values.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "runtime/base/text.h"
#include "runtime/core/dtype.h"
#include "runtime/exec/unconstrained.h"

namespace shardlab::scenarios {
namespace {

constexpr int kRankMax = 16;

std::vector<std::string_view> mesh_names(const Document& document) {
  std::vector<std::string_view> names;
  for (const auto& [name, mesh] : document.meshes) names.push_back(name);
  return names;
}

}  // namespace

const Mesh& only_mesh(const Node& node, const Document& document) {
  if (document.meshes.empty()) node.fail("a spec needs a mesh, and \"meshes\" has none");
  if (document.meshes.size() > 1)
    node.fail(fmt::format("which mesh is meant? there are {}; write {{\"mesh\": …, \"spec\": …}}", document.meshes.size()));
  return document.meshes.begin()->second;
}

const Mesh& mesh_at(const Node& node, const Document& document) {
  std::string name = node.string();
  auto found = document.meshes.find(name);
  if (found == document.meshes.end()) node.fail(fmt::format("there is no mesh '{}'{}", name, did_you_mean(name, mesh_names(document))));
  return found->second;
}

namespace {

// Shape of nested lists, by their first elements; checked against all of them while filling.
Shape nested_shape(const Node& node) {
  Shape shape;
  const nlohmann::json* at = &node.json();
  while (at->is_array()) {
    if (shape.size() == kRankMax) node.fail(fmt::format("more than {} dimensions", kRankMax));
    shape.push_back(std::int64_t(at->size()));
    if (at->empty()) break;
    at = &at->front();
  }
  return shape;
}

void collect_elements(const Node& node, const Shape& shape, std::size_t depth, std::vector<Node>& elements) {
  if (depth == shape.size()) {
    if (node.is_list() || node.is_object()) node.wanted("a number: all rows have the same depth");
    elements.push_back(node);
    return;
  }
  if (!node.is_list() || std::int64_t(node.size()) != shape[depth])
    node.wanted(fmt::format("a list of {}, as long as the others", shape[depth]));
  for (const Node& item : node.items()) collect_elements(item, shape, depth + 1, elements);
}

WeakKind kind_of_elements(const std::vector<Node>& elements) {
  bool all_flags = !elements.empty(), any_fraction = elements.empty();
  for (const Node& each : elements) {
    all_flags &= each.json().is_boolean();
    any_fraction |= each.json().is_number_float() || each.is_string();
  }
  return all_flags ? WeakKind::kBool : any_fraction ? WeakKind::kReal : WeakKind::kInteger;
}

template <typename T>
T whole_element(const Node& node) {
  const nlohmann::json& element = node.json();
  if (element.is_boolean()) return T(node.flag());
  if (element.is_number_unsigned() && std::in_range<T>(element.get<std::uint64_t>())) return T(element.get<std::uint64_t>());
  if (element.is_number_integer() && !element.is_number_unsigned() && std::in_range<T>(element.get<std::int64_t>()))
    return T(element.get<std::int64_t>());
  double value = element.is_number_integer() ? std::nan("") : std::trunc(node.number());
  if (!(value >= double(std::numeric_limits<T>::min()) && value < 2.0 * double(std::numeric_limits<T>::max() / 2 + 1)))
    node.wanted(fmt::format("a number that fits {}", name_of(dtype_of<T>::value)));
  return T(value);
}

template <typename T>
T element_as(const Node& node) {
  if constexpr (Bool<T>)
    return node.json().is_boolean() ? node.flag() : node.number() != 0;
  else if constexpr (Whole<T>)
    return whole_element<T>(node);
  else
    return element_from<T>(node.json().is_boolean() ? double(node.flag()) : node.number());
}

}  // namespace

PartitionSpec read_spec(const Node& node) {
  if (!node.is_list()) node.wanted("a spec: a list with an axis name, a list of them or null per dimension");
  std::vector<SpecEntry> entries;
  for (const Node& item : node.items()) {
    if (item.is_null())
      entries.emplace_back();
    else if (item.is_string())
      entries.emplace_back(item.string());
    else if (item.is_list())
      entries.emplace_back(item.strings());
    else
      item.wanted("an axis name, a list of axis names or null");
  }
  return PartitionSpec(std::move(entries));
}

namespace {

// The spec without what is UNCONSTRAINED.
PartitionSpec closed_spec(const PartitionSpec& spec) {
  std::vector<SpecEntry> entries = spec.entries();
  std::replace(entries.begin(), entries.end(), SpecEntry(UNCONSTRAINED), SpecEntry());
  return PartitionSpec(std::move(entries));
}

}  // namespace

OpenSharding read_open_sharding(const Node& node, const Document& document) {
  if (node.is_list()) {
    const Mesh& mesh = only_mesh(node, document);
    const PartitionSpec spec = read_spec(node), closed = closed_spec(spec);
    return {at_node(node, [&] { return Sharding(mesh, closed); }), spec, closed != spec};
  }
  if (!node.is_object()) node.wanted("a sharding: {\"mesh\": …, \"spec\": […]}, a spec, or {\"device\": ordinal}");
  if (auto device = node.find("device")) {
    static constexpr std::string_view kKeys[] = {"device"};
    node.only_keys(kKeys, "a sharding on one device");
    return {Sharding::on_device(int(device->integer(0, document.cluster.device_count() - 1))), {}, false};
  }
  static constexpr std::string_view kKeys[] = {"mesh", "spec", "device"};
  node.only_keys(kKeys, "a sharding");
  auto name = node.find("mesh");
  const Mesh& mesh = name ? mesh_at(*name, document) : only_mesh(node, document);
  Node list = node.at("spec");
  const PartitionSpec spec = read_spec(list), closed = closed_spec(spec);
  return {at_node(list, [&] { return Sharding(mesh, closed); }), spec, closed != spec};
}

Sharding read_sharding(const Node& node, const Document& document) {
  const OpenSharding read = read_open_sharding(node, document);
  if (read.has_open_dimensions)
    node.fail(
        fmt::format("Unconstrained dims are not allowed here: {}; only with_sharding_constraint leaves dimensions open", read.spec.text()));
  return read.sharding;
}

std::vector<std::optional<Sharding>> read_shardings(const Node& node, const Document& document) {
  std::vector<std::optional<Sharding>> result;
  for (const Node& item : node.items()) result.push_back(item.is_null() ? std::nullopt : std::optional(read_sharding(item, document)));
  return result;
}

DType read_dtype(const Node& node) {
  std::string name = node.string();
  if (auto dtype = dtype_from_name(name)) return *dtype;
  std::vector<std::string_view> known;
  for (const DTypeInfo& each : all_dtypes()) known.push_back(each.name);
  node.fail(fmt::format("unknown dtype '{}'{}", name, did_you_mean(name, known)));
}

Literal read_literal(const Node& node, std::optional<DType> dtype, const Config& config) {
  Shape shape = nested_shape(node);
  std::vector<Node> elements;
  collect_elements(node, shape, 0, elements);
  for (const Node& each : elements)
    if (!each.json().is_boolean()) each.number();
  TensorType type{dtype ? canonical(*dtype, config.enable_x64) : default_dtype(kind_of_elements(elements), config.enable_x64), shape};
  auto buffer = std::make_shared<Buffer>(std::size_t(type.bytes()));
  visit_dtype(type.dtype, [&]<typename T>(T) {
    T* data = buffer->as<T>();
    for (const Node& each : elements) *data++ = element_as<T>(each);
  });
  return Literal{std::move(type), std::move(buffer)};
}

Scalar read_scalar(const Node& node) {
  if (node.json().is_boolean()) return Scalar{node.flag()};
  if (node.is_integer()) return Scalar{node.integer()};
  return Scalar{node.number()};
}

std::vector<double> read_numbers(const Node& node) {
  std::vector<double> result;
  for (const Node& item : node.items()) {
    if (item.is_list()) {
      std::vector<double> inner = read_numbers(item);
      result.insert(result.end(), inner.begin(), inner.end());
    } else {
      result.push_back(item.json().is_boolean() ? double(item.flag()) : item.number());
    }
  }
  return result;
}

std::vector<int> read_processes(const Node& node, const Document& document) {
  std::set<int> processes;
  for (const Node& item : node.items())
    if (!processes.insert(int(item.integer(0, document.cluster.processes - 1))).second) item.fail("this process is listed twice");
  return {processes.begin(), processes.end()};
}

std::vector<int> read_ordinals(const Node& node, const Document& document) {
  std::vector<int> result;
  for (std::int64_t each : node.integers(0, document.cluster.device_count() - 1)) result.push_back(int(each));
  return result;
}

}  // namespace shardlab::scenarios
