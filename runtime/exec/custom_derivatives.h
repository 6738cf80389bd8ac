// checkpoint, custom_jvp and custom_vjp: functions that say themselves what their derivatives are, or what of them is kept.
//
//   auto layer = checkpoint([](const Array& w, const Array& x) { return tanh(matmul(x, w)); });
//
//   Array log1pexp(const Array& x) {
//     auto rule = [](const auto& primals, const auto& tangents) {
//       auto [x] = primals;
//       auto [dx] = tangents;
//       return std::pair(log1pexp(x), dx * logistic(x));
//     };
//     return custom_jvp([](const Array& x) { return log1p(exp(x)); }, rule)(x);
//   }
//
//   auto clipped = custom_vjp([](const Array& x) { return x; },
//                             [](const Array& x) { return std::pair(x, std::tuple<>()); },                       // result and residuals
//                             [](const auto&, const Array& g) { return std::tuple(clip(g, -1.0, 1.0)); });       // the arguments'
//                             cotangents
//
// Rules are traced when a derivative is asked for, after the call: they capture by value. What the function captures must not vary.
//
// Functions take and return trees (runtime/exec/tree.h); numbers and strings among the arguments are static and have no derivative. Outside
// a function being traced the plain function runs.
#pragma once

#include "runtime/exec/autodiff.h"

namespace shardlab {

// What checkpoint keeps for the backward pass all the same. Names of several policies with "|" between them: what one of them keeps.
struct CheckpointPolicy {
  std::string name;
  std::vector<std::string> names = {};
};
namespace checkpoint_policies {
inline const CheckpointPolicy nothing_saveable{"nothing_saveable"}, everything_saveable{"everything_saveable"},
    dots_saveable{"dots_saveable"}, dots_with_no_batch_dims_saveable{"dots_with_no_batch_dims_saveable"};
// The values that checkpoint_name names so.
inline CheckpointPolicy save_only_these_names(std::vector<std::string> names) { return {"save_only_these_names", std::move(names)}; }
// All but the values that it names so; the named values alone, but for those that it names so.
inline CheckpointPolicy save_anything_except_these_names(std::vector<std::string> names) {
  return {"save_anything_except_these_names", std::move(names)};
}
inline CheckpointPolicy save_any_names_but_these(std::vector<std::string> names) { return {"save_any_names_but_these", std::move(names)}; }
inline const CheckpointPolicy &checkpoint_dots = dots_saveable, &checkpoint_dots_with_no_batch_dims = dots_with_no_batch_dims_saveable;
// What either keeps. UserError where both speak of names.
CheckpointPolicy save_from_both_policies(const CheckpointPolicy& first, const CheckpointPolicy& second,
                                         std::source_location where = std::source_location::current());
}  // namespace checkpoint_policies

struct CheckpointOptions {
  CheckpointPolicy policy = checkpoint_policies::nothing_saveable;
  std::string name = "checkpoint";
};

// --- On flat lists of arrays.

std::vector<Array> checkpoint(const ArrayFunction& function, const CheckpointOptions& options, const std::vector<Array>& args, Where where);

struct DerivativeRules {
  std::string name = "f";
  // custom_jvp: from the arguments and their tangents to the results and theirs.
  ArrayFunction jvp = {};
  // custom_vjp: from the arguments to the results and residuals; from residuals and the results' cotangents to the arguments' (an empty
  // Array: zero). Those of integers and bool are zeros. `backward` is called after `forward` each time.
  ArrayFunction forward = {}, backward = {};
};
std::vector<Array> with_derivative(const ArrayFunction& function, const DerivativeRules& rules, const std::vector<Array>& args,
                                   Where where);
// A function of such arrays as one of them and then of what it captures, and that.
std::pair<ArrayFunction, std::vector<Array>> closure_converted(const ArrayFunction& function, const std::vector<Array>& like, Where where);
// The errors of rules whose results do not fit, with JAX's texts.
[[noreturn]] void throw_jvp_structure(std::string_view name, std::size_t results, std::size_t tangents);
[[noreturn]] void throw_bwd_structure(std::string_view name, std::string_view got, std::string_view wanted);

// --- On trees.

template <typename F>
class Checkpointed : public detail::AtLine<Checkpointed<F>> {
 public:
  Checkpointed(F function, CheckpointOptions options) : function_(std::move(function)), options_(std::move(options)) {}
  template <typename... Args>
  auto call_at(std::source_location where, const Args&... args) const {
    detail::Flattened flat(function_, where, args...);
    return flat.result(checkpoint(flat.function(), options_, flat.leaves(), Where::from(where)));
  }

