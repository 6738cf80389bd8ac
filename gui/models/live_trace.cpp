#include "gui/models/live_trace.h"

#include <QCoreApplication>
#include <QDateTime>
#include <QDir>
#include <QFileInfo>

#include <algorithm>

namespace shardlab::gui {
namespace {

constexpr int kLookMs = 400;
constexpr int kAgainMs = 3000;  // a process that was killed writes nothing any more: it is looked for
constexpr int kRestFactor = 3;  // a look that took long is repeated less often, so that the run keeps its processors
constexpr int kEndMs = 2000;

}  // namespace

QString shardlab_program() {
  const QString here = QCoreApplication::applicationDirPath();
  const QString beside = here + QStringLiteral("/shardlab");
  return QFileInfo::exists(beside) ? beside : here + QStringLiteral("/../bin/shardlab");  // a test is not beside it
}

LiveTrace::LiveTrace(QObject* parent) : QObject(parent) {
  timer_.setSingleShot(true);
  connect(&timer_, &QTimer::timeout, this, &LiveTrace::look);
  connect(&follower_, &QProcess::readyReadStandardOutput, this, [this] {
    while (follower_.canReadLine()) answer(QString::fromUtf8(follower_.readLine()).trimmed());
  });
  connect(&follower_, &QProcess::finished, this, [this] {
    if (!following()) return;
    const QString said = QString::fromUtf8(follower_.readAllStandardError()).trimmed();
    timer_.start(kAgainMs);
    Q_EMIT failed(said.isEmpty() ? QStringLiteral("%1 ended: a running trace is merged by it.").arg(shardlab_program()) : said);
  });
  connect(&follower_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error != QProcess::FailedToStart || !following()) return;
    timer_.start(kAgainMs);
    Q_EMIT failed(QStringLiteral("%1 cannot be started: a running trace is merged by it.").arg(shardlab_program()));
  });
}

LiveTrace::~LiveTrace() { stop(); }

void LiveTrace::follow(const QString& folder) {
  stop();
  folder_ = folder;
  timer_.start(0);
}

void LiveTrace::stop() {
  folder_.clear();
  seen_.clear();
  told_ = false;
  timer_.stop();
  if (follower_.state() == QProcess::NotRunning) return;
  follower_.kill();
  follower_.waitForFinished(kEndMs);
}

QString LiveTrace::signature() const {
  QString text;
  for (const QFileInfo& file : QDir(folder_).entryInfoList({QStringLiteral("part-*")}, QDir::Files, QDir::Name))
    text += QStringLiteral("%1 %2 %3\n").arg(file.fileName()).arg(file.size()).arg(file.lastModified().toMSecsSinceEpoch());
  return text;
}

void LiveTrace::look() {
  if (!following()) return;
  const QString whole = folder_ + QLatin1Char('/') + QLatin1String(kWholeTrace);
  if (QFileInfo::exists(whole)) {
    stop();
    Q_EMIT grown(whole, true);
    return;
  }
  if (!QFileInfo(folder_).isDir()) {
    const QString gone = QStringLiteral("%1 is gone: the run has ended, and what it recorded was kept elsewhere.").arg(folder_);
    stop();
    Q_EMIT failed(gone);
    return;
  }
  const QString now = signature();
  const qint64 time_ms = QDateTime::currentMSecsSinceEpoch();
  if (now.isEmpty() || (now == seen_ && time_ms < asked_at_ms_ + kAgainMs)) return timer_.start(kLookMs);
  seen_ = now;
  asked_at_ms_ = time_ms;
  ask();
}

void LiveTrace::ask() {
  if (follower_.state() == QProcess::NotRunning)
    follower_.start(shardlab_program(), {QStringLiteral("merge"), folder_, QStringLiteral("--follow"), QStringLiteral("-o"),
                                         made_.filePath(QStringLiteral("live.db"))});
  follower_.write("look\n");
}

void LiveTrace::answer(const QString& line) {
  if (!following()) return;
  took_ms_ = int(QDateTime::currentMSecsSinceEpoch() - asked_at_ms_);
  if (line == QLatin1String("grown")) {
    told_ = true;
    Q_EMIT grown(made_.filePath(QStringLiteral("live.db")), false);
    return;
  }
  timer_.start(std::max(kLookMs, kRestFactor * took_ms_));
  if (line != QLatin1String("same")) Q_EMIT failed(line.section(QLatin1String("failed: "), 1));
}

void LiveTrace::taken() {
  if (!following() || !told_) return;
  told_ = false;
  timer_.start(std::max(kLookMs, kRestFactor * took_ms_));
}

}  // namespace shardlab::gui
