#include "gui/models/compare.h"

#include <algorithm>
#include <map>

#include "gui/models/format.h"
#include "gui/models/memory.h"

namespace shardlab::gui {
namespace {

constexpr std::size_t kAlignMax = 1500;  // the table of an alignment grows with the square

QString identity(const Collective& call) {
  const CollectiveType& t = *call.type;
  return qstr(t.kind + "|" + t.op + "|" + t.axes);
}

QString name_of(const TraceData& trace, int index) {
  const Collective& call = trace.collectives[std::size_t(index)];
  const std::string where = trace.site_text(call.type->site);
  return qstr(call.type->kind + " of " + call.type->op + (where.empty() ? "" : " at " + where));
}

QStringList differences(const Collective& a, const Collective& b) {
  QStringList out;
  const auto text = [&](const char* name, const std::string& x, const std::string& y) {
    if (x != y)
      out << QStringLiteral("%1: %2 / %3")
                 .arg(QString::fromUtf8(name), x.empty() ? QStringLiteral("–") : qstr(x), y.empty() ? QStringLiteral("–") : qstr(y));
  };
  text("kind", a.type->kind, b.type->kind);
  text("op", a.type->op, b.type->op);
  text("axes", a.type->axes, b.type->axes);
  text("type", a.type->dtype + a.type->shape, b.type->dtype + b.type->shape);
  text("reduction", a.type->reduction, b.type->reduction);
  text("before", a.type->sharding_before, b.type->sharding_before);
  text("after", a.type->sharding_after, b.type->sharding_after);
  text("state", a.state, b.state);
  if (a.type->wire_bytes != b.type->wire_bytes)
    out << QStringLiteral("wire: %1 / %2").arg(bytes_text(a.type->wire_bytes), bytes_text(b.type->wire_bytes));
  if (a.type->groups->lists != b.type->groups->lists)
    out << QStringLiteral("groups: %1 / %2").arg(a.type->groups->lists.size()).arg(b.type->groups->lists.size());
  return out;
}

// Indices of both sides, in order, of the longest common order (Wagner and Fischer 1974) with what lies between as gaps.
std::vector<ComparePair> align(const TraceData& left, const TraceData& right, const std::stop_token& stop) {
  const std::size_t n = left.collectives.size(), m = right.collectives.size();
  std::vector<ComparePair> pairs;
  std::size_t same = 0;
  std::vector<QString> a, b;
  for (const auto& call : left.collectives) a.push_back(identity(call));
  for (const auto& call : right.collectives) b.push_back(identity(call));
  while (same < std::min(n, m) && a[same] == b[same]) {
    pairs.push_back({int(same), int(same), {}});
    ++same;
  }
  if (n - same > kAlignMax || m - same > kAlignMax) {
    for (std::size_t i = same; i < std::max(n, m); ++i) pairs.push_back({i < n ? int(i) : -1, i < m ? int(i) : -1, {}});
    return pairs;
  }
  const std::size_t rows = n - same, columns = m - same;
  std::vector<std::vector<std::uint16_t>> longest(rows + 1, std::vector<std::uint16_t>(columns + 1, 0));
  for (std::size_t i = rows; i-- > 0 && !stop.stop_requested();)
    for (std::size_t j = columns; j-- > 0;)
      longest[i][j] =
          a[same + i] == b[same + j] ? std::uint16_t(longest[i + 1][j + 1] + 1) : std::max(longest[i + 1][j], longest[i][j + 1]);
  for (std::size_t i = 0, j = 0; i < rows || j < columns;) {
    if (i < rows && j < columns && a[same + i] == b[same + j])
      pairs.push_back({int(same + i++), int(same + j++), {}});
    else if (j == columns || (i < rows && longest[i + 1][j] >= longest[i][j + 1]))
      pairs.push_back({int(same + i++), -1, {}});
    else
      pairs.push_back({-1, int(same + j++), {}});
  }
  return pairs;
}

std::int64_t wire(const TraceData& trace) {
  std::int64_t sum = 0;
  for (const auto& call : trace.collectives) sum += call.type->wire_bytes;
  return sum;
}

// Of arrays, on the device that holds most.
QString most_held(const TraceData& trace) { return trace.memory ? bytes_text(trace.memory->peak(trace.range).arrays) : QString(); }

QString programs(const TraceData& trace) {
  QStringList names;
  for (const auto& launch : trace.launches)
    if (!trace.processes.empty() && launch.process == trace.processes[0].index && launch.program >= 0)
      names << qstr(trace.programs[std::size_t(launch.program)].name);
  return names.join(QStringLiteral(", "));
}

std::vector<traces::ArrayValues> values_of(const TraceData& trace) {
  std::vector<traces::ArrayValues> values;
  for (std::size_t i = 0; i < trace.arrays.size(); ++i) {
    const Array& array = trace.arrays[i];
    if (!array.values) continue;
    const Launch* launch = array.launch < 0 ? nullptr : trace.launch(array.process, array.launch);
    values.push_back({.array = traces::Id(i),
                      .name = array.name,
                      .dtype = array.dtype,
                      .shape = array.layout->shape,
                      .place = trace.site_text(array.site),
                      .process = array.process,
                      .made_ns = launch ? launch->issued : array.time,
                      .values = *array.values});
  }
  return values;
}

// Of the values: the first array that is another one, else the first that differs by rounding.
QString values_verdict(const Comparison& comparison) {
  const traces::ValueComparison& values = comparison.values;
  const int first = values.first_difference >= 0 ? values.first_difference : values.first_rounding;
  if (first < 0)
    return values.equal > 0 ? QStringLiteral("The values of all %1 arrays are equal bit for bit.").arg(values.equal) : QString();
  const traces::ValuePair& pair = values.pairs[std::size_t(first)];
  const traces::ArrayValues& a = comparison.left_values[std::size_t(pair.left)];
  const char* how = values.first_difference >= 0 ? "Values first differ at" : "Values differ by rounding alone, first at";
  return QStringLiteral("%1 %2: %3.")
      .arg(QString::fromUtf8(how), qstr(title_of(a)), qstr(distance_text(pair, a, comparison.right_values[std::size_t(pair.right)])));
}

void compare_values_of(const TraceData& left, const TraceData& right, Comparison& result) {
  result.left_values = values_of(left);
  result.right_values = values_of(right);
  if (result.left_values.empty() || result.right_values.empty()) return;
  result.values = traces::compare_values(result.left_values, result.right_values);
  const auto counts = [&](std::int64_t arrays) {
    return QStringLiteral("%1: %2 equal, %3 rounding, %4 different")
        .arg(arrays)
        .arg(result.values.equal)
        .arg(result.values.rounding)
        .arg(result.values.different);
  };
  const bool differs = result.values.different > 0;
  result.facts.push_back(
      {QStringLiteral("Values"), counts(std::ssize(result.left_values)), counts(std::ssize(result.right_values)), differs});
  result.verdict += QLatin1Char(' ') + values_verdict(result);
}

QString verdict_of(const TraceData& left, const TraceData& right, const Comparison& result) {
  if (result.first_divergence < 0) {
    const bool facts = std::any_of(result.facts.begin(), result.facts.end(),
                                   [](const CompareFact& each) { return each.differs && each.name != QLatin1String("Lasted"); });
    return facts ? QStringLiteral("The collectives are the same; see what else differs.")
                 : QStringLiteral("Both runs made the same collectives, in the same order, with the same bytes.");
  }
  const ComparePair& first = result.pairs[std::size_t(result.first_divergence)];
  return QStringLiteral("The runs first differ at collective %1: %2 (%3).")
      .arg(result.first_divergence)
      .arg(first.left >= 0 ? name_of(left, first.left) : name_of(right, first.right), first.differences.join(QStringLiteral(", ")));
}

}  // namespace

Comparison compare_traces(const TraceData& left, const TraceData& right, const std::stop_token& stop) {
  Comparison result;
  const auto fact = [&](const char* name, const QString& a, const QString& b) {
    result.facts.push_back({QString::fromUtf8(name), a, b, a != b});
  };
  const auto number = [&](const char* name, std::size_t a, std::size_t b) { fact(name, QString::number(a), QString::number(b)); };
  number("Processes", left.processes.size(), right.processes.size());
  number("Devices", left.devices.size(), right.devices.size());
  fact("Mesh", left.meshes.empty() ? QString() : qstr(left.meshes[0].text()),
       right.meshes.empty() ? QString() : qstr(right.meshes[0].text()));
  number("Launches", left.launches.size(), right.launches.size());
  number("Collectives", left.collectives.size(), right.collectives.size());
  fact("Wire bytes", bytes_text(wire(left)), bytes_text(wire(right)));
  number("Arrays", left.arrays.size(), right.arrays.size());
  if (left.records_array_ends && right.records_array_ends) fact("Memory, at most", most_held(left), most_held(right));
  number("Diagnoses", left.diagnoses.size(), right.diagnoses.size());
  fact("Lasted", duration_text(left.range.length()), duration_text(right.range.length()));
  fact("Programs of the first process", programs(left), programs(right));
  result.pairs = align(left, right, stop);
  result.pair_of_left.resize(left.collectives.size(), -1);
  for (std::size_t i = 0; i < result.pairs.size() && !stop.stop_requested(); ++i) {
    ComparePair& pair = result.pairs[i];
    if (pair.left >= 0) result.pair_of_left[std::size_t(pair.left)] = int(i);
    if (pair.left < 0)
      pair.differences = {QStringLiteral("only in the second")};
    else if (pair.right < 0)
      pair.differences = {QStringLiteral("only in the first")};
    else
      pair.differences = differences(left.collectives[std::size_t(pair.left)], right.collectives[std::size_t(pair.right)]);
    if (!pair.differences.isEmpty() && result.first_divergence < 0) result.first_divergence = int(i);
  }
  result.verdict = verdict_of(left, right, result);
  compare_values_of(left, right, result);
  return result;
}

QString pair_name(const TraceData& trace, int collective) {
  if (collective < 0) return QStringLiteral("–");
  const CollectiveType& type = *trace.collectives[std::size_t(collective)].type;
  return qstr(type.kind + " · " + type.op);
}

void ComparePairsModel::set(std::shared_ptr<const Compared> compared) {
  beginResetModel();
  compared_ = std::move(compared);
  endResetModel();
}

int ComparePairsModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() || !compared_ ? 0 : int(compared_->comparison.pairs.size());
}
int ComparePairsModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : int(kColumnCount); }

