#include "gui/models/call_sites.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "gui/models/time_use.h"
#include "runtime/base/where.h"

namespace shardlab::gui {
namespace {

void insert(std::vector<int>& set, int value) {
  const auto at = std::lower_bound(set.begin(), set.end(), value);
  if (at == set.end() || *at != value) set.insert(at, value);
}

// "main" of "int main(int, char**)".
std::string brief(const std::string& function) {
  const std::string name = function.substr(0, function.find('('));
  const auto space = name.rfind(' ');
  return space == std::string::npos ? name : name.substr(space + 1);
}

class Tree {
 public:
  explicit Tree(const TraceData& trace) : trace_(trace) { made_.lines.assign(trace.sites.size(), -1); }

  void add_events(TimeRange window, const std::stop_token& stop) {
    // Devices in lockstep share a store: it is read once, and counts for each of them.
    std::map<const LaneEvents*, std::vector<std::size_t>> lanes;
    for (std::size_t l = 0; l < trace_.lanes.size(); ++l) lanes[trace_.lanes[l].events.get()].push_back(l);
    std::vector<int> of_label(trace_.labels.size(), -1);
    std::map<std::pair<const CollectiveType*, std::uint32_t>, int> of_call;
    for (std::size_t l = 0; l < trace_.lanes.size(); ++l) {
      const Lane& lane = trace_.lanes[l];
      const LaneEvents& events = *lane.events;
      const auto& sharing = lanes[&events];
      if (sharing.front() != l) continue;
      const auto times = std::int64_t(sharing.size());
      auto i = std::size_t(std::lower_bound(events.end.begin(), events.end.end(), window.begin) - events.end.begin());
      for (; i < events.size() && events.begin[i] <= window.end; ++i) {
        if (i % 4096 == 0 && stop.stop_requested()) return;
        if (events.kind[i] == EventKind::kLaunch) continue;  // counted by the launches themselves
        const std::uint32_t label = events.label[i];
        const CollectiveType* type = events.collective[i] < 0 ? nullptr : trace_.collectives[std::size_t(events.collective[i])].type.get();
        int& known = type ? of_call.try_emplace({type, label}, -1).first->second : of_label[label];
        if (known < 0) known = op(trace_.labels[label].site, type ? call_name(*type) : trace_.labels[label].name);
        CallSite& node = made_.nodes[std::size_t(known)];
        const Ns length = events.end[i] - events.begin[i];
        node.events += times;
        node.time += times * length;
        if (type) node.wait += times * (wait_end(trace_, lane, i) - events.begin[i]);
        if (node.processes.empty() || node.processes.back() != lane.process) insert(node.processes, lane.process);
        if (node.event < 0 || length > longest_[std::size_t(known)]) {
          longest_[std::size_t(known)] = length;
          node.lane = int(l);
          node.event = std::int64_t(i);
        }
      }
    }
  }

  void add_bytes(TimeRange window) {
    for (const auto& call : trace_.collectives) {
      const TimeRange span = call.span();
      if (call.members.empty() || span.begin > window.end || (!call.open && span.end < window.begin)) continue;
      if (call.type->wire_bytes > 0)
        made_.nodes[std::size_t(op(call.type->site, call_name(*call.type)))].wire_bytes += call.type->wire_bytes;
    }
  }

  void add_launches(TimeRange window) {
    for (const auto& launch : trace_.launches) {
      if (launch.issued < window.begin || launch.issued > window.end) continue;
      const std::string name = launch.program < 0 ? "(a program whose record was lost)" : trace_.programs[std::size_t(launch.program)].name;
      CallSite& node = made_.nodes[std::size_t(op(launch.site, name))];
      ++node.calls;
      insert(node.processes, launch.process);
    }
  }

