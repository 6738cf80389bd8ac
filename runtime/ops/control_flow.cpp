// while_loop, scan and cond: nodes whose bodies are repeated or chosen. Shape rules with JAX's texts for carries that change.
#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/graph/host_callback.h"
#include "runtime/ops/lower.h"
#include "runtime/ops/region_types.h"

namespace shardlab::ops {

std::vector<TensorType> result_types(const Graph& body) { return body.types(body.results); }

void check_params(const OpDef& op, const Graph& body, std::span<const TensorType> given, std::string_view which) {
  std::vector<TensorType> wanted = body.types(body.params);
  if (wanted.size() != given.size()) throw_user_error("{}: the {} takes {} values, got {}", op.name, which, wanted.size(), given.size());
  for (std::size_t i = 0; i < given.size(); ++i)
    if (wanted[i] != given[i])
      throw_user_error("{}: the {} takes {} as value {}, got {}", op.name, which, wanted[i].text(), i, given[i].text());
}

const Bodies& bodies_of(const OpDef& op, const Attrs& attrs, int count) {
  const Bodies& bodies = attrs.bodies();
  SL_CHECK(count < 0 ? !bodies.empty() : int(bodies.size()) == count, "{} has {} bodies", op.name, bodies.size());
  for (const GraphRef& body : bodies) SL_CHECK(body != nullptr, "{} has an empty body", op.name);
  return bodies;
}

std::vector<ValueId> refuse_plain_call(GraphBuilder& b, const OpDef& op, std::span<const Arg> args, const Attrs& attrs) {
  if (attrs.bodies().empty()) throw_user_error("{} takes functions: call shardlab::{}", op.name, op.name);
  std::vector<ValueId> operands;
  for (const Arg& arg : args) operands.push_back(value_of(b, arg));
  return b.emit(op, operands, attrs);
}

namespace {

using Types = std::vector<TensorType>;

// Source: the message of jax.lax's loops, _check_carry_type.
void check_carry(std::string_view name, const Types& in, const Types& out) {
  if (in.size() != out.size())
    throw_user_error(
        "{} function carry input and carry output must have the same pytree structure, but they differ: the carry input has {} values, the "
        "carry output {}",
        name, in.size(), out.size());
  std::vector<std::string> differences;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (in[i] == out[i]) continue;
    std::string why = in[i].shape != out[i].shape ? ", so the shapes do not match" : ", so the dtypes do not match";
    differences.push_back(
        fmt::format("the input carry component carry[{}] has type {} but the corresponding output carry component has "
                    "type {}{}",
                    i, in[i].text(), out[i].text(), why));
  }
  if (differences.empty()) return;
  std::string text = differences.size() == 1 ? differences[0] + "." : fmt::format("\n  * {}.", fmt::join(differences, ";\n  * "));
  throw_user_error(
      "{} function carry input and carry output must have equal types, but they differ:\n\n{}\n\nRevise the function so that all output "
      "types match the corresponding input types.",
      name, text);
}

std::span<const TensorType> part(const Types& types, std::size_t first, std::size_t count) {
  return std::span(types).subspan(first, count);
}

std::size_t count_of(const OpDef& op, const Attrs& attrs, std::string_view name, std::size_t at_most) {
  std::int64_t count = attrs.integer(name, 0);
  if (count < 0 || std::size_t(count) > at_most) throw_user_error("{}: {} is {}, of {} operands", op.name, name, count, at_most);
  return std::size_t(count);
}

Types infer_while(const OpDef& op, const Types& types, const Attrs& attrs) {
  const Bodies& bodies = bodies_of(op, attrs, 2);
  std::size_t consts = count_of(op, attrs, "num_consts", types.size());
  check_params(op, *bodies[0], types, "cond_fun");
  check_params(op, *bodies[1], types, "body_fun");
  Types predicate = result_types(*bodies[0]);
  if (predicate.size() != 1) throw_user_error("cond_fun must return a boolean scalar, but got {} values", predicate.size());
  if (predicate[0] != TensorType{DType::kBool, {}})
    throw_user_error("cond_fun must return a boolean scalar, but got output type(s) [{}].", predicate[0].text());
  Types carry(types.begin() + std::ptrdiff_t(consts), types.end());
  check_carry("body_fun", carry, result_types(*bodies[1]));
  return carry;
}

// Without the leading dimension.
TensorType slice_of(const OpDef& op, const TensorType& type, std::int64_t length) {
  if (type.shape.empty()) throw_user_error("{} got value with no leading axis to scan over: {}", op.name, type.text());
  if (type.shape[0] != length)
    throw_user_error("{} got `length` argument of {} which disagrees with leading axis sizes [{}].", op.name, length, type.shape[0]);
  return {type.dtype, Shape(type.shape.begin() + 1, type.shape.end())};
}

Types infer_scan(const OpDef& op, const Types& types, const Attrs& attrs) {
  const Graph& body = *bodies_of(op, attrs, 1)[0];
  std::size_t consts = count_of(op, attrs, "num_consts", types.size());
  std::size_t carried = count_of(op, attrs, "num_carry", types.size() - consts);
  std::int64_t length = attrs.integer("length");
  if (length < 0) throw_user_error("{}: length is {}, wanted 0 or more", op.name, length);
  Types given(types.begin(), types.begin() + std::ptrdiff_t(consts + carried));
  for (std::size_t i = consts + carried; i < types.size(); ++i) given.push_back(slice_of(op, types[i], length));
  check_params(op, body, given, "scan body function");
  Types out = result_types(body);
  if (out.size() < carried)
    throw_user_error(
        "scan body function carry input and carry output must have the same pytree structure, but the body returns {} values "
        "for a carry of {}",
        out.size(), carried);
  Types carry_out(out.begin(), out.begin() + std::ptrdiff_t(carried));
  auto carry_in = part(types, consts, carried);
  check_carry("scan body", Types(carry_in.begin(), carry_in.end()), carry_out);
  Types results = carry_out;
  for (std::size_t i = carried; i < out.size(); ++i) {
    results.push_back(out[i]);
    results.back().shape.insert(results.back().shape.begin(), length);
  }
  return results;
}

Types infer_cond(const OpDef& op, const Types& types, const Attrs& attrs) {
  const Bodies& bodies = bodies_of(op, attrs, -1);
  if (types[0] != TensorType{DType::kInt32, {}}) throw_user_error("Branch index must be a 32-bit integer scalar, got {}", types[0].text());
  Types operands(types.begin() + 1, types.end());
  for (const GraphRef& body : bodies) check_params(op, *body, operands, "branch");
  Types first = result_types(*bodies[0]);
  for (std::size_t i = 1; i < bodies.size(); ++i) {
    Types other = result_types(*bodies[i]);
    if (other.size() != first.size())
      throw_user_error("cond branch outputs must have the same pytree structure, but branch 0 returns {} values and branch {} returns {}",
                       first.size(), i, other.size());
    for (std::size_t r = 0; r < first.size(); ++r)
      if (first[r] != other[r])
        throw_user_error(
            "cond branches must have equal output types but they differ.\n\nThe output of branch 0 at index {} has type {} but the "
            "corresponding output of branch {} has type {}.\n\nRevise the branches so that all output types match.",
            r, first[r].text(), i, other[r].text());
  }
  return first;
}

// A loop's body with some parameters first, the others in their order behind them, and without some results.
GraphRef rearranged(const Graph& body, const std::vector<bool>& first, const std::vector<bool>& dropped) {
  Graph graph = body;
  graph.params.clear();
  graph.results.clear();
  for (bool is_first : {true, false})
    for (std::size_t i = 0; i < body.params.size(); ++i)
      if (first[i] == is_first) graph.params.push_back(body.params[i]);
  for (std::size_t i = 0; i < graph.params.size(); ++i) graph.values[std::size_t(graph.params[i])].result_index = int(i);
  for (std::size_t i = 0; i < body.results.size(); ++i)
    if (!dropped[i]) graph.results.push_back(body.results[i]);
  return std::make_shared<const Graph>(std::move(graph));
}

bool is_used(const Graph& graph, ValueId value) {
  auto has = [value](const std::vector<ValueId>& list) { return std::find(list.begin(), list.end(), value) != list.end(); };
  return has(graph.results) || std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) { return has(node.operands); });
}

