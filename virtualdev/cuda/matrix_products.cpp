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
// Row-major c = a b is, by columns, c' = b' a': the right operand comes first. So a bias is as long as a column of c', as the library wants
// it.
Columns first_of(const MatrixProduct& p) {
  return p.right_n == 1 ? Columns{false, p.n, p.k, std::max(p.right_k, p.n)} : Columns{true, p.k, p.n, std::max(p.right_n, p.k)};
}
Columns second_of(const MatrixProduct& p) {
  return p.left_k == 1 ? Columns{false, p.k, p.m, std::max(p.left_m, p.k)} : Columns{true, p.m, p.k, std::max(p.left_k, p.m)};
}

cublasLtEpilogue_t epilogue_of(const MatrixProduct& p) {
  const bool has_bias = p.bias != nullptr;
  switch (p.activation) {
    case Epilogue::Activation::kRelu:
      return has_bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
    case Epilogue::Activation::kGelu:
      return has_bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
    case Epilogue::Activation::kNone:
      break;
  }
  return has_bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

}  // namespace

// What the library is told of a product.
struct MatrixProducts::Description {
  Description(MatrixProducts& products, const MatrixProduct& p, bool is_together) : owner(products) {
    const Types types = types_of(p.dtype);
    const Columns first = first_of(p), second = second_of(p);
    owner.check(SHARDLAB_CALL(owner.library_, cublasLtMatmulDescCreate)(&operation, types.compute, types.scale),
                "cublasLtMatmulDescCreate");
    set(CUBLASLT_MATMUL_DESC_TRANSA, first.is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, second.is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(p));
    if (p.processors > 0) set(CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, std::int32_t(p.processors));
    if (p.bias != nullptr) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(p.bias));  // its type: the result's
    layouts[0] = layout(p, first, p.right_batch, is_together);
    layouts[1] = layout(p, second, p.left_batch, is_together);
    layouts[2] = layout(p, {false, p.n, p.m, p.n}, p.m * p.n, is_together);
  }
  ~Description() {
    for (cublasLtMatrixLayout_t each : layouts)
      if (each != nullptr) SHARDLAB_CALL(owner.library_, cublasLtMatrixLayoutDestroy)(each);
    if (operation != nullptr) SHARDLAB_CALL(owner.library_, cublasLtMatmulDescDestroy)(operation);
  }
  Description(const Description&) = delete;
  Description& operator=(const Description&) = delete;

  template <typename T>
  void set(cublasLtMatmulDescAttributes_t attribute, T value) {
    owner.check(SHARDLAB_CALL(owner.library_, cublasLtMatmulDescSetAttribute)(operation, attribute, &value, sizeof(value)),
                "cublasLtMatmulDescSetAttribute");
  }
  cublasLtMatrixLayout_t layout(const MatrixProduct& p, const Columns& columns, std::int64_t stride, bool is_together) {
    cublasLtMatrixLayout_t made = nullptr;
    owner.check(SHARDLAB_CALL(owner.library_, cublasLtMatrixLayoutCreate)(&made, types_of(p.dtype).data, std::uint64_t(columns.rows),
                                                                          std::uint64_t(columns.columns), columns.leading),
                "cublasLtMatrixLayoutCreate");
    auto set_layout = [&](cublasLtMatrixLayoutAttribute_t attribute, auto value) {
      owner.check(SHARDLAB_CALL(owner.library_, cublasLtMatrixLayoutSetAttribute)(made, attribute, &value, sizeof(value)),
                  "cublasLtMatrixLayoutSetAttribute");
    };
    set_layout(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, std::int32_t(is_together ? p.together : p.batch));
    if (is_together)
      set_layout(CUBLASLT_MATRIX_LAYOUT_BATCH_MODE, std::uint32_t(CUBLASLT_BATCH_MODE_POINTER_ARRAY));
    else
      set_layout(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride);
    return made;
  }

  MatrixProducts& owner;
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t layouts[3] = {};
};

