// Follows a run while it goes on: whenever its processes have written something, a fresh trace of it is made and told of.
//
// The folder that the processes record into is read by `shardlab merge --running`, a process of its own: writers are never waited
// for, and nobody is watched while no window is open.
#pragma once

#include <QObject>
#include <QProcess>
#include <QTemporaryDir>
#include <QTimer>

namespace shardlab::gui {

class LiveTrace : public QObject {
  Q_OBJECT

 public:
  // The file in the folder that holds the whole trace once the run has ended.
  static constexpr const char* kWholeTrace = "trace.db";

  explicit LiveTrace(QObject* parent = nullptr);
  ~LiveTrace() override;

  void follow(const QString& folder);
  void stop();
  bool following() const { return !folder_.isEmpty(); }

 Q_SIGNALS:
  void grown(const QString& trace, bool whole);  // `whole`: the run has ended, and nothing is followed any more
  void failed(const QString& message);

 private:
  void look();
  void merged(int code);
  QString signature() const;  // of what the processes have written

  QString folder_, seen_;
  QByteArray told_;  // the hash of what was told last: a run in which nothing happened is not told again
  qint64 merged_at_ms_ = 0;
  int rest_ms_ = 0;  // until the next merge without anything new
  QTemporaryDir made_;
  QProcess merge_;
  QTimer timer_;
};

// The program beside this one that runs and merges: `shardlab`.
QString shardlab_program();

}  // namespace shardlab::gui
