#include "traces/checks/wording.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <map>

#include "runtime/base/number_list.h"
#include "runtime/base/text.h"

namespace shardlab {
namespace {

// "float32[8,8] P('a', None) on mesh(…)" -> {"float32", "8,8", "P('a', None)"}
struct ValueText {
  std::string dtype, shape, sharding;
};

ValueText parse_value(std::string_view text) {
  ValueText value;
  std::size_t space = text.find(' ');
  std::string_view type = text.substr(0, space);
  std::size_t bracket = type.find('[');
  value.dtype = type.substr(0, bracket);
  if (bracket != std::string_view::npos) {
    std::size_t end = type.find(']', bracket);
    value.shape = type.substr(bracket + 1, end == std::string_view::npos ? end : end - bracket - 1);
  }
  if (space != std::string_view::npos) {
    std::string_view sharding = text.substr(space + 1);
    value.sharding = sharding.substr(0, sharding.find(" on "));
  }
  return value;
}

std::string shardings_text(const std::vector<std::string>& values) {
  std::vector<std::string> shardings;
  for (const std::string& value : values) {
    ValueText parsed = parse_value(value);
    shardings.push_back(parsed.sharding.empty() ? value : parsed.sharding);
  }
  return fmt::format("{}", fmt::join(shardings, ", "));
}

template <typename Project>
bool differ(const std::vector<std::string>& a, const std::vector<std::string>& b, Project project) {
  if (a.size() != b.size()) return true;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (project(parse_value(a[i])) != project(parse_value(b[i]))) return true;
  return false;
}

template <typename Project>
bool values_differ(const ProgramEvidence& a, const ProgramEvidence& b, Project project) {
  return differ(a.operands, b.operands, project) || differ(a.results, b.results, project);
}

using Collective = ProgramEvidence::Collective;
bool collectives_differ(const ProgramEvidence& a, const ProgramEvidence& b, std::string Collective::*field) {
  return !std::equal(a.collectives.begin(), a.collectives.end(), b.collectives.begin(), b.collectives.end(),
                     [&](const Collective& x, const Collective& y) { return x.*field == y.*field; });
}
bool collectives_differ(const ProgramEvidence& a, const ProgramEvidence& b, std::string Collective::*field, bool same_count) {
  return same_count && collectives_differ(a, b, field);
}

// The one device that all pairs "[[0,2],[0,4]]" come from, or -1.
int root_of(std::string_view pairs) {
  int root = -1;
  for (std::size_t at = pairs.find('[', 1); at != std::string_view::npos; at = pairs.find('[', at + 1)) {
    int source = std::atoi(std::string(pairs.substr(at + 1, pairs.find(',', at) - at - 1)).c_str());
    if (root >= 0 && source != root) return -1;
    root = source;
  }
  return root;
}

bool roots_differ(const ProgramEvidence& a, const ProgramEvidence& b) {
  return !std::equal(a.collectives.begin(), a.collectives.end(), b.collectives.begin(), b.collectives.end(),
                     [](const Collective& x, const Collective& y) {
                       int mine = root_of(x.pairs), theirs = root_of(y.pairs);
                       return mine < 0 || theirs < 0 || mine == theirs;
                     });
}

constexpr std::size_t kDevicesTold = 256;  // of one side; the mesh says more about larger sets
constexpr std::string_view kCalledIn = "called in";

// What a side is, in the order of telling.
struct SideField {
  std::string_view name;
  std::string (*value)(const Participant&);
};
constexpr SideField kSideFields[] = {
    {"op", [](const Participant& side) { return side.op.empty() ? "in no call" : side.op; }},
    {"seq", [](const Participant& side) { return side.seq < 0 ? std::string() : std::to_string(side.seq); }},
    {"kind", [](const Participant& side) { return side.kind; }},
    {"type", [](const Participant& side) { return side.dtype + side.shape; }},
    {"sharding", [](const Participant& side) { return side.sharding.substr(side.sharding.starts_with(' ') ? 1 : 0); }},
    {"mesh", [](const Participant& side) { return side.mesh; }},
    {"at", [](const Participant& side) { return side.where == "unknown place" ? std::string() : side.where; }},
    {kCalledIn, [](const Participant& side) { return side.callers; }},
    {"state", [](const Participant& side) { return side.state; }},
};

}  // namespace

std::string processes_text(const std::vector<int>& processes) {
  if (processes.empty()) return "no process";
  if (processes.size() == 1) return fmt::format("process {}", processes.front());
  return fmt::format("processes {}", ranges_text(processes));
}

std::string subject(const std::vector<int>& processes, std::string_view verb) {
  return fmt::format("{} {}{}", processes_text(processes), verb, processes.size() == 1 ? "s" : "");
}

std::string where_text(std::string_view where) {
  return where.empty() || where == "unknown place" ? std::string() : fmt::format(" at {}", where);
}

std::string call_text(const Evidence& evidence, const CallEvidence& call) {
  const ProgramEvidence* program = evidence.program(call);
  if (!program || program->operands.empty()) return call.op;
  return fmt::format("{}({})", call.op, shardings_text(program->operands));
}

std::string call_at(const Evidence& evidence, const CallEvidence& call) { return call_text(evidence, call) + where_text(call.where); }

std::string signal_name(int signal) {
  const char* name = sigabbrev_np(signal);
  return name ? fmt::format("SIG{}", name) : std::string();
}

std::string state_text(const ProcessEvidence& process) {
  switch (process.state) {
    case ProcessState::kJoining:
      return "joining";
    case ProcessState::kRunning:
      return "running";
    case ProcessState::kReading:
    case ProcessState::kWaiting:
      return "waiting";
    case ProcessState::kLeft:
      return "left";
    case ProcessState::kRaised:
      return "raised";
    case ProcessState::kExited:
      return fmt::format("exited with code {}", process.exit_code);
    case ProcessState::kKilled: {
      std::string name = signal_name(process.signal);
      return name.empty() ? fmt::format("killed by signal {}", process.signal)
                          : fmt::format("killed by signal {} ({})", process.signal, name);
    }
    case ProcessState::kSilent:
    case ProcessState::kStopped:
      return "silent";
  }
  return "unknown";
}

std::string whereabouts(const Evidence& evidence, int index) {
  auto found = std::find_if(evidence.processes.begin(), evidence.processes.end(), [&](const auto& each) { return each.process == index; });
  if (found == evidence.processes.end()) return "";
  const ProcessEvidence& process = *found;
  std::string text = state_text(process);
  if (!process.doing.empty()) text += fmt::format(" ({})", process.doing);
  text += where_text(process.where);
  // Between its calls, where that is known beside them.
  bool between = process.state == ProcessState::kRunning && process.where.empty();
  if (between && (process.calls.empty() || process.calls.back().where != process.at)) text += where_text(process.at);
  auto open = std::find_if(process.calls.begin(), process.calls.end(), [](const CallEvidence& call) { return !call.matched; });
  if (open != process.calls.end())
    text += fmt::format("; {} waits for the others", call_at(evidence, *open));
  else if (!process.calls.empty())
    text += fmt::format("; last in {}", call_at(evidence, process.calls.back()));
  return text;
}

std::string whereabouts_text(const Evidence& evidence) {
  std::string text;
  for (const ProcessEvidence& process : evidence.processes)
    text += fmt::format("  process {}: {}\n", process.process, whereabouts(evidence, process.process));
  return text;
}

std::string last_seen_text(const Positions& positions, int process, std::string_view in_call) {
  const ProcessEvidence& evidence = positions.at(process);
  const CallEvidence* call = positions.head(process);
  if (!call && !evidence.calls.empty()) call = &evidence.calls.back();
  if (!call) return where_text(evidence.at.empty() ? evidence.where : evidence.at);
  std::string last = fmt::format("{}{}", call->op, where_text(call->where));
  if (evidence.at.empty() || evidence.at == call->where) return fmt::format(" {} {}", in_call, last);
  return fmt::format("{}, after {}", where_text(evidence.at), last);
}

Participant participant(const Positions& positions, int process, const CallEvidence* call) {
  const ProcessEvidence& evidence = positions.at(process);
  Participant side{.process = process, .kind = "", .state = state_text(evidence)};
  bool own_place = evidence.state == ProcessState::kRaised && !evidence.where.empty();
  bool silent = evidence.state == ProcessState::kSilent || evidence.state == ProcessState::kStopped;
  bool dead = evidence.state == ProcessState::kKilled || evidence.state == ProcessState::kExited;
  bool last_seen_at = (silent || dead) && !evidence.at.empty();
  if (!call && !evidence.awaits.empty()) {  // it stands in a wait, whatever it has launched before
    side.op = evidence.doing;
    side.where = evidence.where;
    side.statement = evidence.statement;
    return side;
  }
  if (!call) call = positions.head(process);
  // One that ended with nothing open was last seen in the last call that it made, unless it is known where it went on to.
  const CallEvidence* last = !call && !evidence.calls.empty() ? &evidence.calls.back() : nullptr;
  const std::string& place = own_place ? evidence.where : evidence.at;
  if (last && (own_place || last_seen_at) && place != last->where)
    side.state += fmt::format(", after {}{}", last->op, where_text(last->where));
  else if (last)
    call = last;
  if (call) {
    side.seq = call->seq;
    side.op = call->op;
    side.where = call->where;
    side.statement = call->statement;
    if (const ProgramEvidence* program = positions.evidence().program(*call)) {
      side.mesh = program->mesh;
      if (program->devices.size() <= kDevicesTold) side.devices = program->devices;
      if (program->collectives.empty()) {
        side.kind = "launch";
        if (!program->results.empty()) {
          ValueText result = parse_value(program->results.front());
          side.shape = "(" + result.shape + ")";
          side.dtype = result.dtype;
        }
      } else {
        side.kind = program->collectives.front().kind;
        side.shape = program->collectives.front().shape;
        side.dtype = program->collectives.front().dtype;
      }
      std::string operands = shardings_text(program->operands), results = shardings_text(program->results);
      side.sharding = results.empty() ? operands : fmt::format("{} -> {}", operands, results);
    } else {
      side.kind = "launch";
    }
  }
  if (own_place || (side.where.empty() && !last_seen_at && !evidence.where.empty())) {
    side.where = evidence.where;
    side.statement = evidence.statement;
  } else if (last_seen_at) {
    side.where = evidence.at;
    side.statement = evidence.at_statement;
  }
  return side;
}

std::vector<Participant> sides(const Positions& positions, const std::vector<int>& guilty, const std::vector<int>& others) {
  std::vector<Participant> result;
  for (int process : guilty) result.push_back(participant(positions, process));
  for (int process : others)
    if (std::find(guilty.begin(), guilty.end(), process) == guilty.end()) result.push_back(participant(positions, process));
  return result;
}

namespace {
constexpr std::string_view kAsync = ", is_async";
}
bool is_async(const ProgramEvidence& program) { return std::string_view(program.text).ends_with(kAsync); }
std::string_view text_waiting_aside(const ProgramEvidence& program) {
  std::string_view text = program.text;
  if (text.ends_with(kAsync)) text.remove_suffix(kAsync.size());
  return text;
}

std::vector<std::string> differing_fields(const ProgramEvidence* a, const ProgramEvidence* b) {
  std::vector<std::string> fields;
  if (!a || !b) return {"code"};
  auto add = [&](const char* name, bool differs) {
    if (differs) fields.emplace_back(name);
  };
  bool same_count = a->collectives.size() == b->collectives.size();
  add("op", a->name != b->name);
  add("kind", collectives_differ(*a, *b, &Collective::kind));
  add("shape",
      values_differ(*a, *b, [](const ValueText& v) { return v.shape; }) || collectives_differ(*a, *b, &Collective::shape, same_count));
  add("dtype",
      values_differ(*a, *b, [](const ValueText& v) { return v.dtype; }) || collectives_differ(*a, *b, &Collective::dtype, same_count));
  add("reduction", collectives_differ(*a, *b, &Collective::reduction, same_count));
  add("group", collectives_differ(*a, *b, &Collective::groups, same_count));
  add("root", same_count && roots_differ(*a, *b));
  add("pairs", collectives_differ(*a, *b, &Collective::pairs, same_count));
  add("mesh", a->mesh != b->mesh || a->devices != b->devices);
  add("sharding", values_differ(*a, *b, [](const ValueText& v) { return v.sharding; }));
  add("async", is_async(*a) != is_async(*b));
  if (fields.empty()) fields.emplace_back("code");
  return fields;
}

LineDifference first_difference(std::string_view a, std::string_view b) {
  std::vector<std::string_view> left = split(a, '\n'), right = split(b, '\n');
  std::size_t n = std::max(left.size(), right.size());
  for (std::size_t i = 0; i < n; ++i) {
    std::string_view x = i < left.size() ? left[i] : std::string_view();
    std::string_view y = i < right.size() ? right[i] : std::string_view();
    if (x != y) return {int(i) + 1, std::string(x), std::string(y)};
  }
  return {};
}

SideTable side_table(const Diagnosis& diagnosis) {
  SideTable table;
  // By what is known of every side. In which functions it was called is not: a process that stands like others may have said nothing of
  // them.
  std::map<std::vector<std::string>, std::vector<std::size_t>> alike;
  std::vector<std::vector<std::string>> values;  // by side and field
  for (const Participant& side : diagnosis.participants) {
    std::vector<std::string> own, known;
    for (const SideField& field : kSideFields) {
      own.push_back(field.value(side));
      if (field.name != kCalledIn) known.push_back(own.back());
    }
    std::vector<std::size_t>& candidates = alike[std::move(known)];
    auto same = std::find_if(candidates.begin(), candidates.end(), [&](std::size_t i) {
      const std::string& callers = table.sides[i].side->callers;
      return callers == side.callers || callers.empty() || side.callers.empty();
    });
    if (same == candidates.end()) {
      same = candidates.insert(candidates.end(), table.sides.size());
      table.sides.push_back({&side, {}});
      values.push_back(std::move(own));
    } else if (table.sides[*same].side->callers.empty()) {
      table.sides[*same].side = &side;
      values[*same] = std::move(own);
    }
    table.sides[*same].processes.push_back(side.process);
  }
  for (FoldedSide& side : table.sides) std::sort(side.processes.begin(), side.processes.end());
  for (std::size_t i = 0; i < std::size(kSideFields); ++i) {
    std::vector<std::string> column;
    for (const auto& own : values) column.push_back(own[i]);
    bool differs = values.size() < 2 || std::any_of(column.begin(), column.end(), [&](const auto& each) { return each != column.front(); });
    if (differs)
      table.differing.emplace_back(kSideFields[i].name, std::move(column));
    else
      table.common.emplace_back(kSideFields[i].name, std::move(column.front()));
  }
  return table;
}

std::string text_of(const Diagnosis& diagnosis) {
  std::string text = fmt::format("{}: {}", diagnosis.code, diagnosis.message);
  const SideTable table = side_table(diagnosis);
  auto add = [&](std::string_view name, std::string_view value, std::string_view separator) {
    if (value.empty()) return;
    text += name == "at" ? fmt::format(" at {}", value) : fmt::format("{}{}{}", separator, name == kCalledIn ? "called in " : "", value);
  };
  for (std::size_t i = 0; i < table.sides.size(); ++i) {
    const Participant& side = *table.sides[i].side;  // the call and its place are told of every side
    text += fmt::format("\n  {}: {}", processes_text(table.sides[i].processes), kSideFields[0].value(side));
    if (side.seq >= 0) text += fmt::format(" #{}", side.seq);
    for (const auto& [name, values] : table.differing)
      if (name != "op" && name != "seq" && name != "at" && name != kCalledIn && name != "state") add(name, values[i], ", ");
    text += where_text(side.where);
    for (const auto& [name, values] : table.differing)
      if (name == kCalledIn || name == "state") add(name, values[i], ", ");
  }
  std::string_view separator = "\n  all: ";
  for (const auto& [name, value] : table.common) {
    if (name == "op" || name == "seq" || name == "at" || name == "mesh" || value.empty()) continue;
    add(name, value, std::exchange(separator, ", "));
  }
  for (const auto& [name, value] : diagnosis.details)
    if (name == kMayHaveDecided) text += fmt::format("\n  {}: {}", name, value);
  return text;
}

}  // namespace shardlab
