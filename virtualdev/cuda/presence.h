// What of CUDA is there, looked up when asked and without linking any of it: the driver, its GPUs, the toolkit's libraries.
#pragma once

#include <string>
#include <vector>

namespace shardlab::cuda {

// A shared library, by the names under which it is looked for, newest first.
struct LibraryName {
  const char* what;  // "the CUDA runtime"
  std::vector<std::string> files;
};

struct Presence {
  bool built = false;                          // this build has CUDA in it
  bool driver = false;                         // libcuda.so.1 can be loaded
  int driver_error = 0;                        // cuInit's result
  int driver_version = 0;                      // of CUDA, up to which the driver goes: 13000 for 13.0; 0: it does not say
  int wanted_major = 0;                        // of CUDA, whose libraries this build calls
  int gpus = 0;                                // that the driver shows this process
  std::vector<std::string> libraries_missing;  // "the CUDA runtime (libcudart.so.13)"
  std::string visible;                         // CUDA_VISIBLE_DEVICES, where it is set
};

Presence look_for_cuda();
// Why no GPU can be used, and what would help; empty: one can.
std::string missing_text(const Presence& presence);

// The first of the library's files that can be loaded, kept loaded; nullptr: none.
void* load_library(const LibraryName& library);
const LibraryName& driver_library();
const LibraryName& runtime_library();
const LibraryName& compiler_library();
const LibraryName& matmul_library();
const LibraryName& fourier_library();
const LibraryName& nccl_library();
// Our own, of CUB's sorts; where it is not, sorts are generated.
const LibraryName& sorts_library();

}  // namespace shardlab::cuda