// What a loop's body gives back as it got it is no result of the loop: carried values become constant operands, stacked slices are the
// operand that they are slices of. Source: jax.lax.scan and while_loop, which keep a carried value that the condition reads.
Values expand_loop(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  if (attrs.bodies().empty()) return refuse_plain_call(b, op, args, attrs);
  Values operands;
  Types types;
  for (const Arg& arg : args) operands.push_back(value_of(b, arg));
  for (ValueId operand : operands) types.push_back(b.type(operand));
  op.infer(op, types, attrs);
  const bool is_scan = op.region == RegionKind::kScan;
  const Graph& body = *attrs.bodies().back();
  const std::size_t consts = count_of(op, attrs, "num_consts", types.size());
  const std::size_t carried = is_scan ? std::size_t(attrs.integer("num_carry", 0)) : body.results.size();
  std::vector<bool> is_first(body.params.size(), false), is_dropped(body.results.size(), false);
  Values results(body.results.size(), -1);
  for (std::size_t r = 0; r < body.results.size(); ++r) {
    auto param = std::find(body.params.begin(), body.params.end(), body.results[r]) - body.params.begin();
    const bool is_constant = r < carried && std::size_t(param) == consts + r &&
                             (is_scan || !is_used(*attrs.bodies()[0], attrs.bodies()[0]->params[std::size_t(param)]));
    const bool is_whole = r >= carried && std::size_t(param) >= consts + carried && std::size_t(param) < body.params.size();
    if (!is_constant && !is_whole) continue;
    is_dropped[r] = true;
    is_first[std::size_t(param)] = is_constant;
    results[r] = operands[std::size_t(param)];
  }
  // One that is there for its effects alone keeps what it gives.
  const bool gives_nothing = std::find(is_dropped.begin(), is_dropped.end(), false) == is_dropped.end();
  if (gives_nothing && std::any_of(body.nodes.begin(), body.nodes.end(), has_effects)) return b.emit(op, operands, attrs);
  const std::int64_t constant = std::count(is_first.begin(), is_first.end(), true);
  Values arranged;
  for (bool first : {true, false})
    for (std::size_t i = 0; i < operands.size(); ++i)
      if (is_first[i] == first) arranged.push_back(operands[i]);
  Bodies bodies;
  for (const GraphRef& each : attrs.bodies())
    bodies.push_back(
        rearranged(*each, is_first, each == attrs.bodies().back() ? is_dropped : std::vector<bool>(each->results.size(), false)));
  Attrs own = attrs;
  own.set("bodies", bodies).set("num_consts", std::int64_t(consts) + constant);
  if (is_scan) own.set("num_carry", std::int64_t(carried) - constant);
  Values made = b.emit(op, arranged, own);
  auto next = made.begin();
  for (ValueId& result : results)
    if (result < 0) result = *next++;
  return results;
}

