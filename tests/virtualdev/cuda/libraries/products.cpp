// The functions of libcublasLt: products of column-major matrices, as their descriptions say.
#include <cublasLt.h>

#include <cmath>
#include <complex>
#include <cstring>

#include "runtime/core/half.h"
#include "tests/virtualdev/cuda/libraries/stand_in.h"

namespace shardlab::testing::libraries {
namespace {

struct Layout {
  cudaDataType_t type;
  std::int64_t rows, columns, leading, batch = 1, stride = 0;
  bool is_list = false;  // of addresses, instead of one
};
struct Operation {
  cublasComputeType_t compute;
  cudaDataType_t scale;
  bool transposes[2] = {};
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;
};
struct Preference {
  std::size_t workspace = 0;
  std::uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_MASK;
};

const Layout& of(cublasLtMatrixLayout_t layout) { return *reinterpret_cast<const Layout*>(layout); }
const Operation& of(cublasLtMatmulDesc_t operation) { return *reinterpret_cast<const Operation*>(operation); }

template <typename T>
cublasStatus_t take(T& into, const void* value, std::size_t bytes) {
  if (bytes != sizeof(T)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&into, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

// Which types go together, of the documentation's table.
bool is_supported(const Operation& operation, cudaDataType_t data) {
  switch (data) {
    case CUDA_R_16F:
    case CUDA_R_16BF:
    case CUDA_R_32F:
      return operation.compute == CUBLAS_COMPUTE_32F && operation.scale == CUDA_R_32F;
    case CUDA_C_32F:
      return operation.compute == CUBLAS_COMPUTE_32F && operation.scale == CUDA_C_32F && operation.epilogue == CUBLASLT_EPILOGUE_DEFAULT;
    case CUDA_R_64F:
      return operation.compute == CUBLAS_COMPUTE_64F && operation.scale == CUDA_R_64F && operation.epilogue == CUBLASLT_EPILOGUE_DEFAULT;
    case CUDA_C_64F:
      return operation.compute == CUBLAS_COMPUTE_64F && operation.scale == CUDA_C_64F && operation.epilogue == CUBLASLT_EPILOGUE_DEFAULT;
    default:
      return false;
  }
}

bool fits(const Layout& layout) { return layout.leading >= layout.rows && layout.rows > 0 && layout.columns > 0 && layout.batch > 0; }

// One of a batch, or of a list.
const void* matrix_of(const void* data, const Layout& layout, std::int64_t number, std::size_t item) {
  if (layout.is_list) return static_cast<const void* const*>(data)[number];
  return static_cast<const std::byte*>(data) + number * layout.stride * std::int64_t(item);
}

// Arithmetic in `Wide`, which is what is stored but for floats of 16 bits.
template <typename T, typename Wide, typename Load, typename Store>
void multiply(const Operation& o, Wide scale, const void* a, const Layout& la, const void* b, const Layout& lb, const void* added, void* d,
              const Layout& ld, Load load, Store store) {
  const std::int64_t k = o.transposes[0] ? la.rows : la.columns;
  for (std::int64_t batch = 0; batch < ld.batch; ++batch) {
    const T* x = static_cast<const T*>(matrix_of(a, la, batch, sizeof(T)));
    const T* y = static_cast<const T*>(matrix_of(b, lb, batch, sizeof(T)));
    T* out = static_cast<T*>(const_cast<void*>(matrix_of(d, ld, batch, sizeof(T))));
    for (std::int64_t row = 0; row < ld.rows; ++row)
      for (std::int64_t column = 0; column < ld.columns; ++column) {
        Wide sum{};
        for (std::int64_t i = 0; i < k; ++i)
          sum += load(x[o.transposes[0] ? row * la.leading + i : i * la.leading + row]) *
                 load(y[o.transposes[1] ? i * lb.leading + column : column * lb.leading + i]);
        sum *= scale;
        if (added != nullptr) sum += load(static_cast<const T*>(added)[batch * ld.stride + column * ld.leading + row]);
        if constexpr (std::is_same_v<Wide, float>) {
          if (o.bias != nullptr) sum += load(static_cast<const T*>(o.bias)[row]);
          if (o.epilogue == CUBLASLT_EPILOGUE_RELU || o.epilogue == CUBLASLT_EPILOGUE_RELU_BIAS) sum = std::max(sum, 0.0f);
          if (o.epilogue == CUBLASLT_EPILOGUE_GELU || o.epilogue == CUBLASLT_EPILOGUE_GELU_BIAS)
            sum *= 0.5f * (std::tanh(0.79788456f * (sum + 0.044715f * sum * sum * sum)) + 1);
        }
        out[column * ld.leading + row] = store(sum);
      }
  }
}

}  // namespace
}  // namespace shardlab::testing::libraries

using namespace shardlab;
using namespace shardlab::testing::libraries;

extern "C" {

const char* cublasLtGetStatusString(cublasStatus_t) { return "a status of the stand-in"; }
cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = reinterpret_cast<cublasLtHandle_t>(new int(world().device("cublasLtCreate")));
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  if (*reinterpret_cast<int*>(handle) != world().device("cublasLtDestroy")) world().fault("a handle of another device ends");
  delete reinterpret_cast<int*>(handle);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* operation, cublasComputeType_t compute, cudaDataType_t scale) {
  *operation = reinterpret_cast<cublasLtMatmulDesc_t>(new Operation{compute, scale});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t operation) {
  delete reinterpret_cast<Operation*>(operation);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t attribute, const void* value,
                                              std::size_t bytes) {
  auto& into = *reinterpret_cast<Operation*>(operation);
  std::int32_t transpose = 0;
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
    case CUBLASLT_MATMUL_DESC_TRANSB: {
      cublasStatus_t status = take(transpose, value, bytes);
      into.transposes[attribute == CUBLASLT_MATMUL_DESC_TRANSB] = transpose == CUBLAS_OP_T;
      return status;
    }
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return take(into.epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return take(into.bias, value, bytes);
    case CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET: {
      std::int32_t processors = 0;
      cublasStatus_t status = take(processors, value, bytes);
      if (processors < 1) world().fault("a product is to be done by no processors");
      return status;
    }
    default:
      return CUBLAS_STATUS_INVALID_VALUE;
  }
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type, std::uint64_t rows, std::uint64_t columns,
                                          std::int64_t leading) {
  *layout = reinterpret_cast<cublasLtMatrixLayout_t>(new Layout{type, std::int64_t(rows), std::int64_t(columns), leading});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete reinterpret_cast<Layout*>(layout);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute, const void* value,
                                                std::size_t bytes) {
  auto& into = *reinterpret_cast<Layout*>(layout);
  std::int32_t batch = 0;
  cublasStatus_t status = CUBLAS_STATUS_INVALID_VALUE;
  if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT) {
    status = take(batch, value, bytes);
    into.batch = batch;
  }
  if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_MODE) {
    std::uint32_t mode = 0;
    status = take(mode, value, bytes);
    into.is_list = mode == CUBLASLT_BATCH_MODE_POINTER_ARRAY;
  }
  if (attribute == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET) status = take(into.stride, value, bytes);
  return status;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = reinterpret_cast<cublasLtMatmulPreference_t>(new Preference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete reinterpret_cast<Preference*>(preference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, std::size_t bytes) {
  auto& into = *reinterpret_cast<Preference*>(preference);
  if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) return take(into.workspace, value, bytes);
  if (attribute == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK) return take(into.reductions, value, bytes);
  return CUBLAS_STATUS_INVALID_VALUE;
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, cublasLtMatrixLayout_t a,
                                              cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int wanted, cublasLtMatmulHeuristicResult_t results[],
                                              int* found) {
  if (*reinterpret_cast<int*>(handle) != world().device("cublasLtMatmulAlgoGetHeuristic")) return CUBLAS_STATUS_NOT_INITIALIZED;
  *found = 0;
  if (wanted < 1 || !fits(of(a)) || !fits(of(b)) || !fits(of(c)) || !fits(of(d))) return CUBLAS_STATUS_INVALID_VALUE;
  if (!is_supported(of(operation), of(d).type)) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (of(d).is_list && of(operation).epilogue != CUBLASLT_EPILOGUE_DEFAULT) return CUBLAS_STATUS_NOT_SUPPORTED;
  const auto& chosen = *reinterpret_cast<Preference*>(preference);
  // Where products are summed in parts, these must not be rounded to 16 bits.
  const bool is_half = of(d).type == CUDA_R_16F || of(d).type == CUDA_R_16BF;
  if (is_half && (chosen.reductions & ~std::uint32_t(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE)) != 0)
    world().fault("parts of a product of 16 bits may be rounded before they are added");
  results[0] = {};
  results[0].state = CUBLAS_STATUS_SUCCESS;
  results[0].workspaceSize = chosen.workspace;
  *found = 1;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, cublasLtMatrixLayout_t a,
                                       cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                       const cublasLtMatmulAlgo_t*, cublasLtMatmulHeuristicResult_t* result) {
  if (*reinterpret_cast<int*>(handle) != world().device("cublasLtMatmulAlgoCheck")) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!fits(of(a)) || !fits(of(b)) || !fits(of(c)) || !fits(of(d))) return CUBLAS_STATUS_INVALID_VALUE;
  if (!is_supported(of(operation), of(d).type)) return CUBLAS_STATUS_NOT_SUPPORTED;
  *result = {};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, const void* scale, const void* a,
                              cublasLtMatrixLayout_t la, const void* b, cublasLtMatrixLayout_t lb, const void* zero, const void* c,
                              cublasLtMatrixLayout_t, void* d, cublasLtMatrixLayout_t ld, const cublasLtMatmulAlgo_t*, void* workspace,
                              std::size_t workspace_bytes, cudaStream_t stream) {
  StreamState& on = world().stream(stream, "cublasLtMatmul");
  const Operation o = of(operation);
  const Layout x = of(la), y = of(lb), out = of(ld);
  if (*reinterpret_cast<int*>(handle) != on.device) world().fault("a handle of another device multiplies");
  if (!world().holds(workspace, workspace_bytes)) world().fault("a workspace that is not there");
  for (const auto& [data, layout] : {std::pair(a, x), std::pair(b, y), std::pair(static_cast<const void*>(d), out)})
    for (std::int64_t i = 0; i < (layout.is_list ? layout.batch : 1); ++i)
      if (reinterpret_cast<std::uintptr_t>(matrix_of(data, layout, i, 0)) % 256 != 0)
        world().fault("the algorithm was asked for at multiples of 256 bytes");
  if (x.is_list != out.is_list || y.is_list != out.is_list) return CUBLAS_STATUS_INVALID_VALUE;
  if (out.is_list && (!world().holds(a, 8 * std::size_t(x.batch)) || !world().holds(d, 8 * std::size_t(out.batch))))
    world().fault("a list of addresses that is not there");
  if (!fits(x) || !fits(y) || !fits(out)) return CUBLAS_STATUS_INVALID_VALUE;
  const std::int64_t k = o.transposes[0] ? x.rows : x.columns;
  if ((o.transposes[0] ? x.columns : x.rows) != out.rows || (o.transposes[1] ? y.columns : y.rows) != k ||
      (o.transposes[1] ? y.rows : y.columns) != out.columns || x.batch != out.batch || y.batch != out.batch)
    return CUBLAS_STATUS_INVALID_VALUE;
  auto same = [](auto value) { return value; };
  auto run = [&]<typename T, typename Wide>(T, Wide, auto load, auto store) {
    Wide factor, kept;
    std::memcpy(&factor, scale, sizeof(Wide));
    std::memcpy(&kept, zero, sizeof(Wide));
    if (kept != Wide{} && kept != Wide(1)) world().fault("a product that is added to a part of what was there");
    if ((kept != Wide{}) != (c != d)) world().fault("a product that is added to its own result, or reads another");
    const void* added = kept == Wide{} ? nullptr : c;
    world().issue(on, 'm', [=] { multiply<T, Wide>(o, factor, a, x, b, y, added, d, out, load, store); });
  };
  switch (out.type) {
    case CUDA_R_32F:
      run(float{}, float{}, same, same);
      break;
    case CUDA_R_64F:
      run(double{}, double{}, same, same);
      break;
    case CUDA_C_32F:
      run(std::complex<float>{}, std::complex<float>{}, same, same);
      break;
    case CUDA_C_64F:
      run(std::complex<double>{}, std::complex<double>{}, same, same);
      break;
    case CUDA_R_16BF:
      run(
          Bfloat16{}, float{}, [](Bfloat16 v) { return float(v); }, [](float v) { return Bfloat16(v); });
      break;
    default:
      run(
          Float16{}, float{}, [](Float16 v) { return float(v); }, [](float v) { return Float16(v); });
  }
  return CUBLAS_STATUS_SUCCESS;
}
}
