#include "runtime/exec/explicit_node.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>

#include "runtime/exec/explicit_types.h"
#include "runtime/ops/calls.h"
#include "runtime/ops/conv_dims.h"
#include "runtime/ops/conv_rules.h"
#include "runtime/ops/gather_dims.h"
#include "runtime/ops/primitives.h"

namespace shardlab {

std::string axes_text(const Axes& axes, const Mesh& mesh) {
  if (axes.size() == 1) return mesh.text_of(axes[0]);
  std::vector<std::string> names;
  for (const AxisPiece& piece : axes) names.push_back(mesh.text_of(piece));
  return fmt::format("({})", fmt::join(names, ","));
}

namespace {

// "('i', None)" as JAX prints the spec of some dimensions.
std::string tuple_text(const std::vector<Axes>& dims, const Mesh& mesh) {
  std::string text = text_of(dims, mesh);
  return text.substr(1);  // without the P
}

// What is forbidden along a factor that must be whole, and how JAX says so. Ops that are not named are cut free by gathering, as JAX
// does for those without such a text.
struct WholeFactorText {
  std::string_view op;
  std::string_view text;  // {type} and {axis} are replaced
};
constexpr WholeFactorText kWholeFactorTexts[] = {
    {"sort", "Arguments to sort must be unsharded over the sorting dimension. Got arg sharding={sharding} and sorting dimension={axis}"},
    {"argsort", "Arguments to sort must be unsharded over the sorting dimension. Got arg sharding={sharding} and sorting dimension={axis}"},
    {"cumsum", "Input should be unsharded over the axis being reduced. Got input type={type} and axis={axis}"},
    {"cumprod", "Input should be unsharded over the axis being reduced. Got input type={type} and axis={axis}"},
    {"cummax", "Input should be unsharded over the axis being reduced. Got input type={type} and axis={axis}"},
    {"cummin", "Input should be unsharded over the axis being reduced. Got input type={type} and axis={axis}"},
    {"top_k", "The input should be unsharded over the axis along which to compute the top_k values. Got input type={type} and axis={axis}"},
    {"cholesky", "Input 0 to cholesky must be unsharded on non-batch dimensions, but got {spec}."},
    {"eigh", "Input 0 to eigh must be unsharded on non-batch dimensions, but got {spec}."},
    {"lu", "Input 0 to lu must be unsharded on non-batch dimensions, but got {spec}."},
    {"qr", "Input 0 to qr must be unsharded on non-batch dimensions, but got {spec}."},
    {"svd", "Input 0 to svd must be unsharded on non-batch dimensions, but got {spec}."},
    {"triangular_solve", "triangular solve inputs must be unsharded on the contracting axis, but got {type}"},
    {"gather",
     "Use `.at[...].get(out_sharding=)` to provide output PartitionSpec for the gather indexing as out sharding could not be resolved "
     "unambiguously (or would require collectives on inputs). Got operand={type}"},
    {"scatter",
     "Use `.at[...].set/add/mul/...(out_sharding=)` to provide output PartitionSpec for the scatter update as out sharding could not be "
     "resolved unambiguously (or would require collectives on inputs). Got operand={type}"},
};

// The cuts of a block's dimensions one after another; nothing where one is cut behind another that is whole.
std::optional<Axes> cuts_of(const Spec& spec, const Shape& shape, std::size_t begin, std::size_t end) {
  Axes cuts;
  bool has_whole = false;
  for (std::size_t d = begin; d < end; ++d) {
    if (has_whole && !spec[d].empty()) return std::nullopt;
    has_whole |= spec[d].empty() && shape[d] != 1;
    cuts.insert(cuts.end(), spec[d].begin(), spec[d].end());
  }
  return cuts;
}

// Each dimension of a reshape's block takes the axes that are left until it is cut into single elements; false where one does not divide
// it. Source: split_partitions in jax/_src/lax/lax.py.
bool deal_cuts(const std::optional<Axes>& cuts, const Shape& shape, std::size_t begin, std::size_t end, Spec& result) {
  if (!cuts) return false;
  auto next = cuts->begin();
  Spec dealt(end - begin);
  for (std::size_t d = begin; d < end; ++d)
    for (std::int64_t left = shape[d]; left > 1 && next != cuts->end(); ++next) {
      const std::int64_t parts = part_count(Axes{*next});
      if (left % parts != 0) return false;
      left /= parts;
      dealt[d - begin].push_back(*next);
    }
  if (next != cuts->end()) return false;
  std::move(dealt.begin(), dealt.end(), result.begin() + std::ptrdiff_t(begin));
  return true;
}

// One node being typed.
class NodeTyping {
 public:
  NodeTyping(const Graph& graph, const Node& node, const Mesh& mesh, const std::vector<Spec>& operands, bool has_out_sharding)
      : graph_(graph), node_(node), mesh_(mesh), operands_(operands), has_out_sharding_(has_out_sharding) {
    operand_types_ = graph.types(node.operands);
    result_types_ = graph.types(node.results);
    rule_ = node.op->rule(operand_types_, result_types_, node.attrs);
  }

