// The keys of the timeline, for its handler, the key map and the palette.
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
template <TimelineRequest What>
void ask(TimelineCanvas& canvas) {
  if (canvas.request) canvas.request(What);
}
template <MouseMode Mode>
void mode(TimelineCanvas& canvas) {
  canvas.set_mouse_mode(Mode);
}

constexpr double kZoom = 0.67, kPan = 0.15;  // of the window; four times as much with Shift, a quarter with Ctrl

constexpr std::array<TimelineKeyDef, 67> kKeys{{
    {"W", "Zoom in", [](TimelineCanvas& c) { c.zoom_by(kZoom); }},
    {"S", "Zoom out", [](TimelineCanvas& c) { c.zoom_by(1 / kZoom); }},
    {"A", "Pan left", [](TimelineCanvas& c) { c.pan_by(-kPan); }},
    {"D", "Pan right", [](TimelineCanvas& c) { c.pan_by(kPan); }},
    {"Shift+W", "Zoom in, four times as far", [](TimelineCanvas& c) { c.zoom_by(kZoom * kZoom * kZoom * kZoom); }},
    {"Shift+S", "Zoom out, four times as far", [](TimelineCanvas& c) { c.zoom_by(1 / (kZoom * kZoom * kZoom * kZoom)); }},
    {"Shift+A", "Pan left, four times as far", [](TimelineCanvas& c) { c.pan_by(-4 * kPan); }},
    {"Shift+D", "Pan right, four times as far", [](TimelineCanvas& c) { c.pan_by(4 * kPan); }},
    {"Ctrl+W", "Zoom in a little", [](TimelineCanvas& c) { c.zoom_by(0.9); }},
    {"Ctrl+S", "Zoom out a little", [](TimelineCanvas& c) { c.zoom_by(1 / 0.9); }},
    {"Ctrl+A", "Pan left a little", [](TimelineCanvas& c) { c.pan_by(-kPan / 4); }},
    {"Ctrl+D", "Pan right a little", [](TimelineCanvas& c) { c.pan_by(kPan / 4); }},
    {"F", "Fit the selection; again: its collective; again: everything", [](TimelineCanvas& c) { c.fit_selection(); }},
    {"0", "Show everything", [](TimelineCanvas& c) { c.fit_all(); }},
    {"Backspace", "Back to the window of time before", [](TimelineCanvas& c) { c.step_window(-1); }},
    {"Shift+Backspace", "Forward to the window of time after", [](TimelineCanvas& c) { c.step_window(1); }},
    {".", "Next event of the same name in the lane", [](TimelineCanvas& c) { c.step_same_kind(1); }},
    {",", "Previous event of the same name in the lane", [](TimelineCanvas& c) { c.step_same_kind(-1); }},
    {"Right", "Next event in the lane", [](TimelineCanvas& c) { c.step_event(1); }},
    {"Left", "Previous event in the lane", [](TimelineCanvas& c) { c.step_event(-1); }},
    {"Down", "Lane below, at the same time", [](TimelineCanvas& c) { c.step_lane(1); }},
    {"Up", "Lane above, at the same time", [](TimelineCanvas& c) { c.step_lane(-1); }},
    {"Esc", "Clear the selection", [](TimelineCanvas& c) { c.clear_selection(); }},
    {"Return", "Zoom to the selected event", [](TimelineCanvas& c) { c.fit_selection(); }},
    {"]", "Next member of the collective", [](TimelineCanvas& c) { c.step_member(1); }},
    {"[", "Previous member of the collective", [](TimelineCanvas& c) { c.step_member(-1); }},
    {"L", "Colour the members of collectives by how late they came", [](TimelineCanvas& c) { c.toggle_lateness(); }},
    {"T", "Wall time, virtual time, logical steps", [](TimelineCanvas& c) { c.cycle_axis(); }},
    {"M", "Mark the selected event, or the middle of the window", [](TimelineCanvas& c) { c.toggle_mark(); }},
    {"R", "Range of time from the selection", [](TimelineCanvas& c) { c.select_range_of_selection(); }},
    {"P", "Pin the lane to the top, or unpin it", [](TimelineCanvas& c) { c.toggle_pin(); }},
    {"H", "Hide the lane", [](TimelineCanvas& c) { c.hide_row(); }},
    {"Ctrl+H", "Hide lanes by a pattern that is typed: a part of their names, a glob, a /regular expression/",
     [](TimelineCanvas& c) { c.ask_lane_filter(); }},
    {"Shift+E", "Hide lanes that have no event in the window of time, or show them", [](TimelineCanvas& c) { c.toggle_hide_empty(); }},
    {"Shift+H", "Show all lanes", [](TimelineCanvas& c) { c.show_all_rows(); }},
    {"E", "Collapse devices that did the same into one lane, or expand them", [](TimelineCanvas& c) { c.toggle_collapsed(); }},
    {"Shift+G", "Lanes by process, by host, along each axis of the mesh", [](TimelineCanvas& c) { c.cycle_grouping(); }},
    {"B", "Counters of memory and of bytes in flight, or not", [](TimelineCanvas& c) { c.toggle_counters(); }},
    {"G", "Go to a time, a collective, a process, a device", ask<TimelineRequest::kPalette>},
    {"X", "Explain why the selected process waits", ask<TimelineRequest::kExplainWait>},
    {"C", "Compare here: the selected collective in the second run", ask<TimelineRequest::kCompare>},
    {"Space", "Play the wait-for graph through time, or stop", ask<TimelineRequest::kPlay>},
    {"/", "Search in the events; there Enter and Shift+Enter go through what is found", ask<TimelineRequest::kSearch>},
    {"?", "All keys", ask<TimelineRequest::kKeys>},
    {"Alt+1", "Dragging selects a range of time", mode<MouseMode::kSelect>},
    {"Alt+2", "Dragging moves the window of time", mode<MouseMode::kPan>},
    {"Alt+3", "Dragging zooms to what it spans", mode<MouseMode::kZoom>},
    {"Alt+4", "Dragging measures, between the edges of events", mode<MouseMode::kMeasure>},
    {"Shift+Z", "The wheel zooms, or scrolls and zooms with Ctrl", [](TimelineCanvas& c) { c.toggle_wheel(); }},
    {"1", "Back to the window kept under 1", recall<1>},
    {"2", "Back to the window kept under 2", recall<2>},
    {"3", "Back to the window kept under 3", recall<3>},
    {"4", "Back to the window kept under 4", recall<4>},
    {"5", "Back to the window kept under 5", recall<5>},
    {"6", "Back to the window kept under 6", recall<6>},
    {"7", "Back to the window kept under 7", recall<7>},
    {"8", "Back to the window kept under 8", recall<8>},
    {"9", "Back to the window kept under 9", recall<9>},
    {"Ctrl+1", "Keep this window under 1", set_mark<1>},
    {"Ctrl+2", "Keep this window under 2", set_mark<2>},
    {"Ctrl+3", "Keep this window under 3", set_mark<3>},
    {"Ctrl+4", "Keep this window under 4", set_mark<4>},
    {"Ctrl+5", "Keep this window under 5", set_mark<5>},
    {"Ctrl+6", "Keep this window under 6", set_mark<6>},
    {"Ctrl+7", "Keep this window under 7", set_mark<7>},
    {"Ctrl+8", "Keep this window under 8", set_mark<8>},
    {"Ctrl+9", "Keep this window under 9", set_mark<9>},
}};

}  // namespace

std::span<const TimelineKeyDef> timeline_keys() { return kKeys; }

}  // namespace shardlab::gui