  // The paths of functions, instead of all of the above.
  void add_stacks(TimeRange window, const std::stop_token& stop) {
    of_frame_.assign(trace_.frames.size(), -1);
    for (const auto& launch : trace_.launches) {
      if (stop.stop_requested()) return;
      if (launch.issued < window.begin || launch.issued > window.end) continue;
      const bool known = launch.program >= 0;
      const int above = launch.frame < 0 ? node(-1, "(no function above it is known)", -1) : frame(launch.frame);
      const int at =
          node(above, known ? trace_.programs[std::size_t(launch.program)].name : "(a program whose record was lost)", launch.site);
      CallSite& leaf = made_.nodes[std::size_t(at)];
      ++leaf.calls;
      insert(leaf.processes, launch.process);
      if (launch.site >= 0) made_.lines[std::size_t(launch.site)] = at;
      const Ns length = launch.started == kOpen ? 0 : (launch.done == kOpen ? trace_.range.end : launch.done) - launch.started;
      leaf.time += length;
      // Of a program's collectives once, however many processes take part.
      if (known && trace_.programs[std::size_t(launch.program)].processes.front() == launch.process)
        for (const auto& planned : trace_.programs[std::size_t(launch.program)].collectives) leaf.wire_bytes += planned->wire_bytes;
      if (length > longest_[std::size_t(at)]) {
        longest_[std::size_t(at)] = length;
        choose_issue(launch, leaf);
      }
      last_[launch.process] = {at, &launch};
    }
  }

  CallSites done() {
    // Children come after their parents: from the last on, each gives what it has to its parent.
    for (std::size_t n = made_.nodes.size(); n-- > 0;) {
      const CallSite& node = made_.nodes[n];
      if (node.parent >= 0) give(node, longest_[n], made_.nodes[std::size_t(node.parent)], longest_[std::size_t(node.parent)]);
    }
    if (last_.empty())
      add_ends();
    else
      add_last_launches();
    std::vector<int> all;
    for (const int file : made_.files) {
      made_.time += made_.nodes[std::size_t(file)].time;
      for (const int process : made_.nodes[std::size_t(file)].processes) insert(all, process);
    }
    std::map<std::vector<int>, int> classes{{all, 0}};
    for (auto& node : made_.nodes)
      if (!node.processes.empty()) node.rank_class = classes.try_emplace(node.processes, int(classes.size())).first->second;
    sort();
    return std::move(made_);
  }

 private:
  static std::string call_name(const CollectiveType& type) {
    return type.op.empty() || type.op == type.kind ? type.kind : fmt::format("{} of {}", type.kind, type.op);
  }

  int node(int parent, const std::string& name, int site) {
    const auto [at, fresh] = known_.try_emplace({parent, name}, int(made_.nodes.size()));
    if (!fresh) return at->second;
    made_.nodes.push_back({.name = name, .site = site, .parent = parent});
    longest_.push_back(-1);
    (parent < 0 ? made_.files : made_.nodes[std::size_t(parent)].children).push_back(at->second);
    return at->second;
  }

  int op(int site, const std::string& name) {
    if (site < 0) return node(node(-1, "(no source line)", -1), name, -1);
    int& line = made_.lines[std::size_t(site)];
    if (line < 0) {
      const Site& at = trace_.sites[std::size_t(site)];
      const std::string what = at.statement >= 0 ? fmt::format("statement {}", at.statement)
                               : at.line > 0     ? fmt::format("line {}", at.line)
                                                 : std::string("unknown line");
      line = node(node(-1, at.file.empty() ? "(no file)" : at.file, -1), at.function.empty() ? what : what + " in " + brief(at.function),
                  site);
    }
    return node(line, name, made_.nodes[std::size_t(line)].site);
  }

  int frame(int index) {
    int& known = of_frame_[std::size_t(index)];
    if (known >= 0) return known;
    const Frame& at = trace_.frames[std::size_t(index)];
    const int parent = at.parent < 0 ? -1 : frame(at.parent);
    const std::string place = at.line > 0 ? fmt::format(" ({}:{})", base_name(at.file), at.line) : "";
    const int made = node(parent, at.function + place, -1);
    made_.nodes[std::size_t(made)].frame = index;
    return of_frame_[std::size_t(index)] = made;
  }

