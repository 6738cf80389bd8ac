// Chakra execution traces (schema/protobuf/et_def.proto of mlcommons/chakra), a file a device: GlobalMetadata, then nodes, each behind its
// length. For simulators that replay who computes and communicates when.
//
// A device does one thing after the other: each node has the one before as its control dependency. Its data dependencies are what the
// program's text says that it takes from steps before it; what takes nothing from within its launch follows the launch before. Where a
// launch left other events than its program has steps (fused ones, loops), the node before stands for what is not known.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>

#include "traces/exporters/export.h"
#include "traces/exporters/out_file.h"
#include "traces/exporters/program_steps.h"
#include "traces/exporters/source.h"
#include "traces/exporters/text.h"
#include "traces/exporters/wire_writer.h"

namespace shardlab::exporters {
namespace {

namespace node {
constexpr std::uint32_t kId = 1, kName = 2, kType = 3, kControl = 4, kData = 5, kStart = 6, kDuration = 7, kAttribute = 10;
enum Type : std::uint64_t { kCompute = 4, kSend = 5, kReceive = 6, kCollective = 7 };
}  // namespace node

namespace attribute {
constexpr std::uint32_t kName = 1, kInt32 = 7, kInt64 = 9, kBool = 27, kText = 29;
}

// Of CollectiveCommType; -1: a permute or transfer, which are sends and receives.
int comm_type(std::string_view kind) {
  if (kind == "all-reduce") return 0;
  if (kind == "all-gather") return 2;
  if (kind == "collective-broadcast") return 5;
  if (kind == "all-to-all") return 6;
  if (kind == "reduce-scatter") return 7;
  return -1;
}

// What a device gives, in bytes; the trace has what it gets.
std::int64_t operand_bytes(std::string_view kind, std::int64_t result_bytes, std::size_t members) {
  const auto count = std::int64_t(std::max<std::size_t>(members, 1));
  return kind == "all-gather" ? result_bytes / count : kind == "reduce-scatter" ? result_bytes * count : result_bytes;
}

// "[[2,0],[4,0]]" as pairs; empty for other text.
std::vector<std::pair<int, int>> pairs_of(std::string_view json) {
  std::vector<std::pair<int, int>> pairs;
  if (json.empty()) return pairs;
  for (const auto& pair : traces::parse_int_lists(json))
    if (pair.size() == 2) pairs.emplace_back(pair[0], pair[1]);
  return pairs;
}

// The numbers by which simulators know groups of devices, over all files.
class Groups {
 public:
  int number(const std::vector<int>& devices) { return numbers_.try_emplace(devices, int(numbers_.size()) + 1).first->second; }
  std::string json() const {
    std::string text = "{";
    for (const auto& [devices, number] : numbers_)
      text += fmt::format("{}\n  \"{}\": {}", text.size() > 1 ? "," : "", number, traces::json_list(devices));
    return text + "\n}\n";
  }

 private:
  std::map<std::vector<int>, int> numbers_;
};

using Nodes = std::vector<std::uint64_t>;  // of one event: several where it sends and receives

class DeviceWriter {
 public:
  DeviceWriter(Source& source, Groups& groups, const Lane& lane, const std::string& path)
      : source_(source), groups_(groups), lane_(lane), file_(path) {}

  // Returns how many events it wrote.
  std::int64_t write() {
    put([&](WireWriter& metadata) {
      metadata.text(1, "0.0.4");
      text_attribute(metadata, 2, "tool", "shardlab");
      text_attribute(metadata, 2, "device", lane_.name);
    });
    std::int64_t events = 0;
    source_.for_each_event(lane_, [&](const Event& each) {
      if (each.moment) return;
      ++events;
      if (!launch_.empty() && (launch_.front().event.launch != each.launch || launch_.size() == kLaunchEventsMax)) put_launch();
      launch_.push_back({each, {}});
      if (each.collective) launch_.back().facts = *each.collective;
      launch_.back().event.collective = nullptr;
    });
    put_launch();
    file_.finish();
    return events;
  }
  std::int64_t bytes() const { return file_.bytes(); }

 private:
  static constexpr std::size_t kLaunchEventsMax = 4096;  // a loop's launch has as many as it turned

  struct Held {
    Event event;
    CollectiveFacts facts;  // id 0: no collective
  };

  // Per event of the launch those before it in the launch that it takes from; nothing where that is not known.
  std::vector<std::vector<int>> taken_from() {
    const std::vector<ProgramStep>& steps = source_.steps_of(lane_.process, launch_.front().event.launch);
    if (steps.size() != launch_.size()) return {};
    std::vector<std::vector<int>> from;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (steps[i].op != source_.text(launch_[i].event.name)) return {};
      from.push_back(steps[i].from);
    }
    return from;
  }

