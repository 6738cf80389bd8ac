// Strangers and broken clients of a coordinator, each doing one random harmful thing, for tests that look whether a job survives them.
#pragma once

#include <random>
#include <span>
#include <string>
#include <string_view>

namespace shardlab::testing_ {

struct Target {
  std::string host = "127.0.0.1";
  int port = 0;
  std::string token;      // the right one
  int num_processes = 1;  // of the job
};

// One attack. It ends by itself within a few seconds and returns what went wrong with the coordinator in its sight, or nothing.
struct Attack {
  std::string_view name;
  std::string (*run)(const Target& target, std::mt19937_64& random);
};

std::span<const Attack> all_attacks();

}  // namespace shardlab::testing_
