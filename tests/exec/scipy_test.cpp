// jax.scipy.linalg, jax.image, jax.scipy.ndimage and further functions of jax.lax and jax.numpy: values, gradients and shardings are JAX's
// (make_scipy_goldens.py).
#include <gmock/gmock.h>

#include <limits>

#include "tests/exec/jax_goldens.h"
#include "tests/support/error_of.h"

using namespace shardlab;  // as a user's program has it
using testing_goldens::Seen;

namespace {

using ::testing::HasSubstr;
namespace la = linalg;
using Complex = std::complex<double>;

Array a() { return cos(square(arange(64, float32))).reshape({8, 8}); }
Array rows(const Array& x, std::int64_t from, std::int64_t to) { return slice(x, {from, 0}, {to, x.shape()[1]}); }
Array columns(const Array& x, std::int64_t from, std::int64_t to) { return slice(x, {0, from}, {x.shape()[0], to}); }
Array batch() { return stack({columns(rows(a(), 0, 4), 0, 4), 3 * columns(rows(a(), 4, 8), 4, 8), 20 * columns(rows(a(), 0, 4), 4, 8)}); }
Array x() { return linspace(0.05, 3.4, 16).reshape({8, 2}); }
Array v() { return linspace(-1, 2, 6); }
Array w() { return square(arange(4, float32)) - 1; }

template <typename F>
auto total(F f) {
  return [f](const Array& t) { return sum(sin(f(t))); };
}

struct Programs {
  Seen& seen;
  std::string prefix = {};
  template <typename F, typename... Args>
  void run(const std::string& name, F f, const Args&... args) const {
    seen.add(prefix + name, jit(f)(args...));
  }
  template <typename F>
  void gradient(const std::string& name, F f, const Array& at) const {
    run("grad." + name, grad(total(f)), at);
  }
  template <typename F>
  void both(const std::string& name, F f, const Array& at) const {
    run(name, f, at);
    gradient(name, f, at);
  }
};

std::pair<Array, Array> factors(const Array& t) {
  const la::LuFactorResult found = la::lu_factor(t);
  return {found.lu, found.pivots};
}

void matrices(const Programs& p) {
  auto expm = [](const Array& t) { return la::expm(t); };
  p.both("expm", expm, a());
  p.both("expm.batch", expm, batch() / 20);
  p.run("expm.squared", expm, batch() / 2);
  p.run(
      "expm.refused", [](const Array& t) { return isnan(la::expm(1e9 * t)); }, a());
  p.run(
      "expm.upper", [](const Array& t) { return la::expm(triu(t), true); }, a());
  p.run("lu_factor", factors, a());
  p.run("lu_factor.batch", factors, batch());
  for (int trans : {0, 1, 2})
    p.run(
        "lu_solve." + std::to_string(trans), [trans](const Array& t, const Array& b) { return la::lu_solve(la::lu_factor(t), b, trans); },
        a(), x());
  p.run(
      "lu_solve.complex",
      [](const Array& t) {
        const Array first = reshape(columns(t, 0, 1), {8});
        return abs(la::lu_solve(la::lu_factor(t + multiply(transpose(t), Complex(0, 1))), first, 2));
      },
      a());
  p.run(
      "lu_solve.batch",
      [](const Array& t) {
        return la::lu_solve(la::lu_factor(t), slice(t, {0, 0, 0}, {3, 4, 2}));
      },
      batch());
  p.gradient(
      "lu_solve", [](const Array& t) { return la::lu_solve(la::lu_factor(t), x()); }, a());
  const Array pivots = array<std::int32_t>({2, 1, 3, 3, 0, 3, 2, 3}, {2, 4});
  p.run(
      "pivots", [](const Array& t) { return la::lu_pivots_to_permutation(t, 5); }, pivots);
  auto definite_of = [](const Array& t) { return matmul(t, transpose(t)) + 3 * eye(8); };
  const Array definite = definite_of(a());
  for (bool lower : {false, true}) {
    p.both(
        lower ? "cho_factor.1" : "cho_factor.0", [=](const Array& t) { return la::cho_factor(definite_of(t), lower); }, a());
    p.run(
        lower ? "cho_solve.1" : "cho_solve.0",
        [lower](const Array& t, const Array& b) { return la::cho_solve(la::cho_factor(t, lower), b, lower); }, definite, x());
  }
  p.run(
      "polar", [](const Array& t) { return la::polar(t); }, a());
  p.run(
      "polar.left", [](const Array& t) { return la::polar(t, "left", "svd"); }, rows(a(), 0, 4));
  const Array inner = slice(v(), {1}, {6}), outer = slice(v(), {0}, {5}), zero = zeros({1});
  const Array below = concatenate({zero, sin(inner)}), above = concatenate({cos(outer), zero}), right = stack({v(), v() * v()}, 1);
  p.both(
      "tridiagonal", [=](const Array& t) { return la::tridiagonal_solve(below, t, above, right); }, 3 + v());
}

void named(const Programs& p) {
  auto of_v = [&](const std::string& name, auto f) { p.run(name, f, v()); };
  p.both(
      "toeplitz", [](const Array& t) { return la::toeplitz(t); }, v());
  of_v("toeplitz.two", [](const Array& t) { return la::toeplitz(t, Operand(w())); });
  of_v("toeplitz.complex", [](const Array& t) { return imag(la::toeplitz(t + multiply(t, Complex(0, 1)))); });
  p.run(
      "toeplitz.batch", [](const Array& t) { return la::toeplitz(t, Operand(w())); }, x());
  of_v("hankel", [](const Array& t) { return la::hankel(t); });
  of_v("hankel.two", [](const Array& t) { return la::hankel(t, Operand(w())); });
  of_v("circulant", [](const Array& t) { return la::circulant(t); });
  for (std::string mode : {"full", "valid", "same"})
    of_v("convolution_matrix." + mode, [mode](const Array& t) { return la::convolution_matrix(t, 4, mode); });
  of_v("companion", [](const Array& t) { return la::companion(t); });
  of_v("fiedler", [](const Array& t) { return la::fiedler(t); });
  of_v("leslie", [](const Array& t) { return la::leslie(t, slice(t, {1}, {6})); });
  auto of_size = [&](const std::string& name, auto f) { p.run(name, f); };
  of_size("hilbert", [] { return la::hilbert(5); });
  of_size("invhilbert", [] { return la::invhilbert(4); });
  of_size("hadamard", [] { return la::hadamard(8); });
  for (std::string kind : {"symmetric", "lower", "upper"}) of_size("pascal." + kind, [kind] { return la::pascal(5, kind); });
  of_size("helmert", [] { return la::helmert(5); });
  of_size("helmert.full", [] { return la::helmert(5, true); });
  of_size("dft", [] { return stack({real(la::dft(6)), imag(la::dft(6, "sqrtn")), real(la::dft(6, "n"))}); });
}

void images(const Programs& p, const Sharding& sharding) {
  const Array picture = device_put(cos(square(arange(48, float32))).reshape({8, 6}), sharding);
  for (std::string method : {"nearest", "linear", "cubic", "lanczos3", "lanczos5", "cubic-pytorch", "area"})
    for (const Shape& shape : {Shape{12, 9}, Shape{4, 3}})
      for (bool antialias : {true, false})
        p.run(
            method + "." + std::to_string(shape[0]) + (antialias ? ".1" : ".0"),
            [=](const Array& t) { return image::resize(t, shape, method, antialias); }, picture);
  p.gradient(
      "resize",
      [](const Array& t) {
        return image::resize(t, {12, 4}, "linear");
      },
      picture);
  p.run(
      "scale_and_translate",
      [](const Array& t, const Array& s, const Array& d) {
        return image::scale_and_translate(t, {8, 5}, {0, 1}, s, d, "linear");
      },
      picture, array<float>({0.8F, 1.3F}), array<float>({1.5F, -0.7F}));
  const Array down = linspace(-3.2, 9.7, 10), up = linspace(7.1, -2.4, 10);
  for (std::string mode : {"constant", "nearest", "wrap", "mirror", "reflect"})
    for (int order : {0, 1})
      p.run(
          "map." + mode + "." + std::to_string(order),
          [=](const Array& t) {
            return ndimage::map_coordinates(t, {down, up}, order, mode, 0.25);
          },
          picture);
  p.run(
      "map.whole",
      [=](const Array& t) {
        return ndimage::map_coordinates((9 * t).astype(int32), {down, up}, 1);
      },
      picture);
  p.gradient(
      "map",
      [=](const Array& t) {
        return ndimage::map_coordinates(t, {down, up}, 1, "wrap");
      },
      picture);
}

void lax_functions(const Programs& p, const Sharding& sharding) {
  const Array pairs = device_put(x(), sharding), square_ = device_put(a(), sharding);
  for (int axis : {0, 1})
    for (bool reverse : {false, true}) {
      const std::string name = "cumlogsumexp." + std::to_string(axis) + (reverse ? ".1" : ".0");
      p.both(
          name, [=](const Array& t) { return cumlogsumexp(t, axis, reverse); }, pairs);
    }
  for (auto [exponent, mantissa] : {std::pair{5, 10}, {8, 7}, {3, 2}, {8, 23}})
    p.run(
        "reduce_precision." + std::to_string(exponent) + "." + std::to_string(mantissa),
        [exponent = exponent, mantissa = mantissa](const Array& t) { return reduce_precision(t * 9, exponent, mantissa); }, square_);
  p.run("reduce_precision.odd", [] {
    const float infinity = std::numeric_limits<float>::infinity(), none = std::numeric_limits<float>::quiet_NaN();
    const Array rounded = reduce_precision(array<float>({1e-5F, -1e-5F, 65519, 65520, -1e9F, infinity, none, 0.1F}), 5, 10);
    return where(isnan(rounded), -7.0, where(isposinf(rounded), -8.0, where(isneginf(rounded), -9.0, rounded)));
  });
  auto run = [&](const std::string& name, auto f) { p.run(name, f, square_); };
  p.run(
      "broadcast",
      [](const Array& t) {
        return broadcast(t, {2, 3});
      },
      pairs);
  run("sort_key_val", [](const Array& t) { return sort_key_val(t, t * t, 0); });
  run("approx_max_k", [](const Array& t) { return approx_max_k(t, 3); });
  run("approx_min_k", [](const Array& t) { return approx_min_k(t, 3, 0); });
  run("select_n", [](const Array& t) { return select_n(arange(64).reshape({8, 8}) % 3, {t, -t, t * 2}); });
  run("ragged_dot", [](const Array& t) {
    return ragged_dot(t, stack({columns(a(), 0, 3), columns(a(), 3, 6), columns(a(), 5, 8)}), array<std::int32_t>({3, 0, 4}));
  });
  run("select", [](const Array& t) { return select({t < -0.5, t < 0.5, t < 0.7}, {t, t * 2, ones_like(t)}, 9); });
  run("choose", [](const Array& t) { return choose(arange(8) - 2, {t, t * 2, -t}, "wrap"); });
  run("choose.clip", [](const Array& t) { return choose(arange(8) - 2, {t, t * 2, -t}, "clip"); });
  run("along", [](const Array& t) { return apply_along_axis([](const Array& row) { return stack({max(row), sum(row), row[0]}); }, 0, t); });
  run("over", [](const Array& t) {
    return apply_over_axes([](const Array& u, std::int64_t axis) { return sum(u, {.axis = axis}); }, t, {0, 1});
  });
  run("piecewise", [](const Array& t) {
    return piecewise(t, {t<0, t> 0.3},
                     {[](const Array& u) { return -u; }, [](const Array& u) { return u * u; }, [](const Array& u) { return u + 2; }});
  });
  run("block", [](const Array& t) { return block({{t, columns(t, 0, 2)}, {rows(t, 0, 3), columns(rows(t, 0, 3), 1, 3)}}); });
}

void convolutions(const Programs& p) {
  const Array picture = sin(arange(180, float32)).reshape({2, 5, 6, 3}), kernel = cos(arange(72, float32)).reshape({3, 2, 3, 4});
  auto run = [&](const std::string& name, auto f) { p.run(name, f, picture); };
  for (const char* padding : {"SAME", "VALID"})
    for (const std::vector<std::int64_t>& strides : {std::vector<std::int64_t>{1, 1}, std::vector<std::int64_t>{2, 3}})
      run("conv_transpose." + std::string(padding) + "." + std::to_string(strides[0]),
          [=](const Array& t) { return conv_transpose(t, kernel, strides, padding); });
  run("conv_transpose.pads", [=](const Array& t) { return conv_transpose(t, kernel, {2, 1}, {{1, 2}, {0, 1}}, {.rhs_dilation = {1, 2}}); });
  run("conv_transpose.kernel", [=](const Array& t) {
    return conv_transpose(t, transpose(kernel, {0, 1, 3, 2}), {2, 2}, "SAME", {.transpose_kernel = true});
  });
  run("conv_transpose.1d", [=](const Array& t) {
    return conv_transpose(reshape(slice(t, {0, 0, 0, 0}, {2, 1, 6, 3}), {2, 6, 3}), kernel[0], {2}, "SAME");
  });
  p.both(
      "patches",
      [](const Array& t) {
        return conv_general_dilated_patches(t, {2, 3}, {1, 2}, "SAME");
      },
      picture);
  run("patches.last", [](const Array& t) {
    return conv_general_dilated_patches(t, {2, 2}, {2, 1}, "VALID", {.dimension_numbers = {"NHWC", "HWIO", "NHWC"}});
  });
  p.run("ravel_multi_index", [] {
    const Array down = arange(-2, 6), across = arange(8);
    return stack({ravel_multi_index({down, across}, {4, 6}, "wrap"), ravel_multi_index({down, across}, {4, 6}, "clip", 'F')});
  });
  p.run("ix_", [] { return ix_({arange(3), arange(4, float32)}); });
}

void signals(const Programs& p, const Sharding& sharding) {
  const Array u = device_put(sin(arange(48, float32)).reshape({8, 6}), sharding), k = cos(arange(12, float32)).reshape({3, 4});
  for (std::string mode : {"full", "same", "valid"}) {
    p.run(
        "convolve." + mode, [=](const Array& t) { return signals::convolve(t, k, mode); }, u);
    p.run(
        "convolve.turned." + mode, [=](const Array& t) { return signals::convolve(k, t, mode); }, u);
    p.run(
        "fftconvolve." + mode, [=](const Array& t) { return signals::fftconvolve(t, k, mode); }, u);
  }
  for (const auto& [name, norm] : {std::pair<std::string, std::string>{"None", "backward"}, {"ortho", "ortho"}}) {
    p.run(
        "dct." + name, [norm = norm](const Array& t) { return fft::dct(t, {.norm = norm}); }, u);
    p.run(
        "idct." + name, [norm = norm](const Array& t) { return fft::idct(t, {.axis = 0, .norm = norm}); }, u);
    p.run(
        "dctn." + name, [norm = norm](const Array& t) { return fft::dctn(t, {}, norm); }, u);
    p.run(
        "idctn." + name,
        [norm = norm](const Array& t) {
          return fft::idctn(t, {0, 1}, norm);
        },
        u);
  }
  p.run(
      "dct.n", [](const Array& t) { return fft::dct(t, {.n = 9}); }, u);
  p.gradient(
      "dct", [](const Array& t) { return fft::dct(t); }, u);
}

TEST(Scipy, IsJaxs) {
  Seen seen("scipy.txt");
  matrices({seen});
  named({seen});
  convolutions({seen});
  const Mesh mesh = make_mesh({4, 2}, {"x", "y"});
  for (const auto& [prefix, spec] : {std::pair<std::string, P>{"cut.", P("x")}, {"whole.", P()}}) {
    images({seen, prefix}, NamedSharding(mesh, spec));
    lax_functions({seen, prefix}, NamedSharding(mesh, spec));
    signals({seen, prefix}, NamedSharding(mesh, spec));
  }
}

TEST(Scipy, Errors) {
  EXPECT_THAT(error_of([] { la::expm(ones({2, 3})); }), HasSubstr("Expected A to be a (batched) square matrix, got A.shape=(2, 3)."));
  EXPECT_THAT(error_of([] { la::lu_solve(la::lu_factor(eye(3)), ones({3}), 3); }), HasSubstr("'trans' value must be 0, 1, or 2, got 3"));
  EXPECT_THAT(error_of([] { la::polar(ones({2, 3})); }), HasSubstr("method='qdwh' only supports mxn matrices"));
  EXPECT_THAT(error_of([] { la::polar(ones({2, 2}), "up"); }), HasSubstr("`side` must be either 'right' or 'left'."));
  EXPECT_THAT(error_of([] { la::hadamard(6); }), HasSubstr("n must be a positive power of 2; got 6."));
  EXPECT_THAT(error_of([] { la::companion(ones({1})); }), HasSubstr("must be at least 2"));
  EXPECT_THAT(error_of([] { la::leslie(ones({3}), ones({3})); }), HasSubstr("Incorrect lengths for f and s."));
  EXPECT_THAT(error_of([] { la::convolution_matrix(ones({3}), 0); }), HasSubstr("n must be a positive integer; got 0."));
  EXPECT_THAT(error_of([] { la::hankel(1.0); }), HasSubstr("c must be at least 1-dimensional, got a scalar."));
  EXPECT_THAT(error_of([] { image::resize(ones({2, 2}), {4}, "linear"); }), HasSubstr("shape must have length equal to"));
  EXPECT_THAT(error_of([] { image::resize(ones({2, 2}), {4, 4}, "best"); }), HasSubstr("Unknown resize method \"best\""));
  EXPECT_THAT(error_of([] {
                ndimage::map_coordinates(ones({2, 2}), {ones({3})}, 1);
              }),
              HasSubstr("must be a sequence of length input.ndim"));
  EXPECT_THAT(error_of([] { ndimage::map_coordinates(ones({2}), {ones({3})}, 2); }), HasSubstr("requires order<=1"));
  EXPECT_THAT(error_of([] { ndimage::map_coordinates(ones({2}), {ones({3})}, 1, "grid"); }), HasSubstr("does not yet support mode grid"));
  EXPECT_THAT(error_of([] {
                signals::convolve(ones({2, 3}), ones({3, 2}));
              }),
              HasSubstr("at least as large as the other in every dimension"));
  EXPECT_THAT(error_of([] { signals::convolve(ones({2}), ones({3}), "none"); }),
              HasSubstr("mode must be one of ['full', 'same', 'valid']"));
  EXPECT_THAT(error_of([] { fft::dct(ones({2}), {.norm = "forward"}); }), HasSubstr("norm='forward' is not implemented"));
  EXPECT_THAT(error_of([] { select_n(arange(3), {ones({2}), ones({2})}); }), HasSubstr("`which` must be scalar or have their shape"));
  EXPECT_THAT(error_of([] { choose(arange(3), {ones({3})}, "raise"); }), HasSubstr("Use mode='wrap' or mode='clip' instead."));
  EXPECT_THAT(error_of([] { ravel_multi_index({arange(3)}, {2, 3}, "wrap"); }), HasSubstr("len(multi_index)=1 != len(dims)=2"));
  EXPECT_THAT(error_of([] { reduce_precision(ones({2}), 0, 3); }), HasSubstr("exponent_bits must be positive; got 0"));
  EXPECT_THAT(error_of([] { ix_({ones({2, 2})}); }), HasSubstr("Arguments to jax.numpy.ix_ must be 1-dimensional, got shape (2, 2)"));
  EXPECT_THAT(error_of([] {
                piecewise(ones({2}), {}, {[](const Array& u) { return u; }, [](const Array& u) { return u; }});
              }),
              HasSubstr("with 0 condition(s), either 0 or 1 functions are expected; got 2"));
}

}  // namespace
