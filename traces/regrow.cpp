#include "traces/regrow.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "runtime/base/scratch_folder.h"
#include "traces/schema.h"

namespace shardlab::traces {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<char>;

constexpr std::size_t kHeaderBytes = 100;
constexpr std::int64_t kFileBytesMax = std::int64_t(64) << 20;  // the list of tables lies in the first pages: nothing larger is cut in it

std::uint32_t big_endian(const Bytes& bytes, std::size_t at, int count) {
  std::uint32_t value = 0;
  for (int i = 0; i < count; ++i) value = value << 8 | std::uint8_t(bytes[at + std::size_t(i)]);
  return value;
}

void put_big_endian(Bytes& bytes, std::size_t at, std::uint32_t value) {
  for (int i = 0; i < 4; ++i) bytes[at + std::size_t(i)] = char(value >> (24 - 8 * i));
}

Bytes read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw IoError(fmt::format("{}: cannot be read", path.string()));
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

struct Empty {
  Bytes bytes;
  std::vector<std::pair<std::string, std::uint32_t>> roots;  // of the tables, by page
};

// A trace without a row, as a writer begins it.
Empty make_empty(const fs::path& path, std::uint32_t page_bytes) {
  Empty empty;
  {
    Database database(path.string(), OpenMode::kCreate);
    database.execute(fmt::format("PRAGMA page_size = {}; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF", page_bytes));
    database.execute("BEGIN; " + create_schema_sql(trace_schema()) + " COMMIT");
    Statement root(database, "SELECT name, rootpage FROM sqlite_schema WHERE type = 'table' ORDER BY rootpage");
    while (root.step()) empty.roots.emplace_back(root.text(0), std::uint32_t(root.integer(1)));
  }
  empty.bytes = read_file(path);
  return empty;
}

}  // namespace

std::optional<Regrown> regrow(const std::string& path) {
  std::error_code error;
  const auto size = std::int64_t(fs::file_size(path, error));
  if (error || size < std::int64_t(kHeaderBytes) || size > kFileBytesMax) return {};
  Bytes cut = read_file(path);
  if (std::memcmp(cut.data(), "SQLite format 3", 16) != 0) return {};
  const std::uint32_t stored = big_endian(cut, 16, 2), page_bytes = stored == 1 ? 65536 : stored;
  const std::uint32_t whole_pages = big_endian(cut, 28, 4);
  const bool of_this_schema = big_endian(cut, 60, 4) == std::uint32_t(kSchemaVersion) && big_endian(cut, 68, 4) == kTraceApplicationId;
  const auto pages = std::uint32_t(size / page_bytes);  // whole ones
  if (!of_this_schema || page_bytes < 512 || pages >= whole_pages) return {};

  const ScratchFolder scratch("regrown");
  const Empty empty = make_empty(scratch / "empty.db", page_bytes);
  const auto first_page_alike = std::size_t(pages) * page_bytes >= page_bytes &&
                                std::equal(cut.begin() + kHeaderBytes, cut.begin() + page_bytes, empty.bytes.begin() + kHeaderBytes);
  if (pages > 0 && !first_page_alike) return {};  // another program's list of tables

  Bytes grown = empty.bytes;
  const std::size_t kept = std::size_t(pages) * page_bytes;
  if (grown.size() < kept) grown.resize(kept);
  std::copy_n(cut.begin(), std::max(kept, kHeaderBytes), grown.begin());
  put_big_endian(grown, 28, std::uint32_t(grown.size() / page_bytes));
  put_big_endian(grown, 32, 0);  // no list of free pages
  put_big_endian(grown, 36, 0);
  const fs::path made = scratch / fs::path(path).filename();
  if (std::ofstream file(made, std::ios::binary); !file.write(grown.data(), std::streamsize(grown.size())))
    throw IoError(fmt::format("{}: cannot be written", made.string()));

  std::vector<std::string> lost;
  for (const auto& [table, root] : empty.roots)
    if (root > pages && trace_schema().table(table)) lost.push_back(table);
  // The file is open when its folder goes: that is all that a reader needs.
  return Regrown{Database(made.string(), OpenMode::kReadCut),
                 fmt::format("it is cut off after {} of {} bytes{}{}", size, std::uint64_t(whole_pages) * page_bytes,
                             lost.empty() ? "" : "; nothing is left of ", fmt::join(lost, ", "))};
}

}  // namespace shardlab::traces
