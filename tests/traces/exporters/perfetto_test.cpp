// Perfetto's format, read back by protobuf's library.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "perfetto.pb.h"
#include "tests/traces/exporters/export_samples.h"

namespace shardlab::exporters {
namespace {

using perfetto_read::TracePacket;
using perfetto_read::TrackEvent;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Slice {
  std::string name, category;
  std::int64_t begin = 0, end = -1;  // -1: none came
  int depth = 0;
  bool moment = false;
  std::map<std::string, std::string> notes;
  std::vector<std::uint64_t> flows;
  std::uint64_t correlation = 0;
};
struct Track {
  std::string name, parent;
  bool counter = false;
  std::vector<Slice> slices;
  std::vector<std::pair<std::int64_t, std::int64_t>> values;
};

// Resolves what is interned and checks what a reader of the format relies on: state first, times that do not fall, ends that fit.
class Decoded {
 public:
  explicit Decoded(const std::string& path) {
    perfetto_read::Trace trace;
    EXPECT_TRUE(trace.ParseFromString(sample::read_file(path)));
    for (const TracePacket& packet : trace.packet()) take(packet);
    for (auto& [uuid, track] : tracks_)
      by_name[names_.contains(parents_[uuid]) ? names_[parents_[uuid]] + "/" + track.name : track.name] = track;
  }
  std::map<std::string, Track> by_name;
  std::vector<std::string> processes;

 private:
  struct Sequence {
    std::uint64_t track = 0;
    std::map<std::uint64_t, std::string> names, categories, note_names, note_texts;
  };

  void take(const TracePacket& packet) {
    ASSERT_TRUE(packet.has_trusted_packet_sequence_id());
    const auto id = packet.trusted_packet_sequence_id();
    if (packet.sequence_flags() & 1) sequences_[id] = {};
    ASSERT_TRUE(sequences_.contains(id)) << "the first packet of a sequence clears its state";
    Sequence& sequence = sequences_[id];
    if (packet.has_trace_packet_defaults()) sequence.track = packet.trace_packet_defaults().track_event_defaults().track_uuid();
    for (const auto& text : packet.interned_data().event_names()) sequence.names[text.iid()] = text.name();
    for (const auto& text : packet.interned_data().event_categories()) sequence.categories[text.iid()] = text.name();
    for (const auto& text : packet.interned_data().debug_annotation_names()) sequence.note_names[text.iid()] = text.name();
    for (const auto& text : packet.interned_data().debug_annotation_string_values()) sequence.note_texts[text.iid()] = text.name();
    if (packet.has_track_descriptor()) describe(packet.track_descriptor());
    if (packet.has_track_event()) take(sequence, std::int64_t(packet.timestamp()), packet.track_event());
  }

  void describe(const perfetto_read::TrackDescriptor& descriptor) {
    if (descriptor.has_process()) {
      names_[descriptor.uuid()] = descriptor.process().process_name();
      processes.push_back(descriptor.process().process_name());
      return;
    }
    EXPECT_TRUE(tracks_.try_emplace(descriptor.uuid(), Track{descriptor.name(), "", descriptor.has_counter(), {}, {}}).second);
    parents_[descriptor.uuid()] = descriptor.parent_uuid();
    EXPECT_EQ(descriptor.counter().unit(), descriptor.has_counter() ? 3 : 0) << "bytes";
  }

  void take(const Sequence& sequence, std::int64_t time, const TrackEvent& event) {
    const std::uint64_t uuid = event.has_track_uuid() ? event.track_uuid() : sequence.track;
    ASSERT_TRUE(tracks_.contains(uuid)) << "an event of a track that nothing describes";
    Track& track = tracks_[uuid];
    EXPECT_LE(last_.try_emplace(uuid, time).first->second, time) << track.name;
    last_[uuid] = time;
    auto& open = open_[uuid];
    if (event.type() == TrackEvent::TYPE_COUNTER) return void(track.values.emplace_back(time, event.counter_value()));
    if (event.type() == TrackEvent::TYPE_SLICE_END) {
      ASSERT_FALSE(open.empty()) << "an end without a begin on " << track.name;
      track.slices[open.back()].end = time;
      return open.pop_back();
    }
    Slice slice{.begin = time, .depth = int(open.size()), .moment = event.type() == TrackEvent::TYPE_INSTANT};
    slice.name = event.has_name() ? event.name() : sequence.names.at(event.name_iid());
    if (event.category_iids_size() > 0) slice.category = sequence.categories.at(event.category_iids(0));
    for (const auto& note : event.debug_annotations())
      slice.notes[sequence.note_names.at(note.name_iid())] = note.has_string_value_iid() ? sequence.note_texts.at(note.string_value_iid())
                                                             : note.has_string_value()   ? note.string_value()
                                                             : note.has_bool_value()     ? (note.bool_value() ? "true" : "false")
                                                                                         : std::to_string(note.int_value());
    slice.flows.assign(event.flow_ids().begin(), event.flow_ids().end());
    slice.correlation = event.correlation_id();
    if (!slice.moment) open.push_back(track.slices.size());
    track.slices.push_back(std::move(slice));
  }

