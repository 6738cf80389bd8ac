// The ring: several producers, wraparound, a full ring, torn records, another process's death.
#include "traces/recorder/ring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "runtime/base/error.h"

namespace shardlab::recorder {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class RingTest : public ::testing::Test {
 protected:
  RingTest() : path_(fs::temp_directory_path() / ("shardlab_ring_" + std::to_string(getpid()))) {}
  ~RingTest() override { fs::remove(path_); }
  std::string path() const { return path_.string(); }
  RingFile make(std::size_t capacity) const { return RingFile::create(path(), capacity, 3, 4711); }
  fs::path path_;
};

std::vector<std::byte> body_of(std::uint64_t number, std::size_t bytes) {
  std::vector<std::byte> body(std::max<std::size_t>(bytes, 8));
  std::memcpy(body.data(), &number, 8);
  for (std::size_t i = 8; i < body.size(); ++i) body[i] = std::byte(number + i);
  return body;
}

std::uint64_t number_of(const RingRecord& record) {
  std::uint64_t number;
  std::memcpy(&number, record.body.data(), 8);
  EXPECT_EQ(std::vector<std::byte>(record.body.begin(), record.body.end()), body_of(number, record.body.size()));
  return number;
}

TEST_F(RingTest, GivesBackWhatWasWritten) {
  RingFile ring = make(1 << 14);
  RingReader reader(ring);
  EXPECT_EQ(reader.read(Writers::kAlive, [](const auto&) { FAIL(); }), 0u);
  for (std::size_t bytes : {0, 1, 7, 8, 9, 100, 4000}) {
    const auto body = std::vector<std::byte>(bytes, std::byte(bytes));
    ASSERT_TRUE(ring.write(std::uint32_t(bytes) + 1, body));
    int seen = 0;
    reader.read(Writers::kAlive, [&](const RingRecord& record) {
      ++seen;
      EXPECT_EQ(record.type, bytes + 1);
      EXPECT_EQ(std::vector<std::byte>(record.body.begin(), record.body.end()), body);
    });
    EXPECT_EQ(seen, 1);
    reader.release();
  }
}

TEST_F(RingTest, WrapsAroundManyTimesWithEverySize) {
  RingFile ring = make(kRingBytesMin);
  RingReader reader(ring);
  std::uint64_t written = 0, read = 0, last_position = 0;
  std::mt19937 random(7);
  while (ring.head() < 400 * ring.capacity()) {
    while (ring.write(1, body_of(written, random() % 900))) ++written;
    reader.read(Writers::kAlive, [&](const RingRecord& record) {
      EXPECT_EQ(number_of(record), read++);
      EXPECT_TRUE(read == 1 || record.position > last_position);
      last_position = record.position;
    });
    reader.release();
  }
  EXPECT_EQ(written, read);
  EXPECT_GT(ring.dropped_records(), 0u);  // each inner loop ended at a full ring
}

TEST_F(RingTest, CountsWhatItDropsAndGoesOn) {
  RingFile ring = make(kRingBytesMin);
  std::uint64_t written = 0;
  while (ring.write(1, body_of(written, 100))) ++written;
  EXPECT_EQ(ring.dropped_records(), 1u);
  EXPECT_FALSE(ring.write(1, body_of(0, 3000)));  // larger than half
  EXPECT_EQ(ring.dropped_records(), 2u);
  RingReader reader(ring);
  EXPECT_EQ(reader.read(
                Writers::kAlive, [](const auto&) {}, 5),
            5u);
  EXPECT_FALSE(ring.write(1, body_of(0, 100)));  // read, but not released
  reader.rewind();
  EXPECT_EQ(reader.read(Writers::kAlive, [](const auto&) {}), written);
  reader.release();
  EXPECT_TRUE(ring.write(1, body_of(0, 100)));
}

TEST_F(RingTest, SeveralProducersLoseNothingWhileOneReads) {
  constexpr int kThreads = 4;
  constexpr std::uint64_t kEach = 20'000;
  RingFile ring = make(1 << 16);
  std::vector<std::jthread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&ring, t] {
      for (std::uint64_t i = 0; i < kEach; ++i)
        while (!ring.write(std::uint32_t(t), body_of(i, 16 + i % 80))) std::this_thread::yield();
    });
  RingReader reader(ring);
  std::map<std::uint32_t, std::uint64_t> next;
  std::uint64_t total = 0;
  while (total < kThreads * kEach) {
    total += reader.read(Writers::kAlive, [&](const RingRecord& record) { ASSERT_EQ(number_of(record), next[record.type]++); });
    reader.release();
  }
  EXPECT_EQ(reader.torn_records(), 0u);
}

