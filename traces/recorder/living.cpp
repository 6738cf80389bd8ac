#include "traces/recorder/living.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>

#include "runtime/base/error.h"
#include "traces/recorder/ring.h"

namespace shardlab::recorder {
namespace fs = std::filesystem;

std::set<int> processes_in(const std::string& directory) {
  std::set<int> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    for (const auto& [prefix, suffix] : {std::pair<std::string_view, std::string_view>{"part-", ".db"}, {"ring-", ".ring"}}) {
      if (!name.starts_with(prefix) || !name.ends_with(suffix)) continue;
      int process = -1;
      const char* end = name.data() + name.size() - suffix.size();
      if (const auto parsed = std::from_chars(name.data() + prefix.size(), end, process); parsed.ptr == end && process >= 0)
        found.insert(process);
    }
  }
  return found;
}

bool is_gone(const ProcessTrace& trace, const std::string& ring) {
  char host[256] = {};
  if (trace.closed || !fs::exists(ring)) return false;
  if (!trace.info.host.empty() && (::gethostname(host, sizeof host - 1) != 0 || trace.info.host != host)) return false;
  try {
    const std::int64_t pid = RingFile::open(ring).pid();
    return pid > 0 && ::kill(pid_t(pid), 0) != 0 && errno == ESRCH;
  } catch (const IoError&) { return false; }  // it is only being made
}

}  // namespace shardlab::recorder
