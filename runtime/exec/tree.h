// Trees of arrays: an Array, or vectors, tuples, pairs, std::arrays, maps and optionals of trees, or structs named with SHARDLAB_TREE (up
// to 16 members). Numbers, enumerators and strings in a tree are static: part of its structure, not leaves.
//
//   struct Layer { Array w, b; };
//   SHARDLAB_TREE(Layer, w, b)
//   params = tree::map([&](const Array& p, const Array& g) { return p - 0.1 * g; }, params, grads);
#pragma once

#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/exec/array.h"

namespace shardlab {
namespace tree {
namespace detail {

template <typename T>
inline constexpr bool kIsSequence = false;
template <typename T, typename A>
inline constexpr bool kIsSequence<std::vector<T, A>> = true;
template <typename T, std::size_t N>
inline constexpr bool kIsSequence<std::array<T, N>> = true;
template <typename T>
inline constexpr bool kIsOptional = false;
template <typename T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <typename T>
inline constexpr bool kIsMap = false;
template <typename K, typename T, typename C, typename A>
inline constexpr bool kIsMap<std::map<K, T, C, A>> = true;
template <typename T>
inline constexpr bool kIsTuple = false;
template <typename... T>
inline constexpr bool kIsTuple<std::tuple<T...>> = true;
template <typename A, typename B>
inline constexpr bool kIsTuple<std::pair<A, B>> = true;

template <typename T>
concept Static = std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, std::string>;
template <typename T>
concept Named = requires(T& x) { shardlab_tree_members(x); };  // SHARDLAB_TREE

// The names of a struct's members, of their list as it is written: "w, b".
inline std::vector<std::string> member_names(std::string_view list) {
  std::vector<std::string> names(1);
  for (char c : list)
    if (c == ',')
      names.emplace_back();
    else if (c != ' ')
      names.back() += c;
  return names;
}

}  // namespace detail

// Calls visit(leaf) on every Array, in order; maps by key.
template <typename T, typename F>
void for_each(T& tree, F&& visit) {
  using Plain = std::remove_const_t<T>;
  if constexpr (std::is_same_v<Plain, Array>) {
    visit(tree);
  } else if constexpr (detail::Static<Plain>) {
  } else if constexpr (detail::kIsOptional<Plain>) {
    if (tree) for_each(*tree, visit);
  } else if constexpr (detail::kIsSequence<Plain>) {
    for (auto& each : tree) for_each(each, visit);
  } else if constexpr (detail::kIsMap<Plain>) {
    for (auto& [key, each] : tree) for_each(each, visit);
  } else if constexpr (detail::kIsTuple<Plain>) {
    std::apply([&](auto&... each) { (for_each(each, visit), ...); }, tree);
  } else {
    static_assert(detail::Named<T>,
                  "a tree is an Array, a number, a string, a vector, array, tuple, pair, map or optional of trees, or a struct named with "
                  "SHARDLAB_TREE");
    std::apply([&](auto&... each) { (for_each(each, visit), ...); }, shardlab_tree_members(tree));
  }
}

namespace detail {

template <typename T>
void add_key_paths(const T& tree, const std::string& at, std::vector<std::string>& paths) {
  std::size_t index = 0;
  auto add_item = [&](const auto& each) { add_key_paths(each, fmt::format("{}[{}]", at, index++), paths); };
  if constexpr (std::is_same_v<T, Array>) {
    paths.push_back(at);
  } else if constexpr (Static<T>) {
  } else if constexpr (kIsOptional<T>) {
    if (tree) add_key_paths(*tree, at, paths);
  } else if constexpr (kIsSequence<T>) {
    for (const auto& each : tree) add_item(each);
  } else if constexpr (kIsMap<T>) {
    for (const auto& [key, each] : tree) {
      if constexpr (std::is_convertible_v<decltype(key), std::string>)
        add_key_paths(each, fmt::format("{}['{}']", at, key), paths);
      else
        add_key_paths(each, fmt::format("{}[{}]", at, key), paths);
    }
  } else if constexpr (kIsTuple<T>) {
    std::apply([&](const auto&... each) { (add_item(each), ...); }, tree);
  } else {
    const std::vector<std::string> names = member_names(shardlab_tree_names(&tree));
    auto add_member = [&](const auto& each) { add_key_paths(each, fmt::format("{}.{}", at, names[index++]), paths); };
    std::apply([&](const auto&... each) { (add_member(each), ...); }, shardlab_tree_members(tree));
  }
}

}  // namespace detail

// Where in the tree each leaf is, as JAX writes key paths: "[0]['w']", ".bias".
template <typename T>
std::vector<std::string> key_paths(const T& tree) {
  std::vector<std::string> paths;
  detail::add_key_paths(tree, "", paths);
  return paths;
}

template <typename T>
std::vector<Array> leaves(const T& tree) {
  std::vector<Array> result;
  for_each(tree, [&](const Array& leaf) { result.push_back(leaf); });
  return result;
}

// The tree with other leaves, as many as it has; `leaves` loses those that it took.
template <typename T>
T unflatten(T like, std::span<const Array>& leaves) {
  for_each(like, [&](Array& leaf) {
    SL_CHECK(!leaves.empty(), "too few leaves for a tree");
    leaf = leaves.front();
    leaves = leaves.subspan(1);
  });
  return like;
}
template <typename T>
T unflatten(T like, const std::vector<Array>& leaves) {
  std::span<const Array> rest(leaves);
  T result = unflatten(std::move(like), rest);
  if (!rest.empty()) throw_user_error("a tree of {} leaves is made of {}", leaves.size() - rest.size(), leaves.size());
  return result;
}

// f(f(f(init, first leaf), second leaf), …).
template <typename F, typename T, typename Init>
Init reduce(F&& f, const T& tree, Init init) {
  for_each(tree, [&](const Array& leaf) { init = f(init, leaf); });
  return init;
}

// Each leaf with its key path: for (auto& [path, leaf] : leaves_with_path(params)).
template <typename T>
std::vector<std::pair<std::string, Array>> leaves_with_path(const T& tree) {
  std::vector<std::pair<std::string, Array>> all;
  for (const std::string& path : key_paths(tree)) all.emplace_back(path, Array());
  std::size_t next = 0;
  for_each(tree, [&](const Array& leaf) { all[next++].second = leaf; });
  return all;
}

// The tree of f(path, leaf).
template <typename F, typename T>
T map_with_path(F&& f, const T& tree) {
  std::vector<Array> results;
  for (const auto& [path, leaf] : leaves_with_path(tree)) results.push_back(f(path, leaf));
  return unflatten(tree, results);
}

// Adds a tree's text, with what `leaf_text` says of its leaves and with its static values.
template <typename T, typename F>
void add_text(std::string& text, const T& tree, const F& leaf_text) {
  using Plain = std::remove_cv_t<T>;
  bool is_first = true;
  auto next = [&] {
    if (!is_first) text += ", ";
    is_first = false;
  };
  auto add = [&](const auto& each) {
    next();
    add_text(text, each, leaf_text);
  };
  if constexpr (std::is_same_v<Plain, Array>) {
    text += leaf_text(tree);
  } else if constexpr (std::is_floating_point_v<Plain>) {
    text += fmt::format("{:a}", tree);
  } else if constexpr (std::is_arithmetic_v<Plain>) {
    text += fmt::format("{}", tree);
  } else if constexpr (std::is_enum_v<Plain>) {
    text += fmt::format("{}", static_cast<std::int64_t>(tree));
  } else if constexpr (std::is_same_v<Plain, std::string>) {
    text += fmt::format("'{}:{}'", tree.size(), tree);
  } else if constexpr (detail::kIsOptional<Plain>) {
    if (tree)
      add_text(text, *tree, leaf_text);
    else
      text += "None";
  } else if constexpr (detail::kIsSequence<Plain>) {
    text += '[';
    for (const auto& each : tree) add(each);
    text += ']';
  } else if constexpr (detail::kIsMap<Plain>) {
    text += '{';
    for (const auto& [key, each] : tree) {
      next();
      text += fmt::format("{}: ", key);
      add_text(text, each, leaf_text);
    }
    text += '}';
  } else if constexpr (detail::kIsTuple<Plain>) {
    text += '(';
    std::apply([&](const auto&... each) { (add(each), ...); }, tree);
    text += ')';
  } else {
    text += '{';
    std::apply([&](const auto&... each) { (add(each), ...); }, shardlab_tree_members(tree));
    text += '}';
  }
}

// "(float32[4,8], [float32[8], 3])": the leaves' types and the static values in their structure, which tells calls apart.
template <typename T>
std::string text(const T& tree) {
  std::string text;
  add_text(text, tree, [](const Array& leaf) { return leaf.valid() ? leaf.type().text() : "empty"; });
  return text;
}

// "(*, [*, 3])": the structure without its leaves.
template <typename T>
std::string structure(const T& tree) {
  std::string text;
  add_text(text, tree, [](const Array&) { return "*"; });
  return text;
}

namespace detail {

template <typename F, typename T, typename... Others>
T mapped(std::source_location where, F&& f, const T& first, const Others&... others) {
  const std::vector<std::vector<Array>> lists = {leaves(first), leaves(others)...};
  std::vector<Array> results;
  for (std::size_t t = 0; t < lists.size(); ++t)
    if (lists[t].size() != lists[0].size())
      throw_user_error("pytree structure error: tree::map takes trees of one structure, got {} with {} leaves and {} with {} [{}]",
                       structure(first), lists[0].size(), std::vector<std::string>{structure(first), structure(others)...}[t],
                       lists[t].size(), Where::from(where).text());
  for (std::size_t i = 0; i < lists[0].size(); ++i)
    [&]<std::size_t... I>(std::index_sequence<I...>) { results.push_back(f(lists[I][i]...)); }(std::index_sequence_for<T, Others...>{});
  return unflatten(first, results);
}

}  // namespace detail

// f(leaf, leaves of the others…) for every leaf of up to five trees; the others have the first one's structure. UserError where their
// counts differ.
template <typename F, typename T>
T map(F&& f, const T& tree, std::source_location where = std::source_location::current()) {
  return detail::mapped(where, f, tree);
}
template <typename F, typename T, typename A>
T map(F&& f, const T& tree, const A& a, std::source_location where = std::source_location::current()) {
  return detail::mapped(where, f, tree, a);
}
template <typename F, typename T, typename A, typename B>
T map(F&& f, const T& tree, const A& a, const B& b, std::source_location where = std::source_location::current()) {
  return detail::mapped(where, f, tree, a, b);
}
template <typename F, typename T, typename A, typename B, typename C>
T map(F&& f, const T& tree, const A& a, const B& b, const C& c, std::source_location where = std::source_location::current()) {
  return detail::mapped(where, f, tree, a, b, c);
}
template <typename F, typename T, typename A, typename B, typename C, typename D>
T map(F&& f, const T& tree, const A& a, const B& b, const C& c, const D& d, std::source_location where = std::source_location::current()) {
  return detail::mapped(where, f, tree, a, b, c, d);
}

}  // namespace tree

namespace detail {

// Calls a function with the user's line where it takes one (jit, grad, vmap objects do), so that errors name it through several of them.
template <typename F, typename... Args>
decltype(auto) invoke_at(const F& function, std::source_location where, const Args&... args) {
  if constexpr (requires { function.call_at(where, args...); })
    return function.call_at(where, args...);
  else
    return function(args...);
}

// operator() for none to eight arguments, with the caller's line by default, which a pack could not have.
template <typename Derived>
class AtLine {
 public:
  using Line = std::source_location;
  auto operator()(Line where = Line::current()) const { return self().call_at(where); }
  template <typename A>
  auto operator()(const A& a, Line where = Line::current()) const {
    return self().call_at(where, a);
  }
  template <typename A, typename B>
  auto operator()(const A& a, const B& b, Line where = Line::current()) const {
    return self().call_at(where, a, b);
  }
  template <typename A, typename B, typename C>
  auto operator()(const A& a, const B& b, const C& c, Line where = Line::current()) const {
    return self().call_at(where, a, b, c);
  }
  template <typename A, typename B, typename C, typename D>
  auto operator()(const A& a, const B& b, const C& c, const D& d, Line where = Line::current()) const {
    return self().call_at(where, a, b, c, d);
  }
  template <typename A, typename B, typename C, typename D, typename E>
  auto operator()(const A& a, const B& b, const C& c, const D& d, const E& e, Line where = Line::current()) const {
    return self().call_at(where, a, b, c, d, e);
  }
  template <typename A, typename B, typename C, typename D, typename E, typename F>
  auto operator()(const A& a, const B& b, const C& c, const D& d, const E& e, const F& f, Line where = Line::current()) const {
    return self().call_at(where, a, b, c, d, e, f);
  }
  template <typename A, typename B, typename C, typename D, typename E, typename F, typename G>
  auto operator()(const A& a, const B& b, const C& c, const D& d, const E& e, const F& f, const G& g, Line where = Line::current()) const {
    return self().call_at(where, a, b, c, d, e, f, g);
  }
  template <typename A, typename B, typename C, typename D, typename E, typename F, typename G, typename H>
  auto operator()(const A& a, const B& b, const C& c, const D& d, const E& e, const F& f, const G& g, const H& h,
                  Line where = Line::current()) const {
    return self().call_at(where, a, b, c, d, e, f, g, h);
  }

