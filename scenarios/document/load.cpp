#include "scenarios/document/load.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "scenarios/document/json_text.h"
#include "scenarios/document/read.h"
#include "scenarios/document/value_lines.h"

namespace shardlab::scenarios {
namespace {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw IoError(fmt::format("{} cannot be read; does it exist?", path.string()));
  std::error_code error;
  auto size = fs::file_size(path, error);
  bool one_document = path.extension() != ".jsonl";
  if (!error && one_document && size > kDocumentBytesMax) return std::string(kDocumentBytesMax + 1, ' ');  // fails as too large
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

std::string name_of(const nlohmann::json& json, std::string_view source) {
  if (json.is_object() && json.contains("name") && json["name"].is_string()) return json["name"].get<std::string>();
  return std::string(source);
}

void fail(Loaded& loaded, const DocumentError& error) {
  const int line = line_of(loaded.lines, error.pointer());
  loaded.error = line > 0 ? error.text_at_line(line) : error.what();
  loaded.pointer = error.pointer();
}

// Where a document has no cluster, or something else in its place, its reader says so.
void change_cluster(nlohmann::json& document, const ClusterOverride& wanted) {
  if (!wanted.any() || !document.is_object()) return;
  nlohmann::json& cluster = document.emplace("cluster", nlohmann::json::object()).first.value();
  if (!cluster.is_object()) return;
  if (wanted.processes) cluster["processes"] = *wanted.processes;
  if (wanted.devices) cluster["devices"] = *wanted.devices;
  if (!wanted.run.empty()) cluster["run"] = wanted.run;
}

Loaded load_one(nlohmann::json json, Loaded loaded, const LoadOptions& options) {
  loaded.name = name_of(json, loaded.source);
  try {
    change_cluster(json, options.cluster);
    Document document = read_document(json);
    json.erase("jax");
    loaded.text = json.dump();
    loaded.document = std::move(document);
    validate(*loaded.document, options.validate);
  } catch (const ProgramError& error) {
    loaded.is_program_error = true;
    fail(loaded, error);
  } catch (const DocumentError& error) {
    loaded.document.reset();
    fail(loaded, error);
  }
  return loaded;
}

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == std::string_view::npos; }

std::vector<Loaded> load_lines(std::string_view text, const std::string& source, const LoadOptions& options) {
  std::vector<Loaded> result;
  std::size_t line = 1;
  for (std::size_t start = 0; start < text.size(); ++line) {
    std::size_t end = std::min(text.find('\n', start), text.size());
    std::string_view one = text.substr(start, end - start);
    start = end + 1;
    if (is_blank(one)) continue;
    std::vector<Loaded> loaded = load_text(one, fmt::format("{}:{}", source, line), options);
    std::move(loaded.begin(), loaded.end(), std::back_inserter(result));
  }
  return result;
}

}  // namespace

std::vector<Loaded> load_text(std::string_view text, std::string_view source, const LoadOptions& options) {
  Loaded loaded;
  loaded.source = loaded.name = source;
  try {
    const nlohmann::json json = parse_json(text);
    loaded.name = name_of(json, source);
    loaded.lines = value_lines(text);
    std::vector<nlohmann::json> documents = expand_matrix(json);
    std::vector<Loaded> result;
    for (nlohmann::json& each : documents) result.push_back(load_one(std::move(each), loaded, options));
    return result;
  } catch (const DocumentError& error) {
    fail(loaded, error);
    return {loaded};
  }
}

std::vector<Loaded> load_path(const fs::path& path, const LoadOptions& options) {
  std::vector<Loaded> result;
  if (fs::is_directory(path)) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(path))
      if (entry.is_regular_file() && (entry.path().extension() == ".json" || entry.path().extension() == ".jsonl"))
        files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    if (files.empty()) throw IoError(fmt::format("{} has no .json or .jsonl file", path.string()));
    for (const fs::path& file : files) {
      std::vector<Loaded> loaded = load_path(file, options);
      std::move(loaded.begin(), loaded.end(), std::back_inserter(result));
    }
    return result;
  }
  std::string text = read_file(path);
  if (path.extension() == ".jsonl")
    result = load_lines(text, path.string(), options);
  else
    result = load_text(text, path.string(), options);
  if (result.empty()) throw IoError(fmt::format("{} has no scenario", path.string()));
  return result;
}

}  // namespace shardlab::scenarios
