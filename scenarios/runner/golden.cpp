#include "scenarios/runner/golden.h"

#include <fmt/ranges.h>
#include <charconv>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/base/error.h"
#include "traces/database.h"

namespace shardlab::scenarios {
namespace {

using nlohmann::json;

constexpr std::string_view kDocumentKey = "scenario", kReportKey = "report";
constexpr double kTolerance = 1e-6;  // of float32 sums, as expectations have it

std::string meta(traces::Database& database, std::string_view key) {
  traces::Statement row(database, "SELECT value FROM meta WHERE key = ?");
  row.bind(key);
  return row.step() ? std::string(row.text(0)) : std::string();
}

class Comparison {
 public:
  void compare(const json& recorded, const json& now) {
    value("status", recorded.at("status"), now.at("status"));
    verdicts(recorded.at("diagnoses"), now.at("diagnoses"));
    arrays(recorded.at("arrays"), now.at("arrays"), !is_verdict(recorded) || !is_verdict(now));
    calls("collective", recorded.at("collectives"), now.at("collectives"),
          {"kind", "op", "axes", "bytes", "wire_bytes", "groups", "pairs"});
    calls("transfer", recorded.at("transfers"), now.at("transfers"), {"array", "bytes", "pairs"});
    value("wire_bytes", recorded.at("wire_bytes"), now.at("wire_bytes"));
  }
  std::vector<std::string> found;

 private:
  void value(const std::string& what, const json& recorded, const json& now) {
    if (recorded != now) found.push_back(fmt::format("{}: recorded {}, now {}", what, recorded.dump(), now.dump()));
  }

  static bool is_verdict(const json& report) {
    const json& told = report.at("diagnoses");
    return std::any_of(told.begin(), told.end(), [](const json& each) { return each.value("severity", "error") == "error"; });
  }

  void verdicts(const json& recorded, const json& now) {
    auto told = [](const json& diagnoses) {
      std::multiset<std::string> result;
      for (const json& each : diagnoses)
        if (each.value("severity", "error") == "error")
          result.insert(fmt::format("{} of {}", each.at("code").get<std::string>(), each.at("processes").dump()));
      return result;
    };
    both("verdict", told(recorded), told(now));
  }

  // What only one side has.
  void both(const std::string& what, const std::multiset<std::string>& recorded, const std::multiset<std::string>& now) {
    std::vector<std::string> gone, come;
    std::set_difference(recorded.begin(), recorded.end(), now.begin(), now.end(), std::back_inserter(gone));
    std::set_difference(now.begin(), now.end(), recorded.begin(), recorded.end(), std::back_inserter(come));
    for (const std::string& each : gone) found.push_back(fmt::format("{}: recorded {}, now none such", what, each));
    for (const std::string& each : come) found.push_back(fmt::format("{}: {}, which was not recorded", what, each));
  }

  // Not `all`: only what both have. A verdict ends a run wherever each process is by then, so that how far it came says nothing.
  void arrays(const json& recorded, const json& now, bool all) {
    std::set<std::string> names;
    for (const auto& [name, array] : recorded.items()) names.insert(name);
    for (const auto& [name, array] : now.items()) names.insert(name);
    for (const std::string& name : names) {
      if (!recorded.contains(name) || !now.contains(name)) {
        if (all) found.push_back(fmt::format("array {}: {}", name, now.contains(name) ? "was not recorded" : "is not there now"));
        continue;
      }
      array(fmt::format("array {}", name), recorded.at(name), now.at(name));
    }
  }

  void array(const std::string& what, const json& recorded, const json& now) {
    std::size_t before = found.size();
    value(what + ", shape", recorded.at("shape"), now.at("shape"));
    value(what + ", dtype", recorded.at("dtype"), now.at("dtype"));
    auto map = [](const json& shards) {
      std::map<int, json> result;
      for (const json& each : shards) result[each.at(0).get<int>()] = each.at(1);
      return result;
    };
    if (map(recorded.at("shards")) != map(now.at("shards")))
      found.push_back(fmt::format("{}, sharding: recorded {}, now {}", what, spec_text(recorded), spec_text(now)));
    if (found.size() > before) return;  // other values are no wonder
    for (const char* key : {"values", "sum", "abs_sum", "samples"}) {
      if (recorded.contains(key) != now.contains(key))
        found.push_back(fmt::format("{}, {}: {}", what, key, now.contains(key) ? "not recorded" : "not there now"));
      else if (recorded.contains(key))
        numbers(fmt::format("{}, {}", what, key), recorded.at(key), now.at(key));
    }
  }

