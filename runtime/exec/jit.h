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

// jit(f)(x, y, 3): f takes trees of arrays and returns one (runtime/exec/tree.h); numbers and strings among the arguments are static, each
// value is a program of its own. Results have the structure that f gave them when it was
// traced for such arguments.
template <typename F>
class Jitted : public detail::AtLine<Jitted<F>> {
 public:
  Jitted(F function, JitOptions options, std::source_location made)
      : function_(std::move(function)), options_(std::move(options)), made_(made) {}

  // With the caller's line given: jit(f).call_at(std::source_location::current(), x).
  template <typename... Args>
  auto call_at(std::source_location where, const Args&... args) const {
    auto state = prepared(where, args...);
    std::string signature = state->signature;
    std::vector<Array> leaves = state->jit->call(leaves_of(*state, signature), Where::from(where));
    state->args = {};
    auto found = state->results.find(signature);
    SL_CHECK(found != state->results.end(), "a program of {} was never traced", options_.name);
    return tree::unflatten(found->second, leaves);
  }
  // The program for these arguments before and after partitioning, without running it.
  template <typename... Args>
  Lowered lower(const Args&... args) const {
    auto state = prepared(made_, args...);
    const std::string signature = state->signature;
    const JitFunction::Call call = leaves_of(*state, signature);
    return {state->jit->lowered(call, false, Where::from(made_)), state->jit->lowered(call, true, Where::from(made_))};
  }
  // Why the values have their shardings, and for each collective who asks for it, its bytes and what would avoid it.
  template <typename... Args>
  std::string explain(const Args&... args) const {
    auto state = prepared(made_, args...);
    const std::string signature = state->signature;
    return state->jit->explained(leaves_of(*state, signature), Where::from(made_));
  }

 private:
  // Of calls with arguments of these C++ types. `results` holds a structure for every signature traced; its arrays are spent tracers.
  template <typename... Args>
  struct Traces {
    using Result =
        std::decay_t<decltype(detail::invoke_at(std::declval<const F&>(), std::source_location(), std::declval<const Args&>()...))>;
    std::unique_ptr<JitFunction> jit;
    std::tuple<Args...> args;  // of the call under way
    std::source_location where;
    std::string signature;
    std::map<std::string, Result> results;
  };

  template <typename... Args>
  static JitFunction::Call leaves_of(const Traces<Args...>& state, std::string_view signature) {
    return {tree::leaves(state.args), tree::parts(state.args), signature, [&state] { return tree::key_paths(state.args); }};
  }

  template <typename... Args>
  std::shared_ptr<Traces<Args...>> prepared(std::source_location where, const Args&... args) const {
    using State = Traces<Args...>;
    auto state = std::static_pointer_cast<State>(traces_[std::type_index(typeid(State))]);
    if (!state) {
      state = std::make_shared<State>();
      state->jit = std::make_unique<JitFunction>(
          [function = function_, s = state.get()](const std::vector<Array>& leaves) {
            const std::string signature = s->signature;  // the function may call itself through jit
            std::span<const Array> rest(leaves);
            auto params = std::apply([&](const auto&... each) { return std::tuple<Args...>{tree::unflatten(each, rest)...}; }, s->args);
            auto result = std::apply([&](const auto&... each) { return detail::invoke_at(function, s->where, each...); }, params);
            s->results.insert_or_assign(signature, result);
            return TreeResults(tree::leaves(result), tree::parts(result), tree::key_paths(result));
          },
          options_);
      traces_[std::type_index(typeid(State))] = state;
    }
    state->args = std::tuple<Args...>(args...);
    state->where = where;
    state->signature = tree::text(state->args);
    return state;
  }

  F function_;
  JitOptions options_;
  std::source_location made_;  // the line of jit(…), for what has none of its own
  mutable std::map<std::type_index, std::shared_ptr<void>> traces_;
};

template <typename F>
Jitted<F> jit(F function, JitOptions options = {}, std::source_location made = std::source_location::current()) {
  return Jitted<F>(std::move(function), std::move(options), made);
}

}  // namespace shardlab
