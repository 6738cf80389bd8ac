// jax.numpy.linalg on cut batches and cut matrices: values, gradients and shardings are JAX's (make_linalg_goldens.py).
#include "tests/exec/jax_goldens.h"

using namespace shardlab;  // as a user's program has it
using testing_goldens::Seen;

namespace {

namespace la = linalg;

Array transposed(const Array& x) { return matrix_transpose(x); }
Array projector(const Array& v) {
  auto [values, vectors] = la::eigh(v);
  return matmul(vectors, expand_dims(tanh(values), -1) * transposed(vectors));
}
Array polar(const Array& v) {
  auto [u, s, vh] = la::svd(v, false);
  return matmul(u, vh);
}

struct Given {
  Array x, positive, tall, wide, b, z;
};
SHARDLAB_TREE(Given, x, positive, tall, wide, b, z)

Given given() {
  Array x = ((square(arange(4 * 6 * 6)) % 97 * 13 % 101 - 50.25) / 40.0).reshape({4, 6, 6});
  Array corner = slice(x, {0, 0, 0}, {4, 4, 4});
  return {x,
          matmul(x, transposed(x)) + eye(6),
          slice(x, {0, 0, 0}, {4, 6, 4}),
          slice(x, {0, 0, 0}, {4, 4, 6}),
          cos(arange(4 * 6 * 3, float32)).reshape({4, 6, 3}),
          corner + std::complex<double>(0, 1) * transposed(corner)};
}

void programs(Seen& seen, const std::string& name, const Given& at) {
  auto run = [&](const std::string& what, auto f, const auto&... args) { seen.add(name + what, jit(f)(args...)); };
  auto gradient = [&](const std::string& what, auto f, const Array& v) { seen.add(name + "grad." + what, jit(grad(f))(v)); };
  run(
      "cholesky", [](const Array& v) { return la::cholesky(v); }, at.positive);
  run(
      "upper", [](const Array& v) { return la::cholesky(v, true); }, at.positive);
  run(
      "lu",
      [](const Array& v) {
        auto r = la::lu(v);
        return std::tuple(r.lu, r.pivots, r.permutation);
      },
      at.x);
  run(
      "qr",
      [](const Array& v) {
        auto r = la::qr(v);
        return std::tuple(r.Q, r.R);
      },
      at.tall);
  run(
      "complete", [](const Array& v) { return la::qr(v, la::QrMode::kComplete).R; }, at.tall);
  run(
      "wide",
      [](const Array& v) {
        auto r = la::qr(v);
        return std::tuple(r.Q, r.R);
      },
      at.wide);
  run(
      "eigvalsh", [](const Array& v) { return la::eigvalsh(v); }, at.x);
  run("projector", projector, at.x);
  run(
      "svdvals", [](const Array& v) { return la::svdvals(v); }, at.wide);
  run("polar", polar, at.tall);
  run(
      "solve", [](const Array& v, const Array& r) { return la::solve(v, r); }, at.x, at.b);
  run(
      "inv", [](const Array& v) { return la::inv(v); }, at.x);
  run(
      "det", [](const Array& v) { return la::det(v); }, at.x);
  run(
      "det3",
      [](const Array& v) {
        return la::det(slice(v, {0, 0, 0}, {4, 3, 3}));
      },
      at.x);
  run(
      "slogdet",
      [](const Array& v) {
        auto r = la::slogdet(v);
        return std::tuple(r.sign, r.logabsdet);
      },
      at.x);
  run(
      "pinv", [](const Array& v) { return la::pinv(v); }, at.tall);
  run(
      "rank", [](const Array& v) { return la::matrix_rank(v); }, at.tall);
  run(
      "cond", [](const Array& v) { return la::cond(v); }, at.x);
  run(
      "triangular", [](const Array& v, const Array& r) { return la::solve_triangular(v + 4 * eye(6), r, {.lower = true, .trans = 1}); },
      at.x, at.b);
  run(
      "power", [](const Array& v) { return la::matrix_power(v, -2); }, at.x);
  run(
      "nuclear",
      [](const Array& v) {
        return la::norm(v, {1, 2}, "nuc");
      },
      at.tall);
  run(
      "spectral",
      [](const Array& v) {
        return la::norm(v, {1, 2}, 2);
      },
      at.tall);
  run(
      "complex", [](const Array& v) { return abs(la::inv(v)); }, at.z);
  run(
      "hermitian", [](const Array& v) { return la::eigvalsh(v); }, at.z);
  run(
      "eigvals", [](const Array& v) { return la::eigvals(v); }, at.x);
  run(
      "eig",
      [](const Array& v) {
        auto [values, vectors] = la::eig(v);
        return matmul(vectors, expand_dims(sin(values), -1) * la::inv(vectors));
      },
      at.x);
  run(
      "complex_eigvals", [](const Array& v) { return la::eigvals(v); }, at.z);
  run(
      "roots",
      [](const Array& v) {
        return roots(v[{0, 0}], false);
      },
      at.x);
  run(
      "sqrtm", [](const Array& v) { return la::sqrtm(v[1] + 9 * eye(6)); }, at.x);
  gradient(
      "cholesky", [](const Array& v) { return sum(sin(la::cholesky(v))); }, at.positive);
  gradient(
      "logdet", [](const Array& v) { return sum(la::slogdet(v).logabsdet); }, at.x);
  gradient(
      "solve", [&](const Array& v) { return sum(sin(la::solve(v, at.b))); }, at.x);
  gradient(
      "qr", [](const Array& v) { return sum(sin(la::qr(v).Q) + sum(la::qr(v).R)); }, at.tall);
  gradient(
      "complete", [](const Array& v) { return sum(sin(la::qr(v, la::QrMode::kComplete).Q)); }, at.tall);
  gradient(
      "values", [](const Array& v) { return sum(tanh(la::eigvalsh(v))); }, at.x);
  gradient(
      "projector", [](const Array& v) { return sum(sin(projector(v))); }, at.x);
  gradient(
      "eigvals", [](const Array& v) { return sum(sin(real(la::eigvals(v))) * cosh(imag(la::eigvals(v)))); }, at.x);
  gradient(
      "nuclear", [](const Array& v) { return sum(la::svdvals(v)); }, at.wide);
  gradient(
      "polar", [](const Array& v) { return sum(sin(polar(v))); }, at.tall);
  Array first = index_in_dim(given().x, 0, 0, false);
  run("batched", vmap([first](const Array& r) { return la::solve(first, r); }), at.b);
}

TEST(Linalg, GivesWhatJaxGives) {
  Seen seen("linalg.txt");
  Mesh mesh = make_mesh({4, 2}, {"x", "y"});
  programs(seen, "batch.", device_put(given(), NamedSharding(mesh, P("x"))));
  programs(seen, "rows.", device_put(given(), NamedSharding(mesh, P(nullptr, "y"))));
  Given at = given();
  auto found = la::lstsq(index_in_dim(at.tall, 0, 0, false), index_in_dim(at.b, 0, 0, false));
  seen.add("lstsq", std::tuple(found.x, found.residuals, found.rank, found.s));
}

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const UserError& error) { return error.what(); }
  return "no error";
}

