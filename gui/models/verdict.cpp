#include "gui/models/verdict.h"

#include <algorithm>

#include "gui/models/format.h"

namespace shardlab::gui {
namespace {

QString context_of(const TraceData& trace) {
  QStringList parts{qstr(trace.title)};
  parts << count_text(std::int64_t(trace.processes.size()), "process", "processes");
  parts << count_text(std::int64_t(trace.devices.size()), "device", "devices");
  parts << count_text(std::int64_t(trace.collectives.size()), "collective", "collectives");
  if (!trace.range.empty()) parts << duration_text(trace.range.length());
  return parts.join(QStringLiteral(" · "));
}

QString counts(const TraceData& trace) {
  return count_text(std::int64_t(trace.processes.size()), "process", "processes") + QStringLiteral(", ") +
         count_text(std::int64_t(trace.collectives.size()), "collective", "collectives");
}

const Diagnosis* worst(const TraceData& trace) {
  const auto rank = [](const Diagnosis& d) { return d.severity == "error" ? 0 : d.severity == "warning" ? 1 : 2; };
  const auto it =
      std::min_element(trace.diagnoses.begin(), trace.diagnoses.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  return it == trace.diagnoses.end() ? nullptr : &*it;
}

}  // namespace

Verdict make_verdict(const TraceData& trace) {
  Verdict verdict;
  verdict.context = context_of(trace);
  if (!trace.notices.empty()) verdict.context += QStringLiteral(" · ⚠ ") + qstr(trace.notices[0].text);
  verdict.perspective = trace.running || trace.devices.empty() ? QStringLiteral("sharding") : QStringLiteral("overview");
  if (const Diagnosis* diagnosis = worst(trace)) {
    verdict.perspective = QStringLiteral("hang");
    verdict.level = diagnosis->severity == "error"     ? VerdictLevel::kError
                    : diagnosis->severity == "warning" ? VerdictLevel::kWarning
                                                       : VerdictLevel::kNote;
    verdict.sentence = qstr(diagnosis->message);
    if (!verdict.sentence.isEmpty()) verdict.sentence[0] = verdict.sentence[0].toUpper();
    if (trace.diagnoses.size() > 1)
      verdict.sentence +=
          QStringLiteral(" (and %1)").arg(count_text(std::int64_t(trace.diagnoses.size()) - 1, "more diagnosis", "more diagnoses"));
    return verdict;
  }
  if (trace.running) {
    verdict.level = VerdictLevel::kNote;
    verdict.sentence = QStringLiteral("Running: %1 so far.").arg(counts(trace));
    return verdict;
  }
  const auto open = std::count_if(trace.collectives.begin(), trace.collectives.end(), [](const auto& c) { return c.open; });
  const QString unended = count_text(open, "collective", "collectives");
  if (trace.torn()) {
    verdict.level = VerdictLevel::kWarning;
    verdict.sentence = QStringLiteral("The trace is incomplete. What is there has no diagnosis: %1.").arg(counts(trace));
  } else if (trace.live) {
    verdict.level = open > 0 ? VerdictLevel::kWarning : VerdictLevel::kNote;
    verdict.sentence = QStringLiteral("All processes have ended, and the run's verdict has not come: %1").arg(counts(trace));
    if (open > 0) verdict.sentence += QStringLiteral("; %1 never ended").arg(unended);
    verdict.sentence += QLatin1Char('.');
  } else if (open > 0) {
    verdict.level = VerdictLevel::kWarning;
    verdict.sentence = QStringLiteral("No diagnosis, but %1 never ended: %2.").arg(unended, counts(trace));
  } else if (trace.collectives.empty()) {
    verdict.level = trace.processes.empty() ? VerdictLevel::kNote : VerdictLevel::kGood;
    verdict.sentence = trace.processes.empty() ? QStringLiteral("The trace is empty: no process has recorded anything.")
                                               : QStringLiteral("No diagnosis: %1, no collectives recorded.")
                                                     .arg(count_text(std::int64_t(trace.processes.size()), "process", "processes"));
  } else {
    verdict.sentence = QStringLiteral("No diagnosis: %1, all matched.").arg(counts(trace));
  }
  return verdict;
}

}  // namespace shardlab::gui