FactorRule no_rule(const Types&, const Types&, const Attrs&) { return {}; }

constexpr AttrDef kWhileAttrs[] = {{"num_consts", AttrDef::Kind::kInteger, false, "how many operands come first that do not change"}};
constexpr AttrDef kScanAttrs[] = {
    {"length", AttrDef::Kind::kInteger, true, "the number of iterations"},
    {"num_carry", AttrDef::Kind::kInteger, false, "how many operands, after the constant ones, are carried"},
    {"num_consts", AttrDef::Kind::kInteger, false, "how many operands come first that do not change"},
    {"reverse", AttrDef::Kind::kFlag, false, "from the last slice to the first"},
    {"unroll", AttrDef::Kind::kInteger, false, "accepted for JAX's sake; iterations are steps of the executor"}};

}  // namespace

const OpDef kWhileLoop = {.name = "while_loop",
                          .doc = "Repeats a body while a condition on the carried values holds; the results are the last carried values.",
                          .operands_min = 0,
                          .operands_max = -1,
                          .attrs = kWhileAttrs,
                          .expand = expand_loop,
                          .infer = infer_while,
                          .rule = no_rule,
                          .region = RegionKind::kWhile};

const OpDef kScan = {.name = "scan",
                     .doc =
                         "Repeats a body over the slices of the leading dimension, with a carry; the results are the last carry and the "
                         "stacked results of the iterations.",
                     .operands_min = 0,
                     .operands_max = -1,
                     .attrs = kScanAttrs,
                     .expand = expand_loop,
                     .infer = infer_scan,
                     .rule = no_rule,
                     .region = RegionKind::kScan};

const OpDef kCond = {.name = "cond",
                     .doc = "Runs one of its branches on the operands: the one that operand 0 says, clamped to their number.",
                     .operands_min = 1,
                     .operands_max = -1,
                     .expand = refuse_plain_call,
                     .infer = infer_cond,
                     .rule = no_rule,
                     .region = RegionKind::kBranch};

}  // namespace shardlab::ops
