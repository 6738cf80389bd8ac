#include "traces/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "runtime/base/error.h"
#include "runtime/base/where.h"

namespace shardlab::traces {
namespace {

template <typename T>
std::string dump(const T& values) {
  return nlohmann::json(values).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

template <typename T>
T parse(std::string_view json, std::string_view wanted) {
  if (json.empty()) return {};
  try {
    return nlohmann::json::parse(json).get<T>();
  } catch (const nlohmann::json::exception&) {
    throw IoError(fmt::format("trace: wanted {} as JSON, got '{}'", wanted, json.substr(0, 80)));
  }
}

}  // namespace

std::string SiteRow::text() const {
  if (statement >= 0) return fmt::format("statement {} ({})", statement, pointer);
  if (line == 0) return "unknown place";
  return fmt::format("{}:{}", base_name(file), line);
}

std::string json_list(const std::vector<int>& values) { return dump(values); }
std::string json_list(const std::vector<std::int64_t>& values) { return dump(values); }
std::string json_list(const std::vector<std::string>& values) { return dump(values); }
std::string json_list(const std::vector<std::vector<int>>& values) { return dump(values); }
std::string json_list(const std::vector<std::pair<int, int>>& values) { return dump(values); }

std::vector<int> parse_int_list(std::string_view json) { return parse<std::vector<int>>(json, "a list of integers"); }
std::vector<std::int64_t> parse_int64_list(std::string_view json) { return parse<std::vector<std::int64_t>>(json, "a list of integers"); }
std::vector<std::string> parse_text_list(std::string_view json) { return parse<std::vector<std::string>>(json, "a list of texts"); }
std::vector<std::vector<int>> parse_int_lists(std::string_view json) {
  return parse<std::vector<std::vector<int>>>(json, "a list of lists of integers");
}

std::int64_t element_bytes_of(std::string_view dtype) {
  const auto digits = dtype.find_first_of("0123456789");
  std::int64_t bits = 8;
  if (digits != std::string_view::npos) std::from_chars(dtype.data() + digits, dtype.data() + dtype.size(), bits);
  return std::max<std::int64_t>(bits / 8, 1);
}

std::vector<int> devices_of(const CollectiveShape& what) {
  std::vector<int> devices;
  auto lists = parse_int_lists(what.groups);
  if (lists.empty()) lists = parse_int_lists(what.pairs);
  for (const auto& list : lists) devices.insert(devices.end(), list.begin(), list.end());
  std::sort(devices.begin(), devices.end());
  devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
  return devices;
}

}  // namespace shardlab::traces
