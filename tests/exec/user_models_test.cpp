// More programs as users of JAX write them: a variational autoencoder, convolutions with batch statistics over all devices, an LSTM,
// sampling, a loss that is scaled, Markov chains, an ensemble, low-rank updates, contrastive learning, evolution strategies, returns of an
// episode, optimizer states in parts. Values and shardings are JAX's; make_user_models_goldens.py has the same programs in Python.
#include <gtest/gtest.h>
#include <shardlab/shardlab.h>

#include "tests/exec/jax_goldens.h"

// Parameters have their arguments' names, as users write them.
#pragma GCC diagnostic ignored "-Wshadow"

using namespace shardlab;  // as a user's program has it
using testing_goldens::on;
using testing_goldens::Seen;

namespace {

using Tree = std::map<std::string, Array>;

void autoencoder(Seen& seen, const Mesh& mesh) {
  auto k = random::split(random::key(20), 4);
  Tree p{{"dec", random::normal(k[0], {4, 12}) * 0.3}, {"enc", on(mesh, random::normal(k[1], {12, 8}) * 0.3, P(nullptr, "y"))}};
  auto x = on(mesh, random::uniform(k[2], {16, 12}), P("x"));
  auto elbo = [](const Tree& p, const Array& x, const Array& key) {
    auto halves = split(dot(x, p.at("enc")), 2, -1);
    auto mu = halves[0], logvar = halves[1];
    auto z = mu + exp(0.5 * logvar) * random::normal(key, mu.shape());
    auto logits = dot(z, p.at("dec"));
    auto nll = sum(softplus(logits) - x * logits, -1), kl = -0.5 * sum(1.0 + logvar - square(mu) - exp(logvar), -1);
    return mean(nll + kl);
  };
  seen.add("autoencoder", jit(value_and_grad(elbo))(p, x, k[3]));
}

// As pmap'd code of old: every device its part, statistics and gradients by pmean over the axis
void convolutions(Seen& seen, const Mesh& mesh) {
  auto k = random::split(random::key(21), 4);
  Tree params{{"conv", random::normal(k[0], {3, 3, 3, 8}) * 0.2}, {"dense", random::normal(k[1], {8, 5})}, {"scale", ones({8})}};
  auto images = random::normal(k[2], {16, 8, 8, 3}), labels = random::randint(k[3], {16}, 0, 5);
  auto loss = [](const Tree& p, const Array& images, const Array& labels) {
    auto h = conv_general_dilated(images, p.at("conv"), {2, 2}, "SAME", {.dimension_numbers = {"NHWC", "HWIO", "NHWC"}});
    auto center = pmean(mean(h, {0, 1, 2}), "x"), spread = pmean(mean(square(h), {0, 1, 2}), "x") - square(center);
    h = relu((h - center) / sqrt(spread + 1e-5) * p.at("scale"));
    h = max_pool(h, {2, 2}, {.strides = {2, 2}});
    auto logits = dot(mean(h, {1, 2}), p.at("dense"));
    return -mean(take_along_axis(log_softmax(logits), expand_dims(labels, 1), 1));
  };
  auto step = shard_map(
      [&](const Tree& p, const Array& images, const Array& labels) {
        auto mine = tree::map([](const Array& x) { return pcast(x, "x", "varying"); }, p);
        auto [l, g] = value_and_grad(loss)(mine, images, labels);
        g = pmean(g, "x");
        return std::pair{tree::map([](const Array& p, const Array& g) { return p - 0.1 * g; }, p, g), pmean(l, "x")};
      },
      {.mesh = mesh, .in_specs = {P(), P("x"), P("x")}, .out_specs = {P(), P()}});
  auto jitted = jit(step);
  Array l;
  for (int i = 0; i < 3; ++i) std::tie(params, l) = jitted(params, images, labels);
  seen.add("convolutions", std::pair{params, l});
}

void lstm(Seen& seen, const Mesh& mesh) {
  auto k = random::split(random::key(22), 3);
  auto w = on(mesh, random::normal(k[0], {12, 32}) * 0.3, P(nullptr, "y")), x = on(mesh, random::normal(k[1], {10, 8, 4}), P(nullptr, "x"));
  auto f = [](const Array& w, const Array& x) {
    auto cell = [&](const std::pair<Array, Array>& carry, const Array& x) {
      auto [h, c] = carry;
      auto gates = split(dot(concatenate({x, h}, -1), w), 4, -1);
      c = sigmoid(gates[1]) * c + sigmoid(gates[0]) * tanh(gates[2]);
      h = sigmoid(gates[3]) * tanh(c);
      return std::pair{std::pair{h, c}, h};
    };
    auto [last, hs] = scan(cell, std::pair{zeros({8, 8}), zeros({8, 8})}, x);
    return mean(square(hs)) + sum(last.second) * 0.01;
  };
  seen.add("lstm", jit(value_and_grad(f))(w, x));
}

// Tokens from the k likeliest, until all sequences have ended
void sampling(Seen& seen, const Mesh& mesh) {
  auto table = on(mesh, random::normal(random::key(23), {16, 16}) * 2.0, P(nullptr, "y"));
  auto generate = [](const Array& table, const Array& key) {
    using State = std::tuple<Array, Array, Array, Array>;  // tokens, the place, done, the key
    auto goes_on = [](const State& s) { return logical_and(std::get<1>(s) < 12, logical_not(all(std::get<2>(s)))); };
    auto step = [&](const State& s) {
      auto [tokens, i, done, key] = s;
      auto keys = split(random::split(key, Shape{2}), 2);
      auto now = keys[0].reshape({2}), next_key = keys[1].reshape({2});
      auto logits = take(table, dynamic_index_in_dim(tokens, i - 1, 1, false), 0);
      auto [best, places] = top_k(logits, 4);
      auto token = take_along_axis(places, expand_dims(random::categorical(now, best), 1), 1)[{Slice{}, 0}];
      token = where(done, 0, token);
      return State{dynamic_update_index_in_dim(tokens, token, i, 1), i + 1, logical_or(done, token == 3), next_key};
    };
    auto start = zeros({8, 12}, int32).at({Slice{}, 0}).set(arange(8));
    return std::get<0>(while_loop(goes_on, step, State{start, full({}, 1), zeros({8}, bool_), key}));
  };
  seen.add("sampling", jit(generate)(table, random::key(24)));
}

// Products in bfloat16 with a loss whose scale doubles after good steps and halves after bad ones
void scaled_loss(Seen& seen, const Mesh& mesh) {
  auto w = on(mesh, random::normal(random::key(25), {8, 8}), P("y")), x = on(mesh, random::normal(random::key(26), {16, 8}), P("x"));
  auto step = jit([](const Array& w, const Array& scale, const Array& x) {
    auto loss = [&](const Array& w) { return mean(square(dot(x.astype(float16), w.astype(float16)).astype(float32))) * scale; };
    auto g = grad(loss)(w) / scale;
    auto is_fine = all(isfinite(g));
    return std::pair{where(is_fine, w - 0.01 * g, w), where(is_fine, scale * 2.0, scale / 2.0)};
  });
  auto scale = full({}, 1024.0);
  for (int i = 0; i < 12; ++i) std::tie(w, scale) = step(w, scale, x);
  seen.add("scaled_loss", std::pair{w, scale});
}

// Chains over the devices, each with its key
void chains(Seen& seen, const Mesh& mesh) {
  auto log_density = [](const Array& x) { return -0.5 * sum(square(x)) - 0.1 * sum(power(x, 4)); };
  auto chain = [&](const Array& key) {
    auto step = [&](const std::pair<Array, Array>& s, const Array& key) {
      auto [x, accepted] = s;
      auto both = random::split(key);
      auto proposal = x + 0.5 * random::normal(both[0], {3});
      auto takes = log(random::uniform(both[1])) < log_density(proposal) - log_density(x);
      return std::pair{std::pair{where(takes, proposal, x), accepted + takes.astype(int32)}, x};
    };
    return scan(step, std::pair{zeros({3}), zeros({}, int32)}, random::split(key, Shape{20}));
  };
  auto keys = on(mesh, random::split(random::key(27), Shape{8}), P("x"));
  seen.add("chains", jit(vmap(chain))(keys));
}

void ensemble(Seen& seen, const Mesh& mesh) {
  auto w = on(mesh, vmap([](const Array& key) { return random::normal(key, {6, 3}); })(random::split(random::key(28), Shape{8})), P("x"));
  auto x = random::normal(random::key(29), {10, 6}), y = random::normal(random::key(30), {10, 3});
  auto loss = [](const Array& w, const Array& x, const Array& y) { return mean(square(tanh(dot(x, w)) - y)); };
  auto train = vmap([&](const Array& w) {
    return fori_loop(
        0, 5, [&](const Array&, const Array& w) { return w - 0.1 * grad(loss)(w, x, y); }, w);
  });
  seen.add("ensemble", jit(train)(w));
}

// Frozen weights, and two thin matrices that learn
void low_rank(Seen& seen, const Mesh& mesh) {
  auto k = random::split(random::key(31), 4);
  auto frozen = on(mesh, random::normal(k[0], {16, 16}), P("x", "y"));
  Tree lora{{"a", random::normal(k[1], {16, 2})}, {"b", zeros({2, 16})}};
  auto x = on(mesh, random::normal(k[2], {8, 16}), P("x"));
  auto loss = [&](const Tree& lora, const Array& x) {
    return mean(square(dot(x, stop_gradient(frozen)) + dot(dot(x, lora.at("a")), lora.at("b")) * 0.5));
  };
  seen.add("low_rank", jit(grad(loss))(lora, x));
}

// Each device compares its own with all of them
void contrastive(Seen& seen, const Mesh& mesh) {
  auto k = random::split(random::key(32), 3);
  auto w = random::normal(k[0], {6, 4}), a = random::normal(k[1], {16, 6}), b = random::normal(k[2], {16, 6});
  auto loss = shard_map(
      [](const Array& w, const Array& a, const Array& b) {
        auto unit = [&](const Array& x) {
          auto z = dot(x, w);
          return z / linalg::norm(z, -1, {}, true);
        };
        auto za = unit(a), zb = all_gather(unit(b), "x", {.tiled = true});
        auto logits = dot(za, zb.T()) / 0.1;
        auto labels = axis_index("x") * za.shape()[0] + arange(za.shape()[0]);
        return pmean(-mean(take_along_axis(log_softmax(logits), expand_dims(labels, 1), 1)), "x");
      },
      {.mesh = mesh, .in_specs = {P(), P("x"), P("x")}, .out_specs = {P()}});
  seen.add("contrastive", jit(value_and_grad(loss))(w, a, b));
}

void evolution(Seen& seen, const Mesh& mesh) {
  auto fitness = [](const Array& x) { return -sum(square(x - 1.0)); };
  auto step = jit([&](const Array& center, const Array& key) {
    auto noise = with_sharding_constraint(random::normal(key, {16, 5}), NamedSharding(mesh, P("x")));
    auto scores = vmap(fitness)(center + 0.1 * noise);
    auto ranks = argsort(argsort(scores)) / 15.0 - 0.5;
    return center + 0.5 / (16 * 0.1) * dot(ranks, noise);
  });
  auto center = zeros({5});
  for (int i = 0; i < 4; ++i) center = step(center, random::fold_in(random::key(33), i));
  seen.add("evolution", center);
}

// Advantages from the end of an episode to its start
void returns(Seen& seen, const Mesh& mesh) {
  auto k = random::split(random::key(34), 3);
  auto rewards = on(mesh, random::normal(k[0], {8, 12}), P("x")), values = on(mesh, random::normal(k[1], {8, 13}), P("x"));
  auto dones = on(mesh, random::bernoulli(k[2], 0.2, {8, 12}), P("x"));
  auto gae = [](const Array& rewards, const Array& values, const Array& dones) {
    auto alive = 1.0 - dones.astype(float32);
    auto deltas = rewards + 0.99 * values[Slice{1, 13}] * alive - values[Slice{0, 12}];
    auto step = [](const Array& carry, const std::pair<Array, Array>& at) {
      auto advantage = at.first + 0.99 * 0.95 * at.second * carry;
      return std::pair{advantage, advantage};
    };
    return std::get<1>(scan(step, zeros({}), std::pair{deltas, alive}, {.reverse = true}));
  };
  seen.add("returns", jit(vmap(gae))(rewards, values, dones));
}

// Each device keeps its part of the optimizer's state, and updates that part of the parameters
void parts_of_states(Seen& seen, const Mesh& mesh) {
  auto w = random::normal(random::key(35), {16, 4}), x = random::normal(random::key(36), {32, 16});
  auto step = shard_map(
      [](const Array& w, const Array& momentum, const Array& x) {
        auto mine = pcast(w, "x", "varying");
        auto g = grad([&](const Array& w) { return mean(square(dot(x, w) - 1.0)); })(mine);
        auto part = psum_scatter(g, "x", {.tiled = true}) / double(axis_size("x"));
        auto next = 0.9 * momentum + part;
        auto rows = dynamic_slice_in_dim(w, axis_index("x") * part.shape()[0], part.shape()[0]);
        return std::pair{rows - 0.1 * next, next};
      },
      {.mesh = mesh, .in_specs = {P(), P("x"), P("x")}, .out_specs = {P("x"), P("x")}});
  auto jitted = jit([&](const Array& w, const Array& m, const Array& x) {
    auto [parts, next] = step(w, m, x);
    return std::pair{with_sharding_constraint(parts, NamedSharding(mesh, P())), next};
  });
  auto momentum = on(mesh, zeros({16, 4}), P("x"));
  for (int i = 0; i < 3; ++i) std::tie(w, momentum) = jitted(w, momentum, x);
  seen.add("parts_of_states", std::pair{w, momentum});
}

// A field of velocities that is learned through the steps of Runge and Kutta
void neural_ode(Seen& seen, const Mesh& mesh) {
  auto w = random::normal(random::key(37), {4, 4}) * 0.5, x = on(mesh, random::normal(random::key(38), {8, 4}), P("x"));
  auto loss = [](const Array& w, const Array& x) {
    auto f = [&](const Array& y) { return tanh(dot(y, w)); };
    auto step = checkpoint([&](const Array& y) {
      auto k1 = f(y), k2 = f(y + 0.05 * k1), k3 = f(y + 0.05 * k2), k4 = f(y + 0.1 * k3);
      return y + 0.1 / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4);
    });
    return mean(square(fori_loop(
        0, 8, [&](const Array&, const Array& y) { return step(y); }, x)));
  };
  seen.add("neural_ode", jit(value_and_grad(loss))(w, x));
}

