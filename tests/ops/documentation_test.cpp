// docs/ops.md is what the definitions say. SHARDLAB_UPDATE_DOCS=1 writes it anew.
#include "runtime/ops/documentation.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace shardlab {
namespace {

TEST(Documentation, OpTableIsUpToDate) {
  const char* source = std::getenv("SHARDLAB_SOURCE_DIR");
  std::string path = std::string(source ? source : ".") + "/docs/ops.md";
  if (std::getenv("SHARDLAB_UPDATE_DOCS")) std::ofstream(path) << op_table_markdown();
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_TRUE(text.str() == op_table_markdown())
      << "docs/ops.md differs from the definitions: run this test with SHARDLAB_UPDATE_DOCS=1 to write docs/ops.md anew";
}

}  // namespace
}  // namespace shardlab
