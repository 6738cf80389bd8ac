// Loads a trace on a thread of its own and reports on the object's thread.
//
// Of a trace that grows each load reads what came since the one before. A second `start` supersedes the first: its results, should they
// still come, are dropped. The destructor stops and joins.
#pragma once

#include <QObject>

#include <string>
#include <thread>

#include "gui/models/trace_loader.h"

namespace shardlab::gui {

class LoadJob : public QObject {
  Q_OBJECT

 public:
  explicit LoadJob(QObject* parent = nullptr);
  ~LoadJob() override;

  void start(const std::string& path, const std::string& title = {});
  void cancel();
  bool running() const { return running_; }

 Q_SIGNALS:
  void previewed(shardlab::gui::TracePtr trace);
  void progressed(double fraction);
  void finished(shardlab::gui::TracePtr trace);
  void failed(const QString& message);

 private:
  template <typename Run>
  void tell(std::uint64_t generation, Run run);
  void post(std::uint64_t generation, TracePtr trace, const QString& error);

  LastLoad last_;  // the thread's
  std::jthread thread_;
  std::uint64_t generation_ = 0;  // of the newest start; read and written on the object's thread alone
  bool running_ = false;
};

}  // namespace shardlab::gui
