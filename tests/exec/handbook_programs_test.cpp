// Further programs of JAX's documentation, line by line: thinking in JAX, random numbers, gradient checkpointing, custom partitioning,
// data-parallel networks of the shard_map notebook, the training cookbook. Values and shardings are JAX's; make_handbook_goldens.py has the
// same programs in Python.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <shardlab/shardlab.h>

#include "tests/exec/jax_goldens.h"
#include "tests/support/error_of.h"

// Parameters have their arguments' names, as users write them.
#pragma GCC diagnostic ignored "-Wshadow"

using namespace shardlab;  // as a user's program has it
using testing::HasSubstr;
using testing_goldens::on;
using testing_goldens::Seen;

namespace {

void thinking_in_jax(Seen& seen, const Mesh&) {
  auto selu = [](const Array& x, double alpha = 1.67, double lambda = 1.05) { return lambda * where(x > 0, x, alpha * exp(x) - alpha); };
  auto x = random::normal(random::key(1), {1000});
  seen.add("selu", jit(selu)(x));
  seen.add("updated", arange(10).at(0).set(10));
  seen.add("convolve", convolve(linspace(0, 10, 8), ones({10})));
  auto lhs = linspace(0, 10, 8).reshape({1, 1, 8}).astype(float32), rhs = ones({1, 1, 10});
  seen.add("convolve.lax", conv_general_dilated(lhs, rhs, {1}, {{9, 9}})[{0, 0}]);
  auto norm = [](const Array& X) {
    auto centered = X - mean(X, 0);
    return centered / std_(centered, 0);
  };
  seen.add("norm", jit(norm)(random::normal(random::key(2), {20, 3})));
  auto f = [](const Array& x, bool neg) { return neg ? -x : x; };
  seen.add("static", jit(f)(arange(3.0), true));
  seen.add("ravel", jit([](const Array& x) { return x.reshape({x.size()}); })(ones({2, 3})));
  auto sum_logistic = [](const Array& x) { return sum(1.0 / (1.0 + exp(-x))); };
  seen.add("grad", grad(sum_logistic)(arange(3.0)));
  auto deep = grad(jit(grad(jit(grad(sum_logistic)))));
  seen.add("grad3", deep(full({}, 1.0)));
  seen.add("hessian", jit(jacfwd(jacrev(sum_logistic)))(arange(3.0)));
  auto keys = random::split(random::key(1701));
  auto mat = random::normal(keys[0], {15, 10}), batch = random::normal(keys[1], {5, 10});
  auto apply_matrix = [&](const Array& x) { return dot(mat, x); };
  seen.add("vmap", jit(vmap(apply_matrix))(batch));
  seen.add("while", while_loop([](const Array& x) { return x < 100; }, [](const Array& x) { return x * 2; }, full({}, 3)));
}

void random_numbers(Seen& seen, const Mesh& mesh) {
  auto key = random::key(42);
  seen.add("random.normal", random::normal(key));
  for (int i = 0; i < 3; ++i) {
    auto [next, sub] = [&] {
      auto both = random::split(key);
      return std::pair{both[0], both[1]};
    }();
    seen.add("random.loop" + std::to_string(i), random::normal(sub));
    key = next;
  }
  auto subkeys = random::split(random::key(42), 3);
  seen.add("random.each", vmap([](const Array& k) { return random::normal(k); })(stack(subkeys)));
  seen.add("random.whole", random::normal(random::key(42), {3}));
  seen.add("random.fold", vmap([](const Array& i) { return random::uniform(random::fold_in(random::key(0), i)); })(arange(5)));
  auto sharded = jit([&](const Array& key) { return with_sharding_constraint(random::uniform(key, {8, 4}), NamedSharding(mesh, P("x"))); });
  seen.add("random.sharded", sharded(random::key(3)));
  auto per_device = shard_map([](const Array& key) { return random::normal(random::fold_in(key, axis_index("x")), {2}); },
                              {.mesh = mesh, .in_specs = {P()}, .out_specs = {P("x")}});
  seen.add("random.per_device", per_device(random::key(4)));
  seen.add("random.permutation", random::permutation(random::key(5), arange(12)));
  seen.add("random.choice", random::choice(random::key(6), 10, {4}, {.replace = false}));
  seen.add("random.categorical", random::categorical(random::key(7), zeros({6, 5})));
}

// g of the document, under every policy: values are the same, and what is saved is what each says
void checkpointing(Seen& seen, const Mesh&) {
  namespace policies = checkpoint_policies;
  auto g = [](const Array& W, const Array& x) { return sin(checkpoint_name(dot(W, x), "a")); };
  auto keys = random::split(random::key(5), 4);
  std::array<Array, 3> Ws{random::normal(keys[0], {4, 5}), random::normal(keys[1], {6, 4}), random::normal(keys[2], {7, 6})};
  auto x = random::normal(keys[3], {5});
  auto f = [&](const std::array<Array, 3>& Ws, const Array& x, const CheckpointPolicy& policy) {
    auto layer = checkpoint(g, {.policy = policy});
    return sum(layer(Ws[2], layer(Ws[1], layer(Ws[0], x))));
  };
  const CheckpointPolicy all[] = {policies::nothing_saveable,
                                  policies::dots_saveable,
                                  policies::save_only_these_names({"a"}),
                                  policies::save_anything_except_these_names({"a"}),
                                  policies::save_any_names_but_these({"b"}),
                                  policies::save_from_both_policies(policies::dots_saveable, policies::save_only_these_names({"b"}))};
  for (std::size_t i = 0; i < std::size(all); ++i)
    seen.add("checkpoint" + std::to_string(i), grad([&](const std::array<Array, 3>& Ws) { return f(Ws, x, all[i]); })(Ws));
  // Recursively: a chain whose halves are checkpoints of halves
  std::function<Array(int, const Array&)> chain = [&](int n, const Array& x) -> Array {
    if (n == 1) return sin(x);
    return checkpoint([&](const Array& x) { return chain(n - n / 2, chain(n / 2, x)); })(x);
  };
  seen.add("checkpoint.recursive", grad([&](const Array& x) { return chain(8, x); })(full({}, 3.0)));
}

// The document's transform whose operand may be cut along all dimensions but the last
void partitioning(Seen& seen, const Mesh& mesh) {
  auto my_fft = custom_partitioning([](const Array& x) { return real(fft::fft(x)); },
                                    {.sharding_rule = "... i -> ... i", .need_replication_factors = {"i"}});
  auto x = on(mesh, random::normal(random::key(8), {32, 64}), P("x", "y"));
  seen.add("my_fft", jit([&](const Array& x) { return my_fft(x); })(x));
}

// Batch data parallelism of the notebook: a loss per device, its mean over all; and parameters in parts
using Layer = std::pair<Array, Array>;
void networks(Seen& seen, const Mesh& mesh) {
  const std::vector<std::int64_t> sizes{12, 16, 16, 8};
  std::vector<Layer> params;
  auto keys = random::split(random::key(9), 3);
  for (std::size_t i = 0; i < 3; ++i)
    params.emplace_back(random::normal(keys[i], {sizes[i], sizes[i + 1]}) / sqrt(double(sizes[i])), zeros({sizes[i + 1]}));
  auto predict = [](const std::vector<Layer>& params, Array inputs) {
    Array outputs;
    for (const auto& [W, b] : params) {
      outputs = dot(inputs, W) + b;
      inputs = maximum(outputs, 0);
    }
    return outputs;
  };
  auto loss = [&](const std::vector<Layer>& params, const Array& inputs, const Array& targets) {
    return mean(sum(square(predict(params, inputs) - targets), -1));
  };
  auto inputs = random::normal(random::key(10), {32, 12}), targets = random::normal(random::key(11), {32, 8});
  auto loss_dp = shard_map(
      [&](const std::vector<Layer>& params, const Array& inputs, const Array& targets) {
        return pmean(loss(params, inputs, targets), {"x", "y"});
      },
      {.mesh = mesh, .in_specs = {P(), P(std::vector<std::string>{"x", "y"}), P(std::vector<std::string>{"x", "y"})}, .out_specs = {P()}});
  seen.add("networks.loss", jit(loss_dp)(params, inputs, targets));
  seen.add("networks.grads", jit(grad(loss_dp))(params, inputs, targets));
}

// The cookbook's attention with its cache of positions, labels along the vocabulary and a clipped step
void cookbook(Seen& seen, const Mesh& mesh) {
  auto keys = random::split(random::key(12), 4);
  auto normal = [&](std::size_t i, const Shape& shape, PartitionSpec spec) {
    return on(mesh, random::normal(keys[i], shape) * 0.2, std::move(spec));
  };
  auto q = normal(0, {4, 6, 2, 8}, P("x", nullptr, "y")), k = normal(1, {4, 6, 2, 8}, P("x", nullptr, "y")),
       v = normal(2, {4, 6, 2, 8}, P("x", nullptr, "y"));
  auto unembed = normal(3, {16, 32}, P(nullptr, "y"));
  auto labels = on(mesh, random::randint(random::key(13), {4, 6}, 0, 32), P("x"));
  auto loss = [](const Array& unembed, const Array& q, const Array& k, const Array& v, const Array& labels) {
    auto out = dot_product_attention(q, k, v, {.is_causal = true}).reshape({4, 6, 16});
    auto logits = log_softmax(einsum("btd,dv->btv", out, unembed));
    return -mean(take_along_axis(logits, expand_dims(labels, -1), -1));
  };
  seen.add("cookbook", jit(value_and_grad(loss))(unembed, q, k, v, labels));
}

TEST(HandbookPrograms, GiveWhatJaxGives) {
  Seen seen("handbook_programs.txt");
  const Mesh mesh = make_mesh({4, 2}, {"x", "y"});
  for (auto program : {thinking_in_jax, random_numbers, checkpointing, partitioning, networks, cookbook}) program(seen, mesh);
}

TEST(HandbookPrograms, ErrorsNameTheUsersLine) {
  auto line = [](int at) { return "handbook_programs_test.cpp:" + std::to_string(at); };
  const int negatives = __LINE__ + 1;
  auto get_negatives = [](const Array& x) { return x[x < 0]; };
  EXPECT_THAT(error_of([&] { jit(get_negatives)(arange(3.0)); }),
              AllOf(HasSubstr("Array boolean indices must be concrete"), HasSubstr(line(negatives))));
  const int branch = __LINE__ + 1;
  auto f = [](const Array& x) { return x.item<float>() > 0 ? x : -x; };
  EXPECT_THAT(error_of([&] { jit(f)(full({}, 1.0)); }),
              AllOf(HasSubstr("Abstract tracer value encountered where concrete value is expected"), HasSubstr(line(branch))));
  const int sums = __LINE__ + 1;
  EXPECT_THAT(error_of([] { grad([](const Array& x) { return x * 2.0; })(arange(3.0)); }),
              AllOf(HasSubstr("Gradient only defined for scalar-output functions"), HasSubstr(line(sums))));
  const int integers = __LINE__ + 1;
  EXPECT_THAT(error_of([] { grad([](const Array& x) { return sum(x); })(arange(3)); }),
              AllOf(HasSubstr("grad requires real- or complex-valued inputs"), HasSubstr(line(integers))));
  const int lanes = __LINE__ + 1;
  EXPECT_THAT(error_of([] { vmap([](const Array& x, const Array& y) { return x + y; })(ones({3}), ones({4})); }),
              AllOf(HasSubstr("vmap got inconsistent sizes for array axes to be mapped"), HasSubstr(line(lanes))));
  const int policy = __LINE__ + 1;
  EXPECT_THAT(error_of([] { checkpoint([](const Array& x) { return sin(x); }, {.policy = {"dots"}})(ones({3})); }),
              AllOf(HasSubstr("there is no policy 'dots'; nothing_saveable"), HasSubstr(line(policy))));
  const int rule = __LINE__ + 1;
  EXPECT_THAT(error_of([] { custom_partitioning([](const Array& x) { return x; }, {.sharding_rule = "i j -> i"})(ones({3})); }),
              AllOf(HasSubstr("Sharding rule 0th operand has rank 2, but the operation 0th operand has rank 1"), HasSubstr(line(rule))));
  const int both = __LINE__ + 1;
  EXPECT_THAT(error_of([] {
                namespace p = checkpoint_policies;
                p::save_from_both_policies(p::save_only_these_names({"a"}), p::save_any_names_but_these({"b"}));
              }),
              AllOf(HasSubstr("both policies speak of names"), HasSubstr(line(both))));
}

}  // namespace
