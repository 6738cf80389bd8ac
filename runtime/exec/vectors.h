// The iterations of solvers.h on lists of arrays that stand for one vector.
#pragma once

#include "runtime/exec/tree_function.h"

namespace shardlab::detail {

struct Vectors {
  std::vector<Array> x0 = {};  // empty: zeros
  double tol = 1e-5, atol = 0;
  std::optional<std::int64_t> maxiter = {};
  ArrayFunction M = {};  // nothing: the identity
  std::int64_t restart = 20;
  std::string solve_method = "batched";
};

// UserError where it is no square matrix.
ArrayFunction times_matrix(const Array& a);
std::vector<Array> cg(const ArrayFunction& a, const std::vector<Array>& b, const Vectors& options, Where where);
std::vector<Array> bicgstab(const ArrayFunction& a, const std::vector<Array>& b, const Vectors& options, Where where);
std::pair<std::vector<Array>, Array> gmres(const ArrayFunction& a, const std::vector<Array>& b, const Vectors& options, Where where);

}  // namespace shardlab::detail
