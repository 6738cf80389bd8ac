// vmap: a function of one element, on a batch of them at once; and the Jacobians that are made with it.
#pragma once

#include "runtime/exec/autodiff.h"
#include "runtime/exec/ops.h"

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
    detail::Flattened<F, Args...> flat(function_, where, args...);
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

// Along the argument `argnum`, an array; the others are trees that stay as they are.
template <typename F, bool forward, int argnum>
class Jacobian : public AtLine<Jacobian<F, forward, argnum>> {
 public:
  explicit Jacobian(F function) : function_(std::move(function)) {}
  template <typename... Args>
  Array call_at(std::source_location where, const Args&... args) const {
    static_assert(argnum >= 0 && argnum < int(sizeof...(Args)), "argnum names an argument that the function lacks");
    const std::tuple<Args...> all(args...);
    const Array& x = std::get<std::size_t(argnum)>(all);
    auto function = [&](const Array& changed) {
      std::tuple<Args...> given = all;
      std::get<std::size_t(argnum)>(given) = changed;
      return std::apply([&](const auto&... each) { return invoke_at(function_, where, each...); }, given);
    };
    Shape shape;
    Array rows;
    if constexpr (forward) {
      auto [y, push] = linearize_at(where, function, x);
      rows = vmap(push, {.out_axes = {-1}}).call_at(where, standard_basis(x));
      shape = y.shape();
    } else {
      auto [y, pull] = vjp_at(where, function, x);
      auto first = [&pull = pull](const Array& cotangent) { return std::get<0>(pull(cotangent)); };
      rows = vmap(first).call_at(where, standard_basis(y));
      shape = y.shape();
    }
    shape.insert(shape.end(), x.shape().begin(), x.shape().end());
    return reshape(rows, shape);
  }

 private:
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

}  // namespace shardlab
