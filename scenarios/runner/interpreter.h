// Runs a document's program, statement by statement, as one process would.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "runtime/exec/array.h"
#include "runtime/exec/control_flow.h"
#include "scenarios/document/document.h"
#include "scenarios/runner/machine.h"

namespace shardlab::scenarios {

// Not thread-safe. Errors pass through; statement() and where() then say where the program is.
class Interpreter {
 public:
  using Names = std::map<std::string, Array>;
  // Called before each statement that this process runs, inside functions too.
  using Hook = std::function<void(const Statement&)>;

  Interpreter(const Document& document, int process, Machine& machine, Hook before)
      : document_(document), process_(process), machine_(machine), before_(std::move(before)) {}

  using After = std::function<void(const Statement&, const Names&)>;
  // Called after each statement of the program itself, loops as a whole.
  void after_statement(After after) { after_ = std::move(after); }
  void run();
  const Names& names() const { return names_; }
  int statement() const { return statement_; }
  // At the end: barriers that were begun and never waited for are nobody's value, and are told as left open.
  void drop_open_barriers();
  Where where() const { return where_; }

 private:
  void body(const Body& statements, Names& names);
  void one(const Statement& statement, Names& names);
  bool runs(const Statement& statement);
  Operand operand(const Argument& argument, const Names& names, Where where) const;
  std::vector<Operand> operands(const Statement& statement, const Names& names, Where where) const;
  Array array(const Argument& argument, const Names& names, Where where) const;
  std::vector<Array> arrays(const Statement& statement, const Names& names, Where where) const;
  std::vector<Array> call(const Function& function, const std::vector<Array>& args);

  std::vector<Array> run_step(const Statement& statement, const OpStep& step, const Names& names, Where where);
  std::vector<Array> run_step(const Statement& statement, const ConstantStep& step, const Names& names, Where where);
  std::vector<Array> run_step(const Statement& statement, const PlaceStep& step, const Names& names, Where where);
  std::vector<Array> run_step(const Statement& statement, const CallStep& step, const Names& names, Where where);
  std::vector<Array> run_step(const Statement& statement, const GradStep& step, const Names& names, Where where);
  std::vector<Array> run_step(const Statement& statement, const ReadStep& step, const Names& names, Where where);
  std::vector<Array> run_step(const Statement& statement, const RepeatStep& step, const Names& names, Where where);
  std::vector<Array> run_step(const Statement& statement, const BarrierStep& step, const Names& names, Where where);
  std::vector<Array> run_step(const Statement& statement, const SendStep& step, const Names& names, Where where);
  std::vector<Array> run_step(const Statement& statement, const ReceiveStep& step, const Names& names, Where where);
  std::vector<Array> run_step(const Statement& statement, const IssuerStep& step, const Names& names, Where where);
  std::vector<Array> run_step(const Statement& statement, const WaitStep& step, const Names& names, Where where);
  std::vector<Array> run_step(const Statement& statement, const ShardMapStep& step, const Names& names, Where where);
  std::vector<Array> run_step(const Statement& statement, const CondStep& step, const Names& names, Where where);
  std::vector<Array> run_step(const Statement& statement, const CustomPartitioningStep& step, const Names& names, Where where);
  std::vector<Array> run_step(const Statement& statement, const FunctionStep& step, const Names& names, Where where);
  std::vector<Array> run_step(const Statement& statement, const BroadcastStep& step, const Names& names, Where where);
  std::vector<Array> run_step(const Statement& statement, const AssertEqualStep& step, const Names& names, Where where);
  std::vector<Array> run_step(const Statement& statement, const ProcessDataStep& step, const Names& names, Where where);
  std::vector<Array> run_step(const Statement& statement, const DeviceDataStep& step, const Names& names, Where where);
  std::vector<Array> run_step(const Statement& statement, const CallbackStep& step, const Names& names, Where where);
  std::vector<Array> run_step(const Statement& statement, const WhileStep& step, const Names& names, Where where);
  std::vector<Array> run_step(const Statement& statement, const ScanStep& step, const Names& names, Where where);
  // A function of the document, for what traces it.
  ArrayFunction function(const std::string& name);
  // Inside a function at once; else as a program of its own, made once for the statement, whose results lie as if the ops of the function
  // ran one by one, if told so.
  std::vector<Array> as_program(const Statement& statement, const ArrayFunction& run, const Names& names, Where where,
                                bool lies_by_ops = false);

  const Document& document_;
  int process_;
  Machine& machine_;
  Hook before_;
  After after_;
  Names names_;
  int statement_ = -1;  // of the program
  Where where_;         // of the innermost statement
  std::set<std::string> open_barriers_;
};

}  // namespace shardlab::scenarios
