// where, numpy.select, choose, ravel_multi_index, ix_, jax.lax.select_n: values chosen among several, and indices as numbers.
#include <algorithm>

#include "runtime/ops/compose.h"
#include "runtime/ops/shapes.h"

namespace shardlab::ops {
namespace {

using Kind = AttrDef::Kind;

// Indices as they count.
Term bounded(const OpDef& op, const Term& index, std::int64_t size, const std::string& mode) {
  GraphBuilder& b = index.builder();
  if (!is_integer(index.dtype())) throw_user_error("{}: only int indices permitted, got {}", op.name, index.text());
  if (mode == "clip") return call(b, "clip", {index, 0, size - 1});
  if (mode == "wrap") return call(b, "remainder", {index, size});
  if (mode == "ignore") return index;
  if (mode == "raise")
    throw_user_error("{}: mode='raise' needs values when the program is built. Use mode='wrap' or mode='clip' instead.", op.name);
  throw_user_error("{}: invalid mode='{}'. Expected 'raise', 'wrap', 'clip', or 'ignore'.", op.name, mode);
}
std::string mode_of(const Attrs& attrs) { return attrs.has("mode") ? attrs.string("mode") : "raise"; }

// The case of each element's number, by comparisons that halve what is left, as in JAX; `first` is the number of the first case.
Term chosen(const Term& which, std::span<const Term> cases, std::int64_t first) {
  if (cases.size() == 1) return cases[0];
  const std::size_t half = cases.size() / 2;
  const std::int64_t middle = first + std::int64_t(half);
  const Term is_before = which < middle;
  return selected(is_before, chosen(which, cases.first(half), first), chosen(which, cases.subspan(half), middle));
}

Values expand_where(GraphBuilder& b, const OpDef&, Args args, const Attrs& attrs) { return kSelect.expand(b, kSelect, args, attrs); }

// By the number of the first condition that holds, as in JAX: 0, the default's, where none does.
Values expand_select(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  if (args.size() % 2 == 0 || args.size() < 3)
    throw_user_error("{}: condlist must have length equal to choicelist, and a default follows; got {} operands", op.name, args.size());
  const std::size_t count = args.size() / 2;
  std::vector<Shape> condition_shapes;
  for (const Arg& arg : args.first(count)) condition_shapes.push_back(shape_of_arg(b, arg));
  const Shape together = broadcast_shapes(op.name, condition_shapes);
  std::vector<Term> conditions{{b, filled(b, {DType::kBool, together}, 0.0)}};
  for (const Arg& arg : args.first(count)) conditions.push_back(broadcast(converted(term(b, arg), DType::kBool), together));
  const Term which = call("argmax", stacked(conditions, 0), Attrs{{"axis", std::int64_t(0)}});
  std::vector<Term> choices = promoted_terms(b, args.subspan(count));
  std::rotate(choices.begin(), choices.end() - 1, choices.end());  // the default first
  std::vector<Shape> shapes{together};
  for (const Term& each : choices) shapes.push_back(each.shape());
  const Shape shape = broadcast_shapes(op.name, shapes);
  for (Term& each : choices) each = broadcast(each, shape);
  return {chosen(broadcast(which, shape), choices, 0).id()};
}

Values expand_choose(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const Term which = term(b, args[0]);
  const std::int64_t count = std::int64_t(args.size()) - 1;
  const Term index = bounded(op, which, count, mode_of(attrs));
  std::vector<Term> cases = promoted_terms(b, args.subspan(1));
  std::vector<Shape> shapes{index.shape()};
  for (const Term& each : cases) shapes.push_back(each.shape());
  const Shape shape = broadcast_shapes(op.name, shapes);
  for (Term& each : cases) each = broadcast(each, shape);
  // Looked up by the number and the element's own place, as in JAX.
  std::vector<Term> places{converted(broadcast(index, shape), DType::kInt32)};
  std::vector<std::int64_t> all{0};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    places.push_back({b, b.emit1(kIota, {}, Attrs{{"dtype", DType::kInt32}, {"shape", shape}, {"dimension", std::int64_t(d)}})});
    all.push_back(std::int64_t(d) + 1);
  }
  return {gathered_within(stacked(cases, 0), stacked(places, int(shape.size())), {}, all, Shape(all.size(), 1)).id()};
}
Values expand_select_n(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  const Term which = term(b, args[0]);
  if (which.dtype() != DType::kBool && !is_integer(which.dtype()))
    throw_user_error("{}: select `which` must be boolean or int32 type, got {}.", op.name, name_of(which.dtype()));
  if (which.dtype() == DType::kBool && args.size() > 3)
    throw_user_error("{}: select with boolean `which` cannot have {} cases.", op.name, args.size() - 1);
  std::vector<Term> cases;
  for (const Arg& arg : args.subspan(1)) cases.push_back(term(b, arg));
  for (const Term& each : cases)
    if (each.type() != cases[0].type() || (which.rank() > 0 && which.shape() != each.shape()))
      throw_user_error(
          "{}: select cases must have the same shapes and dtypes, and `which` must be scalar or have their shape; got {}, {} and {}",
          op.name, which.text(), cases[0].text(), each.text());
  if (cases.size() == 1) return {cases[0].id()};
  const Term all = which.rank() == 0 ? broadcast(which, cases[0].shape()) : which;
  return {which.dtype() == DType::kBool ? selected(all, cases[1], cases[0]).id() : chosen(all, cases, 0).id()};
}

Values expand_ravel_multi_index(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const Shape dims = integer_list_of(attrs, "dims");
  if (dims.size() != args.size()) throw_user_error("{}: len(multi_index)={} != len(dims)={}", op.name, args.size(), dims.size());
  check_shape(op.name, dims);
  const std::string order = attrs.has("order") ? attrs.string("order") : "C";
  if (order != "C" && order != "F") throw_user_error("{}: invalid order='{}'. Expected 'C' or 'F'", op.name, order);
  const DType dtype = attrs.has("dtype") ? attrs.dtype("dtype") : promoted_dtype(b, args);
  if (!is_integer(dtype)) throw_user_error("{}: dtype={} is not an integer type.", op.name, name_of(dtype));
  std::optional<Term> place;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const std::size_t d = order == "C" ? i : dims.size() - 1 - i;
    const Term index = converted(bounded(op, term(b, args[d]), dims[d], mode_of(attrs)), dtype);
    place = place ? *place * dims[d] + index : index;
  }
  return {place->id()};
}

