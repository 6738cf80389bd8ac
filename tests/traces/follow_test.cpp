// A trace that grows with its run says at every look what a merge of the whole says, at the cost of what is new.
#include "traces/recorder/follow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <map>
#include <set>
#include <tuple>

#include "tests/traces/recorded_job.h"
#include "traces/recorder/part.h"
#include "traces/schema.h"
#include "traces/trace_reader.h"

namespace shardlab::recorder {
namespace {

using ::testing::ContainerEq;

// Everything that a trace tells, without the ids, which count otherwise.
constexpr const char* kQuestions[] = {
    "SELECT key, value FROM meta WHERE key <> 'growth'",
    "SELECT process, pid, host, state, first_ns, last_ns, closed FROM processes",
    "SELECT * FROM devices",
    "SELECT name, kind, process, device, event_count, first_ns, last_ns, busy_ns, error_count, open_count FROM tracks",
    "SELECT t.name, e.time_ns, e.duration_ns, e.kind, n.text, c.seq, c.call, e.launch, f.text, s.line, e.flags FROM events e JOIN tracks t "
    "ON t.id = e.track LEFT JOIN strings n ON n.id = e.name LEFT JOIN collectives c ON c.id = e.collective LEFT JOIN sites s ON s.id = "
    "e.site LEFT JOIN strings f ON f.id = s.file",
    "SELECT l.process, l.launch, l.seq, p.name, s.line, l.issued_ns, l.started_ns, l.done_ns, l.status FROM launches l LEFT JOIN programs "
    "p ON p.id = l.program LEFT JOIN sites s ON s.id = l.site",
    "SELECT c.seq, p.name, c.call, c.launch, k.text, s.line, c.state, c.first_ns, c.last_ns FROM collectives c LEFT JOIN programs p ON "
    "p.id = c.program JOIN strings k ON k.id = c.kind LEFT JOIN sites s ON s.id = c.site",
    "SELECT c.seq, c.call, m.process, m.device, m.launch, m.issued_ns, m.start_ns, m.wait_ns, m.end_ns, m.moved_bytes, m.status FROM "
    "members m JOIN collectives c ON c.id = m.collective",
    "SELECT w.process, w.begin_ns, w.peer, c.seq, c.call, w.end_ns FROM wait_edges w JOIN collectives c ON c.id = w.collective",
    "SELECT n.text, d.text, l.spec, a.committed, a.process, a.launch, s.line, a.time_ns, p.text FROM arrays a LEFT JOIN strings n ON n.id "
    "= a.name LEFT JOIN strings d ON d.id = a.dtype JOIN layouts l ON l.id = a.layout LEFT JOIN sites s ON s.id = a.site LEFT JOIN strings "
    "p ON p.id = a.processes",
    "SELECT h.process, h.begin_ns, h.seq, h.end_ns, n.text FROM host_reads h LEFT JOIN strings n ON n.id = h.what",
    "SELECT n.text, a.process, a.launch, a.time_ns, h.process, h.begin_ns, e.end_ns, e.donated FROM array_holders h JOIN arrays a ON a.id "
    "= "
    "h.array LEFT JOIN strings n ON n.id = a.name LEFT JOIN array_ends e ON e.array = h.array AND e.process = h.process",
    "SELECT n.text, e.process, e.end_ns, e.donated FROM array_ends e JOIN arrays a ON a.id = e.array LEFT JOIN strings n ON n.id = a.name",
    "SELECT n.text, a.process, a.launch, k.device, k.process, k.hash, k.numbers, k.sum FROM checksums k JOIN arrays a ON a.id = k.array "
    "LEFT "
    "JOIN strings n ON n.id = a.name",
    "SELECT n.text, a.process, a.launch, u.process, u.launch, u.role, u.position, u.donated FROM launch_arrays u JOIN arrays a ON a.id = "
    "u.array LEFT JOIN strings n ON n.id = a.name",
    "SELECT process, count, bytes, reason FROM dropped",
    "SELECT process, source, severity, message FROM import_log",
};

std::multiset<std::string> told(const std::string& path) {
  std::multiset<std::string> lines;
  traces::Database database = traces::TraceReader::open(path);
  for (const char* question : kQuestions) {
    traces::Statement row(database, question);
    while (row.step()) {
      std::string line(question, std::string_view(question).find("FROM"));
      for (int c = 0; c < row.column_count(); ++c) line += " | " + (row.is_null(c) ? "NULL" : std::string(row.text(c)));
      lines.insert(line);
    }
  }
  return lines;
}

// A row of a table that grows, by what tells it apart: its track or process (0: none), its key there, and all of it.
using GrownRows = std::map<std::string, std::multiset<std::tuple<std::int64_t, std::int64_t, std::string>>>;

GrownRows grown_rows(const std::string& path) {
  GrownRows tables;
  traces::Database database = traces::TraceReader::open(path);
  for (const auto& table : traces::trace_schema().tables) {
    if (!traces::grows(table.name)) continue;
    const auto comma = table.primary_key.find(", ");
    const bool within = comma != std::string_view::npos;
    const std::string_view group = within ? table.primary_key.substr(0, comma) : "0";
    const std::string_view key = within ? table.primary_key.substr(comma + 2) : table.primary_key;
    traces::Statement row(database, fmt::format("SELECT {}, {}, * FROM {}", group, key.substr(0, key.find(',')), table.name));
    while (row.step()) {
      std::string all;
      for (int c = 0; c < row.column_count(); ++c) all += " | " + (row.is_null(c) ? "NULL" : std::string(row.text(c)));
      tables[std::string(table.name)].emplace(row.integer(0), row.integer(1), all);
    }
  }
  return tables;
}

// Those that `growth` does not tell of.
GrownRows standing(GrownRows tables, const traces::Growth& growth) {
  for (auto& [table, rows] : tables)
    std::erase_if(rows, [&](const auto& row) { return std::get<1>(row) >= growth.least(table, std::get<0>(row)); });
  std::erase_if(tables, [](const auto& each) { return each.second.empty(); });
  return tables;
}

class FollowTest : public RecordedJob {
 protected:
  void SetUp() override {
    RecordedJob::SetUp();
    options_.ends.clear();
    options_.running = true;
    options_.title.clear();
    options_.out = (folder_ / "merged.db").string();
    out_ = (folder_ / "live.db").string();
  }
  // Until the recorders' own threads have written all of it.
  void drained() const {
    for (int p = 0; p < kProcesses; ++p) {
      for (int incarnation : {0, 1}) {
        const std::string path = ring_path(folder_.string(), p, incarnation);
        if (!std::filesystem::exists(path)) continue;
        for (int i = 0; i < 3000; ++i) {
          const RingFile ring = RingFile::open(path);
          if (ring.head() == ring.tail()) break;
          ::usleep(1000);
        }
      }
    }
  }
  void expect_the_same(Follower& follower, const std::string& when) {
    drained();
    const bool grown = follower.look().grown;
    const traces::Growth growth = traces::TraceReader(out_).growth();
    const GrownRows before = std::exchange(seen_, grown_rows(out_));
    // Who took the last growth needs only what this one tells of.
    EXPECT_GT(growth.publication, 0) << when;
    if (grown && growth.made == growth_.made) {
      EXPECT_EQ(growth.publication, growth_.publication + 1) << when;
      EXPECT_EQ(standing(before, growth), standing(seen_, growth)) << when;
    }
    growth_ = growth;
    merge_parts(options_);
    const auto live = told(out_), whole = told(options_.out);
    std::vector<std::string> more, less;
    std::set_difference(live.begin(), live.end(), whole.begin(), whole.end(), std::back_inserter(more));
    std::set_difference(whole.begin(), whole.end(), live.begin(), live.end(), std::back_inserter(less));
    EXPECT_THAT(more, ContainerEq(std::vector<std::string>{})) << when;
    EXPECT_THAT(less, ContainerEq(std::vector<std::string>{})) << when;
    EXPECT_FALSE(live.empty());
  }
  std::string out_;
  GrownRows seen_;
  traces::Growth growth_;
};

TEST_F(FollowTest, SaysAtEveryLookWhatAMergeSays) {
  Follower follower(folder_.string(), out_);
  const auto sum = make_program("matmul", 12), other = make_program("other");
  auto alone = std::make_shared<comm::ProgramInfo>(*make_program("alone"));
  alone->devices = {0, 1};
  alone->processes = {0};
  alone->collectives.clear();
  std::vector<std::unique_ptr<Recorder>> made;
  made.push_back(recorder(0));
  launch(*made[0], 0, sum, 1000, 31);
  expect_the_same(follower, "one process alone");
  for (int p = 1; p < kProcesses; ++p) made.push_back(recorder(p));
  expect_the_same(follower, "the others come");
  launch(*made[2], 0, sum, 900, 31, 1);
  comm::ArrayInfo array = make_array(1);
  made[0]->on_array(array);
  expect_the_same(follower, "an open call, earlier than what was seen, and an array");
  launch(*made[1], 0, sum, 1100, 31);
  array.name = "renamed";
  made[0]->on_array(array);
  array = make_array(4);
  made[1]->on_array(array);
  made[1]->on_host_read("print", line(40), 9000, 9500);
  expect_the_same(follower, "the last member comes, an array is named anew, a read");
  for (int n = 1; n < 6; ++n) {
    // Each takes the array of the round before, the last process for good; and what no launch made.
    for (int p = 0; p < kProcesses; ++p)
      launch(*made[std::size_t(p)], n, n == 3 && p == 1 ? other : sum, 10'000 * n + p * 100, 32, 2, {{99 + n, p == 2}, {4}, {77}});
    // An array a round, which ends two rounds later on one process, three later on another, and on the third with the next round.
    for (int p = 0; p < kProcesses; ++p) {
      comm::ArrayInfo each = make_array(100 + n);
      each.launch = n;
      each.result = 0;
      made[std::size_t(p)]->on_array(each);
      if (n % 2 == 0) made[std::size_t(p)]->on_checksums(each.id, {{p * 2, {.hash = std::uint64_t(n), .numbers = 8, .sum = 0.5 * p}}});
    }
    if (n == 3) made[1]->on_checksums(4, {{2, {.hash = 7}}});    // made by no launch
    if (n == 3) made[2]->on_checksums(999, {{4, {.hash = 7}}});  // of which nothing is known
    if (n > 2) made[0]->on_array_end(100 + n - 2, n % 2 == 0);
    if (n > 3) made[1]->on_array_end(100 + n - 3, false);
    if (n == 4) made[2]->on_array_end(4, false);  // which it never made
    // At an end before the launch that took it has ended, and taken beside others that have not ended it.
    made[2]->on_array_end(99 + n, true);
    launch(*made[0], 100 + n, alone, 10'000 * n + 5000, 33, 2, {{100 + n}});
    expect_the_same(follower, "round " + std::to_string(n));
    expect_the_same(follower, "round " + std::to_string(n) + " again");
  }
  EXPECT_FALSE(follower.look().grown) << "nothing is new";
  made[1]->on_array_end(4, false);   // made by no launch
  made[2]->on_array_end(105, true);  // of a launch that is no longer written anew
  expect_the_same(follower, "arrays end");
  for (auto& each : made) {
    each.reset();
    expect_the_same(follower, "one ends");
  }
  EXPECT_EQ(traces::TraceReader(out_).meta("running"), "0");
}

// Of an elastic job: the one that was started again is seen while the job runs, its launches after those of the one before.
TEST_F(FollowTest, WhoIsStartedAgainIsSeen) {
  Follower follower(folder_.string(), out_);
  auto alone = std::make_shared<comm::ProgramInfo>(*make_program("alone"));
  alone->devices = {2, 3};
  alone->processes = {1};
  alone->collectives.clear();
  std::vector<std::unique_ptr<Recorder>> made;
  for (int p = 0; p < kProcesses; ++p) made.push_back(recorder(p));
  const auto sum = make_program("matmul", 12);
  for (int p = 0; p < kProcesses; ++p) launch(*made[std::size_t(p)], 0, sum, 1000 + p, 31);
  for (int n = 1; n < 4; ++n) launch(*made[1], n, alone, 2000 * n, 32);
  expect_the_same(follower, "before it ends");
  made[1].reset();
  expect_the_same(follower, "it has ended");
  made[1] = recorder(1, 1 << 20, 1);
  for (int p : {0, 2}) made[std::size_t(p)]->begin_epoch(1, {0, 2});
  expect_the_same(follower, "the next one has begun");
  for (int p = 0; p < kProcesses; ++p) made[std::size_t(p)]->begin_epoch(2, {0, 1, 2});
  launch(*made[1], 0, alone, 20'000, 33);
  for (int p = 0; p < kProcesses; ++p) launch(*made[std::size_t(p)], 1, sum, 21'000 + p, 34);
  expect_the_same(follower, "it takes part");
  expect_the_same(follower, "and again");
  traces::Database seen = traces::TraceReader::open(out_);
  EXPECT_EQ(seen.integer("SELECT count(*) FROM launches WHERE process = 1"), 6);
  EXPECT_EQ(seen.integer("SELECT max(launch) FROM launches WHERE process = 1"), 5);
  EXPECT_EQ(seen.integer("SELECT count(*) FROM processes"), kProcesses);
  for (auto& each : made) each.reset();
  expect_the_same(follower, "all have ended");
}

TEST_F(FollowTest, ALookCostsWhatIsNew) {
  Follower follower(folder_.string(), out_);
  const auto sum = make_program("matmul", 12);
  std::vector<std::unique_ptr<Recorder>> made;
  for (int p = 0; p < kProcesses; ++p) made.push_back(recorder(p));
  std::vector<std::int64_t> rows;
  for (int n = 0; n < 40; ++n) {
    for (int p = 0; p < kProcesses; ++p) launch(*made[std::size_t(p)], n, sum, 1000 * (n + 1) + p, 31);
    drained();
    const Follower::Look look = follower.look();
    EXPECT_TRUE(look.grown);
    rows.push_back(look.rows);
  }
  EXPECT_EQ(traces::TraceReader(out_).collectives().size(), 80u);
  for (std::size_t n = 3; n < rows.size(); ++n)
    EXPECT_LE(rows[n], rows[2] + 4) << "a look at launch " << n << ", at launch 2 it was " << rows[2];
}

}  // namespace
}  // namespace shardlab::recorder
