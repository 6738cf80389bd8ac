// Programs that people write with JAX's sharding, ported line by line: matrix products with their transfers in between, attention round a
// ring, a training step, a vocabulary in parts, decoding, stencils, particles, linear algebra, derivatives. Values and shardings are JAX's,
// and no program moves more than XLA's module; make_ported_goldens.py has the same programs in Python.
#include <shardlab/shardlab.h>

#include <gtest/gtest.h>

#include "tests/exec/jax_goldens.h"

// Parameters have their arguments' names, as users write them.
#pragma GCC diagnostic ignored "-Wshadow"

using namespace shardlab;  // as a user's program has it
using testing_goldens::on;
using testing_goldens::Seen;

namespace {

using Perm = std::vector<std::pair<int, int>>;

// Everybody's neighbour `by` further.
Perm turned(int n, int by) {
  Perm perm;
  for (int i = 0; i < n; ++i) perm.push_back({i, (i + by + n) % n});
  return perm;
}

// Products whose operand arrives, or whose result leaves, block by block
void overlapped(Seen& seen, const Mesh& mesh) {
  auto k = random::split(random::key(1), 2);
  auto a = on(mesh, random::normal(k[0], {16, 32}), P("x")), w = on(mesh, random::normal(k[1], {32, 24}), P(nullptr, "x"));
  auto gathered = jit(shard_map(
      [](const Array& a, const Array& w) {
        const int n = axis_size("x");
        const auto rows = a.shape()[0];
        auto i = axis_index("x");
        auto step = [&](const Array& t, const std::pair<Array, Array>& c) {
          auto [out, a] = c;
          return std::pair{dynamic_update_slice(out, dot(a, w), {((i + t) % n) * rows, 0}), ppermute(a, "x", turned(n, -1))};
        };
        return fori_loop(0, n, step, std::pair{pcast(zeros({rows * n, w.shape()[1]}), "x", "varying"), a}).first;
      },
      {.mesh = mesh, .in_specs = {P("x"), P(nullptr, "x")}, .out_specs = {P(nullptr, "x")}}));
  seen.run("gathered", gathered, a, w);
  auto scattered = jit(shard_map(
      [](const Array& a, const Array& w) {
        const int n = axis_size("x");
        const auto rows = a.shape()[0] / n;
        auto i = axis_index("x");
        auto acc = pcast(zeros({rows, w.shape()[1]}), "x", "varying");
        for (int t = 0; t < n; ++t) {
          if (t > 0) acc = ppermute(acc, "x", turned(n, 1));
          acc = acc + dot(dynamic_slice_in_dim(a, (i + (n - 1 - t)) % n * rows, rows, 0), w);
        }
        return acc;
      },
      {.mesh = mesh, .in_specs = {P(nullptr, "x"), P("x")}, .out_specs = {P("x")}}));
  seen.run("scattered", scattered, on(mesh, a, P(nullptr, "x")), on(mesh, w, P("x")));
}

// Causal attention whose keys and values go round a ring
void ring(Seen& seen, const Mesh& mesh) {
  auto keys = random::split(random::key(3), 3);
  auto part = [&](int i) { return on(mesh, random::normal(keys[i], {2, 16, 2, 8}), P(nullptr, "x")); };
  auto f = shard_map(
      [](const Array& q, const Array& k, const Array& v) {
        const int n = axis_size("x");
        const auto size = q.shape()[1];
        auto i = axis_index("x");
        using Carry = std::tuple<Array, Array, Array, Array, Array>;
        auto step = [&](const Carry& c, const Array& t) {
          auto [k, v, o, m, l] = c;
          auto source = (i - t) % n;
          auto s = einsum("bqhd,bkhd->bhqk", q, k) / std::sqrt(8.0);
          s = where((i * size + arange(size))[{ellipsis, newaxis}] >= (source * size + arange(size))[newaxis], s, -1e30);
          auto top = maximum(m, max(s, -1)), p = exp(s - top[{ellipsis, newaxis}]), scale = exp(m - top);
          o = o * scale[{ellipsis, newaxis}] + einsum("bhqk,bkhd->bhqd", p, v);
          l = l * scale + sum(p, -1);
          return std::pair{Carry{ppermute(k, "x", turned(n, 1)), ppermute(v, "x", turned(n, 1)), o, top, l}, std::tuple<>{}};
        };
        auto vary = [](const Array& x) { return pcast(x, "x", "varying"); };
        const Carry first{k, v, vary(zeros({2, 2, size, 8})), vary(full({2, 2, size}, -1e30)), vary(zeros({2, 2, size}))};
        auto [last, _] = scan(step, first, arange(n));
        return transpose(std::get<2>(last) / std::get<4>(last)[{ellipsis, newaxis}], {0, 2, 1, 3});
      },
      {.mesh = mesh, .in_specs = {P(nullptr, "x"), P(nullptr, "x"), P(nullptr, "x")}, .out_specs = {P(nullptr, "x")}});
  auto loss = [&](const Array& q, const Array& k, const Array& v) { return sum(square(f(q, k, v))); };
  seen.run("ring", jit(f), part(0), part(1), part(2));
  seen.run("ring.grad", jit(grad<0, 1, 2>(loss)), part(0), part(1), part(2));
}

using Params = std::map<std::string, Array>;
struct TrainState {
  Params p, m, v;
  Array step, scale;
};
SHARDLAB_TREE(TrainState, p, m, v, step, scale)

// Adam with gradients summed over batches by scan, clipped by their norm, and a scaled loss
void training(Seen& seen, const Mesh& mesh) {
  auto k = random::split(random::key(4), 4);
  Params p{{"b1", on(mesh, zeros({64}), P("y"))},
           {"b2", on(mesh, zeros({8}), P())},
           {"w1", on(mesh, 0.3 * random::normal(k[0], {16, 64}), P("x", "y"))},
           {"w2", on(mesh, 0.3 * random::normal(k[1], {64, 8}), P("y", "x"))}};
  auto x = on(mesh, random::normal(k[2], {4, 16, 16}), P(nullptr, "x")),
       y = on(mesh, random::randint(k[3], {4, 16}, 0, 8), P(nullptr, "x"));
  auto loss = [&](const Params& p, const Array& x, const Array& y, const Array& scale) {
    auto h = with_sharding_constraint(gelu(dot(x, p.at("w1")) + p.at("b1")), NamedSharding(mesh, P("x", "y")));
    auto l = -mean(take_along_axis(log_softmax(dot(h, p.at("w2")) + p.at("b2")), y[{Slice{}, newaxis}], 1));
    return std::tuple{l * scale, l};
  };
  auto zeros_of = [](const Array& a) { return zeros_like(a); };
  auto update = jit([&](const TrainState& s, const Array& x, const Array& y) {
    auto add_gradients = [&](const Params& g, const std::pair<Array, Array>& batch) {
      auto [l, more] = value_and_grad(loss)(s.p, batch.first, batch.second, s.scale);
      return std::pair{tree::map([](const Array& a, const Array& b) { return a + b; }, g, more), std::get<1>(l)};
    };
    auto [g, losses] = scan(add_gradients, tree::map(zeros_of, s.p), std::pair{x, y});
    g = tree::map([&](const Array& a) { return a / (4 * s.scale); }, g);
    std::vector<Array> are_finite, squares;
    for (const Array& a : tree::leaves(g)) {
      are_finite.push_back(all(isfinite(a)));
      squares.push_back(sum(a * a));
    }
    auto finite = all(stack(are_finite)), norm = sqrt(sum(stack(squares)));
    g = tree::map([&](const Array& a) { return a * minimum(1.0, 0.5 / (norm + 1e-6)); }, g);
    TrainState next{{}, {}, {}, s.step + 1, where(finite, s.scale, s.scale / 2)};
    next.m = tree::map([](const Array& m, const Array& g) { return 0.9 * m + 0.1 * g; }, s.m, g);
    next.v = tree::map([](const Array& v, const Array& g) { return 0.99 * v + 0.01 * g * g; }, s.v, g);
    auto t = next.step.astype(float32);
    auto moved = [&](const Array& p, const Array& m, const Array& v) {
      auto by = 0.05 * (m / (1 - power(0.9, t))) / (sqrt(v / (1 - power(0.99, t))) + 1e-8);
      return where(finite, p - by, p);
    };
    next.p = tree::map(moved, s.p, next.m, next.v);
    return std::tuple{next, std::tuple{mean(losses), norm}};
  });
  auto zero = tree::map(zeros_of, p);
  seen.run("training", update, TrainState{p, zero, zero, asarray(0), full({}, 1024.0)}, x, y);
}

// Embeddings and cross-entropy over a vocabulary in parts
void vocabulary(Seen& seen, const Mesh& mesh) {
  auto k = random::split(random::key(5), 3);
  auto E = on(mesh, random::normal(k[0], {32, 16}), P("y"));
  auto ids = on(mesh, random::randint(k[1], {8, 12}, 0, 32), P("x")), labels = on(mesh, random::randint(k[2], {8, 12}, 0, 32), P("x"));
  auto loss = shard_map(
      [](const Array& E, const Array& ids, const Array& labels) {
        const auto size = E.shape()[0];
        auto first = axis_index("y") * size;
        auto mine = [&](const Array& ids) {
          auto i = ids - first;
          return std::pair{(i >= 0) & (i < size), clip(i, 0, size - 1)};
        };
        auto [own, i] = mine(ids);
        auto h = tanh(psum(where(own[{ellipsis, newaxis}], take(E, i, 0), 0.0), "y"));
        auto logits = einsum("btd,vd->btv", h, E);
        auto top = pmax(stop_gradient(max(logits, -1)), "y");
        auto total = log(psum(sum(exp(logits - top[{ellipsis, newaxis}]), -1), "y")) + top;
        auto [has_label, j] = mine(labels);
        auto label = take_along_axis(logits, j[{ellipsis, newaxis}], -1)[{ellipsis, 0}];
        return pmean(mean(total - psum(where(has_label, label, 0.0), "y")), "x");
      },
      {.mesh = mesh, .in_specs = {P("y"), P("x"), P("x")}, .out_specs = {P()}});
  seen.run("vocabulary", jit(value_and_grad(loss)), E, ids, labels);
}

// Tokens one by one, with a cache
void decoding(Seen& seen, const Mesh& mesh) {
  auto k = random::split(random::key(10), 4);
  const int count = 6, batch = 8;
  Params W{{"e", on(mesh, 0.5 * random::normal(k[0], {24, 16}), P(nullptr, "y"))},
           {"k", on(mesh, 0.3 * random::normal(k[1], {16, 4, 4}), P(nullptr, "y"))},
           {"o", on(mesh, 0.3 * random::normal(k[2], {4, 4, 16}), P("y"))}};
  auto cache = on(mesh, zeros({batch, count, 4, 4}), P("x", nullptr, "y")), token = on(mesh, random::randint(k[3], {batch}, 0, 24), P("x"));
  auto generate = jit([&](const Params& W, const Array& token, const Array& cache) {
    auto step = [&](const std::pair<Array, Array>& c, const Array& t) {
      auto [token, cache] = c;
      auto h = W.at("e")[token], q = einsum("bd,dhk->bhk", h, W.at("k"));
      cache = dynamic_update_slice(cache, q[{Slice{}, newaxis}], {0, t, 0, 0});
      auto s = where((arange(count) <= t)[{newaxis, newaxis}], einsum("bhk,bthk->bht", q, cache) / 2.0, -1e9);
      auto a = einsum("bht,bthk->bhk", softmax(s), cache);
      auto logits = dot(h + einsum("bhk,hkd->bd", a, W.at("o")), transpose(W.at("e")));
      auto [best, _] = top_k(log_softmax(logits), 2);
      token = argmax(logits, -1);
      return std::pair{std::pair{token, cache}, std::pair{token, best}};
    };
    auto [last, out] = scan(step, std::pair{token, cache}, arange(count));
    return std::tuple{out, last.second};
  });
  seen.run("decoding", generate, W, token, cache);
}

// A stencil whose edges come from the neighbours
void halo(Seen& seen, const Mesh& mesh) {
  auto f = shard_map(
      [](const Array& u) {
        auto wider = [](const Array& u, const char* name, int d) {
          const int n = axis_size(name);
          const auto size = u.shape()[d];
          return concatenate({ppermute(slice_in_dim(u, size - 1, size, d), name, turned(n, 1)), u,
                              ppermute(slice_in_dim(u, 0, 1, d), name, turned(n, -1))},
                             d);
        };
        auto step = [&](const Array&, const Array& u) {
          auto e = wider(u, "x", 0), f = wider(u, "y", 1);
          auto across = f[{Slice{}, Slice{2}}] + f[{Slice{}, Slice{.stop = -2}}];
          return u + 0.1 * (e[Slice{2}] + e[Slice{.stop = -2}] + across + roll(u, 1, 2) + roll(u, -1, 2) - 6 * u);
        };
        return fori_loop(0, 5, step, u);
      },
      {.mesh = mesh, .in_specs = {P("x", "y")}, .out_specs = {P("x", "y")}});
  seen.run("halo", jit(f), on(mesh, random::normal(random::key(14), {16, 8, 4}), P("x", "y")));
}

// Particles that are summed into cells and sorted by them
void particles(Seen& seen, const Mesh& mesh) {
  auto k = random::split(random::key(15), 2);
  auto f = jit([](const Array& place, const Array& mass) {
    auto c = floor(place * 4).astype(int32), cell = c[{Slice{}, 0}] * 4 + c[{Slice{}, 1}];
    auto total = segment_sum(mass, cell, 16);
    auto center = segment_sum(mass[{Slice{}, newaxis}] * place, cell, 16) / maximum(total, 1e-6)[{Slice{}, newaxis}];
    return std::tuple{place + 0.1 * (center[cell] - place), total, bincount(cell, 16), place[argsort(cell)]};
  });
  seen.run("particles", f, on(mesh, random::uniform(k[0], {64, 2}), P("x")), on(mesh, random::uniform(k[1], {64}), P("x")));
}

// A tall matrix's factors by those of its parts, and conjugate gradients
void linear(Seen& seen, const Mesh& mesh) {
  auto A = on(mesh, random::normal(random::key(16), {64, 8}), P("x")), b = on(mesh, random::normal(random::key(17), {64}), P("x"));
  auto tall = shard_map(
      [](const Array& A) {
        auto [q, r] = linalg::qr(A);
        auto [q2, r2] = linalg::qr(all_gather(r, "x").reshape({-1, 8}));
        auto s = sign(diag(r2));
        return std::tuple{dot(q, dynamic_slice_in_dim(q2, axis_index("x") * 8, 8, 0)) * s, r2 * s[{Slice{}, newaxis}]};
      },
      {.mesh = mesh, .in_specs = {P("x")}, .out_specs = {P("x"), P()}, .check_vma = false});
  seen.run("tall_qr", jit(tall), A);
  auto solve = jit([](const Array& A, const Array& b) {
    auto r = dot(transpose(A), b);
    using Carry = std::tuple<Array, Array, Array, Array>;
    auto step = [&](const Array&, const Carry& c) {
      auto [x, r, p, rr] = c;
      auto q = dot(transpose(A), dot(A, p)) + 0.1 * p, a = rr / dot(p, q);
      r = r - a * q;
      auto next = dot(r, r);
      return Carry{x + a * p, r, r + next / rr * p, next};
    };
    return std::get<0>(fori_loop(0, 6, step, Carry{zeros({8}), r, r, dot(r, r)}));
  });
  seen.run("conjugate_gradients", solve, A, b);
}

void derivatives(Seen& seen, const Mesh& mesh) {
  auto x = on(mesh, linspace(-1, 1, 16), P("x")), W = on(mesh, random::normal(random::key(19), {16, 16}) * 0.3, P(nullptr, "x"));
  auto f = [](const Array& x, const Array& W) { return tanh(dot(W, x)) * sum(x); };
  auto g = [&](const Array& x, const Array& W) { return sum(square(f(x, W))); };
  auto by_vector = [&](const Array& x, const Array& v, const Array& W) {
    return jvp([&](const Array& x) { return grad(g)(x, W); }, std::tuple{x}, std::tuple{v}).second;
  };
  seen.run("jacobian", jit(jacrev(f)), x, W);
  seen.run("hessian", jit(hessian(g)), x, W);
  seen.run("hessian_by_vector", jit(by_vector), x, on(mesh, cos(x), P("x")), W);
}

// Derivatives of one's own with collectives in them
void tensor_parallel(Seen& seen, const Mesh& mesh) {
  auto k = random::split(random::key(20), 3);
  auto enter = custom_vjp([](const Array& x) { return x; }, [](const Array& x) { return std::pair(x, std::tuple<>()); },
                          [](const auto&, const Array& g) { return psum(g, "y"); });
  auto leave =
      custom_vjp([](const Array& x) { return psum(x, "y"); }, [](const Array& x) { return std::pair(psum(x, "y"), std::tuple<>()); },
                 [](const auto&, const Array& g) { return g; });
  auto step = shard_map(
      [&](const Array& x, const Array& A, const Array& B) {
        auto loss = [&](const Array& A, const Array& B) { return sum(square(leave(dot(gelu(dot(enter(x), A)), B)))); };
        auto [l, g] = value_and_grad<0, 1>(loss)(A, B);
        return std::tuple{psum(l, "x"), tree::map([](const Array& a) { return psum(a, "x"); }, g)};
      },
      {.mesh = mesh, .in_specs = {P("x"), P(nullptr, "y"), P("y")}, .out_specs = {P(), P(nullptr, "y"), P("y")}, .check_vma = false});
  auto x = on(mesh, random::normal(k[0], {8, 16}), P("x")), A = on(mesh, random::normal(k[1], {16, 32}) * 0.2, P(nullptr, "y"));
  seen.run("tensor_parallel", jit(step), x, A, on(mesh, random::normal(k[2], {32, 16}) * 0.2, P("y")));
}

// Two experts for each token, each with room for some
void dispatch(Seen& seen, const Mesh& mesh) {
  auto k = random::split(random::key(32), 3);
  const int tokens = 64, experts = 8, room = 16;
  auto f = jit([&](const Array& x, const Array& r, const Array& w) {
    auto [v, i] = top_k(softmax(dot(x, r)), 2);
    auto hot = one_hot(i, experts);
    auto place = cumsum(hot.reshape({tokens * 2, experts}), 0).reshape({tokens, 2, experts}) * hot - 1;
    auto fits = (place < room) & (place >= 0);
    auto sent = einsum("tke,tkec->tec", where(fits, hot, 0.0), one_hot(where(fits, place, 0).astype(int32), room));
    auto there = with_sharding_constraint(einsum("tec,td->ecd", sent, x), NamedSharding(mesh, P("x")));
    return einsum("tec,ecd->td", sent * einsum("tke,tk->te", hot, v)[{ellipsis, newaxis}], einsum("ecd,edf->ecf", there, w));
  });
  seen.run("dispatch", f, on(mesh, random::normal(k[0], {tokens, 8}), P("x")), on(mesh, random::normal(k[1], {8, experts}), P()),
           on(mesh, random::normal(k[2], {experts, 8, 8}), P("x")));
}

// Shardings in types, through layers in a scan
void typed(Seen& seen) {
  auto mesh = make_mesh({4, 2}, {"x", "y"}, {AxisType::kExplicit, AxisType::kExplicit});
  MeshScope scope(mesh);
  auto k = random::split(random::key(30), 3);
  auto x = on(mesh, random::normal(k[0], {8, 16}), P("x", nullptr));
  auto W = on(mesh, 0.2 * random::normal(k[1], {3, 16, 16}), P(nullptr, nullptr, "y"));
  auto V = on(mesh, 0.2 * random::normal(k[2], {3, 16, 16}), P(nullptr, "y", nullptr));
  auto layer = [](const Array& h, const std::pair<Array, Array>& w) {
    return std::pair{h + dot(tanh(dot(h, w.first)), w.second, {.out_sharding = P("x", nullptr)}), sum(h)};
  };
  auto loss = [&](const Array& W, const Array& V, const Array& x) { return mean(square(std::get<0>(scan(layer, x, std::pair{W, V})))); };
  seen.run("typed", jit(grad<0, 1>(loss)), W, V, x);
}

TEST(PortedPrograms, GiveWhatJaxGivesForNoMoreBytes) {
  Seen seen("ported_programs.txt");
  Mesh mesh = make_mesh({4, 2}, {"x", "y"});
  for (auto program : {overlapped, ring, training, vocabulary, decoding, halo, particles, linear, derivatives, tensor_parallel, dispatch})
    program(seen, mesh);
  typed(seen);
}

}  // namespace
