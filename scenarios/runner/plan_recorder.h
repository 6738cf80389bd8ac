// What a planned process would do, written down as the events of a simulated run.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/text.h"
#include "runtime/control/ledger.h"
#include "runtime/spmd/program.h"
#include "scenarios/runner/plan.h"

namespace shardlab::scenarios {

// Writes down what the process would do, in order.
class PlanRecorder {
 public:
  // What would run, with its partitioned program where it has one.
  using Seen = std::function<void(const comm::Launch&, const spmd::PartitionedProgram*)>;
  PlanRecorder(int process, PlannedBefore& before, simulate::ProcessPlan& plan, bool records, Seen seen)
      : process_(process), before_(before), plan_(plan), records_(records), seen_(std::move(seen)) {}

  void statement(const Statement& statement, Where where) {
    simulate::Event event{.kind = simulate::Event::Kind::kStatement, .pointer = statement.pointer};
    event.step = {.what = statement.op, .where = where.text(), .statement = where.statement};
    add(std::move(event));
  }

  // The number of the call, or -1: no other process takes part, or this one does not.
  std::int64_t launch(const std::shared_ptr<const comm::ProgramInfo>& program, const spmd::PartitionedProgram* partitioned, Where where,
                      std::vector<comm::TakenArray> takes) {
    const auto& owners = program->processes;
    comm::Launch launch{launches_++, seqs_[program->devices]++, program, where, 0, nullptr};
    launch.takes = std::move(takes);
    seen_(launch, partitioned);
    if (!std::binary_search(owners.begin(), owners.end(), process_)) return -1;
    simulate::Event event{.kind = simulate::Event::Kind::kStep};
    event.collectives = std::int64_t(program->collectives.size());
    if (records_) event.record = std::make_shared<simulate::LaunchRecord>(simulate::LaunchRecord{launch, {}});
    if (!program->spans_processes()) {
      event.step = {.kind = StepEvidence::Kind::kLocal,
                    .what = program->name,
                    .where = where.text(),
                    .statement = where.statement,
                    .fingerprint = local_fingerprint(program)};
      add(std::move(event));
      return -1;
    }
    event.kind = simulate::Event::Kind::kCall;
    event.call = control::call_evidence(launch);
    event.number = plan_.calls++;
    event.program = evidence(program);
    add(std::move(event));
    return plan_.calls - 1;
  }

  void observed(std::string_view what, std::string value, Where where) {
    simulate::Event event{.kind = simulate::Event::Kind::kStep};
    event.step = {.kind = StepEvidence::Kind::kObserved, .what = std::string(what), .where = where.text(), .statement = where.statement};
    event.step.fingerprint = hash_bytes(value);
    event.step.value = std::move(value);
    add(std::move(event));
  }

  void begin_issuer(const std::string& name, Where where) {
    issuers_[name] = plan_.issuers;
    simulate::Event event{.kind = simulate::Event::Kind::kSpawn, .other = plan_.issuers};
    event.step = {.what = "issuer " + name, .where = where.text(), .statement = where.statement};
    add(std::move(event));
    issuer_ = plan_.issuers++;
  }
  void end_issuer() { issuer_ = 0; }
  void join(const std::string& name, Where where) {
    simulate::Event event{.kind = simulate::Event::Kind::kJoin, .other = issuers_.at(name)};
    event.step = {.what = "wait", .where = where.text(), .statement = where.statement};
    add(std::move(event));
  }

  void read(std::string_view what, Where where, std::int64_t needs) {
    if (needs < 0) return;
    simulate::Event event{.kind = simulate::Event::Kind::kRead};
    event.step = {.kind = StepEvidence::Kind::kRead, .what = std::string(what), .where = where.text(), .statement = where.statement};
    event.needs = needs;
    event.place = where;
    add(std::move(event));
  }

  std::int64_t last_launch() const { return launches_ - 1; }
  // Told with the launch that was planned last.
  void array(const comm::ArrayInfo& info) {
    auto last =
        std::find_if(plan_.events.rbegin(), plan_.events.rend(), [](const simulate::Event& each) { return each.record != nullptr; });
    if (last != plan_.events.rend()) last->record->arrays.push_back(info);
  }
  // Told with the event that is planned next; what a process holds at its end is not let go.
  void array_end(std::int64_t id) { ended_.push_back(id); }

 private:
  void add(simulate::Event event) {
    event.issuer = issuer_;
    // Statements and joins do not come into a trace.
    const bool is_told = event.record != nullptr || event.kind == simulate::Event::Kind::kRead;
    if (is_told) event.array_ends = std::exchange(ended_, {});
    plan_.events.push_back(std::move(event));
  }
  std::shared_ptr<const ProgramEvidence> evidence(const std::shared_ptr<const comm::ProgramInfo>& program) {
    auto& known = before_.evidence[program];
    if (!known) known = std::make_shared<ProgramEvidence>(control::program_evidence(*program));
    return known;
  }
  std::uint64_t local_fingerprint(const std::shared_ptr<const comm::ProgramInfo>& program) {
    auto [found, is_new] = local_.try_emplace(program, 0);
    if (is_new) found->second = control::local_fingerprint(*program);
    return found->second;
  }

  int process_;
  PlannedBefore& before_;
  simulate::ProcessPlan& plan_;
  bool records_;
  Seen seen_;
  std::int64_t launches_ = 0;
  std::vector<std::int64_t> ended_;
  int issuer_ = 0;
  std::map<std::string, int> issuers_;
  std::map<std::vector<int>, std::int64_t> seqs_;
  std::map<std::shared_ptr<const comm::ProgramInfo>, std::uint64_t> local_;
};

}  // namespace shardlab::scenarios
