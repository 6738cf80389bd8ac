// How the columns of tables are written down.
#pragma once

#include "traces/schema.h"

namespace shardlab::traces::schema {

inline constexpr auto kText = ColumnType::kText;
inline constexpr auto kBlob = ColumnType::kBlob;
inline constexpr auto kInt = ColumnType::kInteger;

inline constexpr ColumnDef number(std::string_view name, std::string_view doc) { return {name, kInt, "", doc}; }
inline constexpr ColumnDef real_or_null(std::string_view name, std::string_view doc) { return {name, ColumnType::kReal, "", doc, true}; }
inline constexpr ColumnDef time(std::string_view name, std::string_view doc) { return {name, kInt, "ns", doc}; }
inline constexpr ColumnDef time_or_null(std::string_view name, std::string_view doc) { return {name, kInt, "ns", doc, true}; }
inline constexpr ColumnDef bytes(std::string_view name, std::string_view doc) { return {name, kInt, "bytes", doc}; }
inline constexpr ColumnDef id_of(std::string_view name, std::string_view unit, std::string_view doc) { return {name, kInt, unit, doc}; }
inline constexpr ColumnDef id_or_null(std::string_view name, std::string_view unit, std::string_view doc) {
  return {name, kInt, unit, doc, true};
}
inline constexpr ColumnDef word(std::string_view name, std::string_view doc) { return {name, kInt, "id of strings", doc}; }
inline constexpr ColumnDef text(std::string_view name, std::string_view doc) { return {name, kText, "", doc}; }
inline constexpr ColumnDef list(std::string_view name, std::string_view doc) { return {name, kText, "JSON", doc}; }

}  // namespace shardlab::traces::schema
