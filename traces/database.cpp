#include "traces/database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace shardlab::traces {
namespace {

constexpr int kBusyTimeoutMs = 5000;
constexpr std::int64_t kMappedBytesMax = std::int64_t(1) << 36;

void remove_old(const std::string& path) {
  for (const char* suffix : {"", "-wal", "-shm", "-journal"})
    if (std::remove((path + suffix).c_str()) != 0 && errno != ENOENT)
      throw IoError(fmt::format("{}{}: cannot replace it: {}", path, suffix, std::strerror(errno)));
}

}  // namespace

void Database::Close::operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Database::Database(std::string path, OpenMode mode) : path_(std::move(path)) {
  if (mode == OpenMode::kCreate) remove_old(path_);
  const bool read_only = mode == OpenMode::kRead || mode == OpenMode::kReadCut;
  const int flags = read_only                   ? SQLITE_OPEN_READONLY
                    : mode == OpenMode::kCreate ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
                                                : SQLITE_OPEN_READWRITE;
  if (mode != OpenMode::kCreate && !std::filesystem::exists(path_)) throw IoError(fmt::format("{}: there is no such file", path_));
  sqlite3* handle = nullptr;
  const int status = sqlite3_open_v2(path_.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  handle_.reset(handle);
  if (status != SQLITE_OK) fail("open");
  sqlite3_busy_timeout(handle, kBusyTimeoutMs);
  // SQLite refuses such a file unless it is told that the schema may be repaired; we only read.
  if (mode == OpenMode::kReadCut) execute("PRAGMA writable_schema = 1");
  if (read_only) {
    execute(fmt::format("PRAGMA query_only = 1; PRAGMA mmap_size = {}; PRAGMA cache_size = -16384", kMappedBytesMax));
  } else {
    execute("PRAGMA temp_store = MEMORY");
  }
}

void Database::fail(std::string_view doing) const {
  const int code = handle_ ? sqlite3_errcode(handle_.get()) : SQLITE_NOMEM;
  const std::string text = fmt::format("{}: cannot {}: {}", path_, doing, handle_ ? sqlite3_errmsg(handle_.get()) : "out of memory");
  if (code == SQLITE_NOTADB) throw CorruptFile(text + "; it is not an SQLite file");
  if (code == SQLITE_CORRUPT) throw CorruptFile(text + "; the file is damaged or cut off");
  throw IoError(text);
}

void Database::execute(const std::string& sql) {
  if (sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail(fmt::format("run '{}'", sql.substr(0, 60)));
}

std::int64_t Database::integer(std::string_view sql, std::int64_t fallback) {
  Statement statement(*this, sql);
  return statement.step() ? statement.integer(0) : fallback;
}

Statement::Statement(Database& database, std::string_view sql) : database_(&database) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v3(database.handle(), sql.data(), int(sql.size()), SQLITE_PREPARE_PERSISTENT, &statement, nullptr) != SQLITE_OK)
    database.fail(fmt::format("run '{}'", sql.substr(0, 60)));
  statement_.reset(statement);
}

bool Statement::step() {
  const int status = sqlite3_step(statement_.get());
  if (status == SQLITE_ROW) return true;
  if (status == SQLITE_DONE) return false;
  sqlite3_reset(statement_.get());
  database_->fail("read or write rows");
}

void Statement::run() {
  while (step()) {}
  reset();
}

void Statement::reset() { sqlite3_reset(statement_.get()); }

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }
double Statement::real(int column) const { return sqlite3_column_double(statement_.get(), column); }
std::string_view Statement::text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  return text ? std::string_view(text, std::size_t(sqlite3_column_bytes(statement_.get(), column))) : std::string_view();
}
std::span<const std::byte> Statement::blob(int column) const {
  const auto* data = static_cast<const std::byte*>(sqlite3_column_blob(statement_.get(), column));
  return data ? std::span(data, std::size_t(sqlite3_column_bytes(statement_.get(), column))) : std::span<const std::byte>();
}
bool Statement::is_null(int column) const { return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL; }
int Statement::column_count() const { return sqlite3_column_count(statement_.get()); }
std::string_view Statement::column_name(int column) const { return sqlite3_column_name(statement_.get(), column); }

void Statement::bind_one(int index, std::int64_t value) {
  if (sqlite3_bind_int64(statement_.get(), index, value) != SQLITE_OK) database_->fail("bind");
}
void Statement::bind_one(int index, double value) {
  if (sqlite3_bind_double(statement_.get(), index, value) != SQLITE_OK) database_->fail("bind");
}
void Statement::bind_one(int index, std::string_view value) {
  const char* data = value.empty() ? "" : value.data();
  if (sqlite3_bind_text64(statement_.get(), index, data, value.size(), SQLITE_STATIC, SQLITE_UTF8) != SQLITE_OK) database_->fail("bind");
}
void Statement::bind_one(int index, std::span<const std::byte> value) {
  static const std::byte kNothing{};
  const std::byte* data = value.empty() ? &kNothing : value.data();
  if (sqlite3_bind_blob64(statement_.get(), index, data, value.size(), SQLITE_STATIC) != SQLITE_OK) database_->fail("bind");
}
void Statement::bind_one(int index, std::nullptr_t) {
  if (sqlite3_bind_null(statement_.get(), index) != SQLITE_OK) database_->fail("bind");
}

ReadTransaction::ReadTransaction(Database& database) : database_(database) {
  database_.execute("BEGIN");
  database_.integer("SELECT count(*) FROM sqlite_schema");  // BEGIN alone takes no lock
}
ReadTransaction::~ReadTransaction() { sqlite3_exec(database_.handle(), "COMMIT", nullptr, nullptr, nullptr); }

Transaction::Transaction(Database& database) : database_(database) { database_.execute("BEGIN IMMEDIATE"); }
Transaction::~Transaction() {
  if (open_) sqlite3_exec(database_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}
void Transaction::commit() {
  database_.execute("COMMIT");
  open_ = false;
}

}  // namespace shardlab::traces