  std::map<std::uint32_t, Sequence> sequences_;
  std::map<std::uint64_t, Track> tracks_;
  std::map<std::uint64_t, std::string> names_;
  std::map<std::uint64_t, std::uint64_t> parents_;
  std::map<std::uint64_t, std::int64_t> last_;
  std::map<std::uint64_t, std::vector<std::size_t>> open_;
};

TEST(Perfetto, HasATrackForEachDeviceWithinItsProcess) {
  sample::Folder folder;
  const Decoded trace(folder.exported("toy", kPerfetto));
  EXPECT_THAT(trace.processes, ElementsAre("process 0 on node0", "process 1 on node0", "process 2 on node0", "process 3 on node0"));
  std::set<std::uint64_t> flows;
  int members = 0;
  for (int d = 0; d < 8; ++d) {
    const Track& track = trace.by_name.at(fmt::format("process {} on node0/CPU {}", d / 2, d));
    ASSERT_EQ(track.slices.size(), 3U);
    EXPECT_EQ(track.slices[0].name, "sin");
    EXPECT_EQ(track.slices[0].category, "compute");
    EXPECT_EQ(track.slices[0].end - track.slices[0].begin, 4000);
    EXPECT_EQ(track.slices[0].notes.at("call_site"), "toy.cpp:10");
    const Slice& sum = track.slices[2];
    EXPECT_EQ(sum.name, "all-reduce");
    EXPECT_EQ(sum.notes.at("group"), "[0,1,2,3,4,5,6,7]");
    EXPECT_EQ(sum.notes.at("mesh_axes"), "[\"i\",\"j\"]");
    EXPECT_EQ(sum.notes.at("bytes"), "4");
    EXPECT_THAT(sum.flows, ElementsAre(sum.correlation));
    flows.insert(sum.correlation);
    ++members;
  }
  EXPECT_EQ(members, 8);
  EXPECT_EQ(flows.size(), 1U) << "all members of one collective";
  const Track& host = trace.by_name.at("process 0 on node0/host");
  ASSERT_EQ(host.slices.size(), 2U);
  EXPECT_TRUE(host.slices[0].moment);
  EXPECT_EQ(host.slices[1].category, "host read");
}

TEST(Perfetto, CountsBytesInFlightAndMemory) {
  sample::Folder folder;
  const Decoded odd(folder.exported("odd", kPerfetto));
  using Value = std::pair<std::int64_t, std::int64_t>;
  EXPECT_THAT(odd.by_name.at("bytes in flight").values, ElementsAre(Value(400, 32), Value(500, 0), Value(600, 16), Value(700, 0)));
  const std::string process = "process 0 on " + std::string(sample::kOddNameClean);
  for (const char* device : {"CPU 0", "CPU 1"})
    EXPECT_THAT(odd.by_name.at(process + "/memory of " + device).values, ElementsAre(Value(100, 64), Value(900, 0)));
}

TEST(Perfetto, NestsWhatOverlapsAndLeavesOpenWhatNeverEnded) {
  sample::Folder folder;
  const Decoded odd(folder.exported("odd", kPerfetto));
  const auto& slices = odd.by_name.at("process 0 on " + std::string(sample::kOddNameClean) + "/host").slices;
  ASSERT_EQ(slices.size(), 6U);
  const auto expect = [&](std::size_t i, std::string_view name, std::int64_t begin, std::int64_t end, int depth) {
    EXPECT_EQ(slices[i].name, name);
    EXPECT_EQ(slices[i].begin, begin) << name;
    EXPECT_EQ(slices[i].end, end) << name;
    EXPECT_EQ(slices[i].depth, depth) << name;
  };
  expect(0, "f", 50, -1, 0);
  EXPECT_TRUE(slices[0].moment);
  EXPECT_EQ(slices[0].notes.at("launch"), std::to_string(sample::kLargeId));
  expect(1, "outer", 100, 400, 0);
  expect(2, "inner", 150, 250, 1);
  expect(3, "overlaps", 350, 400, 1);
  EXPECT_EQ(slices[3].notes.at("cut_short"), "true");
  expect(4, sample::kOddNameClean, 500, -1, 0);
  EXPECT_EQ(slices[4].notes.at("never_ended"), "true");
  expect(5, "after", 600, 650, 1);
}

TEST(Perfetto, KeepsIdsOf64Bits) {
  sample::Folder folder;
  const Decoded odd(folder.exported("odd", kPerfetto));
  const auto& slices = odd.by_name.at("process 0 on " + std::string(sample::kOddNameClean) + "/CPU 1").slices;
  ASSERT_EQ(slices.size(), 6U);
  EXPECT_THAT(slices[3].flows, ElementsAre(std::uint64_t(sample::kLargeId)));
  EXPECT_EQ(slices[3].correlation, std::uint64_t(sample::kLargeId));
}

TEST(Perfetto, TellsTheVerdict) {
  sample::Folder folder;
  const Decoded deadlock(folder.exported("deadlock", kPerfetto));
  ASSERT_EQ(deadlock.by_name.at("diagnoses").slices.size(), 1U);
  EXPECT_THAT(deadlock.by_name.at("diagnoses").slices[0].name, HasSubstr("order-mismatch: process 3 issues matmul(y, x)"));
  const Slice& last = deadlock.by_name.at("process 3 on node0/CPU 6").slices.back();
  EXPECT_EQ(last.end, -1);
  EXPECT_EQ(last.notes.at("failed"), "true");
  EXPECT_EQ(last.notes.at("state"), "mismatched");
}

}  // namespace
}  // namespace shardlab::exporters
