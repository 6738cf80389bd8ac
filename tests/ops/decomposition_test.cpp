// Decompositions by what defines them: their factors multiply to the matrix, are unitary, triangular, ordered. Of matrices of all shapes
// and dtypes, in batches, larger than a panel, singular, and with NaN.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/ops/evaluate.h"

namespace shardlab {
namespace {

using namespace testing_ops;
using Number = std::complex<double>;

// A matrix of a batch in double.
struct Matrix {
  std::int64_t rows, columns;
  std::vector<Number> elements;
  Number& at(std::int64_t i, std::int64_t j) { return elements[std::size_t(i * columns + j)]; }
  const Number& at(std::int64_t i, std::int64_t j) const { return elements[std::size_t(i * columns + j)]; }
};
Matrix zeros(std::int64_t rows, std::int64_t columns) { return {rows, columns, std::vector<Number>(std::size_t(rows * columns))}; }
Matrix identity(std::int64_t size) {
  Matrix result = zeros(size, size);
  for (std::int64_t i = 0; i < size; ++i) result.at(i, i) = 1;
  return result;
}
std::vector<Matrix> matrices_of(const Tensor& x) {
  const Shape& shape = x.type.shape;
  const std::int64_t rows = shape[shape.size() - 2], columns = shape.back();
  const std::vector<Number> all = numbers(x);
  std::vector<Matrix> result;
  for (std::int64_t begin = 0; begin < x.type.elements(); begin += rows * columns)
    result.push_back({rows, columns, {all.begin() + begin, all.begin() + begin + rows * columns}});
  return result;
}
std::vector<std::vector<Number>> vectors_of(const Tensor& x) {
  const std::vector<Number> all = numbers(x);
  std::vector<std::vector<Number>> result;
  for (std::int64_t begin = 0; begin < x.type.elements(); begin += x.type.shape.back())
    result.emplace_back(all.begin() + begin, all.begin() + begin + x.type.shape.back());
  return result;
}
Matrix product(const Matrix& a, const Matrix& b) {
  Matrix result = zeros(a.rows, b.columns);
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t k = 0; k < a.columns; ++k)
      for (std::int64_t j = 0; j < b.columns; ++j) result.at(i, j) += a.at(i, k) * b.at(k, j);
  return result;
}
Matrix adjoint(const Matrix& a) {
  Matrix result = zeros(a.columns, a.rows);
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t j = 0; j < a.columns; ++j) result.at(j, i) = std::conj(a.at(i, j));
  return result;
}
double size_of(const Matrix& a) {
  double size = 0;
  for (Number x : a.elements) size = std::max(size, std::abs(x));
  return size;
}
bool is_nan(const Matrix& a) {
  return std::all_of(a.elements.begin(), a.elements.end(), [](Number x) { return std::isnan(x.real()); });
}
void expect_equal(const Matrix& got, const Matrix& wanted, double tolerance, const std::string& what) {
  ASSERT_EQ(got.elements.size(), wanted.elements.size()) << what;
  double worst = 0;
  for (std::size_t i = 0; i < wanted.elements.size(); ++i) worst = std::max(worst, std::abs(got.elements[i] - wanted.elements[i]));
  EXPECT_LE(worst, tolerance * std::max(1.0, size_of(wanted)) * double(std::max(wanted.rows, wanted.columns) + 4)) << what;
}
double tolerance_of(DType dtype) { return real_dtype(dtype) == DType::kFloat64 ? 1e-14 : 2e-6; }

Tensor tensor_of(const TensorType& type, const std::vector<Number>& values) {
  auto buffer = std::make_shared<Buffer>(std::size_t(type.bytes()));
  visit_dtype(type.dtype, [&](auto zero) {
    using T = decltype(zero);
    for (std::size_t i = 0; i < values.size(); ++i) buffer->as<T>()[i] = element_from<T>(values[i]);
  });
  return {type, buffer};
}
// x x^H + 1 for every matrix of a batch.
Tensor positive_definite(const TensorType& type, std::mt19937& random) {
  std::vector<Number> values;
  for (const Matrix& x : matrices_of(random_tensor(type, random))) {
    Matrix square = product(x, adjoint(x));
    for (std::int64_t i = 0; i < square.rows; ++i) square.at(i, i) += 1;
    values.insert(values.end(), square.elements.begin(), square.elements.end());
  }
  return tensor_of(type, values);
}

