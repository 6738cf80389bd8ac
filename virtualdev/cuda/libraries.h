// CUDA's libraries by their functions: loaded when first used, each function looked up once, each failure told with its name.
#pragma once

#include <dlfcn.h>
#include <fmt/format.h>

#include <map>
#include <mutex>
#include <string>

#include "virtualdev/cuda/gpu_api.h"
#include "virtualdev/cuda/presence.h"

namespace shardlab::cuda {

class Library {
 public:
  explicit Library(const LibraryName& name) : name_(name) {}
  // The function, typed as the header declares it. Any thread.
  template <typename F>
  F* find(const char* function) {
    std::lock_guard lock(mutex_);
    void*& found = functions_[function];
    if (found == nullptr) {
      if (handle_ == nullptr) handle_ = load_library(name_);
      if (handle_ == nullptr)
        throw_user_error("{} is not there ({} cannot be loaded); install it or add its folder to LD_LIBRARY_PATH", name_.what,
                         name_.files[0]);
      found = ::dlsym(handle_, function);
      if (found == nullptr) throw_user_error("{} has no function {}; a newer version is needed", name_.what, function);
    }
    return reinterpret_cast<F*>(found);
  }

 private:
  const LibraryName& name_;
  void* handle_ = nullptr;
  std::mutex mutex_;
  std::map<std::string, void*> functions_;
};

}  // namespace shardlab::cuda

// Headers rename some functions by macros: the name that is looked up is the one that is called.
#define SHARDLAB_FUNCTION_NAME(function) #function
#define SHARDLAB_CALL(library, function) (library).find<decltype(::function)>(SHARDLAB_FUNCTION_NAME(function))