TEST(Linalg, ErrorsSayWhatIsWrong) {
  auto expect = [](const std::string& text, const std::function<void()>& f) {
    EXPECT_NE(message_of(f).find(text), std::string::npos) << message_of(f);
    EXPECT_NE(message_of(f).find("linalg_test.cpp"), std::string::npos) << message_of(f);
  };
  Array x = ones({3, 4}), square = eye(3);
  expect("must have shape [..., n, n], got (3, 4)", [&] { la::inv(x); });
  expect("The input to cholesky must be a square matrix. Got shape (3, 4).", [&] { la::cholesky(x); });
  expect("Input 0 to qr must have rank at least 2, but got shape=(3,)", [&] { la::qr(ones({3})); });
  expect("shapes a=[..., m, m] and b=[..., m, k] or b=[m]; got a=(3, 3) and b=(4, 2)", [&] { la::solve(square, ones({4, 2})); });
  expect("Expected 'output' to be either 'real' or 'complex', got output=both.", [&] { la::schur(square, "both"); });
  expect("the quasi-triangular form of real matrices has no op", [&] { la::schur(square, "real"); });
  expect("Unsupported dtype bfloat16", [&] { la::svd(square.astype(bfloat16)); });
  expect("Singular value decomposition JVP not implemented for full matrices",
         [&] { grad([](const Array& v) { return sum(la::svd(v).U); })(x); });
  Mesh mesh = make_mesh({4, 2}, {"x", "y"}, {.axis_types = {AxisType::kExplicit, AxisType::kExplicit}});
  Array cut = device_put(ones({4, 4}), NamedSharding(mesh, P("x")));
  expect("must be unsharded on non-batch dimensions", [&] { la::cholesky(cut, false, false); });
}

}  // namespace
