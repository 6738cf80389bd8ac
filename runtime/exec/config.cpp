#include "runtime/exec/config.h"

#include <cstdlib>
#include <string>
#include <vector>

#include "runtime/base/text.h"
#include "runtime/exec/checksums.h"
#include "runtime/exec/context.h"

namespace shardlab {
namespace {

struct FlagDef {
  std::string_view name;
  const char* variable;
  bool RunConfig::*member;
};

constexpr FlagDef kFlags[] = {{"enable_x64", "SHARDLAB_ENABLE_X64", &Config::enable_x64},
                              {"threefry_partitionable", "SHARDLAB_THREEFRY_PARTITIONABLE", &Config::threefry_partitionable},
                              {"debug_nans", "SHARDLAB_DEBUG_NANS", &RunConfig::debug_nans},
                              {"debug_infs", "SHARDLAB_DEBUG_INFS", &RunConfig::debug_infs}};

const FlagDef& flag_named(std::string_view name) {
  std::string_view bare = name.starts_with("jax_") ? name.substr(4) : name;
  std::vector<std::string_view> known;
  for (const FlagDef& flag : kFlags) {
    if (flag.name == bare) return flag;
    known.push_back(flag.name);
  }
  throw_user_error("config has no flag '{}'{}", name, did_you_mean(bare, known));
}

bool flag_in_environment(const char* variable, bool otherwise) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return otherwise;
  std::string_view value = text;
  if (value != "0" && value != "1" && value != "false" && value != "true")
    throw_user_error("{} is '{}', wanted 0, 1, false or true", variable, value);
  return value == "1" || value == "true";
}

}  // namespace

RunConfig config_from_environment() {
  RunConfig config;
  for (const FlagDef& flag : kFlags) config.*flag.member = flag_in_environment(flag.variable, config.*flag.member);
  return config;
}

bool checksums_from_environment() { return flag_in_environment(kChecksumsVariable, false); }

namespace config {

void update(std::string_view name, bool value) {
  const FlagDef& flag = flag_named(name);
  Context& context = Context::current();
  RunConfig changed = context.config();
  changed.*flag.member = value;
  context.set_config(changed);
}

bool value(std::string_view name) { return Context::current().config().*flag_named(name).member; }

}  // namespace config
}  // namespace shardlab