  void put_launch() {
    if (launch_.empty()) return;
    const auto from = taken_from();
    const Nodes outside = before_;
    std::vector<Nodes> nodes;
    for (std::size_t i = 0; i < launch_.size(); ++i) {
      data_ = from.empty() ? before_ : Nodes();
      if (!from.empty())
        for (const int step : from[i]) data_.insert(data_.end(), nodes[std::size_t(step)].begin(), nodes[std::size_t(step)].end());
      if (data_.empty()) data_ = outside;
      if (launch_[i].facts.id == 0)
        put_node(launch_[i].event, node::kCompute, source_.text(launch_[i].event.name), [](WireWriter&) {});
      else
        put_collective(launch_[i].event, launch_[i].facts);
      nodes.push_back(now_);
      before_ = std::move(now_);
      now_.clear();
    }
    launch_.clear();
  }

  template <typename Fill>
  void put(const Fill& fill) {
    bytes_.clear();
    WireWriter writer(bytes_);
    fill(writer);
    std::string length;
    WireWriter(length).varint(bytes_.size());
    file_.put(length);
    file_.put(bytes_);
  }

  static void text_attribute(WireWriter& out, std::uint32_t field, std::string_view name, std::string_view value) {
    out.message(field, [&](WireWriter& inner) {
      inner.text(attribute::kName, name);
      inner.text(attribute::kText, clean_text(value));
    });
  }
  static void number_attribute(WireWriter& out, std::string_view name, std::uint32_t kind, std::int64_t value) {
    out.message(node::kAttribute, [&](WireWriter& inner) {
      inner.text(attribute::kName, name);
      inner.number(kind, std::uint64_t(value));
    });
  }

  template <typename Fill>
  void put_node(const Event& each, node::Type type, std::string_view name, const Fill& fill) {
    const std::uint64_t id = next_++;
    now_.push_back(id);
    put([&](WireWriter& out) {
      out.number(node::kId, id);
      out.text(node::kName, clean_text(name));
      out.number(node::kType, type);
      for (const std::uint64_t before : before_) out.number(node::kControl, before);
      for (const std::uint64_t before : data_) out.number(node::kData, before);
      const Ns end = each.end == kNoTime ? each.begin : each.end;
      out.number(node::kStart, std::uint64_t(each.begin / 1000));
      out.number(node::kDuration, std::uint64_t((end - each.begin + 500) / 1000));
      number_attribute(out, "is_cpu_op", attribute::kBool, 0);
      number_attribute(out, "duration_ns", attribute::kInt64, end - each.begin);
      if (each.end == kNoTime) number_attribute(out, "never_ended", attribute::kBool, 1);
      if (const auto& site = source_.reader().site(each.site); site.known())
        text_attribute(out, node::kAttribute, "call_site", site.text());
      fill(out);
    });
  }

  void put_collective(const Event& each, const CollectiveFacts& facts) {
    const traces::CollectiveShape& what = facts.what;
    const int type = comm_type(what.kind);
    if (type >= 0) {
      const std::vector<int> group = facts.group_of(lane_.device);
      return put_node(each, node::kCollective, what.kind, [&](WireWriter& out) {
        number_attribute(out, "comm_type", attribute::kInt64, type);
        number_attribute(out, "comm_size", attribute::kInt64, operand_bytes(what.kind, what.bytes, group.size()));
        text_attribute(out, node::kAttribute, "pg_name", std::to_string(groups_.number(group)));
      });
    }
    for (const auto& [from, to] : pairs_of(what.pairs)) {
      if (from == to || (from != lane_.device && to != lane_.device)) continue;
      put_node(each, from == lane_.device ? node::kSend : node::kReceive, what.kind, [&, source = from, target = to](WireWriter& out) {
        number_attribute(out, "comm_size", attribute::kInt64, what.bytes);
        number_attribute(out, "comm_src", attribute::kInt32, source);
        number_attribute(out, "comm_dst", attribute::kInt32, target);
        number_attribute(out, "comm_tag", attribute::kInt32, facts.id & 0x7fffffff);
      });
    }
    if (now_.empty()) put_node(each, node::kCompute, what.kind, [](WireWriter&) {});  // nothing of it came to the device or left it
  }

  Source& source_;
  Groups& groups_;
  const Lane& lane_;
  OutFile file_;
  std::string bytes_;
  std::uint64_t next_ = 0;
  std::vector<Held> launch_;   // its events, until it ends
  Nodes before_, now_, data_;  // of the event before, of this one, and what this one takes from
};

// "T.et" becomes "T.0.et", "T.1.et", …, and "T.groups.json".
void write_chakra(Source& source, const std::string& path, Exported& exported) {
  const std::filesystem::path stem = std::filesystem::path(path).replace_extension();
  Groups groups;
  for (const Lane& lane : source.lanes()) {
    if (lane.device < 0) continue;
    exported.files.push_back(fmt::format("{}.{}.et", stem.string(), lane.device));
    DeviceWriter writer(source, groups, lane, exported.files.back());
    exported.events += writer.write();
    exported.bytes += writer.bytes();
  }
  exported.files.push_back(stem.string() + ".groups.json");
  OutFile file(exported.files.back());
  file.put(groups.json());
  file.finish();
  exported.bytes += file.bytes();
}

}  // namespace

constinit const ExportFormatDef kChakra{"chakra", "Chakra",
                                        "execution traces for simulators: a file for each device, T.0.et, T.1.et, …, "
                                        "and T.groups.json with the devices of each group",
                                        ".et", write_chakra};

}  // namespace shardlab::exporters
