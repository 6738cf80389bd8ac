// Values of the ops that move, sort, search and look up elements, as NumPy and JAX give them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/ops/evaluate.h"

namespace shardlab {
namespace {

using namespace testing_ops;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Ints = std::vector<std::int32_t>;
using Dims = std::vector<std::int64_t>;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Tensor ints(const Shape& shape, const Ints& values) { return tensor_of<std::int32_t>(shape, values); }
Tensor floats(const std::vector<float>& values) { return tensor_of<float>({std::int64_t(values.size())}, values); }
Tensor counting(const Shape& shape) {
  Ints values(std::size_t(element_count(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::int32_t(i);
  return ints(shape, values);
}
Ints values_of(const Tensor& tensor) { return {tensor.as<std::int32_t>(), tensor.as<std::int32_t>() + tensor.type.elements()}; }
std::vector<float> floats_of(const Tensor& tensor) { return {tensor.as<float>(), tensor.as<float>() + tensor.type.elements()}; }

struct Case {
  const char* op;
  std::vector<Tensor> operands;
  Attrs attrs;
  Shape shape;
  Ints values;
};

TEST(Moves, AreNumpys) {
  const Tensor x = counting({2, 3}), v = counting({4});
  const std::vector<Case> cases = {
      {"roll", {v}, {{"shift", std::int64_t(1)}}, {4}, {3, 0, 1, 2}},
      {"roll", {v}, {{"shift", std::int64_t(-9)}}, {4}, {1, 2, 3, 0}},
      {"roll", {x}, {{"shift", std::int64_t(2)}}, {2, 3}, {4, 5, 0, 1, 2, 3}},
      {"roll", {x}, {{"shift", std::int64_t(1)}, {"axis", std::int64_t(-1)}}, {2, 3}, {2, 0, 1, 5, 3, 4}},
      {"roll", {x}, {{"shift", Dims{1, 1}}, {"axis", Dims{0, 1}}}, {2, 3}, {5, 3, 4, 2, 0, 1}},
      {"roll", {x}, {{"shift", std::int64_t(3)}, {"axis", std::int64_t(1)}}, {2, 3}, {0, 1, 2, 3, 4, 5}},
      {"flip", {x}, {}, {2, 3}, {5, 4, 3, 2, 1, 0}},
      {"flip", {x}, {{"axis", std::int64_t(0)}}, {2, 3}, {3, 4, 5, 0, 1, 2}},
      {"fliplr", {x}, {}, {2, 3}, {2, 1, 0, 5, 4, 3}},
      {"diff", {v}, {}, {3}, {1, 1, 1}},
      {"diff", {x}, {{"axis", std::int64_t(0)}}, {1, 3}, {3, 3, 3}},
      {"moveaxis", {counting({1, 2, 3})}, {{"source", std::int64_t(0)}, {"destination", std::int64_t(-1)}}, {2, 3, 1}, {0, 1, 2, 3, 4, 5}},
      {"swapaxes", {x}, {{"axis1", std::int64_t(0)}, {"axis2", std::int64_t(1)}}, {3, 2}, {0, 3, 1, 4, 2, 5}},
      {"stack", {v, v}, {{"axis", std::int64_t(1)}}, {4, 2}, {0, 0, 1, 1, 2, 2, 3, 3}},
      {"hstack", {v, v}, {}, {8}, {0, 1, 2, 3, 0, 1, 2, 3}},
      {"vstack", {v, v}, {}, {2, 4}, {0, 1, 2, 3, 0, 1, 2, 3}},
      {"column_stack", {v, v}, {}, {4, 2}, {0, 0, 1, 1, 2, 2, 3, 3}},
      {"dstack", {ints({2}, {1, 2}), ints({2}, {3, 4})}, {}, {1, 2, 2}, {1, 3, 2, 4}},
      {"concatenate", {x, counting({1, 3})}, {{"axis", std::int64_t(0)}}, {3, 3}, {0, 1, 2, 3, 4, 5, 0, 1, 2}},
      {"tile", {counting({2})}, {{"reps", Dims{2, 2}}}, {2, 4}, {0, 1, 0, 1, 0, 1, 0, 1}},
      {"repeat", {x}, {{"repeats", std::int64_t(2)}, {"axis", std::int64_t(0)}}, {4, 3}, {0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}},
      {"repeat", {counting({3})}, {{"repeats", Dims{2, 0, 1}}, {"axis", std::int64_t(0)}}, {3}, {0, 0, 2}},
      {"pad", {counting({3})}, {{"pad_width", Dims{1, 2}}}, {6}, {0, 0, 1, 2, 0, 0}},
      {"pad", {counting({3})}, {{"pad_width", Dims{2, 1}}, {"mode", std::string("edge")}}, {6}, {0, 0, 0, 1, 2, 2}},
      {"pad", {counting({3})}, {{"pad_width", Dims{4, 2}}, {"mode", std::string("wrap")}}, {9}, {2, 0, 1, 2, 0, 1, 2, 0, 1}},
      {"pad", {counting({3})}, {{"pad_width", Dims{3, 3}}, {"mode", std::string("reflect")}}, {9}, {1, 2, 1, 0, 1, 2, 1, 0, 1}},
      {"pad", {counting({3})}, {{"pad_width", Dims{2, 2}}, {"mode", std::string("symmetric")}}, {7}, {1, 0, 0, 1, 2, 2, 1}},
      {"argmax", {x}, {}, {}, {5}},
      {"argmin", {x}, {{"axis", std::int64_t(1)}, {"keepdims", true}}, {2, 1}, {0, 0}},
      {"argsort", {ints({5}, {3, 1, 2, 1, 3})}, {}, {5}, {1, 3, 2, 0, 4}},
      {"argsort", {ints({5}, {3, 1, 2, 1, 3})}, {{"descending", true}}, {5}, {0, 4, 2, 1, 3}},
      {"sort", {ints({5}, {3, 1, 2, 1, 3})}, {{"descending", true}}, {5}, {3, 3, 2, 1, 1}},
      {"cumsum", {x}, {}, {6}, {0, 1, 3, 6, 10, 15}},
      {"cumprod", {ints({4}, {1, 2, 3, 4})}, {{"axis", std::int64_t(0)}, {"reverse", true}}, {4}, {24, 24, 12, 4}},
      {"take", {x, ints({2}, {-1, 0})}, {{"axis", std::int64_t(1)}}, {2, 2}, {2, 0, 5, 3}},
      {"take", {x, ints({2}, {7, 4})}, {}, {2}, {std::numeric_limits<std::int32_t>::min(), 4}},
      {"take", {x, ints({2}, {7, -4})}, {{"mode", std::string("clip")}}, {2}, {5, 0}},
      {"take", {x, ints({2}, {7, -4})}, {{"mode", std::string("wrap")}}, {2}, {1, 2}},
      {"take_along_axis", {x, ints({2, 1}, {2, 0})}, {{"axis", std::int64_t(1)}}, {2, 1}, {2, 3}},
      {"take_along_axis", {x, ints({1, 2}, {2, -1})}, {{"axis", std::int64_t(1)}}, {2, 2}, {2, 2, 5, 5}},
      {"take_along_axis", {x, ints({2, 3}, {0, 1, 1, 1, 0, 0})}, {{"axis", std::int64_t(0)}}, {2, 3}, {0, 4, 5, 3, 1, 2}},
      {"scatter_add", {v, ints({3}, {1, 1, -1}), ints({3}, {10, 20, 30})}, {}, {4}, {0, 31, 2, 33}},
      {"scatter", {x, ints({1}, {1}), ints({}, {9})}, {}, {2, 3}, {0, 1, 2, 9, 9, 9}},
      {"scatter_max", {v, ints({2}, {0, 9}), ints({2}, {5, 5})}, {}, {4}, {5, 1, 2, 3}},
      {"dynamic_slice", {v, ints({}, {-1})}, {{"sizes", Dims{2}}}, {2}, {2, 3}},
      {"dynamic_update_slice", {v, ints({2}, {8, 9}), ints({}, {3})}, {}, {4}, {0, 1, 8, 9}},
      {"dynamic_index_in_dim", {x, ints({}, {1})}, {{"keepdims", false}}, {3}, {3, 4, 5}},
      {"tril", {ints({2, 2}, {1, 2, 3, 4})}, {}, {2, 2}, {1, 0, 3, 4}},
      {"triu", {ints({2, 2}, {1, 2, 3, 4})}, {{"k", std::int64_t(1)}}, {2, 2}, {0, 2, 0, 0}},
      {"diag", {ints({2}, {5, 6})}, {{"k", std::int64_t(1)}}, {3, 3}, {0, 5, 0, 0, 0, 6, 0, 0, 0}},
      {"diag", {x}, {{"k", std::int64_t(1)}}, {2}, {1, 5}},
      {"diagonal", {x}, {{"k", std::int64_t(-1)}}, {1}, {3}},
      {"trace", {x}, {}, {}, {4}},
      {"outer", {ints({2}, {1, 2}), ints({2}, {3, 4})}, {}, {2, 2}, {3, 4, 6, 8}},
      {"inner", {ints({2}, {1, 2}), ints({2}, {3, 4})}, {}, {}, {11}},
      {"vdot", {x, x}, {}, {}, {55}},
      {"tensordot", {x, counting({3, 2})}, {{"axes", std::int64_t(1)}}, {2, 2}, {10, 13, 28, 40}},
      {"einsum", {counting({2, 2, 3})}, {{"subscripts", std::string("...ij->...ji")}}, {2, 3, 2}, {0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11}},
      {"einsum", {x, counting({3})}, {{"subscripts", std::string("...j,j")}}, {2}, {5, 14}},
      {"einsum", {x, counting({2, 3})}, {{"subscripts", std::string("...,...->...")}}, {2, 3}, {0, 1, 4, 9, 16, 25}},
      {"einsum", {x, counting({3, 2}), counting({2})}, {{"subscripts", std::string("ij,jk,k->i")}}, {2}, {13, 40}},
      {"einsum", {counting({2, 2})}, {{"subscripts", std::string("ii->i")}}, {2}, {0, 3}},
      {"kron", {ints({2}, {1, 2}), ints({2}, {3, 4})}, {}, {4}, {3, 4, 6, 8}},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(std::string(each.op) + " to " + text_of(each.shape));
    Tensor got = call(each.op, each.operands, each.attrs)[0];
    EXPECT_EQ(got.type.shape, each.shape);
    EXPECT_EQ(values_of(got), each.values);
  }
}

TEST(Moves, SeveralResults) {
  auto parts = call("split", {counting({4})}, {{"sections", std::int64_t(2)}});
  EXPECT_EQ(values_of(parts.at(1)), (Ints{2, 3}));
  parts = call("split", {counting({5})}, {{"indices", Dims{1, 3}}});
  EXPECT_EQ(values_of(parts.at(0)), (Ints{0}));
  EXPECT_EQ(values_of(parts.at(1)), (Ints{1, 2}));
  EXPECT_EQ(values_of(parts.at(2)), (Ints{3, 4}));
  // numpy's one name: a number or a list.
  EXPECT_EQ(call("split", {counting({4})}, {{"indices_or_sections", std::int64_t(4)}}).size(), 4U);
  EXPECT_EQ(call("split", {counting({4})}, {{"indices_or_sections", std::vector<std::int64_t>{1}}})[1].type.shape, Shape{3});
  parts = call("array_split", {counting({5})}, {{"sections", std::int64_t(3)}});
  EXPECT_EQ(values_of(parts.at(2)), (Ints{4}));
  auto grid = call("meshgrid", {counting({2}), counting({3})});
  EXPECT_EQ(grid.at(0).type.shape, (Shape{3, 2}));
  EXPECT_EQ(values_of(grid.at(0)), (Ints{0, 1, 0, 1, 0, 1}));
  grid = call("meshgrid", {counting({2}), counting({3})}, {{"indexing", std::string("ij")}, {"sparse", true}});
  EXPECT_EQ(grid.at(1).type.shape, (Shape{1, 3}));
  auto best = call("top_k", {ints({4}, {3, 9, 3, 7})}, {{"k", std::int64_t(3)}});
  EXPECT_EQ(values_of(best.at(0)), (Ints{9, 7, 3}));
  EXPECT_EQ(values_of(best.at(1)), (Ints{1, 3, 0}));
}

TEST(Moves, NanSortsLastAndWinsExtrema) {
  Tensor x = floats({2, kNan, -1, kNan, 0});
  std::vector<float> sorted = floats_of(call("sort", {x})[0]);
  EXPECT_THAT((std::vector<float>(sorted.begin(), sorted.begin() + 3)), ElementsAre(-1, 0, 2));
  EXPECT_TRUE(std::isnan(sorted[3]) && std::isnan(sorted[4]));
  EXPECT_EQ(values_of(call("argmax", {x})[0]), (Ints{1}));
  EXPECT_EQ(values_of(call("argmin", {x})[0]), (Ints{1}));
  EXPECT_EQ(values_of(call("top_k", {x}, {{"k", std::int64_t(2)}})[1]), (Ints{1, 3}));
  EXPECT_TRUE(std::isnan(floats_of(call("take", {x, ints({1}, {9})})[0])[0]));
}

// Negative NaNs come last, -0 after 0, of equal ones the first; as XLA has it.
TEST(Moves, TopKIsByTheTotalOrder) {
  const float inf = std::numeric_limits<float>::infinity();
  Tensor x = floats({1, std::copysign(kNan, -1.0F), kNan, -0.0F, 0, inf, -inf, -1, 0, -0.0F});
  EXPECT_EQ(values_of(call("top_k", {x}, {{"k", std::int64_t(10)}})[1]), (Ints{2, 5, 0, 4, 8, 3, 9, 7, 6, 1}));
  Tensor half = call("convert", {x}, {{"dtype", DType::kBfloat16}})[0];
  EXPECT_EQ(values_of(call("top_k", {half}, {{"k", std::int64_t(10)}})[1]), (Ints{2, 5, 0, 4, 8, 3, 9, 7, 6, 1}));
}

TEST(Moves, TopKAlongAnyAxis) {
  Tensor x = ints({3, 2}, {3, 9, 5, 7, 4, 8});
  auto best = call("top_k", {x}, {{"k", std::int64_t(2)}, {"axis", std::int64_t(0)}});
  EXPECT_EQ(best.at(0).type.shape, (Shape{2, 2}));
  EXPECT_EQ(values_of(best.at(0)), (Ints{5, 9, 4, 8}));
  EXPECT_EQ(values_of(best.at(1)), (Ints{1, 0, 2, 2}));
  EXPECT_EQ(values_of(call("top_k", {x}, {{"k", std::int64_t(1)}, {"axis", std::int64_t(-1)}})[0]), (Ints{9, 7, 8}));
}

// A form in parts computes what the op does.
TEST(Moves, PartsComputeTheSame) {
  std::mt19937 random(5);
  int checked = 0;
  for (const OpDef* op : all_ops()) {
    if (op->in_parts == nullptr) continue;
    for (const Sample& sample : op->samples()) {
      FactorRule rule = op->rule(sample.operands, op->infer(*op, sample.operands, sample.attrs), sample.attrs);
      for (int factor = 0; factor < int(rule.factors.size()); ++factor) {
        for (std::int64_t parts : {2, 3}) {
          if (rule.factors[std::size_t(factor)].size % parts != 0) continue;
          GraphBuilder b;
          std::vector<ValueId> params;
          std::vector<Tensor> operands;
          for (const TensorType& type : sample.operands) {
            params.push_back(b.param(type));
            operands.push_back(random_tensor(type, random));
          }
          std::vector<ValueId> results = op->in_parts(b, params, sample.attrs, factor, parts);
          if (results.empty()) continue;
          b.set_results(results);
          verify(b.graph());
          std::vector<Tensor> got = run(b.graph(), operands), wanted = run(*op, operands, sample.attrs);
          for (std::size_t i = 0; i < got.size(); ++i) expect_near(got[i], wanted[i], 1e-5, describe(*op, sample));
          ++checked;
        }
      }
    }
  }
  EXPECT_GT(checked, 10);
}

// The first of equals, and NaN before all, in whichever part.
TEST(Moves, TheBestOfPartsIsTheFirst) {
  for (std::string_view name : {"argmax", "argmin"}) {
    const float best = name == "argmax" ? 9 : -9;
    for (const auto& [values, wanted] :
         {std::pair{std::vector<float>{1, 5, best, best, 2, best}, 2}, std::pair{std::vector<float>{1, 5, best, 3, kNan, kNan}, 4}}) {
      for (std::int64_t parts : {2, 3}) {
        GraphBuilder b;
        b.set_results(find_op(name)->in_parts(b, {b.param({DType::kFloat32, {6}})}, Attrs{{"axis", std::int64_t(0)}}, 0, parts));
        EXPECT_EQ(values_of(run(b.graph(), {tensor_of<float>({6}, values)}).at(0)), (Ints{wanted})) << name << " in " << parts;
      }
    }
    GraphBuilder b;
    const Attrs along{{"axis", std::int64_t(0)}};
    EXPECT_TRUE(find_op(name)->in_parts(b, {b.param({DType::kFloat32, {6}})}, along, 0, 6).empty()) << "of single elements";
  }
}

TEST(Moves, ErrorsSayWhatIsWrong) {
  auto error_of = [](std::string_view op, const std::vector<Shape>& shapes, const Attrs& attrs) -> std::string {
    try {
      std::vector<TensorType> types;
      for (const Shape& shape : shapes) types.push_back({DType::kInt32, shape});
      graph_of(op, types, attrs);
    } catch (const UserError& error) { return error.what(); }
    return "no error";
  };
  EXPECT_THAT(
      error_of("concatenate", {{2, 3}, {2, 4}}, {{"axis", std::int64_t(0)}}),
      HasSubstr("Cannot concatenate arrays with shapes that differ in dimensions other than the one being concatenated: concatenating "
                "along dimension 0 for shapes (2, 3), (2, 4)."));
  EXPECT_THAT(error_of("concatenate", {{2, 3}, {2}}, {{"axis", std::int64_t(0)}}),
              HasSubstr("Cannot concatenate arrays with different numbers of dimensions: got (2, 3), (2,)."));
  EXPECT_THAT(error_of("stack", {{2}, {3}}, {}), HasSubstr("All input arrays must have the same shape"));
  EXPECT_THAT(error_of("split", {{5}}, {{"sections", std::int64_t(2)}}), HasSubstr("array split does not result in an equal division"));
  EXPECT_THAT(error_of("slice", {{4}}, {{"start", Dims{0}}, {"limit", Dims{5}}}),
              HasSubstr("limit_indices must be less than or equal to operand shape"));
  EXPECT_THAT(error_of("pad", {{4}}, {{"padding", Dims{0, -5, 0}}}), HasSubstr("dimension size after padding is not at least 0"));
  EXPECT_THAT(error_of("top_k", {{4}}, {{"k", std::int64_t(5)}}),
              HasSubstr("k argument to top_k must be no larger than size along axis; got k=5 with shape=(4,) and axis=0"));
  EXPECT_THAT(error_of("argmax", {{0, 2}}, {{"axis", std::int64_t(0)}}), HasSubstr("attempt to get argmax of an empty sequence"));
  EXPECT_THAT(error_of("take", {{0}, {2}}, {}), HasSubstr("Cannot do a non-empty jnp.take() from an empty axis"));
  EXPECT_THAT(error_of("dynamic_slice", {{4}, {}}, {{"sizes", Dims{5}}}),
              HasSubstr("slice slice_sizes must be nonnegative and less than or equal to operand shape"));
  EXPECT_THAT(error_of("meshgrid", {{4, 2}}, {}), HasSubstr("Arguments to jax.numpy.meshgrid must be 1D"));
}

}  // namespace
}  // namespace shardlab
