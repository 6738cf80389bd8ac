// auto_axes and explicit_axes: functions in which the partitioner chooses shardings though the mesh's axes are Explicit, and the reverse.
#pragma once

#include "runtime/exec/autodiff.h"

namespace shardlab {

struct AutoAxesOptions {
  std::vector<PartitionSpec> out_sharding;  // of each leaf of the result, or one for all
  std::vector<std::string> axes = {};       // all Explicit ones
};
struct ExplicitAxesOptions {
  std::vector<PartitionSpec> in_sharding;  // of each leaf of the arguments, or one for all
  std::vector<std::string> axes = {};      // all Auto ones
};

// On flat lists of arrays. Specs are on the mesh of the function being traced, or the context mesh. UserError with JAX's texts where specs
// or a mesh are missing.
std::vector<Array> auto_axes(const ArrayFunction& function, const AutoAxesOptions& options, const std::vector<Array>& args, Where where);
std::vector<Array> explicit_axes(const ArrayFunction& function, const ExplicitAxesOptions& options, const std::vector<Array>& args,
                                 Where where);

namespace detail {
template <typename F, typename Options, std::vector<Array> (*run)(const ArrayFunction&, const Options&, const std::vector<Array>&, Where)>
class WithAxes : public AtLine<WithAxes<F, Options, run>> {
 public:
  WithAxes(F function, Options options) : function_(std::move(function)), options_(std::move(options)) {}
  template <typename... Args>
  auto call_at(std::source_location where, const Args&... args) const {
    Flattened flat(function_, where, args...);
    return flat.result(run(flat.function(), options_, flat.leaves(), Where::from(where)));
  }

 private:
  F function_;
  Options options_;
};
}  // namespace detail

// auto_axes(f, {.out_sharding = {P("x", nullptr)}})(args…): inside f no sharding is in a type, its results lie as asked.
template <typename F>
auto auto_axes(F function, AutoAxesOptions options = {}) {
  return detail::WithAxes<F, AutoAxesOptions, &auto_axes>(std::move(function), std::move(options));
}
// explicit_axes(f, {.in_sharding = {P("x")}})(args…): the arguments lie as asked, and inside f every sharding follows from the operands'.
template <typename F>
auto explicit_axes(F function, ExplicitAxesOptions options = {}) {
  return detail::WithAxes<F, ExplicitAxesOptions, &explicit_axes>(std::move(function), std::move(options));
}

}  // namespace shardlab
