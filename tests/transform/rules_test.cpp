// Generated from the registry: of every op and sample the derivative against differences, the transpose against the derivative, and a
// batch against a loop.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "runtime/ops/derive.h"
#include "runtime/ops/lower.h"
#include "runtime/ops/primitives.h"
#include "runtime/transform/batch.h"
#include "runtime/transform/grad.h"
#include "runtime/transform/inline.h"
#include "tests/ops/evaluate.h"

namespace shardlab {
namespace {

using namespace testing_ops;

constexpr std::int64_t kElementsMax = 64;  // larger samples run the same rules
constexpr std::int64_t kBatch = 3;

Graph graph_of_sample(const OpDef& op, const Sample& sample) {
  GraphBuilder b;
  std::vector<ValueId> params;
  for (const TensorType& type : sample.operands) params.push_back(b.param(type));
  b.set_place({}, std::string(op.name));
  b.set_results(b.emit(op, params, sample.attrs));
  return b.finish();
}

// Differences of 16-bit floats say nothing.
bool is_small(const Graph& graph) {
  for (const Value& value : graph.values)
    if (value.type.elements() > kElementsMax || is_half(value.type.dtype)) return false;
  return true;
}

bool varies(const Graph& graph) {
  auto any = [&](const std::vector<ValueId>& ids) {
    return std::any_of(ids.begin(), ids.end(), [&](ValueId id) { return is_inexact(graph.type(id).dtype); });
  };
  return any(graph.params) && any(graph.results);
}

template <typename F>
Tensor filled_tensor(const TensorType& type, F&& element) {
  auto buffer = std::make_shared<Buffer>(std::size_t(type.bytes()));
  visit_dtype(type.dtype, [&](auto zero) {
    using T = decltype(zero);
    for (std::int64_t i = 0; i < type.elements(); ++i) { buffer->as<T>()[i] = element_from<T>(std::complex<double>(element(i))); }
  });
  return {type, buffer};
}

// Elements apart from each other and from 0, so that differences meet no kink; in an interval where the op is defined.
struct Range {
  double low, high;
  bool both_signs;
};
// `operand`: the elements of several operands at one place are apart too.
Tensor point(const TensorType& type, Range range, std::size_t operand, unsigned seed, std::mt19937& random) {
  if (!is_inexact(type.dtype)) return random_tensor(type, random);
  std::vector<int> places(static_cast<std::size_t>(type.elements()));
  std::iota(places.begin(), places.end(), 0);
  std::mt19937 of_sample(seed);
  std::shuffle(places.begin(), places.end(), of_sample);
  for (int& place : places) place = (place + int(operand * places.size() / 3)) % int(places.size());
  return filled_tensor(type, [&](std::int64_t i) -> std::complex<double> {
    double at = range.low + (range.high - range.low) * (places[std::size_t(i)] + 0.25 * double(operand % 3)) / double(places.size());
    double sign = range.both_signs && places[std::size_t(i)] % 2 == 1 ? -1 : 1;
    return {sign * at, 0.7 * at - 0.1};
  });
}
Tensor direction(const TensorType& type, std::mt19937& random) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  return filled_tensor(type, [&](std::int64_t) -> std::complex<double> { return {uniform(random), uniform(random)}; });
}
Tensor moved(const Tensor& x, const Tensor& along, double step) {
  std::vector<std::complex<double>> at = numbers(x), by = numbers(along);
  return filled_tensor(x.type, [&](std::int64_t i) { return at[std::size_t(i)] + step * by[std::size_t(i)]; });
}

// Where clamp's limits cross, JAX's derivative is not that of differences.
void order_limits(Tensor& low, Tensor& high) {
  std::vector<std::complex<double>> lows = numbers(low), highs = numbers(high);
  if (lows.size() != highs.size()) return;
  for (std::size_t i = 0; i < lows.size(); ++i)
    if (highs[i].real() < lows[i].real()) std::swap(lows[i], highs[i]);
  low = filled_tensor(low.type, [&](std::int64_t i) { return lows[std::size_t(i)]; });
  high = filled_tensor(high.type, [&](std::int64_t i) { return highs[std::size_t(i)]; });
}

bool all_finite(const std::vector<Tensor>& tensors) {
  for (const Tensor& tensor : tensors)
    for (std::complex<double> value : numbers(tensor))
      if (!std::isfinite(value.real()) || !std::isfinite(value.imag())) return false;
  return true;
}

// The real part of the sum of products, over inexact tensors.
double pairing(const std::vector<Tensor>& x, const std::vector<Tensor>& y) {
  std::complex<double> sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::vector<std::complex<double>> a = numbers(x[i]), b = numbers(y[i]);
    for (std::size_t j = 0; j < a.size(); ++j) sum += a[j] * b[j];
  }
  return sum.real();
}

