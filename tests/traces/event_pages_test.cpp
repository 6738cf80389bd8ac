// Events read from the file's pages are the events that SQL reads: in every shape of tree, and up to where a file is torn.
#include "traces/event_pages.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/traces/sample_trace.h"
#include "traces/trace_reader.h"
#include "traces/trace_writer.h"

namespace shardlab::traces {
namespace {

namespace fs = std::filesystem;
using Row = std::tuple<Ns, Ns, EventKind, Id, Id, Id, std::uint32_t, std::int64_t>;

class EventPagesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("shardlab_pages_" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  // Lengths of every width, missing ends, ids of none; tracks of 0, 1, and many rows, written in turns.
  std::string write(const std::string& name, int page_bytes, int rows) const {
    TraceWriter writer(path(name), page_bytes);
    std::vector<Id> tracks;
    for (int t = 0; t < 5; ++t) tracks.push_back(writer.add_track({.kind = TrackKind::kHost, .process = t, .name = "host"}));
    std::vector<std::string> names;
    for (int i = 0; i < 40; ++i) names.push_back("name" + std::to_string(i));
    writer.add(EventRow{.track = tracks[1], .time_ns = 5, .duration_ns = 1, .name = names[0]});
    for (int i = 0; i < rows; ++i) {
      const Ns length = i % 11 == 0 ? kNoTime : (Ns(1) << (i * 7 % 62)) - i % 3;
      writer.add(EventRow{.track = tracks[std::size_t(2 + i % 3)],
                          .time_ns = Ns(i / 2) * (i % 5 == 0 ? -1 : Ns(1) << i % 40),
                          .duration_ns = length,
                          .kind = EventKind(i % 5),
                          .name = names[std::size_t(i % 40)],
                          .launch = i % 4 - 1,
                          .flags = std::uint32_t(i % 9)});
    }
    writer.finish();
    return path(name);
  }

  static std::vector<Row> by_pages(Database& database, Id track, std::size_t limit = SIZE_MAX, Ns begin_ns = INT64_MIN) {
    const auto pages = EventPages::open(database);
    EXPECT_TRUE(pages);
    std::vector<Row> rows;
    pages->scan(track, begin_ns, [&](const EventCore& row) {
      rows.emplace_back(row.time_ns, row.duration_ns, row.kind, row.name, row.collective, row.site, row.flags, row.launch);
      return rows.size() < limit;
    });
    return rows;
  }
  static std::vector<Row> by_sql(Database& database, Id track) {
    Statement row(
        database,
        "SELECT time_ns, duration_ns, kind, name, collective, site, flags, launch FROM events WHERE track = ? ORDER BY time_ns, seq");
    row.bind(track);
    std::vector<Row> rows;
    while (row.step())
      rows.emplace_back(row.integer(0), row.is_null(1) ? kNoTime : row.integer(1), EventKind(row.integer(2)), row.integer(3),
                        row.integer(4), row.integer(5), std::uint32_t(row.integer(6)), row.is_null(7) ? -1 : row.integer(7));
    return rows;
  }
  fs::path folder_;
};

TEST_F(EventPagesTest, GiveWhatSqlGives) {
  for (const int page_bytes : {512, 4096, 65536})
    for (const int rows : {0, 1, 7, 5000}) {
      Database file(write("t.db", page_bytes, rows), OpenMode::kRead);
      std::size_t count = 0;
      for (Id track = 0; track <= 6; ++track) {
        const auto got = by_pages(file, track);
        EXPECT_EQ(got, by_sql(file, track)) << page_bytes << " bytes a page, " << rows << " rows, track " << track;
        count += got.size();
        for (const std::size_t first : {got.size() / 3, got.size() * 9 / 10}) {
          if (got.empty()) continue;
          const Ns begin_ns = std::get<0>(got[first]) + Ns(first % 2);  // at an event, and between two
          std::vector<Row> rest = got;
          std::erase_if(rest, [&](const Row& row) { return std::get<0>(row) < begin_ns; });
          EXPECT_EQ(by_pages(file, track, SIZE_MAX, begin_ns), rest) << page_bytes << " bytes a page, from " << begin_ns;
        }
      }
      EXPECT_EQ(count, std::size_t(rows) + 1);
    }
}

TEST_F(EventPagesTest, GiveWhatSqlGivesOfEverySample) {
  for (const auto name : sample::sample_names()) {
    if (name == "torn") continue;
    const std::string file = path("s.db");
    sample::write_sample_trace(name, file, {.collectives = 500});
    Database database(file, OpenMode::kRead);
    for (const auto& track : TraceReader(file).tracks())
      if (track.id % 7 < 2) { EXPECT_EQ(by_pages(database, track.id), by_sql(database, track.id)) << name; }
  }
}

TEST_F(EventPagesTest, StopWhereTheVisitorStops) {
  Database database(write("t.db", 512, 900), OpenMode::kRead);
  EXPECT_EQ(by_pages(database, 3, 17).size(), 17u);
}

TEST_F(EventPagesTest, LeaveOtherTablesAndLogsToSql) {
  const std::string file = write("t.db", 4096, 50);
  {
    Database database(file, OpenMode::kUpdate);
    database.execute("PRAGMA journal_mode = WAL");
  }
  Database logged(file, OpenMode::kRead);
  EXPECT_FALSE(EventPages::open(logged));
  TraceReader reader(file);
  std::size_t rows = 0;
  reader.scan_events(3, [&](const EventCore&) { return ++rows > 0; });
  EXPECT_EQ(rows, by_sql(logged, 3).size());

  const std::string other = write("o.db", 4096, 50);
  {
    Database database(other, OpenMode::kUpdate);
    database.execute("ALTER TABLE events ADD COLUMN weight INTEGER");
  }
  Database wider(other, OpenMode::kRead);
  EXPECT_FALSE(EventPages::open(wider));
}

// Whatever byte is wrong: rows as SQL has them, then CorruptFile or other rows, never a crash or an endless walk.
TEST_F(EventPagesTest, EndWhateverIsWrongInAPage) {
  const std::string whole = write("t.db", 512, 400), file = path("d.db");
  std::ifstream in(whole, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  std::uint32_t random = 12345;
  int damaged = 0;
  for (int round = 0; round < 400; ++round) {
    std::string copy = bytes;
    for (int i = 0; i < 1 + round % 8; ++i) {
      random = random * 1664525 + 1013904223;
      copy[512 + random % (copy.size() - 512)] = char(random >> 24);
    }
    std::ofstream(file, std::ios::binary) << copy;
    try {
      Database database(file, OpenMode::kRead);
      const auto pages = EventPages::open(database);
      for (Id track = 1; pages && track <= 5; ++track) pages->scan(track, [](const EventCore&) { return true; });
    } catch (const IoError&) { ++damaged; }
  }
  EXPECT_GT(damaged, 20);
}

TEST_F(EventPagesTest, GiveTheBeginningOfATornFile) {
  const std::string whole = write("t.db", 512, 4000);
  Database read(whole, OpenMode::kRead);
  const auto all = by_sql(read, 4);
  const std::string torn = path("torn.db");
  fs::copy_file(whole, torn);
  fs::resize_file(torn, fs::file_size(torn) / 2 / 512 * 512);
  Database database(torn, OpenMode::kReadCut);
  const auto pages = EventPages::open(database);
  ASSERT_TRUE(pages);
  std::vector<Row> rows;
  EXPECT_THROW(pages->scan(4,
                           [&](const EventCore& row) {
                             rows.emplace_back(row.time_ns, row.duration_ns, row.kind, row.name, row.collective, row.site, row.flags,
                                               row.launch);
                             return true;
                           }),
               CorruptFile);
  ASSERT_LE(rows.size(), all.size());
  EXPECT_TRUE(std::equal(rows.begin(), rows.end(), all.begin()));
}

}  // namespace
}  // namespace shardlab::traces