struct Of {
  DType dtype;
  Shape shape;
  std::string text() const { return TensorType{dtype, shape}.text(); }
};
const std::vector<DType> kDTypes = {DType::kFloat32, DType::kFloat64, DType::kComplex64, DType::kComplex128};
std::vector<Of> all_of(const std::vector<Shape>& shapes) {
  std::vector<Of> result;
  for (DType dtype : kDTypes)
    for (const Shape& shape : shapes) result.push_back({dtype, shape});
  return result;
}
const std::vector<Shape> kSquares = {{1, 1}, {2, 2}, {5, 5}, {2, 3, 4, 4}, {70, 70}};
const std::vector<Shape> kShapes = {{1, 1}, {5, 5}, {3, 6, 2}, {2, 3, 7}, {130, 70}, {70, 130}};

const OpDef& op(std::string_view name) { return *find_op(name); }

TEST(Decompositions, CholeskyFactorsMultiply) {
  std::mt19937 random(1);
  for (const Of& of : all_of(kSquares)) {
    Tensor x = positive_definite({of.dtype, of.shape}, random);
    std::vector<Matrix> wanted = matrices_of(x), found = matrices_of(run(op("cholesky"), {x}, {})[0]);
    for (std::size_t m = 0; m < wanted.size(); ++m) {
      expect_equal(product(found[m], adjoint(found[m])), wanted[m], tolerance_of(of.dtype), of.text());
      for (std::int64_t i = 0; i < found[m].rows; ++i)
        for (std::int64_t j = i + 1; j < found[m].columns; ++j) EXPECT_EQ(found[m].at(i, j), Number(0)) << of.text();
    }
  }
}

// As jax.lax.linalg.cholesky: the factor is NaN, what is above its diagonal is 0 all the same.
TEST(Decompositions, CholeskyIsNanWhereThereIsNone) {
  Tensor x = tensor_of({DType::kFloat32, {3, 2, 2}}, {1, 2, 2, 1, 4, 2, 2, 3, 1, 0, 0, std::nan("")});
  std::vector<Matrix> found = matrices_of(run(op("cholesky"), {x}, {})[0]);
  EXPECT_EQ(found[1].at(0, 0), Number(2));
  for (std::size_t m : {0, 2})
    for (std::int64_t i : {0, 1})
      for (std::int64_t j : {0, 1})
        if (j <= i)
          EXPECT_TRUE(std::isnan(found[m].at(i, j).real())) << m << i << j;
        else
          EXPECT_EQ(found[m].at(i, j), Number(0)) << m;
}

TEST(Decompositions, LuFactorsMultiplyToPermutedRows) {
  std::mt19937 random(2);
  for (const Of& of : all_of(kShapes)) {
    Tensor x = random_tensor({of.dtype, of.shape}, random);
    std::vector<Tensor> results = run(op("lu"), {x}, {});
    std::vector<Matrix> given = matrices_of(x), factors = matrices_of(results[0]);
    std::vector<std::vector<Number>> pivots = vectors_of(results[1]), orders = vectors_of(results[2]);
    for (std::size_t m = 0; m < given.size(); ++m) {
      const std::int64_t rows = given[m].rows, columns = given[m].columns, steps = std::min(rows, columns);
      Matrix lower = zeros(rows, steps), upper = zeros(steps, columns), permuted = given[m];
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < steps; ++j) lower.at(i, j) = i == j ? 1 : j < i ? factors[m].at(i, j) : 0;
      for (std::int64_t i = 0; i < steps; ++i)
        for (std::int64_t j = i; j < columns; ++j) upper.at(i, j) = factors[m].at(i, j);
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; ++j) permuted.at(i, j) = given[m].at(std::int64_t(orders[m][std::size_t(i)].real()), j);
      expect_equal(product(lower, upper), permuted, tolerance_of(of.dtype), of.text());
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < std::min(i, steps); ++j)
          EXPECT_LE(std::abs(factors[m].at(i, j)), is_complex(of.dtype) ? std::sqrt(2.0) + 1e-6 : 1.0) << of.text();
      // The exchanges, one after another, are the permutation.
      std::vector<double> order;
      for (std::int64_t i = 0; i < rows; ++i) order.push_back(double(i));
      for (std::size_t k = 0; k < pivots[m].size(); ++k) std::swap(order[k], order[std::size_t(pivots[m][k].real())]);
      for (std::size_t i = 0; i < order.size(); ++i) EXPECT_EQ(order[i], orders[m][i].real()) << of.text();
    }
  }
}

