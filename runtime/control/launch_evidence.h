// Programs and launches as evidence: what the ledger keeps of them and tells them apart by.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/comm/launch.h"
#include "traces/checks/evidence.h"

namespace shardlab::control {

// The hash of an ordered device set, and what the ledger keeps of a program and of a launch.
std::uint64_t device_group(const std::vector<comm::Ordinal>& devices);
// The same of a program; the two ends of a message are told apart.
std::uint64_t group_of(const comm::ProgramInfo& program);
ProgramEvidence program_evidence(const comm::ProgramInfo&);
CallEvidence call_evidence(const comm::Launch&);
// Of a program on one process's own devices, whichever they are.
std::uint64_t local_fingerprint(const comm::ProgramInfo&);

}  // namespace shardlab::control
