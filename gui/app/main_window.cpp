#include "gui/app/main_window.h"

#include <QAbstractEventDispatcher>
#include <QAction>
#include <QApplication>
#include <QFileDialog>
#include <QFileInfo>
#include <QFontDatabase>
#include <QLayout>
#include <QMenuBar>
#include <QStatusBar>
#include <QThread>
#include <QToolBar>
#include <QToolTip>

#include "gui/app/key_map.h"
#include "gui/app/screenshot.h"
#include "gui/app/sheet.h"
#include "gui/models/format.h"
#include "gui/views/diagram_access.h"
#include "gui/views/flat_style.h"
#include "gui/views/theme.h"
#include "gui/views/timeline_canvas.h"
#include "gui/views/when_seen.h"

// A library's resources are known only when they are asked for; the macro wants no namespace around it.
static void add_fonts() {
  Q_INIT_RESOURCE(fonts);
  for (const char* name : {"DejaVuSans.ttf", "DejaVuSans-Bold.ttf", "DejaVuSansMono.ttf"})
    QFontDatabase::addApplicationFont(QStringLiteral(":/fonts/") + QString::fromUtf8(name));
}

namespace shardlab::gui {

namespace {

// What both themes share, once a program: every widget is polished anew by it.
bool set_style() {
  add_fonts();
  QFont font(QStringLiteral("DejaVu Sans"));
  font.setPixelSize(12);
  font.setHintingPreference(QFont::PreferFullHinting);
  QApplication::setStyle(new FlatStyle);
  QApplication::setFont(font);
  QLocale::setDefault(QLocale::c());
  return true;
}

}  // namespace

void apply_style(bool dark) {
  static const bool once = set_style();
  Q_UNUSED(once)
  const Theme& theme = dark ? dark_theme() : light_theme();
  QApplication::setPalette(theme.palette());
  QToolTip::setPalette(theme.palette());
}

bool system_is_dark() { return QApplication::palette().color(QPalette::Window).lightness() < 128; }

MainWindow::MainWindow(const Options& options)
    : options_(options), banner_(new VerdictBanner(selection_, this)), status_(new QLabel(this)) {
  install_diagram_access();  // before the views: an interface that was asked for once stays what it was
  setWindowTitle(QStringLiteral("shardlab"));
  setDockOptions(QMainWindow::AllowNestedDocks | QMainWindow::AllowTabbedDocks);
  setTabPosition(Qt::AllDockWidgetAreas, QTabWidget::North);
  auto* bar = addToolBar(QStringLiteral("Verdict"));
  bar->setObjectName(QStringLiteral("verdict"));
  bar->setMovable(false);
  bar->setFloatable(false);
  bar->toggleViewAction()->setEnabled(false);
  bar->setContextMenuPolicy(Qt::PreventContextMenu);
  bar->layout()->setContentsMargins(4, 4, 4, 4);
  bar->addWidget(banner_);
  make_views();
  make_menus();
  make_status();
  connect(&job_, &LoadJob::progressed, this, [this](double fraction) {
    if (!again_) banner_->show_loading(options_.trace, fraction);
  });
  connect(&job_, &LoadJob::previewed, this, [this](const TracePtr& trace) {
    if (!again_) show_trace(trace);
  });
  connect(&job_, &LoadJob::finished, this, [this](const TracePtr& trace) {
    live_.taken();
    again_ ? show_again(trace) : show_trace(trace);
  });
  connect(&job_, &LoadJob::failed, this, [this](const QString& message) {
    live_.taken();
    if (live_.following()) return;  // the next look may find it whole
    banner_->show_failure(message);
    Q_EMIT load_failed(message);
  });
  watch_idle();
  watch_file();
  watch_run();
  setAcceptDrops(true);
  if (!options.compare.isEmpty()) compare_with(views_.at("compare"), options.compare);
  resize(options.size);
}

// The views and dialogs go first: they give back what they have running in the background.
MainWindow::~MainWindow() {
  delete keys_;
  delete palette_dialog_;
  for (const auto& [id, dock] : docks_) delete dock;
  delete takeCentralWidget();
}

void MainWindow::make_views() {
  ViewContext context{selection_,
                      background_,
                      [this](const QString& path) { open(path); },
                      [this](std::string_view id) { show_view(id); },
                      [this](TimeRange window) { timeline().set_window(window); },
                      [this](TimelineRequest what) { answer(what); },
                      [this](const QString& filter) {
                        show_view("events");
                        filter_events(views_.at("events"), filter);
                      }};
  std::map<ViewArea, QDockWidget*> first;
  for (const ViewDef* def : all_views()) {
    QWidget* view = def->make(context);
    views_[def->id] = view;
    // Of views that share an area as tabs the widest would rule the whole window.
    constexpr QSize kLeast(160, 100);
    view->setMinimumSize(kLeast);
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
    if (def->area == ViewArea::kBottomRight || def->area == ViewArea::kBottom)
      dock->setTitleBarWidget(new QWidget(dock));  // their tabs name them
    if (first[def->area]) continue;
    first[def->area] = dock;
    addDockWidget(area, dock);
    if (def->area == ViewArea::kBottomRight && first[ViewArea::kBottom]) splitDockWidget(first[ViewArea::kBottom], dock, Qt::Horizontal);
  }
  // Tabs last: an area that has tabs cannot be split any more.
  for (const ViewDef* def : all_views()) {
    const auto dock = docks_.find(def->id);
    if (dock == docks_.end() || dock->second == first[def->area]) continue;
    tabifyDockWidget(first[def->area], dock->second);
  }
}

TimelineCanvas& MainWindow::timeline() const { return *views_.at("timeline")->findChild<TimelineCanvas*>(); }

void MainWindow::answer(TimelineRequest what) {
  switch (what) {
    case TimelineRequest::kPalette:
      return show_palette();
    case TimelineRequest::kKeys:
      return show_keys();
    case TimelineRequest::kExplainWait:
      return show_view(kWaitsView.id);
    case TimelineRequest::kSearch:
      return show_view(kEventsView.id);
    case TimelineRequest::kCompare:
      return show_view(kCompareView.id);
    case TimelineRequest::kPlay:
      show_view(kWaitsView.id);
      return play_waits(views_.at(kWaitsView.id));
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
    menu_actions_ << action;
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
  apply_keys();
}

// The actions lie in the order of all_keys().
void MainWindow::apply_keys() {
  const auto entries = all_keys();
  for (qsizetype i = 0; i < menu_actions_.size() && std::size_t(i) < entries.size(); ++i)
    menu_actions_[i]->setShortcut(key_of(entries[std::size_t(i)].id, entries[std::size_t(i)].fallback));
  // Asked of the settings once: each key that is pressed is held against all of them.
  auto keys = std::make_shared<std::map<const TimelineKeyDef*, QKeySequence>>();
  for (const auto& def : timeline_keys())
    (*keys)[&def] = gui::key_of(QStringLiteral("timeline-") + QString::fromUtf8(def.key), QKeySequence(QString::fromUtf8(def.key)));
  for (auto* canvas : findChildren<TimelineCanvas*>()) canvas->key_of = [keys](const TimelineKeyDef& def) { return keys->at(&def); };
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

// For pictures: nothing comes back from it.
void MainWindow::show_sheet() {
  if (sheet_) return;
  sheet_ = true;
  takeCentralWidget();
  for (const auto& [id, dock] : docks_) dock->hide();
  setCentralWidget(make_sheet(views_, this));
}

void MainWindow::apply(const PerspectiveDef& def) {
  perspective_ = qstr(def.id);
  for (const ViewDef* view : all_views()) {
    const bool hidden = (view->area == ViewArea::kLeft && def.left_px == 0) || (view->area == ViewArea::kRight && def.right_px == 0);
    widget_of(view->id)->setVisible(!hidden);
  }
  QDockWidget *left = nullptr, *right = nullptr, *bottom = nullptr, *bottom_right = docks_.at(def.front);
  for (const ViewDef* view : all_views()) {
    if (view->area == ViewArea::kLeft) left = docks_.at(view->id);
    if (view->area == ViewArea::kRight) right = docks_.at(view->id);
    if (view->area == ViewArea::kBottom && !bottom) bottom = docks_.at(view->id);
  }
  bottom->raise();
  bottom_right->raise();
  resizeDocks({left, right}, {std::max(def.left_px, 1), std::max(def.right_px, 1)}, Qt::Horizontal);
  resizeDocks({bottom, bottom_right}, {int(width() * def.bottom_left_share), int(width() * (1 - def.bottom_left_share))}, Qt::Horizontal);
  resizeDocks({bottom}, {int((height() - 120) * def.bottom_share)}, Qt::Vertical);
}

void MainWindow::step_view(int direction) {
  std::vector<QWidget*> shown;
  int now = -1;
  for (const ViewDef* def : all_views()) {
    QWidget* each = views_.at(def->id);
    if (!in_sight(*each)) continue;
    if (each == focusWidget() || each->isAncestorOf(focusWidget())) now = int(shown.size());
    shown.push_back(each);
  }
  if (shown.empty()) return;
  const int count = int(shown.size());
  shown[std::size_t(((now < 0 ? (direction > 0 ? -1 : 0) : now) + direction + count) % count)]->setFocus(Qt::TabFocusReason);
}

QString MainWindow::text() const {
  if (!selection_.trace()) return QStringLiteral("no trace\n");
  const Verdict& verdict = banner_->verdict();
  QString text = verdict.sentence + QLatin1Char('\n') + verdict.context + QLatin1Char('\n');
  for (const ViewDef* def : all_views()) {
    const QWidget* view = views_.at(def->id);
    if (!in_sight(*view) || !def->text) continue;
    text += QStringLiteral("\n== %1 ==\n").arg(QString::fromUtf8(def->title)) + def->text(selection_);
  }
  return text;
}

void MainWindow::write_picture(const QString& path) {
  gui::write_picture(*this, path, [this] { return text(); });
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
    if (paint_awaited_ && isVisible() && selection_.trace()) {
      paint_awaited_ = false;
      Q_EMIT painted(selection_.trace()->preview);
    }
    if (live_.following() && !selection_.trace()) return;
    if (idle_told_ || job_.running() || !background_.idle() || compare_busy(views_.at("compare")) || !isVisible()) return;
    idle_told_ = true;
    Q_EMIT idle();
  });
}

}  // namespace shardlab::gui
