// The keys of the timeline, for its handler and for the key map.
#include <array>

#include "gui/views/timeline_canvas.h"

namespace shardlab::gui {
namespace {

template <int Number>
void set_mark(TimelineCanvas& canvas) {
  canvas.set_bookmark(Number);
}
template <int Number>
void recall(TimelineCanvas& canvas) {
  canvas.go_to_bookmark(Number);
}

constexpr std::array<TimelineKeyDef, 43> kKeys{{
    {"W", "Zoom in", [](TimelineCanvas& c) { c.zoom_by(0.67); }},
    {"S", "Zoom out", [](TimelineCanvas& c) { c.zoom_by(1.5); }},
    {"A", "Pan left", [](TimelineCanvas& c) { c.pan_by(-0.15); }},
    {"D", "Pan right", [](TimelineCanvas& c) { c.pan_by(0.15); }},
    {"Shift+A", "Pan left by a window", [](TimelineCanvas& c) { c.pan_by(-0.9); }},
    {"Shift+D", "Pan right by a window", [](TimelineCanvas& c) { c.pan_by(0.9); }},
    {"F", "Fit the selection; again: everything", [](TimelineCanvas& c) { c.fit_selection(); }},
    {"0", "Show everything", [](TimelineCanvas& c) { c.fit_all(); }},
    {".", "Next event in the lane", [](TimelineCanvas& c) { c.step_event(1); }},
    {",", "Previous event in the lane", [](TimelineCanvas& c) { c.step_event(-1); }},
    {"Right", "Next event in the lane", [](TimelineCanvas& c) { c.step_event(1); }},
    {"Left", "Previous event in the lane", [](TimelineCanvas& c) { c.step_event(-1); }},
    {"Down", "Lane below, at the same time", [](TimelineCanvas& c) { c.step_lane(1); }},
    {"Up", "Lane above, at the same time", [](TimelineCanvas& c) { c.step_lane(-1); }},
    {"Esc", "Clear the selection", [](TimelineCanvas& c) { c.clear_selection(); }},
    {"Return", "Zoom to the selected event", [](TimelineCanvas& c) { c.fit_selection(); }},
    {"]", "Next member of the collective", [](TimelineCanvas& c) { c.step_member(1); }},
    {"[", "Previous member of the collective", [](TimelineCanvas& c) { c.step_member(-1); }},
    {"K", "Next event of the same name in the lane", [](TimelineCanvas& c) { c.step_same_kind(1); }},
    {"Shift+K", "Previous event of the same name in the lane", [](TimelineCanvas& c) { c.step_same_kind(-1); }},
    {"L", "Colour the members of collectives by how late they came", [](TimelineCanvas& c) { c.toggle_lateness(); }},
    {"T", "Wall time, virtual time, logical steps", [](TimelineCanvas& c) { c.cycle_axis(); }},
    {"M", "Mark the selected event, or the middle of the window", [](TimelineCanvas& c) { c.toggle_mark(); }},
    {"R", "Range of time from the selection", [](TimelineCanvas& c) { c.select_range_of_selection(); }},
    {"P", "Pin the lane to the top, or unpin it", [](TimelineCanvas& c) { c.toggle_pin(); }},
    {"H", "Hide the lane", [](TimelineCanvas& c) { c.hide_row(); }},
    {"Shift+H", "Show all lanes", [](TimelineCanvas& c) { c.show_all_rows(); }},
    {"G", "Lanes by process, by host, along each axis of the mesh", [](TimelineCanvas& c) { c.cycle_grouping(); }},
    {"B", "Bytes in flight below the lanes, or not", [](TimelineCanvas& c) { c.toggle_counters(); }},
    {"X", "Explain why the selected process waits",
     [](TimelineCanvas& c) {
       if (c.show_view) c.show_view("waits");
     }},
    {"/", "Search in the events",
     [](TimelineCanvas& c) {
       if (c.show_view) c.show_view("events");
     }},
    {"1", "Back to the window kept under 1", recall<1>},
    {"2", "Back to the window kept under 2", recall<2>},
    {"3", "Back to the window kept under 3", recall<3>},
    {"4", "Back to the window kept under 4", recall<4>},
    {"5", "Back to the window kept under 5", recall<5>},
    {"6", "Back to the window kept under 6", recall<6>},
    {"Alt+1", "Keep this window under 1", set_mark<1>},
    {"Alt+2", "Keep this window under 2", set_mark<2>},
    {"Alt+3", "Keep this window under 3", set_mark<3>},
    {"Alt+4", "Keep this window under 4", set_mark<4>},
    {"Alt+5", "Keep this window under 5", set_mark<5>},
    {"Alt+6", "Keep this window under 6", set_mark<6>},
}};

}  // namespace

std::span<const TimelineKeyDef> timeline_keys() { return kKeys; }

}  // namespace shardlab::gui