TEST_F(RingTest, SkipsATornRecordAndSaysSo) {
  {
    RingFile ring = make(kRingBytesMin);
    for (std::uint64_t i = 0; i < 10; ++i) ASSERT_TRUE(ring.write(1, body_of(i, 40)));
  }
  {
    std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(4096 + 4 * 64 + 30);  // within the fifth record's body
    file.write("torn", 4);
  }
  RingFile ring = RingFile::open(path());
  EXPECT_EQ(ring.process(), 3);
  EXPECT_EQ(ring.pid(), 4711);
  RingReader alive(ring);
  EXPECT_EQ(alive.read(Writers::kAlive, [](const auto&) {}), 4u);
  RingReader dead(ring);
  std::vector<std::uint64_t> numbers;
  dead.read(Writers::kDead, [&](const RingRecord& record) { numbers.push_back(number_of(record)); });
  EXPECT_THAT(numbers, ::testing::ElementsAre(0, 1, 2, 3, 5, 6, 7, 8, 9));
  EXPECT_EQ(dead.torn_records(), 1u);
  EXPECT_EQ(dead.torn_bytes(), 64u);
  dead.release();
  EXPECT_EQ(ring.head(), ring.tail());
}

TEST_F(RingTest, RefusesWhatIsNoRing) {
  const auto error = [&] {
    try {
      RingFile::open(path());
    } catch (const IoError& caught) { return std::string(caught.what()); }
    return std::string();
  };
  EXPECT_THAT(error(), HasSubstr("cannot be opened"));
  std::ofstream(path()) << "short";
  EXPECT_THAT(error(), HasSubstr("too few"));
  std::ofstream(path()) << std::string(20000, 'x');
  EXPECT_THAT(error(), HasSubstr("not a ring"));
  { RingFile ring = make(1 << 14); }
  fs::resize_file(path(), 4096 + (1 << 13));
  EXPECT_THAT(error(), HasSubstr("cut off"));
  EXPECT_THROW(RingFile::create("/nonexistent/folder/ring", 1, 0, 0), IoError);
}

TEST_F(RingTest, AKilledProcessLeavesAllItWrote) {
  constexpr std::uint64_t kRecords = 137;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    RingFile ring = RingFile::create(path(), 1 << 16, 3, getpid());
    for (std::uint64_t i = 0; i < kRecords; ++i) ring.write(1, body_of(i, 40));
    if (::write(ends[1], "x", 1) != 1) _exit(1);
    for (;;) pause();
  }
  char ready;
  ASSERT_EQ(::read(ends[0], &ready, 1), 1);
  ASSERT_EQ(kill(child, SIGKILL), 0);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  close(ends[0]);
  close(ends[1]);
  EXPECT_TRUE(WIFSIGNALED(status));
  RingFile ring = RingFile::open(path());
  EXPECT_EQ(ring.pid(), child);
  RingReader reader(ring);
  std::uint64_t next = 0;
  reader.read(Writers::kDead, [&](const RingRecord& record) { EXPECT_EQ(number_of(record), next++); });
  EXPECT_EQ(next, kRecords);
  EXPECT_EQ(reader.torn_records(), 0u);
}

TEST_F(RingTest, PrintsItsCost) {
  RingFile ring = make(std::size_t(64) << 20);
  const auto body = body_of(1, 40);
  constexpr int kRecords = 500'000;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kRecords; ++i) ring.write(1, body);
  const double ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / kRecords;
  RecordProperty("ns_per_record", std::to_string(ns));
  std::printf("%.0f ns a record of 40 bytes\n", ns);
  EXPECT_EQ(ring.dropped_records(), 0u);
}

}  // namespace
}  // namespace shardlab::recorder
