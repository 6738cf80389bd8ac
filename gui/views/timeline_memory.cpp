// Counters of memory among the lanes of the timeline: one a device where there is room, else one a group, else one for all.
#include <algorithm>
#include <cmath>
#include <set>

#include "gui/models/format.h"
#include "gui/views/timeline_canvas.h"

namespace shardlab::gui {
namespace {

constexpr int kHeightOfDevices = 15;  // lower rows have no counter a device
constexpr int kHeightOfGroups = 12;   // nor, still lower, a group
constexpr int kHeightOfAll = 18;
constexpr int kFilledMin = 2;        // of what is more than nothing
constexpr std::size_t kToldMax = 8;  // arrays in a tooltip

int column_px(std::size_t counters) { return 2 * std::max(int(counters / 8), 1); }

std::int64_t most_in(const std::vector<const StepCounter*>& counters, Ns begin, Ns end) {
  std::int64_t most = 0;
  for (const StepCounter* each : counters) most = std::max(most, each->most_in(begin, end).value);
  return most;
}

}  // namespace

QColor memory_colour(const Theme& theme) { return blend(theme.warning, theme.base, 0.55); }

TimelineMemoryRow TimelineCanvas::memory_row(const std::vector<int>& devices) const {
  const MemoryUse& memory = *trace_->memory;
  std::set<int> counters;
  for (const int device : devices)
    if (const int index = memory.index_of(device); index >= 0) counters.insert(index);
  TimelineMemoryRow row{.counters = {counters.begin(), counters.end()}, .arrays = {}, .with_steps = {}};
  for (const int index : row.counters) {
    const DeviceMemory& each = memory.devices()[std::size_t(index)];
    row.arrays.push_back(&each.arrays);
    if (!each.with_steps.empty()) row.with_steps.push_back(&each.with_steps);
  }
  return row;
}

std::vector<std::pair<int, TimelineMemoryRow>> TimelineCanvas::memory_rows_for(int room) const {
  std::vector<std::pair<int, TimelineMemoryRow>> made;
  if (!counters_ || !trace_->memory || trace_->memory->empty() || rows_.empty()) return made;
  const auto add = [&](int after, const std::vector<int>& devices) {
    TimelineMemoryRow row = memory_row(devices);
    row.devices = devices;
    if (!row.counters.empty()) made.emplace_back(after, std::move(row));
  };
  const auto devices_of = [&](std::size_t r, std::vector<int>& devices) {
    for (int i = 0; i < rows_[r].lanes; ++i)
      if (const int device = trace_->lanes[std::size_t(rows_[r].lane + i)].device; device >= 0) devices.push_back(device);
  };
  const auto fits = [&](std::size_t count, int height) { return int(rows_.size() + count) * height <= room; };
  const auto take_together = [&](MemoryUse::Most most, TimelineMemoryRow& row) {
    row.arrays = {most.arrays};
    row.with_steps.clear();
    if (!most.with_steps->empty()) row.with_steps = {most.with_steps};
  };

  // After the last row of each device: of one whose events overlap there are several.
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    std::vector<int> devices;
    devices_of(r, devices);
    const bool again = r + 1 < rows_.size() && !devices.empty() && rows_[r + 1].lanes == 1 &&
                       trace_->lanes[std::size_t(rows_[r + 1].lane)].device == devices.front();
    if (!devices.empty() && !again) add(int(r), devices);
  }
  if (fits(made.size(), kHeightOfDevices)) return made;

  made.clear();
  std::vector<int> devices;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    devices_of(r, devices);
    if (r + 1 < rows_.size() && !rows_[r + 1].first_of_group) continue;
    add(int(r), devices);
    devices.clear();
  }
  for (auto& [after, row] : made) {
    const DeviceMemory& first = trace_->memory->devices()[std::size_t(row.counters.front())];
    // A whole process is one counter already.
    std::size_t of_process = 0;
    for (const auto& each : trace_->memory->devices()) of_process += each.process == first.process;
    const bool is_process =
        row.counters.size() == of_process && trace_->memory->devices()[std::size_t(row.counters.back())].process == first.process;
    if (is_process) take_together(trace_->memory->of_process(first.process), row);
  }
  if (fits(made.size(), kHeightOfGroups)) return made;

  made.clear();
  TimelineMemoryRow all{.counters = {}, .arrays = {}, .with_steps = {}, .height = kHeightOfAll};
  for (std::size_t i = 0; i < trace_->memory->devices().size(); ++i) all.counters.push_back(int(i));
  for (const Device& device : trace_->devices) all.devices.push_back(device.ordinal);
  take_together(trace_->memory->of_all(), all);
  made.emplace_back(-1, std::move(all));
  return made;
}

// The device that a counter is of, or all that share it: a process where it is a process's, else nobody alone.
void TimelineCanvas::select_memory(const TimelineMemoryRow& row) {
  const auto process_of = [&](int ordinal) {
    const Device* device = trace_->device(ordinal);
    return device ? device->process : -1;
  };
  if (row.devices.size() == 1) return selection_.select_device(row.devices.front(), this);
  const int process = row.devices.empty() ? -1 : process_of(row.devices.front());
  const bool together = std::all_of(row.devices.begin(), row.devices.end(), [&](int each) { return process_of(each) == process; });
  if (process >= 0 && together) return selection_.select_process(process, this);
  selection_.clear(this);
  Q_EMIT hovered(QStringLiteral("All devices share this counter: none of them is chosen"));
}

