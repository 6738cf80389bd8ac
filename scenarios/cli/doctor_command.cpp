// shardlab doctor: what this machine has and what this build can do with it.
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>

#include "runtime/base/text.h"
#include "runtime/exec/platform.h"
#include "runtime/ops/fft_rows.h"
#include "runtime/ops/registry.h"
#include "scenarios/cli/commands.h"
#include "scenarios/cli/terminal.h"
#include "virtualdev/transports/transport_def.h"

namespace shardlab::cli {
namespace {

namespace fs = std::filesystem;

std::string system_text() {
  utsname names{};
  ::uname(&names);
  return fmt::format("{} {} {}", names.sysname, names.release, names.machine);
}

std::string memory_text() {
  double bytes = double(::sysconf(_SC_PHYS_PAGES)) * double(::sysconf(_SC_PAGE_SIZE));
  return fmt::format("{:.1f} GiB", bytes / (1 << 30));
}

std::string shared_memory_text() {
  struct statvfs info {};
  if (::statvfs("/dev/shm", &info) != 0) return "none: /dev/shm is not there, so only runs of one process work";
  double free_bytes = double(info.f_bavail) * double(info.f_frsize);
  std::string text = fmt::format("{:.0f} MiB free in /dev/shm", free_bytes / (1 << 20));
  if (free_bytes < 64.0 * (1 << 20)) text += "; little: start the container with more (--shm-size=1g)";
  return text;
}

// Programs are looked for in PATH, not run.
bool in_path(std::string_view program) {
  const char* path = std::getenv("PATH");
  if (path == nullptr) return false;
  for (std::string_view folder : split(path, ':'))
    if (!folder.empty() && ::access((fs::path(folder) / program).c_str(), X_OK) == 0) return true;
  return false;
}

std::string platform_text(const PlatformDef& platform) {
  std::string missing = platform.missing();
  return missing.empty() ? fmt::format("{} devices", platform.default_device_count()) : missing;
}

std::string processor_text() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}

std::string workbench_text() {
  return fs::exists(own_program().parent_path() / "shardlab-view") ? "built" : "not built (Qt 6 was not found)";
}

int run(const Arguments&) {
  fmt::print("shardlab        {}\n", SHARDLAB_VERSION);
  fmt::print("system          {}\n", system_text());
  fmt::print("processor       {}, {} usable cores\n", processor_text(), std::thread::hardware_concurrency());
  fmt::print("memory          {}\n", memory_text());
  fmt::print("shared memory   {}\n", shared_memory_text());
  fmt::print("ops             {}\n", all_ops().size());
  fmt::print("Fourier         {}\n", ops::fft_library());
  std::string_view heading = "transports";
  for (const TransportDef* transport : all_transports())
    fmt::print("{:<16}{}: {}\n", std::exchange(heading, ""), transport->name, transport->doc);
  fmt::print("MPI             {}\n", in_path("mpirun")
                                         ? "mpirun found: it starts the processes of run --hosts and run --transport mpi"
                                         : "mpirun not found: run starts processes of this host alone (apt install openmpi-bin)");
  for (const PlatformDef& platform : platforms()) fmt::print("GPU             {}: {}\n", platform.name, platform_text(platform));
  fmt::print("workbench       {}\n", workbench_text());
  return 0;
}

}  // namespace

const CommandDef kDoctor{
    .name = "doctor", .usage = "", .summary = "say what this machine has and what this build can do with it", .run = run};

}  // namespace shardlab::cli
