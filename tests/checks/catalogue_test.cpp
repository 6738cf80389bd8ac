// docs/diagnoses.md is what the definitions say. SHARDLAB_UPDATE_GOLDEN=1 writes it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "traces/checks/check_def.h"

namespace shardlab {
namespace {

TEST(Catalogue, EveryCheckExplainsItself) {
  std::set<std::string_view> codes;
  for (auto checks : {all_checks(), all_remarks()})
    for (const CheckDef* check : checks) {
      EXPECT_TRUE(codes.insert(check->code).second) << check->code;
      EXPECT_GT(check->explain.size(), 100u) << check->code;
      EXPECT_FALSE(check->summary.empty()) << check->code;
      EXPECT_TRUE(check->run(Evidence{}).empty()) << check->code;
    }
}

TEST(Catalogue, DocumentIsMadeFromTheDefinitions) {
  const char* root = std::getenv("SHARDLAB_SOURCE_DIR");
  if (!root) GTEST_SKIP() << "SHARDLAB_SOURCE_DIR is not set";
  std::string path = std::string(root) + "/docs/diagnoses.md";
  if (std::getenv("SHARDLAB_UPDATE_GOLDEN")) std::ofstream(path) << diagnoses_markdown();
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), diagnoses_markdown()) << "run this test with SHARDLAB_UPDATE_GOLDEN=1";
}

}  // namespace
}  // namespace shardlab