// What is checked of one sample.
struct Case {
  Graph graph;
  std::vector<bool> active;
  std::vector<Tensor> at, along;  // parameters, and directions of the active ones
  bool found = false;

  Case(const OpDef& op, Graph g, std::mt19937& random) : graph(std::move(g)) {
    // There are derivatives by the last operand alone, or by the first, as in JAX.
    const bool by_last = op.name == "regularized_incomplete_beta" || op.name == "expn", by_first = op.name == "scatter_mul";
    const bool rounds = op.name == "round_to_precision";          // tangents, too
    const bool is_counted = op.name == "random_gamma_grad_by_a";  // by its first operand
    for (ValueId id : graph.params)
      active.push_back(is_inexact(graph.type(id).dtype) && !rounds && (!by_last || id == graph.params.back()) &&
                       (!by_first || id == graph.params.front()) && (!is_counted || id != graph.params.front()));
    unsigned seed = unsigned(random());
    for (Range range : {Range{0.25, 0.9, true}, Range{0.25, 0.9, false}, Range{1.2, 1.9, false}}) {
      at.clear();
      for (ValueId id : graph.params) at.push_back(point(graph.type(id), range, at.size(), seed, random));
      if (op.name == "clamp" && is_inexact(at[0].type.dtype)) order_limits(at[0], at[2]);
      if (is_counted) at[0] = run(*find_op("ceil"), {at[0]}, {})[0];
      if (found = all_finite(run(graph, at)); found) break;
    }
    for (std::size_t i = 0; i < active.size(); ++i)
      if (active[i]) along.push_back(direction(graph.type(graph.params[i]), random));
  }
  std::vector<Tensor> floating_results(const std::vector<Tensor>& results) const {
    std::vector<Tensor> kept;
    for (const Tensor& result : results)
      if (is_inexact(result.type.dtype)) kept.push_back(result);
    return kept;
  }
  std::vector<Tensor> at_distance(double step) const {
    std::vector<Tensor> params = at;
    std::size_t next = 0;
    for (std::size_t i = 0; i < params.size(); ++i)
      if (active[i]) params[i] = moved(params[i], along[next++], step);
    return floating_results(run(graph, params));
  }
  std::vector<Tensor> tangents() const {
    std::vector<Tensor> params = at;
    params.insert(params.end(), along.begin(), along.end());
    std::vector<Tensor> results = run(transform::jvp(graph, active), params);
    return {results.begin() + std::ptrdiff_t(graph.results.size()), results.end()};
  }
  // Zeros in place of some elements of the results: a transpose may look at how its cotangents were made, but must not take the user's
  // choices for its own.
  void mask_results(std::mt19937& random) {
    GraphBuilder b;
    std::vector<ValueId> params;
    for (ValueId id : graph.params) params.push_back(b.param(graph.type(id)));
    std::vector<ValueId> results = transform::emit_graph(b, graph, params);
    for (ValueId& result : results) {
      const TensorType type = b.type(result);
      if (!is_inexact(type.dtype)) continue;
      const TensorType mask{DType::kBool, type.shape};
      result = b.emit1(ops::kSelect, {b.param(mask), result, ops::filled(b, type, 0.0)});
      at.push_back(random_tensor(mask, random));
      active.push_back(false);
    }
    b.set_results(results);
    graph = b.finish();
  }
};