// Points on each device, means over all
void clusters(Seen& seen, const Mesh& mesh) {
  auto x = on(mesh, random::normal(random::key(39), {64, 3}), P("x"));
  auto f = shard_map(
      [](const Array& x) {
        auto step = [&](const Array&, const Array& means) {
          auto nearest = argmin(sum(square(expand_dims(x, 1) - means), -1), 1), member = one_hot(nearest, 5);
          auto sums = psum(dot(member.T(), x), "x"), counts = psum(sum(member, 0), "x");
          return sums / maximum(expand_dims(counts, 1), 1.0);
        };
        return fori_loop(0, 6, step,
                         all_gather(x[Slice{0, 2}], "x", {.tiled = true})[Slice{0, 5}] * 0.0 + expand_dims(arange(5.0), 1) * 0.1);
      },
      {.mesh = mesh, .in_specs = {P("x")}, .out_specs = {P()}, .check_vma = false});
  seen.add("clusters", jit(f)(x));
}

// A wave on a ring whose cells lie on all devices
void wave(Seen& seen, const Mesh& mesh) {
  auto u = on(mesh, exp(-square(linspace(-3, 3, 64))), P(std::vector<std::string>{"x", "y"}));
  auto run = [](const Array& u) {
    auto step = [](const std::pair<Array, Array>& s, const std::tuple<>&) {
      auto [now, before] = s;
      auto next = 2.0 * now - before + 0.25 * (roll(now, 1) - 2.0 * now + roll(now, -1));
      return std::pair{std::pair{next, now}, sum(square(next))};
    };
    return scan(step, std::pair{u, u}, std::tuple<>{}, {.length = 10});
  };
  seen.add("wave", jit(run)(u));
}

