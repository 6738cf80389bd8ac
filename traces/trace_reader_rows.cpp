// The rest of the reader: arrays and where they lie, verdicts, and what was lost.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "traces/checks/evidence_json.h"
#include "traces/report_json.h"
#include "traces/schema.h"
#include "traces/trace_reader.h"

namespace shardlab::traces {
namespace {

std::vector<std::vector<std::string>> parse_axes(std::string_view json) {
  try {
    return nlohmann::json::parse(json).get<std::vector<std::vector<std::string>>>();
  } catch (const nlohmann::json::exception&) { throw IoError(fmt::format("layouts.axes holds '{}'", json)); }
}

}  // namespace

std::vector<WaitEdgeRow> TraceReader::wait_edges(const Growth* since) {
  std::vector<WaitEdgeRow> rows;
  visit_since(since, "wait_edges", "process, begin_ns, peer, collective", "process, peer, begin_ns, end_ns, collective",
              [&](const Statement& row) {
                rows.push_back({int(row.integer(0)), int(row.integer(1)), row.integer(2), time_at(row, 3), row.integer(4)});
              });
  return rows;
}

std::vector<MeshRow> TraceReader::meshes() {
  std::vector<MeshRow> rows;
  std::map<Id, std::size_t> index;
  guarded("meshes", [&] {
    Statement row(database_, "SELECT id, text FROM meshes ORDER BY id");
    while (row.step()) {
      rows.push_back({row.integer(0), std::string(row.text(1)), {}, {}});
      index[row.integer(0)] = rows.size() - 1;
    }
  });
  guarded("mesh_axes", [&] {
    Statement row(database_, "SELECT mesh, name, size FROM mesh_axes ORDER BY mesh, position");
    while (row.step())
      if (const auto mesh = index.find(row.integer(0)); mesh != index.end())
        rows[mesh->second].axes.emplace_back(row.text(1), row.integer(2));
  });
  guarded("mesh_devices", [&] {
    Statement row(database_, "SELECT mesh, device FROM mesh_devices ORDER BY mesh, position");
    while (row.step())
      if (const auto mesh = index.find(row.integer(0)); mesh != index.end()) rows[mesh->second].devices.push_back(int(row.integer(1)));
  });
  return rows;
}

std::vector<LayoutRow> TraceReader::layouts(const Growth* since) {
  std::vector<LayoutRow> rows;
  std::map<Id, std::size_t> index;
  visit_since(since, "layouts", "id", "id, mesh, shape, spec, axes", [&](const Statement& row) {
    rows.push_back({row.integer(0), row.integer(1), parse_int64_list(row.text(2)), std::string(row.text(3)), parse_axes(row.text(4)), {}});
    index[row.integer(0)] = rows.size() - 1;
  });
  const Id first = first_read(rows, since);
  guarded("shards", [&] {
    Statement row(database_, "SELECT layout, device, replica FROM shards WHERE layout >= ? ORDER BY layout, device");
    row.bind(first);
    while (row.step())
      if (const auto layout = index.find(row.integer(0)); layout != index.end())
        rows[layout->second].shards.push_back({int(row.integer(1)), int(row.integer(2)), {}});
  });
  guarded("shard_ranges", [&] {
    Statement row(database_, "SELECT layout, device, start, stop FROM shard_ranges WHERE layout >= ? ORDER BY layout, device, dimension");
    row.bind(first);
    ShardRow* shard = nullptr;
    std::pair<Id, int> last{0, 0};
    while (row.step()) {
      const std::pair<Id, int> key{row.integer(0), int(row.integer(1))};
      if (key != last) {
        last = key;
        shard = nullptr;
        if (const auto layout = index.find(key.first); layout != index.end())
          for (auto& candidate : rows[layout->second].shards)
            if (candidate.device == key.second) shard = &candidate;
      }
      if (shard) shard->ranges.emplace_back(row.integer(2), row.integer(3));
    }
  });
  return rows;
}

std::vector<ArrayRow> TraceReader::arrays(const Growth* since) {
  std::vector<ArrayRow> rows;
  visit_since(since, "arrays", "id", "id, name, dtype, layout, committed, process, launch, site, time_ns, processes",
              [&](const Statement& row) {
                rows.push_back({row.integer(0), text(row.integer(1)), text(row.integer(2)), row.integer(3), row.integer(4) != 0,
                                int(row.integer(5)), row.is_null(6) ? -1 : row.integer(6), row.integer(7), row.integer(8),
                                parse_int_list(text(row.integer(9)))});
              });
  return rows;
}

std::vector<ArrayHolderRow> TraceReader::array_holders() {
  std::vector<ArrayHolderRow> rows;
  if (!has_array_ends()) return rows;
  guarded("array_holders", [&] {
    Statement row(database_, "SELECT array, process, begin_ns FROM array_holders ORDER BY array, process");
    while (row.step()) rows.push_back({row.integer(0), int(row.integer(1)), row.is_null(2) ? kNoTime : row.integer(2)});
  });
  return rows;
}

std::vector<ArrayEndRow> TraceReader::array_ends() {
  std::vector<ArrayEndRow> rows;
  if (!has_array_ends()) return rows;
  guarded("array_ends", [&] {
    Statement row(database_, "SELECT array, process, end_ns, donated FROM array_ends ORDER BY array, process");
    while (row.step()) rows.push_back({row.integer(0), int(row.integer(1)), row.integer(2), row.integer(3) != 0});
  });
  return rows;
}

std::vector<LaunchArrayRow> TraceReader::launch_arrays(const Growth* since) {
  std::vector<LaunchArrayRow> rows;
  if (!has_launch_arrays()) return rows;
  visit_since(since, "launch_arrays", "process, launch, role, position", "process, launch, role, position, array, donated",
              [&](const Statement& row) {
                rows.push_back(
                    {int(row.integer(0)), row.integer(1), row.integer(2) != 0, int(row.integer(3)), row.integer(4), row.integer(5) != 0});
              });
  return rows;
}

std::vector<ChecksumRow> TraceReader::checksums() {
  std::vector<ChecksumRow> rows;
  if (version_ < 2) return rows;
  guarded("checksums", [&] {
    Statement row(database_,
                  "SELECT array, device, process, hash, numbers, nans, infinities, min, max, sum, squares, sketch0, sketch1, sketch2, "
                  "sketch3 FROM checksums ORDER BY array, device");
    while (row.step()) {
      ChecksumRow& each = rows.emplace_back(ChecksumRow{row.integer(0), int(row.integer(1)), int(row.integer(2)), {}});
      Checksum& sum = each.checksum;
      sum.hash = std::uint64_t(row.integer(3));
      sum.numbers = row.integer(4);
      sum.nans = row.integer(5);
      sum.infinities = row.integer(6);
      if (!row.is_null(7)) sum.min = row.real(7), sum.max = row.real(8);
      const auto real = [&](int column) { return row.is_null(column) ? std::numeric_limits<double>::quiet_NaN() : row.real(column); };
      sum.sum = real(9);
      sum.squares = real(10);
      for (int s = 0; s < Checksum::kSketches; ++s) sum.sketches[std::size_t(s)] = real(11 + s);
    }
  });
  return rows;
}

std::vector<FrameRow> TraceReader::frames() {
  std::vector<FrameRow> rows;
  if (version_ < 2) return rows;
  guarded("frames", [&] {
    Statement row(database_, "SELECT id, parent, function, file, line FROM frames ORDER BY id");
    while (row.step()) rows.push_back({row.integer(0), row.integer(1), text(row.integer(2)), text(row.integer(3)), int(row.integer(4))});
  });
  return rows;
}

std::vector<HostReadRow> TraceReader::host_reads(const Growth* since) {
  std::vector<HostReadRow> rows;
  visit_since(since, "host_reads", "process, begin_ns, seq", "process, begin_ns, seq, end_ns, what, site", [&](const Statement& row) {
    rows.push_back({int(row.integer(0)), row.integer(1), row.integer(2), time_at(row, 3), text(row.integer(4)), row.integer(5)});
  });
  return rows;
}

std::vector<Diagnosis> TraceReader::diagnoses() {
  std::vector<Diagnosis> rows;
  guarded("diagnoses", [&] {
    Statement row(database_,
                  "SELECT code, severity, message, explain, processes, tie, fields, details, evidence_ns, detected_ns "
                  "FROM diagnoses ORDER BY id");
    while (row.step())
      rows.push_back({.code = std::string(row.text(0)),
                      .severity = std::string(row.text(1)),
                      .message = std::string(row.text(2)),
                      .explain = std::string(row.text(3)),
                      .processes = parse_int_list(row.text(4)),
                      .tie = row.integer(5) != 0,
                      .fields = parse_text_list(row.text(6)),
                      .details = details_from_json(row.text(7)),
                      .evidence_ns = row.integer(8),
                      .detected_ns = row.integer(9)});
  });
  guarded("participants", [&] {
    Statement row(database_,
                  "SELECT diagnosis, process, seq, kind, op, place, statement, sharding, state, shape, dtype, mesh, devices "
                  "FROM participants ORDER BY diagnosis, position");
    while (row.step()) {
      const std::int64_t diagnosis = row.integer(0);
      if (diagnosis < 1 || diagnosis > std::int64_t(rows.size())) continue;
      rows[std::size_t(diagnosis - 1)].participants.push_back({.process = int(row.integer(1)),
                                                               .seq = row.integer(2),
                                                               .kind = std::string(row.text(3)),
                                                               .op = std::string(row.text(4)),
                                                               .where = std::string(row.text(5)),
                                                               .statement = std::int32_t(row.integer(6)),
                                                               .sharding = std::string(row.text(7)),
                                                               .state = std::string(row.text(8)),
                                                               .shape = std::string(row.text(9)),
                                                               .dtype = std::string(row.text(10)),
                                                               .mesh = std::string(row.text(11)),
                                                               .devices = parse_int_list(row.text(12))});
    }
  });
  return rows;
}

std::vector<std::vector<Id>> TraceReader::participant_collectives() {
  std::vector<std::vector<Id>> rows;
  guarded("participants", [&] {
    Statement row(database_, "SELECT diagnosis, collective FROM participants ORDER BY diagnosis, position");
    while (row.step()) {
      const std::int64_t diagnosis = row.integer(0);
      if (diagnosis < 1 || diagnosis > (std::int64_t(1) << 20)) continue;
      if (rows.size() < std::size_t(diagnosis)) rows.resize(std::size_t(diagnosis));
      rows[std::size_t(diagnosis - 1)].push_back(row.integer(1));
    }
  });
  return rows;
}

std::vector<DroppedRow> TraceReader::dropped() {
  std::vector<DroppedRow> rows;
  guarded("dropped", [&] {
    Statement row(database_, "SELECT process, time_ns, count, bytes, reason FROM dropped ORDER BY id");
    while (row.step()) rows.push_back({int(row.integer(0)), time_at(row, 1), row.integer(2), row.integer(3), std::string(row.text(4))});
  });
  return rows;
}

std::vector<ImportLogRow> TraceReader::import_log() {
  std::vector<ImportLogRow> rows;
  guarded("import_log", [&] {
    Statement row(database_, "SELECT process, source, severity, message FROM import_log ORDER BY id");
    while (row.step())
      rows.push_back(
          {row.is_null(0) ? -1 : int(row.integer(0)), std::string(row.text(1)), std::string(row.text(2)), std::string(row.text(3))});
  });
  return rows;
}

std::optional<Evidence> TraceReader::evidence() {
  std::optional<Evidence> evidence;
  guarded("evidence", [&] {
    Statement row(database_, "SELECT evidence FROM evidence WHERE id = 0");
    if (row.step()) evidence = evidence_from_json(row.text(0));
  });
  return evidence;
}

std::vector<std::string> TraceReader::notices() {
  std::vector<std::string> out;
  const auto lost = dropped();
  const auto log = import_log();
  for (const auto& [table, why] : torn_) {
    if (table == "file")
      out.push_back(fmt::format("The trace is cut off ({}); what is shown is what could be read.", why));
    else
      out.push_back(fmt::format("Table {} could not be read to its end: {}.", table, why));
  }
  for (const auto& row : lost)
    out.push_back(fmt::format("Process {}: {} record{} lost: {}.", row.process, row.count, row.count == 1 ? "" : "s", row.reason));
  for (const auto& row : log)
    if (row.severity == "error") out.push_back(fmt::format("{}: {}.", row.source, row.message));
  if (meta("truncated") == "1") out.emplace_back("The trace reached its size limit; older rows were summarised.");
  return out;
}

bool TraceReader::check_whole() {
  for (const auto& table : trace_schema().tables) {
    if (table.since > version_) continue;
    guarded(table.name, [&] {
      Statement row(database_, fmt::format("SELECT * FROM {}", table.name));
      while (row.step()) {}
    });
  }
  return torn();
}

}  // namespace shardlab::traces
