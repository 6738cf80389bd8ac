#include "traces/regrow.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <vector>

#include "runtime/base/scratch_folder.h"
#include "traces/schema.h"

// Pages are as https://www.sqlite.org/fileformat2.html describes them.
namespace shardlab::traces {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<char>;

constexpr std::size_t kHeaderBytes = 100;
constexpr std::int64_t kFileBytesMax = std::int64_t(64) << 20;  // the list of tables lies in the first pages: nothing larger is cut in it
constexpr std::uint8_t kInterior = 5, kLeaf = 13, kIndexLeaf = 10;
constexpr int kTreeDepthMax = 20;

std::uint32_t big_endian(const Bytes& bytes, std::size_t at, int count) {
  std::uint32_t value = 0;
  for (int i = 0; i < count; ++i) value = value << 8 | (at + std::size_t(i) < bytes.size() ? std::uint8_t(bytes[at + std::size_t(i)]) : 0U);
  return value;
}

void put_big_endian(Bytes& bytes, std::size_t at, std::uint32_t value, int count) {
  for (int i = 0; i < count; ++i) bytes[at + std::size_t(i)] = char(value >> (8 * (count - 1 - i)));
}

// Moves `at` behind it.
std::uint64_t varint(const Bytes& bytes, std::size_t& at) {
  std::uint64_t value = 0;
  for (int i = 0; i < 9 && at < bytes.size(); ++i) {
    const auto byte = std::uint8_t(bytes[at++]);
    if (i == 8) return value << 8 | byte;
    value = value << 7 | (byte & 0x7f);
    if (byte < 0x80) break;
  }
  return value;
}

Bytes read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw IoError(fmt::format("{}: cannot be read", path.string()));
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

// A line of the list: a table, or an index of one.
struct Entry {
  std::string name;
  std::uint32_t root = 0;  // its first page; 0 for views
  bool by_key = false;     // an index, or a table that is one
};

// A trace whose end is missing, and what of its list of tables is left.
class CutTrace {
 public:
  CutTrace(Bytes bytes, std::uint32_t page_bytes)
      : bytes_(std::move(bytes)),
        page_bytes_(page_bytes),
        usable_(page_bytes - std::uint8_t(bytes_[20])),
        pages_(std::uint32_t(bytes_.size() / page_bytes)) {
    bytes_.resize(std::max(std::size_t(pages_) * page_bytes_, kHeaderBytes));
  }

  // Takes out of the list what lies beyond the cut. False where nothing is left of it.
  bool keep_list() { return pages_ > 0 && keep_page(1, 0); }
  bool has(std::string_view table) const {
    return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& each) { return each.name == table && each.root <= pages_; });
  }
  // Every table of the list begins somewhere: those that began beyond the cut get an empty page there.
  const Bytes& grow() {
    std::uint32_t pages = pages_;
    for (const Entry& each : entries_) pages = std::max(pages, std::min(each.root, kPagesMax));
    bytes_.resize(std::size_t(pages) * page_bytes_);
    for (const Entry& each : entries_)
      if (each.root > pages_ && each.root <= pages) put_empty_page(each);
    put_big_endian(bytes_, 28, pages, 4);
    put_big_endian(bytes_, 32, 0, 4);  // no list of free pages
    put_big_endian(bytes_, 36, 0, 4);
    return bytes_;
  }

 private:
  static constexpr std::uint32_t kPagesMax = 4096;  // in which all tables begin

  std::size_t page_at(std::uint32_t page) const { return std::size_t(page - 1) * page_bytes_; }

  bool keep_page(std::uint32_t page, int depth) {
    if (page == 0 || page > pages_ || depth == kTreeDepthMax) return false;
    const std::size_t header = page_at(page) + (page == 1 ? kHeaderBytes : 0);
    const auto kind = std::uint8_t(bytes_[header]);
    return kind == kInterior ? keep_children(page, header, depth) : kind == kLeaf && keep_rows(page, header);
  }

  bool keep_children(std::uint32_t page, std::size_t header, int depth) {
    const std::uint32_t cells = big_endian(bytes_, header + 3, 2);
    std::uint32_t kept = 0, last = 0;
    for (; kept <= cells; ++kept) {
      const std::uint32_t child = kept == cells
                                      ? big_endian(bytes_, header + 8, 4)
                                      : big_endian(bytes_, page_at(page) + big_endian(bytes_, header + 12 + 2 * std::size_t(kept), 2), 4);
      if (!keep_page(child, depth + 1)) break;
      last = child;
    }
    if (kept == 0) return false;
    put_big_endian(bytes_, header + 3, kept - 1, 2);
    put_big_endian(bytes_, header + 8, last, 4);
    return true;
  }

  bool keep_rows(std::uint32_t page, std::size_t header) {
    const std::uint32_t cells = big_endian(bytes_, header + 3, 2);
    std::uint32_t kept = 0;
    for (; kept < cells; ++kept) {
      const std::size_t cell = page_at(page) + big_endian(bytes_, header + 8 + 2 * std::size_t(kept), 2);
      const auto record = record_at(cell);
      if (!record) break;
      entries_.push_back(entry_of(*record));
    }
    put_big_endian(bytes_, header + 3, kept, 2);
    return kept > 0;
  }

  // A row with what of it lies on other pages; nothing where one of these is lost.
  std::optional<Bytes> record_at(std::size_t at) const {
    const auto size = std::size_t(varint(bytes_, at));
    varint(bytes_, at);  // its number
    const std::size_t whole = usable_ - 35, least = (usable_ - 12) * 32 / 255 - 23;
    if (size > bytes_.size()) return {};
    std::size_t here = size;
    if (size > whole) {
      here = least + (size - least) % (usable_ - 4);
      if (here > whole) here = least;
    }
    if (at + here > bytes_.size()) return {};
    Bytes record(bytes_.begin() + std::ptrdiff_t(at), bytes_.begin() + std::ptrdiff_t(at + here));
    for (std::uint32_t page = size > here ? big_endian(bytes_, at + here, 4) : 0; record.size() < size;) {
      if (page == 0 || page > pages_) return {};
      const std::size_t part = std::min<std::size_t>(usable_ - 4, size - record.size());
      const auto from = bytes_.begin() + std::ptrdiff_t(page_at(page) + 4);
      record.insert(record.end(), from, from + std::ptrdiff_t(part));
      page = big_endian(bytes_, page_at(page), 4);
    }
    return record;
  }

  // type, name, table, first page, SQL.
  static Entry entry_of(const Bytes& record) {
    std::size_t at = 0;
    const auto header = std::size_t(varint(record, at));
    std::size_t data = header;
    std::string text[5];
    std::uint32_t numbers[5] = {};
    for (int column = 0; column < 5 && at < header; ++column) {
      const std::uint64_t type = varint(record, at);
      const std::size_t size = type >= 12 ? std::size_t(type - 12) / 2 : type <= 4 ? std::size_t(type) : type == 5 ? 6 : type <= 7 ? 8 : 0;
      if (data + size > record.size()) break;
      if (type >= 12)
        text[column].assign(record.begin() + std::ptrdiff_t(data), record.begin() + std::ptrdiff_t(data + size));
      else
        numbers[column] = type == 9 ? 1 : big_endian(record, data, int(size));
      data += size;
    }
    return {std::move(text[1]), numbers[3], text[0] == "index" || text[4].find("WITHOUT ROWID") != std::string::npos};
  }

  void put_empty_page(const Entry& entry) {
    const std::size_t at = page_at(entry.root);
    bytes_[at] = char(entry.by_key ? kIndexLeaf : kLeaf);
    put_big_endian(bytes_, at + 5, usable_, 2);  // where rows would begin: at the page's end
  }

  Bytes bytes_;
  std::uint32_t page_bytes_, usable_;
  std::uint32_t pages_;  // whole ones
  std::vector<Entry> entries_;
};

