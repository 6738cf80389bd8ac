// Two runs beside each other: what they have in common, and the first thing in which they differ.
#pragma once

#include <QString>
#include <QStringList>

#include <vector>

#include "gui/models/trace_data.h"

namespace shardlab::gui {

// One quantity of both runs.
struct CompareFact {
  QString name, left, right;
  bool differs = false;
};

// A pair of collectives in the order of the program; -1 where one side has none.
struct ComparePair {
  int left = -1, right = -1;
  QStringList differences;  // "bytes: 64 B / 128 B"
};

struct Comparison {
  QString verdict;  // one sentence: equal, or the first divergence
  std::vector<CompareFact> facts;
  std::vector<ComparePair> pairs;
  int first_divergence = -1;  // index into pairs
};

// Collectives are aligned by what they are (kind, op, axes, shape): the longest common order within kAlignMax, in lockstep beyond.
Comparison compare_traces(const TraceData& left, const TraceData& right);

// A side of a pair in a few words, "–" where it has none.
QString pair_name(const TraceData& trace, int collective);

}  // namespace shardlab::gui
