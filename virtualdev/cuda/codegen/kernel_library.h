// The text of codegen/kernels, built into the program.
#pragma once

#include <string_view>

namespace shardlab::cuda {

std::string_view kernel_library(std::string_view file);  // "base.cuh"; InternalError for another name

}  // namespace shardlab::cuda
