#include "gui/models/trace_loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "gui/models/array_uses.h"
#include "gui/models/lane_builder.h"
#include "gui/models/lane_loader.h"
#include "gui/models/last_load.h"
#include "gui/models/ledger_waits.h"
#include "gui/models/memory.h"
#include "gui/models/memory_limit.h"
#include "gui/models/prediction.h"
#include "runtime/base/where.h"
#include "traces/schema.h"
#include "traces/trace_reader.h"

namespace shardlab::gui {
namespace {

using traces::Id;
using traces::kNoTime;

// Loads part after part; the ids of the file become indices.
class Loader {
 public:
  explicit Loader(const LoadOptions& options) : options_(options), reader_(options.path), growth_(reader_.growth()) { take_last(); }

  TracePtr load() {
    trace_->path = options_.path;
    trace_->title = options_.title.empty() ? std::string(base_name(options_.path)) : options_.title;
    trace_->running = reader_.meta("running") == "1";
    trace_->live = growth_.publication > 0;
    load_sites();
    load_processes();
    load_meshes();
    load_arrays();
    load_array_holds();
    load_checksums();
    load_frames();
    load_diagnoses();
    LaneLoader lanes(options_, reader_, *trace_, collective_of_);
    if (growth_.publication == 0) keep_within_memory(lanes);
    if (growth_.publication > 0) lanes.keep(parts_->tracks, parts_->labels, since_);
    if (options_.preview && !since_)
      if (TracePtr preview = lanes.preview()) options_.preview(std::move(preview));
    load_programs();
    load_collectives();
    if (options_.stop.stop_requested()) return nullptr;
    load_launches();
    lanes.load();
    trace_->memory = MemoryUse::make(*trace_, *trace_);
    load_array_uses();
    trace_->predictions = compare_with_plan(*trace_);
    if (options_.stop.stop_requested()) return nullptr;
    for (auto& text : reader_.notices())
      if (std::none_of(trace_->notices.begin(), trace_->notices.end(), [&](const Notice& each) { return each.text == text; }))
        trace_->notices.push_back({std::move(text), true});
    leave_for_next(lanes.rows_read());
    return trace_;
  }

 private:
  // What the last load left is used where this file is that one, grown once. Until this load has ended nothing is left for another.
  void take_last() {
    if (options_.last) parts_ = std::move(options_.last->parts());
    if (!parts_ || !parts_->precedes(options_.path, growth_) || reader_.torn()) parts_ = std::make_unique<LastLoad::Parts>();
    if (parts_->trace) {
      last_ = parts_->trace;
      since_ = &growth_;
    }
    std::erase_if(parts_->layouts, [&](const auto& each) { return since_ && each.first >= growth_.least("layouts"); });
    if (since_) parts_->collective_types.forget_from(growth_.least("programs"));
  }

  void leave_for_next(std::int64_t events_read) {
    if (!options_.last || growth_.publication == 0 || reader_.torn()) return;
    parts_->path = options_.path;
    parts_->made = growth_.made;
    parts_->publication = growth_.publication;
    parts_->rows_read = rows_read_ + events_read;
    parts_->trace = trace_;
    options_.last->parts() = std::move(parts_);
  }

  // Of a trace that takes more memory than it may, the last part alone.
  void keep_within_memory(LaneLoader& lanes) {
    const std::int64_t limit = memory_limit();
    const MemoryNeed need = memory_need(reader_);
    if (need.all() <= limit) return;
    part_ = last_part(reader_, lanes.summary_range(), need, limit);
    lanes.read_from(part_->from, part_->share);
    trace_->notices.push_back({part_->notice, true});
  }
  // What is read of tables whose rows are many; null: all.
  const traces::Growth* rows_from() const { return part_ ? &part_->rows_from : since_; }

  int site_index(Id id) const { return id > 0 && std::size_t(id) < trace_->sites.size() ? int(id) : -1; }

  void load_sites() {
    for (const auto& row : reader_.sites())
      trace_->sites.push_back({.file = std::string(row.file),
                               .function = std::string(row.function),
                               .line = row.line,
                               .statement = row.statement,
                               .pointer = std::string(row.pointer)});
  }

