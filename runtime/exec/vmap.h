// vmap: a function of one element, on a batch of them at once; and the Jacobians that are made with it.
#pragma once

#include "runtime/exec/autodiff.h"
#include "runtime/exec/ops.h"

namespace shardlab {

// One axis for each argument (for all leaves of a tree), std::nullopt where an argument is the same for all elements; a single one stands
// for all. Negative ones count from the end.
struct VmapOptions {
  std::vector<std::optional<int>> in_axes = {0};
  std::vector<std::optional<int>> out_axes = {0};  // one for each leaf of the result, or one for all
};

template <typename F>
class Vmapped : public detail::AtLine<Vmapped<F>> {
 public:
  Vmapped(F function, VmapOptions options) : function_(std::move(function)), options_(std::move(options)) {}
  template <typename... Args>
  auto call_at(std::source_location where, const Args&... args) const {
    if (options_.in_axes.size() != 1 && options_.in_axes.size() != sizeof...(Args))
      throw_user_error(
          "vmap in_axes must be an int, None, or a tuple of entries corresponding to the positional arguments passed to the function, but "
          "got len(in_axes)={}, len(args)={} [{}]",
          options_.in_axes.size(), sizeof...(Args), Where::from(where).text());
    BatchOptions options{"f", {}, options_.out_axes, Where::from(where)};
    std::size_t argument = 0;
    auto add = [&](const auto& each) {
      const auto& axis = options_.in_axes[options_.in_axes.size() == 1 ? 0 : argument++];
      options.in_axes.insert(options.in_axes.end(), tree::leaves(each).size(), axis);
    };
    (add(args), ...);
    detail::Flattened<F, Args...> flat(function_, where, args...);
    std::vector<Array> found = batched(flat.function(), flat.leaves(), options);
    return flat.result(found);
  }

 private:
  F function_;
  VmapOptions options_;
};

// vmap(f)(xs), vmap(f, {.in_axes = {0, std::nullopt}})(xs, y)
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

template <typename F, bool forward>
class Jacobian : public AtLine<Jacobian<F, forward>> {
 public:
  explicit Jacobian(F function) : function_(std::move(function)) {}
  Array call_at(std::source_location where, const Array& x) const {
    Shape shape;
    Array rows;
    if constexpr (forward) {
      auto [y, push] = linearize_at(where, function_, x);
      rows = vmap(push, {.out_axes = {-1}}).call_at(where, standard_basis(x));
      shape = y.shape();
    } else {
      auto [y, pull] = vjp_at(where, function_, x);
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

// The Jacobian of a function of one array, of shape y.shape + x.shape: column by column (for few inputs), or row by row (few outputs).
template <typename F>
auto jacfwd(F function) {
  return detail::Jacobian<F, true>(std::move(function));
}
template <typename F>
auto jacrev(F function) {
  return detail::Jacobian<F, false>(std::move(function));
}
template <typename F>
auto hessian(F function) {
  return jacfwd(jacrev(std::move(function)));
}

}  // namespace shardlab