  static std::string spec_text(const json& array) { return array.contains("spec") ? array.at("spec").dump() : std::string("one device"); }

  // The first that differs.
  void numbers(const std::string& what, const json& recorded, const json& now) {
    if (!recorded.is_array()) {
      if (!is_close(recorded, now)) value(what, recorded, now);
      return;
    }
    if (recorded.size() != now.size()) return value(what + ", count", recorded.size(), now.size());
    for (std::size_t i = 0; i < recorded.size(); ++i) {
      bool sample = recorded[i].is_array();  // [index, value]
      const json &a = sample ? recorded[i].at(1) : recorded[i], &b = sample ? now[i].at(1) : now[i];
      if (is_close(a, b)) continue;
      found.push_back(fmt::format("{}: element {} is {}, recorded {}", what, sample ? recorded[i].at(0).dump() : std::to_string(i),
                                  b.dump(), a.dump()));
      return;
    }
  }

  static bool is_close(const json& a, const json& b) {
    if (a == b) return true;
    if (!a.is_number_float() && !b.is_number_float()) return false;
    if (!a.is_number() || !b.is_number()) return false;
    double x = a.get<double>(), y = b.get<double>();
    return std::abs(x - y) <= kTolerance * std::max(std::abs(x), std::abs(y));
  }

  // By statement, in any order: which of two that nothing orders is told first says nothing.
  void calls(const std::string& what, const json& recorded, const json& now, const std::vector<const char*>& keys) {
    auto by_statement = [&](const json& list) {
      std::map<int, std::multiset<std::string>> result;
      for (const json& each : list) {
        json told = json::object();
        for (const char* key : keys) {
          if (!each.contains(key)) continue;
          told[key] = each.at(key);
          if (std::string_view(key) == "groups" || std::string_view(key) == "pairs") std::sort(told[key].begin(), told[key].end());
        }
        result[each.at("statement").get<int>()].insert(told.dump());
      }
      return result;
    };
    auto left = by_statement(recorded), right = by_statement(now);
    std::set<int> statements;
    for (const auto& [statement, calls] : left) statements.insert(statement);
    for (const auto& [statement, calls] : right) statements.insert(statement);
    for (int statement : statements) both(fmt::format("{} of statement {}", what, statement), left[statement], right[statement]);
  }
};

}  // namespace

bool is_trace(std::string_view path) { return path.ends_with(".db"); }

traces::StatementPlaces places_of(const Loaded& loaded) {
  traces::StatementPlaces places{loaded.source, 0, loaded.lines};
  const std::size_t colon = loaded.source.rfind(':');
  if (colon == std::string::npos || !std::string_view(loaded.source).substr(0, colon).ends_with(".jsonl")) return places;
  std::from_chars(loaded.source.data() + colon + 1, loaded.source.data() + loaded.source.size(), places.line);
  places.file.resize(colon);
  return places;
}

void keep_golden(const std::string& trace, const Loaded& loaded, const std::string& report) {
  traces::Database database(trace, traces::OpenMode::kUpdate);
  traces::Statement row(database, "INSERT OR REPLACE INTO meta(key, value) VALUES(?, ?)");
  row.run_with(kDocumentKey, loaded.text);
  row.run_with(kReportKey, report);
  row.run_with(traces::kStatementPlacesKey, json_of(places_of(loaded)));
}

Golden read_golden(const std::string& trace) {
  traces::Database database(trace, traces::OpenMode::kRead);
  std::string text = meta(database, kDocumentKey), report = meta(database, kReportKey);
  if (text.empty() || report.empty())
    throw_user_error(
        "{} was recorded from a program, not from a scenario, so there is nothing to replay; run the program again with --trace and "
        "compare the two with shardlab diff",
        trace);
  std::vector<Loaded> loaded = load_text(text, trace);
  SL_CHECK(loaded.size() == 1, "{} holds {} scenarios", trace, loaded.size());
  return {std::move(loaded.front()), std::move(report)};
}

std::vector<std::string> golden_differences(std::string_view recorded, std::string_view now) {
  Comparison comparison;
  try {
    comparison.compare(json::parse(recorded), json::parse(now));
  } catch (const json::exception& error) { throw IoError(fmt::format("a recorded report cannot be read: {}", error.what())); }
  return std::move(comparison.found);
}

std::string with_golden(std::string_view report, std::string_view status, const std::vector<std::string>& differences) {
  nlohmann::ordered_json result = nlohmann::ordered_json::parse(report);
  result["status"] = status;
  result["golden"] = differences;
  return result.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace shardlab::scenarios
