// Programs as users write them: parameters in parts, tensor parallelism, a pipeline, experts, shardings in types, derivatives of one's own.
// Values and shardings are JAX's; make_parallel_goldens.py has the same programs in Python.
#include <shardlab/shardlab.h>

#include <gtest/gtest.h>

#include "tests/exec/jax_goldens.h"

// Parameters have their arguments' names, as users write them.
#pragma GCC diagnostic ignored "-Wshadow"

using namespace shardlab;  // as a user's program has it
using testing_goldens::on;
using testing_goldens::Seen;

namespace {

struct Mlp {
  Array w1, w2;
};
SHARDLAB_TREE(Mlp, w1, w2)

// Fully sharded parameters gathered in per-device code; the gradient scatters them back
void fsdp(Seen& seen, const Mesh& mesh) {
  auto k = random::split(random::key(20), 3);
  Mlp p{on(mesh, 0.2 * random::normal(k[0], {16, 32}), P("x")), on(mesh, 0.2 * random::normal(k[1], {32, 16}), P("x"))};
  auto x = on(mesh, random::normal(k[2], {16, 16}), P("x"));
  auto loss = shard_map(
      [](const Mlp& p, const Array& x) {
        auto w1 = all_gather(p.w1, "x", {.axis = 0, .tiled = true});
        auto h = gelu(dot(x, w1));
        auto w2 = all_gather(p.w2, "x", {.axis = 0, .tiled = true});
        return pmean(mean(square(dot(h, w2) - x)), "x");
      },
      {.mesh = mesh, .in_specs = {P("x"), P("x")}, .out_specs = {P()}});
  auto [l, g] = jit(value_and_grad(loss))(p, x);
  seen.add("fsdp", std::tuple{l, g});
}

// Tensor parallel with psum_scatter, sequence parallel norm
void tensor_parallel(Seen& seen, const Mesh& mesh) {
  auto k = random::split(random::key(21), 3);
  Mlp p{on(mesh, 0.2 * random::normal(k[0], {16, 32}), P(nullptr, "y")), on(mesh, 0.2 * random::normal(k[1], {32, 16}), P("y", nullptr))};
  auto x = on(mesh, random::normal(k[2], {8, 8, 16}), P("x", "y"));
  auto block = shard_map(
      [](const Array& w1, const Array& w2, const Array& x) {
        auto n = (x - mean(x, {.axis = -1, .keepdims = true})) * rsqrt(var(x, {.axis = -1, .keepdims = true}) + 1e-5);
        auto full = all_gather(n, "y", {.axis = 1, .tiled = true});
        auto h = silu(einsum("btd,df->btf", full, w1));
        return x + psum_scatter(einsum("btf,fd->btd", h, w2), "y", {.scatter_dimension = 1, .tiled = true});
      },
      {.mesh = mesh, .in_specs = {P(nullptr, "y"), P("y", nullptr), P("x", "y")}, .out_specs = {P("x", "y")}});
  auto loss = [&](const Mlp& p, const Array& x) { return sum(sin(block(p.w1, p.w2, x))); };
  seen.add("tp", jit(value_and_grad(loss))(p, x));
}

// A pipeline by ppermute in a scan, differentiated
void pipeline(Seen& seen, const Mesh& mesh) {
  auto k = random::split(random::key(22), 2);
  auto w = on(mesh, 0.5 * random::normal(k[0], {4, 8, 8}), P("x"));
  auto xs = on(mesh, random::normal(k[1], {6, 4, 8}), P());
  auto run = shard_map(
      [](const Array& w, const Array& xs) {
        int n = axis_size("x");
        auto me = axis_index("x");
        std::vector<std::pair<int, int>> next;
        for (int i = 0; i < n; ++i) next.push_back({i, (i + 1) % n});
        auto state = pvary(zeros({4, 8}), "x");
        auto w0 = w[0];
        auto [last, outs] = scan(
            [&](const Array& state, const Array& t) {
              auto in = dynamic_index_in_dim(xs, minimum(t, 5), 0, false);
              auto cur = where(me == 0, in, state);
              auto out = tanh(dot(cur, w0));
              return std::tuple{ppermute(out, "x", next), out};
            },
            state, arange(9));
        auto mine = outs[Slice{3}];
        return psum(where(me == n - 1, mine, zeros_like(mine)), "x");
      },
      {.mesh = mesh, .in_specs = {P("x"), P()}, .out_specs = {P()}});
  auto loss = [&](const Array& w, const Array& xs) { return sum(square(run(w, xs))); };
  seen.add("pipeline", jit(value_and_grad(loss))(w, xs));
}

// Experts with capacity
void experts(Seen& seen, const Mesh& mesh) {
  auto k = random::split(random::key(23), 3);
  auto x = on(mesh, random::normal(k[0], {32, 8}), P("x"));
  auto router = on(mesh, random::normal(k[1], {8, 4}), P());
  auto w = on(mesh, random::normal(k[2], {4, 8, 8}), P("x"));
  auto moe = shard_map(
      [](const Array& x, const Array& router, const Array& w) {
        const int capacity = 4;
        auto gate = softmax(dot(x, router));
        auto expert = argmax(gate, 1);
        auto g = max(gate, {.axis = 1});
        auto hot = one_hot(expert, 4);
        auto place = sum(cumsum(hot, 0) * hot, {.axis = 1}) - 1.0;
        auto keep = place < double(capacity);
        auto slots = hot * expand_dims(where(keep, 1.0, 0.0), 1);
        auto dispatch = einsum("te,tc->tec", slots, one_hot(astype(place, int32), capacity));
        auto sent = all_to_all(einsum("tec,td->ecd", dispatch, x), "x", {.split_axis = 0, .concat_axis = 1, .tiled = true});
        auto done = einsum("ecd,edf->ecf", sent, w);
        auto back = all_to_all(done, "x", {.split_axis = 1, .concat_axis = 0, .tiled = true});
        return einsum("tec,ecd->td", dispatch, back) * expand_dims(g, 1);
      },
      {.mesh = mesh, .in_specs = {P("x"), P(), P("x")}, .out_specs = {P("x")}});
  auto loss = [&](const Array& x, const Array& r, const Array& w) { return sum(square(moe(x, r, w))); };
  seen.add("experts", jit(value_and_grad<0, 1, 2>(loss))(x, router, w));
}

// Sharding in types
void explicit_mode(Seen& seen) {
  Mesh mesh = make_mesh({4, 2}, {"x", "y"}, {AxisType::kExplicit, AxisType::kExplicit});
  MeshScope scope(mesh);
  auto put = [&](const Array& x, PartitionSpec p) { return on(mesh, x, std::move(p)); };
  auto k = random::split(random::key(24), 3);
  auto x = put(random::normal(k[0], {8, 16}), P("x", nullptr));
  auto w1 = put(random::normal(k[1], {16, 32}), P(nullptr, "y"));
  auto w2 = put(random::normal(k[2], {32, 16}), P("y", nullptr));
  auto f = jit([](const Array& rows, const Array& first, const Array& second) {
    auto h = tanh(dot(rows, first));
    return dot(h, second, {.out_sharding = P("x", nullptr)});
  });
  seen.add("explicit", f(x, w1, w2));
  seen.add("explicit.eager", dot(tanh(dot(x, w1)), w2, {.out_sharding = P("x", "y")}));
  auto loss = [&](const Array& first, const Array& second) { return sum(square(f(x, first, second))); };
  seen.add("explicit.grad", jit(value_and_grad<0, 1>(loss))(w1, w2));
  seen.add("explicit.reshape", reshape(x, {2, 4, 16}, {.out_sharding = P(nullptr, "x")}));
  auto ids = put(array<std::int32_t>({0, 5, 2}), P());
  seen.add("explicit.get", x.at(ids).get({.out_sharding = P(nullptr, "y")}));
  seen.add("explicit.einsum", einsum("bd,df->bf", x, w1));
  seen.add("explicit.reshard", reshard(x, P("y", "x")));
}

// Custom gradients, associative scan, policies
void rest(Seen& seen, const Mesh& mesh) {
  auto x = on(mesh, random::normal(random::key(25), {16, 8}), P("x", "y"));
  auto ste = custom_vjp([](const Array& v) { return round(v); }, [](const Array& v) { return std::pair(round(v), std::tuple<>()); },
                        [](const auto&, const Array& g) { return std::tuple(g); });
  seen.add("ste", jit(grad([&](const Array& v) { return sum(square(ste(v))); }))(x));
  auto a = on(mesh, random::uniform(random::key(26), {16, 8}), P("x", "y"));
  auto lin = jit([](const Array& v, const Array& w) {
    return associative_scan(
        [](const auto& p, const auto& q) {
          auto [a1, b1] = p;
          auto [a2, b2] = q;
          return std::tuple{a1 * a2, a2 * b1 + b2};
        },
        std::tuple{v, w});
  });
  seen.add("ssm", std::get<1>(lin(a, x)));
  seen.add("ssm.grad", jit(grad([&](const Array& v, const Array& w) { return sum(std::get<1>(lin(v, w))); }))(a, x));
  auto f = checkpoint(
      [](const Array& v) {
        auto h = checkpoint_name(sin(v), "h");
        return sum(exp(h) * h);
      },
      {.policy = checkpoint_policies::save_only_these_names({"h"})});
  seen.add("policy", jit(grad(f))(x));
  auto y = on(mesh, random::permutation(random::key(27), Array(x)), P("x"));
  seen.add("perm", y);
  seen.add("categorical", jit([](const Array& l) { return random::categorical(random::key(3), l); })(x));
  seen.add("gumbel", jit([](const Array& l) { return softmax((l + random::gumbel(random::key(4), {16, 8})) / 0.5); })(x));
  seen.add("vmap2", jit(vmap(vmap([](const Array& v, const Array& w) { return v * w + sum(v); }, {.in_axes = {0, std::nullopt}}),
                             {.in_axes = {0, 0}}))(x, x));
  seen.add("jacrev", jit(jacrev([](const Array& v) { return tanh(v) * sum(v); }))(on(mesh, arange(8.0) / 8.0, P("x"))));
}

TEST(ParallelPrograms, GiveWhatJaxGives) {
  Seen seen("parallel_programs.txt");
  Mesh mesh = make_mesh({4, 2}, {"x", "y"});
  fsdp(seen, mesh);
  tensor_parallel(seen, mesh);
  pipeline(seen, mesh);
  experts(seen, mesh);
  explicit_mode(seen);
  rest(seen, mesh);
}

}  // namespace
