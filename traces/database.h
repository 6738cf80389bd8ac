// SQLite with ownership: connections, statements, transactions; every failure is an IoError that names the file.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/error.h"

struct sqlite3;
struct sqlite3_stmt;

namespace shardlab::traces {

class Database;

// The file itself is damaged, as opposed to missing or refused: SQLITE_CORRUPT, SQLITE_NOTADB.
class CorruptFile : public IoError {
 public:
  using IoError::IoError;
};

// A prepared statement. One thread at a time; not beyond its database.
class Statement {
 public:
  Statement(Database& database, std::string_view sql);

  // Binds the values in order from the first mark. Text and blobs must live until the next step.
  template <typename... Values>
  Statement& bind(const Values&... values) {
    int index = 0;
    (bind_one(++index, values), ...);
    return *this;
  }
  // True while there is a row. Throws IoError, CorruptFile.
  bool step();
  // Steps to the end and resets, ready for the next bind.
  void run();
  template <typename... Values>
  void run_with(const Values&... values) {
    bind(values...);
    run();
  }
  void reset();

  std::int64_t integer(int column) const;
  double real(int column) const;
  std::string_view text(int column) const;  // until the next step
  std::span<const std::byte> blob(int column) const;
  bool is_null(int column) const;
  int column_count() const;
  std::string_view column_name(int column) const;

  void bind_one(int index, std::int64_t value);
  void bind_one(int index, int value) { bind_one(index, std::int64_t(value)); }
  void bind_one(int index, bool value) { bind_one(index, std::int64_t(value)); }
  void bind_one(int index, double value);  // NaN: NULL
  void bind_one(int index, std::string_view value);
  void bind_one(int index, const std::string& value) { bind_one(index, std::string_view(value)); }
  void bind_one(int index, const char* value) { bind_one(index, std::string_view(value)); }
  void bind_one(int index, std::span<const std::byte> value);
  void bind_one(int index, std::nullptr_t);

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  Database* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

enum class OpenMode : std::uint8_t {
  kRead,     // read-only, query_only, memory-mapped
  kReadCut,  // the same for a file that is shorter than its header says
  kCreate,   // a new file; an old one of that name is removed
  kUpdate,   // read and write an existing file
};

// One connection. One thread at a time.
class Database {
 public:
  // Throws IoError where the file cannot be opened or made; CorruptFile where it is not SQLite's.
  Database(std::string path, OpenMode mode);

  void execute(const std::string& sql);
  // The first column of the first row; `fallback` where there is no row.
  std::int64_t integer(std::string_view sql, std::int64_t fallback = 0);
  const std::string& path() const { return path_; }
  sqlite3* handle() const { return handle_.get(); }
  // Throws the IoError (or CorruptFile) of SQLite's last error.
  [[noreturn]] void fail(std::string_view doing) const;

 private:
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  std::string path_;
  std::unique_ptr<sqlite3, Close> handle_;
};

// While it lives, the file does not change under who reads it.
class ReadTransaction {
 public:
  explicit ReadTransaction(Database& database);
  ~ReadTransaction();
  ReadTransaction(const ReadTransaction&) = delete;
  ReadTransaction& operator=(const ReadTransaction&) = delete;

 private:
  Database& database_;
};

// BEGIN … COMMIT; rolls back where commit() was not reached.
class Transaction {
 public:
  explicit Transaction(Database& database);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Database& database_;
  bool open_ = true;
};

}  // namespace shardlab::traces