TEST(Decompositions, LuPassesOverColumnsOfZeros) {
  Tensor x = tensor_of({DType::kFloat64, {3, 3}}, {0, 1, 2, 0, 3, 4, 0, 6, 5});
  std::vector<Tensor> results = run(op("lu"), {x}, {});
  for (Number value : numbers(results[0])) EXPECT_TRUE(std::isfinite(value.real()));
  EXPECT_EQ(numbers(results[0])[0], Number(0));
}

TEST(Decompositions, TriangularSolutionsSolve) {
  std::mt19937 random(3);
  for (DType dtype : kDTypes)
    for (int choice = 0; choice < 32; ++choice) {
      const bool left = choice & 1, lower = choice & 2, transposed = choice & 4, conjugated = choice & 8, unit = choice & 16;
      const Shape batch{2}, shape = left ? Shape{2, 5, 3} : Shape{2, 3, 5};
      std::vector<Number> values;
      for (Matrix x : matrices_of(random_tensor({dtype, {2, 5, 5}}, random))) {
        for (std::int64_t i = 0; i < 5; ++i) x.at(i, i) += 4;  // well-conditioned; the other triangle must not be read
        values.insert(values.end(), x.elements.begin(), x.elements.end());
      }
      Tensor a = tensor_of({dtype, {2, 5, 5}}, values), b = random_tensor({dtype, shape}, random);
      Attrs attrs{{"left_side", left}, {"lower", lower}, {"transpose_a", transposed}, {"conjugate_a", conjugated}, {"unit_diagonal", unit}};
      std::vector<Matrix> x = matrices_of(run(op("triangular_solve"), {a, b}, attrs)[0]), wanted = matrices_of(b);
      std::vector<Matrix> given = matrices_of(a);
      for (std::size_t m = 0; m < given.size(); ++m) {
        Matrix factor = zeros(5, 5);
        for (std::int64_t i = 0; i < 5; ++i)
          for (std::int64_t j = 0; j < 5; ++j) {
            Number value = i == j && unit ? Number(1) : (lower ? j <= i : i <= j) ? given[m].at(i, j) : Number(0);
            (transposed ? factor.at(j, i) : factor.at(i, j)) = conjugated ? std::conj(value) : value;
          }
        expect_equal(left ? product(factor, x[m]) : product(x[m], factor), wanted[m], 10 * tolerance_of(dtype),
                     fmt::format("choice {}", choice));
      }
    }
}

TEST(Decompositions, QrIsUnitaryTimesTriangular) {
  std::mt19937 random(4);
  for (bool full : {false, true})
    for (const Of& of : all_of(kShapes)) {
      Tensor x = random_tensor({of.dtype, of.shape}, random);
      std::vector<Tensor> results = run(op("qr"), {x}, Attrs{{"full_matrices", full}});
      std::vector<Matrix> wanted = matrices_of(x), q = matrices_of(results[0]), r = matrices_of(results[1]);
      for (std::size_t m = 0; m < wanted.size(); ++m) {
        EXPECT_EQ(q[m].columns, full ? wanted[m].rows : std::min(wanted[m].rows, wanted[m].columns));
        expect_equal(product(q[m], r[m]), wanted[m], tolerance_of(of.dtype), of.text());
        expect_equal(product(adjoint(q[m]), q[m]), identity(q[m].columns), tolerance_of(of.dtype), of.text());
        for (std::int64_t i = 0; i < r[m].rows; ++i)
          for (std::int64_t j = 0; j < std::min(i + 1, r[m].columns); ++j) {
            EXPECT_EQ(r[m].at(i, j).imag(), 0) << of.text();
            if (j < i) { EXPECT_EQ(r[m].at(i, j), Number(0)) << of.text(); }
          }
      }
    }
}

