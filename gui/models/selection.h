// The one selection over all views, with its history.
//
// A view changes it through `select_…` and hears of every change, its own included, through `changed`; `origin` tells a
// view that it made the change itself, so that it does not scroll away under the user's hand. What follows from a
// selection (the devices of a collective, the diagnosis that names it) is derived here, once for all views.
#pragma once

#include <QObject>

#include <vector>

#include "gui/models/trace_data.h"

namespace shardlab::gui {

// Indices into the trace's vectors, but `device` and `process`, which are ordinals; -1: none.
struct SelectionState {
  int array = -1;
  bool touched = false;  // somebody chose the array: the launches that took or gave it are marked
  int collective = -1;
  int device = -1;
  int process = -1;
  int diagnosis = -1;
  int lane = -1;            // of the selected event
  std::int64_t event = -1;  // in that lane
  TimeRange range;
  bool operator==(const SelectionState&) const = default;
};

class Selection : public QObject {
  Q_OBJECT

 public:
  static constexpr std::size_t kHistoryMax = 200;

  explicit Selection(QObject* parent = nullptr);

  // Forgets everything and selects the first diagnosis, if there is one; `trace` may be null.
  void set_trace(TracePtr trace);
  // The same run, read again or grown: what was selected stays selected where it is still there. The history is gone.
  void follow_trace(TracePtr trace);
  const TracePtr& trace() const { return trace_; }
  const SelectionState& state() const { return state_; }
  // The second run, that the compare view holds beside the trace; null where there is none.
  void set_other(TracePtr trace) { other_ = std::move(trace); }
  const TracePtr& other() const { return other_; }

  void select_array(int array, QObject* origin = nullptr, bool touched = true);
  void select_shard(int array, int device, QObject* origin = nullptr);  // the array, and what the device holds of it
  void select_collective(int collective, QObject* origin = nullptr);
  void select_device(int device, QObject* origin = nullptr);
  void select_process(int process, QObject* origin = nullptr);
  void select_diagnosis(int diagnosis, QObject* origin = nullptr);
  void select_event(int lane, std::int64_t event, QObject* origin = nullptr);
  void select_range(TimeRange range, QObject* origin = nullptr);
  void clear(QObject* origin = nullptr);  // all but the array, which the sharding view always shows; its launches are marked no longer

  // The window of time that the timeline shows; other views follow it. No part of the history.
  void set_visible(TimeRange window);
  TimeRange visible() const { return visible_; }

  bool can_go_back() const { return !past_.empty(); }
  bool can_go_forward() const { return !future_.empty(); }
  void back();
  void forward();

  // The devices that the selection is about: the chosen device, else the collective's members, else the diagnosis' or
  // the process's devices. Sorted; empty where nothing is selected.
  std::vector<int> devices() const;
  // The lane of the chosen device or process, -1 where there is none.
  int lane() const;

 Q_SIGNALS:
  void trace_changed();  // followed by `changed`
  void changed(const shardlab::gui::SelectionState& state, QObject* origin);
  void visible_changed(shardlab::gui::TimeRange window);

 private:
  void set(SelectionState next, QObject* origin);
  SelectionState first_of(const TraceData& trace) const;
  SelectionState of_diagnosis(int diagnosis) const;
  SelectionState array_alone() const { return {.array = state_.array, .touched = state_.touched}; }
  SelectionState with_device(SelectionState next, int device) const;

  TracePtr trace_, other_;
  SelectionState state_;
  TimeRange visible_;
  std::vector<SelectionState> past_, future_;
};

// Which collective a diagnosis is about (the first that carries it), -1 where there is none.
int collective_of_diagnosis(const TraceData& trace, int diagnosis);

}  // namespace shardlab::gui
