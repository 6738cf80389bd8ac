// The control plane as the executor sees it: agreement of what was issued, and verdicts.
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/error.h"
#include "runtime/comm/launch.h"
#include "runtime/comm/transport.h"

namespace shardlab::comm {

// The verdict reached every process that waits; what() is the diagnosis's text with both sides.
class DiagnosisError : public Error {
 public:
  DiagnosisError(std::string code, const std::string& text) : Error(text), code_(std::move(code)) {}
  const std::string& code() const { return code_; }

 private:
  std::string code_;
};

// One per process. Never adds a collective and never delays one; only await_agreement() blocks. Thread-safe.
class Control {
 public:
  virtual ~Control() = default;
  // A launch that spans processes was issued. Does not block (but see back-pressure in docs/architecture.md).
  virtual void issued(const Launch&) = 0;
  // The gate at a host-visible read: returns once every launch up to `launch` has been matched on all its processes; throws
  // DiagnosisError when a verdict says that it never will. `what` and `where` name the read. -1 returns at once.
  virtual void await_agreement(std::int64_t launch, std::string_view what, Where where) = 0;
  // Whether the executor may run a launch that spans processes. After a first finding only launches that all have matched still run: this
  // blocks until the launch is matched, and is false where it never will be. Launches are issued all the same, their results are poisoned.
  virtual bool may_run(std::int64_t launch) = 0;
  // A launch could not run because of the others: throws the verdict where one is coming, and returns where nothing is wrong with them.
  virtual void await_verdict(std::string_view /*what*/, Where) {}
  // The executor met another message than the one expected.
  virtual void wire_mismatch(const Launch&, int call, const WireMismatch&) = 0;
  // The executor begins waiting for peers in a call; with no peers, it ends.
  virtual void waiting(const Launch&, int /*call*/, const std::vector<ProcessIndex>& /*peers*/) {}
  // What tells where the process is between its calls; kept for the verdict alone, the last of it. From the issuing thread; cheap.
  // A launch on devices of its own.
  virtual void local(const Launch&) {}
  // A value that the program asked for and may decide by: process_index(), a variable of the environment, fetched data.
  virtual void observed(std::string_view /*what*/, std::string_view /*value*/, Where) {}
  // Results that this process computed and dropped before anybody used them; told before it leaves.
  virtual void unused(std::string_view /*what*/, Where, std::int64_t /*count*/) {}
  // The line, or the statement, that begins.
  virtual void at(Where) {}
  // This process ends in an error; the others are told. Returns quickly.
  virtual void raised(std::string_view text, Where where) = 0;
  // A launch over processes failed in this one, and those after it will. The others are told as of `raised`; here, no read of their results
  // waits for an agreement any more: the error is their answer. From the executing thread.
  virtual void failed(const Launch&, std::string_view text, Where where) { raised(text, where); }
  // This process ends normally: await_agreement on all that it issued, then goodbye. Throws DiagnosisError.
  virtual void leave() = 0;
};

// For a process on its own: everything agrees.
class SoloControl final : public Control {
 public:
  void issued(const Launch&) override {}
  void await_agreement(std::int64_t, std::string_view, Where) override {}
  bool may_run(std::int64_t) override { return true; }
  void wire_mismatch(const Launch&, int, const WireMismatch&) override {}
  void raised(std::string_view, Where) override {}
  void leave() override {}
};

}  // namespace shardlab::comm
