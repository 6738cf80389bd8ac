// The cache of programs: a call's signature to what runs it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/exec/array.h"
#include "runtime/exec/executable.h"
#include "runtime/exec/tree_function.h"

namespace shardlab {

class Context;

class ProgramCache {
 public:
  std::shared_ptr<const Executable> find(const std::string& key) const;
  void add(const std::string& key, std::shared_ptr<const Executable> executable);
  // How many functions of the user's came from a line before: functions have no identity, but lines that run the same program in several
  // processes count alike, whatever else each process does.
  std::uint64_t next_function_at(const std::string& place) { return functions_[place]++; }

 private:
  // Bounded: when it is full the whole cache is dropped, since a program that makes so many signatures profits from none.
  static constexpr std::size_t kProgramsMax = 16 * 1024;
  std::unordered_map<std::string, std::shared_ptr<const Executable>> programs_;
  std::unordered_map<std::string, std::uint64_t> functions_;
};

// A traced function to be run on arrays: what decides its mesh and shardings.
struct ProgramRequest {
  std::string name;
  std::vector<Array> args;
  std::vector<std::optional<Sharding>> in_shardings,
      out_shardings;  // empty, or one each; those of results one a part of them, or one a leaf
  std::function<Graph(const std::vector<Array>& args, const std::optional<Mesh>&)> trace;  // called where no program is known
  Where where;
  std::vector<int> donated = {};  // arguments that may be deleted
  // Which results are weak; filled by `trace`.
  std::shared_ptr<std::vector<bool>> weak_results = std::make_shared<std::vector<bool>>();
  // How many leaves each part of the result has, or nothing: one each; filled by `trace`.
  std::shared_ptr<LeafCounts> result_parts = std::make_shared<LeafCounts>();
  // Where each leaf of the arguments and of the results is, for errors; the latter filled by `trace`.
  std::function<KeyPaths()> arg_paths = {};
  std::shared_ptr<KeyPaths> result_paths = std::make_shared<KeyPaths>();
  bool finer_results = false;  // results may be left cut finer than JAX's, at fewer bytes
  bool lies_by_ops = false;    // results that nobody places lie as if the ops ran one by one
  bool is_jitted = false;      // a user's function, and no op by itself, whose scalars are arguments in JAX
};

// "pjit arguments with pytree key path args[0]['w']".
std::string leaf_text(std::string_view what, std::string_view root, const KeyPaths& paths, std::size_t leaf);

// The leaves of a tree by their key paths, for errors: "args[0]['b'], args[0]['w']".
std::string leaves_text(std::string_view root, const KeyPaths& paths, std::size_t count);

// One out_sharding a leaf, of those given one a part of the result or one a leaf. UserError where they are neither.
std::vector<std::optional<Sharding>> result_shardings(const std::vector<std::optional<Sharding>>& given, const LeafCounts& parts,
                                                      const KeyPaths& paths, std::size_t leaves, std::string_view name, Where where);

// The mesh a computation runs on: that of shardings, committed arguments and constraints, which must be one ordered device set; nothing
// where nobody says. UserError with JAX's text where they differ; not before the function is traced (`graph` is nullptr): it may turn out
// that nothing is computed from some arguments. `used`: the arguments that the program takes; empty: all.
std::optional<Mesh> mesh_of(const ProgramRequest& request, const Graph* graph, const std::vector<bool>& used = {});

// The request with the arguments alone that the program takes. What nothing is computed from is no parameter of a jitted function, as in
// JAX: it does not say where the program runs.
ProgramRequest taken_of(const ProgramRequest& request, const Executable& executable);

// Finds or makes the program, and launches it.
std::vector<Array> run_program(Context& context, const std::string& key, const ProgramRequest& request);
// The program alone.
std::shared_ptr<const Executable> prepare_program(Context& context, const std::string& key, const ProgramRequest& request);

}  // namespace shardlab
