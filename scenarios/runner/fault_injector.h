// Makes a process's faults strike: before the statement or the call that they name, or after a time.
#pragma once

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "scenarios/document/document.h"

namespace shardlab::scenarios {

// The error that "raise" ends a program in.
class RaisedByFault final : public Error {
 public:
  using Error::Error;
};

// Each fault strikes once. Before it does, its number is written to FOLDER/fired.K, since the process may not live to tell.
// before_statement() and before_calls() come from the issuing thread.
class FaultInjector {
 public:
  FaultInjector(const Document& document, int process, std::filesystem::path folder);
  ~FaultInjector();

  // Does what only the program's owner can: damages a shard; false where there is none of that name yet.
  using Corrupt = std::function<bool(const Fault&)>;
  void on_corrupt(Corrupt corrupt) { corrupt_ = std::move(corrupt); }
  void start();  // the clock of faults after a time
  // In a call over links: as slow as the faults that struck make it.
  void in_call() const;
  // The process writes its results: what hindered it from writing to a disk hinders it no longer.
  void before_results() const;
  void before_statement(const Statement& statement);
  void before_calls(std::int64_t first, std::int64_t count);
  bool empty() const { return armed_.empty(); }
  std::vector<int> struck() const;  // by number

  // The numbers of the faults that struck on process K.
  static std::vector<int> fired(const std::filesystem::path& folder, int process);

 private:
  struct Armed {
    const Fault* fault;
    int number;
    bool struck = false;
  };
  void strike(Armed& armed, std::string_view place);
  void wait_for_clock(std::stop_token stop);

  std::vector<Armed> armed_;
  std::filesystem::path folder_;
  int process_;
  std::map<std::string, std::int64_t> executions_;  // of the statements that faults name
  std::mutex mutex_;
  std::condition_variable_any changed_;
  Corrupt corrupt_;
  std::atomic<double> slowness_ = 1;  // of its links
  std::vector<Armed*> due_;           // after a time, and to strike on the issuing thread
  std::jthread clock_;
};

}  // namespace shardlab::scenarios
