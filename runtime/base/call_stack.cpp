#include "runtime/base/call_stack.h"

#include <cxxabi.h>
#include <elf.h>
#include <execinfo.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace shardlab {
namespace {

constexpr std::size_t kFunctionsTold = 8;

// A file that the process runs from, and where it lies in memory.
struct Module {
  std::string path;
  std::uintptr_t base = 0;
  std::vector<std::pair<std::uintptr_t, std::uintptr_t>> segments;  // [begin, end)
  bool contains(std::uintptr_t address) const {
    return std::any_of(segments.begin(), segments.end(),
                       [&](auto segment) { return segment.first <= address && address < segment.second; });
  }
};

std::vector<Module> modules() {
  std::vector<Module> found;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* all) {
        Module module{.path = info->dlpi_name, .base = info->dlpi_addr, .segments = {}};
        if (module.path.empty()) module.path = "/proc/self/exe";
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& header = info->dlpi_phdr[i];
          if (header.p_type == PT_LOAD)
            module.segments.emplace_back(module.base + header.p_vaddr, module.base + header.p_vaddr + header.p_memsz);
        }
        static_cast<std::vector<Module>*>(all)->push_back(std::move(module));
        return 0;
      },
      &found);
  return found;
}

// A file's bytes, read as far as they are looked at. Empty where it cannot be read.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    struct stat status {};
    if (fstat(fd, &status) == 0 && status.st_size > 0) {
      void* at = mmap(nullptr, std::size_t(status.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
      if (at != MAP_FAILED) bytes_ = {static_cast<const char*>(at), std::size_t(status.st_size)};
    }
    close(fd);
  }
  ~MappedFile() {
    if (!bytes_.empty()) munmap(const_cast<char*>(bytes_.data()), bytes_.size());
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  // `count` records from `offset` on; empty where the file does not hold them.
  template <typename T>
  std::span<const T> records(std::uint64_t offset, std::uint64_t count) const {
    if (offset > bytes_.size() || count > (bytes_.size() - offset) / sizeof(T) || offset % alignof(T) != 0) return {};
    return {reinterpret_cast<const T*>(bytes_.data() + offset), std::size_t(count)};
  }

 private:
  std::span<const char> bytes_;
};

// The symbols' names of functions in which `addresses` (of the file) lie; empty where none does.
std::vector<std::string> symbols_at(const std::string& path, const std::vector<std::uintptr_t>& addresses) {
  std::vector<std::string> names(addresses.size());
  MappedFile file(path);
  auto header = file.records<Elf64_Ehdr>(0, 1);
  if (header.empty() || std::memcmp(header[0].e_ident, ELFMAG, SELFMAG) != 0 || header[0].e_ident[EI_CLASS] != ELFCLASS64) return names;
  auto sections = file.records<Elf64_Shdr>(header[0].e_shoff, header[0].e_shnum);
  auto table = std::find_if(sections.begin(), sections.end(), [](const Elf64_Shdr& each) { return each.sh_type == SHT_SYMTAB; });
  if (table == sections.end())
    table = std::find_if(sections.begin(), sections.end(), [](const Elf64_Shdr& each) { return each.sh_type == SHT_DYNSYM; });
  if (table == sections.end() || table->sh_link >= sections.size()) return names;
  const Elf64_Shdr& strings = sections[table->sh_link];
  auto text = file.records<char>(strings.sh_offset, strings.sh_size);
  for (const Elf64_Sym& symbol : file.records<Elf64_Sym>(table->sh_offset, table->sh_size / sizeof(Elf64_Sym))) {
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_name >= text.size()) continue;
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      if (addresses[i] < symbol.st_value || addresses[i] - symbol.st_value >= symbol.st_size) continue;
      auto name = text.subspan(symbol.st_name);
      names[i].assign(name.begin(), std::find(name.begin(), name.end(), '\0'));
    }
  }
  return names;
}

// Names of functions by address, "" where none is known.
std::vector<std::string> symbols_of(std::span<const std::uintptr_t> stack) {
  std::vector<std::string> names(stack.size());
  for (const Module& module : modules()) {
    std::vector<std::size_t> which;
    std::vector<std::uintptr_t> addresses;
    for (std::size_t i = 0; i < stack.size(); ++i)
      if (module.contains(stack[i] - 1)) {  // the call, not where it returns to
        which.push_back(i);
        addresses.push_back(stack[i] - 1 - module.base);
      }
    if (which.empty()) continue;
    std::vector<std::string> found = symbols_at(module.path, addresses);
    for (std::size_t i = 0; i < which.size(); ++i) names[which[i]] = std::move(found[i]);
  }
  return names;
}

bool is_plumbing(std::string_view symbol) {
  static constexpr std::array<std::string_view, 6> kPlumbing{"N8shardlab", "NK8shardlab", "St", "NSt", "NKSt", "N9__gnu_cxx"};
  if (!symbol.starts_with("_Z")) return symbol.starts_with('_');
  symbol.remove_prefix(2);
  while (symbol.starts_with('Z')) symbol.remove_prefix(1);  // of a function's local class
  return std::any_of(kPlumbing.begin(), kPlumbing.end(), [&](std::string_view prefix) { return symbol.starts_with(prefix); });
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
}

}  // namespace

std::vector<std::uintptr_t> call_stack() {
  std::array<void*, 64> frames;
  int count = backtrace(frames.data(), int(frames.size()));
  std::vector<std::uintptr_t> stack;
  for (int i = 1; i < count; ++i) stack.push_back(reinterpret_cast<std::uintptr_t>(frames[std::size_t(i)]));
  return stack;
}

std::string function_name(std::string_view symbol) {
  if (is_plumbing(symbol)) return "";
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> demangled(abi::__cxa_demangle(std::string(symbol).c_str(), nullptr, nullptr, &status), std::free);
  std::string whole = status == 0 && demangled ? demangled.get() : std::string(symbol);
  whole.resize(std::min(whole.size(), whole.find(" [clone")));
  replace_all(whole, "(anonymous namespace)::", "");
  replace_all(whole, "operator()", "call");
  std::string name;
  int nested = 0;
  for (char c : whole) {
    if (c == '(' || c == '<' || c == '[') ++nested;
    if (nested == 0) name += c;
    if (c == ')' || c == '>' || c == ']') --nested;
  }
  if (name.ends_with(" const")) name.resize(name.size() - 6);
  name.erase(0, name.rfind(' ') + 1);  // the result's type
  for (std::size_t at = name.find("{lambda#"); at != std::string::npos; at = name.find("{lambda#"))
    name.replace(at, name.find('}', at) - at + 1, "lambda");
  replace_all(name, "lambda::call", "lambda");
  return name;
}

std::string functions_text(std::span<const std::uintptr_t> stack) {
  std::vector<std::string> told;
  for (const std::string& symbol : symbols_of(stack)) {
    std::string name = function_name(symbol);
    if (name.empty()) continue;
    if (told.size() == kFunctionsTold) {
      told.emplace_back("…");
      break;
    }
    told.push_back(name);
    if (symbol == "main") break;
  }
  return fmt::format("{}", fmt::join(told, ", "));
}

}  // namespace shardlab
