// Factor rules in full for representative cases, equal to the rules that Shardy prints for the same HLO ops.
#include <gtest/gtest.h>

#include "tests/ops/evaluate.h"

namespace shardlab {
namespace {

struct Case {
  const char* op;
  std::vector<Shape> operands;
  Attrs attrs;
  const char* rule;
};

using Dims = std::vector<std::int64_t>;
Attrs shape(Shape s) { return Attrs{{"shape", std::move(s)}}; }
Attrs axes(Dims a) { return Attrs{{"axes", std::move(a)}}; }
Attrs broadcast(Shape s, Dims d) { return Attrs{{"shape", std::move(s)}, {"dims", std::move(d)}}; }
Attrs dot(Dims contract, Dims batch) { return Attrs{{"contract", std::move(contract)}, {"batch", std::move(batch)}}; }

TEST(Rules, AreShardys) {
  const std::vector<Case> cases = {
      {"sin", {{16, 8}}, {}, "{i=16, j=8} [i j]->[i j]"},
      {"add", {{16, 8}, {16, 8}}, {}, "{i=16, j=8} [i j],[i j]->[i j]"},
      {"reshape", {{16}}, shape({2, 8}), "{i=2, j=8} [ij]->[i j]"},
      {"reshape", {{16, 8}}, shape({128}), "{i=16, j=8} [i j]->[ij]"},
      {"reshape", {{16, 8}}, shape({8, 16}), "{i=8, j=2, k=8} [ij k]->[i jk]"},
      {"reshape", {{8, 4, 8}}, shape({4, 64}), "{i=4, j=2, k=4, l=8} [ij k l]->[i jkl]"},
      {"reshape", {{8}}, shape({1, 8}), "{i=1, j=8} [j]->[i j]"},
      {"reshape", {{16, 8}}, shape({16, 1, 8}), "{i=16, j=1, k=8} [i k]->[i j k]"},
      {"reshape", {{1}}, shape({1, 1}), "{i=1, j=1, k=1} [i]->[j k]"},
      {"reshape", {{24}}, shape({2, 3, 4}), "{i=2, j=3, k=4} [ijk]->[i j k]"},
      {"reshape", {{4, 6}}, shape({6, 4}), "{i=2, j=2, k=3, l=3, m=2, n=2} [ij ln]->[ik mn]"},
      {"reshape", {{8, 1, 2}}, shape({16}), "{i=8, j=1, k=2} [i j k]->[ik]"},
      {"transpose", {{8, 16, 8}}, axes({2, 0, 1}), "{i=8, j=8, k=16} [j k i]->[i j k]"},
      {"broadcast_in_dim", {{}}, broadcast({8}, {}), "{i=8} []->[i]"},
      {"broadcast_in_dim", {{8}}, broadcast({16, 8}, {1}), "{i=16, j=8} [j]->[i j]"},
      {"broadcast_in_dim", {{1}}, broadcast({16}, {0}), "{i=1, j=16} [i]->[j]"},
      {"reduce_sum", {{16, 8}}, axes({1}), "{i=16, j=8 reduced} [i j]->[i]"},
      {"reduce_max", {{16, 8}}, axes({0, 1}), "{i=16 reduced, j=8 reduced} [i j]->[]"},
      {"dot_general", {{16, 8}, {8, 16}}, dot({1, 0}, {}), "{i=16, j=16, k=8 reduced} [i k],[k j]->[i j]"},
      {"dot_general", {{16, 8}, {16, 24}}, dot({0, 0}, {}), "{i=8, j=24, k=16 reduced} [k i],[k j]->[i j]"},
      {"dot_general", {{8, 4, 16}, {8, 16, 8}}, dot({2, 1}, {0, 0}), "{i=8, j=4, k=8, l=16 reduced} [i j l],[i l k]->[i j k]"},
      {"dot_general", {{16, 8}, {8}}, dot({1, 0}, {}), "{i=16, j=8 reduced} [i j],[j]->[i]"},
      {"slice", {{16, 8}}, Attrs{{"start", Dims{4, 0}}, {"limit", Dims{12, 8}}}, "{i=16 permuted, j=8} [i j]->[i j]"},
      {"pad", {{16, 8}, {}}, Attrs{{"padding", Dims{8, 8, 0, 0, 0, 0}}}, "{i=16 permuted, j=8} [i j],[]->[i j]"},
      {"pad", {{16, 8}, {}}, Attrs{{"padding", Dims{0, 0, 0, 4, 4, 0}}}, "{i=16, j=8 permuted} [i j],[]->[i j]"},
      {"rev", {{16, 8}}, Attrs{{"dims", Dims{0}}}, "{i=16 permuted, j=8} [i j]->[i j]"},
      {"concatenate", {{16, 8}, {16, 8}}, Attrs{{"axis", std::int64_t(0)}}, "{i=32 whole, j=8} [i j],[i j]->[i j]"},
      {"concatenate", {{16, 1, 8}, {16, 1, 8}}, Attrs{{"axis", std::int64_t(1)}}, "{i=16, j=2 whole, k=8} [i j k],[i j k]->[i j k]"},
      {"cumsum", {{16, 8}}, Attrs{{"axis", std::int64_t(0)}}, "{i=16 permuted, j=8} [i j]->[i j]"},
      {"argmax", {{16, 8}}, Attrs{{"axis", std::int64_t(0)}}, "{i=16 reduced, j=8} [i j]->[j]"},
      {"sort", {{16, 8}}, Attrs{{"axis", std::int64_t(0)}}, "{i=16 whole, j=8} [i j]->[i j]"},
      {"sort", {{16, 8}, {16, 8}}, Attrs{{"axis", std::int64_t(1)}}, "{i=16, j=8 whole} [i j],[i j]->[i j],[i j]"},
      {"sort", {{16}}, Attrs{{"axis", std::int64_t(0)}}, "{i=16 whole blocked} [i]->[i]"},
      {"top_k", {{16, 8}}, Attrs{{"k", std::int64_t(2)}}, "{i=16, j=8 whole blocked} [i j]->[i j],[i j]"},
  };
  const std::vector<Case> placed = {
      {"dynamic_slice", {{16, 8}, {}, {}}, Attrs{{"sizes", Dims{8, 8}}}, "{i=16 whole blocked, j=8} [i j],[],[]->[i j]"},
      {"dynamic_update_slice", {{16, 8}, {4, 8}, {}, {}}, {}, "{i=16, j=4, k=8} [i k],[j k],[],[]->[i k]"},
      {"gather",
       {{16, 8}, {4, 1}},
       Attrs{{"offset_dims", Dims{1}}, {"collapsed_slice_dims", Dims{0}}, {"start_index_map", Dims{0}}, {"slice_sizes", Dims{1, 8}}},
       "{i=4, j=8, k=16 reduced, l=1 whole} [k j],[i l]->[i j]"},
      {"scatter_add",
       {{16, 8}, {4, 1}, {4, 8}},
       Attrs{{"offset_dims", Dims{1}}, {"collapsed_slice_dims", Dims{0}}, {"start_index_map", Dims{0}}},
       "{i=8, j=16, k=4 reduced, l=1 whole} [j i],[k l],[k i]->[j i]"},
      {"conv",
       {{16, 9, 8, 4}, {5, 4, 5, 8}},
       Attrs{{"lhs_spec", Dims{2, 3, 1, 0}},
             {"rhs_spec", Dims{3, 1, 0, 2}},
             {"out_spec", Dims{2, 3, 1, 0}},
             {"window_strides", Dims{3, 3}},
             {"pads", Dims{0, 0, 4, 2}},
             {"lhs_dilation", Dims{1, 1}},
             {"rhs_dilation", Dims{2, 1}},
             {"feature_group_count", std::int64_t(1)},
             {"rule_for_propagation", true}},
       "{i=8, j=5 reduced, k=6 permuted, l=2 reduced, m=4 reduced, n=8, o=1} [kl j i m],[j m l n]->[k o i n]"},
      {"conv",
       {{8, 3, 6}, {4, 3, 2}},
       Attrs{{"lhs_spec", Dims{0, 1, 2}},
             {"rhs_spec", Dims{0, 1, 2}},
             {"out_spec", Dims{0, 1, 2}},
             {"window_strides", Dims{1}},
             {"pads", Dims{0, 0}},
             {"lhs_dilation", Dims{1}},
             {"rhs_dilation", Dims{1}},
             {"batch_group_count", std::int64_t(2)},
             {"rule_for_propagation", true}},
       "{i=2, j=4, k=5 permuted, l=3 reduced, m=2, n=1} [ij l k],[im l n]->[j im k]"},
  };
  auto check = [](const Case& each, DType dtype) {
    const OpDef& op = *find_op(each.op);
    std::vector<TensorType> operands;
    for (const Shape& s : each.operands) operands.push_back({dtype, s});
    EXPECT_EQ(op.rule(operands, op.infer(op, operands, each.attrs), each.attrs).text(), each.rule) << each.op;
  };
  for (const Case& each : cases) check(each, DType::kFloat32);
  for (const Case& each : placed) check(each, DType::kInt32);
}

TEST(Rules, ScalarOperandsHaveNoFactors) {
  std::vector<TensorType> operands = {{DType::kBool, {}}, {DType::kFloat32, {4, 2}}, {DType::kFloat32, {4, 2}}};
  EXPECT_EQ(find_op("select")->rule(operands, {operands[1]}, {}).text(), "{i=4, j=2} [],[i j],[i j]->[i j]");
}

}  // namespace
}  // namespace shardlab
