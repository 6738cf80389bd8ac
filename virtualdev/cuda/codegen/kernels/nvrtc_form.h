// The words of kernels under NVRTC.
#define FN __device__ __forceinline__
#define FN_MEMBER __device__ __forceinline__
#define KERNEL extern "C" __global__ void
#define TILE_WIDTH 32  // columns of a block
#define SHARED_ARRAY(Type, name, size)                                      \
  __shared__ alignas(16) unsigned char name##_bytes[sizeof(Type) * (size)]; \
  Type* name = reinterpret_cast<Type*>(name##_bytes)
