// Measures the window over one trace: time to the first picture, to the complete one, frames of a scripted zoom and pan.
#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QString>

#include <functional>
#include <vector>

#include "gui/app/main_window.h"

namespace shardlab::gui {

// A field of /proc/self/status in bytes ("VmRSS:"), 0 where there is none.
qint64 process_memory(const char* field);

// Starts with the opening of the trace; writes its JSON and tells `done` when the script has ended.
class Bench : public QObject {
  Q_OBJECT

 public:
  Bench(MainWindow& window, QString out);
  void start(const QString& trace);

 Q_SIGNALS:
  void done(const QString& problem);  // empty: written

 private:
  void run_script();
  void frame(const char* what, double factor, double pan);
  void frame(const char* what, const std::function<void()>& deed);
  void until_sharp(double factor, double pan);
  void run_looks();
  void settle(const char* what);
  void write();

  struct Frame {
    const char* what;
    double ms, cpu_ms;
  };
  MainWindow& window_;
  QString out_;
  QElapsedTimer clock_;
  double first_ms_ = -1, read_ms_ = -1, complete_ms_ = -1, start_cpu_ms_ = 0, complete_cpu_ms_ = 0;
  std::vector<Frame> frames_;
  std::vector<double> sharp_ms_;
};

}  // namespace shardlab::gui
