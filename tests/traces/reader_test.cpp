// The reader against whole, torn, damaged, foreign and empty files.
#include "traces/trace_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <fstream>

#include "tests/traces/sample_trace.h"
#include "traces/schema.h"
#include "traces/values.h"

namespace shardlab::traces {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

class ReaderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("shardlab_reader_" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string sample(std::string_view name, sample::SampleOptions options = {}) const {
    const std::string file = path(std::string(name) + ".db");
    sample::write_sample_trace(name, file, options);
    return file;
  }
  std::string error_of(const std::string& file) const {
    try {
      TraceReader reader(file);
    } catch (const IoError& error) { return error.what(); }
    return "";
  }
  fs::path folder_;
};

void read_all(TraceReader& reader) {
  reader.processes();
  reader.devices();
  for (const auto& track : reader.tracks()) reader.for_each_event(track.id, [](const EventRow&) { return true; });
  reader.programs();
  reader.launches();
  reader.collectives();
  reader.wait_edges();
  reader.meshes();
  reader.layouts();
  reader.arrays();
  reader.launch_arrays();
  reader.host_reads();
  reader.diagnoses();
  reader.participant_collectives();
  reader.evidence();
  reader.notices();
}

TEST_F(ReaderTest, GivesTheToyAsItWasWritten) {
  TraceReader reader(sample("toy"));
  EXPECT_EQ(reader.meta("title"), "toy");
  EXPECT_EQ(reader.meta_integer("process_count"), 4);
  EXPECT_EQ(reader.meta_integer("title", -7), -7);
  EXPECT_EQ(reader.processes().size(), 4u);
  EXPECT_EQ(reader.devices().size(), 8u);
  const auto tracks = reader.tracks();
  ASSERT_EQ(tracks.size(), 16u);
  const auto collectives = reader.collectives();
  ASSERT_EQ(collectives.size(), 1u);
  EXPECT_EQ(collectives[0].what.kind, "all-reduce");
  EXPECT_EQ(collectives[0].what.wire_bytes, 56);
  EXPECT_EQ(collectives[0].members.size(), 4u);
  EXPECT_EQ(reader.site(collectives[0].what.site).text(), "toy.cpp:10");
  EXPECT_EQ(devices_of(collectives[0].what).size(), 8u);
  const auto arrays = reader.arrays();
  const auto layouts = reader.layouts();
  ASSERT_EQ(arrays.size(), 2u);
  EXPECT_EQ(arrays[0].name, "x");
  const auto& layout = layouts.at(std::size_t(arrays[0].layout - 1));
  EXPECT_EQ(layout.spec, "P('i', 'j')");
  EXPECT_EQ(layout.shards.at(7).ranges, (std::vector<std::pair<std::int64_t, std::int64_t>>{{3, 4}, {4, 8}}));
  EXPECT_EQ(layouts.at(std::size_t(arrays[1].layout - 1)).shards.at(7).replica, 7);
  // A device's summary counts its process's batched events: two computations and the collective.
  EXPECT_EQ(tracks.back().event_count, 3);
  EXPECT_EQ(tracks.back().batch_track, tracks[7].id);
  EXPECT_TRUE(reader.notices().empty());
  EXPECT_FALSE(reader.check_whole());
}

TEST_F(ReaderTest, GivesDiagnosesWithBothSides) {
  TraceReader reader(sample("deadlock"));
  const auto diagnoses = reader.diagnoses();
  ASSERT_EQ(diagnoses.size(), 1u);
  EXPECT_EQ(diagnoses[0].code, "order-mismatch");
  EXPECT_EQ(diagnoses[0].participants.size(), 2u);
  EXPECT_EQ(diagnoses[0].details[0].first, "first_call");
  EXPECT_DOUBLE_EQ(diagnoses[0].detected_after_ms(), 8.0);
  EXPECT_EQ(reader.participant_collectives(), (std::vector<std::vector<Id>>{{5, 4}}));
  std::int64_t open = 0;
  for (const auto& track : reader.tracks())
    if (track.kind == TrackKind::kDevice) open += track.open_count;
  EXPECT_EQ(open, 8);
}

TEST_F(ReaderTest, FindsARangeOfEventsInOrder) {
  TraceReader reader(sample("devices512"));
  const auto tracks = reader.tracks();
  Ns last = 0;
  int all = 0, some = 0;
  const auto& batch = tracks[1];
  ASSERT_EQ(batch.kind, TrackKind::kBatch);
  reader.for_each_event(batch.id, [&](const EventRow& event) {
    EXPECT_GE(event.time_ns, last);
    last = event.time_ns;
    ++all;
    return true;
  });
  reader.for_each_event(batch.id, batch.first_ns, (batch.first_ns + batch.last_ns) / 2, [&](const EventRow&) { return ++some, true; });
  EXPECT_EQ(all, batch.event_count);
  EXPECT_GT(some, 0);
  EXPECT_LT(some, all);
}

TEST_F(ReaderTest, SaysWhatAForeignFileIs) {
  EXPECT_THAT(error_of(path("none.db")), HasSubstr("no such file"));
  EXPECT_THAT(error_of(folder_.string()), HasSubstr("a folder"));
  std::ofstream(path("zero.db")).flush();
  EXPECT_THAT(error_of(path("zero.db")), HasSubstr("the file is empty"));
  std::ofstream(path("text.db")) << std::string(5000, 'x');
  EXPECT_THAT(error_of(path("text.db")), HasSubstr("text.db"));
  Database(path("other.db"), OpenMode::kCreate).execute("CREATE TABLE t(a)");
  EXPECT_THAT(error_of(path("other.db")), HasSubstr("another program"));
  Database(path("part.db"), OpenMode::kCreate)
      .execute("PRAGMA application_id = " + std::to_string(kPartApplicationId) + "; CREATE TABLE t(a)");
  EXPECT_THAT(error_of(path("part.db")), HasSubstr("one process's part"));
  const std::string newer = sample("empty");
  Database(newer, OpenMode::kUpdate).execute("PRAGMA user_version = 99");
  EXPECT_THAT(error_of(newer), HasSubstr("trace schema 99"));
}

// As an older shardlab wrote it.
TEST_F(ReaderTest, OlderTracesOpenAndSayThatTheyLackWhenArraysEnd) {
  const std::string old = sample("large", {.collectives = 20});
  Database(old, OpenMode::kUpdate)
      .execute(
          "DROP VIEW array_launches; DROP VIEW array_memory; DROP TABLE array_holders; DROP TABLE array_ends; CREATE TABLE before AS "
          "SELECT id, fingerprint, name, "
          "text, "
          "mesh, devices, processes FROM programs; DROP TABLE programs; ALTER TABLE before RENAME TO programs; PRAGMA user_version = 0");
  TraceReader reader(old);
  EXPECT_FALSE(reader.has_array_ends());
  EXPECT_TRUE(reader.array_holders().empty());
  EXPECT_TRUE(reader.array_ends().empty());
  EXPECT_FALSE(reader.programs().empty());
  EXPECT_FALSE(reader.layouts().empty());
  EXPECT_FALSE(reader.check_whole());
  EXPECT_TRUE(reader.notices().empty());
}

TEST_F(ReaderTest, TracesOfVersionOneHaveNeitherValuesNorFrames) {
  const std::string old = sample("toy", {});
  Database(old, OpenMode::kUpdate)
      .execute("DROP TABLE checksums; DROP TABLE frames; ALTER TABLE launches DROP COLUMN frame; PRAGMA user_version = 1");
  TraceReader reader(old);
  EXPECT_TRUE(reader.has_array_ends());
  EXPECT_TRUE(reader.checksums().empty());
  EXPECT_TRUE(reader.frames().empty());
  EXPECT_TRUE(array_values(reader).empty());
  const auto launches = reader.launches();
  ASSERT_FALSE(launches.empty());
  for (const LaunchRow& launch : launches) EXPECT_EQ(launch.frame, 0);
  EXPECT_FALSE(reader.check_whole());
  EXPECT_TRUE(reader.notices().empty());
}

TEST_F(ReaderTest, TracesOfVersionTwoDoNotTellWhichArraysLaunchesTook) {
  const std::string old = sample("toy", {});
  EXPECT_TRUE(TraceReader(old).has_launch_arrays());
  Database(old, OpenMode::kUpdate).execute("DROP VIEW array_launches; DROP TABLE launch_arrays; PRAGMA user_version = 2");
  TraceReader reader(old);
  EXPECT_FALSE(reader.has_launch_arrays());
  EXPECT_TRUE(reader.launch_arrays().empty());
  EXPECT_FALSE(reader.check_whole());
  EXPECT_TRUE(reader.notices().empty());
}

TEST_F(ReaderTest, EmptyTraceIsATrace) {
  TraceReader reader(sample("empty"));
  read_all(reader);
  EXPECT_FALSE(reader.check_whole());
  EXPECT_EQ(reader.collectives().size(), 0u);
}

// Every kind of cut: either an IoError that names the file, or what could be read and a notice.
TEST_F(ReaderTest, EveryTruncationIsToldNeverFatal) {
  const std::string whole = sample("large", {.collectives = 3000});
  const auto size = std::int64_t(fs::file_size(whole));
  const std::string cut = path("cut.db");
  fs::copy_file(whole, cut);
  int opened = 0, refused = 0;
  for (int i = 99; i >= 0; --i) {
    // Off every page border too.
    const std::int64_t length = std::max<std::int64_t>(1, size * i / 100 - (i % 3) * 1001);
    fs::resize_file(cut, std::uintmax_t(length));
    try {
      TraceReader reader(cut);
      read_all(reader);
      reader.check_whole();
      EXPECT_TRUE(reader.torn()) << length;
      EXPECT_FALSE(reader.notices().empty());
      EXPECT_THAT(reader.notices(), Each(Not(HasSubstr("/")))) << "no file but the one that was opened is anybody's concern";
      ++opened;
    } catch (const IoError& error) {
      EXPECT_THAT(error.what(), HasSubstr("cut.db"));
      ++refused;
    }
  }
  EXPECT_GT(opened, 95) << "refused " << refused;
}

// As programs of before schema version 1 wrote it, with other columns and texts in the list of tables.
void make_version_0(const std::string& path, int page_bytes) {
  Database database(path, OpenMode::kUpdate);
  database.execute(
      "DROP VIEW array_memory; DROP VIEW array_launches; DROP TABLE launch_arrays; DROP TABLE array_holders; DROP TABLE array_ends; "
      "DROP TABLE checksums; DROP TABLE frames; "
      "ALTER TABLE programs DROP COLUMN intermediate_bytes; ALTER TABLE launches DROP COLUMN frame; "
      "PRAGMA user_version = 0");
  database.execute(fmt::format("PRAGMA journal_mode = OFF; PRAGMA page_size = {}; VACUUM", page_bytes));
}

// How many tables of the schema begin on a page after that one.
std::size_t tables_after(const std::string& path, std::int64_t page) {
  Database database(path, OpenMode::kRead);
  Statement row(database, "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > ?");
  row.bind(page);
  std::size_t count = 0;
  while (row.step()) count += trace_schema().table(row.text(0)) != nullptr;
  return count;
}

// At each border of a page, and in the middle of each: what can be read does not grow less with what is there, and what is missing is told.
TEST_F(ReaderTest, EveryCutOfEveryVersionLeavesWhatLiesBeforeIt) {
  for (const bool old : {false, true})
    for (const int page_bytes : {1024, 4096}) {
      const std::string whole = sample("deadlock"), cut = path("cut.db");
      if (old)
        make_version_0(whole, page_bytes);
      else
        Database(whole, OpenMode::kUpdate).execute(fmt::format("PRAGMA journal_mode = OFF; PRAGMA page_size = {}; VACUUM", page_bytes));
      const auto size = std::int64_t(fs::file_size(whole));
      ASSERT_GT(size / page_bytes, 30);
      std::size_t strings = 0, tables = 0;
      for (std::int64_t length = page_bytes / 2; length < size; length += page_bytes / 2) {
        SCOPED_TRACE(fmt::format("{} of {} bytes, pages of {}, version {}", length, size, page_bytes, old ? 0 : kSchemaVersion));
        fs::copy_file(whole, cut, fs::copy_options::overwrite_existing);
        fs::resize_file(cut, std::uintmax_t(length));
        TraceReader reader(cut);
        read_all(reader);
        EXPECT_TRUE(reader.check_whole());
        const auto notices = reader.notices();
        ASSERT_FALSE(notices.empty());
        std::size_t known = 0, lost = 0;
        for (const TableDef& table : trace_schema().tables) {
          const bool is_lost = std::any_of(notices.begin(), notices.end(), [&](const std::string& notice) {
            const auto at = notice.find("nothing is left of ");
            return at != std::string::npos &&
                   (" " + notice.substr(at + 18, notice.find(')') - at - 18) + ",").find(fmt::format(" {},", table.name)) !=
                       std::string::npos;
          });
          lost += is_lost;
          known += !is_lost && table.since <= (old ? 0 : kSchemaVersion);
        }
        EXPECT_GE(known, tables);
        tables = known;
        std::size_t words = 0;
        for (Id id = 1; id < 200; ++id) words += !reader.text(id).empty();
        EXPECT_GE(words, strings);
        strings = words;
        if (length + page_bytes < size) continue;
        EXPECT_EQ(lost, tables_after(whole, length / page_bytes)) << "the list itself is whole";
      }
      EXPECT_GT(strings, 15U);
      EXPECT_GT(tables, 25U);
    }
}

TEST_F(ReaderTest, DamagedBytesNeverCrash) {
  const std::string whole = sample("deadlock");
  std::string bytes;
  {
    std::ifstream in(whole, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  const std::string damaged = path("damaged.db");
  std::uint64_t random = 12345;
  for (int round = 0; round < 150; ++round) {
    std::string copy = bytes;
    for (int i = 0; i < 40; ++i) {
      random = random * 6364136223846793005ULL + 1442695040888963407ULL;
      copy[(random >> 20) % copy.size()] = char(random >> 12);
    }
    std::ofstream(damaged, std::ios::binary | std::ios::trunc) << copy;
    try {
      TraceReader reader(damaged);
      read_all(reader);
    } catch (const IoError&) {}
  }
}

}  // namespace
}  // namespace shardlab::traces
