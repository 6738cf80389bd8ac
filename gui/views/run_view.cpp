// A scenario from the window: read it, change a parameter, run it as `shardlab replay` in a child process, watch it, stop it.
#include <QCoreApplication>
#include <QDir>
#include <QElapsedTimer>
#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QPlainTextEdit>
#include <QProcess>
#include <QPushButton>
#include <QRegularExpression>
#include <QSpinBox>
#include <QSplitter>
#include <QTemporaryDir>
#include <QTimer>
#include <QVBoxLayout>

#include "gui/models/format.h"
#include "gui/views/theme.h"
#include "gui/views/view_def.h"

namespace shardlab::gui {
namespace {

constexpr int kStopMs = 3000;  // from the polite end to the kill
constexpr int kTickMs = 200;
constexpr int kOutputLinesMax = 2000;

// What the first run offers: the smallest program that communicates.
constexpr const char* kExample = R"({
  "shardlab": 1,
  "name": "example",
  "cluster": {"processes": 2, "devices": 4},
  "meshes": {"m": {"shape": [4, 2], "axes": ["a", "b"]}},
  "program": [
    {"let": "x", "op": "ones", "shape": [8, 16]},
    {"let": "x", "op": "device_put", "args": ["x"], "sharding": ["a", "b"]},
    {"let": "w", "op": "ones", "shape": [16, 8]},
    {"let": "w", "op": "device_put", "args": ["w"], "sharding": ["b", null]},
    {"let": "y", "op": "matmul", "args": ["x", "w"]},
    {"let": "y", "op": "relu", "args": ["y"]}
  ],
  "expect": [{"array": "y", "shape": [8, 8]}]
}
)";