void MatrixProducts::check(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw GpuError(fmt::format("{}: {}", what, SHARDLAB_CALL(library_, cublasLtGetStatusString)(status)));
}

MatrixProducts::OnGpu& MatrixProducts::open(int gpu) {
  OnGpu& here = gpus_[gpu];
  if (here.handle == nullptr) check(SHARDLAB_CALL(library_, cublasLtCreate)(&here.handle), "cublasLtCreate");
  return here;
}

void MatrixProducts::close(const std::function<void(int gpu)>& use, const std::function<void(std::byte*)>& release) {
  std::lock_guard lock(mutex_);
  for (auto& [gpu, here] : gpus_) {
    use(gpu);
    if (here.handle != nullptr) SHARDLAB_CALL(library_, cublasLtDestroy)(here.handle);
    for (std::byte* workspace : here.workspaces) release(workspace);
  }
  gpus_.clear();
}

MatrixProducts::Key MatrixProducts::key_of(int gpu, const MatrixProduct& p) {
  const Columns first = first_of(p), second = second_of(p);
  return {gpu,
          int(p.dtype),
          p.batch,
          p.m,
          p.n,
          p.k,
          first.leading,
          second.leading,
          first.is_transposed,
          second.is_transposed,
          p.right_batch,
          p.left_batch,
          int(epilogue_of(p)),
          p.addend != nullptr,
          p.processors,
          p.together};
}

// One for many must do for one of them, too.
const std::optional<cublasLtMatmulAlgo_t>& MatrixProducts::algorithm(int gpu, const MatrixProduct& p) {
  const Key key = key_of(gpu, p);
  if (auto found = algorithms_.find(key); found != algorithms_.end()) return found->second;
  Description one(*this, p, false);
  std::optional<cublasLtMatmulAlgo_t> found;
  if (p.together == 0) {
    found = ask(gpu, p, one);
  } else {
    Description many(*this, p, true);
    found = ask(gpu, p, many);
    if (found && !can(gpu, *found, one)) found.reset();
  }
  return algorithms_.emplace(key, found).first->second;
}

bool MatrixProducts::can(int gpu, const cublasLtMatmulAlgo_t& algorithm, Description& description) {
  cublasLtMatmulHeuristicResult_t result{};
  const auto& layouts = description.layouts;
  const cublasStatus_t status = SHARDLAB_CALL(library_, cublasLtMatmulAlgoCheck)(open(gpu).handle, description.operation, layouts[0],
                                                                                 layouts[1], layouts[2], layouts[2], &algorithm, &result);
  return status == CUBLAS_STATUS_SUCCESS && result.workspaceSize <= kWorkspaceBytes;
}

// Where the library has none, it says so by its status, or by finding nothing.
std::optional<cublasLtMatmulAlgo_t> MatrixProducts::ask(int gpu, const MatrixProduct& p, Description& description) {
  cublasLtMatmulPreference_t preference = nullptr;
  check(SHARDLAB_CALL(library_, cublasLtMatmulPreferenceCreate)(&preference), "cublasLtMatmulPreferenceCreate");
  cublasStatus_t status = SHARDLAB_CALL(library_, cublasLtMatmulPreferenceSetAttribute)(
      preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kWorkspaceBytes, sizeof(kWorkspaceBytes));
  // Where it adds parts of a sum, these are not rounded to 16 bits before.
  const std::uint32_t reductions = size_of(p.dtype) == 2 ? CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE : CUBLASLT_REDUCTION_SCHEME_MASK;
  if (status == CUBLAS_STATUS_SUCCESS)
    status = SHARDLAB_CALL(library_, cublasLtMatmulPreferenceSetAttribute)(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                                                                           &reductions, sizeof(reductions));
  cublasLtMatmulHeuristicResult_t best{};
  int count = 0;
  const auto& layouts = description.layouts;
  if (status == CUBLAS_STATUS_SUCCESS)
    status = SHARDLAB_CALL(library_, cublasLtMatmulAlgoGetHeuristic)(open(gpu).handle, description.operation, layouts[0], layouts[1],
                                                                     layouts[2], layouts[2], preference, 1, &best, &count);
  SHARDLAB_CALL(library_, cublasLtMatmulPreferenceDestroy)(preference);
  if (status != CUBLAS_STATUS_NOT_SUPPORTED && status != CUBLAS_STATUS_INVALID_VALUE) check(status, "cublasLtMatmulAlgoGetHeuristic");
  const bool is_there = status == CUBLAS_STATUS_SUCCESS && count > 0 && best.state == CUBLAS_STATUS_SUCCESS;
  return is_there ? std::optional(best.algo) : std::nullopt;
}

