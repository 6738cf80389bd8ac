// A sheet: every view of one trace beside the others, each under its title, for one picture that shows all there is.
#pragma once

#include <QWidget>

#include <map>
#include <string_view>

namespace shardlab::gui {

// The word for --view that asks for it.
constexpr const char* kSheet = "all";

// Takes the views over, in the order of their list.
QWidget* make_sheet(const std::map<std::string_view, QWidget*>& views, QWidget* parent);

}  // namespace shardlab::gui
