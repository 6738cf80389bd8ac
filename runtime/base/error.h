// The error types of the project, and the check of invariants.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>

namespace shardlab {

// The base of every error thrown here. `what()` says what was asked, where, got and wanted, and what to try.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A user's mistake: bad shapes, shardings, arguments, documents.
class UserError : public Error {
 public:
  using Error::Error;
};

// A failure of the links between processes, or an abort that reached a waiter.
class TransportError : public Error {
 public:
  using Error::Error;
};

// A failure of files, databases, the operating system.
class IoError : public Error {
 public:
  using Error::Error;
};

// A broken invariant of our own.
class InternalError : public Error {
 public:
  using Error::Error;
};

template <typename... Args>
[[noreturn]] void throw_user_error(fmt::format_string<Args...> text, Args&&... args) {
  throw UserError(fmt::format(text, std::forward<Args>(args)...));
}

[[noreturn]] void check_failed(const char* condition, const char* file, int line, const std::string& message);

}  // namespace shardlab

// Checks an invariant, in release builds too: SL_CHECK(condition, "format", args…).
#define SL_CHECK(condition, ...)                                                             \
  do {                                                                                       \
    if (!(condition)) [[unlikely]]                                                           \
      ::shardlab::check_failed(#condition, __FILE__, __LINE__, fmt::format("" __VA_ARGS__)); \
  } while (false)
