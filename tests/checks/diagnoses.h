// What the tests of diagnoses have in common.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "traces/checks/check_def.h"
#include "traces/checks/evidence.h"

namespace shardlab::testing_ {

inline Diagnosis only(const Evidence& evidence) {
  std::vector<Diagnosis> found = judge(evidence);
  EXPECT_EQ(found.size(), 1u);
  return found.empty() ? Diagnosis{} : found.front();
}

inline std::string detail(const Diagnosis& diagnosis, const std::string& name) {
  for (const auto& [key, value] : diagnosis.details)
    if (key == name) return value;
  return "(none)";
}

inline std::vector<int> participants(const Diagnosis& diagnosis) {
  std::vector<int> processes;
  for (const Participant& side : diagnosis.participants) processes.push_back(side.process);
  return processes;
}

}  // namespace shardlab::testing_
