// Follows a run while it goes on: whenever its processes have written something, a fresh trace of it is made and told of.
//
// The folder that the processes record into is read by `shardlab merge --follow`, a process of its own that goes on from where it stopped:
// writers are never waited for, and nobody is watched while no window is open. The trace changes in place, so the next look waits until
// the last one has been taken.
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
  void taken();  // what `grown` told of last has been read

 Q_SIGNALS:
  void grown(const QString& trace, bool whole);  // `whole`: the run has ended, and nothing is followed any more
  void failed(const QString& message);

 private:
  void look();
  void ask();
  void answer(const QString& line);
  QString signature() const;  // of what the processes have written

  QString folder_, seen_;
  qint64 asked_at_ms_ = 0;
  int took_ms_ = 0;
  bool told_ = false;  // and not taken yet
  QTemporaryDir made_;
  QProcess follower_;
  QTimer timer_;
};

// The program beside this one that runs and merges: `shardlab`.
QString shardlab_program();

}  // namespace shardlab::gui