// Newton's steps of many small problems at once
void newton(Seen& seen, const Mesh& mesh) {
  auto targets = on(mesh, random::uniform(random::key(40), {8, 3}), P("x"));
  auto solve = [](const Array& target) {
    auto energy = [&](const Array& x) { return sum(exp(x)) - sum(x * (1.0 + target)) + 0.1 * square(sum(x)); };
    auto step = [&](const Array&, const Array& x) { return x - linalg::solve(hessian(energy)(x), grad(energy)(x)); };
    return fori_loop(0, 4, step, zeros({3}));
  };
  seen.add("newton", jit(vmap(solve))(targets));
}

// Rows and columns scaled in turn until they sum to one
void sinkhorn(Seen& seen, const Mesh& mesh) {
  auto costs = on(mesh, random::uniform(random::key(41), {8, 8}), P("x", "y"));
  auto plan = [](const Array& costs) {
    auto kernel = exp(-costs / 0.1);
    using State = std::tuple<Array, Array, Array>;
    auto goes_on = [&](const State& s) {
      auto [u, v, i] = s;
      return logical_and(max(abs(u * dot(kernel, v) - 1.0)) > 1e-3, i < 100);
    };
    auto step = [&](const State& s) {
      auto u = 1.0 / dot(kernel, std::get<1>(s));
      return State{u, 1.0 / dot(kernel.T(), u), std::get<2>(s) + 1};
    };
    auto [u, v, i] = while_loop(goes_on, step, State{ones({8}), ones({8}), zeros({}, int32)});
    return expand_dims(u, 1) * kernel * v;
  };
  seen.add("sinkhorn", jit(plan)(costs));
}

TEST(UserModels, GiveWhatJaxGives) {
  Seen seen("user_models.txt");
  const Mesh mesh = make_mesh({4, 2}, {"x", "y"});
  for (auto program : {autoencoder, convolutions, lstm, sampling, scaled_loss, chains, ensemble, low_rank, contrastive, evolution, returns,
                       parts_of_states, neural_ode, clusters, wave, newton, sinkhorn})
    program(seen, mesh);
}

}  // namespace
