// Two passes over the same random numbers: the first finds when each collective starts (its last member's arrival), the second
// writes lane after lane, in the order of the file's keys.
#include "benchmarks/gui/trace_maker.h"

#include <fmt/format.h>

#include <vector>

#include "traces/trace_writer.h"

namespace shardlab::bench {
namespace {

using traces::Ns;

// xorshift64* (Vigna 2016): the same numbers everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ULL + 1) {
    for (int i = 0; i < 8; ++i) next();
  }
  std::uint64_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 2685821657736338717ULL;
  }
  Ns below(Ns limit) { return Ns(next() >> 33) % limit; }

 private:
  std::uint64_t state_;
};

struct Event {
  Ns begin = 0, duration = 0;
  int name = 0;
};

constexpr int kNames = 200;

// The compute events of one lane in one step, by time, from `now` on.
template <typename Visit>
Ns compute(const TracePlan& plan, std::int64_t lane, std::int64_t step, Ns now, const Visit& visit) {
  Random random(plan.seed * 1'000'003 + std::uint64_t(lane) * 7919 + std::uint64_t(step) * 104'729);
  const std::int64_t count = plan.compute_per_step();
  const bool burst = random.below(10) == 0;  // 1-ns events, back to back
  for (std::int64_t i = 0; i < count; ++i) {
    const Ns pick = burst ? 99 : random.below(100);
    const Ns duration = pick == 99   ? 1
                        : pick == 98 ? 20'000 + random.below(200'000)
                        : pick >= 90 ? 1 + random.below(20)
                                     : 200 + random.below(4000);
    now += burst ? 1 : random.below(20) == 0 ? random.below(8000) : 1 + random.below(60);
    visit(Event{now, duration, int(random.below(kNames))});
    now += duration;
  }
  return now;
}

class Maker {
 public:
  explicit Maker(const TracePlan& plan) : plan_(plan), writer_(plan.out) {}

  void run() {
    find_times();
    write_frame();
    write_collectives();
    write_arrays();
    write_events();
    writer_.finish();
  }

