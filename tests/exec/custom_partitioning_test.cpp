// custom_partitioning: the tutorial's slab FFT and its pencil version move by all-to-alls alone; rules, callbacks and their errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "runtime/exec/custom_partitioning.h"
#include "runtime/exec/fft.h"
#include "runtime/exec/ops.h"
#include "runtime/exec/placement.h"
#include "tests/support/eight_devices.h"
#include "tests/support/thread_job.h"

namespace shardlab {
namespace {

using ::testing::HasSubstr;
using Complex = std::complex<float>;

// Always on tiles cut by `spec`.
CustomPartitioningOptions demanding(ArrayFunction local, PartitionSpec spec, std::string name) {
  return {.sharding_rule = "i j k -> i j k",
          .partition =
              [local, spec](const Mesh&, const std::vector<ShardedType>& args, const std::vector<ShardedType>&) {
                Sharding wanted(args[0].sharding.mesh(), spec);
                return PartitionedFunction{local, {wanted}, {wanted}};
              },
          .name = std::move(name)};
}

auto partitioned(std::function<Array(const Array&)> f, PartitionSpec spec, std::string name) {
  ArrayFunction local = [f](const std::vector<Array>& tiles) { return std::vector<Array>{f(tiles.at(0))}; };
  return custom_partitioning(f, demanding(local, spec, std::move(name)));
}

// A jitted function of one array whose program can be looked at.
class Program {
 public:
  explicit Program(std::function<Array(const Array&)> f, JitOptions options = {})
      : function_([f](const std::vector<Array>& args) { return std::vector<Array>{f(args.at(0))}; }, std::move(options)) {}
  Array operator()(const Array& x) const { return function_.call({x}, Where::from(std::source_location::current())).at(0); }
  std::string text(const Array& x) const { return function_.lowered({x}, true); }

