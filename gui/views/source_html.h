// Lines of source, or statements of a scenario, with the one that is meant marked.
#pragma once

#include <QString>

#include "gui/models/source_lines.h"
#include "gui/views/theme.h"

namespace shardlab::gui {

// Empty where the file is not readable.
QString source_html(const SourceLines& source, const Theme& theme);

}  // namespace shardlab::gui