  void load_processes() {
    for (const auto& row : reader_.processes())
      trace_->processes.push_back({.index = row.process,
                                   .host = row.host,
                                   .pid = row.pid,
                                   .state = traces::enum_name("process_state", int(row.state)),
                                   .error = row.error,
                                   .where = row.place,
                                   .exit_code = row.exit_code,
                                   .signal = row.signal,
                                   .last = open_if_missing(row.last_ns)});
    for (const auto& row : reader_.devices()) {
      trace_->devices.push_back({.ordinal = row.ordinal,
                                 .process = row.process,
                                 .local = row.local_index,
                                 .name = row.name.empty() ? fmt::format("{} {}", row.kind, row.ordinal) : row.name});
      for (auto& process : trace_->processes)
        if (process.index == row.process) process.devices.push_back(row.ordinal);
    }
  }

  void load_meshes() {
    for (const auto& row : reader_.meshes()) {
      mesh_of_[row.id] = int(trace_->meshes.size());
      Mesh mesh{.name = row.text, .devices = row.devices};
      for (const auto& [name, size] : row.axes) mesh.axes.push_back({name, int(size)});
      trace_->meshes.push_back(std::move(mesh));
    }
  }

  void load_arrays() {
    auto& layouts = parts_->layouts;
    for (const auto& row : reader_.layouts(since_)) {
      ArrayLayout layout{.shape = row.shape, .spec = row.spec};
      if (const auto mesh = mesh_of_.find(row.mesh); mesh != mesh_of_.end()) layout.mesh = mesh->second;
      for (const auto& axes : row.axes) layout.dim_axes.push_back(fmt::format("{}", fmt::join(axes, ",")));
      for (const auto& part : row.shards) {
        Shard shard{.device = part.device};
        for (const auto& [start, stop] : part.ranges) {
          shard.begin.push_back(start);
          shard.end.push_back(stop);
        }
        // A torn file may know the holder without the range.
        if (shard.begin.size() == layout.shape.size()) layout.shards.push_back(std::move(shard));
      }
      layouts[row.id] = std::make_shared<const ArrayLayout>(std::move(layout));
    }
    std::vector<Array> fresh;
    std::vector<RowKey> keys;
    for (const auto& row : reader_.arrays(since_)) {
      const auto layout = layouts.find(row.layout);
      if (layout == layouts.end()) continue;
      keys.push_back({row.time_ns, row.id});
      fresh.push_back({.name = std::string(row.name),
                       .dtype = std::string(row.dtype),
                       .layout = layout->second,
                       .site = site_index(row.site),
                       .time = row.time_ns,
                       .process = row.process,
                       .launch = row.launch});
    }
    rows_read_ += std::ssize(fresh);
    parts_->arrays =
        merge_by_time(last_->arrays, parts_->arrays, growth_.least("arrays"), std::move(fresh), std::move(keys), trace_->arrays);
  }

  // Both come by array, then process.
  void load_array_holds() {
    for (std::size_t i = 0; i < parts_->arrays.size(); ++i) array_of_[parts_->arrays[i].id] = int(i);
    const auto ends = reader_.array_ends();
    auto end = ends.begin();
    const auto holders = reader_.array_holders();
    // Others may write traces too, and know nothing of it.
    trace_->records_array_ends = reader_.has_array_ends() && (!holders.empty() || trace_->arrays.empty());
    for (const auto& row : holders) {
      while (end != ends.end() && std::pair(end->array, end->process) < std::pair(row.array, row.process)) ++end;
      const auto array = array_of_.find(row.array);
      if (array == array_of_.end() || row.begin_ns == kNoTime) continue;
      ArrayHold hold{.array = array->second, .process = row.process, .begin = row.begin_ns};
      if (end != ends.end() && end->array == row.array && end->process == row.process) hold.end = end->end_ns, hold.donated = end->donated;
      trace_->array_holds.push_back(hold);
    }
  }

  void load_checksums() {
    const auto rows = reader_.checksums();
    if (rows.empty()) return;
    std::map<Id, std::span<const traces::ChecksumRow>> of_array;
    for (std::size_t first = 0, last = 0; first < rows.size(); first = last) {
      while (last < rows.size() && rows[last].array == rows[first].array) ++last;
      of_array[rows[first].array] = std::span(rows).subspan(first, last - first);
    }
    std::map<const ArrayLayout*, traces::LayoutParts> parts;
    for (std::size_t i = 0; i < parts_->arrays.size(); ++i) {
      Array& array = trace_->arrays[i];
      auto [known, fresh] = parts.try_emplace(array.layout.get());
      if (fresh) add_parts(*array.layout, known->second);
      const auto own = of_array.find(parts_->arrays[i].id);
      auto values = known->second.whole(own == of_array.end() ? std::span<const traces::ChecksumRow>() : own->second);
      array.values = values.known ? std::make_shared<const traces::WholeChecksum>(std::move(values)) : nullptr;
    }
  }

