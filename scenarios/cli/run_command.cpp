// shardlab run: starts the processes of a program, records, diagnoses.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <regex>

#include "runtime/base/error.h"
#include "runtime/base/scratch_folder.h"
#include "runtime/control/coordinator.h"
#include "runtime/control/environment.h"
#include "runtime/exec/checksums.h"
#include "runtime/exec/platform.h"
#include "scenarios/cli/commands.h"
#include "scenarios/cli/terminal.h"
#include "scenarios/launch/launcher.h"
#include "scenarios/launch/other_launcher.h"
#include "traces/checks/wording.h"
#include "traces/recorder/merge.h"
#include "traces/recorder/part.h"
#include "virtualdev/transports/mpi_session.h"
#include "virtualdev/transports/transport_def.h"

namespace shardlab::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kExitInconclusive = 5;

constexpr OptionDef kOptions[] = {
    {"--processes", "-n", "P", "processes (default 1)"},
    {"--devices", "-d", "D", "virtual devices of each process (default: SHARDLAB_NUM_CPU_DEVICES, else 1)"},
    {"--hosts", "", "A:2,B:2", "start the processes on these hosts, so many on each, by Open MPI's mpirun; instead of -n"},
    {"--backend", "", "NAME", "what computes: cpu (default) or cuda"},
    {"--devices-per-gpu", "", "N", "with cuda: so many virtual devices share a GPU (default: as many as it takes)"},
    {"--transport", "", "NAME", "how processes exchange data: auto (default), shm, tcp, mpi (starts them by mpirun)"},
    {"--elastic", "", "", "a process that ends does not end the others: they go on with those that live (live_devices)"},
    {"--restarts", "", "N", "with --elastic: start a process that ended badly again, so often (default 0)"},
    {"--tls-certificate", "", "PEM", "the coordinator's certificate: with it the job speaks TLS (docs/launching.md)"},
    {"--tls-key", "", "PEM", "the key of the certificate"},
    {"--tls-ca", "", "PEM", "the authority that signed the certificates of this job"},
    {"--tls-mutual", "", "", "only processes with a certificate of the authority's may join"},
    {"--trace", "", "T.db", "record, and write the merged trace here"},
    {"--parts", "", "DIR", "record into this folder, which stays; `shardlab view DIR` watches the run"},
    {"--checksums", "", "", "with --trace or --parts: record what the values of all results are, for `shardlab diff`"},
    {"--limit", "", "S", "seconds after which the run is ended as inconclusive (default: none)"},
};

// The folder that processes record into: one that the user named and that stays, or one that is removed with its content.
class PartsFolder {
 public:
  explicit PartsFolder(std::string named) : path_(std::move(named)) { recorder::make_parts_folder(path_); }
  PartsFolder() : temporary_(std::in_place, "run"), path_(temporary_->path().string()) {}
  const std::string& path() const { return path_; }

 private:
  std::optional<ScratchFolder> temporary_;
  std::string path_;
};

void write_trace(const std::string& out, const std::string& parts, const LaunchResult& result, const std::vector<std::string>& program) {
  recorder::MergeOptions merge;
  merge.directory = parts;
  merge.out = out;
  for (const ProcessEnd& end : result.processes) merge.ends.push_back({end.process, end.pid, "", end.exit_code, end.signal, end.err});
  merge.diagnoses = result.diagnoses.empty() ? result.remarks : result.diagnoses;
  merge.evidence = result.evidence;
  merge.title = fs::path(program[0]).filename().string();
  for (const std::string& word : program) merge.command_line += (merge.command_line.empty() ? "" : " ") + word;
  for (const std::string& problem : recorder::merge_parts(merge).problems) fmt::print(stderr, "shardlab: trace: {}\n", problem);
  const bool is_diagnosed =
      std::any_of(result.diagnoses.begin(), result.diagnoses.end(), [](const auto& each) { return each.severity == "error"; });
  fmt::print(stderr, "shardlab: trace {}{}\n", out,
             is_diagnosed ? fmt::format(" (explained by: shardlab report {0}, shown by: shardlab view {0})", out) : "");
}

// Of the first process that did not end well by itself.
int program_exit_code(const LaunchResult& result) {
  for (const ProcessEnd& end : result.processes)
    if (!end.ended_by_us && (end.signal != 0 || end.exit_code != 0)) return end.signal != 0 ? 128 + end.signal : end.exit_code;
  return 0;
}

