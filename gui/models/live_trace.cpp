#include "gui/models/live_trace.h"

#include <QCoreApplication>
#include <QCryptographicHash>
#include <QDateTime>
#include <QDir>
#include <QFile>
#include <QFileInfo>

#include <algorithm>

namespace shardlab::gui {
namespace {

constexpr int kLookMs = 400;
constexpr int kAgainMs = 3000;  // a process that was killed writes nothing any more: it is looked for
constexpr int kRestFactor = 3;  // a merge that took long is repeated less often, so that the run keeps its processors
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
  connect(&merge_, &QProcess::finished, this,
          [this](int code, QProcess::ExitStatus status) { merged(status == QProcess::CrashExit ? -1 : code); });
  connect(&merge_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart) merged(-1);
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
  told_.clear();
  timer_.stop();
  if (merge_.state() == QProcess::NotRunning) return;
  merge_.kill();
  merge_.waitForFinished(kEndMs);
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
  if (now.isEmpty() || (now == seen_ && time_ms < merged_at_ms_ + rest_ms_)) return timer_.start(kLookMs);
  seen_ = now;
  merged_at_ms_ = time_ms;
  merge_.start(shardlab_program(), {QStringLiteral("merge"), folder_, QStringLiteral("--running"), QStringLiteral("-o"),
                                    made_.filePath(QStringLiteral("live.db"))});
}

void LiveTrace::merged(int code) {
  if (!following()) return;
  const auto took = int(QDateTime::currentMSecsSinceEpoch() - merged_at_ms_);
  timer_.start(std::max(kLookMs, kRestFactor * took));
  rest_ms_ = std::max(kAgainMs, kRestFactor * kRestFactor * took);
  if (code == 0) {
    QFile file(made_.filePath(QStringLiteral("live.db")));
    QCryptographicHash hash(QCryptographicHash::Md5);
    if (!file.open(QIODevice::ReadOnly) || !hash.addData(&file) || hash.result() == told_) return;
    told_ = hash.result();
    Q_EMIT grown(file.fileName(), false);
    return;
  }
  const QString said = QString::fromUtf8(merge_.readAllStandardError()).trimmed();
  Q_EMIT failed(said.isEmpty() ? QStringLiteral("%1 cannot be started: a running trace is merged by it.").arg(shardlab_program()) : said);
}

}  // namespace shardlab::gui
