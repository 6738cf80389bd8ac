// Mutates scenarios from a seed and runs what comes out: every malformed one must end in an error with a JSON pointer, and nothing may
// crash, hang or break an invariant.
//
//   fuzz_document [--seconds S] [--seed N] [--count N] [--one DOCUMENT] [CORPUS_FOLDER]
//
// Prints the seed before anything else; a failing document is written to fuzz-failure.json. A document whose `while_loop` does not end in
// its processor time is no failure, as its condition may hold for ever: the rest goes on in another process.
#include <fcntl.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "scenarios/runner/run.h"
#include "tests/scenarios/mutate.h"

namespace shardlab::scenarios {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// Of one document. Processor time tells what is too much work, however busy the machine is; the clock what hangs.
constexpr int kProcessorLimitSeconds = 20, kClockLimitSeconds = 45;
constexpr const char* kFailureFile = "fuzz-failure.json";
constexpr int kEndless = 3;  // exit status

std::string current_document;  // for the signal handler
bool may_be_endless = false;
char seed_text[64] = "";

void write_all(int file, const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t written = ::write(file, data, size);
    if (written <= 0) return;
    data += written;
    size -= std::size_t(written);
  }
}
void tell(const char* text) { write_all(STDERR_FILENO, text, std::strlen(text)); }

// Calls nothing but what a signal handler may: the signal may have come within malloc.
void save_failure() {
  if (const int file = ::open(kFailureFile, O_WRONLY | O_CREAT | O_TRUNC, 0644); file >= 0) {
    write_all(file, current_document.data(), current_document.size());
    ::close(file);
  }
  tell(seed_text);
  tell("; the document is in fuzz-failure.json\n");
}

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "fuzz_document: %s\n", why.c_str());
  save_failure();
  std::exit(1);
}

void on_signal(int signal) {
  if (signal == SIGPROF && may_be_endless) ::_exit(kEndless);
  tell("fuzz_document: ");
  tell(signal == SIGPROF   ? "the document takes too much processor time"
       : signal == SIGALRM ? "the document hangs"
       : signal == SIGSEGV ? "a segmentation fault"
       : signal == SIGABRT ? "abort"
       : signal == SIGFPE  ? "a floating-point exception"
                           : "a bus error");
  tell("; ");
  save_failure();
  ::_exit(1);
}

// 0: no limit.
void set_limits(int processor_seconds, int clock_seconds) {
  const itimerval processor{.it_interval = {}, .it_value = {.tv_sec = processor_seconds, .tv_usec = 0}};
  ::setitimer(ITIMER_PROF, &processor, nullptr);
  ::alarm(unsigned(clock_seconds));
}

// Programs that are too long to run here; loops multiply.
double statements_of(const Body& body) {
  double count = 0;
  for (const Statement& statement : body)
    if (const auto* repeat = std::get_if<RepeatStep>(&statement.step))
      count += double(repeat->count) * statements_of(repeat->body);
    else
      ++count;
  return count;
}

struct Tally {
  std::int64_t malformed = 0, ran = 0, ended_in_error = 0, not_run = 0;
};

void check_error(const Loaded& loaded) {
  if (loaded.error.find(fmt::format("at \"{}\"", loaded.pointer)) == std::string::npos)
    fail("an error without its JSON pointer: " + loaded.error);
  Report report = run_scenario(loaded);
  bool expected = loaded.is_program_error && report.status != Status::kOurFault;
  if (report.status != Status::kError && !expected) fail(fmt::format("a wrong document ends as {}", name_of(report.status)));
  to_json(report);
}

void run_one(const Loaded& loaded, Tally& tally) {
  RunOptions options;
  const Document& document = *loaded.document;
  if (!runs_in_process(document, options) || statements_of(document.program) > 2000 || document.cluster.devices > 64) {
    ++tally.not_run;
    return;
  }
  Report report = run_scenario(loaded, options);
  to_json(report);
  if (report.status == Status::kOurFault) fail("a broken invariant: " + report.message);
  ++(report.status == Status::kError ? tally.ended_in_error : tally.ran);
}