  static void add_parts(const ArrayLayout& layout, traces::LayoutParts& parts) {
    for (const Shard& shard : layout.shards) {
      traces::LayoutParts::Ranges ranges;
      for (std::size_t d = 0; d < shard.begin.size(); ++d) ranges.emplace_back(shard.begin[d], shard.end[d]);
      parts.add(shard.device, ranges);
    }
  }

  // By their ids, which are numbers from 1.
  void load_frames() {
    for (const auto& row : reader_.frames()) {
      if (row.id != std::ssize(trace_->frames) + 1 || row.parent >= row.id) break;  // a torn file
      trace_->frames.push_back(
          {.function = std::string(row.function), .file = std::string(row.file), .line = row.line, .parent = int(row.parent) - 1});
    }
  }

  void load_programs() {
    for (auto& row : reader_.programs()) {
      program_of_[row.id] = int(trace_->programs.size());
      Program program{.name = std::move(row.name),
                      .text = std::move(row.text),
                      .mesh = std::move(row.mesh),
                      .devices = std::move(row.devices),
                      .processes = std::move(row.processes),
                      .intermediate_bytes = row.intermediate_bytes};
      for (auto& value : row.values)
        (value.is_result ? program.results : program.operands)
            .push_back({std::move(value.name), std::move(value.dtype), std::move(value.sharding), std::move(value.shape)});
      for (const auto& planned : row.collectives)
        program.collectives.push_back(parts_->collective_types.make(planned, trace_->sites.size()));
      trace_->programs.push_back(std::move(program));
    }
  }

  int program_index(Id id) const {
    const auto it = program_of_.find(id);
    return it == program_of_.end() ? -1 : it->second;
  }

  void load_launches() {
    std::vector<Launch> launches;
    for (const auto& row : reader_.launches(rows_from()))
      launches.push_back({.process = row.process,
                          .number = row.launch,
                          .seq = row.seq,
                          .program = program_index(row.program),
                          .site = site_index(row.site),
                          .issued = row.issued_ns,
                          .started = open_if_missing(row.started_ns),
                          .done = open_if_missing(row.done_ns),
                          .frame = row.frame > 0 && row.frame <= std::ssize(trace_->frames) ? int(row.frame) - 1 : -1});
    std::vector<HostRead> reads;
    for (const auto& row : reader_.host_reads(rows_from()))
      reads.push_back({.process = row.process,
                       .begin = row.begin_ns,
                       .end = open_if_missing(row.end_ns),
                       .what = std::string(row.what),
                       .site = site_index(row.site)});
    std::vector<WaitEdge> last_edges = last_->wait_edges, edges;
    for (auto& edge : last_edges)
      if (edge.collective >= 0) edge.collective = collective_index(last_collectives_[std::size_t(edge.collective)].id);
    for (const auto& row : reader_.wait_edges(rows_from()))
      edges.push_back({.process = row.process,
                       .peer = row.peer,
                       .begin = row.begin_ns,
                       .end = open_if_missing(row.end_ns),
                       .collective = collective_index(row.collective)});
    rows_read_ += std::ssize(launches) + std::ssize(reads) + std::ssize(edges);
    trace_->launches =
        merge_by_process(last_->launches, growth_, "launches", std::move(launches), [](const Launch& row) { return row.number; });
    trace_->host_reads =
        merge_by_process(last_->host_reads, growth_, "host_reads", std::move(reads), [](const HostRead& row) { return row.begin; });
    trace_->wait_edges =
        merge_by_process(last_edges, growth_, "wait_edges", std::move(edges), [](const WaitEdge& row) { return row.begin; });
  }

  // Others may write traces too, and know nothing of it.
  void load_array_uses() {
    auto& rows = parts_->launch_arrays;
    auto fresh = reader_.launch_arrays(rows_from());
    rows_read_ += std::ssize(fresh);
    rows = merge_by_process(rows, growth_, "launch_arrays", std::move(fresh), [](const auto& row) { return row.launch; });
    const bool told = reader_.has_launch_arrays() && (!rows.empty() || trace_->launches.empty());
    if (!told && !trace_->records_array_ends) return;
    std::vector<ArrayUse> uses;
    if (!told) uses = find_array_uses(*trace_);
    for (const auto& row : rows)
      if (const auto array = array_of_.find(row.array); array != array_of_.end())
        uses.push_back({array->second, row.process, row.launch, row.position, row.is_result, row.donated});
    trace_->array_uses = std::make_shared<const ArrayUses>(std::move(uses), trace_->arrays.size(), told);
  }

