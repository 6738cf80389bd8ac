// What a function gives, without computing it: shapes and dtypes, its graph as text; and the transpose of a linear one.
#pragma once

#include "runtime/exec/autodiff.h"
#include "runtime/exec/jit.h"

namespace shardlab {

// An array that is a shape and a dtype alone: an argument for eval_shape, make_jaxpr, linear_transpose and jit(f).lower. Reading it is a
// UserError.
Array ShapeDtypeStruct(const Shape& shape, DType dtype, std::source_location where = std::source_location::current());

// --- On flat lists of arrays.

// The results have shapes and dtypes alone.
std::vector<Array> eval_shape_of(const ArrayFunction& function, const std::vector<Array>& args, Where where);
// From cotangents of the results to those of the arguments, whose values do not count. UserError where the function is not linear.
ArrayFunction linear_transpose_of(const ArrayFunction& function, const std::vector<Array>& args, Where where);

namespace detail {

template <typename F>
class ShapesOf : public AtLine<ShapesOf<F>> {
 public:
  explicit ShapesOf(F function) : function_(std::move(function)) {}
  template <typename... Args>
  auto call_at(std::source_location where, const Args&... args) const {
    Flattened flat(function_, where, args...);
    return flat.result(eval_shape_of(flat.function(), flat.leaves(), Where::from(where)));
  }

 private:
  F function_;
};
template <typename F>
class GraphText : public AtLine<GraphText<F>> {
 public:
  explicit GraphText(F function) : function_(std::move(function)) {}
  template <typename... Args>
  std::string call_at(std::source_location where, const Args&... args) const {
    return jit(function_, {}, where).lower(args...).as_text();
  }

 private:
  F function_;
};
template <typename F>
class Transposing : public AtLine<Transposing<F>> {
 public:
  explicit Transposing(F function) : function_(std::move(function)) {}
  template <typename... Args>
  auto call_at(std::source_location where, const Args&... args) const {
    Flattened flat(function_, where, args...);
    ArrayFunction pull = linear_transpose_of(flat.function(), flat.leaves(), Where::from(where));
    using Result = ResultOf<F, Args...>;
    return [pull = std::move(pull), like = flat.args()](const Result& cotangents) {
      return tree::unflatten(like, pull(tree::leaves(cotangents)));
    };
  }

 private:
  F function_;
};

}  // namespace detail

// eval_shape(f)(x, y): f's result with shapes and dtypes alone; nothing is computed. JAX: eval_shape(f, x, y).
template <typename F>
auto eval_shape(F function) {
  return detail::ShapesOf<F>(std::move(function));
}
// make_jaxpr(f)(x): the graph of f as text.
template <typename F>
auto make_jaxpr(F function) {
  return detail::GraphText<F>(std::move(function));
}
// linear_transpose(f)(x): the function from the cotangent of f's result to the tuple of its arguments' cotangents. JAX:
// linear_transpose(f, x).
template <typename F>
auto linear_transpose(F function) {
  return detail::Transposing<F>(std::move(function));
}

}  // namespace shardlab
