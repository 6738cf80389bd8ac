#include "traces/schema.h"

#include <fmt/format.h>

namespace shardlab::traces {
namespace {

std::string quoted(std::string_view text) {
  std::string out = "'";
  for (char c : text) {
    if (c == '\'') out += '\'';
    out += c;
  }
  return out + "'";
}

std::string column_names(const TableDef& table) {
  std::string names;
  for (const auto& column : table.columns) names += fmt::format("{}{}", names.empty() ? "" : ", ", column.name);
  return names;
}

void append_table_markdown(std::string& out, const TableDef& table) {
  out += fmt::format("\n### `{}`\n\n{}\n\nPrimary key: `{}`{}.\n", table.name, table.doc, table.primary_key,
                     table.without_rowid ? " (`WITHOUT ROWID`: rows lie in this order)" : "");
  if (table.since > 0) out += fmt::format("Since version {}.\n", table.since);
  out += "\n| column | type | unit | meaning |\n|---|---|---|---|\n";
  for (const auto& column : table.columns)
    out += fmt::format("| `{}` | {}{} | {} | {} |\n", column.name, column_type_name(column.type), column.nullable ? ", or NULL" : "",
                       column.unit, column.doc);
}

void append_schema_markdown(std::string& out, const Schema& schema) {
  for (const auto& table : schema.tables) append_table_markdown(out, table);
  for (const auto& definition : schema.enums) {
    out += fmt::format("\n### `{}`\n\n{}\n\n| code | name | meaning |\n|---|---|---|\n", definition.name, definition.doc);
    for (const auto& value : definition.values) out += fmt::format("| {} | {} | {} |\n", value.code, value.name, value.doc);
  }
  for (const auto& view : schema.views)
    out += fmt::format("\n### `{}` (view)\n\n{}\n\n```sql\n{}\n```\n", view.name, view.doc, view.select);
}

}  // namespace

const TableDef* Schema::table(std::string_view name) const {
  for (const auto& table : tables)
    if (table.name == name) return &table;
  return nullptr;
}

std::string_view column_type_name(ColumnType type) {
  switch (type) {
    case ColumnType::kInteger:
      return "INTEGER";
    case ColumnType::kReal:
      return "REAL";
    case ColumnType::kText:
      return "TEXT";
    case ColumnType::kBlob:
      break;
  }
  return "BLOB";
}

std::string create_table_sql(const TableDef& table) {
  // A single INTEGER key is SQLite's rowid only in this exact form.
  const bool rowid_key = !table.without_rowid && table.primary_key.find(',') == std::string_view::npos;
  std::string sql = fmt::format("CREATE TABLE {} (  -- {}\n", table.name, table.doc);
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const auto& column = table.columns[i];
    const bool is_key = rowid_key && column.name == table.primary_key;
    const bool last = i + 1 == table.columns.size() && rowid_key;
    sql += fmt::format("  {} {}{}{}  -- {}{}{}\n", column.name, column_type_name(column.type),
                       is_key            ? " PRIMARY KEY"
                       : column.nullable ? ""
                                         : " NOT NULL",
                       last ? "" : ",", column.unit, column.unit.empty() ? "" : ": ", column.doc);
  }
  if (!rowid_key) sql += fmt::format("  PRIMARY KEY ({})\n", table.primary_key);
  return sql + (table.without_rowid ? ") WITHOUT ROWID;\n" : ");\n");
}

std::string create_schema_sql(const Schema& schema) {
  std::string sql;
  for (const auto& table : schema.tables) sql += create_table_sql(table);
  for (const auto& definition : schema.enums) {
    sql += fmt::format("CREATE TABLE {} (code INTEGER PRIMARY KEY, name TEXT NOT NULL, doc TEXT NOT NULL);  -- {}\n", definition.name,
                       definition.doc);
    for (const auto& value : definition.values)
      sql += fmt::format("INSERT INTO {} VALUES ({}, {}, {});\n", definition.name, value.code, quoted(value.name), quoted(value.doc));
  }
  for (const auto& view : schema.views) sql += fmt::format("CREATE VIEW {} AS {};\n", view.name, view.select);
  return sql;
}

std::string insert_sql(const TableDef& table) {
  std::string marks;
  for (std::size_t i = 0; i < table.columns.size(); ++i) marks += i == 0 ? "?" : ", ?";
  return fmt::format("INSERT INTO {}({}) VALUES({})", table.name, column_names(table), marks);
}

std::string schema_markdown() {
  std::string out = fmt::format(
      "# The trace\n\nGenerated from `traces/schema_tables.cpp`; `tests/traces` compares. Schema version {}.\n\n"
      "A trace is one SQLite file. Times are integer nanoseconds in columns that end in `_ns`, of the clock that `meta` names\n"
      "under `clock_domain`; NULL is a time that was never reached. Lists are JSON text. An id of `strings` or `sites` is 0 where\n"
      "there is none. Whatever was lost is a row of `dropped` or `import_log`, never silence.\n\n## {}\n",
      kSchemaVersion, trace_schema().title);
  append_schema_markdown(out, trace_schema());
  out += fmt::format("\n## {}\n", part_schema().title);
  append_schema_markdown(out, part_schema());
  return out;
}

std::string enum_name(std::string_view enum_table, int code) {
  for (const auto& definition : trace_schema().enums)
    if (definition.name == enum_table)
      for (const auto& value : definition.values)
        if (value.code == code) return std::string(value.name);
  return fmt::format("?{}", code);
}

}  // namespace shardlab::traces
