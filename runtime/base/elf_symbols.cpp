#include "runtime/base/elf_symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>

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

std::string build_id_in(std::span<const char> notes) {
  constexpr std::string_view kOwner("GNU\0", 4);
  while (notes.size() >= sizeof(Elf64_Nhdr)) {
    Elf64_Nhdr note;
    std::memcpy(&note, notes.data(), sizeof note);
    const std::uint64_t name = (std::uint64_t(note.n_namesz) + 3) / 4 * 4, content = (std::uint64_t(note.n_descsz) + 3) / 4 * 4;
    notes = notes.subspan(sizeof note);
    if (name + content > notes.size()) return {};
    if (note.n_type == NT_GNU_BUILD_ID && std::string_view(notes.data(), note.n_namesz) == kOwner) {
      std::string text;
      for (const char byte : notes.subspan(name, note.n_descsz)) text += fmt::format("{:02x}", std::uint8_t(byte));
      return text;
    }
    notes = notes.subspan(name + content);
  }
  return {};
}

std::string build_id_of(std::span<const char> file) {
  auto header = records<Elf64_Ehdr>(file, 0, 1);
  if (header.empty() || std::memcmp(header[0].e_ident, ELFMAG, SELFMAG) != 0 || header[0].e_phentsize != sizeof(Elf64_Phdr)) return {};
  for (const Elf64_Phdr& segment : records<Elf64_Phdr>(file, header[0].e_phoff, header[0].e_phnum)) {
    if (segment.p_type != PT_NOTE) continue;
    if (std::string id = build_id_in(records<char>(file, segment.p_offset, segment.p_filesz)); !id.empty()) return id;
  }
  return {};
}

bool is_position_independent(std::span<const char> file) {
  auto header = records<Elf64_Ehdr>(file, 0, 1);
  return !header.empty() && header[0].e_type == ET_DYN;
}

}  // namespace shardlab
