// jit: traces a function into one graph, partitions it and runs it as one program.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <tuple>

#include "runtime/exec/array.h"

namespace shardlab {

struct JitOptions {
  std::string name = "jit";
  // One per argument, or empty: as the arguments lie. An argument that lies otherwise is moved (uncommitted) or an error (committed).
  std::vector<std::optional<Sharding>> in_shardings;
  // One per result, or empty: as propagation chooses.
  std::vector<std::optional<Sharding>> out_shardings;
};

// A function of arrays that owns its cache of programs; the key is the arguments' types, shardings and committedness. Arrays that the
// function captures become constants. Thread-compatible.
class JitFunction {
 public:
  using Function = std::function<std::vector<Array>(const std::vector<Array>&)>;
  JitFunction(Function function, JitOptions options);
  std::vector<Array> call(const std::vector<Array>& args, Where where) const;
  // The program before (traced) or after partitioning, as text, for these arguments.
  std::string lowered(const std::vector<Array>& args, bool partitioned) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

namespace detail {
inline std::vector<Array> to_results(Array result) { return {std::move(result)}; }
inline std::vector<Array> to_results(std::vector<Array> results) { return results; }
template <typename... Arrays>
std::vector<Array> to_results(std::tuple<Arrays...> results) {
  return std::apply([](auto&&... each) { return std::vector<Array>{each...}; }, std::move(results));
}
template <typename Result, std::size_t... I>
Result from_results(std::vector<Array> results, std::index_sequence<I...>) {
  return Result{std::move(results[I])...};
}
}  // namespace detail

// jit(f)(x, y): f takes `const Array&` arguments and returns an Array, a tuple of Arrays or a vector of Arrays.
template <typename F>
class Jitted {
 public:
  Jitted(F function, JitOptions options) : function_(std::move(function)), options_(std::move(options)) {}

  // Overloads instead of a pack, so that the caller's line comes by default.
  auto operator()(std::source_location where = std::source_location::current()) const { return call_at(where); }
  auto operator()(const Array& a0, std::source_location where = std::source_location::current()) const { return call_at(where, a0); }
  auto operator()(const Array& a0, const Array& a1, std::source_location where = std::source_location::current()) const {
    return call_at(where, a0, a1);
  }
  auto operator()(const Array& a0, const Array& a1, const Array& a2, std::source_location where = std::source_location::current()) const {
    return call_at(where, a0, a1, a2);
  }
  auto operator()(const Array& a0, const Array& a1, const Array& a2, const Array& a3,
                  std::source_location where = std::source_location::current()) const {
    return call_at(where, a0, a1, a2, a3);
  }
  auto operator()(const Array& a0, const Array& a1, const Array& a2, const Array& a3, const Array& a4,
                  std::source_location where = std::source_location::current()) const {
    return call_at(where, a0, a1, a2, a3, a4);
  }
  auto operator()(const Array& a0, const Array& a1, const Array& a2, const Array& a3, const Array& a4, const Array& a5,
                  std::source_location where = std::source_location::current()) const {
    return call_at(where, a0, a1, a2, a3, a4, a5);
  }
  // With the caller's line given: jit(f).at(std::source_location::current(), x).
  template <typename... Args>
  auto call_at(std::source_location where, const Args&... args) const {
    using Result = std::invoke_result_t<const F&, const Args&...>;
    if (!jit_)
      jit_ = std::make_shared<JitFunction>(
          [function = function_](const std::vector<Array>& arrays) {
            return [&]<std::size_t... I>(std::index_sequence<I...>) {
              return detail::to_results(function(arrays[I]...));
            }(std::index_sequence_for<Args...>{});
          },
          options_);
    std::vector<Array> results = jit_->call({args...}, Where::from(where));
    if constexpr (std::is_same_v<Result, std::vector<Array>>)
      return results;
    else if constexpr (std::is_same_v<Result, Array>)
      return results.at(0);
    else
      return detail::from_results<Result>(std::move(results), std::make_index_sequence<std::tuple_size_v<Result>>{});
  }

 private:
  F function_;
  JitOptions options_;
  mutable std::shared_ptr<JitFunction> jit_;
};

template <typename F>
Jitted<F> jit(F function, JitOptions options = {}) {
  return Jitted<F>(std::move(function), std::move(options));
}

}  // namespace shardlab
