#include "traces/checks/choices.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <string>

#include "traces/checks/wording.h"

namespace shardlab {
namespace {

struct Choice {
  int process = 0;
  const StepEvidence* step = nullptr;
  long number = 0;  // of rounds, or the branch
  bool goes_on = false, is_branch = false;
};

Choice choice_of(int process, const StepEvidence& step) {
  constexpr std::string_view kBranch = "branch ";
  bool is_branch = std::string_view(step.value).starts_with(kBranch);
  char* end = nullptr;
  long number = std::strtol(step.value.c_str() + (is_branch ? kBranch.size() : 0), &end, 10);
  return {process, &step, number, *end == '+', is_branch};
}

// "while_loop" of "predicate of while_loop (step 2), run 0 of f".
std::string op_of(const StepEvidence& step) {
  std::string_view rest = std::string_view(step.what).substr(kPredicate.size());
  return std::string(rest.substr(0, rest.find(' ')));
}

std::string text_of(const Choice& choice) {
  std::string_view value = choice.step->value;
  std::size_t with = value.find(" with ");
  std::string operands = with == value.npos ? "" : fmt::format(" (of {})", value.substr(with + 6));
  if (choice.is_branch) return fmt::format("chose branch {}{}", choice.number, operands);
  std::string rounds = fmt::format("{} round{}", choice.number, choice.number == 1 ? "" : "s");
  return choice.goes_on ? fmt::format("was true{} and began {}", operands, rounds) : fmt::format("was false{} after {}", operands, rounds);
}

// Those that went the same way, the most first. Loops under way that may still end as others did are in none.
std::vector<std::vector<Choice>> ways_of(const std::vector<Choice>& choices) {
  constexpr long kOnward = std::numeric_limits<long>::max();
  long longest = -1;
  for (const Choice& each : choices)
    if (!each.goes_on) longest = std::max(longest, each.number);
  std::map<long, std::vector<Choice>> by_end;
  for (const Choice& each : choices) {
    if (!each.goes_on)
      by_end[each.number].push_back(each);
    else if (longest >= 0 && each.number > longest)
      by_end[kOnward].push_back(each);
  }
  std::vector<std::vector<Choice>> ways;
  for (auto& [end, same] : by_end) ways.push_back(std::move(same));
  std::stable_sort(ways.begin(), ways.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
  return ways;
}

Diagnosis of_ways(const Positions& positions, const std::vector<std::vector<Choice>>& ways) {
  Diagnosis diagnosis;
  diagnosis.tie = ways[1].size() == ways[0].size();
  std::vector<int> others;
  for (std::size_t i = 0; i < ways.size(); ++i)
    for (const Choice& each : ways[i]) (i > 0 || diagnosis.tie ? diagnosis.processes : others).push_back(each.process);
  std::sort(diagnosis.processes.begin(), diagnosis.processes.end());
  std::sort(others.begin(), others.end());
  diagnosis.participants = sides(positions, diagnosis.processes, others);
  auto told = [](const std::vector<Choice>& way) {
    std::vector<int> processes;
    for (const Choice& each : way) processes.push_back(each.process);
    std::sort(processes.begin(), processes.end());
    return fmt::format("{} on {}", text_of(way.front()), processes_text(processes));
  };
  const StepEvidence& step = *ways[1].front().step;
  diagnosis.message = fmt::format("the predicate of {}{} {} and {}: from there on they run different calls of one launch", op_of(step),
                                  where_text(step.where), told(ways[1]), told(ways[0]));
  diagnosis.fields = {"predicate"};
  diagnosis.details.emplace_back("what", step.what);
  for (std::size_t i : {1u, 0u}) {
    const Choice& choice = ways[i].front();
    diagnosis.details.emplace_back(fmt::format("value on process {}", choice.process), choice.step->value);
    diagnosis.participants.push_back({.process = choice.process,
                                      .kind = "predicate",
                                      .op = op_of(*choice.step),
                                      .where = choice.step->where,
                                      .statement = choice.step->statement,
                                      .state = text_of(choice)});
  }
  return diagnosis;
}

}  // namespace

std::vector<Diagnosis> diverged_choices(const Positions& positions) {
  std::map<std::string_view, std::vector<Choice>> by_what;
  std::vector<std::string_view> in_order;  // as they came to them
  for (int p : positions.processes())
    for (const StepEvidence& step : positions.at(p).steps) {
      if (!is_choice(step)) continue;
      std::vector<Choice>& same = by_what[step.what];
      if (same.empty()) in_order.push_back(step.what);
      same.push_back(choice_of(p, step));
    }
  for (std::string_view what : in_order)  // what follows from the first is none of its own
    if (auto ways = ways_of(by_what[what]); ways.size() > 1) return {of_ways(positions, ways)};
  return {};
}

}  // namespace shardlab
