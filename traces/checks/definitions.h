// The checks by name; list.cpp has their order of precedence.
#pragma once

#include "traces/checks/check_def.h"

namespace shardlab {

extern const CheckDef kProcessKilled;
extern const CheckDef kProcessRaised;
extern const CheckDef kProcessExited;
extern const CheckDef kOrderMismatch;
extern const CheckDef kProgramMismatch;
extern const CheckDef kMissingParticipant;
extern const CheckDef kDeadlock;
extern const CheckDef kProcessStuck;
extern const CheckDef kInputDivergence;
extern const CheckDef kPotentialDeadlock;
extern const CheckDef kStraggler;
extern const CheckDef kUnawaited;

}  // namespace shardlab
