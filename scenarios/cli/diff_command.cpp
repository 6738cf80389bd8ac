// shardlab diff: the first divergence between two runs.
#include <cstdio>

#include "runtime/base/error.h"
#include "scenarios/cli/commands.h"
#include "scenarios/cli/terminal.h"
#include "traces/diff.h"
#include "traces/values.h"

namespace shardlab::cli {
namespace {

constexpr std::size_t kValuesShown = 20;

constexpr OptionDef kOptions[] = {
    {"--values", "", "", "compare the values alone: of runs on other meshes, processes or back ends. All that differ are listed"},
};

using traces::ArrayValues;

void print_pair(const traces::ValuePair& pair, const std::vector<ArrayValues>& left, const std::vector<ArrayValues>& right) {
  if (pair.left < 0 || pair.right < 0) {
    const ArrayValues& only = pair.left >= 0 ? left[std::size_t(pair.left)] : right[std::size_t(pair.right)];
    fmt::print("{}: only in the {} run\n", title_of(only), pair.left >= 0 ? "left" : "right");
    return;
  }
  const ArrayValues &a = left[std::size_t(pair.left)], &b = right[std::size_t(pair.right)];
  fmt::print("{}: {}\n  left:  {}\n  right: {}\n", title_of(a), distance_text(pair, a, b), traces::checksum_text(a.values.checksum),
             traces::checksum_text(b.values.checksum));
  for (const auto* each : {&a, &b})
    if (!each->values.odd_replicas.empty())
      fmt::print("  {}: device {} holds other values of its part than the devices before it\n", each == &a ? "left" : "right",
                 each->values.odd_replicas.front());
}

// False where an array is another one.
bool print_values(traces::TraceReader& left_trace, traces::TraceReader& right_trace, bool all) {
  const std::vector<ArrayValues> left = array_values(left_trace), right = array_values(right_trace);
  for (const auto& [values, trace] : {std::pair(&left, &left_trace), std::pair(&right, &right_trace)})
    if (values->empty()) {
      if (all)
        throw_user_error("shardlab diff --values: {} has no checksums of values; record it with `shardlab run --checksums`", trace->path());
      return true;
    }
  const traces::ValueComparison compared = compare_values(left, right);
  std::size_t shown = 0;
  const auto print_first = [&](int first, const char* head) {
    if (first < 0) return;
    fmt::print("{}", head);
    print_pair(compared.pairs[std::size_t(first)], left, right);
    ++shown;
  };
  print_first(compared.first_difference, "the first array whose values differ: ");
  if (compared.first_rounding >= 0 && (compared.first_difference < 0 || compared.first_rounding < compared.first_difference))
    print_first(compared.first_rounding, "the first array that differs by rounding: ");
  for (std::size_t i = 0; i < compared.pairs.size() && (all || shown < kValuesShown); ++i) {
    const traces::ValuePair& pair = compared.pairs[i];
    if (pair.likeness == Likeness::kEqual || int(i) == compared.first_difference) continue;
    if (!all && pair.likeness == Likeness::kRounding) continue;
    print_pair(pair, left, right);
    ++shown;
  }
  fmt::print("values of {} arrays: {} equal bit for bit, {} differ by rounding, {} differ, {} in one run only\n", compared.pairs.size(),
             compared.equal, compared.rounding, compared.different, compared.unpaired);
  return compared.different == 0;
}

int run(const Arguments& arguments) {
  if (arguments.positional().size() != 2) throw_user_error("shardlab diff: which two traces? give LEFT.db RIGHT.db");
  traces::TraceReader left(arguments.positional()[0]), right(arguments.positional()[1]);
  if (arguments.has("--values")) return print_values(left, right, true) ? 0 : 1;
  std::vector<traces::Difference> found = traces::differences(left, right);
  for (const traces::Difference& each : found) fmt::print("{}\n", text_of(each));
  if (found.empty()) fmt::print("the runs agree in devices, launches, collectives, bytes, arrays and verdicts\n");
  const bool same_values = print_values(left, right, false);
  return found.empty() && same_values ? 0 : 1;
}

}  // namespace

const CommandDef kDiff{.name = "diff",
                       .usage = "LEFT.db RIGHT.db [options]",
                       .summary = "where two runs first differ: launches, collectives, bytes, shardings, verdicts, values; not time",
                       .details =
                           "Values are compared where both runs were recorded with --checksums. Rounding is no difference: up to 1e-5 of\n"
                           "the norm in float32, 1e-11 in float64, 1e-2 in float16, 5e-2 in bfloat16, as complex types by their parts.\n"
                           "Exit code: 0 where the runs agree, 1 where they differ.",
                       .options = kOptions,
                       .run = run};

}  // namespace shardlab::cli
