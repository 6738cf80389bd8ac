// Programs as users of JAX's libraries write them: a training state with batch statistics, optimizers by hand, layers in a scan with
// remat, attention and experts by einsum, loaders, parameters placed by rules. Values and shardings are JAX's; make_user_goldens.py has
// the same programs in Python.
#include <gtest/gtest.h>
#include <shardlab/shardlab.h>

#include <cmath>

#include "tests/exec/jax_goldens.h"

// Parameters have their arguments' names, as users write them.
#pragma GCC diagnostic ignored "-Wshadow"

using namespace shardlab;  // as a user's program has it
using testing_goldens::on;
using testing_goldens::Seen;

namespace {

using Tree = std::map<std::string, Array>;

struct Dense {
  Array kernel, bias;
};
SHARDLAB_TREE(Dense, kernel, bias)
using Params = std::map<std::string, Dense>;
struct Stats {
  Array mean, var;
};
SHARDLAB_TREE(Stats, mean, var)
struct State {
  Array step;
  Params params;
  Stats stats;
  Params mu, nu;
  Array rng;
  double rate = 0.01;
};
SHARDLAB_TREE(State, step, params, stats, mu, nu, rng, rate)

template <typename T>
T zeros_of(const T& tree) {
  return tree::map([](const Array& x) { return zeros_like(x); }, tree);
}

// A state as Flax's: batch statistics, dropout, Adam that warms up, arguments donated
void train_state(Seen& seen, const Mesh& mesh) {
  auto keys = random::split(random::PRNGKey(0), 3);
  auto dense = [](const Array& key, int in, int out) { return Dense{initializers::lecun_normal(key, {in, out}), zeros({out})}; };
  Params params{{"hidden", dense(keys[0], 8, 16)}, {"out", dense(keys[1], 16, 4)}};
  State state{zeros({}, int32), params, {zeros({16}), ones({16})}, zeros_of(params), zeros_of(params), keys[2]};
  state = device_put(state, NamedSharding(mesh, P()));
  auto train = [](const State& s, const Array& x, const Array& y) {
    auto key = random::fold_in(s.rng, s.step);
    auto loss = [&](const Params& params) {
      auto h = dot(x, params.at("hidden").kernel);
      auto center = mean(h, 0), spread = var(h, 0);
      h = relu((h - center) * rsqrt(spread + 1e-5) + params.at("hidden").bias);
      h = where(random::bernoulli(key, 0.9, h.shape()), h / 0.9, 0.0);
      auto logits = dot(h, params.at("out").kernel) + params.at("out").bias;
      auto nll = -mean(sum(one_hot(y, 4) * log_softmax(logits), -1));
      return std::pair{nll, Stats{0.9 * s.stats.mean + 0.1 * center, 0.9 * s.stats.var + 0.1 * spread}};
    };
    auto [value, grads] = value_and_grad(loss)(s.params);
    State next = s;
    next.stats = value.second;
    next.step = s.step + 1;
    next.mu = tree::map([](const Array& m, const Array& g) { return 0.9 * m + 0.1 * g; }, s.mu, grads);
    next.nu = tree::map([](const Array& v, const Array& g) { return 0.999 * v + 0.001 * square(g); }, s.nu, grads);
    auto rate = s.rate * minimum(1.0, next.step / 10.0);
    auto update = [&](const Array& p, const Array& m, const Array& v) {
      return p - rate * (m / (1.0 - pow(0.9, next.step)) / (sqrt(v / (1.0 - pow(0.999, next.step))) + 1e-8) + 1e-4 * p);
    };
    next.params = tree::map(update, s.params, next.mu, next.nu);
    return std::pair{next, value.first};
  };
  auto step = jit(train, {.donate_argnums = {0}});
  Array loss;
  for (int i = 0; i < 5; ++i) {
    auto k = random::split(random::fold_in(random::key(7), i));
    std::tie(state, loss) =
        step(state, on(mesh, random::normal(k[0], {32, 8}), P("x")), on(mesh, random::randint(k[1], {32}, 0, 4), P("x")));
  }
  seen.add("train_state.params", state.params);
  seen.add("train_state.stats", state.stats);
  seen.add("train_state.step", state.step);
  seen.add("train_state.loss", loss);
}

// Optimizers as optax chains them: clipped by the norm, momentum, weight decay of some leaves by path, a schedule, an average
void optimizers(Seen& seen, const Mesh& mesh) {
  Tree params{{"b", on(mesh, zeros({8}), P("y"))}, {"w", on(mesh, random::normal(random::key(1), {16, 8}), P("x", "y"))}};
  auto loss = [](const Tree& p, const Array& x) { return mean(square(gelu(dot(x, p.at("w")) + p.at("b")) - 1.0)); };
  auto global_norm = [](const Tree& g) {
    return sqrt(tree::reduce([](const Array& s, const Array& x) { return s + sum(square(x)); }, g, zeros({})));
  };
  auto schedule = [](const Array& count) {
    return where(count < 3, 0.1 * count / 3.0, 0.05 * (1 + cos(M_PI * minimum(count - 3, 10) / 10.0)));
  };
  using Chain = std::tuple<Tree, Tree, Array>;  // momenta, averages, the count
  auto step = jit([&](const Tree& p, const Chain& opt, const Array& x) {
    auto [l, g] = value_and_grad(loss)(p, x);
    auto norm = global_norm(g);
    g = tree::map([&](const Array& g) { return g * minimum(1.0, 0.5 / norm); }, g);
    auto [momenta, average, count] = opt;
    momenta = tree::map([](const Array& m, const Array& g) { return 0.9 * m + g; }, momenta, g);
    auto decayed = tree::map_with_path([](const std::string& path, const Array& p) { return path == "['w']" ? p * 0.01 : p * 0.0; }, p);
    auto next =
        tree::map([&](const Array& p, const Array& m, const Array& d) { return p - schedule(count) * (m + d); }, p, momenta, decayed);
    average = tree::map([](const Array& a, const Array& p) { return 0.99 * a + 0.01 * p; }, average, next);
    return std::tuple{next, Chain{momenta, average, count + 1}, l, norm};
  });
  Chain opt{zeros_of(params), params, zeros({}, int32)};
  Array l, norm;
  auto x = on(mesh, random::normal(random::key(2), {64, 16}), P("x"));
  for (int i = 0; i < 6; ++i) std::tie(params, opt, l, norm) = step(params, opt, x);
  seen.add("optimizers.params", params);
  seen.add("optimizers.average", std::get<1>(opt));
  seen.add("optimizers.loss", std::tuple{l, norm});
}

// Gradients summed over parts of the batch, the batch reshaped so that every device has some of each part
void accumulation(Seen& seen, const Mesh& mesh) {
  auto w = on(mesh, random::normal(random::key(3), {8, 8}), P(nullptr, "y")), x = on(mesh, random::normal(random::key(4), {32, 8}), P("x"));
  auto loss = [](const Array& w, const Array& x) { return mean(square(tanh(dot(x, w)))); };
  auto f = [&](const Array& w, const Array& x) {
    auto parts = with_sharding_constraint(x.reshape({4, 8, 8}), NamedSharding(mesh, P(nullptr, "x")));
    auto body = [&](const std::pair<Array, Array>& c, const Array& part) {
      auto [l, g] = value_and_grad(loss)(w, part);
      return std::pair{std::pair{c.first + l / 4.0, c.second + g / 4.0}, l};
    };
    auto [sums, each] = scan(body, std::pair{zeros({}), zeros_like(w)}, parts);
    return std::tuple{sums.first, sums.second, each};
  };
  seen.add("accumulation", jit(f)(w, x));
}

// A transformer's layers stacked and scanned, with remat, attention by einsum in bfloat16, and rotary positions
struct Block {
  Array scale1, wq, wk, wv, wo, scale2, up, gate, down;
};
SHARDLAB_TREE(Block, scale1, wq, wk, wv, wo, scale2, up, gate, down)
void transformer(Seen& seen, const Mesh& mesh) {
  const int layers = 3, d = 16, heads = 4, hidden = 32;
  auto keys = random::split(random::key(5), 7);
  auto normal = [&](int i, const Shape& shape, PartitionSpec spec) {
    return on(mesh, random::normal(keys[std::size_t(i)], shape) * 0.1, std::move(spec));
  };
  Block stacked{on(mesh, ones({layers, d}), P()),
                normal(0, {layers, d, heads, d / heads}, P(nullptr, nullptr, "y")),
                normal(1, {layers, d, heads, d / heads}, P(nullptr, nullptr, "y")),
                normal(2, {layers, d, heads, d / heads}, P(nullptr, nullptr, "y")),
                normal(3, {layers, heads, d / heads, d}, P(nullptr, "y")),
                on(mesh, ones({layers, d}), P()),
                normal(4, {layers, d, hidden}, P(nullptr, nullptr, "y")),
                normal(5, {layers, d, hidden}, P(nullptr, nullptr, "y")),
                normal(6, {layers, hidden, d}, P(nullptr, "y"))};
  auto x = on(mesh, random::normal(random::key(6), {8, 12, d}), P("x"));
  auto rms = [](const Array& x, const Array& scale) { return x * rsqrt(mean(square(x), {.axis = -1, .keepdims = true}) + 1e-6) * scale; };
  auto rotary = [](const Array& x) {
    auto half = x.shape()[3] / 2, t = x.shape()[1];
    auto angle = expand_dims(arange(double(t)), 1) / pow(10000.0, arange(double(half)) / double(half));
    auto c = cos(angle)[{Slice{}, newaxis}], s = sin(angle)[{Slice{}, newaxis}];
    auto halves = split(x, 2, -1);
    return concatenate({halves[0] * c - halves[1] * s, halves[1] * c + halves[0] * s}, -1);
  };
  auto layer = [&](const Array& x, const Block& p) {
    auto h = rms(x, p.scale1);
    auto q = rotary(einsum("btd,dhk->bthk", h, p.wq)), k = rotary(einsum("btd,dhk->bthk", h, p.wk)), v = einsum("btd,dhk->bthk", h, p.wv);
    auto logits = einsum("bthk,bshk->bhts", q.astype(bfloat16), k.astype(bfloat16)).astype(float32) / std::sqrt(double(d / heads));
    logits = where(tril(ones({12, 12}, bool_)), logits, -1e9);
    auto y = x + einsum("bthk,hkd->btd", einsum("bhts,bshk->bthk", softmax(logits), v), p.wo);
    h = rms(y, p.scale2);
    y = y + dot(silu(dot(h, p.gate)) * dot(h, p.up), p.down);
    return std::pair{with_sharding_constraint(y, NamedSharding(mesh, P("x"))), std::tuple<>{}};
  };
  auto loss = [&](const Block& p, const Array& x) {
    auto kept = remat(layer, {.policy = checkpoint_policies::dots_with_no_batch_dims_saveable});
    return mean(square(std::get<0>(scan(kept, x, p))));
  };
  auto [l, g] = jit(value_and_grad(loss))(stacked, x);
  seen.add("transformer.loss", l);
  seen.add("transformer.grads", g);
}

// Experts by einsum: masks of dispatch and combination as in Mesh TensorFlow and Switch
void experts(Seen& seen, const Mesh& mesh) {
  auto k = random::split(random::key(8), 4);
  auto x = on(mesh, random::normal(k[0], {4, 16, 8}), P("x")), router = on(mesh, random::normal(k[1], {8, 4}), P());
  auto up = on(mesh, random::normal(k[2], {4, 8, 16}), P("x")), down = on(mesh, random::normal(k[3], {4, 16, 8}), P("x"));
  auto moe = [&](const Array& x, const Array& router, const Array& up, const Array& down) {
    const int capacity = 6;
    auto probs = softmax(einsum("gsd,de->gse", x, router));
    auto gate = max(probs, -1), index = argmax(probs, -1), mask = one_hot(index, 4);
    auto place = cumsum(mask, 1) * mask;
    mask = mask * (place <= capacity);
    auto aux = mean(mean(mask, 1) * mean(probs, 1)) * 16.0;
    auto dispatch = einsum("gse,gsc->gsec", mask, one_hot((sum(place * mask, -1) - 1).astype(int32), capacity));
    auto combine = dispatch * gate[{ellipsis, newaxis, newaxis}];
    auto in = with_sharding_constraint(einsum("gsec,gsd->egcd", dispatch, x), NamedSharding(mesh, P("x")));
    auto out = einsum("egch,ehd->egcd", relu(einsum("egcd,edh->egch", in, up)), down);
    return std::pair{einsum("gsec,egcd->gsd", combine, out), aux};
  };
  auto loss = [&](const Array& router, const Array& up, const Array& x, const Array& down) {
    auto [y, aux] = moe(x, router, up, down);
    return mean(square(y)) + 0.01 * aux;
  };
  seen.add("experts.out", jit(moe)(x, router, up, down));
  seen.add("experts.grads", jit(grad<0, 1>(loss))(router, up, x, down));
}

// Parameters placed by rules over their paths, jit's shardings as theirs, saved and loaded again under another mesh's shardings
void rules(Seen& seen, const Mesh& mesh) {
  using Layers = std::map<std::string, Tree>;
  auto init = [] {
    auto k = random::split(random::key(9), 3);
    return Layers{{"dense", {{"bias", zeros({16})}, {"kernel", random::normal(k[0], {8, 16})}}},
                  {"embed", {{"table", random::normal(k[1], {32, 8})}}}};
  };
  auto spec_of = [](const std::string& path) {
    if (path.find("kernel") != path.npos) return P(nullptr, "y");
    if (path.find("table") != path.npos) return P("x");
    return P();
  };
  auto constrained = [&](const Layers& p) {
    return tree::map_with_path(
        [&](const std::string& path, const Array& x) { return with_sharding_constraint(x, NamedSharding(mesh, spec_of(path))); }, p);
  };
  auto params = jit([&] { return constrained(init()); })();
  seen.add("rules.params", params);
  auto ids = on(mesh, random::randint(random::key(10), {16, 6}, 0, 32), P("x"));
  auto f = [](const Layers& p, const Array& ids) {
    return dot(take(p.at("embed").at("table"), ids, 0), p.at("dense").at("kernel")) + p.at("dense").at("bias");
  };
  seen.add("rules.out", jit(f)(params, ids));
  auto replicated = device_put(params, NamedSharding(mesh, P()));
  seen.add("rules.replicated", replicated);
}

// Batches of a loader: what each process has, in turn; metrics summed as they come
void loader(Seen& seen, const Mesh& mesh) {
  auto by_batch = NamedSharding(mesh, P("x"));
  auto data = random::normal(random::key(11), {24, 4});
  auto labels = random::randint(random::key(12), {24}, 0, 3);
  auto evaluate = jit([](const Tree& batch) {
    auto predicted = argmax(batch.at("x")[{Slice{}, Slice{0, 3}}], -1);
    return Tree{{"count", array<int>({int(batch.at("y").size())})}, {"correct", sum(predicted == batch.at("y"))}};
  });
  Tree totals{{"count", zeros({1}, int32)}, {"correct", zeros({}, int32)}};
  for (int i = 0; i < 3; ++i) {
    const Index rows = Slice{8 * i, 8 * i + 8};
    Tree batch{{"x", make_array_from_process_local_data(by_batch, data[rows])},
               {"y", make_array_from_process_local_data(by_batch, labels[rows])}};
    totals = tree::map([](const Array& a, const Array& b) { return a + b; }, totals, evaluate(batch));
  }
  seen.add("loader", totals);
  auto from_parts = make_array_from_callback({8, 6}, NamedSharding(mesh, P("x", "y")), [&](const Box& box) {
    return slice(arange(48.0).reshape({8, 6}), {box[0].start, box[1].start}, {box[0].stop, box[1].stop});
  });
  seen.add("loader.callback", from_parts);
}

TEST(UserPrograms, GiveWhatJaxGives) {
  Seen seen("user_programs.txt");
  const Mesh mesh = make_mesh({4, 2}, {"x", "y"});
  for (auto program : {train_state, optimizers, accumulation, transformer, experts, rules, loader}) program(seen, mesh);
}

}  // namespace
