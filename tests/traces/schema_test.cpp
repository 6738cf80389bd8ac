// The schema: valid SQL, every column documented, the documentation in step.
#include "traces/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "traces/database.h"

namespace shardlab::traces {
namespace {

std::string document_path() {
  const char* root = std::getenv("SHARDLAB_SOURCE_DIR");
  return std::string(root ? root : ".") + "/docs/trace-schema.md";
}

class SchemaTest : public ::testing::TestWithParam<const Schema*> {};
INSTANTIATE_TEST_SUITE_P(Both, SchemaTest, ::testing::Values(&trace_schema(), &part_schema()),
                         [](const auto& instance) { return instance.param == &trace_schema() ? "trace" : "part"; });

TEST_P(SchemaTest, IsValidSql) {
  Database database(":memory:", OpenMode::kCreate);
  database.execute(create_schema_sql(*GetParam()));
  for (const auto& table : GetParam()->tables) {
    Statement insert(database, insert_sql(table));
    EXPECT_EQ(Statement(database, "SELECT * FROM " + std::string(table.name)).column_count(), int(table.columns.size()));
  }
  for (const auto& view : GetParam()->views) EXPECT_FALSE(Statement(database, "SELECT * FROM " + std::string(view.name)).step());
}

TEST_P(SchemaTest, EveryColumnSaysWhatItIs) {
  std::set<std::string_view> names;
  for (const auto& table : GetParam()->tables) {
    EXPECT_TRUE(names.insert(table.name).second) << table.name;
    EXPECT_FALSE(table.doc.empty());
    for (const auto& column : table.columns) {
      EXPECT_FALSE(column.doc.empty()) << table.name << "." << column.name;
      EXPECT_EQ(column.name.ends_with("_ns"), column.unit == "ns") << table.name << "." << column.name;
      if (column.unit.starts_with("code of ")) { EXPECT_NE(enum_name(column.unit.substr(8), 0), "?0") << column.unit; }
    }
  }
}

TEST(Schema, DocumentationIsInStep) {
  if (std::getenv("SHARDLAB_UPDATE_GOLDENS")) std::ofstream(document_path()) << schema_markdown();
  std::ifstream in(document_path());
  std::stringstream text;
  text << in.rdbuf();
  EXPECT_EQ(text.str(), schema_markdown()) << "run this test with SHARDLAB_UPDATE_GOLDENS=1";
}

}  // namespace
}  // namespace shardlab::traces
