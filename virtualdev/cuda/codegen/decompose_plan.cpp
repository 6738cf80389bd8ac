// Decompositions: a block for each matrix, in double.
#include <fmt/format.h>

#include <algorithm>

#include "virtualdev/cuda/codegen/node_plan.h"

namespace shardlab::cuda {
namespace {

// The matrices of an operand: how many, and of which sizes.
struct Matrices {
  std::int64_t count = 1, rows, columns;
  std::string_view type;
  std::int64_t deep_bytes;  // of an element, in double

  explicit Matrices(const TensorType& of)
      : rows(of.shape[of.shape.size() - 2]),
        columns(of.shape.back()),
        type(type_name(of.dtype)),
        deep_bytes(is_complex(of.dtype) ? 16 : 8) {
    for (std::size_t d = 0; d + 2 < of.shape.size(); ++d) count *= of.shape[d];
  }
  std::int64_t steps() const { return std::min(rows, columns); }
  int temporary(Planner& planner, std::int64_t elements) const { return planner.temporary(count * elements * deep_bytes); }
};

void plan_cholesky(Planner& planner, const KernelArgs& args) {
  const Matrices of(args.operands[0].type);
  planner.kernel_of_blocks(fmt::format("cholesky<{}>(a)", of.type),
                           {planner.operand(0), planner.result(0), of.temporary(planner, of.rows * of.columns)}, {of.count, of.rows});
}

void plan_lu(Planner& planner, const KernelArgs& args) {
  const Matrices of(args.operands[0].type);
  planner.kernel_of_blocks(
      fmt::format("eliminate<{}>(a)", of.type),
      {planner.operand(0), planner.result(0), planner.result(1), planner.result(2), of.temporary(planner, of.rows * of.columns)},
      {of.count, of.rows, of.columns});
}

void plan_triangular_solve(Planner& planner, const KernelArgs& args) {
  const Matrices of(args.operands[0].type), right(args.operands[1].type);
  const bool left = args.attrs.flag("left_side");
  const std::int64_t sides = left ? right.columns : right.rows;
  planner.kernel(fmt::format("triangular_solve<{}>(a)", of.type),
                 {planner.operand(0), planner.operand(1), planner.result(0), right.temporary(planner, right.rows * right.columns)},
                 {of.count * sides, of.rows, sides, left, args.attrs.flag("lower"), args.attrs.flag("transpose_a"),
                  args.attrs.flag("conjugate_a"), args.attrs.flag("unit_diagonal")});
}

void plan_qr(Planner& planner, const KernelArgs& args) {
  const Matrices of(args.operands[0].type);
  const std::int64_t kept = args.results[0].type.shape.back();
  planner.kernel_of_blocks(fmt::format("qr<{}>(a)", of.type),
                           {planner.operand(0), planner.result(0), planner.result(1), of.temporary(planner, of.rows * of.columns),
                            of.temporary(planner, of.steps()), of.temporary(planner, of.rows * kept)},
                           {of.count, of.rows, of.columns, kept});
}

void plan_eigh(Planner& planner, const KernelArgs& args) {
  const Matrices of(args.operands[0].type);
  const std::int64_t all = of.rows * of.rows;
  planner.kernel_of_blocks(fmt::format("eigh<{}>(a)", of.type),
                           {planner.operand(0), planner.result(0), planner.result(1), of.temporary(planner, all),
                            of.temporary(planner, all), of.temporary(planner, 4 * ((of.rows + 1) / 2))},
                           {of.count, of.rows, args.attrs.flag("lower", true)});
}

void plan_svd(Planner& planner, const KernelArgs& args) {
  const Matrices of(args.operands[0].type);
  const bool vectors = args.results.size() > 1, full = args.attrs.flag("full_matrices", true);
  const std::int64_t n = of.steps(), rows = std::max(of.rows, of.columns), all = rows * n;
  const int first = planner.result(0), u = vectors ? planner.result(1) : first, v_adjoint = vectors ? planner.result(2) : first;
  planner.kernel_of_blocks(
      fmt::format("svd<{}>(a)", of.type),
      {planner.operand(0), first, u, v_adjoint, of.temporary(planner, all), of.temporary(planner, n * n), of.temporary(planner, all),
       of.temporary(planner, n * n), of.temporary(planner, n), of.temporary(planner, rows * (full ? rows : n)), of.temporary(planner, n)},
      {of.count, of.rows, of.columns, vectors, full});
}

// Of matrices that need not be Hermitian, in complex numbers.
void plan_schur(Planner& planner, const KernelArgs& args) {
  const Matrices of(args.operands[0].type), found(args.results[1].type);
  const std::int64_t all = of.rows * of.rows;
  planner.kernel(fmt::format("schur<{}, {}>(a)", of.type, found.type),
                 {planner.operand(0), planner.result(0), planner.result(1), found.temporary(planner, all), found.temporary(planner, all)},
                 {of.count, of.rows});
}

void plan_eig(Planner& planner, const KernelArgs& args) {
  const Matrices of(args.operands[0].type), found(args.results[1].type);
  const std::int64_t all = of.rows * of.rows;
  planner.kernel(fmt::format("eig<{}, {}>(a)", of.type, found.type),
                 {planner.operand(0), planner.result(0), planner.result(1), found.temporary(planner, all), found.temporary(planner, all),
                  found.temporary(planner, all), found.temporary(planner, of.rows)},
                 {of.count, of.rows});
}

constexpr OpPlan kPlans[] = {{"cholesky", plan_cholesky},
                             {"lu", plan_lu},
                             {"triangular_solve", plan_triangular_solve},
                             {"qr", plan_qr},
                             {"eigh", plan_eigh},
                             {"svd", plan_svd},
                             {"schur", plan_schur},
                             {"eig", plan_eig}};

}  // namespace

extern const FamilyDef kDecomposeFamily;
const FamilyDef kDecomposeFamily = {.name = "decompose",
                                    .doc = "elimination, reflections and rotations, a block a matrix in double, generated",
                                    .has = PlansByOp<kPlans>::has,
                                    .plan = PlansByOp<kPlans>::plan};

}  // namespace shardlab::cuda
