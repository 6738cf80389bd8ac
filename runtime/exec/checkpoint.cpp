#include "runtime/exec/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <random>
#include <set>

#include "runtime/base/at_work.h"
#include "runtime/base/text.h"
#include "runtime/exec/assemble.h"
#include "runtime/exec/checkpoint_index.h"
#include "runtime/exec/context.h"
#include "runtime/exec/multihost.h"

namespace shardlab::checkpoints {
namespace {

namespace fs = std::filesystem;

// After each part of a data file: the hash of its bytes.
constexpr std::int64_t kHashBytes = sizeof(std::uint64_t);

std::uint64_t hash_of(std::span<const std::byte> bytes) { return hash_bytes({reinterpret_cast<const char*>(bytes.data()), bytes.size()}); }

// Who writes which part where: the same on every process.
Index plan(const std::vector<std::pair<std::string, Array>>& arrays, std::int64_t generation) {
  Context& context = Context::current();
  Index index{generation, {}};
  std::map<int, std::int64_t> sizes;  // of the processes' files
  for (const auto& [name, array] : arrays) {
    SavedArray saved{name, array.type(), {}};
    std::set<std::vector<std::int64_t>> starts;  // of boxes that a replica before holds
    std::vector<Box> boxes = array.sharding().boxes(array.shape());
    for (std::size_t p = 0; p < boxes.size(); ++p) {
      std::vector<std::int64_t> start;
      for (const Interval& interval : boxes[p]) start.push_back(interval.start);
      if (element_count(boxes[p]) == 0 || !starts.insert(start).second) continue;
      int owner = array.committed() ? context.device(array.sharding().mesh().devices()[p]).process_index : 0;
      saved.parts.push_back({owner, sizes[owner], boxes[p]});
      sizes[owner] += element_count(boxes[p]) * size_of(array.dtype()) + kHashBytes;
    }
    index.arrays.push_back(std::move(saved));
  }
  return index;
}

// A generation that the folder does not have, chosen by process 0.
std::int64_t new_generation(Where where) {
  std::random_device random;
  auto chosen = array<std::int32_t>({std::int32_t(random() >> 1)});
  return local_copy(broadcast_async(Operand(chosen, where), 0, where), where, "checkpoint").to_vector<std::int32_t>().at(0);
}

void check_agreed(const Index& index, Where where) {
  std::uint64_t hash = hash_bytes(index.text());
  auto halves = array<std::int32_t>({std::int32_t(hash >> 32), std::int32_t(hash)});
  assert_equal_at(Operand(halves, where), "checkpoints::save: the processes save different arrays, or lay them out differently", where);
}

void write_own_parts(const std::string& file, const std::vector<std::pair<std::string, Array>>& arrays, const Index& index, int self,
                     Where where) {
  const AtWork writing;
  std::vector<BufferRef> kept;
  std::vector<std::uint64_t> hashes;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    std::vector<Shard> shards = arrays[i].second.shards_at(where, "checkpoint");
    for (const SavedPart& part : index.arrays[i].parts) {
      if (part.process != self) continue;
      auto shard = std::find_if(shards.begin(), shards.end(), [&](const Shard& each) { return each.index == part.box; });
      SL_CHECK(shard != shards.end(), "process {} lacks a part of {}", self, arrays[i].first);
      kept.push_back(shard->data);
      hashes.push_back(hash_of(shard->data->bytes()));
    }
  }
  if (kept.empty()) return;
  std::vector<std::span<const std::byte>> parts;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    parts.push_back(kept[i]->bytes());
    parts.push_back(std::as_bytes(std::span(&hashes[i], 1)));
  }
  write_atomically(file, parts);
}

// Before the index names them and the old ones go: a folder of the same name on another host is another folder.
void check_all_here(const std::string& folder, const Index& index) {
  std::map<int, std::int64_t> wanted;  // bytes of each process's file
  for (const SavedArray& array : index.arrays)
    for (const SavedPart& part : array.parts)
      wanted[part.process] = std::max(wanted[part.process], part.offset + element_count(part.box) * size_of(array.type.dtype) + kHashBytes);
  for (auto [process, bytes] : wanted) {
    std::string path = data_file(folder, index.generation, process);
    std::error_code error;
    auto found = std::int64_t(fs::file_size(path, error));
    if (error || found != bytes)
      throw IoError(fmt::format(
          "what process {} wrote is not there for process 0: {} {}. All processes must save into one folder that all their hosts see; the "
          "checkpoint that {} had before stays",
          process, path, error ? "is missing" : fmt::format("has {} bytes of {}", found, bytes), folder));
  }
}

void remove_other_generations(const std::string& folder, std::int64_t kept) {
  std::string own = fmt::format("data-{}-", kept);
  std::error_code ignored;  // a leftover harms nobody: no index names it
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    std::string name = entry.path().filename().string();
    if (name.starts_with("data-") && !name.starts_with(own)) fs::remove(entry.path(), ignored);
  }
}