  // The event on the host's lane.
  void choose_issue(const Launch& launch, CallSite& leaf) const {
    for (std::size_t l = 0; l < trace_.lanes.size(); ++l) {
      const Lane& lane = trace_.lanes[l];
      if (lane.process != launch.process || lane.device >= 0) continue;
      const auto at = std::lower_bound(lane.events->begin.begin(), lane.events->begin.end(), launch.issued) - lane.events->begin.begin();
      if (std::size_t(at) < lane.events->size() && lane.events->begin[std::size_t(at)] == launch.issued)
        leaf.lane = int(l), leaf.event = at;
    }
  }

  // Where a process stands in a call, or ended: at the last launch that it issued.
  void add_last_launches() {
    for (const auto& process : trace_.processes) {
      const auto last = last_.find(process.index);
      if (process.where.empty() || last == last_.end()) continue;
      const auto& [at, launch] = last->second;
      if (launch->done != kOpen && trace_.site_text(launch->site) != process.where) continue;
      for (int each = at; each >= 0; each = made_.nodes[std::size_t(each)].parent)
        insert(made_.nodes[std::size_t(each)].at_end, process.index);
    }
  }

  static void give(const CallSite& from, Ns longest, CallSite& to, Ns& to_longest) {
    to.calls += from.calls;
    to.events += from.events;
    to.time += from.time;
    to.wait += from.wait;
    to.wire_bytes += from.wire_bytes;
    for (const int process : from.processes) insert(to.processes, process);
    if (from.event >= 0 && longest > to_longest) {
      to_longest = longest;
      to.lane = from.lane;
      to.event = from.event;
    }
  }

  // A process's last place is a text: "toy.cpp:11", "statement 4 (/program/4)".
  void add_ends() {
    for (const auto& process : trace_.processes) {
      if (process.where.empty()) continue;
      int line = -1;
      for (std::size_t s = 0; s < trace_.sites.size() && line < 0; ++s) {
        const Site& site = trace_.sites[s];
        if (made_.lines[s] >= 0 && (site.text() == process.where || fmt::format("{} ({})", site.text(), site.pointer) == process.where))
          line = made_.lines[s];
      }
      for (; line >= 0; line = made_.nodes[std::size_t(line)].parent) insert(made_.nodes[std::size_t(line)].at_end, process.index);
    }
  }

  // Functions stay in the order in which they first called.
  void sort() {
    if (!of_frame_.empty()) return;
    const auto place = [this](int n) {
      const CallSite& each = made_.nodes[std::size_t(n)];
      const Site* site = each.site < 0 ? nullptr : &trace_.sites[std::size_t(each.site)];
      return std::tuple(site ? std::max(site->line, site->statement) : -1, -each.time, each.name);
    };
    for (auto& each : made_.nodes) std::sort(each.children.begin(), each.children.end(), [&](int a, int b) { return place(a) < place(b); });
    std::sort(made_.files.begin(), made_.files.end(),
              [this](int a, int b) { return made_.nodes[std::size_t(a)].name < made_.nodes[std::size_t(b)].name; });
    for (const int file : made_.files) {
      std::string& name = made_.nodes[std::size_t(file)].name;
      name = std::string(base_name(name));
    }
  }

  const TraceData& trace_;
  CallSites made_;
  std::vector<Ns> longest_;                            // by node
  std::vector<int> of_frame_;                          // the node of each frame, -1: none yet
  std::map<int, std::pair<int, const Launch*>> last_;  // of each process, with its node
  std::map<std::pair<int, std::string>, int> known_;
};

}  // namespace

CallSites make_call_sites(const TraceData& trace, TimeRange window, const std::stop_token& stop) {
  Tree tree(trace);
  tree.add_events(window, stop);
  tree.add_bytes(window);
  tree.add_launches(window);
  return tree.done();
}

bool knows_callers(const TraceData& trace) { return !trace.frames.empty(); }

CallSites make_call_tree(const TraceData& trace, TimeRange window, const std::stop_token& stop) {
  Tree tree(trace);
  tree.add_stacks(window, stop);
  return tree.done();
}

}  // namespace shardlab::gui
