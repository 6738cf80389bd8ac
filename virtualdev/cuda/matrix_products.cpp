#include "virtualdev/cuda/matrix_products.h"

#include <algorithm>

namespace shardlab::cuda {
namespace {

constexpr std::size_t kWorkspaceBytes = std::size_t(32) << 20;  // what the library asks for on Hopper

struct Types {
  cudaDataType_t data, scale;
  cublasComputeType_t compute;
};

// float is multiplied in full precision: TF32 would differ from the CPU in the third digit.
Types types_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return {CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F};
    case DType::kBfloat16:
      return {CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case DType::kFloat16:
      return {CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case DType::kComplex64:
      return {CUDA_C_32F, CUDA_C_32F, CUBLAS_COMPUTE_32F};
    case DType::kComplex128:
      return {CUDA_C_64F, CUDA_C_64F, CUBLAS_COMPUTE_64F};
    default:
      return {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
  }
}

// An operand as the library sees it: by columns.
struct Columns {
  bool is_transposed;
  std::int64_t rows, columns, leading;
};

}  // namespace

void MatrixProducts::check(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw GpuError(fmt::format("{}: {}", what, SHARDLAB_CALL(library_, cublasLtGetStatusString)(status)));
}

// Row-major c = a b is, by columns, c' = b' a': the right operand comes first.
void MatrixProducts::run(int gpu, const MatrixProduct& p, cudaStream_t stream, const std::function<std::byte*(std::size_t)>& allocate) {
  std::lock_guard lock(mutex_);
  OnGpu& here = gpus_[gpu];
  if (here.handle == nullptr) {
    check(SHARDLAB_CALL(library_, cublasLtCreate)(&here.handle), "cublasLtCreate");
    here.workspace = allocate(kWorkspaceBytes);
  }
  Types types = types_of(p.dtype);
  Columns first = p.right_n == 1 ? Columns{false, p.n, p.k, std::max(p.right_k, p.n)} : Columns{true, p.k, p.n, std::max(p.right_n, p.k)};
  Columns second = p.left_k == 1 ? Columns{false, p.k, p.m, std::max(p.left_m, p.k)} : Columns{true, p.m, p.k, std::max(p.left_k, p.m)};

  cublasLtMatmulDesc_t operation = nullptr;
  check(SHARDLAB_CALL(library_, cublasLtMatmulDescCreate)(&operation, types.compute, types.scale), "cublasLtMatmulDescCreate");
  auto set_transposed = [&](cublasLtMatmulDescAttributes_t attribute, bool is_transposed) {
    cublasOperation_t value = is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    check(SHARDLAB_CALL(library_, cublasLtMatmulDescSetAttribute)(operation, attribute, &value, sizeof(value)),
          "cublasLtMatmulDescSetAttribute");
  };
  set_transposed(CUBLASLT_MATMUL_DESC_TRANSA, first.is_transposed);
  set_transposed(CUBLASLT_MATMUL_DESC_TRANSB, second.is_transposed);
  auto layout_of = [&](const Columns& columns, std::int64_t stride) {
    cublasLtMatrixLayout_t layout = nullptr;
    check(SHARDLAB_CALL(library_, cublasLtMatrixLayoutCreate)(&layout, types.data, std::uint64_t(columns.rows),
                                                              std::uint64_t(columns.columns), columns.leading),
          "cublasLtMatrixLayoutCreate");
    std::int32_t batch = std::int32_t(p.batch);
    auto set = SHARDLAB_CALL(library_, cublasLtMatrixLayoutSetAttribute);
    check(set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof(batch)), "cublasLtMatrixLayoutSetAttribute");
    check(set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof(stride)), "cublasLtMatrixLayoutSetAttribute");
    return layout;
  };
  cublasLtMatrixLayout_t a = layout_of(first, p.right_batch), b = layout_of(second, p.left_batch);
  cublasLtMatrixLayout_t c = layout_of({false, p.n, p.m, p.n}, p.m * p.n);

  Key key{gpu,           int(p.dtype), p.batch, p.m, p.n, p.k, first.leading, second.leading, first.is_transposed, second.is_transposed,
          p.right_batch, p.left_batch};
  auto found = algorithms_.find(key);
  if (found == algorithms_.end()) {
    cublasLtMatmulPreference_t preference = nullptr;
    check(SHARDLAB_CALL(library_, cublasLtMatmulPreferenceCreate)(&preference), "cublasLtMatmulPreferenceCreate");
    check(SHARDLAB_CALL(library_, cublasLtMatmulPreferenceSetAttribute)(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                                        &kWorkspaceBytes, sizeof(kWorkspaceBytes)),
          "cublasLtMatmulPreferenceSetAttribute");
    cublasLtMatmulHeuristicResult_t best;
    int count = 0;
    cublasStatus_t status =
        SHARDLAB_CALL(library_, cublasLtMatmulAlgoGetHeuristic)(here.handle, operation, a, b, c, c, preference, 1, &best, &count);
    SHARDLAB_CALL(library_, cublasLtMatmulPreferenceDestroy)(preference);
    check(status, "cublasLtMatmulAlgoGetHeuristic");
    if (count == 0) throw GpuError(fmt::format("cuBLASLt has no algorithm for {} x {} x {} of {}", p.m, p.n, p.k, name_of(p.dtype)));
    found = algorithms_.emplace(key, best.algo).first;
  }
  // Room for the widest scalar, which is 1 and 0 in each type.
  const double one_double[2] = {1, 0}, zero_double[2] = {0, 0};
  const float one_float[2] = {1, 0}, zero_float[2] = {0, 0};
  bool is_double = types.compute == CUBLAS_COMPUTE_64F;
  const void *one = is_double ? static_cast<const void*>(one_double) : one_float,
             *zero = is_double ? static_cast<const void*>(zero_double) : zero_float;
  cublasStatus_t status = SHARDLAB_CALL(library_, cublasLtMatmul)(here.handle, operation, one, p.right, a, p.left, b, zero, p.result, c,
                                                                  p.result, c, &found->second, here.workspace, kWorkspaceBytes, stream);
  for (cublasLtMatrixLayout_t layout : {a, b, c}) SHARDLAB_CALL(library_, cublasLtMatrixLayoutDestroy)(layout);
  SHARDLAB_CALL(library_, cublasLtMatmulDescDestroy)(operation);
  check(status, "cublasLtMatmul");
}

}  // namespace shardlab::cuda