// Central differences of fourth order.
void check_derivative(const Case& c, const std::string& what) {
  const double h = 1.0 / 256;
  std::vector<Tensor> tangents = c.tangents();
  std::vector<Tensor> f1 = c.at_distance(h), b1 = c.at_distance(-h), f2 = c.at_distance(2 * h), b2 = c.at_distance(-2 * h);
  ASSERT_EQ(tangents.size(), f1.size()) << what;
  for (std::size_t r = 0; r < f1.size(); ++r) {
    auto x1 = numbers(f1[r]), y1 = numbers(b1[r]), x2 = numbers(f2[r]), y2 = numbers(b2[r]), got = numbers(tangents[r]);
    for (std::size_t i = 0; i < got.size(); ++i) {
      std::complex<double> wanted = (8.0 * (x1[i] - y1[i]) - (x2[i] - y2[i])) / (12 * h);
      // Where slopes over one and two steps differ, a step (of floor, of rem) lies between.
      std::complex<double> slope = (x1[i] - y1[i]) / (2 * h), wide = (x2[i] - y2[i]) / (4 * h);
      if (std::abs(slope - wide) > 0.05 * (1 + std::abs(slope))) continue;
      double tolerance = 2e-3 * (1 + std::abs(wanted)) + 1e-4 * std::abs(x1[i]);
      EXPECT_LE(std::abs(got[i] - wanted), tolerance)
          << what << "\nresult " << r << " element " << i << ": got " << got[i] << ", differences give " << wanted;
    }
  }
}

void check_transpose(const Case& c, std::mt19937& random, const std::string& what) {
  std::vector<Tensor> tangents = c.tangents(), cotangents;
  for (const Tensor& tangent : tangents) cotangents.push_back(direction(tangent.type, random));
  std::vector<Tensor> params = c.at;
  params.insert(params.end(), cotangents.begin(), cotangents.end());
  std::vector<Tensor> results = run(transform::vjp(c.graph, c.active), params);
  std::vector<Tensor> gradients(results.begin() + std::ptrdiff_t(c.graph.results.size()), results.end());
  double forward = pairing(cotangents, tangents), backward = pairing(gradients, c.along);
  EXPECT_NEAR(forward, backward, 1e-4 * (10 + std::abs(forward))) << what;
}

Tensor stacked(const std::vector<Tensor>& elements, int dim) {
  TensorType type = elements[0].type;
  type.shape.insert(type.shape.begin() + dim, std::int64_t(elements.size()));
  auto buffer = std::make_shared<Buffer>(std::size_t(type.bytes()));
  for (std::size_t i = 0; i < elements.size(); ++i) {
    Box box = whole(type.shape);
    box[std::size_t(dim)] = {std::int64_t(i), std::int64_t(i) + 1};
    copy_box(elements[i].data->data(), box, buffer->data(), whole(type.shape), box, size_of(type.dtype));
  }
  return {type, buffer};
}

// Every choice of batched operands in turn, with the batch as the first or the last dimension.
void check_batch(const Graph& graph, std::mt19937& random, const std::string& what) {
  for (unsigned choice = 1; choice < (1u << std::min<std::size_t>(graph.params.size(), 3)); ++choice) {
    for (bool last : {false, true}) {
      std::vector<int> in_dims, out_dims;
      std::vector<std::vector<Tensor>> elements(kBatch);
      std::vector<Tensor> params;
      for (std::size_t i = 0; i < graph.params.size(); ++i) {
        const TensorType& type = graph.type(graph.params[i]);
        bool batched = (choice >> std::min<std::size_t>(i, 2)) & 1;
        // Operands lie in turn on the first and the last dimension.
        in_dims.push_back(!batched ? kNotBatched : last != (i % 2 == 1) ? type.rank() : 0);
        Tensor same = random_tensor(type, random);
        for (auto& element : elements) element.push_back(batched ? random_tensor(type, random) : same);
        if (!batched) {
          params.push_back(same);
          continue;
        }
        std::vector<Tensor> of_operand;
        for (auto& element : elements) of_operand.push_back(element.back());
        params.push_back(stacked(of_operand, in_dims.back()));
      }
      for (ValueId id : graph.results) out_dims.push_back(last ? graph.type(id).rank() : 0);
      std::vector<Tensor> got = run(transform::batch(graph, in_dims, out_dims, {kBatch}), params);
      for (std::size_t r = 0; r < got.size(); ++r) {
        std::vector<Tensor> wanted;
        for (const auto& element : elements) wanted.push_back(run(graph, element)[r]);
        expect_near(got[r], stacked(wanted, out_dims[r]), 1e-5, fmt::format("{} batched {:b} {}", what, choice, last ? "last" : "first"));
      }
    }
  }
}

