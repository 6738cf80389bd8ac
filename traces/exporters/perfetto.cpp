// Perfetto's protobuf trace (protos/perfetto/trace of google/perfetto): a track for each device within its process, collectives bound by
// flows, counters of bytes. One sequence of packets a lane, so that its track is said once and names are interned where they are used.
#include <fmt/format.h>

#include <string>
#include <unordered_set>

#include "traces/exporters/export.h"
#include "traces/exporters/out_file.h"
#include "traces/exporters/source.h"
#include "traces/exporters/text.h"
#include "traces/exporters/wire_writer.h"

namespace shardlab::exporters {
namespace {

namespace packet {
constexpr std::uint32_t kTimestamp = 8, kSequence = 10, kTrackEvent = 11, kInterned = 12, kSequenceFlags = 13, kDefaults = 59,
                        kTrackDescriptor = 60;
constexpr std::uint64_t kStateCleared = 1, kNeedsState = 2;
}  // namespace packet

namespace track {
constexpr std::uint32_t kUuid = 1, kName = 2, kProcess = 3, kParent = 5, kCounter = 8, kChildOrdering = 11, kRank = 12, kMerge = 15;
constexpr std::uint64_t kExplicit = 3, kNeverMerge = 2, kBytes = 3;
}  // namespace track

namespace event {
constexpr std::uint32_t kCategory = 3, kAnnotation = 4, kType = 9, kName = 10, kTrack = 11, kText = 23, kCounterValue = 30, kFlow = 47,
                        kCorrelation = 52;
enum Type : std::uint64_t { kBegin = 1, kEnd = 2, kInstant = 3, kCounter = 4 };
}  // namespace event

namespace annotation {
constexpr std::uint32_t kName = 1, kBool = 2, kInteger = 4, kText = 6, kInternedText = 17;
}

namespace interned {
constexpr std::uint32_t kCategories = 1, kEventNames = 2, kAnnotationNames = 3, kAnnotationTexts = 29, kId = 1, kText = 2;
}

constexpr std::string_view kCategoryNames[] = {"compute", "collective", "host read", "launch", "other"};  // by EventKind

// Of annotations, in the order of their ids from 1.
enum Note {
  kCallSite,
  kLaunch,
  kOp,
  kAxes,
  kGroup,
  kSeq,
  kBytesOnDevice,
  kWireBytes,
  kState,
  kNeverEnded,
  kFailed,
  kWaited,
  kCutShort,
  kNotes
};
constexpr std::string_view kNoteNames[kNotes] = {"call_site",  "launch", "op",          "mesh_axes", "group",  "seq",      "bytes",
                                                 "wire_bytes", "state",  "never_ended", "failed",    "waited", "cut_short"};
constexpr std::string_view kStateNames[] = {"matched", "partial", "mismatched"};

constexpr std::uint64_t process_uuid(int process) { return std::uint64_t(1) << 40 | std::uint32_t(process); }
constexpr std::uint64_t lane_uuid(std::size_t lane) { return std::uint64_t(2) << 40 | lane; }
constexpr std::uint64_t memory_uuid(int device) { return std::uint64_t(3) << 40 | std::uint32_t(device); }
constexpr std::uint64_t kInFlightUuid = std::uint64_t(4) << 40, kVerdictUuid = std::uint64_t(5) << 40;
constexpr std::uint64_t kCommonSequence = 1;  // lanes have those behind it

// Packets of one sequence.
class Sequence {
 public:
  Sequence(OutFile& file, std::uint64_t id) : file_(file), id_(id) {}

  // `fill` is void(WireWriter& packet).
  template <typename Fill>
  void put(std::uint64_t flags, const Fill& fill) {
    bytes_.clear();
    WireWriter(bytes_).message(1, [&](WireWriter& packet) {
      packet.number(packet::kSequence, id_);
      packet.number(packet::kSequenceFlags, flags);
      fill(packet);
    });
    file_.put(bytes_);
  }

 private:
  OutFile& file_;
  std::uint64_t id_;
  std::string bytes_;
};

// What a sequence has interned: each text before the first packet that names it, in that packet.
class Interned {
 public:
  explicit Interned(const Source& source, const std::vector<traces::SiteRow>& sites) : source_(source), sites_(sites) {}

  std::uint64_t name(Id string) {
    return add(interned::kEventNames, std::uint64_t(string), [&] { return source_.text(string); });
  }
  std::uint64_t category(traces::EventKind kind) {
    return add(interned::kCategories, std::uint64_t(kind) + 1, [&] { return kCategoryNames[std::size_t(kind)]; });
  }
  std::uint64_t note(Note note) {
    return add(interned::kAnnotationNames, std::uint64_t(note) + 1, [&] { return kNoteNames[note]; });
  }
  // Texts of annotations are strings, sites, and the device's group among others: ids that three divides, and those one and two above.
  std::uint64_t text(Id string) {
    return add(interned::kAnnotationTexts, std::uint64_t(string) * 3, [&] { return source_.text(string); });
  }
  std::uint64_t site(Id site) {
    return add(interned::kAnnotationTexts, std::uint64_t(site) * 3 + 1, [&] { return sites_[std::size_t(site)].text(); });
  }
  std::uint64_t group(const CollectiveFacts& what, int device) {
    return add(interned::kAnnotationTexts, std::uint64_t(what.groups) * 3 + 2, [&] { return traces::json_list(what.group_of(device)); });
  }
  // What came since the last packet.
  void put(WireWriter& packet) {
    if (fresh_.empty()) return;
    packet.text(packet::kInterned, fresh_);
    fresh_.clear();
  }

