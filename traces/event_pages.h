// Reads the rows of table events straight from the file's pages: several times as many a second as through SQL.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "traces/database.h"
#include "traces/rows.h"

struct sqlite3_file;

namespace shardlab::traces {

// Walks the table's B-tree as https://www.sqlite.org/fileformat2.html describes it. Pages come through SQLite's own file, so its
// locks hold; the caller keeps a read transaction open while it scans. One thread at a time; not beyond its database.
class EventPages {
 public:
  // Null where the file is laid out in another way (a write-ahead log, other columns): SQL reads it then.
  static std::unique_ptr<EventPages> open(Database& database);

  // The rows of `track` by time; `visit` is bool(const EventCore&), false stops. Throws CorruptFile where a page is missing or
  // no page of such a table: what lies before it has been visited.
  template <typename Visit>
  void scan(Id track, const Visit& visit) {
    scan(track, std::numeric_limits<Ns>::min(), visit);
  }
  // Those that begin at `begin_ns` or later.
  template <typename Visit>
  void scan(Id track, Ns begin_ns, const Visit& visit) {
    Block block = seek(track, begin_ns);
    for (; block.count > 0; block = next())
      for (int i = 0; i < block.count; ++i) {
        Id of = 0;
        EventCore row;
        decode(cell(*block.page, block.first + i), of, row);
        if (of != track || !visit(row)) return;
      }
  }

 private:
  // A page in memory, with room behind it so that eight bytes can be read at its last.
  struct Page {
    std::vector<std::uint8_t> bytes;
    int cells = 0;
    int at = 0;  // leaf: next cell; interior: the child in which we are
    bool leaf = false;
  };
  struct Block {
    const Page* page = nullptr;
    int first = 0, count = 0;
  };

  EventPages(Database& database, sqlite3_file* file, std::uint32_t root, int page_bytes, int usable_bytes, std::uint32_t pages);
  Block seek(Id track, Ns begin_ns);
  Block next();
  void load(std::uint32_t page);
  std::uint32_t child(const Page& page, int i) const;
  std::pair<Id, Ns> key_at(const Page& page, int i) const;
  [[noreturn]] void damaged(const char* what) const;

  static std::uint32_t big16(const std::uint8_t* p) { return std::uint32_t(p[0]) << 8 | p[1]; }

  // The record of a cell. Rows are short: nothing spills over to other pages, and lengths take one byte.
  const std::uint8_t* cell(const Page& page, int i) const {
    const std::uint32_t at = big16(page.bytes.data() + (page.leaf ? 8 : 12) + 2 * i) + (page.leaf ? 0 : 4);
    if (at + 1 >= usable_) damaged("a row lies outside its page");
    const std::uint8_t* record = page.bytes.data() + at;
    if (*record > payload_max_ || at + 1 + *record > usable_) damaged("a row is longer than rows of this table are");
    return record;
  }

  // Integers are big-endian and as short as they can be: type 1…6 have 1, 2, 3, 4, 6, 8 bytes, 8 and 9 are 0 and 1 without any.
  static constexpr std::array<std::uint8_t, 10> kBytes{0, 1, 2, 3, 4, 6, 8, 8, 0, 0};
  static std::int64_t integer(const std::uint8_t* data, std::uint8_t type) {
    if (type == 0 || type >= 8) return type == 9;
    std::uint64_t bits;
    std::memcpy(&bits, data, 8);
    if constexpr (std::endian::native == std::endian::little) bits = __builtin_bswap64(bits);
    return std::int64_t(bits) >> (64 - 8 * kBytes[type]);
  }

  // track, time_ns, seq, duration_ns, kind, name, collective, launch, site, flags.
  void decode(const std::uint8_t* record, Id& track, EventCore& row) const {
    static constexpr int kColumns = 10;
    const std::uint8_t* types = record + 2;
    if (record[1] != kColumns + 1) damaged("a row has another number of columns");
    const std::uint8_t* data = record + 1 + record[1];
    const std::uint8_t* end = record + 1 + record[0];
    const std::uint8_t* at[kColumns];
    for (int c = 0; c < kColumns; ++c) {
      if (types[c] >= kBytes.size() || types[c] == 7) damaged("a row holds what is no integer");
      at[c] = data;
      data += kBytes[types[c]];
    }
    if (data > end) damaged("a row is cut short");
    track = integer(at[0], types[0]);
    row.time_ns = integer(at[1], types[1]);
    row.duration_ns = types[3] == 0 ? kNoTime : integer(at[3], types[3]);
    row.kind = EventKind(integer(at[4], types[4]));
    row.name = integer(at[5], types[5]);
    row.collective = integer(at[6], types[6]);
    row.site = integer(at[8], types[8]);
    row.flags = std::uint32_t(integer(at[9], types[9]));
    row.launch = types[7] == 0 ? -1 : integer(at[7], types[7]);
  }

  Database& database_;
  sqlite3_file* file_;
  std::uint32_t root_;
  int page_bytes_;
  std::uint32_t usable_;       // bytes of a page that are SQLite's
  std::uint32_t payload_max_;  // of a row that lies whole on its page
  std::uint32_t pages_;        // in the file
  std::uint32_t loads_ = 0;    // since seek: more than pages_ means that pages point at each other
  std::vector<Page> path_;     // from the root to the leaf; pages are kept for their memory
  std::size_t depth_ = 0;
  bool descend_ = false;
};

}  // namespace shardlab::traces
