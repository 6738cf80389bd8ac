#include "gui/models/load_job.h"

#include "gui/models/format.h"

namespace shardlab::gui {

LoadJob::LoadJob(QObject* parent) : QObject(parent) { qRegisterMetaType<TracePtr>(); }

LoadJob::~LoadJob() { cancel(); }

void LoadJob::cancel() {
  ++generation_;
  running_ = false;
  thread_ = {};  // asks to stop, and joins
}

// On the object's thread, unless a newer start superseded this one.
template <typename Run>
void LoadJob::tell(std::uint64_t generation, Run run) {
  QMetaObject::invokeMethod(
      this,
      [this, generation, run] {
        if (generation == generation_) run();
      },
      Qt::QueuedConnection);
}

void LoadJob::start(const std::string& path, const std::string& title) {
  cancel();
  running_ = true;
  const std::uint64_t generation = generation_;
  thread_ = std::jthread([this, path, title, generation](std::stop_token stop) {
    TracePtr trace;
    QString error;
    try {
      trace = load_trace(
          {.path = path,
           .title = title,
           .stop = stop,
           .preview = [this, generation](TracePtr first) { tell(generation, [this, first] { Q_EMIT previewed(first); }); },
           .progress = [this, generation](double fraction) { tell(generation, [this, fraction] { Q_EMIT progressed(fraction); }); },
           .last = &last_});
    } catch (const std::exception& problem) { error = qstr(problem.what()); }
    if (stop.stop_requested()) return;
    QMetaObject::invokeMethod(
        this, [this, generation, trace, error] { post(generation, trace, error); }, Qt::QueuedConnection);
  });
}

void LoadJob::post(std::uint64_t generation, TracePtr trace, const QString& error) {
  if (generation != generation_) return;
  running_ = false;
  if (trace)
    Q_EMIT finished(std::move(trace));
  else
    Q_EMIT failed(error);
}

}  // namespace shardlab::gui
