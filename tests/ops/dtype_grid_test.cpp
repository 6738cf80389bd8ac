// Every elementwise function of every kind of dtype gives JAX's dtype and values, or an error where JAX has one.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/ops/evaluate.h"

namespace shardlab {
namespace {

using namespace testing_ops;

// The operands of make_dtype_grid.py.
Tensor operand(const std::vector<int>& values, DType dtype) {
  return visit_dtype(dtype, [&]<typename T>(T) {
    std::vector<T> elements;
    for (int value : values) {
      if constexpr (std::is_same_v<T, bool>)
        elements.push_back(value != 0);
      else if constexpr (std::is_unsigned_v<T>)
        elements.push_back(T(std::abs(value)));
      else if constexpr (std::is_same_v<T, Complex64> || std::is_same_v<T, Complex128>)
        elements.push_back(T(typename T::value_type(value), typename T::value_type(value) / 2));
      else
        elements.push_back(element_from<T>(double(value)));
    }
    return tensor_of<T>({std::int64_t(elements.size())}, elements);
  });
}

constexpr DType kGrid[] = {DType::kBool, DType::kInt8, DType::kUint8, DType::kInt32, DType::kFloat32, DType::kComplex64};
DType dtype_called(const std::string& name) {
  for (DType dtype : kGrid)
    if (name_of(dtype) == name) return dtype;
  throw InternalError("no dtype of the grid: " + name);
}

bool is_near(double got, double wanted) {
  if (std::isnan(wanted)) return std::isnan(got);
  if (std::isinf(wanted)) return got == wanted;
  return std::fabs(got - wanted) <= 2e-6 * (1 + std::fabs(wanted));
}

TEST(DTypeGrid, IsJaxs) {
  std::ifstream golden(std::string(std::getenv("SHARDLAB_SOURCE_DIR")) + "/tests/ops/goldens/dtype_grid.txt");
  ASSERT_TRUE(golden.good());
  int lines = 0;
  for (std::string line; std::getline(golden, line); ++lines) {
    std::istringstream words(line);
    std::string name, dtype, wanted_dtype;
    words >> name >> dtype >> wanted_dtype;
    std::vector<Tensor> operands{operand({0, 1, -3, 7}, dtype_called(dtype)), operand({0, 1, 2, -2}, dtype_called(dtype))};
    operands.resize(std::size_t(find_op(name)->operands_min));
    std::vector<Tensor> results;
    try {
      results = call(name, operands);
    } catch (const UserError& error) {
      EXPECT_EQ(wanted_dtype, "error") << line << "\n  " << error.what();
      continue;
    }
    EXPECT_EQ(name_of(results[0].type.dtype), wanted_dtype) << line;
    if (name_of(results[0].type.dtype) != wanted_dtype) continue;
    std::vector<double> got;
    for (std::complex<double> value : numbers(results[0])) {
      got.push_back(value.real());
      if (is_complex(results[0].type.dtype)) got.push_back(value.imag());
    }
    for (double value : got) {
      std::string word;
      words >> word;
      EXPECT_TRUE(is_near(value, std::strtod(word.c_str(), nullptr))) << line << "\n  got " << value << " for " << word;
    }
  }
  EXPECT_GT(lines, 250);
}

}  // namespace
}  // namespace shardlab