  int collective_index(Id id) const { return id > 0 && std::size_t(id) < collective_of_.size() ? collective_of_[std::size_t(id)] : -1; }

  void load_diagnoses() {
    trace_->diagnoses = reader_.diagnoses();
    if (trace_->diagnoses.empty()) return;
    trace_->places = traces::read_statement_places(reader_);
    for (Diagnosis& diagnosis : trace_->diagnoses) {
      diagnosis.message = trace_->places.in(diagnosis.message);
      for (Participant& side : diagnosis.participants) side.where = trace_->places.in(side.where);
    }
    if (const auto evidence = reader_.evidence()) trace_->ledger_waits = ledger_waits(*evidence);
  }

  void load_collectives() {
    std::vector<Collective> fresh;
    std::vector<RowKey> keys;
    // The calls of a launch stay in their order; of a trace that grows they came all at once.
    std::map<std::tuple<Id, std::int64_t, std::int64_t>, Ns> earlier;
    for (const auto& row : reader_.collectives(rows_from())) {
      Ns& time = earlier.try_emplace({row.program, row.seq, row.launch}, row.first_ns).first->second;
      keys.push_back({time = std::max(time, row.first_ns), row.id});
      Collective call{
          .type = parts_->collective_types.of(row, trace_->sites.size()),
          .seq = row.seq,
          .program = program_index(row.program),
          .call = row.call,
          .launch = row.launch,
          .state = traces::enum_name("match_state", int(row.state)),
          .diagnosis = row.diagnosis > 0 && std::size_t(row.diagnosis) <= trace_->diagnoses.size() ? int(row.diagnosis) - 1 : -1};
      call.failed = row.state == traces::MatchState::kMismatched || call.diagnosis >= 0;
      // All have issued it, behind what they wait for in vain.
      if (row.state == traces::MatchState::kMatched && call.diagnosis >= 0 &&
          trace_->diagnoses[std::size_t(call.diagnosis)].code == "deadlock")
        call.state = "in a circle";
      for (const auto& side : row.members) {
        if (side.start_ns == kNoTime) {  // issued, never begun: nothing to draw
          if (call.not_begun.empty() || call.not_begun.back() != side.process) call.not_begun.push_back(side.process);
          continue;
        }
        call.members.push_back({.process = side.process,
                                .device = side.device,
                                .enter = side.start_ns,
                                .start = side.wait_ns == kNoTime && side.end_ns != kNoTime ? side.start_ns : kOpen,
                                .exit = open_if_missing(side.end_ns),
                                .site = site_index(side.site),
                                .moved_bytes = side.moved_bytes});
      }
      find_starts(call, trace_->devices);
      fresh.push_back(std::move(call));
    }
    rows_read_ += std::ssize(fresh);
    last_collectives_ = std::move(parts_->collectives);
    parts_->collectives = merge_by_time(last_->collectives, last_collectives_, growth_.least("collectives"), std::move(fresh),
                                        std::move(keys), trace_->collectives);
    for (std::size_t i = 0; i < parts_->collectives.size(); ++i) {
      const Id id = parts_->collectives[i].id;
      if (id < 0 || id >= kReserveMax) continue;
      if (std::size_t(id) >= collective_of_.size()) collective_of_.resize(std::size_t(id) + 1, -1);
      collective_of_[std::size_t(id)] = int(i);
    }
  }

  const LoadOptions& options_;
  traces::TraceReader reader_;
  std::shared_ptr<TraceData> trace_ = std::make_shared<TraceData>();
  static constexpr std::int64_t kReserveMax = std::int64_t{1} << 28;

  std::unordered_map<Id, int> mesh_of_, program_of_, array_of_;
  std::vector<int> collective_of_;  // by id

  const traces::Growth growth_;
  const traces::Growth* since_ = nullptr;          // of what stands nothing is read again; null: all is read
  std::optional<OpenedPart> part_;                 // of a trace that is too large
  std::unique_ptr<LastLoad::Parts> parts_;         // of the last load, and then of this one
  TracePtr last_ = std::make_shared<TraceData>();  // what stands is taken from it
  std::vector<RowKey> last_collectives_;           // of its collectives
  std::int64_t rows_read_ = 0;                     // without events
};

}  // namespace

LastLoad::LastLoad() = default;
LastLoad::~LastLoad() = default;
std::int64_t LastLoad::rows_read() const { return parts_ ? parts_->rows_read : 0; }

TracePtr load_trace(const LoadOptions& options) { return Loader(options).load(); }

}  // namespace shardlab::gui
