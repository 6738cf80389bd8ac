// What a report says, before it is put into a format.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "traces/callers.h"
#include "traces/epochs.h"
#include "traces/plan_record.h"
#include "traces/report.h"
#include "traces/statement_places.h"

namespace shardlab::traces {

// Collectives of one kind along the same axes.
struct CollectiveSum {
  std::string kind, axes;
  std::int64_t count = 0, bytes = 0, wire_bytes = 0, moved_bytes = 0;  // bytes: of the result on one device, summed
  Ns total_ns = 0, slowest_ns = 0;                                     // from the first start to the last end
  std::int64_t unfinished = 0;
};

// The slowest of those of one kind and size that an op asks for at one place.
struct SlowCollective {
  Id id = 0;
  std::string kind, axes, op, place;
  std::int64_t seq = 0, bytes = 0;
  std::int64_t times = 0;  // that there were
  Ns duration_ns = 0;
  int last_process = -1;  // that began last: the others waited for it
  Ns spread_ns = 0;       // from the first start to the last start
};

struct ReportData {
  std::string path, title, command_line, version;
  std::string scenario;    // the document that was run, as JSON; empty where it was another program
  StatementPlaces places;  // of its statements
  std::string verdict;     // one sentence
  bool diagnosed = false;  // an error among the diagnoses, or a process that ended badly
  Ns duration_ns = 0;
  std::int64_t devices = 0, arrays = 0, programs = 0, launches = 0;
  std::vector<ProcessRow> processes;
  std::vector<EpochRow> epochs;  // of an elastic job
  std::vector<Diagnosis> diagnoses;
  std::vector<std::vector<Callers>> callers;  // by diagnosis and participant; borrowed from the reader
  std::vector<Deviation> deviations;          // from what was planned
  std::optional<Evidence> evidence;           // the ledger's last
  std::vector<CollectiveSum> sums;            // most wire bytes first; without transfers
  std::vector<CollectiveSum> transfers;       // device_put and the like: not part of wire_bytes
  std::int64_t collectives = 0, wire_bytes = 0, unmatched = 0, unfinished = 0;
  std::vector<SlowCollective> slowest;  // at most kSlowestMax, slowest first
  std::vector<std::string> notices;
  std::vector<SiteRow> sites;  // borrowed from the reader, by id
  // The file that a place ("toy.cpp:31") names, with its folders where the trace has them.
  std::string file_of(std::string_view place) const;
  const SiteRow& site_of(const Deviation& deviation) const;
};

constexpr std::size_t kSlowestMax = 10;

ReportData collect_report(TraceReader& reader);

// "killed by signal 9 (SIGKILL)", "left", "raised: ValueError …".
std::string end_text(const ProcessRow& process);
// The same, short where the process ended in a diagnosis that the report has, or in the error of one before it.
std::string end_text(const ReportData& data, ProcessRow process);
// "epoch 2 after 1.50 ms: processes 0, 1 and 3; process 2 is gone".
std::string epoch_text(const ReportData& data, const EpochRow& epoch);
// "1.50 ms", "12.0 KiB".
std::string duration_text(Ns ns);
std::string bytes_text(std::int64_t bytes);

// Details as people read them: without what the sides say themselves, or what counts for tools alone.
std::vector<std::pair<std::string, std::string>> details_told(const Diagnosis& diagnosis);

void write_report_text(const ReportData& data, std::ostream& out);
void write_report_json(const ReportData& data, std::ostream& out);
void write_report_html(const ReportData& data, std::ostream& out);
void write_report_sarif(const ReportData& data, std::ostream& out);
void write_report_junit(const ReportData& data, std::ostream& out);

}  // namespace shardlab::traces
