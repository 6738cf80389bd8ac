#include "traces/event_pages.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>

#include "traces/schema.h"

namespace shardlab::traces {
namespace {

constexpr std::uint8_t kInteriorIndex = 2, kLeafIndex = 10;  // kinds of page
constexpr std::size_t kPagesDepthMax = 20;                   // SQLite's own
constexpr int kPageHeader = 12, kSlack = 8;

bool has_known_columns(Database& database) {
  const TableDef* table = trace_schema().table("events");
  Statement column(database, "SELECT name, pk FROM pragma_table_info('events') ORDER BY cid");
  for (std::size_t i = 0; i < table->columns.size(); ++i) {
    if (!column.step() || column.text(0) != table->columns[i].name) return false;
    if (column.integer(1) != (i < 3 ? std::int64_t(i) + 1 : 0)) return false;
  }
  if (column.step()) return false;
  return database.integer("SELECT wr FROM pragma_table_list('events') WHERE schema = 'main'") == 1;
}

}  // namespace

std::unique_ptr<EventPages> EventPages::open(Database& database) {
  sqlite3_file* file = nullptr;
  if (sqlite3_file_control(database.handle(), "main", SQLITE_FCNTL_FILE_POINTER, static_cast<void*>(&file)) != SQLITE_OK || !file ||
      !file->pMethods || !has_known_columns(database))
    return nullptr;
  std::array<std::uint8_t, 100> header{};
  if (file->pMethods->xRead(file, header.data(), int(header.size()), 0) != SQLITE_OK) return nullptr;
  if (header[18] != 1 || header[19] != 1) return nullptr;  // pages may lie in a write-ahead log
  const std::int64_t page_bytes = database.integer("PRAGMA page_size"), pages = database.integer("PRAGMA page_count"),
                     root = database.integer("SELECT rootpage FROM sqlite_schema WHERE type = 'table' AND name = 'events'");
  if (page_bytes < 512 || page_bytes > 65536 || root < 2) return nullptr;
  return std::unique_ptr<EventPages>(
      new EventPages(database, file, std::uint32_t(root), int(page_bytes), int(page_bytes) - header[20], std::uint32_t(pages)));
}

EventPages::EventPages(Database& database, sqlite3_file* file, std::uint32_t root, int page_bytes, int usable_bytes, std::uint32_t pages)
    : database_(database),
      file_(file),
      root_(root),
      page_bytes_(page_bytes),
      usable_(std::uint32_t(usable_bytes)),
      payload_max_(std::min((std::uint32_t(usable_bytes) - 12) * 64 / 255 - 23, 127U)),
      pages_(pages),
      path_(kPagesDepthMax) {}

void EventPages::damaged(const char* what) const {
  throw CorruptFile(fmt::format("{}: table events is damaged or cut off: {}", database_.path(), what));
}

void EventPages::load(std::uint32_t number) {
  if (number < 2 || depth_ == kPagesDepthMax || ++loads_ > pages_) damaged("its pages do not make a tree");
  Page& page = path_[depth_++];
  page.bytes.resize(std::size_t(page_bytes_) + kSlack);
  if (file_->pMethods->xRead(file_, page.bytes.data(), page_bytes_, sqlite3_int64(number - 1) * page_bytes_) != SQLITE_OK)
    damaged("a page is missing");
  page.leaf = page.bytes[0] == kLeafIndex;
  if (!page.leaf && page.bytes[0] != kInteriorIndex) damaged("a page of something else lies in it");
  page.cells = int(big16(page.bytes.data() + 3));
  page.at = 0;
  if (std::uint32_t(page.cells) * 2 + kPageHeader > usable_) damaged("a page says that it holds more rows than it has room for");
}

std::uint32_t EventPages::child(const Page& page, int i) const {
  std::uint32_t at = 8;  // the last one's place
  if (i < page.cells) at = big16(page.bytes.data() + kPageHeader + 2 * i);
  if (at + 4 > usable_) damaged("a row lies outside its page");
  const std::uint8_t* p = page.bytes.data() + at;
  return big16(p) << 16 | big16(p + 2);
}

std::pair<Id, Ns> EventPages::key_at(const Page& page, int i) const {
  Id track = 0;
  EventCore row;
  decode(cell(page, i), track, row);
  return {track, row.time_ns};
}

EventPages::Block EventPages::seek(Id track, Ns begin_ns) {
  depth_ = loads_ = 0;
  descend_ = false;
  for (std::uint32_t number = root_;; number = child(path_[depth_ - 1], path_[depth_ - 1].at)) {
    load(number);
    Page& page = path_[depth_ - 1];
    int low = 0, high = page.cells;
    while (low < high) {
      const int middle = (low + high) / 2;
      if (key_at(page, middle) < std::pair(track, begin_ns))
        low = middle + 1;
      else
        high = middle;
    }
    page.at = low;
    if (page.leaf) return next();
  }
}

EventPages::Block EventPages::next() {
  if (descend_) do {
      const Page& above = path_[depth_ - 1];
      load(child(above, above.at));
    } while (!path_[depth_ - 1].leaf);
  descend_ = false;
  while (depth_ > 0) {
    Page& page = path_[depth_ - 1];
    const int first = page.at;
    if (first >= page.cells) {
      --depth_;
    } else if (page.leaf) {
      page.at = page.cells;
      return {&page, first, page.cells - first};
    } else {
      ++page.at;
      descend_ = true;
      return {&page, first, 1};
    }
  }
  return {};
}

}  // namespace shardlab::traces
