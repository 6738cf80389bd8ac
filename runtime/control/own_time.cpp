#include "runtime/control/own_time.h"

#include <dirent.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

namespace shardlab::control {
namespace {

std::chrono::nanoseconds read_clock(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

// Of all threads but this one.
std::chrono::nanoseconds processor_time() { return read_clock(CLOCK_PROCESS_CPUTIME_ID) - read_clock(CLOCK_THREAD_CPUTIME_ID); }

// proc(5): the state follows the name, which is in brackets and may hold anything.
bool wants_processor(const std::string& stat_file) {
  int file = ::open(stat_file.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;  // it has ended meanwhile
  char text[512];
  ssize_t size = ::read(file, text, sizeof text);
  ::close(file);
  std::string_view stat(text, std::size_t(std::max<ssize_t>(size, 0)));
  std::size_t name_end = stat.rfind(')');
  return name_end != stat.npos && name_end + 2 < stat.size() && stat[name_end + 2] == 'R';
}

bool another_thread_wants_processor() {
  DIR* folder = ::opendir("/proc/self/task");
  if (!folder) return false;
  std::string self = std::to_string(::gettid());
  bool found = false;
  while (const dirent* entry = ::readdir(folder)) {
    std::string thread = entry->d_name;
    if (found || thread.starts_with('.') || thread == self) continue;
    found = wants_processor("/proc/self/task/" + thread + "/stat");
  }
  ::closedir(folder);
  return found;
}

}  // namespace

OwnTime::OwnTime() : wall_(std::chrono::steady_clock::now()), processor_(processor_time()) {}

std::chrono::nanoseconds OwnTime::lap() {
  auto wall = std::chrono::steady_clock::now();
  std::chrono::nanoseconds processor = processor_time(), passed = wall - wall_, used = processor - processor_;
  wall_ = wall;
  processor_ = processor;
  return another_thread_wants_processor() ? std::min(passed, std::max(used, std::chrono::nanoseconds(0))) : passed;
}

}  // namespace shardlab::control
