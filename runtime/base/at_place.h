// Gives a user's mistake the place of the call in which it was found.
#pragma once

#include <typeinfo>

#include "runtime/base/error.h"
#include "runtime/base/where.h"

namespace shardlab {

// What body() gives. A UserError that does not name the place gets it at its end: "… [toy.cpp:31]".
template <typename Body>
decltype(auto) at_place(Where where, Body&& body) {
  try {
    return body();
  } catch (const UserError& error) {
    const std::string text = error.what(), place = where.text();
    if (typeid(error) != typeid(UserError) || !where.known() || text.find(place) != std::string::npos) throw;
    throw UserError(fmt::format("{} [{}]", text, place));
  }
}

}  // namespace shardlab