// A trace without a row, under the header of the one that is cut.
Bytes make_empty(const fs::path& path, const Bytes& cut, std::uint32_t page_bytes) {
  {
    Database database(path.string(), OpenMode::kCreate);
    database.execute(fmt::format("PRAGMA page_size = {}; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF", page_bytes));
    database.execute("BEGIN; " + create_schema_sql(trace_schema()) + " COMMIT");
  }
  Bytes empty = read_file(path);
  std::copy_n(cut.begin(), kHeaderBytes, empty.begin());
  put_big_endian(empty, 28, std::uint32_t(empty.size() / page_bytes), 4);
  put_big_endian(empty, 32, 0, 4);
  put_big_endian(empty, 36, 0, 4);
  return empty;
}

}  // namespace

std::optional<Regrown> regrow(const std::string& path) {
  std::error_code error;
  const auto size = std::int64_t(fs::file_size(path, error));
  if (error || size < std::int64_t(kHeaderBytes) || size > kFileBytesMax) return {};
  const Bytes cut = read_file(path);
  if (std::memcmp(cut.data(), "SQLite format 3", 16) != 0) return {};
  const std::uint32_t stored = big_endian(cut, 16, 2), page_bytes = stored == 1 ? 65536 : stored;
  const std::uint32_t whole_pages = big_endian(cut, 28, 4), version = big_endian(cut, 60, 4);
  const bool is_ours = version <= std::uint32_t(kSchemaVersion) && big_endian(cut, 68, 4) == kTraceApplicationId;
  if (!is_ours || page_bytes < 512 || size / page_bytes >= whole_pages) return {};

  const ScratchFolder scratch("regrown");
  CutTrace trace(cut, page_bytes);
  const bool has_list = trace.keep_list();
  const Bytes grown = has_list ? trace.grow() : make_empty(scratch / "empty.db", cut, page_bytes);
  const fs::path made = scratch / fs::path(path).filename();
  if (std::ofstream file(made, std::ios::binary); !file.write(grown.data(), std::streamsize(grown.size())))
    throw IoError(fmt::format("{}: cannot be written", made.string()));

  std::vector<std::string> lost;
  for (const TableDef& table : trace_schema().tables)
    if (table.since <= int(version) && !(has_list && trace.has(table.name))) lost.emplace_back(table.name);
  // The file is open when its folder goes: that is all that a reader needs.
  return Regrown{Database(made.string(), OpenMode::kReadCut),
                 fmt::format("it is cut off after {} of {} bytes{}{}", size, std::uint64_t(whole_pages) * page_bytes,
                             lost.empty() ? "" : "; nothing is left of ", fmt::join(lost, ", "))};
}

}  // namespace shardlab::traces
