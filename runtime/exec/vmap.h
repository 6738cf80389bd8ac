// vmap: a function of one element, on a batch of them at once; and the Jacobians that are made with it.
#pragma once

#include "runtime/exec/array_ops.h"
#include "runtime/exec/autodiff.h"
#include "runtime/exec/control_flow.h"

namespace shardlab {

// Axes are std::nullopt where a value is the same for all elements; negative ones count from the end.
struct VmapOptions {
  std::vector<std::optional<int>> in_axes = {0};   // one for each argument (for all leaves of a tree) or each leaf, or one for all
  std::vector<std::optional<int>> out_axes = {0};  // one for each element of a tuple that is returned or each leaf, or one for all
  // By which psum, axis_index and the other collectives of shard_map.h name the mapped axis inside: psum(x, "i") is the sum over the batch.
  std::string axis_name = "";
  std::optional<std::int64_t> axis_size = std::nullopt;  // of the batch, where no argument has it
  // Mesh axes: with_sharding_constraint and shard_map inside cut the batch by them. Without: constraints leave the batch as it lies.
  std::vector<std::string> spmd_axis_name = {};
};

template <typename F>
class Vmapped : public detail::AtLine<Vmapped<F>> {
 public:
  Vmapped(F function, VmapOptions options) : function_(std::move(function)), options_(std::move(options)) {}
  template <typename... Args>
  auto call_at(std::source_location where, const Args&... args) const {
    detail::Flattened flat(function_, where, args...);
    BatchOptions options{"f",
                         options_.in_axes,
                         options_.out_axes,
                         Where::from(where),
                         {.size = options_.axis_size.value_or(-1), .name = options_.axis_name, .mesh_axes = options_.spmd_axis_name},
                         flat.counts(),
                         flat.key_paths()};
    return flat.result(batched([&](const std::vector<Array>& leaves) { return flat(leaves); }, flat.leaves(), options));
  }

 private:
  F function_;
  VmapOptions options_;
};

// vmap(f)(xs), vmap(f, {.in_axes = {0, std::nullopt}})(xs, y), vmap(f, {.axis_name = "i"})(xs)
template <typename F>
Vmapped<F> vmap(F function, VmapOptions options = {}) {
  return Vmapped<F>(std::move(function), std::move(options));
}

namespace detail {

inline Array standard_basis(const Array& x) {
  Shape shape = x.shape();
  shape.insert(shape.begin(), x.size());
  return reshape(eye(x.size(), x.dtype()), shape);
}

// Every leaf's own directions, one after another, and nothing in the other leaves meanwhile.
template <typename T>
T basis_of_tree(const T& tree) {
  const std::vector<Array> leaves = tree::leaves(tree);
  std::vector<Array> rows;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    std::vector<Array> parts;
    for (std::size_t j = 0; j < leaves.size(); ++j) {
      Shape shape = leaves[i].shape();
      shape.insert(shape.begin(), leaves[j].size());
      parts.push_back(i == j ? standard_basis(leaves[i]) : zeros(shape, leaves[i].dtype()));
    }
    rows.push_back(parts.size() == 1 ? parts[0] : concatenate(parts));
  }
  return tree::unflatten(tree, rows);
}

// [y.size, x.shape…] as [y.shape…, x.shape…], or [y.shape…, x.size] so.
inline Array as_jacobian(const Array& rows, const Shape& y, const Shape& x) {
  Shape shape = y;
  shape.insert(shape.end(), x.begin(), x.end());
  return reshape(rows, shape);
}

// Along the argument `argnum`; the others are trees that stay as they are. Argument and result may be trees, but not both: the Jacobian has
// the tree's structure.
template <typename F, bool forward, int argnum>
class Jacobian : public AtLine<Jacobian<F, forward, argnum>> {
 public:
  explicit Jacobian(F function) : function_(std::move(function)) {}
  template <typename... Args>
  auto call_at(std::source_location where, const Args&... args) const {
    static_assert(argnum >= 0 && argnum < int(sizeof...(Args)), "argnum names an argument that the function lacks");
    const std::tuple<Args...> all(args...);
    const auto& x = std::get<std::size_t(argnum)>(all);
    using X = std::decay_t<decltype(x)>;
    auto function = [&](const X& changed) {
      std::tuple<Args...> given = all;
      std::get<std::size_t(argnum)>(given) = changed;
      return std::apply([&](const auto&... each) { return invoke_at(function_, where, each...); }, given);
    };
    using Y = std::decay_t<decltype(function(x))>;
    static_assert(std::is_same_v<X, Array> || std::is_same_v<Y, Array>, "a Jacobian is of an array, or along one");
    if constexpr (forward) {
      auto [y, push] = linearize_at(where, function, x);
      auto columns = vmap(push, {.out_axes = {-1}}).call_at(where, basis_of_tree(x));
      if constexpr (std::is_same_v<X, Array>)
        return tree::map([&](const Array& made, const Array& of) { return as_jacobian(made, of.shape(), x.shape()); }, columns, y);
      else
        return of_leaves(x, y, columns);
    } else {
      auto [y, pull] = vjp_at(where, function, x);
      auto first = [&pull = pull](const Y& cotangent) { return std::get<0>(pull(cotangent)); };
      auto rows = vmap(first).call_at(where, basis_of_tree(y));
      if constexpr (std::is_same_v<Y, Array>)
        return tree::map([&](const Array& made, const Array& along) { return as_jacobian(made, y.shape(), along.shape()); }, rows, x);
      else
        return of_leaves(y, x, moveaxis(rows, 0, -1), true);
    }
  }

