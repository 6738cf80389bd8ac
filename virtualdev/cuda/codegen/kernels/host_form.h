// The words of kernels as plain C++, so that the CPU runs them: one block after another, the threads of a block in turn between
// barriers. Tests compare what they make with the CPU's kernels; a GPU never sees this file.
#include <math.h>
#include <string.h>
#include <ucontext.h>

#include <algorithm>
#include <memory>
#include <vector>

#define FN static inline
#define FN_MEMBER inline
#define KERNEL extern "C" void
#define SHARED_ARRAY(Type, name, size)                                \
  alignas(16) static unsigned char name##_bytes[sizeof(Type) * (size)]; \
  Type* name = reinterpret_cast<Type*>(name##_bytes)

struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
};
static Dim3 gridDim, blockDim, blockIdx, threadIdx;

// The threads of one block as coroutines: a barrier hands on to the next.
struct BlockThread {
  ucontext_t context;
  std::unique_ptr<char[]> stack;
  bool done = false;
};
static ucontext_t block_loop;
static std::vector<BlockThread>* block_threads = nullptr;
static void (*block_body)(const void*) = nullptr;
static const void* block_arguments = nullptr;

static inline void __syncthreads() {
  if (block_threads != nullptr) swapcontext(&(*block_threads)[threadIdx.x].context, &block_loop);
}
static void run_block_thread() {
  unsigned self = threadIdx.x;
  block_body(block_arguments);
  (*block_threads)[self].done = true;
  swapcontext(&(*block_threads)[self].context, &block_loop);
}
// Runs all blocks. `barriers`: whether threads wait for each other, which needs them to be interleaved.
extern "C" void run_kernel(void (*body)(const void*), const void* arguments, unsigned grid, unsigned block, bool barriers) {
  gridDim.x = grid;
  blockDim.x = block;
  block_body = body;
  block_arguments = arguments;
  constexpr size_t kStack = 64 * 1024;
  for (blockIdx.x = 0; blockIdx.x < grid; ++blockIdx.x) {
    if (!barriers) {
      for (threadIdx.x = 0; threadIdx.x < block; ++threadIdx.x) body(arguments);
      continue;
    }
    std::vector<BlockThread> threads(block);
    block_threads = &threads;
    for (BlockThread& thread : threads) {
      thread.stack = std::make_unique<char[]>(kStack);
      getcontext(&thread.context);
      thread.context.uc_stack.ss_sp = thread.stack.get();
      thread.context.uc_stack.ss_size = kStack;
      thread.context.uc_link = &block_loop;
      makecontext(&thread.context, run_block_thread, 0);
    }
    for (bool going = true; going;) {
      going = false;
      for (unsigned t = 0; t < block; ++t) {
        if (threads[t].done) continue;
        threadIdx.x = t;
        swapcontext(&block_loop, &threads[t].context);
        going = going || !threads[t].done;
      }
    }
    block_threads = nullptr;
  }
}

static inline unsigned atomicCAS(unsigned* address, unsigned expected, unsigned value) {
  unsigned seen = *address;
  if (seen == expected) *address = value;
  return seen;
}
static inline unsigned long long atomicCAS(unsigned long long* address, unsigned long long expected, unsigned long long value) {
  unsigned long long seen = *address;
  if (seen == expected) *address = value;
  return seen;
}
static inline long long atomicMax(long long* address, long long value) {
  long long seen = *address;
  if (value > seen) *address = value;
  return seen;
}
