#include "gui/models/load_job.h"

#include "gui/models/format.h"
#include "gui/models/trace_loader.h"

namespace shardlab::gui {

LoadJob::LoadJob(QObject* parent) : QObject(parent) { qRegisterMetaType<TracePtr>(); }

LoadJob::~LoadJob() { cancel(); }

void LoadJob::cancel() {
  ++generation_;
  running_ = false;
  thread_ = {};  // asks to stop, and joins
}

void LoadJob::start(const std::string& path) {
  cancel();
  running_ = true;
  const std::uint64_t generation = generation_;
  thread_ = std::jthread([this, path, generation](std::stop_token stop) {
    TracePtr trace;
    QString error;
    try {
      trace = load_trace({.path = path, .stop = stop, .progress = [this, generation](double fraction) {
                            QMetaObject::invokeMethod(
                                this,
                                [this, generation, fraction] {
                                  if (generation == generation_) Q_EMIT progressed(fraction);
                                },
                                Qt::QueuedConnection);
                          }});
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