Values expand_ix(GraphBuilder& b, const OpDef&, Args args, const Attrs&) {
  Values results;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const Term x = term(b, args[i]);
    if (x.rank() != 1) throw_user_error("Arguments to jax.numpy.ix_ must be 1-dimensional, got shape {}", text_of(x.shape()));
    if (x.dtype() == DType::kBool) throw_user_error("Boolean arguments to jax.numpy.ix_ are not implemented");
    Shape shape(args.size(), 1);
    shape[i] = x.size(0);
    results.push_back(reshaped(x, shape).id());
  }
  return results;
}

constexpr AttrDef kMode = {"mode", Kind::kString, false, "of numbers outside: clip or wrap; raise, the default, is refused"};
constexpr AttrDef kModeAttrs[] = {kMode};
constexpr AttrDef kRavelAttrs[] = {
    {"dims", Kind::kScalarOrIntegers, true, "the shape that is counted through"},
    {"mode", Kind::kString, false, "of indices outside: clip, wrap or ignore; raise, the default, is refused"},
    {"order", Kind::kString, false, "C: rows first (the default), F: columns"},
    {"dtype", Kind::kDType, false, "that of the indices by default"}};

}  // namespace

extern const OpDef kWhere, kNumpySelect, kChoose, kSelectN, kRavelMultiIndex, kIx;

// JAX jits it, unlike lax.select: what it gives with its derivative comes together.
const OpDef kWhere = compiled_alone(composite_of({"where",
                                                  "x where the condition holds, else y: args condition, x, y, with broadcasting.",
                                                  expand_where,
                                                  3,
                                                  3,
                                                  {},
                                                  {},
                                                  Weakness::kOfOthers}));
const OpDef kNumpySelect = composite_of(
    {"numpy.select", "The choice of the first condition that holds: args [conditions, as many choices, default].", expand_select, 3, -1});
const OpDef kChoose =
    composite_of({"choose", "Each element from the choice of its number: args [numbers, choices].", expand_choose, 2, -1, kModeAttrs});
const OpDef kSelectN = composite_of(
    {"select_n", "Each element from the case of its number: args [bools or whole numbers, cases of one type].", expand_select_n, 2, -1});
const OpDef kRavelMultiIndex = composite_of(
    {"ravel_multi_index", "Places counted through a shape, of indices of each dimension.", expand_ravel_multi_index, 1, -1, kRavelAttrs});
const OpDef kIx = composite_of({"ix_", "Vectors, each along a dimension of its own, a result each.", expand_ix, 1, -1});

}  // namespace shardlab::ops
