#include "gui/app/bench.h"

#include <QCoreApplication>
#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLineEdit>
#include <QThread>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "gui/views/timeline_canvas.h"

namespace shardlab::gui {
namespace {

constexpr int kZoomFrames = 120, kPanFrames = 120, kJumpFrames = 60, kLookFrames = 8, kSharpFrames = 40;
constexpr int kSharpMsMax = 10'000;
constexpr int kSettleMs = 250;  // more than a search waits after a key
constexpr const char* kFilter = "kind:all-reduce dur>10us";

double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, std::size_t(std::ceil(share * double(values.size()))) - 1)];
}

// Processor time of the calling thread, or of the whole program: what a frame costs on a machine that others use too.
double cpu_ms(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return double(time.tv_sec) * 1e3 + double(time.tv_nsec) / 1e6;
}

double elapsed_ms(const QElapsedTimer& timer) { return double(timer.nsecsElapsed()) / 1e6; }

QJsonObject summary(const std::vector<double>& ms) {
  const double sum = [&] {
    double total = 0;
    for (const double each : ms) total += each;
    return total;
  }();
  return {{QStringLiteral("frames"), int(ms.size())},
          {QStringLiteral("mean_ms"), ms.empty() ? 0 : sum / double(ms.size())},
          {QStringLiteral("p50_ms"), percentile(ms, 0.5)},
          {QStringLiteral("p95_ms"), percentile(ms, 0.95)},
          {QStringLiteral("max_ms"), percentile(ms, 1)}};
}

}  // namespace

qint64 process_memory(const char* field) {
  QFile file(QStringLiteral("/proc/self/status"));
  if (!file.open(QIODevice::ReadOnly)) return 0;
  for (const QByteArray& line : file.readAll().split('\n'))
    if (line.startsWith(field)) return line.mid(qsizetype(qstrlen(field))).trimmed().split(' ').value(0).toLongLong() * 1024;
  return 0;
}

Bench::Bench(MainWindow& window, QString out) : window_(window), out_(std::move(out)) {
  // Shown and painted: what the loader told is on the screen once the queue has drained.
  connect(&window, &MainWindow::painted, this, [this](bool preview) {
    if (first_ms_ < 0) first_ms_ = elapsed_ms(clock_);
    if (!preview && read_ms_ < 0) read_ms_ = elapsed_ms(clock_);
  });
  // Complete: all that is painted or counted beside this thread for the views in sight is on the screen, too.
  connect(&window, &MainWindow::idle, this, [this] {
    if (read_ms_ < 0 || complete_ms_ >= 0) return;
    complete_ms_ = elapsed_ms(clock_);
    complete_cpu_ms_ = cpu_ms(CLOCK_PROCESS_CPUTIME_ID) - start_cpu_ms_;
    run_script();
  });
}

void Bench::start(const QString& trace) {
  clock_.start();
  start_cpu_ms_ = cpu_ms(CLOCK_PROCESS_CPUTIME_ID);
  window_.open(trace);
}

void Bench::frame(const char* what, double factor, double pan) {
  auto* canvas = &window_.timeline();
  frame(what, [&] {
    if (factor != 1) canvas->zoom_by(factor);
    if (pan != 0) canvas->pan_by(pan);
  });
}

void Bench::frame(const char* what, const std::function<void()>& deed) {
  QElapsedTimer timer;
  timer.start();
  const double cpu = cpu_ms(CLOCK_THREAD_CPUTIME_ID);
  deed();
  // Everything that follows from the new window: other views, the minimap, layout, painting.
  QCoreApplication::sendPostedEvents();
  QCoreApplication::processEvents();
  frames_.push_back({what, elapsed_ms(timer), cpu_ms(CLOCK_THREAD_CPUTIME_ID) - cpu});
}

void Bench::run_script() {
  auto* canvas = &window_.timeline();
  canvas->fit_all();
  QCoreApplication::processEvents();
  for (int i = 0; i < kZoomFrames; ++i) frame("zoom in", 0.9, 0);
  for (int i = 0; i < kPanFrames; ++i) frame("pan, near", 1, i % 2 ? 0.11 : 0.07);
  for (int i = 0; i < kZoomFrames; ++i) frame("zoom out", 1 / 0.9, 0);
  for (int i = 0; i < 12; ++i) frame("zoom in", 0.8, 0);
  for (int i = 0; i < kPanFrames; ++i) frame("pan, far", 1, i < kPanFrames / 2 ? 0.04 : -0.04);
  for (int i = 0; i < kJumpFrames; ++i) frame("jump", i % 2 ? 0.05 : 20, i % 3 ? 0.5 : -0.8);
  for (int i = 0; i < kSharpFrames; ++i) until_sharp(i % 2 ? 0.3 : 2, i % 3 ? 0.4 : -0.7);
  run_looks();
  write();
}

