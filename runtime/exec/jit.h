// jit: traces a function into one graph, partitions it and runs it as one program.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <tuple>
#include <typeindex>

#include "runtime/exec/tree_function.h"

namespace shardlab {

struct JitOptions {
  std::string name = "jit";
  // One per argument (for all leaves of a tree) or one per leaf; empty: as the arguments lie. An argument that lies otherwise is moved
  // (uncommitted) or an error (committed).
  std::vector<std::optional<Sharding>> in_shardings;
  // One per result (for all leaves of each element of a tuple that is returned, or of the one tree) or one per leaf; empty: as propagation
  // chooses.
  std::vector<std::optional<Sharding>> out_shardings;
  // Arguments whose memory the function may take, with all their leaves: each array is deleted by a call where a result has its shape,
  // dtype and sharding, and lives on where none has.
  std::vector<int> donate_argnums = {};
  // Results may be left cut finer than propagation says, where that moves less: every device then holds a part of what JAX gives it.
  bool finer_results = false;
  // Results that nobody places lie as if the function's ops ran one by one, as JAX runs what is not jitted.
  bool lies_by_ops = false;
};

// A function of arrays that owns its cache of programs; the key is the arguments' types, shardings and committedness. Arrays that the
// function captures become constants. Thread-compatible.
class JitFunction {
 public:
  // The leaves of a call's arguments.
  struct Call {
    std::vector<Array> args;
    LeafCounts counts = {};  // how many each argument has; empty: one each
    // Tells apart calls that the function answers differently for equal types: trees of another form, other static values.
    std::string_view structure = {};
    std::function<KeyPaths()> paths = {};  // where each leaf is, for errors; empty: "[0]", "[1]" …
  };
  JitFunction(TreeFunction function, JitOptions options);
  std::vector<Array> call(const Call& call, Where where) const;
  std::vector<Array> call(const std::vector<Array>& args, Where where) const { return call(Call{args}, where); }
  // The program before (traced) or after partitioning, as text, for these arguments.
  std::string lowered(const Call& call, bool partitioned, Where where = {}) const;
  std::string lowered(const std::vector<Array>& args, bool partitioned) const { return lowered(Call{args}, partitioned); }
  // Why each value has its sharding; for each collective who asked for it, its bytes and what would avoid it; and all of them in order,
  // with those of per-device code.
  std::string explained(const Call& call, Where where) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// A function lowered for some arguments: jit(f).lower(x).as_text(), jit(f).lower(x).compile().as_text().
class Lowered {
 public:
  class Compiled {
   public:
    explicit Compiled(std::string text) : text_(std::move(text)) {}
    const std::string& as_text() const { return text_; }

   private:
    std::string text_;
  };
  Lowered(std::string traced, std::string partitioned) : traced_(std::move(traced)), compiled_(std::move(partitioned)) {}
  // The program as it was traced, with the user's lines.
  const std::string& as_text() const { return traced_; }
  // As partitioned: the forms of all values, and the collectives between them.
  const Compiled& compile() const { return compiled_; }

 private:
  std::string traced_;
  Compiled compiled_;
};

namespace detail {

// The programs of a function whose arguments have these C++ types, one for each signature of them. The function's own type is not part of
// this one, so that all functions of the same types share one compiled copy.
template <typename Result, typename... Args>
class Programs {
 public:
  template <typename F>
  Programs(const F& function, const JitOptions& options)
      : function_([function](std::source_location where, const Args&... args) -> Result { return invoke_at(function, where, args...); }),
        jit_([this](const std::vector<Array>& leaves) { return traced(leaves); }, options) {}
  Programs(const Programs&) = delete;
  Programs& operator=(const Programs&) = delete;

  Result call(std::source_location where, const std::string& name, const Args&... args) {
    const std::string signature = prepare(where, args...);
    std::vector<Array> leaves = jit_.call(leaves_of(signature), Where::from(where));
    args_ = {};
    auto found = results_.find(signature);
    SL_CHECK(found != results_.end(), "a program of {} was never traced", name);
    return tree::unflatten(found->second, leaves);
  }
  Lowered lower(std::source_location where, const Args&... args) {
    const std::string signature = prepare(where, args...);
    const JitFunction::Call call = leaves_of(signature);
    return {jit_.lowered(call, false, Where::from(where)), jit_.lowered(call, true, Where::from(where))};
  }
  std::string explain(std::source_location where, const Args&... args) {
    const std::string signature = prepare(where, args...);
    return jit_.explained(leaves_of(signature), Where::from(where));
  }

 private:
  const std::string& prepare(std::source_location where, const Args&... args) {
    args_ = std::tuple<Args...>(args...);
    where_ = where;
    return signature_ = tree::text(args_);
  }
  JitFunction::Call leaves_of(std::string_view signature) {
    return {tree::leaves(args_), tree::parts(args_), signature, [this] { return tree::key_paths(args_); }};
  }
  TreeResults traced(const std::vector<Array>& leaves) {
    const std::string signature = signature_;  // the function may call itself through jit
    std::span<const Array> rest(leaves);
    auto params = std::apply([&](const auto&... each) { return std::tuple<Args...>{tree::unflatten(each, rest)...}; }, args_);
    Result result = std::apply([&](const auto&... each) { return function_(where_, each...); }, params);
    results_.insert_or_assign(signature, result);
    return TreeResults(tree::leaves(result), tree::parts(result), tree::key_paths(result));
  }

  std::function<Result(std::source_location, const Args&...)> function_;
  JitFunction jit_;
  std::tuple<Args...> args_;  // of the call under way
  std::source_location where_;
  std::string signature_;
  std::map<std::string, Result> results_;  // a structure for every signature traced; its arrays are spent tracers
};

}  // namespace detail

// jit(f)(x, y, 3): f takes trees of arrays and returns one (runtime/exec/tree.h); numbers and strings among the arguments are static, each
// value is a program of its own. Results have the structure that f gave them when it was traced for such arguments.
template <typename F>
class Jitted : public detail::AtLine<Jitted<F>> {
 public:
  Jitted(F function, JitOptions options, std::source_location made)
      : function_(std::move(function)), options_(std::move(options)), made_(made) {}

  // With the caller's line given: jit(f).call_at(std::source_location::current(), x).
  template <typename... Args>
  auto call_at(std::source_location where, const Args&... args) const {
    return programs<Args...>()->call(where, options_.name, args...);
  }
  // The program for these arguments before and after partitioning, without running it.
  template <typename... Args>
  Lowered lower(const Args&... args) const {
    return programs<Args...>()->lower(made_, args...);
  }
  // Why the values have their shardings, and for each collective who asks for it, its bytes and what would avoid it.
  template <typename... Args>
  std::string explain(const Args&... args) const {
    return programs<Args...>()->explain(made_, args...);
  }

 private:
  template <typename... Args>
  auto programs() const {
    using Programs = detail::Programs<detail::ResultOf<F, Args...>, Args...>;
    std::shared_ptr<void>& slot = programs_[std::type_index(typeid(Programs))];
    if (!slot) slot = std::make_shared<Programs>(function_, options_);
    return std::static_pointer_cast<Programs>(slot);
  }

  F function_;
  JitOptions options_;
  std::source_location made_;  // the line of jit(…), for what has none of its own
  mutable std::map<std::type_index, std::shared_ptr<void>> programs_;
};

template <typename F>
Jitted<F> jit(F function, JitOptions options = {}, std::source_location made = std::source_location::current()) {
  return Jitted<F>(std::move(function), std::move(options), made);
}

}  // namespace shardlab
