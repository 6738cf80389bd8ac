#include "runtime/control/serve.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/control/coordinator.h"
#include "runtime/control/environment.h"

extern char** environ;

namespace shardlab::control {
namespace {

constexpr char kProgram[] = "shardlab-coordinator";
constexpr int kStartMs = 20'000;
constexpr std::chrono::milliseconds kLook{500};     // between looks at who is silent
constexpr std::chrono::seconds kTellLateComers{5};  // why the job does not begin

std::string folder_of_this_program() {
  std::array<char, 4096> path;
  ssize_t n = readlink("/proc/self/exe", path.data(), path.size());
  std::string text(path.data(), n > 0 ? std::size_t(n) : 0);
  return text.substr(0, text.rfind('/'));
}

// The program beside this one, in the folder of the installation, or where PATH leads; "" where there is none.
std::string find_program() {
  std::vector<std::string> folders;
  if (const char* folder = std::getenv("SHARDLAB_BIN_DIR")) folders.emplace_back(folder);
  folders.push_back(folder_of_this_program());
  folders.push_back(folder_of_this_program() + "/../bin");
  std::string path = std::getenv("PATH") ? std::getenv("PATH") : "";
  for (std::size_t at = 0; at < path.size();) {
    std::size_t end = std::min(path.find(':', at), path.size());
    folders.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  for (const std::string& folder : folders) {
    std::string candidate = folder + "/" + kProgram;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return "";
}

// In the child: a session of its own, and none of the parent's files, so that nobody waits for it to close them.
void detach(int keep_fd) {
  setsid();
  int null = open("/dev/null", O_RDWR);
  for (int fd : {0, 1, 2}) dup2(null, fd);
  int last = int(sysconf(_SC_OPEN_MAX));
  for (int fd = 3; fd < std::min(last, 65536); ++fd)
    if (fd != keep_fd) close(fd);
}

// Who listens everywhere is reached by loopback from here.
std::string reached(const std::string& host) { return host == "[::]" || host == "0.0.0.0" ? "127.0.0.1" : host; }

std::string read_line(int fd) {
  std::string line;
  comm::Ns end_ns = comm::now_ns() + comm::Ns(kStartMs) * 1'000'000;
  while (true) {
    pollfd ready{fd, POLLIN, 0};
    int left_ms = int((end_ns - comm::now_ns()) / 1'000'000);
    if (left_ms <= 0 || poll(&ready, 1, left_ms) <= 0) return "";
    char byte = 0;
    ssize_t n = read(fd, &byte, 1);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return "";
    if (byte == '\n') return line;
    line += byte;
  }
}

// Of an elastic job the last process goes; another one is over with its verdict, too.
bool wait_ended(const Coordinator& coordinator, const ServeOptions& options) {
  return options.elastic ? coordinator.wait_deserted(kLook) : coordinator.wait_over(kLook);
}

// Whether all have joined; not, too, where those that had have gone again: nobody waits here for the others any more.
bool wait_joined(const Coordinator& coordinator, const ServeOptions& options) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::milliseconds(options.join_timeout_ms);
  auto attended = Clock::now();
  while (!coordinator.wait_joined(kLook)) {
    bool deserted = !options.elastic && coordinator.wait_deserted(std::chrono::milliseconds(0));
    if (!deserted) attended = Clock::now();
    bool tells = coordinator.disagree() && Clock::now() - attended < kTellLateComers;
    if ((deserted && !tells) || Clock::now() >= end) return false;
  }
  return true;
}

}  // namespace

int serve(const ServeOptions& options) {
  std::unique_ptr<Coordinator> coordinator;
  for (int i = 0; i < options.ports && !coordinator; ++i) {
    try {
      coordinator = std::make_unique<Coordinator>(CoordinatorOptions{.num_processes = options.num_processes,
                                                                     .token = options.token,
                                                                     .host = options.host,
                                                                     .port = options.first_port ? options.first_port + i : 0,
                                                                     .tls = options.tls,
                                                                     .supervised = false,
                                                                     .elastic = options.elastic,
                                                                     .silence_ms = options.heartbeat_timeout_ms});
    } catch (const TransportError&) {  // the port is another's: the next one
    }
  }
  if (options.ready_fd >= 0) {
    std::string line;
    if (coordinator) line = reached(options.host) + coordinator->address().substr(coordinator->address().rfind(':'));
    line += '\n';
    ssize_t n = write(options.ready_fd, line.data(), line.size());
    if (options.trace.out.empty()) close(options.ready_fd);
    if (n != ssize_t(line.size())) return 1;
  }
  if (!coordinator) return 1;
  bool joined = wait_joined(*coordinator, options);
  if (!joined && coordinator->members().empty()) return 1;
  // The waits end when the last process has ended, and when it has gone.
  if (options.merge != nullptr && !options.trace.out.empty()) {
    while (!wait_ended(*coordinator, options)) coordinator->tell_silences();
    options.merge(*coordinator, options.trace);
    close(options.ready_fd);
  }
  while (!coordinator->wait_deserted(kLook)) coordinator->tell_silences();
  return 0;
}

std::string start_server(ServeOptions options, int* merged_fd) {
  check_tls(options.tls, TlsSide::kCoordinator);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw TransportError(fmt::format("no pipe to the coordinator: {}", std::strerror(errno)));
  options.ready_fd = ends[1];
  std::string program = find_program();
  // Prepared here: between fork and exec nothing may allocate.
  std::vector<std::string> arguments{program,
                                     std::to_string(options.num_processes),
                                     options.host,
                                     std::to_string(options.first_port),
                                     std::to_string(options.ports),
                                     std::to_string(options.join_timeout_ms),
                                     std::to_string(options.heartbeat_timeout_ms)};
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  std::vector<std::string> variables{fmt::format("{}={}", kTokenVariable, options.token), fmt::format("SHARDLAB_READY_FD={}", ends[1])};
  for (auto [name, value] : {std::pair{kTlsCertificateVariable, options.tls.certificate},
                             {kTlsKeyVariable, options.tls.key},
                             {kTlsCaVariable, options.tls.ca},
                             {kTlsMutualVariable, std::string(options.tls.mutual ? "1" : "")}})
    if (!value.empty()) variables.push_back(fmt::format("{}={}", name, value));
  if (options.elastic) variables.push_back(fmt::format("{}=1", kRecoverableVariable));
  for (auto [name, value] : {std::pair{kTraceVariable, options.trace.out},
                             {kTraceDirVariable, options.trace.parts},
                             {kKeepPartsVariable, std::string(options.trace.keep ? "1" : "")}})
    if (!value.empty()) variables.push_back(fmt::format("{}={}", name, value));
  std::vector<char*> environment;
  for (std::string& entry : variables) environment.push_back(entry.data());
  environment.push_back(nullptr);

  // Twice, so that it is nobody's child who would have to wait for it.
  pid_t middle = fork();
  if (middle == 0) {
    if (fork() != 0) _exit(0);
    detach(ends[1]);
    fcntl(ends[1], F_SETFD, 0);
    if (!program.empty()) execve(program.c_str(), argv.data(), environment.data());
    _exit(serve(options));
  }
  close(ends[1]);
  int status = 0;
  if (middle > 0) waitpid(middle, &status, 0);
  std::string address = middle > 0 ? read_line(ends[0]) : std::string();
  if (merged_fd && !options.trace.out.empty() && !address.empty())
    *merged_fd = ends[0];
  else
    close(ends[0]);
  if (address.empty())
    throw TransportError(fmt::format("the coordinator could not be started on {}{}; is the port taken by another job?", options.host,
                                     !options.first_port ? std::string()
                                     : options.ports == 1
                                         ? fmt::format(" port {}", options.first_port)
                                         : fmt::format(" ports {} to {}", options.first_port, options.first_port + options.ports - 1)));
  return address;
}

}  // namespace shardlab::control
