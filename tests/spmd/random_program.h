// A random graph on a random mesh from random specs: of shapes that do not divide, empty ones, and ops of every kind of factor.
#pragma once

#include <algorithm>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "runtime/spmd/propagate.h"
#include "tests/spmd/graphs.h"
#include "tests/spmd/simulator.h"

namespace shardlab::testing {

using namespace shardlab::spmd;
using Ints = std::vector<std::int64_t>;

// Ops with what the library's first ops do not have: two results, a factor that must be whole, a factor that is permuted.
inline FactorRule same_dims_rule(const std::vector<TensorType>& operands, const std::vector<TensorType>& results, FactorKind first) {
  FactorRule rule(operands, results);
  for (int d = 0; d < operands[0].rank(); ++d)
    rule.add(operands[0].shape[std::size_t(d)], std::vector<int>(operands.size(), d), std::vector<int>(results.size(), d),
             d == 0 ? first : FactorKind::kPass);
  return rule;
}

inline void sum_and_difference(const KernelArgs& args) {
  for (std::int64_t i = 0; i < args.results[0].type.elements(); ++i) {
    std::int32_t x = args.operands[0].as<std::int32_t>()[i], y = args.operands[1].as<std::int32_t>()[i];
    args.results[0].as<std::int32_t>()[i] = std::int32_t(std::uint32_t(x) + std::uint32_t(y));
    args.results[1].as<std::int32_t>()[i] = std::int32_t(std::uint32_t(x) - std::uint32_t(y));
  }
}

// Running sums along dimension 0.
inline void scan(const KernelArgs& args) {
  const TensorType& type = args.results[0].type;
  std::int64_t row = type.shape[0] == 0 ? 0 : type.elements() / type.shape[0];
  for (std::int64_t i = 0; i < type.elements(); ++i) {
    std::uint32_t before = i < row ? 0 : std::uint32_t(args.results[0].as<std::int32_t>()[i - row]);
    args.results[0].as<std::int32_t>()[i] = std::int32_t(before + std::uint32_t(args.operands[0].as<std::int32_t>()[i]));
  }
}

using Types = std::vector<TensorType>;
inline const OpDef kTwoResults = {
    .name = "sum_and_difference",
    .infer =
        [](const OpDef&, const Types& types, const Attrs&) {
          return Types{types[0], types[0]};
        },
    .rule = [](const Types& o, const Types& r, const Attrs&) { return same_dims_rule(o, r, FactorKind::kPass); },
    .kernel = sum_and_difference,
    .elementwise = true};
inline const OpDef kWholeScan = {
    .name = "whole_scan",
    .infer = [](const OpDef&, const Types& types, const Attrs&) { return types; },
    .rule = [](const Types& o, const Types& r, const Attrs&) { return same_dims_rule(o, r, FactorKind::kReplicate); },
    .kernel = scan};
inline const OpDef kPermutedScan = {
    .name = "permuted_scan",
    .infer = [](const OpDef&, const Types& types, const Attrs&) { return types; },
    .rule = [](const Types& o, const Types& r, const Attrs&) { return same_dims_rule(o, r, FactorKind::kPermute); },
    .kernel = scan};

class RandomProgram {
 public:
  explicit RandomProgram(unsigned seed) : random_(seed), mesh_(random_mesh()) {}

  void make() {
    int params = 1 + below(3), nodes = below(10);
    for (int i = 0; i < params; ++i) pool_.push_back(build_.param(random_shape(), DType::kInt32));
    for (int i = 0; i < nodes; ++i) add_node();
    std::vector<ValueId> results;
    for (int i = 0, count = 1 + below(3); i < count; ++i) results.push_back(pick());
    results.push_back(pool_.back());
    graph_ = build_.finish(results);
    input_ = {&graph_, mesh_, {}, {}};
    for (ValueId id : graph_.params) input_.params.push_back(below(5) == 0 ? std::optional<Spec>() : random_spec(graph_.type(id).shape));
    if (below(3) == 0)
      for (ValueId id : graph_.results)
        input_.results.push_back(below(2) == 0 ? std::optional<Spec>() : random_spec(graph_.type(id).shape));
  }

  const Graph& graph() const { return graph_; }
  const PropagationInput& input() const { return input_; }

  std::vector<Bytes> data() {
    std::vector<Bytes> params;
    for (ValueId id : graph_.params) params.push_back(random_int32(graph_.type(id).shape, unsigned(random_())));
    return params;
  }

