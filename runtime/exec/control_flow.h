// Loops and branches whose bodies are traced once: while_loop, scan, fori_loop, cond, switch, map.
#pragma once

#include <concepts>
#include <source_location>
#include <tuple>
#include <vector>

#include "runtime/exec/jit.h"
#include "runtime/exec/operand.h"
#include "runtime/exec/tree_function.h"

namespace shardlab {

// Repeats `body` on the carried values while `condition` of them (a boolean scalar) holds. UserError with JAX's texts where the condition
// is no boolean scalar or the body changes a type.
std::vector<Array> while_loop(const ArrayFunction& condition, const ArrayFunction& body, const std::vector<Array>& init, Where where);

struct ScanOptions {
  std::int64_t length = -1;  // -1: the leading size of xs
  bool reverse = false;
  std::int64_t unroll = 1;
};

// Calls `body` on (carry..., slices of xs...) for each index of the leading dimension; it returns (carry..., ys...). The result: the last
// carry, then the stacked ys.
std::vector<Array> scan(const ArrayFunction& body, const std::vector<Array>& init, const std::vector<Array>& xs, ScanOptions options,
                        Where where);

// body(i, carry...) for i in [lower, upper), as a scan over the carry.
std::vector<Array> fori_loop(std::int64_t lower, std::int64_t upper, const ArrayFunction& body, const std::vector<Array>& init,
                             Where where);

// Runs the branch that `index` (int32 scalar, clamped) or the predicate (bool scalar: false is branch 0) says.
std::vector<Array> switch_branches(const Operand& index, const std::vector<ArrayFunction>& branches, const std::vector<Array>& operands,
                                   Where where);

// --- The same on trees of arrays (runtime/exec/tree.h): functions of trees, which return trees. Static values in a carry stay as they are.

namespace detail {
// UserError with JAX's text where a loop's body returns another structure than it takes.
void check_carry(std::string_view loop, const std::string& given, const std::string& returned, Where where);
// The same for two branches.
void check_branches(const std::string& first, std::size_t index, const std::string& other, Where where);
// Of fori_loop over indices that are arrays: both bounds in one dtype, and what the loop does with its index.
std::pair<Array, Array> loop_bounds(const Operand& lower, const Operand& upper);
Array is_below(const Array& index, const Array& end);
Array next_index(const Array& index);
template <typename T>
concept Tree = !std::is_same_v<T, std::source_location>;

// The branches of a choice on the same operands; all must return one structure.
template <typename... Fs, typename... Trees>
auto choose(const Operand& index, const std::tuple<const Fs&...>& branches, std::source_location line, const Trees&... operands) {
  const Where where = Where::from(line);
  auto traced = std::apply([&](const Fs&... each) { return std::tuple{Flattened(each, line, operands...)...}; }, branches);
  return std::apply(
      [&](auto& first, auto&... others) {
        using First = std::decay_t<decltype(first)>;
        static_assert((std::is_same_v<typename First::Result, typename std::decay_t<decltype(others)>::Result> && ...),
                      "all branches must return the same type");
        std::vector<Array> leaves = switch_branches(index, {first.function(), others.function()...}, first.leaves(), where);
        std::size_t i = 0;
        (check_branches(tree::structure(first.result()), ++i, tree::structure(others.result()), where), ...);
        return first.result(leaves);
      },
      traced);
}
}  // namespace detail

// while_loop([](const State& s) { return s.error > 0.1; }, [](const State& s) { … }, state)
template <typename C, typename B, typename Carry>
  requires std::invocable<const C&, const Carry&>
Carry while_loop(const C& condition, const B& body, const Carry& init, std::source_location line = std::source_location::current()) {
  const Where where = Where::from(line);
  detail::Flattened holds(condition, line, init);
  detail::Flattened next(body, line, init);
  static_assert(std::is_same_v<typename decltype(next)::Result, Carry>, "the body must return what it takes");
  std::vector<Array> leaves = while_loop(
      holds.function(),
      [&](const std::vector<Array>& carry) {
        std::vector<Array> result = next(carry).leaves;
        detail::check_carry("while_loop body", tree::structure(init), tree::structure(next.result()), where);
        return result;
      },
      tree::leaves(init), where);
  return tree::unflatten(init, leaves);
}

// body(carry, x) returns the next carry and y, as a pair or tuple; xs is a tree of arrays with one leading size (std::tuple<>{}: nothing,
// with ScanOptions::length), ys has y's stacked. auto [last, ys] = scan(body, init, xs);
template <typename B, typename Carry, typename Xs>
  requires std::invocable<const B&, const Carry&, const Xs&>
auto scan(const B& body, const Carry& init, const Xs& xs, ScanOptions options = {},
          std::source_location line = std::source_location::current()) {
  const Where where = Where::from(line);
  detail::Flattened step(body, line, init, xs);
  using Result = typename decltype(step)::Result;
  static_assert(std::is_same_v<std::decay_t<std::tuple_element_t<0, Result>>, Carry>,
                "the body must return the carry that it takes, and y");
  std::vector<Array> results = scan(
      [&](const std::vector<Array>& values) {
        std::vector<Array> next = step(values).leaves;
        detail::check_carry("scan body", tree::structure(init), tree::structure(std::get<0>(step.result())), where);
        return next;
      },
      tree::leaves(init), tree::leaves(xs), options, where);
  std::span<const Array> rest(results);
  Carry last = tree::unflatten(init, rest);
  return std::tuple{std::move(last), tree::unflatten(std::get<1>(step.result()), rest)};
}

// body(i, carry) for i in [lower, upper).
template <typename B, typename Carry>
  requires std::invocable<const B&, const Array&, const Carry&>
Carry fori_loop(std::int64_t lower, std::int64_t upper, const B& body, const Carry& init,
                std::source_location line = std::source_location::current()) {
  const Where where = Where::from(line);
  detail::Flattened step(body, line, Array(), init);
  static_assert(std::is_same_v<typename decltype(step)::Result, Carry>, "the body must return the carry that it takes");
  std::vector<Array> leaves = fori_loop(
      lower, upper,
      [&](const std::vector<Array>& values) {
        std::vector<Array> next = step(values).leaves;
        detail::check_carry("fori_loop body", tree::structure(init), tree::structure(step.result()), where);
        return next;
      },
      tree::leaves(init), where);
  return tree::unflatten(init, leaves);
}

// The same for bounds that are arrays, integer scalars: a while_loop, which has no gradient in reverse.
template <typename B, typename Carry>
  requires std::invocable<const B&, const Array&, const Carry&>
Carry fori_loop(const Operand& lower, const Operand& upper, const B& body, const Carry& init,
                std::source_location line = std::source_location::current()) {
  const auto [first, end] = detail::loop_bounds(lower, upper);
  using State = std::tuple<Array, Array, Carry>;
  return std::get<2>(while_loop([](const State& s) { return detail::is_below(std::get<0>(s), std::get<1>(s)); },
                                [&](const State& s) {
                                  const auto& [i, stop, carry] = s;
                                  return State{detail::next_index(i), stop, detail::invoke_at(body, line, i, carry)};
                                },
                                State{first, end, init}, line));
}

// cond(predicate, when_true, when_false, operands…): up to three trees.
template <typename T, typename F>
auto cond(const Operand& predicate, const T& when_true, const F& when_false, std::source_location line = std::source_location::current()) {
  return detail::choose<F, T>(predicate, {when_false, when_true}, line);
}
template <typename T, typename F, detail::Tree A>
auto cond(const Operand& predicate, const T& when_true, const F& when_false, const A& a,
          std::source_location line = std::source_location::current()) {
  return detail::choose<F, T>(predicate, {when_false, when_true}, line, a);
}
template <typename T, typename F, detail::Tree A, detail::Tree B>
auto cond(const Operand& predicate, const T& when_true, const F& when_false, const A& a, const B& b,
          std::source_location line = std::source_location::current()) {
  return detail::choose<F, T>(predicate, {when_false, when_true}, line, a, b);
}
template <typename T, typename F, detail::Tree A, detail::Tree B, detail::Tree C>
auto cond(const Operand& predicate, const T& when_true, const F& when_false, const A& a, const B& b, const C& c,
          std::source_location line = std::source_location::current()) {
  return detail::choose<F, T>(predicate, {when_false, when_true}, line, a, b, c);
}

// switch_(index, std::tuple{f, g, h}, operands…): jax.lax.switch; up to three trees.
template <typename... Fs>
auto switch_(const Operand& index, const std::tuple<Fs...>& branches, std::source_location line = std::source_location::current()) {
  return detail::choose(index, std::tuple<const Fs&...>(branches), line);
}
template <typename... Fs, detail::Tree A>
auto switch_(const Operand& index, const std::tuple<Fs...>& branches, const A& a,
             std::source_location line = std::source_location::current()) {
  return detail::choose(index, std::tuple<const Fs&...>(branches), line, a);
}
template <typename... Fs, detail::Tree A, detail::Tree B>
auto switch_(const Operand& index, const std::tuple<Fs...>& branches, const A& a, const B& b,
             std::source_location line = std::source_location::current()) {
  return detail::choose(index, std::tuple<const Fs&...>(branches), line, a, b);
}
template <typename... Fs, detail::Tree A, detail::Tree B, detail::Tree C>
auto switch_(const Operand& index, const std::tuple<Fs...>& branches, const A& a, const B& b, const C& c,
             std::source_location line = std::source_location::current()) {
  return detail::choose(index, std::tuple<const Fs&...>(branches), line, a, b, c);
}

// f of every slice along the leading dimension of the leaves. vmap.h has the form with batches.
template <typename F, typename Xs>
auto map(const F& function, const Xs& xs, std::source_location line = std::source_location::current()) {
  detail::Flattened each(function, line, xs);
  return each.result(scan(each.function(), {}, each.leaves(), {}, Where::from(line)));
}

}  // namespace shardlab