 private:
  template <typename Text>
  std::uint64_t add(std::uint32_t kind, std::uint64_t id, const Text& text) {
    if (known_.insert(std::uint64_t(kind) << 58 | id).second)
      WireWriter(fresh_).message(kind, [&](WireWriter& entry) {
        entry.number(interned::kId, id);
        entry.text(interned::kText, clean_text(text()));
      });
    return id;
  }
  const Source& source_;
  const std::vector<traces::SiteRow>& sites_;
  std::unordered_set<std::uint64_t> known_;
  std::string fresh_;
};

class PerfettoWriter {
 public:
  PerfettoWriter(Source& source, const std::string& path, Exported& exported)
      : source_(source), exported_(exported), file_(path), common_(file_, kCommonSequence) {}

  void write() {
    common_.put(packet::kStateCleared, [](WireWriter&) {});
    for (const auto& process : source_.processes()) describe(process);
    for (std::size_t i = 0; i < source_.lanes().size(); ++i) write_lane(i);
    write_memory();
    write_in_flight();
    write_verdict();
    file_.finish();
    exported_.files = {file_.path()};
    exported_.bytes = file_.bytes();
  }

 private:
  void describe(const traces::ProcessRow& process) {
    common_.put(0, [&](WireWriter& packet) {
      packet.message(packet::kTrackDescriptor, [&](WireWriter& descriptor) {
        descriptor.number(track::kUuid, process_uuid(process.process));
        descriptor.message(track::kProcess, [&](WireWriter& inner) {
          inner.number(1, std::uint64_t(process.process) + 1);  // of its own: processes of two hosts may have one pid
          inner.text(6, clean_text(process_title(process)));
          inner.text(8, clean_text(fmt::format("pid {}", process.pid)));
        });
        descriptor.number(track::kChildOrdering, track::kExplicit);
      });
    });
  }

  static std::string process_title(const traces::ProcessRow& process) {
    return process.host.empty() ? fmt::format("process {}", process.process)
                                : fmt::format("process {} on {}", process.process, process.host);
  }

  struct TrackWords {
    std::uint64_t uuid = 0, parent = 0, rank = 0;
    std::string name;
    bool counter = false;
  };
  void describe(const TrackWords& words) {
    common_.put(0, [&](WireWriter& packet) {
      packet.message(packet::kTrackDescriptor, [&](WireWriter& descriptor) {
        descriptor.number(track::kUuid, words.uuid);
        descriptor.text(track::kName, clean_text(words.name));
        if (words.parent != 0) descriptor.number(track::kParent, words.parent);
        if (words.counter) descriptor.message(track::kCounter, [](WireWriter& counter) { counter.number(3, track::kBytes); });
        descriptor.number(track::kRank, words.rank);
        descriptor.number(track::kMerge, track::kNeverMerge);
      });
    });
  }

  void write_lane(std::size_t index) {
    const Lane& lane = source_.lanes()[index];
    describe({.uuid = lane_uuid(index), .parent = process_uuid(lane.process), .rank = rank_of(lane.device), .name = lane.name});
    Sequence sequence(file_, kCommonSequence + 1 + index);
    Interned interned(source_, source_.reader().sites());
    sequence.put(packet::kStateCleared, [&](WireWriter& packet) {
      packet.message(packet::kDefaults, [&](WireWriter& defaults) {
        defaults.message(packet::kTrackEvent, [&](WireWriter& inner) { inner.number(event::kTrack, lane_uuid(index)); });
      });
    });
    std::vector<Ns> ends;  // of slices that have begun, the innermost last
    const auto end_before = [&](Ns time) {
      for (; !ends.empty() && ends.back() != kNoTime && (time == kNoTime || ends.back() <= time); ends.pop_back())
        sequence.put(packet::kNeedsState, [&](WireWriter& packet) {
          packet.number(packet::kTimestamp, std::uint64_t(ends.back()));
          packet.message(packet::kTrackEvent, [](WireWriter& inner) { inner.number(event::kType, event::kEnd); });
        });
    };
    source_.for_each_event(lane, [&](const Event& each) {
      ++exported_.events;
      end_before(each.begin);
      if (!each.moment) ends.push_back(each.end);
      sequence.put(packet::kNeedsState, [&](WireWriter& packet) {
        packet.number(packet::kTimestamp, std::uint64_t(each.begin));
        packet.message(packet::kTrackEvent, [&](WireWriter& inner) { put_event(inner, interned, lane, each); });
        interned.put(packet);
      });
    });
    end_before(kNoTime);
  }

