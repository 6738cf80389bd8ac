// Loops and branches whose bodies are traced once: while_loop, scan, fori_loop, cond, switch, map.
#pragma once

#include <functional>
#include <source_location>
#include <tuple>
#include <vector>

#include "runtime/exec/jit.h"
#include "runtime/exec/operand.h"

namespace shardlab {

// A function of arrays; it may capture arrays from around it.
using ArrayFunction = std::function<std::vector<Array>(const std::vector<Array>&)>;

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

namespace detail {
inline std::vector<Array> body_results(Array result) { return {std::move(result)}; }
inline std::vector<Array> body_results(std::vector<Array> results) { return results; }
template <typename... Arrays>
std::vector<Array> body_results(std::tuple<Arrays...> results) {
  return std::apply([](auto&&... each) { return std::vector<Array>{each...}; }, std::move(results));
}
// Calls a function of `const Array&...` as an ArrayFunction and gives back what it returns: an Array, a tuple or a vector.
template <typename Result>
Result results_as(std::vector<Array> results) {
  if constexpr (std::is_same_v<Result, std::vector<Array>>)
    return results;
  else if constexpr (std::is_same_v<Result, Array>)
    return results.at(0);
  else
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return Result{std::move(results[I])...};
    }(std::make_index_sequence<std::tuple_size_v<Result>>{});
}
template <std::size_t N, typename F>
ArrayFunction function_of(const F& function) {
  return [function](const std::vector<Array>& arrays) {
    return
        [&]<std::size_t... I>(std::index_sequence<I...>) { return body_results(function(arrays.at(I)...)); }(std::make_index_sequence<N>{});
  };
}
template <typename F, typename... Args, typename Run>
auto call_on(const F& function, Run&& run) {
  using Result = std::invoke_result_t<const F&, const Args&...>;
  return results_as<Result>(run(function_of<sizeof...(Args)>(function)));
}
}  // namespace detail

// The same for one carried array.
template <typename C, typename B>
Array while_loop(C condition, B body, const Array& init, std::source_location where = std::source_location::current()) {
  return while_loop(detail::function_of<1>(condition), detail::function_of<1>(body), std::vector<Array>{init}, Where::from(where)).at(0);
}
// body(carry, x) returns the pair of the next carry and y.
template <typename B>
std::tuple<Array, Array> scan(B body, const Array& init, const Array& xs, ScanOptions options = {},
                              std::source_location where = std::source_location::current()) {
  auto results = scan(detail::function_of<2>(body), std::vector<Array>{init}, std::vector<Array>{xs}, options, Where::from(where));
  return {results.at(0), results.at(1)};
}
template <typename B>
Array fori_loop(std::int64_t lower, std::int64_t upper, B body, const Array& init,
                std::source_location where = std::source_location::current()) {
  return fori_loop(lower, upper, detail::function_of<2>(body), std::vector<Array>{init}, Where::from(where)).at(0);
}
template <typename T, typename F>
Array cond(const Operand& predicate, T when_true, F when_false, const Array& x,
           std::source_location where = std::source_location::current()) {
  return switch_branches(predicate, {detail::function_of<1>(when_false), detail::function_of<1>(when_true)}, {x}, Where::from(where)).at(0);
}
// f of every slice along the leading dimension.
template <typename F>
Array map(F function, const Array& xs, std::source_location where = std::source_location::current()) {
  return scan(detail::function_of<1>(function), {}, std::vector<Array>{xs}, {}, Where::from(where)).at(0);
}

}  // namespace shardlab
