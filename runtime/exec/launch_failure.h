// What a launch failed with: the first cause, with the line that issued it, for whoever uses its results or what was made of them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/base/where.h"

namespace shardlab {

// Immutable but for whether somebody was told. Launches that depend on a failed one share its failure, so the cause is named once.
class LaunchFailure {
 public:
  // Of the exception being handled, while `launch` ran, which was issued at `where`.
  static std::shared_ptr<LaunchFailure> caught(std::string launch, Where where);
  // In place of the one being handled: the memory was not enough for `bytes` of results in this process.
  static std::shared_ptr<LaunchFailure> out_of_memory(std::string launch, Where where, std::int64_t bytes);

  // Because of the other processes: the verdict says more.
  bool is_transport() const { return kind_ == Kind::kTransport; }
  // "the cause [sin at toy.cpp:12]".
  std::string text() const;
  Where where() const { return where_; }
  // Throws it as what it was. `what` at `use` is the first use, of an array that was issued at `made`.
  [[noreturn]] void raise(std::string_view what, Where use, Where made);
  // Where nobody did until the end; `more` others were not told of either.
  [[noreturn]] void raise_unused(std::size_t more);
  bool told() const { return told_; }

 private:
  enum class Kind { kOther, kUser, kTransport, kIo, kInternal };
  LaunchFailure(Kind kind, std::string cause, std::string launch, Where where)
      : kind_(kind), cause_(std::move(cause)), launch_(std::move(launch)), where_(where) {}
  [[noreturn]] void throw_with(const std::string& places);
  std::string issued() const;

  const Kind kind_;
  const std::string cause_, launch_;
  const Where where_;
  std::atomic<bool> told_ = false;
};

}  // namespace shardlab
