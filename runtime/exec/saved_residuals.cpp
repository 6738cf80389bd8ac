#include "runtime/exec/saved_residuals.h"

#include <algorithm>
#include <iostream>
#include <set>

#include "runtime/base/at_place.h"
#include "runtime/exec/context.h"
#include "runtime/exec/tracing.h"
#include "runtime/ops/derive.h"
#include "runtime/ops/primitives.h"
#include "runtime/transform/grad.h"

namespace shardlab {
namespace {

// As jaxprs write types: "f32[4,3]".
std::string short_text(const TensorType& type) {
  std::string name(name_of(type.dtype));
  constexpr std::pair<std::string_view, std::string_view> kShort[] = {
      {"bfloat", "bf"}, {"float", "f"}, {"complex", "c"}, {"uint", "u"}, {"int", "i"}};
  for (const auto& [word, letter] : kShort)
    if (name.starts_with(word)) {
      name = std::string(letter) + name.substr(word.size());
      break;
    }
  const std::string text = type.text();
  return name + text.substr(text.find('['));
}

// Where a value comes from: a parameter's number, or the node that computes it, in the bodies of functions that stand for themselves.
struct Source {
  int param = -1;
  const Node* node = nullptr;
};

Source source_of(const Graph& graph, ValueId id) {
  const Value& value = graph.values[std::size_t(id)];
  if (value.producer < 0) return {value.result_index, nullptr};
  const Node& node = graph.nodes[std::size_t(value.producer)];
  if (node.op->region != RegionKind::kCall) return {-1, &node};
  const Graph& body = *node.attrs.bodies()[0];
  const Source inside = source_of(body, body.results[std::size_t(value.result_index)]);
  return inside.param < 0 ? inside : source_of(graph, node.operands[std::size_t(inside.param)]);
}

}  // namespace

std::vector<std::string> saved_residuals_of(const ArrayFunction& function, const std::vector<Array>& args, const KeyPaths& paths,
                                            Where where) {
  std::vector<TensorType> types;
  for (const Array& arg : args) types.push_back(arg.type());
  const TracedBody body = Tracer::trace_body(Context::current(), "saved_residuals", types, function);
  std::vector<bool> active;
  for (std::size_t i = 0; i < body.graph.params.size(); ++i)
    active.push_back(i < args.size() && ops::has_tangent(body.graph.type(body.graph.params[i]).dtype));
  const transform::Pullback pullback = at_place(where, [&] { return transform::pullback(body.graph, active); });
  const Graph& forward = pullback.forward;
  std::vector<std::string> of_params(args.size()), rest;
  std::set<ValueId> seen;
  for (std::size_t i = body.graph.results.size(); i < forward.results.size(); ++i) {
    const ValueId id = forward.results[i];
    if (!seen.insert(id).second) continue;
    const Source source = source_of(forward, id);
    const std::string type = short_text(forward.type(id));
    if (source.node == nullptr && std::size_t(source.param) < args.size()) {
      of_params[std::size_t(source.param)] = fmt::format("{} from the argument {}", type, key_path(paths, std::size_t(source.param)));
    } else if (source.node == nullptr || source.node->op->constant) {
      rest.push_back(fmt::format("{} from a constant", type));
    } else if (source.node->op == &ops::kCheckpointName) {
      rest.push_back(fmt::format("{} named '{}' from {}", type, source.node->attrs.string("name"), source.node->where.text()));
    } else {
      rest.push_back(fmt::format("{} output of {} from {}", type, source.node->op->name, source.node->where.text()));
    }
  }
  std::erase(of_params, std::string());
  of_params.insert(of_params.end(), rest.begin(), rest.end());
  return of_params;
}

void print_lines(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) std::cout << line << '\n';
  std::cout.flush();
}

}  // namespace shardlab
