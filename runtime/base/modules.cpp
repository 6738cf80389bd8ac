#include "runtime/base/modules.h"

#include <link.h>

#include <algorithm>
#include <filesystem>

#include "runtime/base/elf_symbols.h"

namespace shardlab {
namespace {

constexpr const char* kProgram = "/proc/self/exe";

Module module_at(const dl_phdr_info& info) {
  Module module{.path = info.dlpi_name, .build_id = {}, .base = info.dlpi_addr, .segments = {}};
  if (module.path.empty()) module.path = kProgram;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const auto& header = info.dlpi_phdr[i];
    const std::uintptr_t begin = module.base + header.p_vaddr;
    if (header.p_type == PT_LOAD) module.segments.emplace_back(begin, begin + header.p_memsz);
    if (header.p_type == PT_NOTE && module.build_id.empty())
      module.build_id = build_id_in({reinterpret_cast<const char*>(begin), std::size_t(header.p_memsz)});
  }
  return module;
}

}  // namespace

bool Module::contains(std::uintptr_t address) const {
  return std::any_of(segments.begin(), segments.end(), [&](auto segment) { return segment.first <= address && address < segment.second; });
}

std::string Module::file() const {
  if (path != kProgram) return path;
  std::error_code error;
  const auto file = std::filesystem::read_symlink(path, error);
  return error ? std::string() : file.string();
}

std::vector<Module> modules() {
  std::vector<Module> found;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* all) {
        static_cast<std::vector<Module>*>(all)->push_back(module_at(*info));
        return 0;
      },
      &found);
  return found;
}

}  // namespace shardlab