// After a leap the last picture is stretched: how long until the lanes are exact again, in frames of their own.
void Bench::until_sharp(double factor, double pan) {
  QElapsedTimer timer;
  timer.start();
  frame("jump", factor, pan);
  while (!window_.timeline().up_to_date() && timer.elapsed() < kSharpMsMax) frame("jump", [] { QThread::msleep(1); });
  sharp_ms_.push_back(elapsed_ms(timer));
}

// A run that is watched: the trace comes anew, whatever is in sight; then a filter is typed, and what it found comes.
void Bench::run_looks() {
  window_.timeline().fit_all();
  for (const char* view : {"events", "sequence", "waits", "matrix", "collectives"}) {
    window_.show_view(view);
    QCoreApplication::processEvents();
    for (int i = 0; i < kLookFrames; ++i) {
      frame("look", [&] { window_.selection().follow_trace(window_.selection().trace()); });
      settle("look");
    }
  }
  window_.show_view("events");
  auto* filter = window_.view("events").findChild<QLineEdit*>();
  for (const char* key = kFilter; *key != 0; ++key) {
    frame("type", [&] { filter->insert(QString(QLatin1Char(*key))); });
    settle("type");
  }
}

// What was begun beside the window comes to its end, frame by frame.
void Bench::settle(const char* what) {
  QElapsedTimer timer;
  timer.start();
  while (timer.elapsed() < kSettleMs) {
    frame(what, [] {});
    QThread::msleep(1);
  }
}

void Bench::write() {
  const TracePtr& trace = window_.selection().trace();
  QJsonObject parts;
  std::vector<double> all, all_cpu;
  for (const char* what : {"zoom in", "zoom out", "pan, near", "pan, far", "jump", "look", "type"}) {
    const bool moves = qstrcmp(what, "look") != 0 && qstrcmp(what, "type") != 0;
    std::vector<double> ms, cpu;
    for (const Frame& each : frames_)
      if (qstrcmp(each.what, what) == 0) {
        ms.push_back(each.ms);
        cpu.push_back(each.cpu_ms);
      }
    if (moves) all.insert(all.end(), ms.begin(), ms.end());
    if (moves) all_cpu.insert(all_cpu.end(), cpu.begin(), cpu.end());
    parts[QString::fromUtf8(what)] = summary(moves ? ms : cpu);  // of the last two the processor time: who waits beside it is no matter
  }
  const auto events = double(std::max<std::size_t>(trace->event_count(), 1));
  const QJsonObject json{{QStringLiteral("trace"), QString::fromStdString(trace->path)},
                         {QStringLiteral("events"), events},
                         {QStringLiteral("lanes"), int(trace->lanes.size())},
                         {QStringLiteral("collectives"), int(trace->collectives.size())},
                         {QStringLiteral("width"), window_.width()},
                         {QStringLiteral("height"), window_.height()},
                         {QStringLiteral("first_picture_ms"), first_ms_},
                         {QStringLiteral("read_ms"), read_ms_},
                         {QStringLiteral("complete_ms"), complete_ms_},
                         {QStringLiteral("bytes_per_event"), double(event_bytes(*trace)) / events},
                         {QStringLiteral("resident_bytes"), double(process_memory("VmRSS:"))},
                         {QStringLiteral("resident_peak_bytes"), double(process_memory("VmHWM:"))},
                         {QStringLiteral("complete_cpu_ms"), complete_cpu_ms_},
                         {QStringLiteral("all"), summary(all)},
                         {QStringLiteral("all_cpu"), summary(all_cpu)},
                         {QStringLiteral("until_sharp"), summary(sharp_ms_)},
                         {QStringLiteral("parts"), parts}};
  QFile file(out_);
  const QByteArray text = QJsonDocument(json).toJson();
  const bool written = out_ == QLatin1String("-") ? std::fwrite(text.constData(), 1, std::size_t(text.size()), stdout) > 0
                                                  : file.open(QIODevice::WriteOnly) && file.write(text) == text.size();
  Q_EMIT done(written ? QString() : QStringLiteral("cannot write %1: %2").arg(out_, file.errorString()));
}

}  // namespace shardlab::gui