TEST(Decompositions, EighHasOrthogonalVectorsOfItsValues) {
  std::mt19937 random(5);
  for (bool lower : {false, true})
    for (const Of& of : all_of(kSquares)) {
      Tensor x = random_tensor({of.dtype, of.shape}, random);
      std::vector<Tensor> results = run(op("eigh"), {x}, Attrs{{"lower", lower}});
      std::vector<Matrix> given = matrices_of(x), v = matrices_of(results[0]);
      std::vector<std::vector<Number>> w = vectors_of(results[1]);
      for (std::size_t m = 0; m < given.size(); ++m) {
        Matrix wanted = given[m], scaled = v[m];
        for (std::int64_t i = 0; i < wanted.rows; ++i)
          for (std::int64_t j = 0; j < wanted.rows; ++j) {
            bool is_read = lower ? j <= i : i <= j;
            wanted.at(i, j) = i == j ? given[m].at(i, j).real() : is_read ? given[m].at(i, j) : std::conj(given[m].at(j, i));
            scaled.at(i, j) *= w[m][std::size_t(j)];
          }
        expect_equal(product(scaled, adjoint(v[m])), wanted, 4 * tolerance_of(of.dtype), of.text());
        expect_equal(product(adjoint(v[m]), v[m]), identity(wanted.rows), 4 * tolerance_of(of.dtype), of.text());
        for (std::size_t k = 1; k < w[m].size(); ++k) EXPECT_LE(w[m][k - 1].real(), w[m][k].real());
      }
    }
}

TEST(Decompositions, SchurIsTriangularBetweenUnitaryVectors) {
  std::mt19937 random(8);
  for (const Of& of : all_of(kSquares)) {
    Tensor x = random_tensor({of.dtype, of.shape}, random);
    std::vector<Tensor> results = run(op("schur"), {x}, {});
    std::vector<Matrix> wanted = matrices_of(x), t = matrices_of(results[0]), u = matrices_of(results[1]);
    for (std::size_t m = 0; m < wanted.size(); ++m) {
      expect_equal(product(product(u[m], t[m]), adjoint(u[m])), wanted[m], 8 * tolerance_of(of.dtype), of.text());
      expect_equal(product(adjoint(u[m]), u[m]), identity(wanted[m].rows), 4 * tolerance_of(of.dtype), of.text());
      for (std::int64_t i = 0; i < t[m].rows; ++i)
        for (std::int64_t j = 0; j < i; ++j) { EXPECT_EQ(t[m].at(i, j), Number(0)) << of.text(); }
    }
  }
}

TEST(Decompositions, EigHasVectorsOfLengthOneOfItsValues) {
  std::mt19937 random(9);
  for (const Of& of : all_of(kSquares)) {
    Tensor x = random_tensor({of.dtype, of.shape}, random);
    std::vector<Tensor> results = run(op("eig"), {x}, {});
    std::vector<Matrix> given = matrices_of(x), v = matrices_of(results[1]);
    std::vector<std::vector<Number>> w = vectors_of(results[0]);
    for (std::size_t m = 0; m < given.size(); ++m) {
      Matrix scaled = v[m];
      for (std::int64_t j = 0; j < scaled.columns; ++j) {
        double square = 0;
        for (std::int64_t i = 0; i < scaled.rows; ++i) {
          square += std::norm(v[m].at(i, j));
          scaled.at(i, j) *= w[m][std::size_t(j)];
        }
        EXPECT_NEAR(square, 1, 4 * tolerance_of(of.dtype)) << of.text();
      }
      expect_equal(product(given[m], v[m]), scaled, 8 * tolerance_of(of.dtype), of.text());
    }
  }
}

