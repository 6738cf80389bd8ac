#include "traces/checks/evidence_json.h"

#include <nlohmann/json.hpp>

#include "runtime/base/error.h"

namespace shardlab {
namespace {
using Json = nlohmann::json;
}

// nlohmann finds these by argument-dependent lookup; every field is named once.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(CallEvidence, launch, seq, fingerprint, group, op, where, statement, issued_ns, planned_ns,
                                                matched, sent, value_hash, value_head)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StepEvidence, kind, what, where, statement, value, fingerprint, after)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(ProgramEvidence::Collective, kind, dtype, shape, reduction, op, groups, pairs, bytes, where,
                                                axes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ProgramEvidence, fingerprint, group, name, text, mesh, devices, processes, operands, results,
                                   collectives, channel, message, receives, buffered, from, to)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(LatenessEvidence, calls, ns, longest_ns, op, where, statement, waiting, planned_ns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(ProcessEvidence, process, state, exit_code, signal, error, where, statement, doing, issued,
                                                matched, calls, since_ns, history, joined, steps, at, at_statement, late, unused, awaits,
                                                waited, callers)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Alternative, under, code, message, processes, details)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Evidence, processes, programs, now_ns, complete_ns, look_ahead_calls, alternatives)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Participant, process, seq, kind, op, where, statement, sharding, state, shape, dtype, mesh,
                                                devices, callers)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Diagnosis, code, severity, message, explain, processes, tie, participants, fields, details, evidence_ns,
                                   detected_ns)

namespace {

template <typename T>
T parse(std::string_view text, const char* what) {
  try {
    return Json::parse(text).get<T>();
  } catch (const Json::exception& error) { throw IoError(fmt::format("stored {} cannot be read: {}", what, error.what())); }
}

template <typename T>
std::string dump(const T& value) {
  return Json(value).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string to_json(const Evidence& evidence) { return dump(evidence); }
std::string to_json(const std::vector<Diagnosis>& diagnoses) { return dump(diagnoses); }
Evidence evidence_from_json(std::string_view text) { return parse<Evidence>(text, "evidence"); }
std::vector<Diagnosis> diagnoses_from_json(std::string_view text) { return parse<std::vector<Diagnosis>>(text, "diagnoses"); }

}  // namespace shardlab
