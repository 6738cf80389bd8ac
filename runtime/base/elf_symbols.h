// The names of functions in a program's or library's file (ELF, 64 bits).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace shardlab {

// A file's bytes, read as far as they are looked at. None where it cannot be read.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::span<const char> bytes() const { return bytes_; }

 private:
  std::span<const char> bytes_;
};

// The symbol of the function in which each address lies, counted from where the file is loaded; "" where none does. By the full symbol
// table, or where that was stripped by the dynamic one. A file that is damaged or no such file has no symbols. `file` is aligned to 8
// bytes.
std::vector<std::string> function_symbols(std::span<const char> file, std::span<const std::uintptr_t> addresses);

// The build id among the notes of a file (a segment of type PT_NOTE), in hexadecimal, and that of a whole file; "" where there is none.
std::string build_id_in(std::span<const char> notes);
std::string build_id_of(std::span<const char> file);
// Whether the file may be loaded anywhere: a library, or a program made so.
bool is_position_independent(std::span<const char> file);

}  // namespace shardlab
