// What distributions with parameters share: a key, parameters of one dtype, as a rule broadcast to the result's shape.
#pragma once

#include "runtime/ops/compose.h"

namespace shardlab::ops {

struct Draw {
  GraphBuilder& b;
  Term key;
  DType dtype;
  Shape shape;
  std::vector<Term> parameters;

  Term drawn(std::string_view distribution, const Term& from, const Shape& of) const {
    return call(b, distribution, {from}, Attrs{{"shape", of}, {"dtype", dtype}});
  }
  Term drawn(std::string_view distribution) const { return drawn(distribution, key, shape); }
  Term uniform() const { return drawn("random.uniform"); }
  // One of `num` keys that the key is split into.
  Term child(std::int64_t index, std::int64_t num = 2) const { return call("random.child", key, Attrs{{"index", index}, {"num", num}}); }
  Shape shape_of_parameters(std::string_view op) const;  // broadcast together
  Draw with_key(const Term& other) const { return {b, other, dtype, shape, parameters}; }
};

struct DrawParameter {
  std::string_view name;
  std::optional<double> otherwise;
};

// The operands after the key, or attributes, are the parameters, each of its own shape; without a shape a scalar is drawn.
Draw drawing_apart(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs, std::span<const DrawParameter> parameters);
// The parameters broadcast to the shape; without one it is theirs.
Draw drawing(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs, std::span<const DrawParameter> parameters);
// For a result of whole numbers, of the attribute dtype, whose parameters and the numbers it is made of are real.
Draw drawing_whole(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs, std::span<const DrawParameter> parameters);

inline constexpr AttrDef kDrawShape = {"shape", AttrDef::Kind::kScalarOrIntegers, false,
                                       "the shape of the result; that of the parameters by default"};
inline constexpr AttrDef kDrawFloat = {"dtype", AttrDef::Kind::kDType, false, "float32 by default"};

}  // namespace shardlab::ops