  // Per result its spec.
  std::vector<Spec> results() {
    if (node_.op->name == "reshape") {
      Reshaped reshaped = reshaped_spec(operands_[0], operand_types_[0].shape, result_types_[0].shape);
      if (!reshaped.is_told && !has_out_sharding_) fail_reshape();
      return {std::move(reshaped.spec)};
    }
    if (node_.op->name == "fft_axis") return {transformed()};
    if (node_.op->name == "clamp") return {operands_[1]};
    if (node_.op == &ops::kDynamicSlice) return {sliced()};
    if (!rule_.present) return std::vector<Spec>(result_types_.size());
    check_update();
    check_convolution();
    collect_factors();
    std::vector<Spec> results;
    for (std::size_t r = 0; r < result_types_.size(); ++r) results.push_back(result_spec(r));
    return results;
  }

 private:
  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw_user_error("{} [{} at {}]", fmt::format(format, std::forward<Args>(args)...),
                     node_.user_op.empty() ? node_.op->name : node_.user_op, node_.where.text());
  }

  std::string operand_text(std::size_t i) const { return typed_text(operand_types_[i], operands_[i], mesh_); }
  std::string operand_texts() const {
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < operand_types_.size(); ++i) texts.push_back(operand_text(i));
    return fmt::format("{}", fmt::join(texts, ", "));
  }
  // As JAX's op sees them: of size 1 where this one repeats them.
  std::string short_operand_texts() const {
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < operand_types_.size(); ++i) {
      TensorType type = operand_types_[i];
      const NodeId producer = graph_.values[std::size_t(node_.operands[i])].producer;
      if (const Node* made = producer < 0 ? nullptr : &graph_.nodes[std::size_t(producer)];
          made != nullptr && made->attrs.has(ops::kImplicit)) {
        const auto& dims = made->attrs.integers("dims");
        for (std::size_t d = 0; d < type.shape.size(); ++d)
          if (std::find(dims.begin(), dims.end(), std::int64_t(d)) == dims.end()) type.shape[d] = 1;
      }
      texts.push_back(short_typed_text(type, operands_[i], mesh_));
    }
    return fmt::format("{}", fmt::join(texts, ", "));
  }
  const Axes& axes_of(std::size_t operand, std::size_t dim) const { return operands_[operand][dim]; }

  // The axes of each factor: what its operands agree on. Two different ones are an error, none beside one is not.
  void collect_factors() {
    axes_.assign(rule_.factors.size(), {});
    check_indexed();
    for (std::size_t i = 0; i < operand_types_.size(); ++i)
      for (std::size_t d = 0; d < rule_.operands[i].size(); ++d) {
        const Axes& axes = axes_of(i, d);
        if (axes.empty() || rule_.operands[i][d].empty()) continue;
        const int factor = rule_.operands[i][d][0];  // of a dimension of several factors the major one carries the cut
        take(factor, axes, i, d);
      }
  }

  // gather and scatter: what the index vectors look up is whole, and so are the index vectors. Dimensions of the indices that go along with
  // the operand's are cut as those. Source: _gather_spec_computation in jax/_src/lax/slicing.py.
  void check_indexed() const {
    if (!node_.attrs.has("start_index_map")) return;
    const ops::GatherDims dims(node_.attrs);
    for (std::int64_t dim : dims.index_map)
      if (!axes_of(0, std::size_t(dim)).empty()) check_whole(0, std::size_t(dim));
    for (std::size_t d = 0; d < operands_[1].size(); ++d) {
      const Axes& axes = axes_of(1, d);
      const auto along = std::find(dims.indices_batching.begin(), dims.indices_batching.end(), std::int64_t(d));
      if (axes.empty()) continue;
      const auto place = std::size_t(along - dims.indices_batching.begin());
      const Axes* with = along == dims.indices_batching.end() ? nullptr : &axes_of(0, std::size_t(dims.operand_batching[place]));
      if (with == nullptr || (!with->empty() && *with != axes)) check_whole(0, 0);
    }
  }

  // What JAX's primitive of that name says; scatters that have become such nodes have rules of their own.
  void check_update() const {
    if (node_.op != &ops::kDynamicUpdateSlice || has_out_sharding_ || node_.user_op.find("dynamic_update_") == std::string::npos) return;
    if (operands_[0] != operands_[1] && !is_made_with_it(0) && !is_made_with_it(1))
      fail("dynamic_update_slice operand sharding must be equal to update sharding, got operand sharding {} and update sharding {}.",
           operand_text(0), operand_text(1));
  }

  // Source: _conv_general_dilated_sharding_rule in jax/_src/lax/convolution.py.
  void check_convolution() const {
    if (node_.op != &ops::kConv || has_out_sharding_) return;
    const auto feature = std::size_t(ops::ConvDims(node_.attrs).lhs[1]);
    if (axes_in(operands_[1]) != 0 || !axes_of(0, feature).empty())
      fail(
          "Please specify the output sharding via `out_sharding` parameter of `conv_general_dilated`; only the batch and the spatial "
          "dimensions of the left operand may be cut without it, the operands are {}",
          operand_texts());
  }

  // A constant of a derivative's, not of the user's.
  bool is_made_with_it(std::size_t operand) const {
    const NodeId producer = graph_.values[std::size_t(node_.operands[operand])].producer;
    if (producer < 0) return false;
    const Node& made = graph_.nodes[std::size_t(producer)];
    return made.user_op == node_.user_op && (made.op->constant || made.op == &ops::kBroadcastInDim);
  }

  void take(int factor, const Axes& axes, std::size_t operand, std::size_t dim) {
    const FactorKind kind = rule_.factors[std::size_t(factor)].kind;
    if (kind == FactorKind::kReplicate) {
      check_whole(operand, dim);
      return;
    }
    if (kind == FactorKind::kPermute) check_whole(operand, dim);  // running sums; for other shifts there is no such text
    Axes& known = axes_[std::size_t(factor)];
    const bool is_second = !known.empty();
    if (is_second && known != axes && has_out_sharding_ && node_.op->name == "dot_general") return;
    if (is_second && known != axes) fail_differing(factor, known, axes);
    if (is_second && kind == FactorKind::kReduce && operand_types_.size() == 2 && !has_out_sharding_)
      fail(
          "Contracting dimensions are sharded and it is ambiguous how the output should be sharded. Please specify the output sharding via "
          "the `out_sharding` parameter. Got lhs_contracting_spec={} and rhs_contracting_spec={}; the operands are {}",
          tuple_text({known}, mesh_), tuple_text({axes}, mesh_), operand_texts());
    if (!is_batch_of_right(factor, operand)) known = axes;
  }

  // A product's batch is cut as its left operand's. Source: _dot_general_sharding_computation in jax/_src/lax/lax.py.
  bool is_batch_of_right(int factor, std::size_t operand) const {
    if (node_.op->name != "dot_general" || operand != 1 || rule_.factors[std::size_t(factor)].kind == FactorKind::kReduce) return false;
    return std::find(rule_.operands[0].begin(), rule_.operands[0].end(), std::vector<int>{factor}) != rule_.operands[0].end();
  }

  [[noreturn]] void fail_differing(int factor, const Axes& a, const Axes& b) const {
    const std::string left = tuple_text({a}, mesh_), right = tuple_text({b}, mesh_);
    const std::string_view op = node_.op->name;
    if (op == "dot_general" && rule_.factors[std::size_t(factor)].kind == FactorKind::kReduce)
      fail("dot_general requires contracting dimensions to have consistent sharding, got {} and {}.; the operands are {}", left, right,
           operand_texts());
    if (op == "dot_general")
      fail(
          "dot_general requires lhs batch dimensions and rhs batch dimensions to have the consistent sharding, got {} and {}.; the "
          "operands are {}",
          left, right, operand_texts());
    std::vector<std::string> specs;
    for (const Spec& operand : operands_) specs.push_back(tuple_text(operand, mesh_));
    fail("{} got incompatible shardings for broadcasting: {}.; reshard one operand, e.g. to {}",
         op == "select" ? "broadcast_shardings" : op, fmt::join(specs, ", "), text_of(operands_[0], mesh_));
  }

  void check_whole(std::size_t operand, std::size_t dim) const {
    for (const WholeFactorText& each : kWholeFactorTexts) {
      // "scatter" stands for scatter_add and its like.
      if (has_out_sharding_ || (each.op != node_.op->name && !(each.op == "scatter" && node_.op->name.starts_with("scatter_")))) continue;
      std::string text(each.text);
      auto replace = [&](std::string_view what, const std::string& with) {
        if (auto at = text.find(what); at != std::string::npos) text.replace(at, what.size(), with);
      };
      replace("{type}", operand_text(operand));
      replace("{spec}", text_of(operands_[operand], mesh_));
      replace("{sharding}", abstract_sharding_text(operands_[operand], mesh_));
      replace("{axis}", fmt::format("{}", dim));
      fail("{}; reshard it first with `reshard`", text);
    }
  }

  Spec result_spec(std::size_t r) const {
    const TensorType& type = result_types_[r];
    Spec spec(std::size_t(type.rank()));
    // A convolution's result is cut as its left operand, dimension by dimension, whatever they stand for.
    const bool is_by_place = node_.op == &ops::kConv && !has_out_sharding_;
    for (std::size_t d = 0; d < spec.size(); ++d) {
      if (!is_by_place && (d >= rule_.results[r].size() || rule_.results[r][d].empty())) continue;
      spec[d] = is_by_place ? operands_[0][d] : axes_[std::size_t(rule_.results[r][d][0])];
      if (part_count(spec[d]) == 1 || type.shape[d] % part_count(spec[d]) == 0) continue;
      if (!has_out_sharding_ || node_.op != &ops::kConv) fail_indivisible(type, d);
      spec[d].clear();
    }
    if (has_out_sharding_) return without_repeats(std::move(spec));
    check_axes_once(type, spec);
    return spec;
  }

  [[noreturn]] void fail_indivisible(const TensorType& type, std::size_t d) const {
    static constexpr std::pair<std::string_view, std::string_view> kWords[] = {{"slice", "slicing"}, {"pad", "padding"}};
    std::string_view word = node_.op->name;
    for (const auto& [op, its_word] : kWords)
      if (op == word) word = its_word;
    // In JAX these are primitives of their own.
    if (node_.user_op.ends_with("split")) word = "split";
    if (node_.user_op.find("dynamic_") != std::string::npos) word = "dynamic_slice";
    fail("{}", indivisible_text(word, d, operand_types_[0], operands_[0], type.shape, mesh_));
  }

  // Where the result is asked for in some sharding, an axis that would cut two dimensions cuts the first of them.
  static Spec without_repeats(Spec spec) {
    std::set<int> used;
    for (Axes& axes : spec) std::erase_if(axes, [&](const AxisPiece& piece) { return !used.insert(piece.axis).second; });
    return spec;
  }

  void check_axes_once(const TensorType& type, const Spec& spec) const {
    std::set<int> used;
    for (const Axes& axes : spec)
      for (const AxisPiece& piece : axes)
        if (!used.insert(piece.axis).second)
          fail("{} operation with inputs: {} produces an illegally sharded result: {}; reshard one of them", node_.op->name,
               short_operand_texts(), short_typed_text(type, spec, mesh_));
  }

  // A window at computed places is cut as what it is taken from, in JAX also along dimensions of which it has a part.
  Spec sliced() const {
    for (std::size_t d = 0; d < operands_[0].size(); ++d)
      if (result_types_[0].shape[d] != operand_types_[0].shape[d] && result_types_[0].shape[d] % part_count(operands_[0][d]) != 0)
        fail_indivisible(result_types_[0], d);
    return operands_[0];
  }

  // JAX's Fourier transforms have no rule of their own: their result is cut as their operand, also along what they transform.
  Spec transformed() const {
    const std::string why = uneven_text(operands_[0], result_types_[0].shape, mesh_);
    if (!why.empty() && !has_out_sharding_) fail("{}; reshard the operand {}", why, operand_text(0));
    return operands_[0];
  }

  [[noreturn]] void fail_reshape() const {
    fail(
        "This reshape is not supported. Please specify the sharding of the output via the `out_sharding` argument of jax.lax.reshape. Got "
        "operand type: {}, new sizes: {}",
        operand_text(0), text_of(result_types_[0].shape));
  }

  const Graph& graph_;
  const Node& node_;
  const Mesh& mesh_;
  const std::vector<Spec>& operands_;
  bool has_out_sharding_;
  std::vector<TensorType> operand_types_, result_types_;
  FactorRule rule_;
  std::vector<Axes> axes_;  // per factor
};

}  // namespace

Reshaped reshaped_spec(const Spec& spec, const Shape& from, const Shape& to) {
  Reshaped reshaped{Spec(to.size()), true};
  std::size_t i = 0, o = 0;
  while (i < from.size() || o < to.size()) {
    // A block: the shortest runs of dimensions with the same number of elements.
    std::size_t i_begin = i, o_begin = o;
    std::int64_t in = i < from.size() ? from[i++] : 1, out = o < to.size() ? to[o++] : 1;
    while (in != out) {
      if (in < out && i < from.size())
        in *= from[i++];
      else if (o < to.size())
        out *= to[o++];
      else
        break;
    }
    reshaped.is_told &= deal_cuts(cuts_of(spec, from, i_begin, i), to, o_begin, o, reshaped.spec);
  }
  return reshaped;
}

std::vector<Spec> typed_results(const Graph& graph, const Node& node, const Mesh& mesh, const std::vector<Spec>& operands,
                                bool has_out_sharding) {
  return NodeTyping(graph, node, mesh, operands, has_out_sharding).results();
}

}  // namespace shardlab
