#include "gui/models/memory_model.h"

#include <algorithm>
#include <array>

#include "gui/models/array_uses.h"
#include "gui/models/format.h"

namespace shardlab::gui {
namespace {

QVariant header(std::span<const char* const> titles, std::span<const char* const> docs, int section, Qt::Orientation orientation,
                int role) {
  if (orientation != Qt::Horizontal || section < 0 || std::size_t(section) >= titles.size()) return {};
  if (role == Qt::DisplayRole) return QString::fromUtf8(titles[std::size_t(section)]);
  if (role == Qt::ToolTipRole) return QString::fromUtf8(docs[std::size_t(section)]);
  return {};
}

}  // namespace

std::span<const MemoryAtDef> all_memory_at() {
  static constexpr std::array<MemoryAtDef, 3> kAll{{
      {MemoryAt::kMost, "when it holds most", "The moment of the stretch of time at which a device holds most"},
      {MemoryAt::kBegin, "at the begin", "Where the stretch of time begins"},
      {MemoryAt::kEnd, "at the end", "Where the stretch of time ends"},
  }};
  return kAll;
}

MemoryPicture make_memory_picture(const TraceData& trace, TimeRange range, MemoryAt at, int device) {
  MemoryPicture picture{.devices = {}, .moment = {}, .held = {}, .range = range, .why = why_no_memory(trace)};
  if (!trace.memory || trace.memory->empty()) return picture;
  const MemoryUse& memory = *trace.memory;
  for (std::size_t i = 0; i < memory.devices().size(); ++i) {
    const std::vector<int> only{int(i)};
    picture.devices.push_back({memory.devices()[i].process, memory.devices()[i].devices, memory.peak(range, &only)});
  }
  std::stable_sort(picture.devices.begin(), picture.devices.end(),
                   [](const auto& a, const auto& b) { return a.most.arrays > b.most.arrays; });
  const std::vector<int> chosen{memory.index_of(device)};
  if (device >= 0 && chosen.front() < 0) {
    picture.why = "the device never held an array";
    return picture;
  }
  const std::vector<int>* only = device >= 0 ? &chosen : nullptr;
  picture.moment = at == MemoryAt::kMost ? memory.peak(range, only) : memory.at(at == MemoryAt::kBegin ? range.begin : range.end, only);
  if (device >= 0) picture.moment.device = device;
  picture.held = held_at(trace, picture.moment.device, picture.moment.time);
  find_takers(trace, picture.moment.device, picture.moment.time, picture.held);
  return picture;
}

QString memory_sentence(const TraceData& trace, const MemoryPicture& picture) {
  const Device* device = trace.device(picture.moment.device);
  if (!device) return QStringLiteral("Nothing to show: %1.").arg(qstr(picture.why));
  QString text = QStringLiteral("%1 of process %2 holds %3 in %4, at %5")
                     .arg(qstr(device->name))
                     .arg(device->process)
                     .arg(bytes_text(picture.moment.arrays), count_text(std::int64_t(picture.held.size()), "array", "arrays"),
                          duration_text(picture.moment.time - trace.range.begin));
  if (picture.moment.with_steps > picture.moment.arrays)
    text += QStringLiteral("; at most %1 with what launches hold between their steps").arg(bytes_text(picture.moment.with_steps));
  if (trace.array_uses && trace.array_uses->told()) {
    std::int64_t bytes = 0, arrays = 0;
    for (const HeldArray& each : picture.held)
      if (each.last_taker < 0) {
        bytes += each.bytes;
        ++arrays;
      }
    if (arrays > 0)
      text +=
          QStringLiteral("; %1 of it in %2 that no launch takes any more").arg(bytes_text(bytes), count_text(arrays, "array", "arrays"));
  }
  return text;
}

QString kept_for_text(const TraceData& trace, const HeldArray& held) {
  if (!trace.array_uses || !trace.array_uses->told()) return {};
  if (held.last_taker < 0) return QStringLiteral("no launch");
  const Launch& launch = trace.launches[std::size_t(held.last_taker)];
  const std::string name = launch.program < 0 ? "a launch" : trace.programs[std::size_t(launch.program)].name;
  const std::string place = trace.site_text(launch.site);
  return qstr(place.empty() ? name : name + " at " + place);
}

void DeviceMemoryModel::set(TracePtr trace, std::vector<MemoryPicture::Row> rows) {
  beginResetModel();
  trace_ = std::move(trace);
  rows_ = std::move(rows);
  endResetModel();
}

QVariant DeviceMemoryModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const MemoryPicture::Row& row = at(index.row());
  if (role == Qt::TextAlignmentRole) return int((index.column() == kDevices ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
  if (role != Qt::DisplayRole && role != Qt::ToolTipRole) return {};
  switch (index.column()) {
    case kDevices:
      return set_text(row.devices, role == Qt::ToolTipRole ? 400 : 40);
    case kProcess:
      return QString::number(row.process);
    case kMost:
      return bytes_text(row.most.arrays);
    case kWhen:
      return duration_text(row.most.time - trace_->range.begin);
    default:
      return bytes_text(row.most.with_steps);
  }
}

QVariant DeviceMemoryModel::headerData(int section, Qt::Orientation orientation, int role) const {
  static constexpr const char* kTitles[] = {"Devices", "Process", "Most", "At", "With runs"};
  static constexpr const char* kDocs[] = {"That hold the same at all times", "Whose they are",
                                          "What each of them holds of arrays in the stretch of time, at most", "When it first held so much",
                                          "With what launches hold at most between their steps, beside operands and results"};
  return header(kTitles, kDocs, section, orientation, role);
}

void HeldArrayModel::set(TracePtr trace, std::vector<HeldArray> held) {
  beginResetModel();
  trace_ = std::move(trace);
  held_ = std::move(held);
  total_ = 0;
  for (const HeldArray& each : held_) total_ += each.bytes;
  endResetModel();
}

QVariant HeldArrayModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const HeldArray& held = at(index.row());
  const Array& array = trace_->arrays[std::size_t(held.array)];
  if (role == Qt::TextAlignmentRole) {
    const bool is_number = index.column() == kBytes || index.column() == kShare || index.column() == kSince;
    return int((is_number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  }
  if (role != Qt::DisplayRole && role != Qt::ToolTipRole) return {};
  switch (index.column()) {
    case kName:
      return qstr(array.display_name());
    case kType:
      return qstr(array.type_text());
    case kSharding:
      return qstr(array.layout->spec);
    case kBytes:
      return bytes_text(held.bytes);
    case kShare:
      return QStringLiteral("%1 %").arg(total_ > 0 ? 100.0 * double(held.bytes) / double(total_) : 0, 0, 'f', 1);
    case kPlace:
      return qstr(array.site < 0            ? std::string()
                  : role == Qt::ToolTipRole ? trace_->sites[std::size_t(array.site)].path()
                                            : trace_->site_text(array.site));
    case kSince:
      return duration_text(held.begin - trace_->range.begin);
    case kKeptFor:
      return role == Qt::ToolTipRole && held.takers > 1
                 ? QStringLiteral("%1, the last of %2 launches").arg(kept_for_text(*trace_, held)).arg(held.takers)
                 : kept_for_text(*trace_, held);
    default:
      if (held.end == kOpen) return QStringLiteral("the end");
      return duration_text(held.end - trace_->range.begin) + (held.donated ? QStringLiteral(", donated") : QString());
  }
}

QVariant HeldArrayModel::headerData(int section, Qt::Orientation orientation, int role) const {
  static constexpr const char* kTitles[] = {"Array", "Type", "Sharding", "Bytes", "Share", "Made at", "Kept for", "Since", "Until"};
  static constexpr const char* kDocs[] = {"Its name, or the op's that made it",
                                          "Of the whole array",
                                          "How it lies",
                                          "Of the device's part",
                                          "Of what the device holds of arrays",
                                          "The line that made it",
                                          "The last launch that takes it from this moment on; none: the program alone holds it",
                                          "When the launch that makes it began",
                                          "When nobody held it any more, or it was donated"};
  return header(kTitles, kDocs, section, orientation, role);
}

void HeldArrayModel::sort(int column, Qt::SortOrder order) {
  if (column < 0 || !trace_) return;
  Q_EMIT layoutAboutToBeChanged();
  const auto text = [&](const HeldArray& held) {
    const Array& array = trace_->arrays[std::size_t(held.array)];
    return column == kName    ? array.display_name()
           : column == kType  ? array.type_text()
           : column == kPlace ? trace_->site_text(array.site)
                              : array.layout->spec;
  };
  std::stable_sort(held_.begin(), held_.end(), [&](const HeldArray& a, const HeldArray& b) {
    const HeldArray& x = order == Qt::AscendingOrder ? a : b;
    const HeldArray& y = order == Qt::AscendingOrder ? b : a;
    if (column == kBytes || column == kShare) return x.bytes < y.bytes;
    if (column == kSince) return x.begin < y.begin;
    if (column == kUntil) return x.end < y.end;
    if (column == kKeptFor) return x.last_taker < y.last_taker;
    return text(x) < text(y);
  });
  changePersistentIndexList(persistentIndexList(), QModelIndexList(persistentIndexList().size()));
  Q_EMIT layoutChanged();
}

}  // namespace shardlab::gui
