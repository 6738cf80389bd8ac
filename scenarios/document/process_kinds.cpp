// Which processes go the same way through a program.
#include <algorithm>
#include <map>

#include "scenarios/document/validate.h"

namespace shardlab::scenarios {
namespace {

// Some processes are told apart by the data that they have.
bool has_own_data(const Body& body) {
  return std::any_of(body.begin(), body.end(), [](const Statement& statement) {
    const auto* made = std::get_if<ProcessDataStep>(&statement.step);
    return (made && made->data.size() > 1) || (statement.body() && has_own_data(*statement.body()));
  });
}

void collect_sets(const Body& body, std::vector<const ProcessSet*>& sets) {
  for (const Statement& statement : body) {
    if (statement.on) sets.push_back(&*statement.on);
    if (const Body* inner = statement.body()) collect_sets(*inner, sets);
  }
}

}  // namespace

std::vector<int> first_of_kind(const Document& document) {
  std::vector<const ProcessSet*> sets;
  collect_sets(document.program, sets);
  for (const auto& [name, function] : document.functions) collect_sets(function.body, sets);
  bool own_data = has_own_data(document.program);
  std::map<std::vector<bool>, int> first;
  std::vector<int> result;
  for (int process = 0; process < document.cluster.processes; ++process) {
    std::vector<bool> ways(own_data ? std::size_t(process) : 0);
    for (const ProcessSet* set : sets) ways.push_back(set->contains(process));
    result.push_back(first.try_emplace(std::move(ways), process).first->second);
  }
  return result;
}

}  // namespace shardlab::scenarios
