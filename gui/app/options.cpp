#include "gui/app/options.h"

#include <QRegularExpression>

#include <algorithm>

#include "gui/app/sheet.h"
#include "gui/app/view_link.h"
#include "gui/models/format.h"
#include "gui/models/memory_limit.h"
#include "gui/views/trace_table.h"
#include "gui/views/view_def.h"
#include "runtime/base/error.h"
#include "runtime/base/text.h"

namespace shardlab::gui {
namespace {

[[noreturn]] void fail(const QString& message) { throw UsageError(message.toStdString()); }

std::vector<std::string_view> view_ids() {
  std::vector<std::string_view> ids;
  for (const ViewDef* def : all_views()) ids.push_back(def->id);
  ids.push_back(kSheet);
  return ids;
}

void set_size(Options& options, const QString& value) {
  static const QRegularExpression kSize(QStringLiteral("^(\\d{2,5})x(\\d{2,5})$"));
  const auto match = kSize.match(value);
  if (!match.hasMatch()) fail(QStringLiteral("--size wants WIDTHxHEIGHT, for example 1600x1000, and got \"%1\"").arg(value));
  options.size = QSize(match.captured(1).toInt(), match.captured(2).toInt());
  if (options.size.width() < 200 || options.size.height() < 150 || options.size.width() > 16384 || options.size.height() > 16384)
    fail(QStringLiteral("--size must be between 200x150 and 16384x16384, and is %1").arg(value));
}

void set_theme(Options& options, const QString& value) {
  if (value == QLatin1String("dark"))
    options.theme = ThemeChoice::kDark;
  else if (value == QLatin1String("light"))
    options.theme = ThemeChoice::kLight;
  else
    fail(QStringLiteral("--theme is \"dark\" or \"light\", not \"%1\"").arg(value));
}

void set_view(Options& options, const QString& value) {
  const auto ids = view_ids();
  const std::string wanted = value.toStdString();
  if (std::find(ids.begin(), ids.end(), wanted) == ids.end()) {
    QStringList known;
    for (const auto id : ids) known << qstr(id);
    fail(QStringLiteral("there is no view \"%1\"%2; the views are %3")
             .arg(value, qstr(did_you_mean(wanted, ids)), known.join(QStringLiteral(", "))));
  }
  options.view = value;
}

void keep_memory_limit(Options&, const QString& value) {
  bool is_number = false;
  const double gib = value.toDouble(&is_number);
  if (!is_number || gib < 0)
    fail(QStringLiteral("--memory wants a number of GiB, or 0 for half of the machine's, and got \"%1\"").arg(value));
  set_memory_limit(gib);
}

struct OptionDef {
  const char* name;
  const char* value;
  const char* doc;
  void (*set)(Options&, const QString&);
};
const OptionDef kOptions[] = {
    {"--screenshot", "OUT.png", "write a picture (.png, .svg, .pdf) or text (.txt) instead of opening a window; needs no display",
     [](Options& o, const QString& v) { o.screenshot = v; }},
    {"--bench-gui", "OUT.json", "measure opening, zoom and pan, write the figures and end; needs no display",
     [](Options& o, const QString& v) { o.bench = v; }},
    {"--view", "NAME", "show this view alone; all: every view on one sheet", set_view},
    {"--compare", "OTHER.db", "a second trace, for the compare view", [](Options& o, const QString& v) { o.compare = v; }},
    {"--array", "NAME", "the array of the sharding view", [](Options& o, const QString& v) { o.array = v; }},
    {"--select", "KIND:N", "diagnosis:0, collective:12, device:3 or process:1", [](Options& o, const QString& v) { o.select = v; }},
    {"--size", "WxH", "of the window in pixels (1600x1000)", set_size},
    {"--memory", "GIB", "that a trace may take, from now on (0: half of the machine's); of a larger one the last part is opened",
     keep_memory_limit},
    {"--theme", "dark|light", "instead of the system's", set_theme},
};

}  // namespace

Options parse_options(const QStringList& arguments) {
  Options options;
  for (qsizetype i = 0; i < arguments.size(); ++i) {
    const QString argument = arguments[i];
    if (argument == QLatin1String("--help") || argument == QLatin1String("-h")) {
      options.help = true;
      return options;
    }
    if (is_link(argument)) {
      options.link = argument;
      continue;
    }
    if (!argument.startsWith(QLatin1Char('-'))) {
      if (!options.trace.isEmpty()) fail(QStringLiteral("one trace at a time: got \"%1\" and \"%2\"").arg(options.trace, argument));
      options.trace = argument;
      continue;
    }
    const QString name = argument.section(QLatin1Char('='), 0, 0);
    const auto def =
        std::find_if(std::begin(kOptions), std::end(kOptions), [&](const OptionDef& o) { return name == QLatin1String(o.name); });
    if (def == std::end(kOptions)) fail(QStringLiteral("there is no option \"%1\"; see --help").arg(name));
    if (argument.contains(QLatin1Char('='))) {
      def->set(options, argument.section(QLatin1Char('='), 1));
    } else {
      if (i + 1 == arguments.size()) fail(QStringLiteral("%1 wants %2").arg(name, QString::fromUtf8(def->value)));
      def->set(options, arguments[++i]);
    }
  }
  if (!options.link.isEmpty()) {
    try {
      const ViewLink link = link_from_text(options.link);
      if (options.trace.isEmpty()) options.trace = link.trace;
    } catch (const UserError& problem) { fail(QString::fromUtf8(problem.what())); }
  }
  if (!options.screenshot.isEmpty() && options.trace.isEmpty()) fail(QStringLiteral("--screenshot wants a trace to show"));
  if (!options.bench.isEmpty() && options.trace.isEmpty()) fail(QStringLiteral("--bench-gui wants a trace to measure with"));
  return options;
}

QString usage_text() {
  QString text = QStringLiteral(
      "usage: shardlab-view [TRACE.db or DIR] [LINK] [options]\n\n"
      "Shows a trace: its verdict, shardings, timeline and diagnoses. DIR, where `shardlab run --parts DIR` records, is followed while "
      "the\n"
      "run goes on. LINK leads to a view, as the window's own \"Copy Link to This View\" gives it; without TRACE.db its trace is looked "
      "for\n"
      "here.\n\n");
  for (const auto& def : kOptions)
    text += QStringLiteral("  %1 %2\n")
                .arg(QString::fromUtf8(def.name) + QLatin1Char(' ') + QString::fromUtf8(def.value), -24)
                .arg(QString::fromUtf8(def.doc));
  QStringList views;
  for (const auto id : view_ids()) views << qstr(id);
  return text + QStringLiteral("\nviews: %1\nexit code: 0, or 3 where the file or the command line is at fault\n")
                    .arg(views.join(QStringLiteral(", ")));
}

void apply_selection(const Options& options, Selection& selection) {
  const TracePtr& trace = selection.trace();
  if (!options.array.isEmpty()) {
    const std::string name = options.array.toStdString();
    const auto it = std::find_if(trace->arrays.begin(), trace->arrays.end(), [&](const Array& array) { return array.name == name; });
    if (it == trace->arrays.end()) {
      std::vector<std::string_view> names;
      for (const auto& array : trace->arrays) names.push_back(array.name);
      fail(QStringLiteral("the trace has no array \"%1\"%2").arg(options.array, qstr(did_you_mean(name, names))));
    }
    selection.select_array(int(it - trace->arrays.begin()));
  }
  if (!options.select.isEmpty() && !follow_link(selection, options.select, nullptr))
    fail(QStringLiteral("--select %1: the trace has no such thing (it has %2 diagnoses, %3 collectives, %4 devices)")
             .arg(options.select)
             .arg(trace->diagnoses.size())
             .arg(trace->collectives.size())
             .arg(trace->devices.size()));
}

}  // namespace shardlab::gui