Index index_of(const std::string& folder) {
  std::string file = index_file(folder);
  if (!fs::exists(file)) throw IoError(fmt::format("{} has no checkpoint: {} is missing", folder, file));
  return Index::parse(read_file(file), file);
}

// The data files of a checkpoint, each read once and checked part by part.
class DataFiles {
 public:
  DataFiles(std::string folder, std::int64_t generation) : folder_(std::move(folder)), generation_(generation) {}

  std::span<const std::byte> part(const SavedArray& array, const SavedPart& part) {
    const AtWork reading;
    std::string path = data_file(folder_, generation_, part.process);
    auto [found, is_new] = files_.try_emplace(part.process);
    if (is_new) found->second = read_file(path);
    std::int64_t bytes = element_count(part.box) * size_of(array.type.dtype), size = std::int64_t(found->second.size());
    if (part.offset < 0 || part.offset > size || size - part.offset < bytes + kHashBytes)
      throw IoError(fmt::format("{} is shorter than it was: {} bytes, and '{}' has {} at {}", path, size, array.name, bytes, part.offset));
    auto data = std::as_bytes(std::span(found->second)).subspan(std::size_t(part.offset), std::size_t(bytes));
    std::uint64_t wanted;
    std::memcpy(&wanted, data.data() + data.size(), sizeof wanted);
    if (hash_of(data) != wanted)
      throw IoError(fmt::format("{} is damaged: the data of '{}' at {} are not what was written", path, array.name, part.offset));
    return data;
  }

 private:
  std::string folder_;
  std::int64_t generation_;
  std::map<int, std::string> files_;
};

void save_at(const std::string& folder, const std::vector<std::pair<std::string, Array>>& arrays, Where where) {
  Context& context = Context::current();
  std::set<std::string> names;
  for (const auto& [name, array] : arrays) {
    bool plain = !name.empty() && name.find('\n') == std::string::npos && name.front() != ' ';
    if (!plain || !names.insert(name).second)
      throw_user_error("checkpoints::save: the name '{}' is {} [{}]", name, plain ? "given twice" : "none: it must be one line",
                       where.text());
  }
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw IoError(fmt::format("{} cannot be made: {}", folder, error.message()));
  Index index = plan(arrays, new_generation(where));
  check_agreed(index, where);
  write_own_parts(data_file(folder, index.generation, context.process_index()), arrays, index, context.process_index(), where);
  barrier("checkpoints::save: the data are written", where);
  if (context.process_index() == 0) {
    check_all_here(folder, index);
    std::string text = index.text();
    write_atomically(index_file(folder), {std::as_bytes(std::span(text))});
    remove_other_generations(folder, index.generation);
  }
  barrier("checkpoints::save: the index is written", where);
}

// What `action` gives; errors of files with the line that asked for it.
template <typename Action>
auto told_with_place(const char* what, Where where, Action action) {
  try {
    return action();
  } catch (const IoError& error) { throw IoError(fmt::format("{} [{} at {}]", error.what(), what, where.text())); }
}

}  // namespace

void save(const std::string& folder, const std::vector<std::pair<std::string, Array>>& arrays, std::source_location location) {
  Where where = Where::from(location);
  told_with_place("checkpoints::save", where, [&] { save_at(folder, arrays, where); });
}

std::vector<Saved> list(const std::string& folder) {
  std::vector<Saved> result;
  for (const SavedArray& array : index_of(folder).arrays) result.push_back({array.name, array.type});
  return result;
}

Array load(const std::string& folder, const std::string& name, const Sharding& sharding, std::source_location location) {
  Where where = Where::from(location);
  Index index = told_with_place("checkpoints::load", where, [&] { return index_of(folder); });
  auto found = std::find_if(index.arrays.begin(), index.arrays.end(), [&](const SavedArray& each) { return each.name == name; });
  if (found == index.arrays.end()) {
    std::vector<std::string_view> names;
    for (const SavedArray& each : index.arrays) names.push_back(each.name);
    throw_user_error("the checkpoint in {} has no array '{}'{} [{}]", folder, name, did_you_mean(name, names), where.text());
  }
  DataFiles files(folder, index.generation);
  std::int64_t element_bytes = size_of(found->type.dtype);
  auto part_of = [&](const Box& wanted) {
    Buffer data(std::size_t(element_count(wanted) * element_bytes));
    std::int64_t missing = element_count(wanted);
    for (const SavedPart& part : found->parts) {
      Box common = intersect(part.box, wanted);
      if (element_count(common) == 0) continue;
      auto bytes = told_with_place("checkpoints::load", where, [&] { return files.part(*found, part); });
      copy_box(bytes.data(), part.box, data.data(), wanted, common, element_bytes);
      missing -= element_count(common);
    }
    if (missing != 0) throw IoError(fmt::format("{} lacks {} elements of '{}'", index_file(folder), missing, name));
    return array_from_host({found->type.dtype, shape_of(wanted)}, data.bytes());
  };
  return array_from_callback(found->type.shape, sharding, part_of, found->type.dtype, where);
}

}  // namespace shardlab::checkpoints