 private:
  int below(int limit) { return int(random_() % unsigned(limit)); }
  ValueId pick() { return pool_[std::size_t(below(int(pool_.size())))]; }
  Shape shape(ValueId id) const { return build_.b.shape(id); }

  Mesh random_mesh() {
    constexpr std::int64_t kSizes[] = {1, 2, 2, 3, 4, 4, 7, 8};
    Shape shape;
    for (int i = 0, axes = 1 + below(3); i < axes; ++i) {
      std::int64_t size = kSizes[below(8)];
      if (element_count(shape) * size <= 24) shape.push_back(size);
    }
    std::vector<int> devices(std::size_t(element_count(shape)));
    std::iota(devices.begin(), devices.end(), 0);
    std::shuffle(devices.begin(), devices.end(), random_);
    return mesh_of(shape, devices);
  }

  Shape random_shape() {
    constexpr std::int64_t kSizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 8, 10, 12, 16, 24};
    Shape shape;
    for (int i = 0, rank = below(4); i < rank; ++i) shape.push_back(kSizes[below(13)]);
    if (below(40) == 0 && !shape.empty()) shape[0] = 0;
    return shape;
  }

  // Each axis at most once.
  Spec random_spec(const Shape& shape, bool may_be_uneven = false) {
    Spec spec(shape.size());
    if (shape.empty()) return spec;
    std::vector<int> axes(std::size_t(mesh_.axis_count()));
    std::iota(axes.begin(), axes.end(), 0);
    std::shuffle(axes.begin(), axes.end(), random_);
    for (int axis : axes) {
      if (below(4) == 0) continue;
      std::size_t d = std::size_t(below(int(shape.size())));
      spec[d].push_back(mesh_.whole_axis(axis));
      if (!may_be_uneven && !is_even(shape, spec)) spec[d].pop_back();
    }
    return spec;
  }

  void add_node() {
    ValueId x = pick();
    switch (below(17)) {
      case 0:
        pool_.push_back(build_.op("neg", {x}));
        break;
      case 1:
        pool_.push_back(build_.op("mul", {x, x}));
        break;
      case 2:
        pool_.push_back(build_.op("add", {x, Scalar{std::int64_t(3)}}));
        break;
      case 3:
        add_binary(x);
        break;
      case 4:
        add_reduction(x);
        break;
      case 5:
        add_transpose(x);
        break;
      case 6:
        add_reshape(x);
        break;
      case 7:
        add_matmul(x);
        break;
      case 8:
        add_broadcast(x);
        break;
      case 9:
        add_constraint(x);
        break;
      case 10:
        add_special(x);
        break;
      case 11:
        add_constant(x);
        break;
      case 12:
        add_slice(x);
        break;
      case 13:
        add_concatenation(x);
        break;
      case 14:
        add_pad(x);
        break;
      case 15:
        add_roll(x);
        break;
      case 16:
        add_flip_or_scan(x);
        break;
    }
  }

  void add_binary(ValueId x) {
    std::vector<ValueId> fitting;
    for (ValueId id : pool_)
      if (shape(id) == shape(x) || shape(id).empty()) fitting.push_back(id);
    ValueId y = fitting[std::size_t(below(int(fitting.size())))];
    constexpr const char* kOps[] = {"add", "sub", "mul", "maximum"};
    pool_.push_back(build_.op(kOps[below(4)], {x, y}));
  }

  void add_reduction(ValueId x) {
    Ints axes;
    for (std::size_t d = 0; d < shape(x).size(); ++d)
      if (below(2) == 0) axes.push_back(std::int64_t(d));
    constexpr const char* kOps[] = {"sum", "max", "min", "prod"};
    bool is_empty = element_count(shape(x)) == 0;  // max and min have no identity
    pool_.push_back(build_.op(is_empty ? "sum" : kOps[below(4)], {x}, Attrs{{"axis", axes}}));
  }

  void add_transpose(ValueId x) {
    Ints axes(shape(x).size());
    std::iota(axes.begin(), axes.end(), 0);
    std::shuffle(axes.begin(), axes.end(), random_);
    pool_.push_back(build_.op("transpose", {x}, Attrs{{"axes", axes}}));
  }

