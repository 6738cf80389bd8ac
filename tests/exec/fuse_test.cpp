// Broadcasts inside fused steps: repeated rows, columns and middles, cut evenly and unevenly, in every width of elements. Reductions
// along rows inside them, and what belongs into one step.
#include "runtime/exec/fuse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/exec/context.h"
#include "runtime/exec/device_mesh.h"
#include "runtime/exec/executable.h"
#include "runtime/exec/jit.h"
#include "runtime/exec/ops.h"
#include "runtime/exec/placement.h"
#include "tests/spmd/graphs.h"
#include "tests/support/eight_devices.h"

namespace shardlab {
namespace {

class FusedBroadcasts : public OnEightDevices {};

// x[i, j, k] + y over some of its dimensions, on a mesh; the sum told element by element. Inside the function the cut is that of the
// constraint, which need not divide.
void expect_sum(const Mesh& mesh, const PartitionSpec& spec, const Shape& shape, const std::vector<std::int64_t>& dims, DType dtype) {
  Shape part;
  for (std::int64_t d : dims) part.push_back(shape[std::size_t(d)]);
  Array x = astype(arange(double(element_count(shape))), dtype).reshape(shape);
  Array y = astype(arange(double(element_count(part))) * 2.0, dtype).reshape(part);
  Shape aligned(shape.size(), 1);
  for (std::int64_t d : dims) aligned[std::size_t(d)] = shape[std::size_t(d)];
  auto f = jit([&](const Array& a, const Array& b) {
    Array cut = with_sharding_constraint(a, NamedSharding(mesh, spec));
    return (cut + reshape(b, aligned)) * cut;
  });
  Array found = astype(f(x, y), DType::kFloat32);
  Buffer data = found.fetch();
  for (std::int64_t at = 0; at < element_count(shape); ++at) {
    std::int64_t rest = at, place = 0, stride = 1;
    for (std::size_t d = shape.size(); d-- > 0;) {
      std::int64_t index = rest % shape[d];
      rest /= shape[d];
      if (std::find(dims.begin(), dims.end(), std::int64_t(d)) == dims.end()) continue;
      place += index * stride;
      stride *= shape[d];
    }
    ASSERT_EQ(data.as<float>()[at], float((at + 2 * place) * at)) << "element " << at << " of " << name_of(dtype);
  }
}

TEST_F(FusedBroadcasts, RepeatAlongAnyDimensions) {
  Mesh mesh = make_mesh({4, 2}, {"a", "b"});
  for (const auto& dims : std::vector<std::vector<std::int64_t>>{{2}, {0}, {1}, {0, 1}, {1, 2}, {0, 2}})
    for (const PartitionSpec& spec :
         std::vector<P>{P(), P("a"), P(nullptr, "b", "a"), P(nullptr, nullptr, std::vector<std::string>{"a", "b"})})
      expect_sum(mesh, spec, {4, 6, 8}, dims, DType::kFloat32);
}

TEST_F(FusedBroadcasts, WhereTheCutIsUneven) {
  Mesh mesh = make_mesh({4, 2}, {"a", "b"});
  for (const auto& dims : std::vector<std::vector<std::int64_t>>{{2}, {0}, {1}, {0, 1}, {1, 2}})
    for (const PartitionSpec& spec : std::vector<P>{P("a", "b"), P("b", nullptr, "a"), P(std::vector<std::string>{"b", "a"})})
      expect_sum(mesh, spec, {5, 3, 7}, dims, DType::kFloat32);
}

TEST_F(FusedBroadcasts, InEveryWidth) {
  Mesh mesh = make_mesh({4, 2}, {"a", "b"});
  for (DType dtype : {DType::kInt32, DType::kFloat16, DType::kUint8})  // small numbers: exact in each
    for (const auto& dims : std::vector<std::vector<std::int64_t>>{{0}, {1}}) expect_sum(mesh, P("b"), {2, 3}, dims, dtype);
}

// More elements than a tile has, so that repetitions go on from tile to tile.
TEST_F(FusedBroadcasts, AcrossTiles) {
  Mesh mesh = make_mesh({4, 2}, {"a", "b"});
  Array x = astype(arange(3 * 7000), float32).reshape({3, 7000}) / 21000.0;
  Buffer got = jit([&](const Array& a) {
                 Array cut = with_sharding_constraint(a, NamedSharding(mesh, P(nullptr, "b")));
                 return cut - max(cut, {.axis = 1, .keepdims = true}) + max(cut, {.axis = 0, .keepdims = true});
               })(x)
                   .fetch();
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 7000; ++j) {
      auto value = [](int n) { return float(n) / 21000.0f; };
      ASSERT_FLOAT_EQ(got.as<float>()[i * 7000 + j], value(i * 7000 + j) - value(i * 7000 + 6999) + value(14000 + j));
    }
}

class FusedRows : public OnEightDevices {};

// Neighbouring elementwise steps and reductions are one step; between them stand only what moves data and what cannot be fused.
std::vector<std::string> steps_of(const Graph& graph, const Mesh& mesh, const std::vector<std::string_view>& params) {
  auto executable = compile(Context::current(), testing::plan(graph, mesh, params), "f");
  std::vector<std::string> names;
  for (const Executable::Step& step : executable->steps) {
    if (auto* fused = std::get_if<FusedStep>(&step))
      names.push_back(fmt::format("{} ops", fused->ops.size()));
    else if (auto* compute = std::get_if<Executable::Compute>(&step))
      names.emplace_back(compute->node->op->name);
    else
      names.emplace_back("move");
  }
  return names;
}

TEST_F(FusedRows, AreOneStepWithWhatStandsAroundThem) {
  using Names = std::vector<std::string>;
  Mesh mesh = testing::mesh_of({4, 2});
  auto graph_of = [](const Shape& shape, auto body) {
    testing::Build build;
    ValueId x = build.param(shape);
    return build.finish(body(build, x));
  };
  const Attrs last{{"axis", std::int64_t(1)}};
  auto softmax = [&](testing::Build& b, ValueId x) { return std::vector{b.op("softmax", {b.op("gelu", {x})}, last)}; };
  EXPECT_EQ(steps_of(graph_of({64, 128}, softmax), mesh, {"a-"}).size(), 1u);
  // Unevenly cut inside; the result may not be.
  EXPECT_THAT(steps_of(graph_of({65, 127}, softmax), mesh, {"(ab)-"}), ::testing::ElementsAre(::testing::EndsWith("ops"), "move"));
  // Constants stand between the steps, but take no time.
  EXPECT_EQ(steps_of(graph_of({64, 128},
                              [](testing::Build& b, ValueId x) {
                                return std::vector{b.op("add", {b.op("mul", {x, Scalar{2.0}}), Scalar{3.0}})};
                              }),
                     mesh, {"a-"}),
            (Names{"2 ops"}));
  // So do numbers that are made of constants: they are computed once.
  const Graph numbers = parse_graph(
      "f(%0: float32[64,128]) {\n%1 = constant() {value = float32[]{3}} : float32[]\n%2 = mul(%1, %1) : float32[]\n%3 = sqrt(%2) : "
      "float32[]\n"
      "%4 = broadcast_in_dim(%3) {dims = [], shape = [64, 128]} : float32[64,128]\n%5 = div(%0, %4) : float32[64,128]\nreturn %5\n}\n",
      find_op);
  EXPECT_EQ(steps_of(numbers, mesh, {"a-"}), (Names{"1 ops"}));
  // Too long for a tile, along other dimensions, of the whole.
  EXPECT_GT(steps_of(graph_of({4, 20000}, softmax), mesh, {"a-"}).size(), 1u);
  auto along = [&](std::int64_t axis) {
    return [axis](testing::Build& b, ValueId x) { return std::vector{b.op("sum", {b.op("sin", {x})}, Attrs{{"axis", axis}})}; };
  };
  EXPECT_EQ(steps_of(graph_of({64, 128}, along(1)), mesh, {"a-"}), (Names{"2 ops"}));
  EXPECT_EQ(steps_of(graph_of({64, 128}, along(0)), mesh, {"-a"}), (Names{"1 ops", "reduce_sum"}));
}

// Values, row for row, whatever the cut: even, uneven, parts of rows, devices with nothing.
TEST_F(FusedRows, HaveTheValuesOfTheWhole) {
  auto normalised = jit([](const Array& x) {
    Array shifted = x - mean(x, {.axis = -1, .keepdims = true});
    return shifted / sqrt(mean(shifted * shifted, {.axis = -1, .keepdims = true}) + 1e-3) + max(x * 2.0, {.axis = -1, .keepdims = true});
  });
  for (const Shape& shape : std::vector<Shape>{{8, 40}, {5, 3, 33}, {1, 17}, {3, 1}, {2, 9000}, {0, 4}, {70, 70}}) {
    Array x = sin(astype(arange(double(element_count(shape))), float32) * 0.7).reshape(shape);
    const std::int64_t row = shape.back(), rows = row == 0 ? 0 : element_count(shape) / row;
    std::vector<double> wanted;
    Buffer data = x.fetch();
    for (std::int64_t r = 0; r < rows; ++r) {
      const float* from = data.as<float>() + r * row;
      double total = 0, square = 0, highest = -1e9;
      for (std::int64_t i = 0; i < row; ++i) total += from[i], highest = std::max(highest, 2.0 * double(from[i]));
      for (std::int64_t i = 0; i < row; ++i) square += std::pow(double(from[i]) - total / double(row), 2);
      for (std::int64_t i = 0; i < row; ++i)
        wanted.push_back((double(from[i]) - total / double(row)) / std::sqrt(square / double(row) + 1e-3) + highest);
    }
    Mesh mesh({4, 2}, {"a", "b"}, {3, 0, 6, 1, 7, 2, 5, 4});
    std::vector<P> specs = {P(), P("a"), P("b"), P(std::vector<std::string>{"b", "a"})};
    specs.push_back(shape.size() == 2 ? P(nullptr, "a") : P("b", nullptr, "a"));
    for (const P& spec : specs) {
      auto cut = jit([&](const Array& whole) { return normalised(with_sharding_constraint(whole, NamedSharding(mesh, spec))); });
      Buffer got = cut(x).fetch();
      for (std::size_t i = 0; i < wanted.size(); ++i)
        ASSERT_NEAR(got.as<float>()[i], wanted[i], 2e-4) << "element " << i << " of " << text_of(shape) << ", cut " << spec.text();
    }
  }
}

// Constants that are repeated are not made for steps that read them with a stride; reductions and broadcasts along rows read elements.
TEST_F(FusedRows, OfConstants) {
  Array x = astype(arange(12), float32).reshape({3, 4});
  auto [sums, highest, beside] = jit([](const Array& y) {
    Array twos = full_like(y, 2.0), rows = sum(twos, 1);
    return std::tuple{rows, max(ones_like(y), 1),
                      y + max(y, {.axis = 1, .keepdims = true}) + full_like(max(y, {.axis = 1, .keepdims = true}), 5.0)};
  })(x);
  Buffer total = sums.fetch(), most = highest.fetch(), added = beside.fetch();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(total.as<float>()[i], 8.0f);
    EXPECT_EQ(most.as<float>()[i], 1.0f);
    for (int j = 0; j < 4; ++j) EXPECT_EQ(added.as<float>()[4 * i + j], float(4 * i + j) + float(4 * i + 3) + 5.0f);
  }
}

// The order of combination is that of the reduction alone: fused or not, a sum has the same bits.
TEST_F(FusedRows, SumInTheSameOrderAsAlone) {
  for (DType dtype : {DType::kFloat32, DType::kBfloat16, DType::kFloat16, DType::kInt32}) {
    Array x = astype(sin(astype(arange(30 * 1000), float32)) * 100.0, dtype).reshape({30, 1000});
    Array doubled = jit([](const Array& y) { return y + y; })(x);
    Buffer alone = jit([](const Array& y) { return sum(y, 1); })(doubled).fetch();
    auto [total, kept] = jit([](const Array& y) {
      Array twice = y + y;
      return std::tuple{sum(twice, 1), twice};
    })(x);
    Buffer fused = total.fetch();
    ASSERT_EQ(alone.size(), fused.size());
    EXPECT_TRUE(std::equal(alone.bytes().begin(), alone.bytes().end(), fused.bytes().begin())) << name_of(dtype);
    EXPECT_EQ(kept.shape(), x.shape());
  }
}

}  // namespace
}  // namespace shardlab
