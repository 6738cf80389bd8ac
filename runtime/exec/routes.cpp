#include "runtime/exec/routes.h"

#include <algorithm>
#include <map>
#include <set>

#include "runtime/exec/backend.h"

namespace shardlab {
namespace {

int host(const HostOf& host_of, int process) { return host_of ? host_of(process) : 0; }

// The processes by host, each list ascending.
using Hosts = std::map<int, std::vector<int>>;
Hosts by_host(const std::set<int>& processes, const HostOf& host_of) {
  Hosts hosts;
  for (int process : processes) hosts[host(host_of, process)].push_back(process);
  return hosts;
}

int chosen(const std::vector<int>& processes, int turn) { return processes[std::size_t(turn) % processes.size()]; }

// Who combines what a host has: by turns one that wants the result, where there is one.
std::map<int, int> leaders(const Hosts& hosts, const Hosts& wanting_hosts, int turn) {
  std::map<int, int> leader;
  for (const auto& [each, processes] : hosts)
    leader[each] = chosen(wanting_hosts.contains(each) ? wanting_hosts.at(each) : processes, turn);
  return leader;
}

std::vector<int> hosts_of(const std::vector<int>& owners, const HostOf& host_of) {
  std::vector<int> hosts;
  for (int owner : owners) hosts.push_back(host(host_of, owner));
  return hosts;
}

// The first stage: what is not the leader's own goes to it.
void add_to_leaders(const std::vector<int>& owners, const std::map<int, int>& leader, const HostOf& host_of,
                    std::vector<ReduceMessage>& messages) {
  for (const RankRange& subtree : owned_subtrees(owners)) {
    int to = leader.at(host(host_of, subtree.owner));
    if (to != subtree.owner) messages.push_back({0, subtree.owner, to, subtree.first, subtree.last});
  }
}

}  // namespace

std::vector<RankRange> owned_subtrees(const std::vector<int>& owners) {
  std::vector<RankRange> subtrees;
  std::function<void(int, int)> divide = [&](int first, int last) {
    int owner = owners[std::size_t(first)];
    if (std::all_of(owners.begin() + first, owners.begin() + last, [&](int other) { return other == owner; })) {
      subtrees.push_back({first, last, owner});
      return;
    }
    int middle = first + tree_split(last - first);
    divide(first, middle);
    divide(middle, last);
  };
  divide(0, int(owners.size()));
  return subtrees;
}

std::vector<ReduceMessage> reduce_route(const std::vector<int>& owners, const std::vector<int>& wanting, int turn, const HostOf& host_of) {
  std::vector<ReduceMessage> messages;
  std::set<int> members(owners.begin(), owners.end()), wanted(wanting.begin(), wanting.end());
  std::vector<RankRange> own = owned_subtrees(owners);
  auto hosts = by_host(members, host_of), wanting_hosts = by_host(wanted, host_of);
  if (hosts.size() == 1) {
    for (const RankRange& subtree : own)
      for (int to : wanted)
        if (to != subtree.owner) messages.push_back({0, subtree.owner, to, subtree.first, subtree.last});
    return messages;
  }
  std::map<int, int> leader = leaders(hosts, wanting_hosts, turn);
  add_to_leaders(owners, leader, host_of, messages);
  for (const RankRange& subtree : owned_subtrees(hosts_of(owners, host_of)))
    for (const auto& [each, processes] : wanting_hosts)
      if (each != subtree.owner) messages.push_back({1, leader.at(subtree.owner), leader.at(each), subtree.first, subtree.last});
  for (const auto& [each, processes] : wanting_hosts)
    for (int to : processes)
      if (to != leader.at(each)) messages.push_back({2, leader.at(each), to, 0, int(owners.size())});
  return messages;
}

int reduce_parts(const std::vector<int>& owners, const std::vector<int>& wanting, std::int64_t bytes) {
  constexpr std::int64_t kPartBytesMin = 32 * 1024;
  std::set<int> members(owners.begin(), owners.end()), wanted(wanting.begin(), wanting.end());
  // Two processes send each other the whole either way.
  if (members.size() < 3 || wanted.size() < 2 || bytes < kPartBytesMin * std::int64_t(wanted.size())) return 1;
  return int(wanted.size());
}

std::vector<ReduceMessage> part_route(const std::vector<int>& owners, const std::vector<int>& wanting, int part, const HostOf& host_of) {
  std::vector<ReduceMessage> messages;
  std::set<int> members(owners.begin(), owners.end()), wanted(wanting.begin(), wanting.end());
  Hosts hosts = by_host(members, host_of), wanting_hosts = by_host(wanted, host_of);
  // Parts go around the hosts, and inside of each around its processes.
  int rounds = int(wanting_hosts.size());
  int home = std::next(wanting_hosts.begin(), part % rounds)->first;
  std::map<int, int> leader = leaders(hosts, wanting_hosts, part / rounds);
  int combines = leader.at(home), ranks = int(owners.size());
  add_to_leaders(owners, leader, host_of, messages);
  for (const RankRange& subtree : owned_subtrees(hosts_of(owners, host_of)))
    if (subtree.owner != home) messages.push_back({1, leader.at(subtree.owner), combines, subtree.first, subtree.last});
  for (const auto& [each, processes] : wanting_hosts)
    if (each != home) messages.push_back({2, combines, leader.at(each), 0, ranks});
  for (const auto& [each, processes] : wanting_hosts)
    for (int to : processes)
      if (to != leader.at(each)) messages.push_back({3, leader.at(each), to, 0, ranks});
  return messages;
}

std::vector<SpreadMessage> spread_route(int source, const std::vector<int>& wanting, int turn, const HostOf& host_of) {
  std::vector<SpreadMessage> messages;
  std::set<int> wanted(wanting.begin(), wanting.end());
  wanted.erase(source);
  for (const auto& [each, processes] : by_host(wanted, host_of)) {
    if (each == host(host_of, source)) {
      for (int to : processes) messages.push_back({0, source, to});
      continue;
    }
    int relay = chosen(processes, turn);
    messages.push_back({0, source, relay});
    for (int to : processes)
      if (to != relay) messages.push_back({1, relay, to});
  }
  return messages;
}

}  // namespace shardlab