  // Deals the prime factors of the size out to new dimensions.
  void add_reshape(ValueId x) {
    std::int64_t left = element_count(shape(x));
    if (left == 0) return;
    Ints dims(std::size_t(1 + below(3)), 1);
    for (std::int64_t prime : {2, 3, 5})
      for (; left % prime == 0; left /= prime) dims[std::size_t(below(int(dims.size())))] *= prime;
    dims[0] *= left;
    pool_.push_back(build_.op("reshape", {x}, Attrs{{"shape", dims}}));
  }

  void add_matmul(ValueId x) {
    if (shape(x).size() != 2) return;
    for (ValueId y : pool_) {
      if (shape(y).size() != 2 || shape(y)[0] != shape(x)[1]) continue;
      pool_.push_back(build_.op("matmul", {x, y}));
      return;
    }
    pool_.push_back(build_.op("matmul", {x, build_.op("transpose", {x})}));
  }

  void add_broadcast(ValueId x) {
    Ints dims = shape(x);
    for (std::int64_t& size : dims)
      if (size == 1 && below(2) == 0) size = 4;
    if (dims.size() < 3) dims.insert(dims.begin(), std::int64_t(2 + below(5)));
    pool_.push_back(build_.op("broadcast_to", {x}, Attrs{{"shape", dims}}));
  }

  void add_constraint(ValueId x) {
    pool_.push_back(build_.op("with_sharding_constraint", {x}, Attrs{{"sharding", Sharding(mesh_, random_spec(shape(x), below(2) == 0))}}));
  }

  void add_special(ValueId x) {
    if (shape(x).empty()) return;
    switch (below(3)) {
      case 0:
        for (ValueId id : build_.b.emit(kTwoResults, {x, x})) pool_.push_back(id);
        break;
      case 1:
        pool_.push_back(build_.b.emit1(kWholeScan, {x}));
        break;
      case 2:
        pool_.push_back(build_.b.emit1(kPermutedScan, {x}));
        break;
    }
  }

  int some_dim(ValueId x) { return below(int(shape(x).size())); }

  void add_slice(ValueId x) {
    Shape sizes = shape(x);
    Ints start(sizes.size(), 0), limit = sizes, stride(sizes.size(), 1);
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      if (below(2) == 0 || sizes[d] == 0) continue;
      start[d] = below(int(sizes[d]));
      limit[d] = start[d] + 1 + below(int(sizes[d] - start[d]));
      stride[d] = 1 + below(3);
    }
    pool_.push_back(build_.op("slice", {x}, Attrs{{"start", start}, {"limit", limit}, {"stride", stride}}));
  }

  void add_concatenation(ValueId x) {
    if (shape(x).empty()) return;
    std::vector<Arg> parts{x};
    for (ValueId id : pool_)
      if (shape(id) == shape(x) && parts.size() < 3) parts.emplace_back(id);
    pool_.push_back(build_.op("concatenate", parts, Attrs{{"axis", std::int64_t(some_dim(x))}}));
  }

  void add_pad(ValueId x) {
    Ints padding;
    for (std::int64_t size : shape(x)) {
      Ints dim{below(4), below(4), below(3) == 0 ? 1 : 0};
      if (below(3) == 0 && size > 2) dim[0] = -1;
      padding.insert(padding.end(), dim.begin(), dim.end());
    }
    if (padding.empty()) return;
    pool_.push_back(build_.op("pad", {x, Scalar{std::int64_t(7)}}, Attrs{{"padding", padding}}));
  }

  void add_roll(ValueId x) {
    if (shape(x).empty() || element_count(shape(x)) == 0) return;
    pool_.push_back(build_.op("roll", {x}, Attrs{{"shift", std::int64_t(below(9) - 4)}, {"axis", std::int64_t(some_dim(x))}}));
  }

  void add_flip_or_scan(ValueId x) {
    if (shape(x).empty()) return;
    constexpr const char* kOps[] = {"flip", "cumsum", "sort"};
    pool_.push_back(build_.op(kOps[below(3)], {x}, Attrs{{"axis", std::int64_t(some_dim(x))}}));
  }

  void add_constant(ValueId x) {
    ValueId c = build_.op("arange", {Scalar{element_count(shape(x))}}, Attrs{{"dtype", DType::kInt32}});
    pool_.push_back(build_.op("add", {x, build_.op("reshape", {c}, Attrs{{"shape", Ints(shape(x))}})}));
  }

  std::mt19937 random_;
  Mesh mesh_;
  Build build_;
  std::vector<ValueId> pool_;
  Graph graph_;
  PropagationInput input_;
};

}  // namespace shardlab::testing
