// Routes, symbolically: whoever sends a value has what it is combined of, and in the end all who want the whole have it.
#include "runtime/exec/routes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "runtime/exec/backend.h"

namespace shardlab {
namespace {

using Ranges = std::set<std::pair<int, int>>;

struct Job {
  std::vector<int> owners, wanting;
  HostOf host_of;
  int ranks() const { return int(owners.size()); }
};

Job random_job(std::mt19937& random) {
  int processes = 1 + int(random() % 7), hosts = 1 + int(random() % 4), ranks = 1 + int(random() % 16);
  Job job;
  std::vector<int> host_of_process;
  for (int p = 0; p < processes; ++p)
    host_of_process.push_back(int(random()) & 3 ? p * hosts / processes : int(random() % unsigned(hosts)));
  for (int r = 0; r < ranks; ++r) job.owners.push_back(random() % 2 ? r * processes / ranks : int(random() % unsigned(processes)));
  for (int owner : job.owners)
    if (random() % 2) job.wanting.push_back(owner);
  if (job.wanting.empty()) job.wanting.push_back(job.owners[0]);
  job.host_of = [host_of_process](int process) { return host_of_process[std::size_t(process)]; };
  return job;
}

bool can_make(const Ranges& known, int first, int last) {
  if (known.contains({first, last})) return true;
  if (last - first == 1) return false;
  int middle = first + tree_split(last - first);
  return can_make(known, first, middle) && can_make(known, middle, last);
}

// Follows the messages of a reduction stage by stage.
void follow(const Job& job, const std::vector<ReduceMessage>& route) {
  std::map<int, Ranges> known;
  for (const RankRange& each : owned_subtrees(job.owners)) known[each.owner].insert({each.first, each.last});
  std::map<std::tuple<int, int, int, int>, int> between;  // how often a range goes from host to host
  for (int stage = 0; stage < kReduceStages; ++stage) {
    std::map<int, Ranges> after = known;
    for (const ReduceMessage& message : route) {
      if (message.stage != stage) continue;
      EXPECT_NE(message.from, message.to);
      EXPECT_TRUE(can_make(known[message.from], message.first, message.last)) << "stage " << stage;
      after[message.to].insert({message.first, message.last});
      int from = job.host_of(message.from), to = job.host_of(message.to);
      if (from != to) { EXPECT_EQ(++between[std::tuple(from, to, message.first, message.last)], 1); }
    }
    known = after;
  }
  for (int process : job.wanting) EXPECT_TRUE(can_make(known[process], 0, job.ranks()));
}

TEST(Routes, AReductionReachesAllWhoWantIt) {
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    SCOPED_TRACE(round);
    Job job = random_job(random);
    follow(job, reduce_route(job.owners, job.wanting, round, job.host_of));
  }
}

TEST(Routes, EachPartReachesAllWhoWantIt) {
  std::mt19937 random(5);
  for (int round = 0; round < 1000; ++round) {
    SCOPED_TRACE(round);
    Job job = random_job(random);
    for (int part = 0; part < 7; ++part) follow(job, part_route(job.owners, job.wanting, part, job.host_of));
  }
}

TEST(Routes, PartsAreCombinedByEverybodyInTurn) {
  std::vector<int> owners = {0, 0, 1, 1, 2, 2, 3, 3}, wanting = {0, 1, 2, 3};
  for (const HostOf& host_of : {HostOf(), HostOf([](int process) { return process / 2; })}) {
    std::set<int> combining;
    for (int part = 0; part < reduce_parts(owners, wanting, 1 << 20); ++part) {
      std::map<int, int> whole;  // how often a process sends the whole
      for (const ReduceMessage& message : part_route(owners, wanting, part, host_of))
        if (message.first == 0 && message.last == 8 && (message.stage == 2 || !host_of)) ++whole[message.from];
      EXPECT_EQ(whole.size(), 1u);
      combining.insert(whole.begin()->first);
    }
    EXPECT_EQ(combining.size(), 4u);
  }
  EXPECT_EQ(reduce_parts(owners, wanting, 1000), 1) << "small ones are not cut";
  EXPECT_EQ(reduce_parts({0, 0, 1, 1}, {0, 1}, 1 << 20), 1) << "two processes move no less with parts";
  EXPECT_EQ(reduce_parts(owners, {2}, 1 << 20), 1) << "a single process wants it";
}

TEST(Routes, APieceReachesAllWhoWantItAndEachHostOnce) {
  std::mt19937 random(4);
  for (int round = 0; round < 1000; ++round) {
    int processes = 1 + int(random() % 7), source = int(random() % unsigned(processes));
    std::vector<int> host_of_process, wanting;
    for (int p = 0; p < processes; ++p) host_of_process.push_back(int(random() % 3));
    for (int i = 0; i < 6; ++i) wanting.push_back(int(random() % unsigned(processes)));
    HostOf host_of = [&](int process) { return host_of_process[std::size_t(process)]; };
    std::set<int> having = {source};
    std::set<int> reached;  // hosts
    for (int stage = 0; stage < kSpreadStages; ++stage) {
      std::set<int> after = having;
      for (const SpreadMessage& message : spread_route(source, wanting, round, host_of)) {
        if (message.stage != stage) continue;
        EXPECT_TRUE(having.contains(message.from));
        EXPECT_TRUE(after.insert(message.to).second) << "sent twice to process " << message.to;
        if (host_of(message.from) != host_of(message.to)) { EXPECT_TRUE(reached.insert(host_of(message.to)).second); }
      }
      having = after;
    }
    for (int process : wanting) EXPECT_TRUE(having.contains(process));
  }
}

TEST(Routes, OnOneHostEverybodySendsToEverybodyAtOnce) {
  for (const ReduceMessage& message : reduce_route({0, 0, 1, 1, 2, 2}, {0, 1, 2}, 0, {})) EXPECT_EQ(message.stage, 0);
  EXPECT_EQ(reduce_route({0, 0, 1, 1, 2, 2}, {0, 1, 2}, 0, {}).size(), 6u);
}

}  // namespace
}  // namespace shardlab
