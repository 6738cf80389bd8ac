#include "scenarios/runner/shrink.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "scenarios/runner/simulate.h"
#include "scenarios/simulate/explore.h"

namespace shardlab::scenarios {
namespace {

using nlohmann::json;

struct Verdict {
  Diagnosis diagnosis;
  std::vector<simulate::ThreadId> choices;  // empty: in the order of processes
};

class Shrinker {
 public:
  explicit Shrinker(json document) : document_(std::move(document)) {
    document_["cluster"]["run"] = "simulated";
    document_.erase("expect");
    document_.erase("matrix");
    document_.erase("sweep");
  }

  std::optional<Shrunk> run() {
    std::optional<Verdict> first = verdict(document_);
    if (!first) return std::nullopt;
    code_ = first->diagnosis.code;
    bool smaller = true;
    while (smaller) {
      smaller = false;
      smaller |= shrink_list(json::json_pointer("/faults"));
      for (const json::json_pointer& body : bodies()) smaller |= shrink_list(body);
      smaller |= shrink_counts();
      smaller |= drop_unused("meshes") | drop_unused("functions");
      smaller |= shrink_cluster("processes") | shrink_cluster("devices");
    }
    return finished();
  }

 private:
  std::optional<Verdict> verdict(const json& candidate) {
    ++runs_;
    std::vector<Loaded> loaded = load_text(candidate.dump(), "shrink");
    if (loaded.size() != 1 || !loaded[0].error.empty()) return std::nullopt;
    const Document& document = *loaded[0].document;
    PlannedCluster planned = plan_cluster(document);
    auto make = [&] { return std::make_unique<simulate::Simulation>(planned.plans, simulation_options(document)); };
    simulate::Exploration found = simulate::explore(make, explore_options(document));
    const auto& diagnoses = found.diagnoses.empty() ? found.run->diagnoses() : found.diagnoses;
    auto error = std::find_if(diagnoses.begin(), diagnoses.end(), [](const Diagnosis& each) { return each.severity == "error"; });
    if (error == diagnoses.end()) return std::nullopt;
    return Verdict{*error, found.first_run_ended ? found.choices : std::vector<simulate::ThreadId>()};
  }

  bool accept(const json& candidate) {
    std::optional<Verdict> seen = verdict(candidate);
    if (!seen || seen->diagnosis.code != code_) return false;
    document_ = candidate;
    return true;
  }

  // Pointers to all lists of statements, the inner ones too.
  std::vector<json::json_pointer> bodies() const {
    std::vector<json::json_pointer> found;
    std::function<void(const json&, const json::json_pointer&)> visit = [&](const json& list, const json::json_pointer& at) {
      found.push_back(at);
      for (std::size_t i = 0; i < list.size(); ++i)
        if (list[i].contains("body")) visit(list[i]["body"], at / i / "body");
    };
    visit(document_["program"], json::json_pointer("/program"));
    if (document_.contains("functions"))
      for (const auto& [name, function] : document_["functions"].items())
        visit(function["body"], json::json_pointer("/functions") / name / "body");
    return found;
  }

  bool shrink_list(const json::json_pointer& at) {
    bool smaller = false;
    if (!document_.contains(at)) return false;
    for (std::size_t block = std::max<std::size_t>(document_[at].size() / 2, 1); block >= 1; block /= 2)
      for (std::size_t i = 0; document_.contains(at) && i + block <= document_[at].size();) {
        json candidate = document_;
        json& list = candidate[at];
        list.erase(list.begin() + std::ptrdiff_t(i), list.begin() + std::ptrdiff_t(i + block));
        renumber_faults(candidate, at, i, block);
        if (accept(candidate))
          smaller = true;
        else
          i += block;
      }
    return smaller;
  }

  // Faults name statements of the program by number.
  static void renumber_faults(json& candidate, const json::json_pointer& at, std::size_t removed, std::size_t count) {
    if (at.to_string() != "/program" || !candidate.contains("faults")) return;
    for (json& fault : candidate["faults"])
      if (fault["at"].is_number_integer() && fault["at"].get<std::size_t>() >= removed + count)
        fault["at"] = fault["at"].get<std::size_t>() - count;
  }

  bool shrink_counts() {
    bool smaller = false;
    for (const json::json_pointer& body : bodies())
      for (std::size_t i = 0; i < document_[body].size(); ++i) {
        json::json_pointer at = body / i / "repeat";
        for (std::int64_t count : {1, 2, 3}) {
          if (!document_.contains(at) || document_[at].get<std::int64_t>() <= count) break;
          json candidate = document_;
          candidate[at] = count;
          if (accept(candidate)) smaller = true;
        }
      }
    return smaller;
  }

  bool drop_unused(const char* section) {
    if (!document_.contains(section)) return false;
    std::vector<std::string> names;
    for (const auto& [name, value] : document_[section].items()) names.push_back(name);
    bool smaller = false;
    for (const std::string& name : names) {
      json candidate = document_;
      candidate[section].erase(name);
      smaller |= accept(candidate);
    }
    return smaller;
  }

  bool shrink_cluster(const char* key) {
    std::int64_t count = document_["cluster"].value(key, 1);
    for (std::int64_t fewer = 1; fewer < count; ++fewer) {
      json candidate = document_;
      candidate["cluster"][key] = fewer;
      if (std::string_view(key) == "processes") leave_out_processes(candidate, fewer);
      if (accept(candidate)) return true;
    }
    return false;
  }

  // Lists of processes without those that are no more; what was theirs alone goes.
  static void leave_out_processes(json& node, std::int64_t processes) {
    if (node.is_array()) {
      for (std::size_t i = node.size(); i-- > 0;) {
        if (node[i].is_object() && node[i].contains("on") && !keeps_any(node[i]["on"], processes)) {
          node.erase(node.begin() + std::ptrdiff_t(i));
          continue;
        }
        leave_out_processes(node[i], processes);
      }
      return;
    }
    if (!node.is_object()) return;
    for (auto& [key, value] : node.items()) {
      if (key == "processes" && value.is_array()) {
        json kept = json::array();
        for (const json& each : value)
          if (each.get<std::int64_t>() < processes) kept.push_back(each);
        value = kept;
      } else {
        leave_out_processes(value, processes);
      }
    }
  }
  static bool keeps_any(const json& on, std::int64_t processes) {
    return std::any_of(on["processes"].begin(), on["processes"].end(),
                       [&](const json& each) { return each.get<std::int64_t>() < processes; });
  }

  Shrunk finished() {
    Verdict last = *verdict(document_);
    document_.erase("schedules");
    if (!last.choices.empty()) {
      json choices = json::array();
      for (simulate::ThreadId each : last.choices) choices.push_back(text_of(each));
      document_["schedules"] = {{"policy", "replay"}, {"choices", choices}};
    }
    json expected = {{"diagnosis", last.diagnosis.code}, {"processes", last.diagnosis.processes}};
    for (const Participant& side : last.diagnosis.participants)
      if (side.statement >= 0 && !expected.contains("statement")) expected["statement"] = side.statement;
    document_["expect"] = json::array({expected});
    document_["name"] = document_.value("name", "scenario") + ", shrunk";
    return {document_.dump(2), last.diagnosis.code, runs_};
  }

  json document_;
  std::string code_;
  int runs_ = 0;
};

}  // namespace

std::optional<Shrunk> shrink(const Loaded& loaded) { return Shrinker(json::parse(loaded.text)).run(); }

}  // namespace shardlab::scenarios
