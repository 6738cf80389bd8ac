// JAX's out_sharding=: where a caller says himself how an op's result lies. On meshes of Explicit axes ambiguous ops need it.
#pragma once

#include <variant>

#include "runtime/exec/operand.h"

namespace shardlab {

// A sharding, or a spec on the mesh of the operands (inside jit: of the arguments, else the context's).
class OutSharding {
 public:
  OutSharding(Sharding sharding) : value_(std::move(sharding)) {}  // NOLINT: implicit on purpose
  OutSharding(PartitionSpec spec) : value_(std::move(spec)) {}     // NOLINT
  // UserError where a spec has no mesh, or does not fit it.
  Sharding on_mesh_of(const std::vector<Operand>& operands, Where where) const;

 private:
  std::variant<Sharding, PartitionSpec> value_;
};

// dot(x, w, {.out_sharding = P("x")})
struct OutOptions {
  detail::ByNameOnly by_name{};
  std::optional<OutSharding> out_sharding = {};
};

// apply() of ops.h, with results where they are asked for.
std::vector<Array> apply_to(std::string_view op, const std::vector<Operand>& operands, const Attrs& attrs, Where where,
                            const std::optional<OutSharding>& out_sharding);

// The array in the type that reshard, or `api`'s out_sharding, gives it: cut by Explicit axes as the sharding says; over the Auto axes of
// the mesh it lies as it comes to. UserError with JAX's text where Auto axes are named beside Explicit ones.
Array resharded(const Operand& x, const Sharding& sharding, std::string_view api);

}  // namespace shardlab
