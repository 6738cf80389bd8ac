#include "runtime/exec/routes.h"

#include <algorithm>
#include <map>
#include <set>

#include "runtime/exec/backend.h"

namespace shardlab {
namespace {

int host(const HostOf& host_of, int process) { return host_of ? host_of(process) : 0; }

// The processes by host, each list ascending.
std::map<int, std::vector<int>> by_host(const std::set<int>& processes, const HostOf& host_of) {
  std::map<int, std::vector<int>> hosts;
  for (int process : processes) hosts[host(host_of, process)].push_back(process);
  return hosts;
}

int chosen(const std::vector<int>& processes, int turn) { return processes[std::size_t(turn) % processes.size()]; }

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
  // Who combines what a host has: one that wants the result, where there is one.
  std::map<int, int> leader;
  for (const auto& [each, processes] : hosts)
    leader[each] = chosen(wanting_hosts.contains(each) ? wanting_hosts.at(each) : processes, turn);
  std::vector<int> host_owners;
  for (int owner : owners) host_owners.push_back(host(host_of, owner));
  for (const RankRange& subtree : own) {
    int to = leader.at(host(host_of, subtree.owner));
    if (to != subtree.owner) messages.push_back({0, subtree.owner, to, subtree.first, subtree.last});
  }
  for (const RankRange& subtree : owned_subtrees(host_owners))
    for (const auto& [each, processes] : wanting_hosts)
      if (each != subtree.owner) messages.push_back({1, leader.at(subtree.owner), leader.at(each), subtree.first, subtree.last});
  for (const auto& [each, processes] : wanting_hosts)
    for (int to : processes)
      if (to != leader.at(each)) messages.push_back({2, leader.at(each), to, 0, int(owners.size())});
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
