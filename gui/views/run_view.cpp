// A scenario from the window: read it, change a parameter, run it as `shardlab replay` in a child process, watch it
// grow in all views, stop it.
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
#include "gui/models/live_trace.h"
#include "gui/views/theme.h"
#include "gui/views/view_def.h"

namespace shardlab::gui {
namespace {

constexpr int kStopMs = 3000;  // from the polite end to the kill
constexpr int kTickMs = 200;
constexpr int kOutputLinesMax = 2000;

// What the first run offers: four processes on two axes, a network of two layers, its reshardings, a process that comes late, and a
// result that is printed. Each view of the window has something of it to show.
constexpr const char* kExample = R"({
  "shardlab": 1,
  "name": "example",
  "cluster": {"processes": 4, "devices": 2, "run": "spawned"},
  "meshes": {"m": {"shape": [4, 2], "axes": ["a", "b"]}},
  "program": [
    {"let": "x", "op": "ones", "shape": [32, 64]},
    {"let": "x", "op": "device_put", "args": ["x"], "sharding": ["a", null]},
    {"let": "w1", "op": "ones", "shape": [64, 128]},
    {"let": "w1", "op": "device_put", "args": ["w1"], "sharding": [null, "b"]},
    {"let": "w2", "op": "ones", "shape": [128, 64]},
    {"let": "w2", "op": "device_put", "args": ["w2"], "sharding": ["b", null]},
    {"repeat": 6, "body": [
      {"let": "h", "op": "matmul", "args": ["x", "w1"]},
      {"let": "h", "op": "relu", "args": ["h"]},
      {"let": "y", "op": "matmul", "args": ["h", "w2"]},
      {"let": "t", "op": "device_put", "args": ["y"], "sharding": [null, "b"]},
      {"let": "l", "op": "sum", "args": ["t"]},
      {"let": "v", "op": "fetch", "args": ["l"]}
    ]}
  ],
  "faults": [
    {"at": "/program/6/body/2", "iteration": 2, "processes": [3], "do": {"delay_ms": 400}},
    {"at": "/program/6/body/4", "iteration": 4, "processes": [1], "do": {"delay_ms": 700}}
  ],
  "expect": [{"array": "y", "shape": [32, 64]}]
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
    auto* example = new QPushButton(QStringLiteral("Example"), this);
    example->setObjectName(QStringLiteral("example"));
    example->setToolTip(QStringLiteral("Put the example back and run it"));
    run_->setToolTip(QStringLiteral("Run it, and watch it in all views while it runs"));
    stop_ = new QPushButton(QStringLiteral("Stop"), this);
    stop_->setEnabled(false);
    note_ = new QLabel(QStringLiteral("An example. Change anything, then run it."), this);
    note_->setTextFormat(Qt::PlainText);
    note_->setWordWrap(true);
    note_->setContentsMargins(8, 0, 8, 5);
    auto* bar = new QHBoxLayout;
    bar->setContentsMargins(8, 5, 8, 5);
    bar->setSpacing(6);
    bar->addWidget(choose);
    bar->addWidget(example);
    bar->addWidget(new QLabel(QStringLiteral("processes"), this));
    bar->addWidget(processes_);
    bar->addWidget(new QLabel(QStringLiteral("devices each"), this));
    bar->addWidget(devices_);
    bar->addWidget(run_);
    bar->addWidget(stop_);
    bar->addStretch(1);
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
    layout->addWidget(note_);
    layout->addWidget(split, 1);
    setFocusProxy(document_);
    show_cluster();
    connect(choose, &QPushButton::clicked, this, [this] {
      const QString path =
          QFileDialog::getOpenFileName(this, QStringLiteral("Choose a scenario"), {}, QStringLiteral("Scenarios (*.json)"));
      if (!path.isEmpty()) read(path);
    });
    connect(example, &QPushButton::clicked, this, [this] {
      document_->setPlainText(QString::fromUtf8(kExample));
      start();
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
    connect(&timer_, &QTimer::timeout, this, [this] {
      note_->setText(QStringLiteral("Running for %1 …").arg(duration_text(clock_.nsecsElapsed())));
      watch();
    });
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
    parts_ = folder_->filePath(QStringLiteral("run %1").arg(++runs_));
    watched_ = false;
    output_->clear();
    run_->setEnabled(false);
    stop_->setEnabled(true);
    clock_.start();
    timer_.start();
    process_->start(shardlab_program(), {QStringLiteral("replay"), scenario, QStringLiteral("--parts"), parts_});
  }

  // The window follows the run as soon as one of its processes has recorded anything.
  void watch() {
    if (watched_ || !open_ || QDir(parts_).entryList({QStringLiteral("part-*.db"), QString::fromUtf8(LiveTrace::kWholeTrace)}).isEmpty())
      return;
    watched_ = true;
    open_(parts_);
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
    note_->setText(crashed      ? QStringLiteral("Stopped after %1.").arg(took)
                   : code == -1 ? QStringLiteral("`shardlab` could not be started beside this program.")
                   : code == 0  ? QStringLiteral("Passed in %1.").arg(took)
                                : QStringLiteral("Ended with code %1 after %2: see what it printed.").arg(code).arg(took));
    watch();
  }

  std::function<void(const QString&)> open_;
  QProcess* process_;
  QSpinBox *processes_, *devices_;
  QPushButton *run_, *stop_;
  QLabel* note_;
  QPlainTextEdit *document_, *output_;
  std::unique_ptr<QTemporaryDir> folder_;
  QString parts_;         // where the run records
  bool watched_ = false;  // the window follows it
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
