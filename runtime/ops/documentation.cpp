#include "runtime/ops/documentation.h"

#include <fmt/format.h>

#include "runtime/ops/registry.h"

namespace shardlab {
namespace {

std::string operand_count(const OpDef& op) {
  if (op.operands_max < 0) return fmt::format("{} or more", op.operands_min);
  if (op.operands_min == op.operands_max) return fmt::format("{}", op.operands_min);
  return fmt::format("{} to {}", op.operands_min, op.operands_max);
}

std::string attributes(const OpDef& op) {
  std::string text;
  for (const AttrDef& attr : op.attrs)
    text += fmt::format("{}`{}`{}: {}", text.empty() ? "" : "<br>", attr.name, attr.required ? " (required)" : "", attr.doc);
  return text;
}

std::string names(const OpDef& op) {
  std::string text = fmt::format("`{}`", op.name);
  for (std::string_view alias : op.aliases) text += fmt::format(", `{}`", alias);
  return text;
}

// An example of the factor rule: that of the first sample with dimensions.
std::string example_rule(const OpDef& op) {
  if (!op.is_primitive()) return "expands";
  for (const Sample& sample : op.samples()) {
    FactorRule rule = op.rule(sample.operands, op.infer(op, sample.operands, sample.attrs), sample.attrs);
    if (!rule.present) return "none: takes what its users give";
    if (!rule.factors.empty()) return fmt::format("`{}`", rule.text());
  }
  return "";
}

}  // namespace

std::string op_table_markdown() {
  std::string text =
      "# Ops\n\n"
      "Generated from the definitions in `runtime/ops`; `tests/ops` compares this page with them and says how to write it anew.\n"
      "A primitive has a shape rule, a factor rule and a kernel; the others expand into primitives as JAX lowers them.\n"
      "The factor rule is that of an example: factors with their sizes, then the factors of each dimension of operands and results.\n\n"
      "| op | operands | attributes | what it does | factor rule |\n|---|---|---|---|---|\n";
  for (const OpDef* op : all_ops())
    text += fmt::format("| {} | {} | {} | {} | {} |\n", names(*op), operand_count(*op), attributes(*op), op->doc, example_rule(*op));
  return text;
}

}  // namespace shardlab