// Of each sample its own, so that a new op leaves the others' points where they are.
std::mt19937 random_of(const std::string& what, unsigned seed) {
  for (char letter : what) seed = seed * 16777619u ^ unsigned(static_cast<unsigned char>(letter));
  return std::mt19937(seed);
}

template <typename F>
void for_each_sample(F&& check) {
  for (const OpDef* op : all_ops()) {
    if (!op->is_primitive() || op->samples == nullptr || op->constant) continue;
    for (const Sample& sample : op->samples()) {
      Graph graph = graph_of_sample(*op, sample);
      if (is_small(graph)) check(*op, graph, describe(*op, sample));
    }
  }
}

TEST(Rules, EveryOpThatVariesHasADerivative) {
  for_each_sample([&](const OpDef& op, const Graph& graph, const std::string& what) {
    // JAX has none.
    if (op.name == "nextafter" || op.name == "igamma_grad_a" || op.name == "schur" || op.name.starts_with("hyp1f1_grad") ||
        op.name.starts_with("hyp2f1_grad"))
      return;
    EXPECT_TRUE(op.jvp != nullptr || !varies(graph)) << what;
  });
}

TEST(Rules, EveryOpHasABatchRule) {
  for (const OpDef* op : all_ops()) {
    if (op->region != RegionKind::kNone) continue;  // bodies are refused
    bool needs_one = op->is_primitive() && !op->constant && (!op->elementwise || op->is_constraint);
    EXPECT_TRUE(op->batch != nullptr || !needs_one) << op->name;
  }
}

// Vectors beside those of the singular values can be any: JAX has no derivative of them, and the rule says so.
bool is_full_svd(const OpDef& op, const Graph& graph) {
  if (op.name != "svd" || graph.results.size() != 3) return false;
  return graph.type(graph.results[1]).shape.back() != graph.type(graph.results[2]).shape[graph.type(graph.results[2]).shape.size() - 2];
}

// Of complex numbers JAX compares none (ge does not accept them), and the rule says so.
bool is_greatest_complex_number(const OpDef& op, const Graph& graph) {
  if (op.name != "reduce_window" || !is_complex(graph.type(graph.params[0]).dtype)) return false;
  const std::string& reducer = graph.nodes[0].attrs.string("reducer");
  return reducer == "max" || reducer == "min";
}
bool has_derivative(const OpDef& op, const Graph& graph) {
  return varies(graph) && op.jvp != nullptr && !is_full_svd(op, graph) && !is_greatest_complex_number(op, graph);
}

TEST(Rules, DerivativesAreThoseOfDifferences) {
  for_each_sample([&](const OpDef& op, const Graph& graph, const std::string& what) {
    std::mt19937 random = random_of(what, 1);
    if (!has_derivative(op, graph)) return;
    if (op.name == "stop_gradient" || op.name == "enter_auto_axes") return;  // constant to derivatives, which is its purpose
    if (op.name == "random_gamma") return;  // a sample's share of the distribution stays, whatever was drawn and refused
    if (op.name == "sign" && is_complex(graph.type(graph.params[0]).dtype)) return;  // zero for complex numbers too, as JAX has it
    Case c(op, graph, random);
    if (c.found) check_derivative(c, what);
  });
}

TEST(Rules, TransposesAgreeWithDerivatives) {
  for_each_sample([&](const OpDef& op, const Graph& graph, const std::string& what) {
    std::mt19937 random = random_of(what, 2);
    if (!has_derivative(op, graph)) return;
    Case c(op, graph, random);
    if (!c.found) return;
    check_transpose(c, random, what);
    c.mask_results(random);
    check_transpose(c, random, what + " behind a mask");
  });
}

TEST(Rules, BatchesAreLoops) {
  for_each_sample([&](const OpDef& op, const Graph& graph, const std::string& what) {
    std::mt19937 random = random_of(what, 3);
    if (op.batch == nullptr && (!op.elementwise || op.is_constraint)) return;
    check_batch(graph, random, what);
  });
}

}  // namespace
}  // namespace shardlab
