// Lines of source, or statements of a scenario, with the one that is meant marked.
#pragma once

#include <QString>

#include "gui/views/theme.h"
#include "traces/source_lines.h"

namespace shardlab::gui {

// Empty where the file is not readable.
QString source_html(const traces::SourceLines& source, const Theme& theme);

}  // namespace shardlab::gui
