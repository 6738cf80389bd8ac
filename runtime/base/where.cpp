#include "runtime/base/where.h"

#include <fmt/format.h>

#include <mutex>
#include <set>

namespace shardlab {

const char* intern(std::string_view text) {
  static std::mutex mutex;
  static auto& texts = *new std::set<std::string, std::less<>>;  // read while exit() runs, too
  std::lock_guard lock(mutex);
  auto found = texts.find(text);
  if (found == texts.end()) found = texts.emplace(text).first;
  return found->c_str();
}

Where Where::at_statement(std::string_view scenario, std::string_view pointer, int statement) {
  return {intern(scenario), intern(pointer), 0, statement};
}

std::string_view base_name(std::string_view path) {
  auto slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string Where::text() const {
  if (statement >= 0) return fmt::format("statement {} ({})", statement, function);
  if (line == 0) return "unknown place";
  return fmt::format("{}:{}", base_name(file), line);
}

}  // namespace shardlab
