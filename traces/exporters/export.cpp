#include "traces/exporters/export.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/base/error.h"
#include "runtime/base/text.h"
#include "traces/exporters/source.h"

namespace shardlab::exporters {

std::span<const ExportFormatDef* const> all_export_formats() {
  static constexpr const ExportFormatDef* kFormats[] = {&kPerfetto, &kChrome, &kChakra};
  return kFormats;
}

const ExportFormatDef& export_format(std::string_view name) {
  std::vector<std::string_view> names;
  for (const auto* format : all_export_formats()) {
    if (format->name == name) return *format;
    names.push_back(format->name);
  }
  throw_user_error("there is no export format '{}'{}; known: {}", name, did_you_mean(name, names), fmt::join(names, ", "));
}

Exported export_trace(const std::string& trace, const ExportFormatDef& format, const std::string& path) {
  Source source(trace);
  Exported exported;
  format.write(source, path, exported);
  exported.notices = source.notices();
  return exported;
}

}  // namespace shardlab::exporters