// Blocks of Jordan, a permutation, zeros, and numbers of very different sizes: steps that come to an end; what is not finite is no number.
TEST(Decompositions, SchurOfMatricesThatAreHard) {
  const std::int64_t n = 6;
  auto of = [&](auto entry) {
    std::vector<double> entries;
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) entries.push_back(entry(i, j));
    return testing_ops::tensor_of<double>(Shape(2, n), entries);
  };
  const std::vector<Tensor> hard = {of([](auto i, auto j) { return i == j       ? 2.0
                                                                   : j == i + 1 ? 1.0
                                                                                : 0.0; }),
                                    of([&](auto i, auto j) { return (i + 1) % n == j ? 1.0 : 0.0; }), of([](auto, auto) { return 0.0; }),
                                    of([](auto i, auto j) { return std::pow(1e3, double(i - j)); })};
  for (const Tensor& x : hard) {
    std::vector<Tensor> results = run(op("schur"), {x}, {});
    Matrix wanted = matrices_of(x)[0], t = matrices_of(results[0])[0], u = matrices_of(results[1])[0];
    double size = 1;
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) size = std::max(size, std::abs(wanted.at(i, j)));
    expect_equal(product(product(u, t), adjoint(u)), wanted, 1e-14 * size, "hard");
  }
  Tensor broken = of([](auto i, auto) { return i == 3 ? std::numeric_limits<double>::infinity() : 1.0; });
  EXPECT_TRUE(std::isnan(vectors_of(run(op("eig"), {broken}, {})[0])[0][0].real()));
}

TEST(Decompositions, SvdHasUnitaryVectorsAndDescendingValues) {
  std::mt19937 random(6);
  for (bool full : {false, true})
    for (const Of& of : all_of(kShapes)) {
      Tensor x = random_tensor({of.dtype, of.shape}, random);
      std::vector<Tensor> results = run(op("svd"), {x}, Attrs{{"full_matrices", full}});
      Tensor values = run(op("svd"), {x}, Attrs{{"compute_uv", false}})[0];
      std::vector<Matrix> wanted = matrices_of(x), u = matrices_of(results[1]), v = matrices_of(results[2]);
      std::vector<std::vector<Number>> s = vectors_of(results[0]), alone = vectors_of(values);
      for (std::size_t m = 0; m < wanted.size(); ++m) {
        Matrix middle = zeros(u[m].columns, v[m].rows);
        for (std::size_t k = 0; k < s[m].size(); ++k) middle.at(std::int64_t(k), std::int64_t(k)) = s[m][k];
        expect_equal(product(product(u[m], middle), v[m]), wanted[m], 4 * tolerance_of(of.dtype), of.text());
        expect_equal(product(adjoint(u[m]), u[m]), identity(u[m].columns), 4 * tolerance_of(of.dtype), of.text());
        expect_equal(product(v[m], adjoint(v[m])), identity(v[m].rows), 4 * tolerance_of(of.dtype), of.text());
        for (std::size_t k = 0; k < s[m].size(); ++k) {
          if (k > 0) { EXPECT_GE(s[m][k - 1].real(), s[m][k].real()); }
          EXPECT_GE(s[m][k].real(), 0);
          EXPECT_NEAR(s[m][k].real(), alone[m][k].real(), 100 * tolerance_of(of.dtype));
        }
      }
    }
}

TEST(Decompositions, VectorsHaveTheirLargestElementPositive) {
  std::mt19937 random(7);
  for (DType dtype : kDTypes) {
    Tensor x = random_tensor({dtype, {6, 6}}, random);
    for (const Matrix& v : {matrices_of(run(op("eigh"), {x}, {})[0])[0], matrices_of(run(op("svd"), {x}, {})[1])[0]})
      for (std::int64_t j = 0; j < 6; ++j) {
        Number largest = 0;
        for (std::int64_t i = 0; i < 6; ++i)
          if (std::abs(v.at(i, j)) > std::abs(largest) * (1 + 1e-5)) largest = v.at(i, j);
        EXPECT_GT(largest.real(), 0);
        EXPECT_NEAR(largest.imag(), 0, 1e-6);
      }
  }
}

TEST(Decompositions, NanStaysInItsMatrix) {
  Tensor x = tensor_of({DType::kFloat32, {2, 2, 2}}, {1, std::nan(""), std::nan(""), 2, 2, 0, 0, 3});
  std::vector<Matrix> v = matrices_of(run(op("eigh"), {x}, {})[0]), u = matrices_of(run(op("svd"), {x}, {})[1]);
  EXPECT_TRUE(is_nan(v[0]) && is_nan(u[0]));
  EXPECT_FALSE(is_nan(v[1]) || is_nan(u[1]));
}

}  // namespace
}  // namespace shardlab