 private:
  JitFunction function_;
};

int count(const std::string& text, std::string_view what) {
  int found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

void expect_near(const std::vector<Complex>& got, const std::vector<Complex>& wanted, float tolerance) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_LT(std::abs(got[i] - wanted[i]), tolerance) << "element " << i;
}

class CustomPartitioning : public OnEightDevices {
 protected:
  // Of a rule on types of these shapes.
  static std::string error_of_rule(std::string rule, std::vector<Shape> shapes, CustomPartitioningOptions options = {}) {
    options.sharding_rule = std::move(rule);
    std::vector<Array> args;
    for (const Shape& shape : shapes) args.push_back(zeros(shape));
    ArrayFunction first = [](const std::vector<Array>& all) { return std::vector<Array>{all.at(0) * 1}; };
    return error_of([&] { custom_partitioning(first, options, args, Where::from(std::source_location::current())); });
  }
  Mesh mesh = Mesh({8}, {"gpus"}, {0, 1, 2, 3, 4, 5, 6, 7});
  Mesh grid = Mesh({4, 2}, {"x", "y"}, {3, 1, 2, 0, 7, 5, 6, 4});
};

Array complex_cube(const Shape& shape) {
  Array x = sin(astype(arange(element_count(shape)), DType::kFloat32) * 0.37).reshape(shape);
  return astype(x, DType::kComplex64);
}

Array fft_xy(const Array& x) { return fft::fftn(x, {.axes = {0, 1}}); }
Array fft_z(const Array& x) { return fft::fft(x, {.axis = 2}); }
Array ifft_xy(const Array& x) { return fft::ifftn(x, {.axes = {0, 1}}); }
Array ifft_z(const Array& x) { return fft::ifft(x, {.axis = 2}); }

TEST_F(CustomPartitioning, TheTutorialsTransformMovesByTwoAllToAlls) {
  auto xy = partitioned(fft_xy, P(nullptr, nullptr, "gpus"), "fft_XY"), z = partitioned(fft_z, P(nullptr, "gpus"), "fft_Z");
  auto ixy = partitioned(ifft_xy, P(nullptr, nullptr, "gpus"), "ifft_XY"), iz = partitioned(ifft_z, P(nullptr, "gpus"), "ifft_Z");
  Sharding sharding(mesh, P(nullptr, "gpus"));
  Array x = complex_cube({8, 16, 24});
  Array placed = device_put(x, sharding);
  Program forward([&](const Array& a) { return xy(z(a)); }, {.in_shardings = {sharding}, .out_shardings = {sharding}});
  Program inverse([&](const Array& a) { return iz(ixy(a)); }, {.in_shardings = {sharding}, .out_shardings = {sharding}});
  for (const Program* each : {&forward, &inverse}) {
    std::string text = each->text(placed);
    EXPECT_EQ(count(text, "all-to-all"), 2) << text;
    EXPECT_EQ(count(text, "all-gather") + count(text, "all-reduce") + count(text, "collective-permute"), 0) << text;
  }
  Array transformed = forward(placed);
  EXPECT_TRUE(transformed.sharding().is_equivalent_to(sharding, transformed.shape()));
  expect_near(transformed.to_vector<Complex>(), fft::fftn(x).to_vector<Complex>(), 1e-2F);
  expect_near(inverse(transformed).to_vector<Complex>(), x.to_vector<Complex>(), 1e-5F);
}

TEST_F(CustomPartitioning, OtherShardingsNeedNoMoreThanAllToAlls) {
  auto xy = partitioned(fft_xy, P(nullptr, nullptr, "gpus"), "fft_XY"), z = partitioned(fft_z, P(nullptr, "gpus"), "fft_Z");
  Array x = complex_cube({8, 16, 24});
  Program transform([&](const Array& a) { return xy(z(a)); });
  for (const PartitionSpec& spec : {P("gpus"), P(nullptr, nullptr, "gpus"), P()}) {
    Array placed = device_put(x, Sharding(mesh, spec));
    std::string text = transform.text(placed);
    EXPECT_LE(count(text, "all-to-all"), 4) << text;
    if (spec.text() != P().text()) { EXPECT_EQ(count(text, "all-gather"), 0) << text; }
    Array got = transform(placed);
    EXPECT_TRUE(got.sharding().is_equivalent_to(placed.sharding(), x.shape())) << got.sharding().spec_text();
    expect_near(got.to_vector<Complex>(), fft::fftn(x).to_vector<Complex>(), 1e-2F);
  }
}

TEST_F(CustomPartitioning, PencilsOnAGrid) {
  auto z = partitioned(fft_z, P("x", "y"), "fft_Z");
  auto y = partitioned([](const Array& a) { return fft::fft(a, {.axis = 1}); }, P("x", nullptr, "y"), "fft_Y");
  auto x = partitioned([](const Array& a) { return fft::fft(a, {.axis = 0}); }, P(nullptr, "x", "y"), "fft_X");
  Array cube = complex_cube({8, 12, 4});
  Program transform([&](const Array& a) { return x(y(z(a))); },
                    {.in_shardings = {Sharding(grid, P("x", "y"))}, .out_shardings = {Sharding(grid, P(nullptr, "x", "y"))}});
  Array placed = device_put(cube, Sharding(grid, P("x", "y")));
  std::string text = transform.text(placed);
  EXPECT_EQ(count(text, "all-to-all"), 2) << text;
  EXPECT_EQ(count(text, "all-gather") + count(text, "collective-permute"), 0) << text;
  expect_near(transform(placed).to_vector<Complex>(), fft::fftn(cube).to_vector<Complex>(), 1e-2F);
}

TEST_F(CustomPartitioning, ProcessesAgree) {
  testing::on_job({2, 2, 2, 2}, [] {
    Mesh all({8}, {"gpus"}, {0, 1, 2, 3, 4, 5, 6, 7});
    auto xy = partitioned(fft_xy, P(nullptr, nullptr, "gpus"), "fft_XY"), z = partitioned(fft_z, P(nullptr, "gpus"), "fft_Z");
    Array x = complex_cube({8, 8, 8});
    Array placed = device_put(x, Sharding(all, P(nullptr, "gpus")));
    Array eager = xy(z(placed));
    Array whole = device_put(eager, Sharding(all, P()));
    expect_near(whole.to_vector<Complex>(), fft::fftn(x).to_vector<Complex>(), 1e-2F);
  });
}

// Versions of a large program are planned on several threads, but where there are callbacks.
TEST_F(CustomPartitioning, LargeProgramsCallTheCallbackInTheCallersThread) {
  std::vector<std::thread::id> threads;
  ArrayFunction local = [](const std::vector<Array>& tiles) { return std::vector<Array>{sin(tiles.at(0))}; };
  CustomPartitioningOptions options = demanding(local, P("gpus"), "noted_sin");
  options.partition = [&threads, demanded = options.partition](const Mesh& on, const std::vector<ShardedType>& args,
                                                               const std::vector<ShardedType>& results) {
    threads.push_back(std::this_thread::get_id());
    return demanded(on, args, results);
  };
  auto noted_sin = custom_partitioning([](const Array& x) { return sin(x); }, options);
  auto body = [this](Array y, const std::function<Array(const Array&)>& f) {
    for (int i = 0; i < 100; ++i) y = sin(y) * 2.0 * 3.0 + 1.0;
    return with_sharding_constraint(f(y), NamedSharding(mesh, P(None, "gpus")));
  };
  const auto x = device_put(arange(8 * 8 * 8).reshape({8, 8, 8}) * 0.01, NamedSharding(mesh, P("gpus")));
  const Program with([&](const Array& y) { return body(y, noted_sin); }), without([&](const Array& y) { return body(y, sin); });
  EXPECT_EQ(with(x).to_vector<float>(), without(x).to_vector<float>());
  ASSERT_FALSE(threads.empty());
  for (std::thread::id thread : threads) EXPECT_EQ(thread, std::this_thread::get_id());
  // What is planned on two threads is what is planned again.
  const std::string text = without.text(x);
  EXPECT_EQ(text, Program([&](const Array& y) { return body(y, sin); }).text(x));
  EXPECT_GT(count(text, "all-to-all"), 0);
}

TEST_F(CustomPartitioning, WithoutCallbackTheRuleDecides) {
  auto softmax_rows = [](const Array& x) { return softmax(x); };
  auto rows = custom_partitioning(softmax_rows, {.sharding_rule = "i j -> i j", .need_replication_factors = {"j"}});
  Array x = sin(astype(arange(8 * 24), DType::kFloat32)).reshape({8, 24});
  Array placed = device_put(x, Sharding(mesh, P(nullptr, "gpus")));
  Program program([&](const Array& a) { return rows(a); });
  EXPECT_EQ(count(program.text(placed), "all-gather"), 0);
  std::vector<float> got = program(placed).to_vector<float>(), wanted = softmax_rows(x).to_vector<float>();
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-6F);

