#include "runtime/ops/distributions.h"

#include <fmt/format.h>

#include <deque>
#include <map>

#include "runtime/ops/op_tables.h"

namespace shardlab::ops {
namespace {

struct Kind {
  std::string_view name, doc;
};
constexpr Kind kKinds[] = {{"pdf", "The density"},
                           {"logpdf", "The density's logarithm"},
                           {"pmf", "The probability"},
                           {"logpmf", "The probability's logarithm"},
                           {"cdf", "The share below x"},
                           {"logcdf", "The logarithm of the share below x"},
                           {"sf", "The share above x"},
                           {"logsf", "The logarithm of the share above x"},
                           {"ppf", "The number below which the share x lies"},
                           {"isf", "The number above which the share x lies"}};

// A definition's texts, and what it computes.
struct Entry {
  std::string name, doc;
  std::vector<AttrDef> attrs;
  const Distribution* distribution;
  DistributionFunction function;
  Weakness weakness;
  bool takes_complex;
};

const std::map<std::string_view, const Entry*>& entries_by_name();

// Parameters follow the value as operands, or have names.
Values expand_member(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const Entry& entry = *entries_by_name().at(op.name);
  std::vector<Arg> given{args[0]};
  std::size_t by_place = args.size();
  for (const DistributionParameter& each : entry.distribution->parameters) by_place -= attrs.has(each.name) ? 1 : 0;
  for (const DistributionParameter& each : entry.distribution->parameters) {
    if (std::optional<Arg> named = named_operand(op, args, attrs, each.name))
      given.push_back(*named);
    else if (given.size() < by_place)
      given.push_back(args[given.size()]);
    else if (each.otherwise)
      given.emplace_back(Scalar{*each.otherwise});
    else
      throw_user_error("{}() missing 1 required positional argument: '{}'", op.name, each.name);
  }
  const DType dtype = inexact(promoted_dtype(b, given));
  if (is_complex(dtype) && !entry.takes_complex) throw_user_error("{} does not support complex-valued inputs.", op.name);
  std::vector<Term> terms;
  for (const Arg& arg : given) terms.emplace_back(b, value_of(b, arg, dtype));
  return {entry.function(terms).id()};
}

struct Table {
  std::deque<Entry> entries;
  std::vector<OpDef> ops;

  Table() {
    for (auto list : {continuous_distributions(), discrete_distributions()})
      for (const Distribution& distribution : list)
        for (const DistributionMember& member : distribution.members) add(distribution, member);
    for (const Entry& entry : entries)
      ops.push_back(composite_of(
          {entry.name, entry.doc, expand_member, 1, int(entry.distribution->parameters.size()) + 1, entry.attrs, {}, entry.weakness}));
  }
  void add(const Distribution& distribution, const DistributionMember& member) {
    std::string parameters;
    std::vector<AttrDef> attrs;
    for (const DistributionParameter& each : distribution.parameters) {
      parameters += fmt::format(", {}", each.name);
      attrs.push_back({each.name, kNamedOperand, false, "the parameter, by name"});
    }
    auto kind = std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind& each) { return each.name == member.name; });
    SL_CHECK(kind != std::end(kKinds), "no kind {}", member.name);
    entries.push_back({fmt::format("stats.{}.{}", distribution.name, member.name),
                       fmt::format("{} of {} distribution: args x{}.", kind->doc, distribution.called, parameters), attrs, &distribution,
                       member.function, member.weakness, member.takes_complex});
  }
};

const Table& table() {
  static const Table& made = *new Table;
  return made;
}

const std::map<std::string_view, const Entry*>& entries_by_name() {
  static const auto& by_name = *new std::map<std::string_view, const Entry*>([] {
    std::map<std::string_view, const Entry*> names;
    for (const Entry& entry : table().entries) names.emplace(entry.name, &entry);
    return names;
  }());
  return by_name;
}

}  // namespace

std::span<const OpDef> distribution_ops() { return table().ops; }

}  // namespace shardlab::ops