QString TimelineCanvas::memory_text(const std::vector<int>& counters, Ns time) const {
  const MemoryUse::Moment now = trace_->memory->at(time, &counters);
  const Device* device = trace_->device(now.device);
  if (!device) return {};
  const std::vector<int>& alike = trace_->memory->devices()[std::size_t(trace_->memory->index_of(now.device))].devices;
  QString text = counters.size() > 1 ? QStringLiteral("%1, the fullest, holds %2").arg(qstr(device->name), bytes_text(now.arrays))
                 : alike.size() > 1  ? QStringLiteral("devices %1 hold %2 each").arg(set_text(alike, 40), bytes_text(now.arrays))
                                     : QStringLiteral("%1 holds %2").arg(qstr(device->name), bytes_text(now.arrays));
  if (now.with_steps > now.arrays) text += QStringLiteral(", at most %1 with what runs").arg(bytes_text(now.with_steps));
  return text;
}

QString TimelineCanvas::memory_tooltip(const TimelineMemoryRow& row, Ns time) const {
  QStringList lines{QStringLiteral("<b>%1</b>").arg(memory_text(row.counters, time).toHtmlEscaped())};
  const MemoryUse::Moment peak = trace_->memory->peak(trace_->range, &row.counters);
  if (const Device* device = trace_->device(peak.device))
    lines << QStringLiteral("at most %1 on %2, at %3")
                 .arg(bytes_text(peak.arrays), html(device->name), duration_text(peak.time - trace_->range.begin));
  // Arrays are known by the trace's own clock.
  if (axis_ == TimeAxis::kWall) {
    const auto held = held_at(*trace_, trace_->memory->at(time, &row.counters).device, time);
    for (std::size_t i = 0; i < std::min(held.size(), kToldMax); ++i)
      lines << QStringLiteral("%1 &nbsp;%2").arg(bytes_text(held[i].bytes), html(held_text(*trace_, held[i])));
    if (held.size() > kToldMax)
      lines << QStringLiteral("and %1").arg(count_text(std::int64_t(held.size() - kToldMax), "array more", "arrays more"));
  }
  return lines.join(QStringLiteral("<br>"));
}

void TimelinePainter::paint_memory() {
  for (const auto& row : scene_.memory_rows) {
    const int top = scene_.ruler_height + row.top - scene_.scroll_y;
    if (top + row.height >= plot_.top() && top <= plot_.bottom()) paint_memory_row(row);
  }
}

// The most in sight.
void TimelinePainter::paint_memory_label(const TimelineMemoryRow& row, const QRect& box) {
  const QFontMetrics metrics(scene_.font);
  if (box.height() < metrics.height() - 3) return;
  const TimeRange window = scene_.scale.window();
  painter_.setPen(theme_.muted);
  painter_.drawText(box.adjusted(10, 0, -4, 0), Qt::AlignVCenter | Qt::AlignLeft,
                    metrics.elidedText(QStringLiteral("mem ") + bytes_text(most_in(row.arrays, window.begin, window.end)), Qt::ElideRight,
                                       box.width() - 14));
}

// Arrays are filled, what launches hold beside them is hatched; all rows have one scale.
void TimelinePainter::paint_memory_row(const TimelineMemoryRow& row) {
  const QRect box(plot_.left(), scene_.ruler_height + row.top - scene_.scroll_y, plot_.width(), row.height);
  painter_.fillRect(box, theme_.base);
  painter_.setPen(theme_.faint);
  painter_.drawLine(box.left(), box.bottom(), box.right(), box.bottom());
  const double scale = double(std::max<std::int64_t>(trace_.memory->most(), 1));
  const int room = std::max(box.height() - 2, 1), step = column_px(row.arrays.size());
  const auto height_of = [&](std::int64_t bytes) {
    return bytes <= 0 ? 0 : std::max(int(std::lround(double(bytes) / scale * room)), kFilledMin);
  };
  const QColor fill = memory_colour(theme_);
  // Columns of one height are one rectangle.
  int from = 0, arrays = 0, all = 0;
  const auto draw = [&](int to) {
    const int left = box.left() + from, width = std::min(to, box.width()) - from, bottom = box.bottom() + 1;
    if (arrays > 0) painter_.fillRect(QRect(left, bottom - arrays, width, arrays), fill);
    if (all > arrays) painter_.fillRect(QRect(left, bottom - all, width, all - arrays), QBrush(fill, Qt::Dense5Pattern));
    from = to;
  };
  for (int c = 0; c < box.width(); c += step) {
    const Ns begin = scene_.scale.time_at(c), end = std::max(scene_.scale.time_at(c + step), begin + 1);
    const int next = height_of(most_in(row.arrays, begin, end));
    const int next_all = std::max(next, height_of(most_in(row.with_steps, begin, end)));
    if (c > 0 && (next != arrays || next_all != all)) draw(c);
    arrays = next;
    all = next_all;
  }
  draw(box.width());
}

}  // namespace shardlab::gui
