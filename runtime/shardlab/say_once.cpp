#include "runtime/shardlab/say_once.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>

#include "runtime/base/error.h"
#include "runtime/base/text.h"
#include "runtime/control/job_token.h"
#include "runtime/control/member.h"

namespace shardlab {
namespace {

constexpr std::chrono::milliseconds kAnswerLimit{1000}, kSayLimit{2000};

// Who has said it, when it has; -1 where that is not heard of in time.
int other_that_said(control::ControlClient& client, const std::string& key, const std::string& done) {
  try {
    client.get_key(done, kSayLimit);
    return std::stoi(client.get_key(key, kAnswerLimit));
  } catch (const Error&) { return -1; }
}

}  // namespace

std::string output_identity() {
  struct stat status {};
  if (fstat(STDERR_FILENO, &status) != 0) return control::random_token();  // closed: nobody reads it
  return fmt::format("{}:{}:{}", control::host_identity(), status.st_dev, status.st_ino);
}

int say_once(control::ControlClient& client, int process, const std::string& what_of, const std::string& text,
             const std::function<void()>& say) {
  const std::string key = fmt::format("said/{}{:016x}", what_of, hash_bytes(text)), done = key + "/done";
  try {
    client.set_key(key, std::to_string(process), true, kAnswerLimit);
  } catch (const UserError&) {  // it has a value: another one's, or that of this one before it was started again
    const int other = other_that_said(client, key, done);
    if (other < 0 || other == process) say();
    return other < 0 ? process : other;
  } catch (const Error&) {
    say();
    return process;
  }
  say();
  try {
    client.set_key(done, "", false, kAnswerLimit);
  } catch (const Error&) {  // the others wait for it in vain, and say it themselves
  }
  return process;
}

}  // namespace shardlab
