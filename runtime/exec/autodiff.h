// Derivatives of functions over trees of arrays, with JAX's names.
//
//   auto loss = [](const std::vector<Layer>& params, const Array& x) { return mean(square(predict(params, x))); };
//   std::vector<Layer> gradients = grad(loss)(params, x);          // along the first argument
//   auto [value, both] = value_and_grad<0, 1>(loss)(params, x);    // a tuple of gradients
//
// Each works eagerly, inside jit, on functions that jit, grad or vmap made, and so on. What a function captures is constant to it.
#pragma once

#include <algorithm>

#include "runtime/exec/transformed.h"
#include "runtime/exec/tree.h"

namespace shardlab {
namespace detail {

template <typename Result>
inline constexpr bool kHasAux = tree::detail::kIsTuple<Result>;

// One gradient as it is, several as a tuple; like the arguments at these places.
template <int... argnums, typename... Args>
auto gradients(const std::tuple<Args...>& args, std::span<const Array>& leaves) {
  auto all =
      std::tuple<std::decay_t<std::tuple_element_t<argnums, std::tuple<Args...>>>...>{tree::unflatten(std::get<argnums>(args), leaves)...};
  if constexpr (sizeof...(argnums) == 1)
    return std::get<0>(std::move(all));
  else
    return all;
}

// The pair of the result and the gradients.
template <int... argnums, typename Result, typename... Args>
auto value_and_gradients(Flattened<Result, Args...> flat, Where where, bool holomorphic) {
  static_assert(((argnums >= 0 && argnums < int(sizeof...(Args))) && ...), "argnums names an argument that the function lacks");
  std::vector<Array> found = value_and_grad_of(flat.function(), flat.leaves(), {"f", flat.active({argnums...}), where, holomorphic});
  std::span<const Array> rest(found);
  auto value = flat.result(rest);
  auto along = gradients<argnums...>(flat.args(), rest);
  return std::pair(std::move(value), std::move(along));
}

template <int... argnums>
constexpr bool increasing() {
  int last = -1;
  bool holds = true;
  ((holds = holds && argnums > last, last = argnums), ...);
  return holds;
}

}  // namespace detail

struct GradOptions {
  bool holomorphic = false;  // of a function of complex numbers whose derivative is one: grad(f, {.holomorphic = true})
};

// value_and_grad(f)(args…): the pair of f's result and the gradients along the arguments `argnums`. f returns a scalar, or a tuple or pair
// that begins with it, whose rest passes through.
template <typename F, int... argnums>
class ValueAndGrad : public detail::AtLine<ValueAndGrad<F, argnums...>> {
 public:
  explicit ValueAndGrad(F function, GradOptions options = {}) : function_(std::move(function)), options_(options) {}
  template <typename... Args>
  auto call_at(std::source_location where, const Args&... args) const {
    static_assert(detail::increasing<argnums...>(), "argnums must increase");
    return detail::value_and_gradients<argnums...>(detail::Flattened(function_, where, args...), Where::from(where), options_.holomorphic);
  }

 private:
  F function_;
  GradOptions options_;
};

// grad(f)(args…): the gradients; where f returns more than a scalar, the pair of the gradients and f's whole result.
template <typename F, int... argnums>
class Grad : public detail::AtLine<Grad<F, argnums...>> {
 public:
  explicit Grad(F function, GradOptions options = {}) : function_(std::move(function), options) {}
  template <typename... Args>
  auto call_at(std::source_location where, const Args&... args) const {
    auto [value, gradients] = function_.call_at(where, args...);
    if constexpr (detail::kHasAux<decltype(value)>)
      return std::pair(std::move(gradients), std::move(value));
    else
      return gradients;
  }

 private:
  ValueAndGrad<F, argnums...> function_;
};

template <int... argnums, typename F>
auto value_and_grad(F function, GradOptions options = {}) {
  if constexpr (sizeof...(argnums) == 0)
    return ValueAndGrad<F, 0>(std::move(function), options);
  else
    return ValueAndGrad<F, argnums...>(std::move(function), options);
}
template <int... argnums, typename F>
auto grad(F function, GradOptions options = {}) {
  if constexpr (sizeof...(argnums) == 0)
    return Grad<F, 0>(std::move(function), options);
  else
    return Grad<F, argnums...>(std::move(function), options);
}

namespace detail {
template <typename Result, typename... Args>
auto with_tangents(Flattened<Result, Args...> flat, const std::tuple<Args...>& tangents, Where where) {
  WithTangents found = jvp_of(flat.function(), flat.leaves(), tree::leaves(tangents), {"f", flat.active({}), where});
  return std::pair(flat.result(found.results), flat.result(found.tangents));
}
}  // namespace detail

// auto [y, dy] = jvp(f, std::tuple{x}, std::tuple{dx}): the result and its change along the tangents.
template <typename F, typename... Args>
auto jvp(const F& function, const std::tuple<Args...>& primals, const std::tuple<Args...>& tangents,
         std::source_location where = std::source_location::current()) {
  return std::apply(
      [&](const Args&... args) { return detail::with_tangents(detail::Flattened(function, where, args...), tangents, Where::from(where)); },
      primals);
}

namespace detail {
template <typename Result, typename... Args>
auto pulling(Flattened<Result, Args...> flat, Where where) {
  Differential found = differential_of(flat.function(), flat.leaves(), {"f", flat.active({}), where});
  auto result = flat.result(found.results);
  auto pull = [pull = std::move(found.pull), like = flat.args()](const decltype(result)& cotangents) {
    return tree::unflatten(like, pull(tree::leaves(cotangents)));
  };
  return std::pair(std::move(result), std::move(pull));
}
template <typename Result, typename... Args>
auto pushing(Flattened<Result, Args...> flat, Where where) {
  Differential found = differential_of(flat.function(), flat.leaves(), {"f", flat.active({}), where});
  auto result = flat.result(found.results);
  auto push = [push = std::move(found.push), like = result](const Args&... tangents) {
    return tree::unflatten(like, push(tree::leaves(std::tuple<Args...>(tangents...))));
  };
  return std::pair(std::move(result), std::move(push));
}
template <typename F, typename... Args>
auto vjp_at(std::source_location where, const F& function, const Args&... args) {
  return pulling(Flattened(function, where, args...), Where::from(where));
}
template <typename F, typename... Args>
auto linearize_at(std::source_location where, const F& function, const Args&... args) {
  return pushing(Flattened(function, where, args...), Where::from(where));
}
}  // namespace detail

// auto [y, pull] = vjp(f, x): the result, and the function from its cotangent to the tuple of the arguments' cotangents.
template <typename F, typename A>
auto vjp(const F& function, const A& a, std::source_location where = std::source_location::current()) {
  return detail::vjp_at(where, function, a);
}
template <typename F, typename A, typename B>
auto vjp(const F& function, const A& a, const B& b, std::source_location where = std::source_location::current()) {
  return detail::vjp_at(where, function, a, b);
}
template <typename F, typename A, typename B, typename C>
auto vjp(const F& function, const A& a, const B& b, const C& c, std::source_location where = std::source_location::current()) {
  return detail::vjp_at(where, function, a, b, c);
}
// auto [y, push] = linearize(f, x): the result, and the linear function from tangents to its tangent.
template <typename F, typename A>
auto linearize(const F& function, const A& a, std::source_location where = std::source_location::current()) {
  return detail::linearize_at(where, function, a);
}
template <typename F, typename A, typename B>
auto linearize(const F& function, const A& a, const B& b, std::source_location where = std::source_location::current()) {
  return detail::linearize_at(where, function, a, b);
}

}  // namespace shardlab
