// Which functions of the program stand on the machine's stack: who called whom, by name.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shardlab {

// Return addresses of the calling thread's functions, innermost first, at most 64. Costs a few microseconds.
std::vector<std::uintptr_t> call_stack();

// "reduce_gradients, train_step, main": the functions of those addresses up to main, as the symbols of the files name them that the process
// runs from; without those of this library and of the standard library. At most 8, then "…". What the compiler has inlined is not among
// them, and without symbols the text is empty. Reads the files (a millisecond): for a verdict, not for each call.
std::string functions_text(std::span<const std::uintptr_t> stack);

// The same for each address, "" for those without; without the cut at main. Reads the files, too.
std::vector<std::string> function_names(std::span<const std::uintptr_t> stack);

// "train::step" for "_ZN5train4stepERKN8shardlab5ArrayE": without parameters, template arguments and unnamed namespaces. Empty for a
// function of this library or the standard one.
std::string function_name(std::string_view symbol);

}  // namespace shardlab
