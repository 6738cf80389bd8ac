// Promotion against JAX 0.10.2: jnp.promote_types and jnp.result_type over all dtypes.
#include <gtest/gtest.h>

#include <sstream>

#include "runtime/core/dtype.h"

namespace shardlab {
namespace {

// In the order of the enumeration: bool, int8 …, uint8 …, bfloat16, float16, float32, float64, complex64, complex128.
constexpr std::string_view kShort[] = {"b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "bf", "f2", "f4", "f8", "c8", "cg"};

// With 64-bit types on.
const char* const kPromoted[] = {"b1 i1 i2 i4 i8 u1 u2 u4 u8 bf f2 f4 f8 c8 cg", "i1 i1 i2 i4 i8 i2 i4 i8 f8 bf f2 f4 f8 c8 cg",
                                 "i2 i2 i2 i4 i8 i2 i4 i8 f8 bf f2 f4 f8 c8 cg", "i4 i4 i4 i4 i8 i4 i4 i8 f8 bf f2 f4 f8 c8 cg",
                                 "i8 i8 i8 i8 i8 i8 i8 i8 f8 bf f2 f4 f8 c8 cg", "u1 i2 i2 i4 i8 u1 u2 u4 u8 bf f2 f4 f8 c8 cg",
                                 "u2 i4 i4 i4 i8 u2 u2 u4 u8 bf f2 f4 f8 c8 cg", "u4 i8 i8 i8 i8 u4 u4 u4 u8 bf f2 f4 f8 c8 cg",
                                 "u8 f8 f8 f8 f8 u8 u8 u8 u8 bf f2 f4 f8 c8 cg", "bf bf bf bf bf bf bf bf bf bf f4 f4 f8 c8 cg",
                                 "f2 f2 f2 f2 f2 f2 f2 f2 f2 f4 f2 f4 f8 c8 cg", "f4 f4 f4 f4 f4 f4 f4 f4 f4 f4 f4 f4 f8 c8 cg",
                                 "f8 f8 f8 f8 f8 f8 f8 f8 f8 f8 f8 f8 f8 cg cg", "c8 c8 c8 c8 c8 c8 c8 c8 c8 c8 c8 c8 cg c8 cg",
                                 "cg cg cg cg cg cg cg cg cg cg cg cg cg cg cg"};

// A row of dtypes combined with True, 1, 1.0, 1j; with 64-bit types off, and on.
const char* const kWeakOff[] = {"b1 i4 f4 c8", "i1 i1 f4 c8", "i2 i2 f4 c8", "i4 i4 f4 c8", "i4 i4 f4 c8",
                                "u1 u1 f4 c8", "u2 u2 f4 c8", "u4 u4 f4 c8", "u4 u4 f4 c8", "bf bf bf c8",
                                "f2 f2 f2 c8", "f4 f4 f4 c8", "f4 f4 f4 c8", "c8 c8 c8 c8", "c8 c8 c8 c8"};
const char* const kWeakOn[] = {"b1 i8 f8 cg", "i1 i1 f8 cg", "i2 i2 f8 cg", "i4 i4 f8 cg", "i8 i8 f8 cg",
                               "u1 u1 f8 cg", "u2 u2 f8 cg", "u4 u4 f8 cg", "u8 u8 f8 cg", "bf bf bf c8",
                               "f2 f2 f2 c8", "f4 f4 f4 c8", "f8 f8 f8 cg", "c8 c8 c8 c8", "cg cg cg cg"};

DType from_short(const std::string& text) {
  for (std::size_t i = 0; i < std::size(kShort); ++i)
    if (kShort[i] == text) return DType(i);
  throw InternalError("no such dtype");
}
std::vector<DType> row_of(const char* text) {
  std::istringstream words(text);
  std::vector<DType> row;
  for (std::string word; words >> word;) row.push_back(from_short(word));
  return row;
}

TEST(DTypes, PromoteAsJaxDoes) {
  std::size_t count = all_dtypes().size();
  ASSERT_EQ(std::size(kPromoted), count);
  for (std::size_t a = 0; a < count; ++a) {
    std::vector<DType> row = row_of(kPromoted[a]);
    for (std::size_t b = 0; b < count; ++b) {
      EXPECT_EQ(name_of(promote(DType(a), DType(b), true)), name_of(row[b])) << name_of(DType(a)) << ", " << name_of(DType(b));
      EXPECT_EQ(name_of(promote(DType(a), DType(b), false)), name_of(canonical(row[b], false)))
          << name_of(DType(a)) << ", " << name_of(DType(b));
    }
  }
}

TEST(DTypes, ScalarsAreWeak) {
  for (std::size_t a = 0; a < all_dtypes().size(); ++a)
    for (std::size_t kind = 0; kind < 4; ++kind) {
      EXPECT_EQ(name_of(promote_with_weak(DType(a), WeakKind(kind), false)), name_of(row_of(kWeakOff[a])[kind]))
          << name_of(DType(a)) << kind;
      EXPECT_EQ(name_of(promote_with_weak(DType(a), WeakKind(kind), true)), name_of(row_of(kWeakOn[a])[kind])) << name_of(DType(a)) << kind;
    }
}

TEST(DTypes, NamesAndSizes) {
  for (const DTypeInfo& each : all_dtypes()) {
    EXPECT_EQ(dtype_from_name(each.name), each.dtype);
    EXPECT_EQ(dtype_info(each.dtype).name, each.name);
    visit_dtype(each.dtype, [&]<typename T>(T) {
      EXPECT_EQ(sizeof(T), std::size_t(each.size)) << each.name;
      EXPECT_EQ(dtype_of<T>::value, each.dtype);
    });
  }
  EXPECT_EQ(dtype_from_name("float8"), std::nullopt);
}

}  // namespace
}  // namespace shardlab