 private:
  // arrivals_[step * lanes + lane] and starts_[step].
  void find_times() {
    const int lanes = plan_.lanes();
    std::vector<Ns> now(std::size_t(lanes), 0);
    for (std::int64_t step = 0; step < plan_.steps(); ++step) {
      Ns start = 0;
      for (int lane = 0; lane < lanes; ++lane) {
        const Ns arrival = compute(plan_, lane, step, now[std::size_t(lane)], [](const Event&) {}) + 50;
        arrivals_.push_back(arrival);
        start = std::max(start, arrival);
      }
      starts_.push_back(start);
      Random random(plan_.seed + std::uint64_t(step) * 31);
      ends_.push_back(start + 4000 + random.below(60'000));
      std::fill(now.begin(), now.end(), ends_.back());
    }
  }

  void write_frame() {
    writer_.meta("title", fmt::format("{} generated events, seed {}", plan_.events, plan_.seed));
    writer_.meta("clock_domain", "generated");
    for (int i = 0; i < kNames; ++i) names_.push_back(fmt::format("op_{:03}", i));
    for (int i = 0; i < 40; ++i) sites_.push_back(writer_.site({.file = "model.cpp", .function = "step", .line = 20 + i}));
    std::vector<int> all;
    for (int p = 0; p < plan_.processes; ++p) {
      writer_.add(traces::ProcessRow{.process = p, .pid = 100 + p, .host = "host", .state = ProcessState::kLeft, .closed = true});
      for (int d = 0; d < plan_.devices; ++d) {
        const int ordinal = p * plan_.devices + d;
        all.push_back(ordinal);
        writer_.add(
            traces::DeviceRow{.ordinal = ordinal, .process = p, .local_index = d, .kind = "cpu", .name = fmt::format("CPU {}", ordinal)});
      }
    }
    for (const int ordinal : all)
      tracks_.push_back(writer_.add_track({.kind = traces::TrackKind::kDevice,
                                           .process = ordinal / plan_.devices,
                                           .device = ordinal,
                                           .name = fmt::format("CPU {}", ordinal)}));
    traces::MeshRow mesh{.text = fmt::format("mesh(p={}, d={})", plan_.processes, plan_.devices),
                         .axes = {{"p", plan_.processes}, {"d", plan_.devices}},
                         .devices = all};
    writer_.add(mesh);
  }

  // One tenth is held to the end, the others for up to a twentieth of the run; the first device of a process holds less than the others.
  void write_arrays() {
    if (plan_.arrays == 0) return;
    std::vector<traces::Id> layouts;
    for (std::int64_t size : {1 << 10, 1 << 14, 1 << 18, 1 << 20}) {
      traces::LayoutRow layout{.mesh = 1, .shape = {size, plan_.lanes()}, .spec = "P(None, ('p', 'd'))"};
      layout.axes = {{}, {"p", "d"}};
      for (int d = 0; d < plan_.lanes(); ++d) layout.shards.push_back({d, 0, {{0, size - (d % plan_.devices == 0 ? 1 : 0)}, {d, d + 1}}});
      layouts.push_back(writer_.add(layout));
    }
    std::vector<int> all;
    for (int p = 0; p < plan_.processes; ++p) all.push_back(p);
    Random random(plan_.seed + 77);
    const Ns whole = std::max<Ns>(ends_.back(), plan_.arrays);
    for (std::int64_t i = 0; i < plan_.arrays; ++i) {
      const Ns begin = whole / plan_.arrays * i, length = 1 + random.below(std::max<Ns>(whole / 20, 1));
      const bool stays = random.below(10) == 0;
      const traces::Id array = writer_.add(traces::ArrayRow{.name = fmt::format("layer_{}", i % 300),
                                                            .dtype = "float32",
                                                            .layout = layouts[std::size_t(random.below(4))],
                                                            .site = sites_[std::size_t(i) % sites_.size()],
                                                            .time_ns = begin,
                                                            .processes = all});
      for (int p = 0; p < plan_.processes; ++p) {
        const Ns late = random.below(1000);
        writer_.add(traces::ArrayHolderRow{array, p, begin + late});
        if (!stays) writer_.add(traces::ArrayEndRow{array, p, begin + late + length, false});
      }
    }
  }

  void write_collectives() {
    std::vector<std::vector<int>> rows, columns;
    for (int p = 0; p < plan_.processes; ++p)
      for (int d = 0; d < plan_.devices; ++d) {
        rows.resize(std::size_t(plan_.processes));
        columns.resize(std::size_t(plan_.devices));
        rows[std::size_t(p)].push_back(p * plan_.devices + d);
        columns[std::size_t(d)].push_back(p * plan_.devices + d);
      }
    const std::string by_row = traces::json_list(rows), by_column = traces::json_list(columns);
    static constexpr const char* kKinds[] = {"all-reduce", "all-gather", "reduce-scatter"};
    for (std::int64_t step = 0; step < plan_.steps(); ++step) {
      const bool across = step % 2 == 0;
      traces::CollectiveRow row{.seq = step, .launch = step, .state = traces::MatchState::kMatched, .first_ns = starts_[std::size_t(step)]};
      row.what.kind = kKinds[step % 3];
      row.what.op = "matmul";
      row.what.groups = across ? by_column : by_row;
      row.what.axes = across ? "[\"p\"]" : "[\"d\"]";
      row.what.dtype = "float32";
      row.what.shape = "[256,256]";
      row.what.bytes = 262'144;
      row.what.wire_bytes = 262'144LL * plan_.lanes();
      row.what.site = sites_[std::size_t(step) % sites_.size()];
      for (int lane = 0; lane < plan_.lanes(); ++lane) {
        const Ns arrival = arrivals_[std::size_t(step * plan_.lanes() + lane)];
        row.members.push_back({.process = lane / plan_.devices,
                               .device = lane,
                               .launch = step,
                               .site = row.what.site,
                               .issued_ns = arrival,
                               .start_ns = arrival,
                               .wait_ns = arrival + 1,
                               .end_ns = ends_[std::size_t(step)]});
      }
      row.last_ns = ends_[std::size_t(step)];
      collectives_.push_back(writer_.add(row));
    }
  }

  void write_events() {
    for (int lane = 0; lane < plan_.lanes(); ++lane) {
      Ns now = 0;
      for (std::int64_t step = 0; step < plan_.steps(); ++step) {
        compute(plan_, lane, step, now, [&](const Event& event) {
          writer_.add(traces::EventRow{.track = tracks_[std::size_t(lane)],
                                       .time_ns = event.begin,
                                       .duration_ns = event.duration,
                                       .kind = traces::EventKind::kCompute,
                                       .name = names_[std::size_t(event.name)],
                                       .site = sites_[std::size_t(event.name) % sites_.size()]});
        });
        const Ns arrival = arrivals_[std::size_t(step * plan_.lanes() + lane)];
        now = ends_[std::size_t(step)];
        writer_.add(traces::EventRow{.track = tracks_[std::size_t(lane)],
                                     .time_ns = arrival,
                                     .duration_ns = now - arrival,
                                     .kind = traces::EventKind::kCollective,
                                     .name = "all-reduce",
                                     .collective = collectives_[std::size_t(step)],
                                     .site = sites_[std::size_t(step) % sites_.size()],
                                     .flags = 8});
      }
    }
  }

  TracePlan plan_;
  traces::TraceWriter writer_;
  std::vector<std::string> names_;
  std::vector<traces::Id> sites_, tracks_, collectives_;
  std::vector<Ns> arrivals_, starts_, ends_;
};

}  // namespace

void make_trace(const TracePlan& plan) { Maker(plan).run(); }

}  // namespace shardlab::bench
