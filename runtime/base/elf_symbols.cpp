#include "runtime/base/elf_symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace shardlab {
namespace {

// `count` records from `offset` on; empty where the file does not hold them.
template <typename T>
std::span<const T> records(std::span<const char> file, std::uint64_t offset, std::uint64_t count) {
  if (offset > file.size() || count > (file.size() - offset) / sizeof(T) || offset % alignof(T) != 0) return {};
  return {reinterpret_cast<const T*>(file.data() + offset), std::size_t(count)};
}

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  struct stat status {};
  if (fstat(fd, &status) == 0 && status.st_size > 0) {
    void* at = mmap(nullptr, std::size_t(status.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
    if (at != MAP_FAILED) bytes_ = {static_cast<const char*>(at), std::size_t(status.st_size)};
  }
  close(fd);
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

std::vector<std::string> function_symbols(std::span<const char> file, std::span<const std::uintptr_t> addresses) {
  std::vector<std::string> names(addresses.size());
  auto header = records<Elf64_Ehdr>(file, 0, 1);
  if (header.empty() || std::memcmp(header[0].e_ident, ELFMAG, SELFMAG) != 0 || header[0].e_ident[EI_CLASS] != ELFCLASS64 ||
      header[0].e_shentsize != sizeof(Elf64_Shdr))
    return names;
  auto sections = records<Elf64_Shdr>(file, header[0].e_shoff, header[0].e_shnum);
  auto of_type = [&](std::uint32_t type) {
    return std::find_if(sections.begin(), sections.end(), [&](const Elf64_Shdr& each) { return each.sh_type == type; });
  };
  auto table = of_type(SHT_SYMTAB);
  if (table == sections.end()) table = of_type(SHT_DYNSYM);
  if (table == sections.end() || table->sh_link >= sections.size()) return names;
  const Elf64_Shdr& strings = sections[table->sh_link];
  auto text = records<char>(file, strings.sh_offset, strings.sh_size);
  for (const Elf64_Sym& symbol : records<Elf64_Sym>(file, table->sh_offset, table->sh_size / sizeof(Elf64_Sym))) {
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_name >= text.size()) continue;
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      if (addresses[i] < symbol.st_value || addresses[i] - symbol.st_value >= symbol.st_size) continue;
      auto name = text.subspan(symbol.st_name);
      names[i].assign(name.begin(), std::find(name.begin(), name.end(), '\0'));
    }
  }
  return names;
}

}  // namespace shardlab
