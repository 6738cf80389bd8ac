#include "traces/recorder/frame_names.h"

#include "runtime/base/elf_symbols.h"

namespace shardlab::recorder {

FrameNames::File FrameNames::file_of(const ProcessTrace& process, std::uint32_t module) {
  if (module == 0 || module >= process.modules.size()) return {};
  return {process.modules[module].path, process.modules[module].build_id};
}

void FrameNames::want(const ProcessTrace& process, std::size_t first) {
  for (; first < process.stacks.size(); ++first)
    for (const auto& [module, offset] : process.stacks[first].calls) {
      Known& known = files_[file_of(process, module)];
      if (known.places.try_emplace(offset).second) known.wanted.push_back(std::uintptr_t(offset));
    }
}

void FrameNames::read(const File& file, Known& known) {
  const auto& [path, build_id] = file;
  if (!path.empty() && !build_id.empty() && build_id_of(MappedFile(path).bytes()) == build_id) {
    std::vector<std::vector<CallPlace>> found = call_places_in(path, known.wanted);
    for (std::size_t i = 0; i < found.size(); ++i) known.places[known.wanted[i]] = std::move(found[i]);
  }
  known.wanted.clear();
}

const std::vector<CallPlace>& FrameNames::at(const ProcessTrace& process, std::uint32_t module, std::uint64_t offset) {
  const File file = file_of(process, module);
  Known& known = files_[file];
  if (!known.wanted.empty()) read(file, known);
  return known.places[offset];
}

}  // namespace shardlab::recorder
