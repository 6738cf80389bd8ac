// Spectra, two-dimensional convolutions, matrix equations and functions of jax.numpy that need sizes: values, gradients and shardings are
// JAX's; make_spectra_goldens.py has the same programs in Python.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <shardlab/shardlab.h>

#include "runtime/exec/matrix_equations.h"
#include "runtime/exec/spectra.h"

#include "tests/exec/jax_goldens.h"
#include "tests/support/error_of.h"

// Parameters have their arguments' names, as users write them.
#pragma GCC diagnostic ignored "-Wshadow"

using namespace shardlab;  // as a user's program has it
using testing::HasSubstr;
using testing_goldens::on;
using testing_goldens::Seen;

namespace {

void spectra(Seen& seen, const Mesh& mesh) {
  auto x = random::normal(random::key(1), {8, 100}), y = random::normal(random::key(2), {8, 100});
  auto cut = on(mesh, x, P("x"));
  auto [f, t, Z] = signals::stft(x, {.fs = 10, .nperseg = 16});
  seen.add("stft", std::tuple{f, t, abs(Z)});
  auto absolute = [](const Array& x) { return abs(signals::stft(x, {.nperseg = 16, .noverlap = 12, .boundary = "odd"}).Zxx); };
  auto whole = [](const Array& x) { return sum(power(signals::istft(signals::stft(x, {.nperseg = 16}).Zxx, {.nperseg = 16}).second, 3)); };
  seen.add("istft.grad", jit(grad(whole))(cut));
  auto density = [](const Array& x, const Array& y) {
    return sum(square(abs(signals::csd(x, y, {.nperseg = 16, .detrend = "linear"}).second)));
  };
  seen.add("csd.grad", jit(grad<0, 1>(density))(cut, y));
  seen.add("stft.cut", jit(absolute)(cut));
  seen.add("stft.grad", jit(grad([&](const Array& x) { return sum(square(absolute(x))); }))(cut));
  auto [times, back] = signals::istft(Z, {.fs = 10, .nperseg = 16});
  seen.add("istft", std::tuple{times, back});
  seen.add("welch", signals::welch(x, {.fs = 5, .nperseg = 20}));
  seen.add("welch.median", signals::welch(x, {.nperseg = 20, .detrend = "linear", .scaling = "spectrum", .average = "median"}));
  auto [frequencies, both] = signals::csd(x, y, {.nperseg = 16, .return_onesided = false});
  seen.add("csd", std::tuple{frequencies, real(both), imag(both)});
  seen.add("detrend", signals::detrend(x));
  seen.add("detrend.bp", jit([](const Array& x) { return signals::detrend(x, {.bp = {30, 70}}); })(cut));
  seen.add("detrend.constant", signals::detrend(x, {.axis = 0, .type = "constant"}));
  auto k = random::normal(random::key(3), {3, 5});
  seen.add("convolve2d.grad",
           grad<0, 1>([](const Array& x, const Array& k) { return sum(square(signals::convolve2d(x, k, "same"))); })(x, k));
  for (const char* mode : {"full", "same", "valid"}) {
    seen.add(std::string("convolve2d.") + mode, signals::convolve2d(x, k, mode));
    seen.add(std::string("correlate2d.") + mode, signals::correlate2d(x, k, mode));
    seen.add(std::string("correlate2d.swapped.") + mode, signals::correlate2d(k, x, mode));
  }
}

void matrices(Seen& seen, const Mesh&) {
  auto A = random::normal(random::key(4), {5, 5}), B = random::normal(random::key(5), {3, 3}), C = random::normal(random::key(6), {5, 3});
  seen.add("sylvester", linalg::solve_sylvester(A, B, C));
  seen.add("expm_frechet", linalg::expm_frechet(A / 3, A.T()));
  auto tall = random::normal(random::key(7), {5, 3});
  auto [right, R] = linalg::qr_multiply(tall, random::normal(random::key(8), {2, 5}));
  seen.add("qr_multiply", std::tuple{abs(right), abs(R)});
  seen.add("qr_multiply.left", abs(linalg::qr_multiply(tall, eye(3), "left").product));
  auto parts = [](const Array& z) { return std::pair{real(z), imag(z)}; };
  seen.add("funm", parts(linalg::funm(A, [](const Array& x) { return sin(x); })));
  auto [H, Q] = linalg::hessenberg(A, true);
  seen.add("hessenberg", std::tuple{H, Q});
  auto found = linalg::hessenberg(A + flip(A, 0) * std::complex<double>(0, 1), true);
  seen.add("hessenberg.complex", std::tuple{parts(found.H), parts(found.Q)});
  seen.add("eigh_tridiagonal", linalg::eigh_tridiagonal(A[0], A[{1, Slice{1, 5}}]));
  seen.add("eigh_tridiagonal.some", linalg::eigh_tridiagonal(A[0], A[{1, Slice{1, 5}}], std::pair{1, 2}));
  auto n = array<int>({0, 1, 2, 5, 7, 3}), m = array<int>({0, -1, 2, -3, 0, 1});
  auto theta = linspace(0.1, 3, 6), phi = linspace(0, 6, 6);
  seen.add("sph_harm_y", parts(sph_harm_y(n, m, theta, phi)));
  seen.add("sph_harm_y.grad", jit(grad([&](const Array& t) { return sum(real(sph_harm_y(n, m, t, phi, 7))); }))(theta));
  seen.add("expm_frechet.grad", grad([](const Array& a) { return sum(linalg::expm_frechet(a / 3, a.T()).second); })(A));
  for (const char* kind : {"symmetric", "lower", "upper"}) seen.add(std::string("invpascal.") + kind, linalg::invpascal(5, kind));
}

void values(Seen& seen, const Mesh& mesh) {
  auto i = random::randint(random::key(9), {4, 6}, -2, 3), r = random::randint(random::key(10), {12}, -4, 1);
  auto cut = on(mesh, i, P("x"));
  auto leaves = [](const UniqueAll& u) { return std::tuple{u.values, u.indices, u.inverse_indices, u.counts}; };
  seen.add("unique_all", leaves(unique_all(cut)));
  seen.add("unique_all.more", jit([&](const Array& x) { return leaves(unique_all(x, 8, 9)); })(cut));
  seen.add("unique_all.less", leaves(unique_all(i, 3)));
  seen.add("unique_inverse", unique_inverse(i));
  seen.add("unique_counts", unique_counts(i));
  seen.add("unique", unique(cut));
  seen.add("union1d", union1d(i, r));
  seen.add("intersect1d", intersect1d(i, r));
  seen.add("setdiff1d", setdiff1d(i, r));
  seen.add("setxor1d", setxor1d(i, r));
  seen.add("nonzero", nonzero(cut));
  seen.add("flatnonzero", flatnonzero(i));
  seen.add("argwhere", argwhere(i > 0));
  seen.add("argwhere.none", argwhere(i > 9));
  seen.add("extract", extract(i > 0, i));
  seen.add("compress", compress(array<bool>({true, false, true}), i, {}, 0));
  auto with_zeros = array<int>({0, 0, 3, 0, 1, 0});
  seen.add("trim_zeros", trim_zeros(with_zeros));
  seen.add("trim_zeros.front", trim_zeros(with_zeros, "f"));
  seen.add("trim_zeros.all", trim_zeros(zeros({3})));
  seen.add("mask_indices", mask_indices(
                               4, [](const Array& x, std::int64_t k) { return triu(x, k); }, 1));
  seen.add("mask_indices.size", mask_indices(
                                    4, [](const Array& x, std::int64_t k) { return tril(x, k); }, 0, 12));
  auto p = array<float>({0, 2, -3, 0, 0});
  auto ordered = [](const Array& z) { return sort(abs(z)); };
  seen.add("roots", ordered(roots(p)));
  seen.add("roots.jit", nan_to_num(ordered(jit([](const Array& p) { return roots(p, false); })(p))));
  seen.add("roots.one", abs(roots(array<float>({0, 3}))));
  auto x = on(mesh, random::normal(random::key(11), {40, 3}), P("x")), w = random::uniform(random::key(12), {40});
  seen.add("histogramdd", histogramdd(x, {4}));
  seen.add("histogramdd.each", histogramdd(x, {2, 3, 4}, {.range = {{-1, 1}, {-2, 2}, {-3, 3}}, .weights = w, .density = true}));
  seen.add("histogramdd.jit", jit([](const Array& x) { return histogramdd(x, {2, 3, 4}).first; })(x));
}

TEST(Spectra, GiveWhatJaxGives) {
  Seen seen("spectra.txt");
  const Mesh mesh = make_mesh({4, 2}, {"x", "y"});
  for (auto program : {spectra, matrices, values}) program(seen, mesh);
}

TEST(Spectra, SizesByValuesNeedValues) {
  const std::string place = "spectra_test.cpp:" + std::to_string(__LINE__ + 1);
  const std::string message = error_of([] { jit([](const Array& x) { return nonzero(x)[0]; })(arange(4.0)); });
  EXPECT_THAT(message,
              HasSubstr("the size of nonzero at " + place + ": Abstract tracer value encountered where concrete value is expected"));
  EXPECT_THAT(error_of([] { jit([](const Array& x) { return roots(x); })(arange(4.0)); }), HasSubstr("pass strip_zeros = false"));
}

TEST(Spectra, ErrorsHaveJaxsTexts) {
  EXPECT_THAT(error_of([] {
                signals::convolve2d(ones({3}), ones({3, 2}));
              }),
              HasSubstr("convolve2d() only supports 2-dimensional inputs."));
  EXPECT_THAT(error_of([] {
                signals::convolve2d(ones({3, 2}), ones({2, 3}));
              }),
              HasSubstr("One input must be smaller than the other in every dimension."));
  EXPECT_THAT(error_of([] { signals::welch(ones({30}), {.nperseg = 8, .noverlap = 8}); }),
              HasSubstr("noverlap must be less than nperseg."));
  EXPECT_THAT(error_of([] { signals::stft(ones({30}), {.window = "kaiser", .nperseg = 8}); }), HasSubstr("window 'kaiser' is not known"));
  EXPECT_THAT(error_of([] {
                linalg::solve_sylvester(eye(3), eye(2), ones({2, 3}));
              }),
              HasSubstr("Incompatible shapes for Sylvester equation"));
}

}  // namespace
