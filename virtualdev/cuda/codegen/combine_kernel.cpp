#include "virtualdev/cuda/codegen/combine_kernel.h"

#include <fmt/format.h>

namespace shardlab::cuda {

KernelText combine_kernel(Reduction reduction, DType dtype, int members) {
  return {fmt::format("combine_members<{0}<{1}>, {1}, {2}>(a)", functor_name(reduction), type_name(dtype), members), members + 1, 1};
}

}  // namespace shardlab::cuda
