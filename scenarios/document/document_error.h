// What is wrong with a scenario document, and where: every error carries a JSON pointer.
#pragma once

#include <string>

#include "runtime/base/error.h"

namespace shardlab::scenarios {

// what() is `at "/program/3/op": unknown op 'sine'; did you mean 'sin'?`. The pointer of the whole document is "".
class DocumentError : public UserError {
 public:
  DocumentError(std::string pointer, const std::string& text)
      : UserError(fmt::format("at \"{}\": {}", pointer, text)), pointer_(std::move(pointer)), text_(text) {}
  const std::string& pointer() const { return pointer_; }
  // `at "/program/3/op", line 12: unknown op …`
  std::string text_at_line(int line) const { return fmt::format("at \"{}\", line {}: {}", pointer_, line, text_); }

 private:
  std::string pointer_, text_;
};

// A part of the format that this version does not run.
class NotSupportedError final : public DocumentError {
 public:
  NotSupportedError(std::string pointer, const std::string& text) : DocumentError(std::move(pointer), "not supported yet: " + text) {}
};

}  // namespace shardlab::scenarios
