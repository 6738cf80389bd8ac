#include "runtime/control/job_token.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>

#include "runtime/base/error.h"

namespace shardlab::control {

std::string random_token() {
  std::uint64_t words[2];
  if (getentropy(words, sizeof words) != 0) throw IoError("no random bytes for the job's token");
  return fmt::format("{:016x}{:016x}", words[0], words[1]);
}

bool same_token(std::string_view wanted, std::string_view got) {
  unsigned difference = wanted.size() == got.size() ? 0 : 1;
  for (std::size_t i = 0; i < wanted.size(); ++i) difference |= unsigned(wanted[i]) ^ unsigned(i < got.size() ? got[i] : 0);
  return difference == 0;
}

}  // namespace shardlab::control
