// What reverse mode keeps of a function for its backward pass: print_saved_residuals, as jax.ad_checkpoint has it.
#pragma once

#include <string>
#include <vector>

#include "runtime/exec/autodiff.h"

namespace shardlab {

// One line a value that is kept: "f32[4,3] output of sin from model.cpp:12", "f32[2,3] from the argument [1]['w']", "f32[3] from a
// constant", "f32[4,3] named 'mid' from model.cpp:14".
std::vector<std::string> saved_residuals_of(const ArrayFunction& function, const std::vector<Array>& args, const KeyPaths& paths,
                                            Where where);
void print_lines(const std::vector<std::string>& lines);

namespace detail {

template <typename F>
class SavedResiduals : public AtLine<SavedResiduals<F>> {
 public:
  SavedResiduals(F function, bool prints) : function_(std::move(function)), prints_(prints) {}
  template <typename... Args>
  std::vector<std::string> call_at(std::source_location where, const Args&... args) const {
    Flattened flat(function_, where, args...);
    const auto lines = saved_residuals_of(flat.function(), flat.leaves(), flat.key_paths(), Where::from(where));
    if (prints_) print_lines(lines);
    return lines;
  }

 private:
  F function_;
  bool prints_;
};

}  // namespace detail

// saved_residuals(f)(x, w): those lines. JAX's print_saved_residuals(f, x, w) is print_saved_residuals(f)(x, w).
template <typename F>
auto saved_residuals(F function) {
  return detail::SavedResiduals<F>(std::move(function), false);
}
template <typename F>
auto print_saved_residuals(F function) {
  return detail::SavedResiduals<F>(std::move(function), true);
}

}  // namespace shardlab
