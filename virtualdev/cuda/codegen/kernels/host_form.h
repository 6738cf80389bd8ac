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
#define TILE_WIDTH (blockDim.x < 64 ? (blockDim.x + 3) / 4 : 32)  // tests take small blocks
#define SHARED_ARRAY(Type, name, size)                                                      \
  alignas(16) static unsigned char name##_bytes[sizeof(Type) * (size)];                     \
  static const bool name##_listed = list_shared_memory(name##_bytes, sizeof(name##_bytes)); \
  (void)name##_listed;                                                                      \
  Type* name = reinterpret_cast<Type*>(name##_bytes)

// What the threads of a block share: whatever it was, for each block.
struct SharedMemory {
  unsigned char* data;
  size_t bytes;
};
static std::vector<SharedMemory>& shared_memory() {
  static std::vector<SharedMemory> list;
  return list;
}
static bool list_shared_memory(unsigned char* data, size_t bytes) {
  shared_memory().push_back({data, bytes});
  memset(data, 0xcd, bytes);
  return true;
}

struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
};
static Dim3 gridDim, blockDim, blockIdx, threadIdx;

// The threads of one block as coroutines: a barrier hands on to the next.
struct BlockThread {
  ucontext_t context;
  std::unique_ptr<char[]> stack;
  bool done = false;
  const char* function = nullptr;  // at whose barrier it waits, and in which line
  int line = 0;
};
static ucontext_t block_loop;
static std::vector<BlockThread>* block_threads = nullptr;
static void (*block_body)(const void*) = nullptr;
static const void* block_arguments = nullptr;

static inline void wait_at_barrier(const char* function, int line) {
  if (block_threads == nullptr) return;
  BlockThread& self = (*block_threads)[threadIdx.x];
  self.function = function;
  self.line = line;
  swapcontext(&self.context, &block_loop);
}
#define __syncthreads() wait_at_barrier(__PRETTY_FUNCTION__, __LINE__)
// All threads of a block wait at the same barrier, or none does.
static const char* barrier_fault(const std::vector<BlockThread>& threads) {
  for (const BlockThread& each : threads) {
    if (each.done != threads[0].done) return "some threads of a block wait at a barrier that others never reach";
    if (!each.done && (each.line != threads[0].line || strcmp(each.function, threads[0].function) != 0))
      return "the threads of a block wait at different barriers";
  }
  return nullptr;
}
static void run_block_thread() {
  unsigned self = threadIdx.x;
  block_body(block_arguments);
  (*block_threads)[self].done = true;
  swapcontext(&(*block_threads)[self].context, &block_loop);
}
// Runs all blocks; what was wrong, or nothing. `barriers`: whether threads wait for each other, which needs them to be interleaved.
// `backwards`: the last block and thread first. What depends on an order that no GPU keeps comes out otherwise then.
extern "C" const char* run_kernel(void (*body)(const void*), const void* arguments, unsigned grid, unsigned block, bool barriers,
                                  bool backwards) {
  const char* fault = nullptr;
  gridDim.x = grid;
  blockDim.x = block;
  block_body = body;
  block_arguments = arguments;
  constexpr size_t kStack = 64 * 1024;
  for (unsigned b = 0; b < grid; ++b) {
    blockIdx.x = backwards ? grid - 1 - b : b;
    for (const SharedMemory& each : shared_memory()) memset(each.data, 0xcd, each.bytes);
    if (!barriers) {
      for (unsigned t = 0; t < block; ++t) {
        threadIdx.x = backwards ? block - 1 - t : t;
        body(arguments);
      }
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
      for (unsigned n = 0; n < block; ++n) {
        unsigned t = backwards ? block - 1 - n : n;
        if (threads[t].done) continue;
        threadIdx.x = t;
        swapcontext(&block_loop, &threads[t].context);
        going = going || !threads[t].done;
      }
      if (fault == nullptr) fault = barrier_fault(threads);
    }
    block_threads = nullptr;
  }
  return fault;
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
