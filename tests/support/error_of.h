// The text of the error that a piece of code ends in.
#pragma once

#include <functional>
#include <string>

#include "runtime/base/error.h"

namespace shardlab {

// Of a UserError; "no error" where there is none.
inline std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const UserError& error) { return error.what(); }
  return "no error";
}

}  // namespace shardlab
