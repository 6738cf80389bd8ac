// Statements that call a function of the document through a transformation: vmap, jvp, vjp, checkpoint, auto_axes, explicit_axes.
//
// Each is one class, with what it reads, the types of its results and how it runs, and one entry in the list.
#pragma once

#include <functional>
#include <memory>

#include "runtime/exec/tree_function.h"
#include "scenarios/document/statement_def.h"

namespace shardlab::scenarios {

class FunctionStatement {
 public:
  using Types = std::vector<TensorType>;
  // The types of the function's results for arguments of these; `axis`: what collectives in it can name, or nullptr.
  using TypesOf = std::function<Types(const Types& args, const BatchAxis* axis)>;

  explicit FunctionStatement(std::string function) : function_(std::move(function)) {}
  virtual ~FunctionStatement() = default;
  const std::string& function() const { return function_; }  // its name
  // Of the statement's results. UserError where the arguments do not fit.
  virtual Types results(const Types& args, const TypesOf& of_function) const { return of_function(args, nullptr); }
  virtual std::vector<Array> run(const ArrayFunction& function, const std::vector<Array>& args, Where where) const = 0;

 private:
  std::string function_;
};

std::span<const StatementDef> function_statements();

}  // namespace shardlab::scenarios
