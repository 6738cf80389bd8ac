// Functions of trees as functions of their leaves: what jit, shard_map, loops and branches trace.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <source_location>
#include <span>
#include <string_view>

#include "runtime/exec/tree.h"

namespace shardlab {

// A function of arrays; it may capture arrays from around it.
using ArrayFunction = std::function<std::vector<Array>(const std::vector<Array>&)>;

// How many leaves each argument has, or each part of a result.
using LeafCounts = std::vector<std::size_t>;

// Where each leaf is, as tree::key_paths says it; for errors.
using KeyPaths = std::vector<std::string>;

// The leaves of a function's result, how many of them each of its parts has (no parts: one leaf each), and where they are.
struct TreeResults {
  TreeResults(std::vector<Array> all, LeafCounts of_parts = {}, KeyPaths of_leaves = {})  // NOLINT
      : leaves(std::move(all)), parts(std::move(of_parts)), paths(std::move(of_leaves)) {}
  std::vector<Array> leaves;
  LeafCounts parts;
  KeyPaths paths;
};
// Such a path, or "[2]" where there are none.
inline std::string key_path(const KeyPaths& paths, std::size_t leaf) {
  return leaf < paths.size() ? paths[leaf] : fmt::format("[{}]", leaf);
}
using TreeFunction = std::function<TreeResults(const std::vector<Array>&)>;

namespace tree {

template <typename T>
std::size_t count_leaves(const T& tree) {
  std::size_t count = 0;
  for_each(tree, [&](const Array&) { ++count; });
  return count;
}

// The elements of a tuple or pair are parts; any other tree is one.
template <typename T>
LeafCounts parts(const T& tree) {
  if constexpr (detail::kIsTuple<T>)
    return std::apply([](const auto&... each) { return LeafCounts{count_leaves(each)...}; }, tree);
  else
    return {count_leaves(tree)};
}

// One entry a leaf, of entries that are given one a part (each stands for all leaves of it, as a prefix of a tree does in JAX) or one a
// leaf. Nothing where they are neither.
template <typename Entry>
std::optional<std::vector<Entry>> spread(const std::vector<Entry>& given, const LeafCounts& parts) {
  std::vector<Entry> entries;
  if (given.size() == parts.size())
    for (std::size_t i = 0; i < parts.size(); ++i) entries.insert(entries.end(), parts[i], given[i]);
  else
    entries = given;
  std::size_t leaves = 0;
  for (std::size_t count : parts) leaves += count;
  return entries.size() == leaves ? std::optional(std::move(entries)) : std::nullopt;
}

}  // namespace tree

namespace detail {

// What a function of trees gives for arguments of these types.
template <typename F, typename... Args>
using ResultOf = std::decay_t<decltype(invoke_at(std::declval<const F&>(), std::source_location(), std::declval<const Args&>()...))>;

// A function over trees as one over their leaves, for arguments like these; remembers what it returned last, for its structure. The
// function must outlive it. Its own type is not part of this one, so that all functions of the same types share one compiled copy.
template <typename R, typename... Args>
class Flattened {
 public:
  using Result = R;

  template <typename F>
  Flattened(const F& function, std::source_location where, const Args&... args)
      : function_([&function](std::source_location line, const Args&... given) -> Result { return invoke_at(function, line, given...); }),
        where_(where),
        args_(args...) {}

  TreeResults operator()(const std::vector<Array>& leaves) {
    std::span<const Array> rest(leaves);
    auto args = std::apply([&](const auto&... each) { return std::tuple<Args...>{tree::unflatten(each, rest)...}; }, args_);
    result_ = std::apply([&](const auto&... each) { return function_(where_, each...); }, args);
    return {tree::leaves(*result_), tree::parts(*result_), tree::key_paths(*result_)};
  }
  ArrayFunction function() {
    return [this](const std::vector<Array>& leaves) { return (*this)(leaves).leaves; };
  }
  std::vector<Array> leaves() const { return tree::leaves(args_); }
  KeyPaths key_paths() const { return tree::key_paths(args_); }
  // How many each argument has.
  LeafCounts counts() const { return tree::parts(args_); }
  // Whether each leaf belongs to one of these arguments; all where there are none.
  std::vector<bool> active(std::initializer_list<int> argnums) const {
    std::vector<bool> result;
    int argument = 0;
    for (std::size_t count : counts()) {
      bool chosen = argnums.size() == 0 || std::find(argnums.begin(), argnums.end(), argument) != argnums.end();
      result.insert(result.end(), count, chosen);
      ++argument;
    }
    return result;
  }
  // The structure of the results, once the function was called: with its leaves, and with these.
  const Result& result() const {
    SL_CHECK(result_.has_value(), "a function was never traced");
    return *result_;
  }
  Result result(std::span<const Array>& leaves) const { return tree::unflatten(result(), leaves); }
  Result result(const std::vector<Array>& leaves) const { return tree::unflatten(result(), leaves); }
  const std::tuple<Args...>& args() const { return args_; }

 private:
  std::function<Result(std::source_location, const Args&...)> function_;
  std::source_location where_;
  std::tuple<Args...> args_;
  std::optional<Result> result_;
};
template <typename F, typename... Args>
Flattened(const F&, std::source_location, const Args&...) -> Flattened<ResultOf<F, Args...>, Args...>;

}  // namespace detail
}  // namespace shardlab
