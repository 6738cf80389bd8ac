// How one sequence of calls turns into another.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "traces/checks/alignment.h"

namespace shardlab {
namespace {

// One letter a call, each op on a line of its own.
Track calls(std::string_view letters) {
  Track track;
  for (std::size_t i = 0; i < letters.size(); ++i)
    track.items.push_back({{std::uint64_t(letters[i]), 1}, letters.substr(i, 1), letters.substr(i, 1), nullptr});
  return track;
}

struct Case {
  std::string tail, reference;
  Relation relation;
  int length;
};

class Align : public testing::TestWithParam<Case> {};

TEST_P(Align, Classifies) {
  const Case& c = GetParam();
  Alignment alignment = align(calls(c.tail), calls(c.reference));
  EXPECT_EQ(alignment.relation, c.relation) << c.tail << " against " << c.reference;
  EXPECT_EQ(alignment.length, c.length) << c.tail << " against " << c.reference;
}

INSTANTIATE_TEST_SUITE_P(
    , Align,
    testing::Values(Case{"BA", "AB", Relation::kOrder, 2}, Case{"BAC", "ABC", Relation::kOrder, 2}, Case{"CAB", "ABC", Relation::kOrder, 3},
                    Case{"BACD", "ABC", Relation::kOrder, 2},   // the reference was cut short
                    Case{"BABA", "ABAB", Relation::kOrder, 4},  // a loop in the other order
                    Case{"X", "A", Relation::kProgram, 1}, Case{"XBC", "ABC", Relation::kProgram, 1},
                    Case{"XYC", "ABC", Relation::kProgram, 1}, Case{"BBAB", "ABAB", Relation::kProgram, 1},  // in a loop
                    Case{"XB", "ABC", Relation::kProgram, 1}, Case{"BC", "ABC", Relation::kSkipped, 1},
                    Case{"C", "ABC", Relation::kSkipped, 2}, Case{"BCD", "ABC", Relation::kSkipped, 1},  // the reference was cut short
                    Case{"BABA", "ABABA", Relation::kSkipped, 1},                                        // a loop without its first call
                    Case{"XABC", "ABC", Relation::kExtra, 1}, Case{"XYAB", "ABC", Relation::kExtra, 2},
                    Case{"AAB", "BAB", Relation::kProgram, 1}, Case{"BABAB", "ABAB", Relation::kExtra, 1},
                    Case{"XAAA", "AAA", Relation::kExtra, 1}));

// Two calls to print, of which the second is like one that the others make at the end, at another line.
TEST(AlignTracks, CallsToPrintAreItsOwnThoughOthersMakeTheLikeElsewhere) {
  StepEvidence read{.kind = StepEvidence::Kind::kRead, .what = "print", .where = "toy.cpp:5"};
  for (const bool same_line : {false, true}) {
    Track tail = calls("MS"), reference = calls("AAS");
    for (TrackItem& item : tail.items) item.where = "toy.cpp:5";
    reference.items[0].where = reference.items[1].where = "toy.cpp:10";
    reference.items[2].where = same_line ? "toy.cpp:5" : "toy.cpp:14";
    reference.items[0].made_before = true;
    tail.items.push_back({{0, 0}, read.what, read.where, &read});
    const Alignment alignment = align(tail, reference);
    EXPECT_EQ(alignment.relation == Relation::kExtra, !same_line);
    if (!same_line) { EXPECT_EQ(alignment.length, 2); }
  }
}

// A local sum that all make is not what one makes in the place of the others' next sum.
TEST(AlignTracks, AStepThatBothMakeStandsInThePlaceOfNoCall) {
  StepEvidence local{.what = "S", .where = "toy.cpp:4", .fingerprint = 1};
  StepEvidence read{.kind = StepEvidence::Kind::kRead, .what = "wait", .where = "toy.cpp:4"};
  for (const bool both : {true, false}) {
    Track tail, reference;
    tail.items.push_back({{1, 0}, local.what, local.where, &local});
    if (both) reference.items = tail.items;
    for (TrackItem& item : calls("X").items) tail.items.push_back(item);
    for (TrackItem& item : calls("S").items) reference.items.push_back(item);
    tail.items.push_back({{0, 0}, read.what, read.where, &read});
    const Alignment alignment = align(tail, reference);
    EXPECT_EQ(alignment.step == nullptr, both);
    EXPECT_EQ(alignment.relation, both ? Relation::kExtra : Relation::kProgram);
  }
}

// Under a condition in a loop one process computes what it prints: the others go on with the loop.
TEST(AlignTracks, NewCallsBeforeAReadOfItsOwnAreExtraInALoop) {
  StepEvidence print{.kind = StepEvidence::Kind::kRead, .what = "print", .where = "toy.cpp:4"};
  auto track = [&](std::string_view names, std::string_view made_before, int line, bool prints) {
    Track result = calls(names);
    for (TrackItem& item : result.items) item.made_before = made_before.find(item.op) != made_before.npos;
    if (!result.items.empty()) result.items.front().where = line == 3 ? "toy.cpp:3" : line == 5 ? "toy.cpp:5" : "toy.cpp:9";
    if (prints) result.items.push_back({{0, 0}, print.what, print.where, &print});
    return result;
  };
  Alignment extra = align(track("XYZUVW", "J", 3, true), track("JJJJS", "J", 5, false));
  EXPECT_EQ(extra.relation, Relation::kExtra);
  EXPECT_EQ(extra.length, 6);
  EXPECT_EQ(align(track("JJJJS", "J", 5, false), track("XYZUVW", "J", 3, true)).relation, Relation::kSkipped) << "seen by the others";
  // It may have left the loop: what it does stands behind it.
  EXPECT_EQ(align(track("XY", "J", 9, true), track("JJJJS", "J", 5, false)).relation, Relation::kExtra);
  EXPECT_EQ(align(track("XYZUVW", "J", 9, true), track("JS", "J", 5, false)).relation, Relation::kSkipped);
}

// A process that waits at a read shows nothing of what would follow; whether the other one comes to that read tells.
TEST(AlignTracks, AReadThatTheOtherNeverComesTo) {
  StepEvidence read{.kind = StepEvidence::Kind::kRead, .what = "fetch", .where = "toy.cpp:4"};
  StepEvidence other{.kind = StepEvidence::Kind::kRead, .what = "fetch", .where = "toy.cpp:9"};
  auto with = [](std::string_view names, const StepEvidence& step) {
    Track track = calls(names);
    track.items.push_back({{0, 0}, step.what, step.where, &step});
    return track;
  };
  EXPECT_EQ(align(with("B", other), with("A", read)).relation, Relation::kSkipped);
  EXPECT_EQ(align(with("B", read), with("A", read)).relation, Relation::kProgram);
  EXPECT_EQ(align(with("B", read), calls("AC")).relation, Relation::kExtra);
}

TEST(AlignTracks, TheSameOpOnDevicesOfItsOwnIsAnotherProgram) {
  StepEvidence local{.kind = StepEvidence::Kind::kLocal, .what = "A", .where = "toy.cpp:4"};
  Track tail = calls("B");
  tail.items.insert(tail.items.begin(), {{7, 0}, local.what, local.where, &local});
  Alignment alignment = align(tail, calls("AB"));
  EXPECT_EQ(alignment.relation, Relation::kProgram);
  EXPECT_EQ(alignment.step, &local);
}

TEST(AlignTracks, WhatFollowsFromTheFirstDifferenceIsKnownByItsLine) {
  // The reference moves x first; the tail does the rest on x as it lies.
  auto line = [](std::uint64_t key, std::string_view op, std::string_view where) { return TrackItem{{key, 1}, op, where, nullptr}; };
  Track reference{{line(1, "device_put", "t:4"), line(2, "sin", "t:5"), line(3, "sum", "t:6")}, true};
  Track tail{{line(12, "sin", "t:5"), line(13, "sum", "t:6")}, true};
  EXPECT_EQ(align(tail, reference).relation, Relation::kSkipped);
  Track swapped{{line(12, "sin", "t:5"), line(1, "device_put", "t:4"), line(3, "sum", "t:6")}, true};
  EXPECT_EQ(align(swapped, reference).relation, Relation::kOrder);
}

// Nothing but the places tells: who is before the other has not left out what comes later.
TEST(AlignTracks, ThePlacesDecideWhereNothingElseDoes) {
  auto read = [](std::string_view where) {
    return StepEvidence{.kind = StepEvidence::Kind::kRead, .what = "fetch", .where = std::string(where)};
  };
  for (auto [early, late] : {std::pair("toy.cpp:9", "toy.cpp:10"), std::pair("statement 4 (/program/4)", "statement 11 (/program/11)")}) {
    StepEvidence early_read = read(early), late_read = read(late);
    Track before{{{{1, 1}, "barrier", early, nullptr}, {{0, 0}, "fetch", early, &early_read}}, true};
    Track after{{{{2, 1}, "gather", late, nullptr}, {{0, 0}, "fetch", late, &late_read}}, true};
    EXPECT_EQ(align(before, after).relation, Relation::kExtra);
    EXPECT_EQ(align(after, before).relation, Relation::kSkipped);
  }
}

}  // namespace
}  // namespace shardlab
