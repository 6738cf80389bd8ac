// Where in the program's sources the calls on the stack were made.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace shardlab {

// One call of the program's own: in which function, and at which line. Without debugging information (-g) `file` is empty and `line` 0.
struct CallPlace {
  std::string function;  // as function_name()
  std::string file;      // as the compiler was given it
  int line = 0;          // 1-based
  // "train_step (train.cpp:31)", or "train_step".
  std::string text() const;
  bool operator==(const CallPlace&) const = default;
};

// The calls at `stack` (call_stack()), innermost first up to main, inlined ones too; without those within this library and the standard
// one. Reads the debugging information of all the files that the process runs from, a tenth of a second as a rule: for the end of a
// process.
std::vector<CallPlace> call_places(std::span<const std::uintptr_t> stack);

// The same of a file that another process runs or ran from, for each of `addresses` (of return, counted from where the file is loaded): the
// calls there, innermost first; none within this library and the standard one. Not cut at main. What is read of a file is kept for the
// life of the process, under its build id.
std::vector<std::vector<CallPlace>> call_places_in(const std::string& file, std::span<const std::uintptr_t> addresses);

// "train_step (train.cpp:31), main (train.cpp:50)": at most 8 of them, then "…". Empty for none.
std::string text_of(std::span<const CallPlace> places);

}  // namespace shardlab