  auto product = custom_partitioning([](const Array& a, const Array& b) { return matmul(a, b); },
                                     {.sharding_rule = "i k, k j -> i j", .reduction_factors = {"k"}});
  Array a = arange(6 * 8).reshape({6, 8}), b = arange(8 * 4).reshape({8, 4});
  for (auto [of_a, of_b] : {std::pair{P(nullptr, "x"), P("x", "y")}, {P("y", "x"), P()}, {P(), P("x")}}) {
    Array sharded = product(device_put(a, Sharding(grid, of_a)), device_put(b, Sharding(grid, of_b)));
    EXPECT_EQ(sharded.to_vector<std::int32_t>(), matmul(a, b).to_vector<std::int32_t>()) << of_a.text() << of_b.text();
  }
}

TEST_F(CustomPartitioning, PropagationPassesByTheRule) {
  auto flatten = custom_partitioning(
      [](const Array& x) {
        return x.reshape({x.shape()[0], x.shape()[1] * x.shape()[2]});
      },
      {.sharding_rule = "a b c -> a (b c)", .need_replication_factors = {"c"}});
  Program program([&](const Array& x) { return flatten(x * 2); });
  Array x = device_put(arange(48).reshape({8, 2, 3}), Sharding(grid, P("x", "y")));
  Array got = program(x);
  EXPECT_EQ(got.sharding().spec_text(), "P('x', 'y')");
  EXPECT_EQ(got.to_vector<std::int32_t>(), (arange(48) * 2).to_vector<std::int32_t>());

  auto last = custom_partitioning([](const Array& each) { return sum(each, {.axis = {-1}}); },
                                  {.sharding_rule = "... j -> ...", .reduction_factors = {"j"}});
  Array sums =
      Program([&](const Array& a) { return last(a); })(device_put(arange(48).reshape({4, 2, 6}), Sharding(grid, P("x", nullptr, "y"))));
  EXPECT_EQ(sums.sharding().spec_text(), "P('x', None)");
  EXPECT_EQ(sums.to_vector<std::int32_t>(), sum(arange(48).reshape({8, 6}), {.axis = {1}}).to_vector<std::int32_t>());
}

TEST_F(CustomPartitioning, CallbackSeesShardingsAndMaySum) {
  std::vector<std::string> seen;
  CustomPartitioningOptions options{
      .sharding_rule = "i j -> i",
      .partition = [&](const Mesh& on, const std::vector<ShardedType>& args, const std::vector<ShardedType>& results) {
        seen = {args[0].type.text(), args[0].sharding.spec_text(), results[0].type.text()};
        auto local = [](const std::vector<Array>& tiles) { return std::vector<Array>{psum(sum(tiles[0], {.axis = {1}}), {"gpus"})}; };
        return PartitionedFunction{local, {Sharding(on, P())}, {Sharding(on, P(nullptr, "gpus"))}};
      }};
  auto rows = custom_partitioning([](const Array& x) { return sum(x, {.axis = {1}}); }, options);
  Array x = arange(32).reshape({4, 8});
  EXPECT_EQ(rows(device_put(x, Sharding(mesh, P(nullptr, "gpus")))).to_vector<std::int32_t>(),
            sum(x, {.axis = {1}}).to_vector<std::int32_t>());
  EXPECT_EQ(seen, (std::vector<std::string>{"int32[4,8]", "P(None, 'gpus')", "int32[4]"}));
  seen.clear();
  EXPECT_EQ(rows(x).to_vector<std::int32_t>(), sum(x, {.axis = {1}}).to_vector<std::int32_t>());
  EXPECT_TRUE(seen.empty()) << "on one device the function itself runs";
  Array mapped = shard_map(rows, {.mesh = mesh, .in_specs = {P("gpus")}, .out_specs = {P("gpus")}})(arange(64).reshape({8, 8}));
  EXPECT_EQ(mapped.to_vector<std::int32_t>(), sum(arange(64).reshape({8, 8}), {.axis = {1}}).to_vector<std::int32_t>());
  EXPECT_TRUE(seen.empty()) << "in per-device code the function itself runs";
}

TEST_F(CustomPartitioning, ErrorsOfCallbacks) {
  Array x = device_put(arange(12 * 8).reshape({12, 8}), Sharding(mesh, P(nullptr, "gpus")));
  auto run = [&](PartitionSpec in, PartitionSpec out, ArrayFunction local) {
    return error_of([&] {
      CustomPartitioningOptions options{.sharding_rule = "i j -> i j", .name = "twice"};
      options.partition = [&](const Mesh& on, const std::vector<ShardedType>&, const std::vector<ShardedType>&) {
        return PartitionedFunction{local, {Sharding(on, out)}, {Sharding(on, in)}};
      };
      custom_partitioning([](const Array& a) { return a * 2; }, options)(x);
    });
  };
  ArrayFunction twice = [](const std::vector<Array>& tiles) { return std::vector<Array>{tiles[0] * 2}; };
  EXPECT_EQ(run(P(nullptr, "gpus"), P(nullptr, "gpus"), twice), "no error");
  EXPECT_THAT(run(P(nullptr, "gpus"), P(), twice), HasSubstr("Mismatch in result shapes. [int32[12,1]] vs [int32[12,8]]"));
  EXPECT_THAT(run(P("gpus"), P(), twice), HasSubstr("8 does not evenly divide dimension 0 (of size 12)"));
  EXPECT_THAT(run(P(), P(), [&](const std::vector<Array>& tiles) { return std::vector<Array>{tiles[0] + x}; }),
              HasSubstr("uses an array of type int32[12,8] from around it"));
}

TEST_F(CustomPartitioning, ErrorsOfRules) {
  EXPECT_EQ(error_of_rule("i j -> i j", {{2, 3}}), "no error");
  EXPECT_EQ(error_of_rule("... i -> ... i", {{2, 3}}), "no error");
  const std::pair<const char*, const char*> bad[] = {
      {"i j", "There is no -> in rule: 'i j'"},
      {"i) j -> i j", "Brackets are not balanced"},
      {"(i j -> i j", "Brackets are not balanced"},
      {"(i) j -> i j", "Brackets should contain at least two factors"},
      {"((i k) l) j -> i j", "Compound factors should be one level, nested brackets are not allowed"},
      {"1i j -> i j", "Factor names have to start with a letter, but got '1'"},
      {"i+ j -> i j", "Unknown character '+'"},
      {"i ... -> i j", "Ellipsis can only be used at the beginning of a dimension"},
      {"i . -> i j", "Character '.' must be used inside ellipsis '...'"},
      {"i (b c) -> i j", "Factor b is only used in compound factors; must specify its size"},
      {"i j k -> i j k", "Sharding rule 0th operand has rank 3, but the operation 0th operand has rank 2"},
      {"i j, i j -> i j", "Sharding rule has 2 operands, but the operation has 1 operands"},
      {"i j -> i j, i j", "Sharding rule has 2 results, but the operation has 1 results"}};
  for (auto [rule, text] : bad) EXPECT_THAT(error_of_rule(rule, {{2, 3}}), HasSubstr(text)) << rule;
  EXPECT_THAT(error_of_rule("i j -> i j", {{2, 3}}, {.factor_sizes = {{"k", 2}}}),
              HasSubstr("Factor k is not used in the rule, but size is provided"));
  EXPECT_THAT(error_of_rule("i j -> i j", {{2, 3}}, {.factor_sizes = {{"j", 3}}}),
              HasSubstr("Factor j represents a whole dimension; do not specify its size"));
  EXPECT_THAT(error_of_rule("(a b) j -> (a b) j", {{6, 3}}, {.factor_sizes = {{"a", 2}, {"b", 2}}}),
              HasSubstr("0th operand actual size 6 doesn't match the size 4 derived from the compound factors (a, b)"));
  EXPECT_THAT(error_of_rule("i j -> i j", {{2, 3}}, {.reduction_factors = {"k"}}),
              HasSubstr("Factor k in reduction_factors is not used in the rule"));
  EXPECT_THAT(error_of_rule("i j -> i j", {{2, 3}}, {.reduction_factors = {"i"}, .permutation_factors = {"i"}}),
              HasSubstr("Factor i can only be in one of the reduction, need replication, or permutation factor sets."));
  EXPECT_THAT(error_of_rule("... i, ... j k -> ... i", {{2, 3}, {2, 3}}),
              HasSubstr("Ellipsis represents different number of leading dimensions 1 and 0"));
}

}  // namespace
}  // namespace shardlab
