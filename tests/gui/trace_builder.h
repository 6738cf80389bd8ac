// Makes a trace in memory row by row, as a program would leave it: time only moves forward, per device.
#pragma once

#include <string>
#include <vector>

#include "gui/models/trace_data.h"

namespace shardlab::gui::sample {

class TraceBuilder {
 public:
  // A mesh `rows` × `cols` (axes a and b) of devices, dealt to processes in order; each process has a host lane before its devices'.
  TraceBuilder(int rows, int cols, int devices_per_process);

  int site(const std::string& file, int line);
  void event(int lane, Ns begin, Ns end, EventKind kind, const std::string& name, int site, int collective = -1);
  void compute(int device, Ns length, const std::string& name, int site);
  // All devices meet, in groups of their own; those in `absent` do not come, so that the others never leave.
  int collective(CollectiveType type, std::vector<std::vector<int>> groups, Ns length, const std::vector<int>& absent = {},
                 const std::string& state = "matched");
  void host_read(int process, Ns length, const std::string& name, int site);
  // Its dimensions are cut by the mesh axes given: "a", "b", "a,b" or "".
  void array(const std::string& name, std::vector<std::int64_t> shape, std::vector<std::string> dims, int site);
  // All devices hold their parts of the array that was made last.
  void hold(Ns begin, Ns end = kOpen, bool donated = false);
  // What `processes` may launch; -1 as a launch's program: its record was lost.
  int program(const std::string& name, std::vector<int> processes);
  void launch(int process, int program, std::int64_t seq, Ns issued);

  std::vector<std::vector<int>> groups(bool by_row) const;  // of devices, along the rows or along the columns of the mesh
  std::vector<std::vector<int>> all() const;                // one group
  int device_count() const { return rows_ * cols_; }
  // Completes the trace; the builder is done with.
  TracePtr done(const std::string& title);

  TraceData trace;

 private:
  int rows_, cols_;
  std::vector<int> lane_of_;
  std::vector<Ns> now_;
  std::vector<std::int64_t> launches_;  // of each process
  std::int64_t seq_ = 0;
};

// A sum of float32 over mesh axes, for an op at a site.
struct Sum {
  const char *op, *shape, *axes;
  std::int64_t bytes, wire_bytes;
  int site;
};
CollectiveType all_reduce(const Sum& sum);

}  // namespace shardlab::gui::sample