bool MatrixProducts::has(int gpu, const MatrixProduct& p) {
  std::lock_guard lock(mutex_);
  return algorithm(gpu, p).has_value();
}

std::vector<const std::byte*> MatrixProducts::addresses_of(const MatrixProduct& p) {
  std::vector<MatrixProduct::Matrices> all{{p.left, p.right, p.result}};
  all.insert(all.end(), p.others.begin(), p.others.end());
  std::vector<const std::byte*> addresses;
  for (const auto& each : all) addresses.push_back(each.left);
  for (const auto& each : all) addresses.push_back(each.right);
  for (const auto& each : all) addresses.push_back(each.result);
  return addresses;
}

void MatrixProducts::reserve(int gpu, int rooms, const std::function<std::byte*(std::size_t)>& allocate) {
  std::lock_guard lock(mutex_);
  std::vector<std::byte*>& workspaces = gpus_[gpu].workspaces;
  while (workspaces.size() < std::size_t(rooms)) workspaces.push_back(allocate(kWorkspaceBytes));
}

void MatrixProducts::run(int gpu, const MatrixProduct& p, cudaStream_t stream, int room, const std::byte* addresses) {
  std::lock_guard lock(mutex_);
  OnGpu& here = open(gpu);
  if (std::size_t(room) >= here.workspaces.size()) throw GpuError(fmt::format("a product in room {}, which is not there", room));
  const bool is_together = !p.others.empty();
  Description description(*this, p, is_together);
  const auto& algo = algorithm(gpu, p);
  if (!algo)
    throw GpuError(fmt::format("cuBLASLt has no algorithm for {} x {} x {} of {} with epilogue {}", p.m, p.n, p.k, name_of(p.dtype),
                               int(epilogue_of(p))));
  // Room for the widest scalar in each type.
  const double kept = p.addend == nullptr ? 0 : 1;
  const double scale_double[2] = {p.scale, 0}, kept_double[2] = {kept, 0};
  const float scale_float[2] = {float(p.scale), 0}, kept_float[2] = {float(kept), 0};
  const bool is_double = types_of(p.dtype).compute == CUBLAS_COMPUTE_64F;
  const void *scale = is_double ? static_cast<const void*>(scale_double) : scale_float,
             *of_added = is_double ? static_cast<const void*>(kept_double) : kept_float;
  const auto& layouts = description.layouts;
  const void *left = p.left, *right = p.right, *added = p.addend;
  void* result = p.result;
  if (is_together) {
    auto* lists = reinterpret_cast<const std::byte* const*>(addresses);
    left = lists;
    right = lists + p.together;
    result = const_cast<const std::byte**>(lists + 2 * p.together);
  }
  check(SHARDLAB_CALL(library_, cublasLtMatmul)(here.handle, description.operation, scale, right, layouts[0], left, layouts[1], of_added,
                                                added == nullptr ? result : added, layouts[2], result, layouts[2], &*algo,
                                                here.workspaces[std::size_t(room)], kWorkspaceBytes, stream),
        "cublasLtMatmul");
}

}  // namespace shardlab::cuda