  // The host's lane, then each device's with its counter behind it.
  static std::uint64_t rank_of(int device) { return std::uint64_t(2 * (device + 1)); }

  void put_event(WireWriter& out, Interned& interned, const Lane& lane, const Event& each) {
    out.number(event::kType, each.moment ? event::kInstant : event::kBegin);
    out.number(event::kCategory, interned.category(each.kind));
    if (each.name != 0) out.number(event::kName, interned.name(each.name));
    const auto note = [&](Note name, const auto& put) {
      out.message(event::kAnnotation, [&](WireWriter& inner) {
        inner.number(annotation::kName, interned.note(name));
        put(inner);
      });
    };
    const auto number = [&](Note name, std::int64_t value) {
      note(name, [&](WireWriter& inner) { inner.number(annotation::kInteger, std::uint64_t(value)); });
    };
    const auto flag = [&](Note name, bool is) {
      if (is) note(name, [&](WireWriter& inner) { inner.number(annotation::kBool, 1); });
    };
    const auto word = [&](Note name, Id string) {
      if (string != 0) note(name, [&](WireWriter& inner) { inner.number(annotation::kInternedText, interned.text(string)); });
    };
    if (source_.reader().site(each.site).known())
      note(kCallSite, [&](WireWriter& inner) { inner.number(annotation::kInternedText, interned.site(each.site)); });
    if (each.launch >= 0) number(kLaunch, each.launch);
    flag(kNeverEnded, !each.moment && each.end == kNoTime);
    flag(kCutShort, each.cut);
    flag(kFailed, (each.flags & traces::kErrorFlag) != 0);
    flag(kWaited, (each.flags & traces::kWaited) != 0);
    if (const CollectiveFacts* what = each.collective) {
      word(kOp, what->op);
      word(kAxes, what->axes);
      number(kSeq, what->seq);
      number(kBytesOnDevice, what->what.bytes);
      number(kWireBytes, what->what.wire_bytes);
      if (what->state != traces::MatchState::kMatched)
        note(kState, [&](WireWriter& inner) { inner.text(annotation::kText, kStateNames[std::size_t(what->state)]); });
      if (what->groups != 0)
        note(kGroup, [&](WireWriter& inner) { inner.number(annotation::kInternedText, interned.group(*what, lane.device)); });
      out.fixed64(event::kFlow, std::uint64_t(what->id));
      out.number(event::kCorrelation, std::uint64_t(what->id));
    }
  }

  void put_counter(std::uint64_t uuid, Ns time, std::int64_t bytes) {
    common_.put(0, [&](WireWriter& packet) {
      packet.number(packet::kTimestamp, std::uint64_t(time));
      packet.message(packet::kTrackEvent, [&](WireWriter& inner) {
        inner.number(event::kType, event::kCounter);
        inner.number(event::kTrack, uuid);
        inner.number(event::kCounterValue, std::uint64_t(bytes));
      });
    });
  }

  void write_memory() {
    std::map<int, const Lane*> lane_of;
    for (const Lane& lane : source_.lanes())
      if (lane.device >= 0) lane_of[lane.device] = &lane;
    int described = -1;
    source_.for_each_memory([&](int device, Ns time, std::int64_t bytes) {
      const auto lane = lane_of.find(device);
      if (lane == lane_of.end()) return;
      if (device != described)
        describe({.uuid = memory_uuid(device),
                  .parent = process_uuid(lane->second->process),
                  .rank = rank_of(device) + 1,
                  .name = fmt::format("memory of {}", lane->second->name),
                  .counter = true});
      described = device;
      put_counter(memory_uuid(device), time, bytes);
    });
  }

  void write_in_flight() {
    bool described = false;
    source_.for_each_in_flight([&](Ns time, std::int64_t bytes) {
      if (!described) describe({.uuid = kInFlightUuid, .rank = 1, .name = "bytes in flight", .counter = true});
      described = true;
      put_counter(kInFlightUuid, time, bytes);
    });
  }

  void write_verdict() {
    const auto diagnoses = source_.reader().diagnoses();
    if (!diagnoses.empty()) describe({.uuid = kVerdictUuid, .name = "diagnoses"});
    for (const auto& diagnosis : diagnoses)
      common_.put(0, [&](WireWriter& packet) {
        packet.number(packet::kTimestamp, std::uint64_t(diagnosis.detected_ns));
        packet.message(packet::kTrackEvent, [&](WireWriter& inner) {
          inner.number(event::kType, event::kInstant);
          inner.number(event::kTrack, kVerdictUuid);
          inner.text(event::kText, clean_text(diagnosis.code + ": " + diagnosis.message));
        });
      });
  }

  Source& source_;
  Exported& exported_;
  OutFile file_;
  Sequence common_;
};

void write_perfetto(Source& source, const std::string& path, Exported& exported) { PerfettoWriter(source, path, exported).write(); }

}  // namespace

constinit const ExportFormatDef kPerfetto{
    "perfetto", "Perfetto", "for ui.perfetto.dev: a track for each device, flows between the members of collectives, counters of bytes",
    ".pftrace", write_perfetto};

}  // namespace shardlab::exporters
