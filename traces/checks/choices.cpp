#include "traces/checks/choices.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <set>
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

// Of "…, run 0 of f [0badcafe]".
RunOnSet launch_of(std::string_view what) {
  auto number_behind = [&](std::string_view sign, int base) {
    const std::size_t at = what.rfind(sign);
    return at == what.npos ? 0ul : std::strtoul(std::string(what.substr(at + sign.size())).c_str(), nullptr, base);
  };
  return {std::uint32_t(number_behind("[", 16)), std::int64_t(number_behind(", run ", 10))};
}

// The rounds of the longest loop that has ended, or -1.
long longest_of(const std::vector<Choice>& choices) {
  long longest = -1;
  for (const Choice& each : choices)
    if (!each.goes_on) longest = std::max(longest, each.number);
  return longest;
}

// It may still end as others did.
bool is_undecided(const Choice& choice, long longest) { return choice.goes_on && choice.number <= longest; }

// Those that went the same way, the most first. Loops that are undecided are in none.
std::vector<std::vector<Choice>> ways_of(const std::vector<Choice>& choices) {
  constexpr long kOnward = std::numeric_limits<long>::max();
  const long longest = longest_of(choices);
  std::map<long, std::vector<Choice>> by_end;
  for (const Choice& each : choices) {
    if (!each.goes_on)
      by_end[each.number].push_back(each);
    else if (longest >= 0 && !is_undecided(each, longest))
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

struct Told {
  std::map<std::string_view, std::vector<Choice>> by_what;
  std::vector<std::string_view> in_order;  // as they came to them
};

Told choices_in(const std::vector<ToldSteps>& told) {
  Told result;
  for (const auto& [process, steps] : told)
    for (const StepEvidence& step : *steps) {
      if (!is_choice(step)) continue;
      std::vector<Choice>& same = result.by_what[step.what];
      if (same.empty()) result.in_order.push_back(step.what);
      same.push_back(choice_of(process, step));
    }
  return result;
}

}  // namespace

std::vector<Diagnosis> diverged_choices(const Positions& positions) {
  std::vector<ToldSteps> told;
  for (int p : positions.processes()) told.push_back({p, &positions.at(p).steps});
  const Told choices = choices_in(told);
  for (std::string_view what : choices.in_order)  // what follows from the first is none of its own
    if (auto ways = ways_of(choices.by_what.at(what)); ways.size() > 1) return {of_ways(positions, ways)};
  return {};
}

YetToChoose yet_to_choose(const std::vector<ToldSteps>& told, const std::function<bool(int process, const RunOnSet&)>& will_run) {
  const Told choices = choices_in(told);
  std::set<int> lacking;
  for (std::string_view what : choices.in_order) {
    const std::vector<Choice>& same = choices.by_what.at(what);
    auto lacks = [&](const ToldSteps& each) {
      auto own = std::find_if(same.begin(), same.end(), [&](const Choice& choice) { return choice.process == each.process; });
      if (own != same.end()) return is_undecided(*own, longest_of(same));
      const auto remembered = std::count_if(each.steps->begin(), each.steps->end(), is_choice);
      return std::size_t(remembered) < kChoicesRemembered && will_run(each.process, launch_of(what));
    };
    const bool part_ways = ways_of(same).size() > 1;
    if (part_ways) lacking.clear();
    for (const ToldSteps& each : told)
      if (lacks(each)) lacking.insert(each.process);
    if (part_ways) return {true, {lacking.begin(), lacking.end()}};
  }
  return {false, {lacking.begin(), lacking.end()}};
}

}  // namespace shardlab
