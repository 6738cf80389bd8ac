#include "runtime/base/call_stack.h"

#include <cxxabi.h>
#include <execinfo.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>

#include "runtime/base/call_places.h"
#include "runtime/base/elf_symbols.h"
#include "runtime/base/modules.h"

namespace shardlab {
namespace {

// Names of functions by address, "" where none is known.
std::vector<std::string> symbols_of(std::span<const std::uintptr_t> stack) {
  std::vector<std::string> names(stack.size());
  for (const Module& module : modules()) {
    std::vector<std::size_t> which;
    std::vector<std::uintptr_t> addresses;
    for (std::size_t i = 0; i < stack.size(); ++i)
      if (module.contains(stack[i] - 1)) {  // the call, not where it returns to
        which.push_back(i);
        addresses.push_back(stack[i] - 1 - module.base);
      }
    if (which.empty()) continue;
    MappedFile file(module.path);
    std::vector<std::string> found = function_symbols(file.bytes(), addresses);
    for (std::size_t i = 0; i < which.size(); ++i) names[which[i]] = std::move(found[i]);
  }
  return names;
}

bool is_plumbing(std::string_view symbol) {
  static constexpr std::array<std::string_view, 6> kPlumbing{"N8shardlab", "NK8shardlab", "St", "NSt", "NKSt", "N9__gnu_cxx"};
  if (!symbol.starts_with("_Z")) return symbol.starts_with('_');
  symbol.remove_prefix(2);
  while (symbol.starts_with('Z')) symbol.remove_prefix(1);  // of a function's local class
  return std::any_of(kPlumbing.begin(), kPlumbing.end(), [&](std::string_view prefix) { return symbol.starts_with(prefix); });
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
}

}  // namespace

std::vector<std::uintptr_t> call_stack() {
  std::array<void*, 64> frames;
  int count = backtrace(frames.data(), int(frames.size()));
  std::vector<std::uintptr_t> stack;
  for (int i = 1; i < count; ++i) stack.push_back(reinterpret_cast<std::uintptr_t>(frames[std::size_t(i)]));
  return stack;
}

std::string function_name(std::string_view symbol) {
  if (is_plumbing(symbol)) return "";
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> demangled(abi::__cxa_demangle(std::string(symbol).c_str(), nullptr, nullptr, &status), std::free);
  std::string whole = status == 0 && demangled ? demangled.get() : std::string(symbol);
  whole.resize(std::min(whole.size(), whole.find(" [clone")));
  replace_all(whole, "(anonymous namespace)::", "");
  replace_all(whole, "operator()", "call");
  std::string name;
  int nested = 0;
  for (char c : whole) {
    if (c == '(' || c == '<' || c == '[') ++nested;
    if (nested == 0) name += c;
    if (c == ')' || c == '>' || c == ']') --nested;
  }
  if (name.ends_with(" const")) name.resize(name.size() - 6);
  name.erase(0, name.rfind(' ') + 1);  // the result's type
  for (std::size_t at = name.find("{lambda#"); at != std::string::npos; at = name.find("{lambda#"))
    name.replace(at, name.find('}', at) - at + 1, "lambda");
  replace_all(name, "lambda::call", "lambda");
  return name;
}

std::vector<std::string> function_names(std::span<const std::uintptr_t> stack) {
  std::vector<std::string> names = symbols_of(stack);
  for (std::string& name : names) name = function_name(name);
  return names;
}

std::string functions_text(std::span<const std::uintptr_t> stack) {
  std::vector<CallPlace> places;
  for (std::string& name : function_names(stack)) {
    if (name.empty()) continue;
    places.push_back({std::move(name), "", 0});
    if (places.back().function == "main") break;
  }
  return text_of(places);
}

}  // namespace shardlab