 private:
  F function_;
  CheckpointOptions options_;
};

// checkpoint(f)(args…), as jax.checkpoint (remat): the backward pass computes f's values again instead of keeping them.
template <typename F>
Checkpointed<F> checkpoint(F function, CheckpointOptions options = {}) {
  return Checkpointed<F>(std::move(function), std::move(options));
}
template <typename F>
Checkpointed<F> remat(F function, CheckpointOptions options = {}) {
  return Checkpointed<F>(std::move(function), std::move(options));
}

namespace detail {

// The structure of a tree, without its arrays: what a rule keeps holds no values.
template <typename T>
T structure_of(T tree) {
  tree::for_each(tree, [](Array& leaf) { leaf = Array(); });
  return tree;
}
template <typename T>
std::tuple<T> as_tuple(T value) {
  return std::tuple<T>(std::move(value));
}
template <typename... T>
std::tuple<T...> as_tuple(std::tuple<T...> value) {
  return value;
}

template <typename Rule, typename... Args>
ArrayFunction jvp_rule(const Rule& rule, const std::tuple<Args...>& args, const std::string& name) {
  return [rule, name, like = structure_of(args)](const std::vector<Array>& leaves) {
    std::span<const Array> rest(leaves);
    auto primals = tree::unflatten(like, rest), tangents = tree::unflatten(like, rest);
    auto [result, tangent] = rule(primals, tangents);
    std::vector<Array> all = tree::leaves(result), more = tree::leaves(tangent);
    if (all.size() != more.size()) throw_jvp_structure(name, all.size(), more.size());
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
}

template <typename Result, typename Fwd, typename Bwd, typename... Args>
void set_vjp_rules(DerivativeRules& rules, const Fwd& fwd, const Bwd& bwd, const std::tuple<Args...>& args) {
  using Pair = std::decay_t<std::invoke_result_t<const Fwd&, const Args&...>>;
  using Residuals = std::decay_t<std::tuple_element_t<1, Pair>>;
  struct Shapes {
    Result result;
    Residuals residuals;
  };
  auto shapes = std::make_shared<Shapes>();  // of the forward pass, for the backward pass
  rules.forward = [fwd, shapes, like = structure_of(args)](const std::vector<Array>& leaves) {
    auto [result, residuals] = std::apply(fwd, tree::unflatten(like, leaves));
    std::vector<Array> all = tree::leaves(result), more = tree::leaves(residuals);
    all.insert(all.end(), more.begin(), more.end());
    *shapes = {structure_of(Result(std::move(result))), structure_of(Residuals(std::move(residuals)))};
    return all;
  };
  rules.backward = [bwd, shapes, leaf_count = tree::leaves(args).size(), wanted = tree::text(args),
                    name = rules.name](const std::vector<Array>& leaves) {
    std::span<const Array> rest(leaves);
    auto residuals = tree::unflatten(shapes->residuals, rest);
    auto cotangents = tree::unflatten(shapes->result, rest);
    auto found = as_tuple(bwd(residuals, cotangents));
    std::vector<Array> all = tree::leaves(found);
    if (std::tuple_size_v<decltype(found)> != sizeof...(Args) || all.size() != leaf_count)
      throw_bwd_structure(name, tree::text(found), wanted);
    return all;
  };
}

}  // namespace detail

template <typename F, typename Rule>
class CustomJvp : public detail::AtLine<CustomJvp<F, Rule>> {
 public:
  CustomJvp(F function, Rule rule, std::string name) : function_(std::move(function)), rule_(std::move(rule)), name_(std::move(name)) {}
  template <typename... Args>
  auto call_at(std::source_location where, const Args&... args) const {
    detail::Flattened flat(function_, where, args...);
    DerivativeRules rules{name_, detail::jvp_rule(rule_, flat.args(), name_)};
    return flat.result(with_derivative(flat.function(), rules, flat.leaves(), Where::from(where)));
  }

