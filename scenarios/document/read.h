// From JSON to typed documents: the format's structure, checked in full (types and shapes: see validate.h).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/document/document.h"
#include "scenarios/document/document_error.h"

namespace shardlab::scenarios {

// Every combination of "matrix" as a document of its own without one, named "name[key=value,…]".
std::vector<nlohmann::json> expand_matrix(const nlohmann::json& document);

// Throws DocumentError, or NotSupportedError for what this version does not run.
Document read_document(const nlohmann::json& document);

}  // namespace shardlab::scenarios
