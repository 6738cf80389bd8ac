// custom_partitioning: functions whose sharding their user says.
#pragma once

#include <map>

#include "runtime/exec/shard_map.h"

namespace shardlab {

// An argument or a result as the partition callback sees it: the whole array's type, and the sharding that it has around the function.
struct ShardedType {
  TensorType type;
  Sharding sharding;
};

// What every device runs, on tiles of the arguments cut by arg_shardings; its results are tiles by result_shardings. Collectives over
// the mesh's axes may stand in it.
struct PartitionedFunction {
  ArrayFunction function;
  std::vector<Sharding> result_shardings, arg_shardings;
};
using PartitionFunction =
    std::function<PartitionedFunction(const Mesh& mesh, const std::vector<ShardedType>& args, const std::vector<ShardedType>& results)>;

struct CustomPartitioningOptions {
  // How the dimensions of operands and results share factors: "i j, j k -> i k"; see runtime/ops/partition_rule.h. Propagation passes
  // by it.
  std::string sharding_rule = {};
  // Called once the shardings around the function are known; not on one device, nor inside shard_map. Empty: the function itself runs on
  // tiles, cut as the rule allows, and its results are summed over the axes on reduction_factors.
  PartitionFunction partition = {};
  std::vector<std::string> reduction_factors = {}, need_replication_factors = {}, permutation_factors = {};
  std::map<std::string, std::int64_t> factor_sizes = {};  // of factors that are never a whole dimension
  std::string name = "f";
};

// Calls the function as one node: operands are resharded to arg_shardings, every device runs its function on its tiles, and results are
// resharded to what their users need. UserError with JAX's texts: errors of the rule (at the call), shardings that do not divide, results
// that are no tiles.
//
// `identity` tells this function and these options from others, so that outside jit the program is made once; -1: it is made anew.
std::vector<Array> custom_partitioning(const ArrayFunction& function, const CustomPartitioningOptions& options,
                                       const std::vector<Array>& args, Where where, std::int64_t identity = -1);
std::int64_t next_custom_identity();

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

template <typename F>
class CustomPartitioned : public detail::AtLine<CustomPartitioned<F>> {
 public:
  CustomPartitioned(F function, CustomPartitioningOptions options) : function_(std::move(function)), options_(std::move(options)) {}
  template <typename... Args>
  auto call_at(std::source_location where, const Args&... args) const {
    return detail::call_on<F, Args...>(
        function_, [&](const ArrayFunction& f) { return custom_partitioning(f, options_, {args...}, Where::from(where), identity_); });
  }

 private:
  F function_;
  CustomPartitioningOptions options_;
  std::int64_t identity_ = next_custom_identity();
};

// auto fft_z = custom_partitioning([](const Array& x) { return fft::fft(x); }, {.sharding_rule = "i j k -> i j k", .partition = …});
template <typename F>
CustomPartitioned<F> custom_partitioning(F function, CustomPartitioningOptions options) {
  return CustomPartitioned<F>(std::move(function), std::move(options));
}

}  // namespace shardlab
