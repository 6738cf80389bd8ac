// Checks what a program means before anything runs: names, shapes, dtypes, shardings that divide, on every process.
#pragma once

#include "scenarios/document/document.h"
#include "scenarios/document/document_error.h"

namespace shardlab::scenarios {

struct ValidateOptions {
  std::int64_t array_bytes_max = std::int64_t{16} << 30;  // of one global array
  std::int64_t evaluations_max = 200'000;                 // statements, those of loops and called functions counted each time
};

// An error that the program would end in: an expectation {"error": …} may want it.
class ProgramError final : public DocumentError {
 public:
  using DocumentError::DocumentError;
};

// Evaluates the program on types alone, once for each way in which "on" lets a process through it. Throws ProgramError or, where
// names and functions are used wrongly, DocumentError. An error of some processes alone passes where the document expects a diagnosis.
void validate(const Document& document, const ValidateOptions& options = {});

// Per process the first process that the same statements let through: these go the same way.
std::vector<int> first_of_kind(const Document& document);

}  // namespace shardlab::scenarios