QVariant ComparePairsModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || !compared_) return {};
  const ComparePair& pair = compared_->comparison.pairs[std::size_t(index.row())];
  if (role == kDiffersRole) return !pair.differences.isEmpty();
  if (role != Qt::DisplayRole && role != Qt::ToolTipRole) return {};
  switch (index.column()) {
    case kNumber:
      return QString::number(index.row());
    case kLeft:
      return pair_name(*compared_->left, pair.left);
    case kRight:
      return pair_name(*compared_->right, pair.right);
    default:
      return pair.differences.join(QStringLiteral(", "));
  }
}

QVariant ComparePairsModel::headerData(int section, Qt::Orientation orientation, int role) const {
  static constexpr const char* kTitles[] = {"#", "First", "Second", "Differs in"};
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole || section < 0 || section >= kColumnCount) return {};
  return QString::fromUtf8(kTitles[section]);
}

void CompareValuesModel::set(std::shared_ptr<const Compared> compared) {
  beginResetModel();
  compared_ = std::move(compared);
  endResetModel();
}

int CompareValuesModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() || !compared_ ? 0 : int(compared_->comparison.values.pairs.size());
}
int CompareValuesModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : int(kColumnCount); }

QVariant CompareValuesModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || !compared_) return {};
  const Comparison& comparison = compared_->comparison;
  const traces::ValuePair& pair = comparison.values.pairs[std::size_t(index.row())];
  const traces::ArrayValues* left = pair.left < 0 ? nullptr : &comparison.left_values[std::size_t(pair.left)];
  const traces::ArrayValues* right = pair.right < 0 ? nullptr : &comparison.right_values[std::size_t(pair.right)];
  const bool both = left && right;
  if (role == kLikenessRole) return both ? int(pair.likeness) : int(Likeness::kDifferent);
  if (role != Qt::DisplayRole && role != Qt::ToolTipRole) return {};
  const traces::ArrayValues& any = left ? *left : *right;
  switch (index.column()) {
    case kArray:
      return qstr(role == Qt::ToolTipRole ? title_of(any)
                  : any.name.empty()      ? title_of(any).substr(0, title_of(any).find(" at "))
                                          : any.name);
    case kWhere:
      return qstr(any.place);
    case kLikeness:
      return both   ? qstr(std::string(traces::likeness_name(pair.likeness)))
             : left ? QStringLiteral("only in the first")
                    : QStringLiteral("only in the second");
    case kDistance:
      return both && pair.likeness != Likeness::kEqual ? qstr(distance_text(pair, *left, *right)) : QString();
    default: {
      const traces::ArrayValues* side = index.column() == kLeft ? left : right;
      return side ? qstr(traces::checksum_text(side->values.checksum)) : QStringLiteral("–");
    }
  }
}

QVariant CompareValuesModel::headerData(int section, Qt::Orientation orientation, int role) const {
  static constexpr const char* kTitles[] = {"Array", "Where", "Values", "Apart", "First", "Second"};
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole || section < 0 || section >= kColumnCount) return {};
  return QString::fromUtf8(kTitles[section]);
}

}  // namespace shardlab::gui