int conclude(const LaunchResult& result) {
  for (const Diagnosis& diagnosis : result.diagnoses) print_error(text_of(diagnosis));
  // A process on its own can disagree with nobody: its end speaks for itself.
  for (const Diagnosis& diagnosis : result.diagnoses)
    if (diagnosis.severity == "error" && result.processes.size() > 1) return kExitDiagnosed;
  if (result.interrupted_by != 0) return 128 + result.interrupted_by;
  if (result.timed_out) {
    print_error("shardlab: ended at the limit, inconclusive");
    if (!result.whereabouts.empty()) fmt::print(stderr, "{}\n", result.whereabouts);
    return kExitInconclusive;
  }
  return program_exit_code(result);
}

// "a:2,b:2": how many processes in all. UserError where it is not of that form.
int count_on_hosts(const std::string& hosts) {
  static const std::regex kForm("[^:,]+:[1-9][0-9]{0,3}(,[^:,]+:[1-9][0-9]{0,3})*");
  if (!std::regex_match(hosts, kForm))
    throw_user_error("shardlab run: --hosts wants hosts with numbers of processes, as in a:2,b:2; got '{}'", hosts);
  int count = 0;
  for (std::size_t colon = hosts.find(':'); colon != std::string::npos; colon = hosts.find(':', colon + 1))
    count += std::stoi(hosts.substr(colon + 1));
  return count;
}

// Sets what the processes inherit; refuses here, and once, a platform that is not there.
void choose_platform(const Arguments& arguments) {
  if (auto backend = arguments.text("--backend")) {
    const PlatformDef* platform = find_platform(*backend);
    if (platform != nullptr) require_platform(*platform, fmt::format("shardlab run --backend {}", *backend));
    ::setenv("SHARDLAB_PLATFORM", platform == nullptr ? "cpu" : std::string(platform->name).c_str(), 1);
  }
  if (arguments.has("--devices-per-gpu"))
    ::setenv("SHARDLAB_DEVICES_PER_GPU", std::to_string(arguments.integer("--devices-per-gpu", 0, 1, 65536)).c_str(), 1);
}

// TLS is by variables, which the coordinator reads here and the processes where they are.
void choose_tls(const Arguments& arguments) {
  for (auto [option, variable] : {std::pair{"--tls-certificate", control::kTlsCertificateVariable},
                                  {"--tls-key", control::kTlsKeyVariable},
                                  {"--tls-ca", control::kTlsCaVariable}})
    if (auto path = arguments.text(option)) ::setenv(variable, fs::absolute(std::string(*path)).c_str(), 1);
  if (arguments.has("--tls-mutual")) ::setenv(control::kTlsMutualVariable, "1", 1);
}

std::chrono::milliseconds limit_of(const Arguments& arguments) {
  auto seconds = arguments.number("--limit", 0.001);
  return std::chrono::milliseconds(seconds ? std::int64_t(std::ceil(*seconds * 1000)) : 0);
}

// By mpirun, which reaches the hosts; the processes find each other by its variables, and print verdicts and, when they are ended, where
// they were themselves.
int run_on_hosts(const Arguments& arguments, const std::string& hosts) {
  std::vector<std::string> words{"mpirun", "--host", hosts, "-n", std::to_string(count_on_hosts(hosts)), "--tag-output",
                                 // From SIGTERM to SIGKILL, for where they are.
                                 "--mca", "odls_base_sigkill_timeout", "2"};
  if (::geteuid() == 0) words.push_back("--allow-run-as-root");
  auto pass = [&](const char* name, const std::string& value) {
    ::setenv(name, value.c_str(), 1);
    words.insert(words.end(), {"-x", name});
  };
  pass(control::kTokenVariable, control::random_token());
  // The job's coordinator merges: nobody of ours is there when the last process ends.
  auto trace = arguments.text("--trace"), parts = arguments.text("--parts");
  if (parts) {
    recorder::make_parts_folder(std::string(*parts));
    pass(control::kTraceDirVariable, fs::absolute(std::string(*parts)).string());
  }
  if (trace || parts) pass(control::kTraceVariable, fs::absolute(trace ? std::string(*trace) : std::string(*parts) + "/trace.db").string());
  for (const char* name : {"SHARDLAB_PLATFORM", "SHARDLAB_DEVICES_PER_GPU", kChecksumsVariable, control::kTlsCertificateVariable,
                           control::kTlsKeyVariable, control::kTlsCaVariable, control::kTlsMutualVariable})
    if (const char* value = std::getenv(name)) pass(name, value);
  if (arguments.has("--devices")) pass(control::kNumDevicesVariable, std::to_string(arguments.integer("--devices", 0, 1, 65536)));
  if (auto transport = arguments.text("--transport")) pass(control::kTransportVariable, std::string(transport_named(*transport).name));
  words.insert(words.end(), arguments.program().begin(), arguments.program().end());
  OtherLauncherEnd end;
  try {
    end = run_other_launcher(words, limit_of(arguments));
  } catch (const UserError& error) {
    throw_user_error("shardlab run: --hosts and --transport mpi need Open MPI's mpirun: {}. By hand, without it: docs/launching.md",
                     error.what());
  }
  if (end.interrupted_by != 0) return 128 + end.interrupted_by;
  if (end.timed_out) {
    print_error("shardlab: ended at the limit, inconclusive");
    return kExitInconclusive;
  }
  return end.signal != 0 ? 128 + end.signal : end.exit_code;
}