void fuzz_once(const std::string& text, Tally& tally) {
  LoadOptions options{.validate = {.array_bytes_max = 1 << 22, .evaluations_max = 5000}};
  current_document = text;
  may_be_endless = text.find("\"while_loop\"") != std::string::npos;
  set_limits(kProcessorLimitSeconds, kClockLimitSeconds);
  try {
    std::vector<Loaded> loaded = load_text(text, "fuzz", options);
    if (loaded.size() > 50) loaded.resize(50);
    for (const Loaded& each : loaded) {
      if (each.error.empty())
        run_one(each, tally);
      else {
        check_error(each);
        ++tally.malformed;
      }
    }
  } catch (const std::exception& error) { fail(fmt::format("an error came through: {}", error.what())); }
  set_limits(0, 0);
}

std::vector<std::string> read_corpus(const fs::path& folder) {
  std::vector<std::string> corpus;
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    nlohmann::json document = nlohmann::json::parse(file);
    corpus.push_back(document.dump());
    document["cluster"]["devices"] = document["cluster"].value("processes", 1) * document["cluster"].value("devices", 1);
    document["cluster"]["processes"] = 1;
    document.erase("faults");
    corpus.push_back(document.dump());  // as one process: these run here
  }
  return corpus;
}

struct Arguments {
  double seconds = 10;
  std::uint64_t seed = std::uint64_t(Clock::now().time_since_epoch().count());
  std::int64_t count = INT64_MAX;
  std::string folder = SHARDLAB_CORPUS, one;
};
Arguments read_arguments(int argc, char** argv) {
  Arguments read;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    if (word == "--seconds" && i + 1 < argc)
      read.seconds = std::atof(argv[++i]);
    else if (word == "--seed" && i + 1 < argc)
      read.seed = std::strtoull(argv[++i], nullptr, 10);
    else if (word == "--count" && i + 1 < argc)
      read.count = std::atoll(argv[++i]);
    else if (word == "--one" && i + 1 < argc)
      read.one = argv[++i];
    else
      read.folder = word;
  }
  return read;
}

void fuzz(const Arguments& arguments, std::uint64_t seed, Clock::time_point until) {
  for (int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS, SIGALRM, SIGPROF}) ::signal(signal, on_signal);
  std::snprintf(seed_text, sizeof seed_text, "seed %llu", static_cast<unsigned long long>(seed));
  std::vector<std::string> corpus = read_corpus(arguments.folder);
  std::printf("fuzz_document: %s\n", seed_text);
  std::fflush(stdout);  // also where nobody lets it end
  std::mt19937_64 random(seed);
  Tally tally;
  std::int64_t documents = 0;
  for (; documents < arguments.count && Clock::now() < until; ++documents) fuzz_once(mutate(corpus, random), tally);
  std::printf("%lld documents: %lld malformed, %lld ran, %lld ended in an error, %lld need processes\n", static_cast<long long>(documents),
              static_cast<long long>(tally.malformed), static_cast<long long>(tally.ran), static_cast<long long>(tally.ended_in_error),
              static_cast<long long>(tally.not_run));
}

int run(int argc, char** argv) {
  const Arguments arguments = read_arguments(argc, argv);
  if (!arguments.one.empty()) {
    for (int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS, SIGALRM, SIGPROF}) ::signal(signal, on_signal);
    std::ifstream file(arguments.one, std::ios::binary);
    Tally tally;
    fuzz_once(std::string(std::istreambuf_iterator<char>(file), {}), tally);
    return 0;
  }
  const auto until = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(arguments.seconds));
  for (std::uint64_t seed = arguments.seed;; ++seed) {
    const pid_t worker = ::fork();
    if (worker < 0) fail("fork");
    if (worker == 0) {
      fuzz(arguments, seed, until);
      std::exit(0);
    }
    int status = 0;
    if (::waitpid(worker, &status, 0) != worker || !WIFEXITED(status)) {
      std::fprintf(stderr, "fuzz_document: a signal ended it; seed %llu\n", static_cast<unsigned long long>(seed));
      return 1;
    }
    if (WEXITSTATUS(status) != kEndless) return WEXITSTATUS(status);
    std::printf("a while_loop without an end, after which the next seed goes on\n");
    std::fflush(stdout);
    if (Clock::now() >= until) return 0;
  }
}

}  // namespace
}  // namespace shardlab::scenarios

int main(int argc, char** argv) { return shardlab::scenarios::run(argc, argv); }
