// Functions of the user's on the host, called while a program runs: pure_callback, io_callback, debug::callback and debug::print.
//
// Outside of per-device code the operands come whole to the first device of the mesh, which calls once, in its process; what the function
// gives goes to all devices. Inside shard_map every device calls with its own values. A call waits for the operands and holds no lock; what
// the function throws is what the launch fails with, at its first use, with this line.
#pragma once

#include <functional>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/exec/host_array.h"
#include "runtime/exec/operand.h"

namespace shardlab {

using HostArrays = std::vector<HostArray>;
using HostFunction = std::function<HostArrays(const HostArrays&)>;

struct PureCallbackOptions {
  // Under vmap: "sequential" and "sequential_unrolled" call once for each element of the batch; "broadcast_all" gives all operands the
  // batch as their first dimension, "expand_dims" those that lack it one element there, "legacy_vectorized" nothing. Empty: vmap is an
  // error.
  std::string vmap_method = {};
};
struct IoCallbackOptions {
  bool ordered = false;  // calls happen in the program's order; vmap is an error
};
struct DebugOptions {
  bool ordered = false;      // calls happen in the program's order
  bool partitioned = false;  // each device calls with its own part of the operands
};

// The results of `function`, of these types: it has no effect, so it may be called not at all, or more than once. UserError for 64-bit
// types while they are off. The launch fails where the function gives others.
std::vector<Array> pure_callback(HostFunction function, const std::vector<TensorType>& results, const std::vector<Operand>& operands,
                                 const PureCallbackOptions& options = {}, std::source_location where = std::source_location::current());
// The same of a function that may have effects: it is called once each time, whether its results are used or not.
std::vector<Array> io_callback(HostFunction function, const std::vector<TensorType>& results, const std::vector<Operand>& operands,
                               const IoCallbackOptions& options = {}, std::source_location where = std::source_location::current());

namespace detail {

template <typename F>
HostFunction as_list(F function) {
  return [function = std::move(function)](const HostArrays& args) { return HostArrays{function(args)}; };
}

}  // namespace detail

// With one result, of a function that gives one value.
template <typename F>
  requires std::is_invocable_r_v<HostArray, F, const HostArrays&>
Array pure_callback(F function, const TensorType& result, const std::vector<Operand>& operands, const PureCallbackOptions& options = {},
                    std::source_location where = std::source_location::current()) {
  return pure_callback(detail::as_list(std::move(function)), std::vector<TensorType>{result}, operands, options, where)[0];
}
template <typename F>
  requires std::is_invocable_r_v<HostArray, F, const HostArrays&>
Array io_callback(F function, const TensorType& result, const std::vector<Operand>& operands, const IoCallbackOptions& options = {},
                  std::source_location where = std::source_location::current()) {
  return io_callback(detail::as_list(std::move(function)), std::vector<TensorType>{result}, operands, options, where)[0];
}

// Waits until everything launched has run, callbacks too. Throws what one of them failed with, where nobody was told. JAX:
// jax.effects_barrier().
void effects_barrier();

namespace debug {

// Calls with the values, for what it does. Derivatives and batches call it as the function itself does.
void callback(std::function<void(const HostArrays&)> function, const std::vector<Operand>& operands, const DebugOptions& options = {},
              std::source_location where = std::source_location::current());

// An argument of print: a value, or a text that is known already; by name where it has one.
struct PrintArg {
  std::string name;
  std::variant<Operand, std::string> value;
};
template <typename T>
PrintArg named(std::string name, const T& value) {
  if constexpr (std::is_convertible_v<T, std::string>)
    return {std::move(name), std::string(value)};
  else
    return {std::move(name), Operand(value)};
}
inline PrintArg named(std::string name, PrintArg arg) { return {std::move(name), std::move(arg.value)}; }

// A format with the user's line.
struct PrintFormat {
  template <typename T>
    requires std::is_convertible_v<T, std::string_view>
  PrintFormat(const T& format, std::source_location line = std::source_location::current())  // NOLINT: implicit on purpose
      : text(format), where(Where::from(line)) {}
  std::string_view text;
  Where where;
};

void print_args(const PrintFormat& format, const std::vector<PrintArg>& args, const DebugOptions& options);

// Prints to standard output each time the program comes to it: debug::print("step {}: loss = {loss:.3f}", i, debug::named("loss", loss)).
// Formats are Python's (python_format.h). UserError for arguments that the format does not ask for, and the other way round.
template <typename... Args>
void print(const DebugOptions& options, const PrintFormat& format, const Args&... args) {
  [[maybe_unused]] auto as_arg = []<typename T>(const T& arg) -> PrintArg {
    if constexpr (std::is_same_v<T, PrintArg>)
      return arg;
    else
      return named("", arg);
  };
  print_args(format, {as_arg(args)...}, options);
}
template <typename... Args>
void print(const PrintFormat& format, const Args&... args) {
  print(DebugOptions{}, format, args...);
}

}  // namespace debug
}  // namespace shardlab
