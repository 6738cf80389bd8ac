// The canonical text of a graph; parse.cpp reads it back.
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "runtime/graph/graph.h"

namespace shardlab {
namespace {

bool is_plain_name(const std::string& name) {
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) return false;
  return std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '.'; });
}

// Bodies have lines of their own.
std::string indented(const std::string& text) {
  std::string result;
  for (char c : text) {
    result += c;
    if (c == '\n') result += "    ";
  }
  return result;
}

class Printer {
 public:
  explicit Printer(const Graph& graph) : graph_(graph), numbers_(graph.values.size(), -1) {}

  std::string text(bool with_where) {
    std::string text = is_plain_name(graph_.name) ? graph_.name : text_of(AttrValue(graph_.name));
    text += '(';
    for (std::size_t i = 0; i < graph_.params.size(); ++i)
      text += fmt::format("{}{}: {}", i ? ", " : "", define(graph_.params[i]), graph_.type(graph_.params[i]).text());
    text += ") {\n";
    for (const Node& node : graph_.nodes) text += "  " + node_text(node, with_where) + '\n';
    text += graph_.results.empty() ? "  return\n}\n" : fmt::format("  return {}\n}}\n", names(graph_.results));
    return text;
  }

 private:
  std::string define(ValueId id) {
    numbers_[id] = next_++;
    return name(id);
  }
  std::string name(ValueId id) const { return fmt::format("%{}", numbers_[id]); }
  std::string names(const std::vector<ValueId>& ids) const {
    std::vector<std::string> texts;
    for (ValueId id : ids) texts.push_back(name(id));
    return fmt::format("{}", fmt::join(texts, ", "));
  }

  std::string node_text(const Node& node, bool with_where) {
    std::string operands = names(node.operands);
    std::vector<std::string> results, types;
    for (ValueId id : node.results) {
      results.push_back(define(id));
      types.push_back(graph_.type(id).text());
    }
    std::string text = fmt::format("{} = {}({})", fmt::join(results, ", "), node.op->name, operands);
    if (!node.attrs.entries().empty()) {
      text += " {";
      for (std::size_t i = 0; i < node.attrs.entries().size(); ++i) {
        const auto& [key, value] = node.attrs.entries()[i];
        text += fmt::format("{}{} = {}", i ? ", " : "", key, indented(text_of(value)));
      }
      text += '}';
    }
    text += fmt::format(" : {}", fmt::join(types, ", "));
    if (with_where) text += fmt::format("  // {} at {}", node.user_op, node.where.text());
    return text;
  }

  const Graph& graph_;
  std::vector<int> numbers_;  // as printed, per value
  int next_ = 0;
};

}  // namespace

std::string print(const Graph& graph, bool with_where) { return Printer(graph).text(with_where); }

}  // namespace shardlab
