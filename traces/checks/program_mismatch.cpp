#include <fmt/format.h>

#include <algorithm>

#include "traces/checks/abandoned.h"
#include "traces/checks/definitions.h"
#include "traces/checks/messages.h"
#include "traces/checks/mismatch.h"
#include "traces/checks/origin.h"
#include "traces/checks/program_diff.h"
#include "traces/checks/wording.h"

namespace shardlab {

TwoSides two_sides(const Disagreement& disagreement) {
  TwoSides two;
  std::vector<int> guilty = disagreement.guilty();
  for (const Side& side : disagreement.sides)
    if (!two.guilty && !side.guilty.empty()) two.guilty = &side;
  const Side* reference = &disagreement.sides[disagreement.reference];
  two.other = reference != two.guilty ? reference : nullptr;
  for (const Side& side : disagreement.sides)
    if (!two.other && &side != two.guilty) two.other = &side;
  for (int p : two.other->processes)
    if (disagreement.tie || !std::binary_search(guilty.begin(), guilty.end(), p)) two.others.push_back(p);
  if (two.others.empty()) two.others = two.other->processes;
  return two;
}

namespace {

// Node by node, and what the differing attributes are called in `fields`.
void add_differences(const ProgramEvidence& a, const ProgramEvidence& b, const TwoSides& two, Diagnosis& diagnosis) {
  constexpr std::pair<std::string_view, std::string_view> kFields[] = {
      {"attribute root", "root"},       {"attribute source", "root"}, {"attribute split_sizes", "count"},
      {"attribute pairs", "pairs"},     {"attribute perm", "pairs"},  {"attribute axis_index_groups", "group"},
      {"attribute channel", "channel"}, {"devices", "mesh"}};
  std::size_t number = 0;
  for (const ProgramDifference& each : program_differences(a.text, b.text)) {
    diagnosis.details.emplace_back(fmt::format("difference {}", ++number),
                                   text_of(each, processes_text(two.guilty->processes), processes_text(two.other->processes)));
    for (auto [what, field] : kFields) {
      if (each.what != what || std::find(diagnosis.fields.begin(), diagnosis.fields.end(), field) != diagnosis.fields.end()) continue;
      std::erase(diagnosis.fields, "code");
      diagnosis.fields.emplace_back(field);
    }
  }
  std::vector<int> left = a.devices, right = b.devices;
  std::sort(left.begin(), left.end());
  std::sort(right.begin(), right.end());
  if (left == right && a.devices != b.devices) diagnosis.details.emplace_back("mesh", "the same devices in another order");
}

}  // namespace

Diagnosis diagnosis_of(const Positions& positions, const Disagreement& disagreement) {
  const Evidence& evidence = positions.evidence();
  Diagnosis diagnosis;
  diagnosis.processes = disagreement.guilty();
  diagnosis.tie = disagreement.tie;
  std::vector<int> others = disagreement.innocent();
  for (const Side& side : disagreement.sides)
    for (int p : positions.participants(*side.call))
      if (std::find(positions.processes().begin(), positions.processes().end(), p) != positions.processes().end()) others.push_back(p);
  std::sort(others.begin(), others.end());
  others.erase(std::unique(others.begin(), others.end()), others.end());
  diagnosis.participants = sides(positions, diagnosis.processes, others);
  TwoSides two = two_sides(disagreement);
  const ProgramEvidence* a = evidence.program(*two.guilty->call);
  const ProgramEvidence* b = evidence.program(*two.other->call);
  diagnosis.fields = differing_fields(a, b);
  // Of calls in one place; a call that is missing is no other version of the one that comes instead.
  if (a && b && two.guilty->alignment.relation == Relation::kProgram) {
    LineDifference difference = first_difference(a->text, b->text);
    if (difference.line > 0) {
      diagnosis.details.emplace_back("first differing line", std::to_string(difference.line));
      diagnosis.details.emplace_back(fmt::format("line on {}", processes_text(two.guilty->processes)), difference.a);
      diagnosis.details.emplace_back(fmt::format("line on {}", processes_text(two.other->processes)), difference.b);
    }
    add_differences(*a, *b, two, diagnosis);
  }
  diagnosis.details.emplace_back("look_ahead", std::to_string(evidence.look_ahead_calls));
  int one = two.guilty->guilty.empty() ? two.guilty->processes.front() : two.guilty->guilty.front();
  // The same op of another type or sharding: where its operands come from.
  const bool same_op = std::find(diagnosis.fields.begin(), diagnosis.fields.end(), "op") == diagnosis.fields.end();
  const bool is_given_otherwise = two.guilty->alignment.relation == Relation::kProgram && same_op;
  add_origin(positions, one, two.others.front(), is_given_otherwise ? Dispute::kOperands : Dispute::kCalls, diagnosis);
  return diagnosis;
}

namespace {

std::vector<Diagnosis> run(const Evidence& evidence) {
  Positions positions(evidence);
  std::vector<Diagnosis> found;
  for (const Disagreement& disagreement : disagreements_of(positions, {Relation::kProgram})) {
    Diagnosis diagnosis = diagnosis_of(positions, disagreement);
    TwoSides two = two_sides(disagreement);
    const StepEvidence* step = two.guilty->alignment.step;
    std::string mine =
        step ? fmt::format("{}{} on devices of its own", step->what, where_text(step->where)) : call_at(evidence, *two.guilty->call);
    diagnosis.message = fmt::format("{} {} where {} {}", subject(two.guilty->guilty, "run"), mine, subject(two.others, "run"),
                                    call_at(evidence, *two.other->call));
    if (step) diagnosis.fields = {"mesh"};
    bool look_alike = call_text(evidence, *two.guilty->call) == call_text(evidence, *two.other->call);
    const ProgramEvidence* guilty = evidence.program(*two.guilty->call);
    if (diagnosis.fields == std::vector<std::string>{"async"})
      diagnosis.message += is_async(*guilty) ? ": it is begun there, to be waited for later, and the others wait in it"
                                             : ": it is waited in there, and the others begin it, to wait for it later";
    for (const auto& [name, value] : diagnosis.details)
      if (look_alike && diagnosis.fields.front() != "async" && name == "difference 1")
        diagnosis.message += fmt::format(", and their programs differ: {}", value);
    for (const Side& side : disagreement.sides) {
      if (&side == two.guilty || &side == two.other || side.guilty.empty()) continue;
      diagnosis.message += fmt::format("; {} {}", subject(side.guilty, "run"), call_at(evidence, *side.call));
    }
    found.push_back(std::move(diagnosis));
  }
  for (const Abandoned& call : abandoned_calls(positions)) {
    if (!call.step) continue;
    Diagnosis diagnosis = diagnosis_of(positions, call);
    diagnosis.fields = {"mesh"};
    diagnosis.message =
        fmt::format("{} {}{} on devices of {} own, where {} {}", subject(call.lack, "run"), call.step->what, where_text(call.step->where),
                    call.lack.size() == 1 ? "its" : "their", subject(call.have, "run"), call_at(evidence, *call.call));
    found.push_back(std::move(diagnosis));
  }
  for (const MessageFault& fault : message_faults(positions))
    if (fault.kind == MessageFault::Kind::kType || fault.kind == MessageFault::Kind::kTag || fault.kind == MessageFault::Kind::kPeer)
      found.push_back(diagnosis_of(positions, fault));
  return found;
}

}  // namespace

const CheckDef kProgramMismatch{
    .code = "program-mismatch",
    .severity = "error",
    .summary = "where the others issue one program, these issue another; `fields` says what differs",
    .explain =
        "Every process that owns a device of a launch must run the same program on it, with the same shapes, types and shardings. Here "
        "processes meet in one place with different programs. On real hardware this hangs, or worse, combines values that do not belong "
        "together. Usual causes are operands or shardings chosen by process_index(), values read from one process's files, and versions "
        "of the program that differ between machines. `fields` names what differs, and the two lines show where each side is.",
    .run = run,
};

}  // namespace shardlab