 private:
  const Derived& self() const { return static_cast<const Derived&>(*this); }
};

}  // namespace detail
}  // namespace shardlab

// Makes a struct a tree of its members; write it beside the struct, in its namespace.
#define SHARDLAB_TREE(Type, ...)                                          \
  inline auto shardlab_tree_members(Type& x) {                            \
    auto members = [](auto&... each) { return std::tie(each...); };       \
    return SHARDLAB_TREE_APPLY(members, x, __VA_ARGS__);                  \
  }                                                                       \
  inline auto shardlab_tree_members(const Type& x) {                      \
    auto members = [](const auto&... each) { return std::tie(each...); }; \
    return SHARDLAB_TREE_APPLY(members, x, __VA_ARGS__);                  \
  }                                                                       \
  inline const char* shardlab_tree_names(const Type*) { return #__VA_ARGS__; }
#define SHARDLAB_TREE_APPLY(f, x, ...) \
  f(SHARDLAB_TREE_PICK(__VA_ARGS__, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1)(x, __VA_ARGS__))
#define SHARDLAB_TREE_PICK(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, count, ...) SHARDLAB_TREE_##count
#define SHARDLAB_TREE_1(x, a) x.a
#define SHARDLAB_TREE_2(x, a, b) x.a, x.b
#define SHARDLAB_TREE_3(x, a, ...) x.a, SHARDLAB_TREE_2(x, __VA_ARGS__)
#define SHARDLAB_TREE_4(x, a, ...) x.a, SHARDLAB_TREE_3(x, __VA_ARGS__)
#define SHARDLAB_TREE_5(x, a, ...) x.a, SHARDLAB_TREE_4(x, __VA_ARGS__)
#define SHARDLAB_TREE_6(x, a, ...) x.a, SHARDLAB_TREE_5(x, __VA_ARGS__)
#define SHARDLAB_TREE_7(x, a, ...) x.a, SHARDLAB_TREE_6(x, __VA_ARGS__)
#define SHARDLAB_TREE_8(x, a, ...) x.a, SHARDLAB_TREE_7(x, __VA_ARGS__)
#define SHARDLAB_TREE_9(x, a, ...) x.a, SHARDLAB_TREE_8(x, __VA_ARGS__)
#define SHARDLAB_TREE_10(x, a, ...) x.a, SHARDLAB_TREE_9(x, __VA_ARGS__)
#define SHARDLAB_TREE_11(x, a, ...) x.a, SHARDLAB_TREE_10(x, __VA_ARGS__)
#define SHARDLAB_TREE_12(x, a, ...) x.a, SHARDLAB_TREE_11(x, __VA_ARGS__)
#define SHARDLAB_TREE_13(x, a, ...) x.a, SHARDLAB_TREE_12(x, __VA_ARGS__)
#define SHARDLAB_TREE_14(x, a, ...) x.a, SHARDLAB_TREE_13(x, __VA_ARGS__)
#define SHARDLAB_TREE_15(x, a, ...) x.a, SHARDLAB_TREE_14(x, __VA_ARGS__)
#define SHARDLAB_TREE_16(x, a, ...) x.a, SHARDLAB_TREE_15(x, __VA_ARGS__)
