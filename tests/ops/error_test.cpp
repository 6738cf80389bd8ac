// The text of users' errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/ops/evaluate.h"

namespace shardlab {
namespace {

using namespace testing_ops;
using ::testing::HasSubstr;

TensorType f32(Shape shape) { return {DType::kFloat32, std::move(shape)}; }

std::string error_of(std::string_view op, const std::vector<TensorType>& params, const Attrs& attrs = {},
                     const std::vector<Scalar>& scalars = {}) {
  try {
    graph_of(op, params, attrs, scalars);
  } catch (const UserError& error) { return error.what(); }
  return "no error";
}

TEST(Errors, SayWhatWasAskedGotAndWanted) {
  EXPECT_THAT(error_of("add", {f32({4, 8}), f32({3})}), HasSubstr("add got incompatible shapes for broadcasting: (4, 8), (3,)"));
  EXPECT_THAT(error_of("select", {{DType::kBool, {2}}, f32({3}), f32({3})}), HasSubstr("select got incompatible shapes for broadcasting"));
  EXPECT_THAT(error_of("reshape", {f32({4, 8})}, Attrs{{"shape", Shape{5}}}),
              HasSubstr("cannot reshape array of shape (4, 8) (size 32) into shape (5,) (size 5)"));
  EXPECT_THAT(error_of("reshape", {f32({4, 8})}, Attrs{{"shape", Shape{-1, 5}}}),
              HasSubstr("cannot reshape array of shape (4, 8) (size 32) into shape (-1, 5) because the product of specified axis sizes (5) "
                        "does not evenly divide 32"));
  EXPECT_THAT(error_of("reshape", {f32({4})}, Attrs{{"shape", Shape{-1, -1}}}),
              HasSubstr("can only specify one unknown axis size with a `-1` value, got (-1, -1)"));
  EXPECT_THAT(error_of("matmul", {f32({3, 4}), f32({5, 6})}),
              HasSubstr("dot_general requires contracting dimensions to have the same shape, got (4,) and (5,)"));
  EXPECT_THAT(error_of("matmul", {f32({2, 3, 4}), f32({5, 4, 6})}),
              HasSubstr("Incompatible types for matmul arguments: float32[2,3,4] and float32[5,4,6]"));
  EXPECT_THAT(error_of("matmul", {f32({}), f32({4})}), HasSubstr("matmul input operand 0 must have ndim at least 1, but it has ndim 0"));
  for (const std::string op : {"random.normal", "random.gumbel", "random.bits", "random.split"})
    EXPECT_THAT(error_of(op, {f32({2})}), HasSubstr(op.substr(op.find('.') + 1) +
                                                    " accepts a single key, uint32[2] as random.key makes it, but was given float32[2]"));
  auto conv = [](Shape kernel, std::int64_t batch_groups, std::int64_t groups = 1) {
    return error_of("conv", {f32({4, 2, 3}), f32(std::move(kernel))},
                    Attrs{{"batch_group_count", batch_groups}, {"feature_group_count", groups}});
  };
  EXPECT_THAT(conv({4, 2, 2}, 0), HasSubstr("conv_general_dilated batch_group_count must be a positive integer, got 0."));
  EXPECT_THAT(conv({4, 2, 2}, 3),
              HasSubstr("conv_general_dilated batch_group_count must divide lhs batch dimension size, but 3 does not divide 4."));
  EXPECT_THAT(conv({3, 2, 2}, 2),
              HasSubstr("conv_general_dilated rhs output feature dimension size must be a multiple of batch_group_count, "
                        "but 3 is not a multiple of 2."));
  EXPECT_THAT(conv({4, 1, 2}, 2, 2), HasSubstr("At most one of batch_group_count and feature_group_count may be > 1, got "
                                               "batch_group_count=2 and feature_group_count=2"));
  EXPECT_THAT(error_of("sum", {f32({4, 8})}, Attrs{{"axis", std::int64_t(2)}}),
              HasSubstr("axis 2 is out of bounds for array of dimension 2"));
  EXPECT_THAT(error_of("sum", {f32({4, 8})}, Attrs{{"axis", std::vector<std::int64_t>{0, -2}}}),
              HasSubstr("duplicate value in 'axis': (0, -2)"));
  EXPECT_THAT(error_of("var", {f32({4})}, Attrs{{"ddof", std::numeric_limits<std::int64_t>::min()}}),
              HasSubstr("wanted a small whole number"));
  EXPECT_THAT(error_of("max", {f32({0, 8})}), HasSubstr("zero-size array to reduction operation max which has no identity"));
  EXPECT_THAT(error_of("transpose", {f32({4, 8})}, Attrs{{"axes", std::vector<std::int64_t>{0}}}),
              HasSubstr("transpose permutation isn't a permutation of operand dimensions, got permutation (0,) for operand shape (4, 8)."));
  EXPECT_THAT(error_of("squeeze", {f32({4, 1})}, Attrs{{"axis", std::int64_t(0)}}),
              HasSubstr("cannot select an axis to squeeze out which has size not equal to one"));
  EXPECT_THAT(error_of("broadcast_to", {f32({4})}, Attrs{{"shape", Shape{3}}}),
              HasSubstr("Incompatible types for broadcasting: input shape=(4,) and requested shape=(3,)"));
  EXPECT_THAT(error_of("floor", {{DType::kComplex64, {2}}}),
              HasSubstr("floor does not accept dtype complex64. Accepted dtypes are bfloat16, float16, float32, float64"));
  EXPECT_THAT(error_of("pow", {{DType::kInt32, {2}}}, {}, {Scalar{std::int64_t(-2)}}),
              HasSubstr("Integers cannot be raised to negative powers"));
  EXPECT_THAT(error_of("add", {{DType::kInt32, {2}}}, {}, {Scalar{std::int64_t(1) << 40}}),
              HasSubstr("Python integer 1099511627776 out of bounds for int32"));
  EXPECT_THAT(error_of("zeros", {}, Attrs{{"shape", Shape{1 << 30, 1 << 30}}}), HasSubstr("more than 281474976710656 elements"));
  EXPECT_THAT(error_of("zeros", {}, Attrs{{"shape", Shape{-1}}}), HasSubstr("negative size"));
  EXPECT_THAT(error_of("arange", {}, {}, {Scalar{0.0}, Scalar{1.0}, Scalar{0.0}}), HasSubstr("use a step other than 0"));
  EXPECT_THAT(error_of("arange", {f32({})}), HasSubstr("got an array, wanted a number"));
  EXPECT_THAT(error_of("einsum", {f32({2, 3})}, Attrs{{"subscripts", std::string("ij,jk->ik")}}), HasSubstr("name 2 operands, got 1"));
  EXPECT_THAT(error_of("einsum", {f32({2, 3}), f32({4, 2})}, Attrs{{"subscripts", std::string("ij,jk->ik")}}),
              HasSubstr("Size of label 'j' for operand 1 (4) does not match previous terms (3)."));
  EXPECT_THAT(error_of("einsum", {f32({2, 3})}, Attrs{{"subscripts", std::string("ij->z")}}),
              HasSubstr("Output character 'z' did not appear in the input"));
  EXPECT_THAT(error_of("einsum", {f32({2, 3})}, Attrs{{"subscripts", std::string("ijk->i")}}),
              HasSubstr("Einstein sum subscript 'ijk' does not contain the correct number of indices for operand 0."));
  EXPECT_THAT(error_of("clip", {{DType::kComplex64, {2}}}, {}, {Scalar{0.0}}), HasSubstr("Clip received a complex value"));
  EXPECT_THAT(error_of("einsum", {f32({2})}, Attrs{{"subscripts", std::string("...ij")}}),
              HasSubstr("do not fit an operand of 1 dimensions"));
  EXPECT_THAT(error_of("add", {f32({2})}), HasSubstr("got 1 operands, wanted 2"));
  EXPECT_THAT(error_of("with_sharding_constraint", {f32({2})}), HasSubstr("attribute 'sharding' is missing"));
}

// No operand types and attributes make any op crash or leak an internal error: what its users could write ends in a UserError.
TEST(Errors, WrongTypesAndAttributesNeverCrash) {
  std::mt19937 random(2);
  auto pick = [&](auto& list) -> auto& { return list[random() % list.size()]; };
  std::vector<Shape> shapes = {{}, {0}, {1}, {3}, {4, 2}, {2, 4}, {1, 4}, {2, 3, 4}, {2, 4, 3}};
  std::vector<DType> dtypes;
  for (const DTypeInfo& each : all_dtypes()) dtypes.push_back(each.dtype);
  std::vector<std::int64_t> integers = {-3, -1, 0, 1, 2, 3, 5, 24, std::int64_t(1) << 62, std::numeric_limits<std::int64_t>::min()};
  auto list = [&] {
    std::vector<std::int64_t> result;
    for (std::size_t count = random() % 4; count > 0; --count) result.push_back(pick(integers));
    return result;
  };
  int worked = 0;
  for (const OpDef* op : all_ops()) {
    for (int round = 0; round < 300; ++round) {
      GraphBuilder b;
      std::vector<Arg> args;
      int more = op->operands_max < 0 ? 4 : op->operands_max - op->operands_min + 1;
      int count = op->operands_min + int(random() % unsigned(more));
      for (int i = 0; i < count; ++i) {
        if (random() % 4 == 0)
          args.push_back(random() % 2 ? Scalar{pick(integers)} : Scalar{0.5});
        else
          args.push_back(b.param({pick(dtypes), pick(shapes)}));
      }
      Attrs attrs;
      for (const AttrDef& attr : op->attrs) {
        using Kind = AttrDef::Kind;
        if (!attr.required && random() % 2) continue;
        switch (attr.kind) {
          case Kind::kInteger:
            attrs.set(attr.name, pick(integers));
            break;
          case Kind::kNumber:
            attrs.set(attr.name, 0.5);
            break;
          case Kind::kFlag:
            attrs.set(attr.name, random() % 2 == 0);
            break;
          case Kind::kString:
            attrs.set(attr.name, std::string(random() % 2 ? "ij,jk->ik" : "ij->ji"));
            break;
          case Kind::kDType:
            attrs.set(attr.name, pick(dtypes));
            break;
          case Kind::kSharding:
            attrs.set(attr.name, Sharding());
            break;
          case Kind::kNames:
            attrs.set(attr.name, std::vector<std::string>{"a"});
            break;
          case Kind::kLiteral:
            attrs.set(attr.name, std::int64_t(3));
            break;
          case Kind::kIntegers:
          case Kind::kIntegerLists:
          case Kind::kGroups:
            attrs.set(attr.name, list());
            break;
          case Kind::kScalarOrIntegers:
            if (random() % 2)
              attrs.set(attr.name, list());
            else
              attrs.set(attr.name, pick(integers));
            break;
        }
      }
      try {
        b.set_results(b.call(*op, args, attrs, Where{}));
        verify(b.graph());
        ++worked;
      } catch (const UserError& error) { EXPECT_FALSE(std::string(error.what()).empty()); } catch (const std::exception& error) {
        ADD_FAILURE() << op->name << ": " << error.what() << "\n" << print(b.graph());
      }
    }
  }
  EXPECT_GT(worked, 1000);
}

}  // namespace
}  // namespace shardlab
