// Makes a process's faults strike: before the statement or the call that they name, or after a time.
#pragma once

#include <atomic>
#include <condition_variable>
#include <filesystem>
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

  void start();  // the clock of faults after a time
  void before_statement(const Statement& statement);
  void before_calls(std::int64_t first, std::int64_t count);
  bool empty() const { return armed_.empty(); }

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
  std::vector<Armed*> due_;  // after a time, and to strike on the issuing thread
  std::jthread clock_;
};

}  // namespace shardlab::scenarios