int run(const Arguments& arguments) {
  if (arguments.program().empty())
    throw_user_error("shardlab run: which program? for example: shardlab run -n 4 -d 2 -- ./build/release/bin/toy");
  if (auto trace = arguments.text("--trace"))
    if (std::string why = recorder::why_not_writable(std::string(*trace)); !why.empty())
      throw_user_error("shardlab run: no trace can be written to {}: {}", *trace, why);
  choose_platform(arguments);
  choose_tls(arguments);
  if (arguments.has("--checksums")) {
    if (!arguments.has("--trace") && !arguments.has("--parts"))
      throw_user_error("shardlab run: --checksums go into a trace; say where with --trace T.db or --parts DIR");
    ::setenv(kChecksumsVariable, "1", 1);
  }
  const int processes = int(arguments.integer("--processes", 1, 1, 4096));
  auto hosts = arguments.text("--hosts");
  if (hosts && arguments.has("--processes"))
    throw_user_error("shardlab run: --hosts says how many processes there are, --processes does too");
  if (arguments.text("--transport") == "mpi") {
    if (std::string why = MpiSession::why_absent(); !why.empty()) throw_user_error("shardlab run --transport mpi: {}", why);
    if (!hosts) hosts = fmt::format("localhost:{}", processes);
  }
  if (hosts) return run_on_hosts(arguments, *hosts);
  LaunchOptions options;
  options.argv = arguments.program();
  options.processes = processes;
  options.devices = int(arguments.integer("--devices", 0, 1, 65536));
  options.limit = limit_of(arguments);
  if (auto transport = arguments.text("--transport")) options.transport = transport_named(*transport).name;
  options.elastic = arguments.has("--elastic");
  options.restarts = int(arguments.integer("--restarts", 0, 0, 1'000'000));
  if (options.restarts > 0 && !options.elastic) throw_user_error("shardlab run: --restarts goes with --elastic");
  options.output = options.processes > 1 ? Output::kPrefix : Output::kPass;
  options.handle_signals = true;
  auto trace = arguments.text("--trace");
  std::optional<PartsFolder> parts;
  if (auto named = arguments.text("--parts"))
    parts.emplace(std::string(*named));
  else if (trace)
    parts.emplace();
  if (parts) options.trace_dir = parts->path();
  int code = 0;
  options.on_end = [&](const LaunchResult& result) {
    std::fflush(stdout);
    code = conclude(result);
  };
  LaunchResult result = launch(options);
  if (arguments.has("--parts")) write_trace(parts->path() + "/trace.db", parts->path(), result, options.argv);
  if (trace) write_trace(*trace, parts->path(), result, options.argv);
  return code;
}

}  // namespace

const CommandDef kRun{
    .name = "run",
    .usage =
        "[-n P] [-d D] [--backend NAME] [--hosts A:2,B:2] [--transport NAME] [--trace T.db] [--parts DIR] [--limit S] -- PROGRAM ARGS…",
    .summary = "start the processes of a program, record them, diagnose what goes wrong",
    .details = "Exit code: the program's own; 2 when the run was diagnosed, 5 when it was ended at the limit.",
    .options = kOptions,
    .takes_program = true,
    .run = run};

}  // namespace shardlab::cli