class RunView : public QWidget {
 public:
  explicit RunView(ViewContext& context) : open_(context.open_trace), process_(new QProcess(this)) {
    auto* choose = new QPushButton(QStringLiteral("Scenario …"), this);
    choose->setToolTip(QStringLiteral("Choose a scenario document; scenarios/corpus has some"));
    processes_ = spin(QStringLiteral("Processes"), QStringLiteral("cluster.processes of the document"));
    devices_ = spin(QStringLiteral("Devices of each"), QStringLiteral("cluster.devices: virtual devices of each process"));
    run_ = new QPushButton(QStringLiteral("Run"), this);
    run_->setToolTip(QStringLiteral("Run it and open its trace"));
    stop_ = new QPushButton(QStringLiteral("Stop"), this);
    stop_->setEnabled(false);
    note_ = new QLabel(QStringLiteral("An example. Change anything, then run it."), this);
    note_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    auto* bar = new QHBoxLayout;
    bar->setContentsMargins(8, 5, 8, 5);
    bar->setSpacing(6);
    bar->addWidget(choose);
    bar->addWidget(new QLabel(QStringLiteral("processes"), this));
    bar->addWidget(processes_);
    bar->addWidget(new QLabel(QStringLiteral("devices each"), this));
    bar->addWidget(devices_);
    bar->addWidget(run_);
    bar->addWidget(stop_);
    bar->addWidget(note_, 1);
    document_ = new QPlainTextEdit(QString::fromUtf8(kExample), this);
    document_->setAccessibleName(QStringLiteral("Scenario"));
    document_->setTabChangesFocus(true);
    output_ = new QPlainTextEdit(this);
    output_->setAccessibleName(QStringLiteral("What the run prints"));
    output_->setPlaceholderText(QStringLiteral("What the run prints appears here."));
    output_->setReadOnly(true);
    output_->setMaximumBlockCount(kOutputLinesMax);
    QFont mono(QStringLiteral("DejaVu Sans Mono"));
    mono.setPixelSize(12);
    for (auto* each : {document_, output_}) {
      each->setFont(mono);
      each->setLineWrapMode(QPlainTextEdit::NoWrap);
    }
    auto* split = new QSplitter(Qt::Horizontal, this);
    split->addWidget(document_);
    split->addWidget(output_);
    split->setSizes({560, 400});
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addLayout(bar);
    layout->addWidget(split, 1);
    setFocusProxy(document_);
    show_cluster();
    connect(choose, &QPushButton::clicked, this, [this] {
      const QString path =
          QFileDialog::getOpenFileName(this, QStringLiteral("Choose a scenario"), {}, QStringLiteral("Scenarios (*.json)"));
      if (!path.isEmpty()) read(path);
    });
    connect(run_, &QPushButton::clicked, this, [this] { start(); });
    connect(stop_, &QPushButton::clicked, this, [this] { stop(); });
    for (auto* each : {processes_, devices_}) connect(each, &QSpinBox::valueChanged, this, [this] { write_cluster(); });
    connect(document_, &QPlainTextEdit::textChanged, this, [this] { show_cluster(); });
    process_->setProcessChannelMode(QProcess::MergedChannels);
    connect(process_, &QProcess::readyRead, this, [this] { output_->appendPlainText(QString::fromUtf8(process_->readAll()).trimmed()); });
    connect(process_, &QProcess::finished, this,
            [this](int code, QProcess::ExitStatus status) { ended(code, status == QProcess::CrashExit); });
    connect(process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
      if (error == QProcess::FailedToStart) ended(-1, false);
    });
    timer_.setInterval(kTickMs);
    connect(&timer_, &QTimer::timeout, this,
            [this] { note_->setText(QStringLiteral("Running for %1 …").arg(duration_text(clock_.nsecsElapsed()))); });
  }
  ~RunView() override {
    process_->disconnect(this);
    if (process_->state() == QProcess::NotRunning) return;
    process_->terminate();
    if (!process_->waitForFinished(kStopMs)) process_->kill();
    process_->waitForFinished(kStopMs);
  }

 private:
  QSpinBox* spin(const QString& name, const QString& tip) {
    auto* box = new QSpinBox(this);
    box->setRange(1, 512);
    box->setAccessibleName(name);
    box->setToolTip(tip);
    return box;
  }

  void read(const QString& path) {
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly)) return note_->setText(QStringLiteral("Cannot read %1: %2").arg(path, file.errorString()));
    document_->setPlainText(QString::fromUtf8(file.readAll()));
    note_->setText(QFileInfo(path).fileName());
  }

  // The numbers beside the document follow it, and it follows them.
  void show_cluster() {
    const QJsonObject cluster = QJsonDocument::fromJson(document_->toPlainText().toUtf8()).object()[QStringLiteral("cluster")].toObject();
    for (const auto& [box, key] : {std::pair(processes_, "processes"), std::pair(devices_, "devices")}) {
      const QSignalBlocker blocked(box);
      box->setEnabled(cluster[QLatin1String(key)].isDouble());
      box->setValue(cluster[QLatin1String(key)].toInt(1));
    }
  }
  void write_cluster() {
    QString text = document_->toPlainText();
    for (const auto& [box, key] : {std::pair(processes_, "processes"), std::pair(devices_, "devices")}) {
      // In place, so that the document keeps its shape.
      static const QString kPattern = QStringLiteral("(\"cluster\"\\s*:\\s*\\{[^}]*\"%1\"\\s*:\\s*)\\d+");
      text.replace(QRegularExpression(kPattern.arg(QLatin1String(key))), QStringLiteral("\\1%1").arg(box->value()));
    }
    const QSignalBlocker blocked(document_);
    document_->setPlainText(text);
  }

  void start() {
    if (process_->state() != QProcess::NotRunning) return;
    folder_ = std::make_unique<QTemporaryDir>();
    const QString scenario = folder_->filePath(QStringLiteral("scenario.json"));
    QFile file(scenario);
    if (!file.open(QIODevice::WriteOnly) || file.write(document_->toPlainText().toUtf8()) < 0)
      return note_->setText(QStringLiteral("Cannot write %1: %2").arg(scenario, file.errorString()));
    file.close();
    trace_ = folder_->filePath(QStringLiteral("run%1.db").arg(++runs_));
    output_->clear();
    run_->setEnabled(false);
    stop_->setEnabled(true);
    clock_.start();
    timer_.start();
    process_->start(QCoreApplication::applicationDirPath() + QStringLiteral("/shardlab"),
                    {QStringLiteral("replay"), scenario, QStringLiteral("--trace"), trace_});
  }

  void stop() {
    process_->terminate();
    QTimer::singleShot(kStopMs, process_, [this] {
      if (process_->state() != QProcess::NotRunning) process_->kill();
    });
  }

  void ended(int code, bool crashed) {
    timer_.stop();
    run_->setEnabled(true);
    stop_->setEnabled(false);
    const QString took = duration_text(clock_.nsecsElapsed());
    const bool traced = QFileInfo::exists(trace_);
    note_->setText(crashed      ? QStringLiteral("Stopped after %1.").arg(took)
                   : code == -1 ? QStringLiteral("`shardlab` could not be started beside this program.")
                   : code == 0  ? QStringLiteral("Passed in %1.").arg(took)
                                : QStringLiteral("Ended with code %1 after %2: see what it printed.").arg(code).arg(took));
    if (traced && open_) open_(trace_);
  }

  std::function<void(const QString&)> open_;
  QProcess* process_;
  QSpinBox *processes_, *devices_;
  QPushButton *run_, *stop_;
  QLabel* note_;
  QPlainTextEdit *document_, *output_;
  std::unique_ptr<QTemporaryDir> folder_;
  QString trace_;
  QElapsedTimer clock_;
  QTimer timer_;
  int runs_ = 0;
};

QWidget* make_run(ViewContext& context) { return new RunView(context); }
QString text(const Selection&) { return QStringLiteral("run a scenario from here\n"); }

}  // namespace

const ViewDef kRunView{
    .id = "run",
    .title = "Run",
    .key = "Ctrl+R",
    .doc = "Run a scenario from the window, change its parameters, watch it, stop it, run it again",
    .area = ViewArea::kBottomRight,
    .make = make_run,
    .text = text,
    .in_report = false,
};

}  // namespace shardlab::gui
