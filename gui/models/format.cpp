#include "gui/models/format.h"

#include <QLocale>

#include <algorithm>
#include <array>
#include <cmath>

namespace shardlab::gui {
namespace {

struct Unit {
  Ns ns;
  const char* name;
};
constexpr std::array<Unit, 4> kUnits{{{1'000'000'000, "s"}, {1'000'000, "ms"}, {1'000, "µs"}, {1, "ns"}}};

const Unit& unit_for(Ns magnitude) {
  for (const auto& unit : kUnits)
    if (magnitude >= unit.ns) return unit;
  return kUnits.back();
}

}  // namespace

QString duration_text(Ns ns) {
  const Ns magnitude = std::abs(ns);
  if (magnitude == 0) return QStringLiteral("0 ns");
  const Unit& unit = unit_for(magnitude);
  const double value = double(ns) / double(unit.ns);
  const double size = std::abs(value);
  const int decimals = unit.ns == 1 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3;
  return QString::number(value, 'f', decimals) + QChar(0x202f) + QString::fromUtf8(unit.name);
}

QString tick_text(Ns time, Ns step) {
  if (time == 0) return QStringLiteral("0");
  // The unit in which a step is at least 0.001, so that labels stay short and all have the same unit.
  const Unit& unit = unit_for(std::max<Ns>(std::abs(time), step));
  int decimals = 0;
  for (Ns digit = unit.ns; digit > step && decimals < 9; digit /= 10) ++decimals;
  return QString::number(double(time) / double(unit.ns), 'f', decimals) + QChar(0x202f) + QString::fromUtf8(unit.name);
}

QString bytes_text(std::int64_t bytes) {
  static constexpr std::array<const char*, 5> kNames{"B", "KiB", "MiB", "GiB", "TiB"};
  double value = double(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kNames.size()) {
    value /= 1024;
    ++unit;
  }
  const int decimals = unit == 0 || value == std::floor(value) ? 0 : value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return QString::number(value, 'f', decimals) + QChar(0x202f) + QString::fromUtf8(kNames[unit]);
}

QString set_text(std::vector<int> ordinals, int limit) {
  std::sort(ordinals.begin(), ordinals.end());
  ordinals.erase(std::unique(ordinals.begin(), ordinals.end()), ordinals.end());
  QString text;
  for (std::size_t i = 0; i < ordinals.size();) {
    std::size_t last = i;
    while (last + 1 < ordinals.size() && ordinals[last + 1] == ordinals[last] + 1) ++last;
    QString part = QString::number(ordinals[i]);
    if (last == i + 1) part += QStringLiteral(",") + QString::number(ordinals[last]);
    if (last > i + 1) part += QChar(0x2013) + QString::number(ordinals[last]);
    if (!text.isEmpty()) part.prepend(QLatin1Char(','));
    if (text.size() + part.size() > limit && !text.isEmpty()) return text + QChar(0x2026);
    text += part;
    i = last + 1;
  }
  return text;
}

QString count_text(std::int64_t count, const char* singular, const char* plural) {
  QLocale locale = QLocale::c();
  locale.setNumberOptions(QLocale::DefaultNumberOptions);
  return locale.toString(qlonglong(count)) + QLatin1Char(' ') + QString::fromUtf8(count == 1 ? singular : plural);
}

QString html(std::string_view text) { return qstr(text).toHtmlEscaped(); }

}  // namespace shardlab::gui
