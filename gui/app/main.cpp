// shardlab-view: the window over a trace, or a picture of it.
#include <QApplication>
#include <QHashFunctions>
#include <QTimer>

#include <cstdio>

#include "gui/app/bench.h"
#include "gui/app/main_window.h"
#include "gui/app/options.h"
#include "gui/app/screenshot.h"
#include "gui/app/view_link.h"

namespace {

using namespace shardlab::gui;

constexpr int kInputError = 3;

int complain(const QString& message) {
  std::fprintf(stderr, "shardlab view: %s\n", message.toUtf8().constData());
  return kInputError;
}

// The offscreen platform tells us at each window what it cannot do; everything else goes to stderr.
void print_message(QtMsgType, const QMessageLogContext&, const QString& message) {
  if (message.contains(QLatin1String("propagateSizeHints")) || message.contains(QLatin1String("XDG_RUNTIME_DIR"))) return;
  std::fprintf(stderr, "%s\n", message.toUtf8().constData());
}

// Waits for the loaded, painted window, writes the picture and ends the program.
void take_picture(MainWindow& window, const QString& path) {
  QObject::connect(
      &window, &MainWindow::idle, &window,
      [&window, path] {
        try {
          window.write_picture(path);
          QApplication::exit(0);
        } catch (const std::exception& problem) { QApplication::exit(complain(QString::fromUtf8(problem.what()))); }
      },
      Qt::QueuedConnection);
}

}  // namespace

int main(int argc, char** argv) {
  QStringList arguments;
  for (int i = 1; i < argc; ++i) arguments << QString::fromLocal8Bit(argv[i]);
  Options options;
  try {
    options = parse_options(arguments);
  } catch (const UsageError& problem) { return complain(QString::fromUtf8(problem.what())); }
  if (options.help) {
    std::fputs(usage_text().toUtf8().constData(), stdout);
    return 0;
  }
  if (!display_available()) {
    if (options.screenshot.isEmpty() && options.bench.isEmpty())
      return complain(QStringLiteral("there is no display; use --screenshot OUT.png for a picture"));
    qputenv("QT_QPA_PLATFORM", "offscreen");
  }
  qInstallMessageHandler(print_message);
  if (!options.screenshot.isEmpty()) QHashSeed::setDeterministicGlobalSeed();  // the order of fonts and pictures in a PDF follows it
  int qt_argc = 1;
  QApplication application(qt_argc, argv);
  QApplication::setApplicationName(QStringLiteral("shardlab-view"));
  const bool dark =
      options.theme == ThemeChoice::kDark || (options.theme == ThemeChoice::kSystem && options.screenshot.isEmpty() && system_is_dark());
  apply_style(dark);

  QApplication::setOrganizationName(QStringLiteral("shardlab"));
  options.remember = options.screenshot.isEmpty() && options.bench.isEmpty();
  MainWindow window(options);
  QObject::connect(&window, &MainWindow::trace_shown, &window, [&] {
    try {
      apply_selection(options, window.selection());
      if (!options.link.isEmpty()) show_link(window, link_from_text(options.link));
    } catch (const std::exception& problem) { QApplication::exit(complain(QString::fromUtf8(problem.what()))); }
  });
  // A person who has a trace before him reads in the window that another could not be opened.
  QObject::connect(&window, &MainWindow::load_failed, &window, [&](const QString& message) {
    if (!options.remember || !window.selection().trace()) QApplication::exit(complain(message));
  });
  if (!options.screenshot.isEmpty()) take_picture(window, options.screenshot);
  window.show();
  if (!options.bench.isEmpty()) {
    Bench bench(window, options.bench);
    QObject::connect(
        &bench, &Bench::done, &window, [](const QString& problem) { QApplication::exit(problem.isEmpty() ? 0 : complain(problem)); },
        Qt::QueuedConnection);
    bench.start(options.trace);
    return QApplication::exec();
  }
  if (!options.trace.isEmpty()) window.open(options.trace);
  return QApplication::exec();
}
