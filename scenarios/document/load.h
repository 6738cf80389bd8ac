// Finds scenarios: files (.json, or .jsonl with one a line) and folders of them.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/document/document.h"
#include "scenarios/document/validate.h"

namespace shardlab::scenarios {

// One scenario: its text after matrix expansion, and the document, or why there is none.
struct Loaded {
  std::string source;  // "corpus/toy.json", "ops.jsonl:17"
  std::string name;    // the document's, or the source where it cannot be read
  std::string text;    // JSON, without "matrix" and "jax", with the cluster it runs on
  std::optional<Document> document;
  std::string error;                      // with the pointer, and the line where there are several
  std::string pointer;                    // of the error
  bool is_program_error = false;          // the program would end in `error`; `document` is there
  std::map<std::string, int> lines = {};  // of what the file holds, by pointer (value_lines)
};

// Another cluster than the document's: the same program on the same devices, dealt to processes in another way.
struct ClusterOverride {
  std::optional<int> processes, devices;
  std::string run;  // "spawned", "simulated"; empty: as the document says
  bool any() const { return processes || devices || !run.empty(); }
};

struct LoadOptions {
  ValidateOptions validate = {};
  ClusterOverride cluster = {};
};

// Never throws for what a text contains. `source` names it in messages.
std::vector<Loaded> load_text(std::string_view text, std::string_view source, const LoadOptions& options = {});
// Files of a folder and of those in it, in order of their paths. IoError where a path cannot be read or has no scenario.
std::vector<Loaded> load_path(const std::filesystem::path& path, const LoadOptions& options = {});

}  // namespace shardlab::scenarios