 private:
  F function_;
  Rule rule_;
  std::string name_;
};

// custom_jvp(f, rule)(args…): f, whose derivative is rule(primals, tangents), tuples like the arguments; it returns f's result and that
// result's tangent, which must be linear in the tangents. Serves forward and reverse mode.
template <typename F, typename Rule>
CustomJvp<F, Rule> custom_jvp(F function, Rule rule, std::string name = "f") {
  return CustomJvp<F, Rule>(std::move(function), std::move(rule), std::move(name));
}

template <typename F, typename Fwd, typename Bwd>
class CustomVjp : public detail::AtLine<CustomVjp<F, Fwd, Bwd>> {
 public:
  CustomVjp(F function, Fwd fwd, Bwd bwd, std::string name)
      : function_(std::move(function)), fwd_(std::move(fwd)), bwd_(std::move(bwd)), name_(std::move(name)) {}
  template <typename... Args>
  auto call_at(std::source_location where, const Args&... args) const {
    detail::Flattened flat(function_, where, args...);
    DerivativeRules rules{name_};
    detail::set_vjp_rules<detail::ResultOf<F, Args...>>(rules, fwd_, bwd_, flat.args());
    return flat.result(with_derivative(flat.function(), rules, flat.leaves(), Where::from(where)));
  }

 private:
  F function_;
  Fwd fwd_;
  Bwd bwd_;
  std::string name_;
};

// custom_vjp(f, fwd, bwd)(args…): f, whose backward pass is its user's. fwd(args…) returns the pair of f's result and residuals (a tree),
// bwd(residuals, cotangent of the result) the tuple of the arguments' cotangents, an empty Array for zero. Forward mode is refused.
template <typename F, typename Fwd, typename Bwd>
CustomVjp<F, Fwd, Bwd> custom_vjp(F function, Fwd fwd, Bwd bwd, std::string name = "f") {
  return CustomVjp<F, Fwd, Bwd>(std::move(function), std::move(fwd), std::move(bwd), std::move(name));
}

template <typename F>
class CustomGradient : public detail::AtLine<CustomGradient<F>> {
 public:
  CustomGradient(F function, std::string name) : function_(std::move(function)), name_(std::move(name)) {}
  template <typename... Args>
  auto call_at(std::source_location where, const Args&... args) const {
    using Result = std::decay_t<decltype(function_(args...).first)>;
    auto value = [function = function_](const Args&... given) { return function(given...).first; };
    detail::Flattened flat(value, where, args...);
    auto backward = std::make_shared<ArrayFunction>();  // of the forward pass
    auto cotangents = std::make_shared<std::size_t>(0);
    DerivativeRules rules{name_};
    rules.forward = [function = function_, backward, cotangents, where,
                     like = detail::structure_of(flat.args())](const std::vector<Array>& leaves) {
      auto [result, pull] = std::apply(function, tree::unflatten(like, leaves));
      std::vector<Array> all = tree::leaves(result);
      *cotangents = all.size();
      auto flat_pull = [&pull = pull, &result = result](const std::vector<Array>& given) {
        return tree::leaves(detail::as_tuple(pull(Result(tree::unflatten(result, given)))));
      };
      auto [converted, captured] = closure_converted(flat_pull, all, Where::from(where));
      *backward = converted;
      all.insert(all.end(), captured.begin(), captured.end());
      return all;
    };
    rules.backward = [backward, cotangents](const std::vector<Array>& leaves) {
      std::vector<Array> turned(leaves.end() - std::ptrdiff_t(*cotangents), leaves.end());  // cotangents before what was captured
      turned.insert(turned.end(), leaves.begin(), leaves.end() - std::ptrdiff_t(*cotangents));
      return (*backward)(turned);
    };
    return flat.result(with_derivative(flat.function(), rules, flat.leaves(), Where::from(where)));
  }

 private:
  F function_;
  std::string name_;
};

// custom_gradient(f)(args…): f returns the pair of its result and the function from that result's cotangent to the arguments' (a tuple, or
// the only one), which may use what f computed. Forward mode is refused.
template <typename F>
CustomGradient<F> custom_gradient(F function, std::string name = "f") {
  return CustomGradient<F>(std::move(function), std::move(name));
}

}  // namespace shardlab
