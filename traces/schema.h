// The trace's schema as data: from this one definition come CREATE TABLE, docs/trace-schema.md and the check of a file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace shardlab::traces {

// Older files are read. 1: when arrays end, and what programs hold between their steps. 2: checksums of values, and the calls above
// launches. 3: which arrays launches took and gave.
constexpr int kSchemaVersion = 3;
// SQLite's application_id of a trace ("SLtr") and of one process's part ("SLpt").
constexpr std::int32_t kTraceApplicationId = 0x534c7472;
constexpr std::int32_t kPartApplicationId = 0x534c7074;

enum class ColumnType : std::uint8_t { kInteger, kReal, kText, kBlob };

struct ColumnDef {
  std::string_view name;
  ColumnType type = ColumnType::kInteger;
  std::string_view unit;  // "ns", "bytes", "id of strings", "code of call_status", …; "" for a plain number or text
  std::string_view doc;   // one sentence
  bool nullable = false;
};

struct TableDef {
  std::string_view name;
  std::string_view doc;
  std::span<const ColumnDef> columns;
  std::string_view primary_key;  // its columns, comma separated
  bool without_rowid = false;
  int since = 0;  // the schema's version
};

struct EnumValue {
  int code = 0;
  std::string_view name;
  std::string_view doc;
};

// Stored as a table (code, name, doc), so that a query needs no other source.
struct EnumDef {
  std::string_view name;
  std::string_view doc;
  std::span<const EnumValue> values;
};

// A query that people want, with ids resolved to text.
struct SqlViewDef {
  std::string_view name;
  std::string_view doc;
  std::string_view select;
};

struct Schema {
  std::string_view title;
  std::int32_t application_id = 0;
  std::span<const TableDef> tables;
  std::span<const EnumDef> enums;
  std::span<const SqlViewDef> views;
  // Null where there is none.
  const TableDef* table(std::string_view name) const;
};

// The merged trace, and what one process writes while it runs.
const Schema& trace_schema();
const Schema& part_schema();

std::string_view column_type_name(ColumnType type);

// One CREATE TABLE with the documentation as comments, which SQLite keeps.
std::string create_table_sql(const TableDef& table);
// Everything a new file needs: tables, enum tables with their rows, indexes, views.
std::string create_schema_sql(const Schema& schema);
// "INSERT INTO t(a, b) VALUES(?, ?)".
std::string insert_sql(const TableDef& table);

// The text of docs/trace-schema.md.
std::string schema_markdown();

// The name of a code ("waiting"), or "?" and the code where the enum has none.
std::string enum_name(std::string_view enum_table, int code);

}  // namespace shardlab::traces