 private:
  // Of directions that lie one after another along the last dimension, those of each leaf of the tree; `y_is_tree`: they are results.
  template <typename Tree>
  static Tree of_leaves(const Tree& tree, const Array& other, const Array& columns, bool y_is_tree = false) {
    std::int64_t first = 0;
    return tree::map(
        [&](const Array& leaf) {
          const Array own = slice_in_dim(columns, first, first + leaf.size(), columns.ndim() - 1);
          first += leaf.size();
          return y_is_tree ? as_jacobian(moveaxis(own, -1, 0), leaf.shape(), other.shape()) : as_jacobian(own, other.shape(), leaf.shape());
        },
        tree);
  }

  F function_;
};

}  // namespace detail

// The Jacobian along one argument, of shape y.shape + x.shape: column by column (for few inputs), or row by row (few outputs).
// jacfwd(f)(x, w), jacrev<1>(f)(x, w)
template <int argnum = 0, typename F>
auto jacfwd(F function) {
  return detail::Jacobian<F, true, argnum>(std::move(function));
}
template <int argnum = 0, typename F>
auto jacrev(F function) {
  return detail::Jacobian<F, false, argnum>(std::move(function));
}
template <int argnum = 0, typename F>
auto hessian(F function) {
  return jacfwd<argnum>(jacrev<argnum>(std::move(function)));
}

// f of every slice, so many at once: map(f, xs, {.batch_size = 16}), as jax.lax.map.
struct MapOptions {
  std::int64_t batch_size = 1;
};
template <typename F, typename Xs>
auto map(const F& function, const Xs& xs, MapOptions options, std::source_location line = std::source_location::current()) {
  const std::vector<Array> leaves = tree::leaves(xs);
  if (leaves.empty() || options.batch_size <= 0)
    throw_user_error("map at {}: it needs arrays and a batch_size of at least 1", Where::from(line).text());
  const std::int64_t size = leaves[0].shape().at(0), batches = size / options.batch_size, whole = batches * options.batch_size;
  auto each = vmap([&function, line](const Xs& x) { return detail::invoke_at(function, line, x); });
  auto rest = [&] { return each.call_at(line, tree::map([&](const Array& x) { return slice_in_dim(x, whole, size); }, xs)); };
  if (batches == 0) return rest();
  auto in_batches = [&](const Array& x) {
    Shape shape = x.shape();
    shape[0] = options.batch_size;
    shape.insert(shape.begin(), batches);
    return reshape(slice_in_dim(x, 0, whole), shape);
  };
  auto joined = tree::map(
      [&](const Array& y) {
        Shape shape(y.shape().begin() + 1, y.shape().end());
        shape[0] = whole;
        return reshape(y, shape);
      },
      map(each, tree::map(in_batches, xs), line));
  if (whole == size) return joined;
  return tree::map([](const Array& a, const Array& b) { return concatenate({a, b}); }, joined, rest());
}

}  // namespace shardlab
