#include "gui/app/main_window.h"

#include <QAbstractEventDispatcher>
#include <QAction>
#include <QApplication>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenuBar>
#include <QStatusBar>
#include <QStyleFactory>
#include <QThread>
#include <QTimer>
#include <QToolBar>

#include "gui/models/format.h"
#include "gui/views/theme.h"

namespace shardlab::gui {

void apply_style(bool dark) {
  const Theme& theme = dark ? dark_theme() : light_theme();
  QFont font(QStringLiteral("DejaVu Sans"));
  font.setPixelSize(12);
  font.setHintingPreference(QFont::PreferFullHinting);
  QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
  QApplication::setFont(font);
  QApplication::setPalette(theme.palette());
  qApp->setStyleSheet(theme.style_sheet());
  QLocale::setDefault(QLocale::c());
}

bool system_is_dark() { return QApplication::palette().color(QPalette::Window).lightness() < 128; }

MainWindow::MainWindow(const Options& options)
    : options_(options), banner_(new VerdictBanner(selection_, this)), status_(new QLabel(this)) {
  setWindowTitle(QStringLiteral("shardlab"));
  setDockOptions(QMainWindow::AllowNestedDocks | QMainWindow::AllowTabbedDocks);
  setTabPosition(Qt::AllDockWidgetAreas, QTabWidget::North);
  auto* bar = addToolBar(QStringLiteral("Verdict"));
  bar->setObjectName(QStringLiteral("verdict"));
  bar->setMovable(false);
  bar->setFloatable(false);
  bar->toggleViewAction()->setEnabled(false);
  bar->setContextMenuPolicy(Qt::PreventContextMenu);
  bar->setStyleSheet(QStringLiteral("QToolBar { border: 0; padding: 0; margin: 0; spacing: 0; }"));
  bar->addWidget(banner_);
  make_views();
  make_menus();
  make_status();
  connect(&job_, &LoadJob::progressed, this, [this](double fraction) { banner_->show_loading(options_.trace, fraction); });
  connect(&job_, &LoadJob::finished, this, &MainWindow::show_trace);
  connect(&job_, &LoadJob::failed, this, [this](const QString& message) {
    banner_->show_failure(message);
    Q_EMIT load_failed(message);
  });
  watch_idle();
  resize(options.size);
}

void MainWindow::make_views() {
  ViewContext context{selection_};
  std::map<ViewArea, QDockWidget*> first;
  for (const ViewDef* def : all_views()) {
    QWidget* view = def->make(context);
    views_[def->id] = view;
    if (def->area == ViewArea::kCentre) {
      setCentralWidget(view);
      continue;
    }
    auto* dock = new QDockWidget(QString::fromUtf8(def->title), this);
    dock->setObjectName(qstr(def->id));
    dock->setToolTip(QString::fromUtf8(def->doc));
    dock->setWidget(view);
    docks_[def->id] = dock;
    const Qt::DockWidgetArea area = def->area == ViewArea::kLeft    ? Qt::LeftDockWidgetArea
                                    : def->area == ViewArea::kRight ? Qt::RightDockWidgetArea
                                                                    : Qt::BottomDockWidgetArea;
    QDockWidget*& before = first[def->area];
    if (def->area == ViewArea::kBottomRight) dock->setTitleBarWidget(new QWidget(dock));  // their tabs name them
    if (before) {
      tabifyDockWidget(before, dock);
      continue;
    }
    before = dock;
    addDockWidget(area, dock);
    if (def->area == ViewArea::kBottomRight && first[ViewArea::kBottom]) splitDockWidget(first[ViewArea::kBottom], dock, Qt::Horizontal);
  }
}

void MainWindow::make_menus() {
  std::map<QString, QMenu*> menus;
  for (const char* title : {"&File", "&Go", "&View", "&Window", "&Help"})
    menus[QString::fromUtf8(title)] = menuBar()->addMenu(QString::fromUtf8(title));
  const auto add = [&](const QString& menu, const QString& title, const QString& key, const QString& doc, auto run) {
    QAction* action = menus[menu]->addAction(title);
    action->setShortcut(QKeySequence(key));
    action->setStatusTip(doc);
    connect(action, &QAction::triggered, this, run);
  };
  for (const auto& def : all_actions())
    add(QString::fromUtf8(def.menu), QString::fromUtf8(def.title), QString::fromUtf8(def.key), QString::fromUtf8(def.doc),
        [this, run = def.run] { run(*this); });
  for (const ViewDef* def : all_views())
    add(QStringLiteral("&View"), QString::fromUtf8(def->title), QString::fromUtf8(def->key), QString::fromUtf8(def->doc),
        [this, def] { show_view(def->id); });
  for (const auto& def : all_perspectives())
    add(QStringLiteral("&Window"), QString::fromUtf8(def.title), QString::fromUtf8(def.key), QString::fromUtf8(def.doc),
        [this, &def] { apply(def); });
}

void MainWindow::make_status() {
  statusBar()->addWidget(status_, 1);
  statusBar()->setSizeGripEnabled(false);
  const auto refresh = [this] {
    const TracePtr& trace = selection_.trace();
    if (!trace) return status_->setText(QStringLiteral("No trace. Open one with Ctrl+O."));
    const SelectionState& state = selection_.state();
    QStringList parts;
    if (state.array >= 0) parts << QStringLiteral("array ") + qstr(trace->arrays[std::size_t(state.array)].display_name());
    if (state.collective >= 0) parts << QStringLiteral("collective #%1").arg(state.collective);
    if (state.process >= 0) parts << QStringLiteral("process %1").arg(state.process);
    if (state.device >= 0) parts << QStringLiteral("device %1").arg(state.device);
    const auto devices = selection_.devices();
    if (state.device < 0 && !devices.empty()) parts << QStringLiteral("devices ") + set_text(devices, 40);
    QString text = QStringLiteral("Selected: ") + parts.join(QStringLiteral(" · "));
    if (parts.isEmpty()) text = count_text(std::int64_t(trace->event_count()), "event", "events");
    QStringList notices;
    for (const auto& notice : trace->notices) notices << qstr(notice.text);
    if (!notices.isEmpty())
      text += QStringLiteral("   ⚠ ") + count_text(notices.size(), "notice", "notices") + QStringLiteral(" on what is missing");
    status_->setText(QFontMetrics(status_->font()).elidedText(text, Qt::ElideRight, std::max(width() - 40, 200)));
    status_->setToolTip(notices.join(QLatin1Char('\n')));
  };
  connect(&selection_, &Selection::changed, this, refresh);
  refresh();
}

QWidget* MainWindow::widget_of(std::string_view id) const {
  const auto dock = docks_.find(id);
  return dock != docks_.end() ? dock->second : views_.at(id);
}

void MainWindow::show_view(std::string_view id) {
  widget_of(id)->show();
  widget_of(id)->raise();
  views_.at(id)->setFocus(Qt::ShortcutFocusReason);
}

void MainWindow::show_only(std::string_view id) {
  for (const ViewDef* def : all_views()) widget_of(def->id)->setVisible(def->id == id);
  if (const auto dock = docks_.find(id); dock != docks_.end()) dock->second->setTitleBarWidget(new QWidget(dock->second));
}

void MainWindow::apply(const PerspectiveDef& def) {
  for (const ViewDef* view : all_views()) {
    const bool hidden = (view->area == ViewArea::kLeft && def.left_px == 0) || (view->area == ViewArea::kRight && def.right_px == 0);
    widget_of(view->id)->setVisible(!hidden);
  }
  QDockWidget *left = nullptr, *right = nullptr, *bottom = nullptr, *bottom_right = docks_.at(def.front);
  for (const ViewDef* view : all_views()) {
    if (view->area == ViewArea::kLeft) left = docks_.at(view->id);
    if (view->area == ViewArea::kRight) right = docks_.at(view->id);
    if (view->area == ViewArea::kBottom) bottom = docks_.at(view->id);
  }
  bottom_right->raise();
  resizeDocks({left, right}, {std::max(def.left_px, 1), std::max(def.right_px, 1)}, Qt::Horizontal);
  resizeDocks({bottom, bottom_right}, {int(width() * def.bottom_left_share), int(width() * (1 - def.bottom_left_share))}, Qt::Horizontal);
  resizeDocks({bottom}, {int((height() - 120) * def.bottom_share)}, Qt::Vertical);
}

void MainWindow::open(const QString& path) {
  options_.trace = path;
  setWindowTitle(QFileInfo(path).fileName() + QStringLiteral(" – shardlab"));
  banner_->show_loading(path, 0);
  idle_told_ = false;
  job_.start(path.toStdString());
}

void MainWindow::show_trace(TracePtr trace) {
  idle_told_ = false;
  selection_.set_trace(std::move(trace));
  if (options_.view.isEmpty())
    apply(perspective(banner_->verdict().perspective.toStdString()));
  else
    show_only(options_.view.toStdString());
  Q_EMIT trace_shown();
}

void MainWindow::step_problem(int direction) {
  const TracePtr& trace = selection_.trace();
  if (!trace || trace->diagnoses.empty()) return;
  const int count = int(trace->diagnoses.size());
  const int now = selection_.state().diagnosis;
  selection_.select_diagnosis(now < 0 ? (direction > 0 ? 0 : count - 1) : (now + direction + count) % count);
  show_view(kDiagnosesView.id);
}

void MainWindow::toggle_theme() { apply_style(!theme_of(this).dark); }

void MainWindow::choose_and_open() {
  const QString path = QFileDialog::getOpenFileName(this, QStringLiteral("Open a trace"), QFileInfo(options_.trace).path(),
                                                    QStringLiteral("Traces (*.db);;All files (*)"));
  if (!path.isEmpty()) open(path);
}

void MainWindow::watch_idle() {
  // The dispatcher blocks only when no event is left: every layout and paint that was asked for is done.
  connect(QAbstractEventDispatcher::instance(QThread::currentThread()), &QAbstractEventDispatcher::aboutToBlock, this, [this] {
    if (idle_told_ || job_.running() || !isVisible()) return;
    idle_told_ = true;
    Q_EMIT idle();
  });
}

}  // namespace shardlab::gui
