// Who waits for whom, on a time slider: circles form and dissolve; who would free whom; the chain behind any wait.
#include <QAction>
#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QSlider>
#include <QSplitter>
#include <QTextBrowser>
#include <QTimer>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>

#include "gui/models/background.h"
#include "gui/models/format.h"
#include "gui/models/text_twin.h"
#include "gui/views/theme.h"
#include "gui/views/trace_table.h"
#include "gui/views/view_def.h"
#include "gui/views/wait_graph_widget.h"
#include "gui/views/when_seen.h"

namespace shardlab::gui {
namespace {

constexpr int kPlayStepMs = 500;
constexpr std::size_t kClosingMax = 6;      // waits that are offered to be taken away
constexpr std::size_t kAtOnceMax = 20'000;  // launches and waits that are looked through without leaving the window's thread

// Who waited in a trace, and the time that tells most.
struct Waits {
  WaitList list;
  std::vector<Ns> times;  // at which it changes
  Ns telling = -1;
};

class WaitsView : public QWidget {
 public:
  explicit WaitsView(ViewContext& context) : selection_(context.selection), background_(context.background) {
    graph_ = new WaitGraphWidget(this);
    words_ = new QTextBrowser(this);
    words_->setOpenLinks(false);
    words_->setAccessibleName(QStringLiteral("Who waits, and what would free them"));
    words_->document()->setDocumentMargin(10);
    slider_ = new QSlider(Qt::Horizontal, this);
    slider_->setAccessibleName(QStringLiteral("Time of the wait-for graph"));
    slider_->setToolTip(QStringLiteral("Each step is a moment at which somebody began or ceased to wait"));
    play_ = new QToolButton(this);
    play_->setText(QStringLiteral("▶"));
    play_->setToolTip(QStringLiteral("Play the changes one by one (Space)"));
    play_->setAccessibleName(QStringLiteral("Play"));
    play_->setCheckable(true);
    play_->setObjectName(QStringLiteral("play"));
    auto* space = new QAction(this);
    space->setShortcut(Qt::Key_Space);
    space->setStatusTip(play_->toolTip());
    space->setShortcutContext(Qt::WidgetWithChildrenShortcut);
    connect(space, &QAction::triggered, play_, &QAbstractButton::click);
    addAction(space);
    time_ = new QLabel(this);
    time_->setMinimumWidth(150);
    auto* bar = new QHBoxLayout;
    bar->setContentsMargins(8, 4, 8, 6);
    bar->setSpacing(8);
    bar->addWidget(play_);
    bar->addWidget(slider_, 1);
    bar->addWidget(time_);
    auto* split = new QSplitter(Qt::Horizontal, this);
    split->addWidget(graph_);
    split->addWidget(words_);
    split->setSizes({560, 340});
    split->setChildrenCollapsible(false);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(split, 1);
    layout->addLayout(bar);
    setFocusProxy(graph_);
    timer_.setInterval(kPlayStepMs);
    connect(&timer_, &QTimer::timeout, this, [this] {
      if (slider_->value() == slider_->maximum()) return play_->setChecked(false);
      slider_->setValue(slider_->value() + 1);
    });
    connect(play_, &QToolButton::toggled, this, [this](bool on) {
      play_->setText(on ? QStringLiteral("❚❚") : QStringLiteral("▶"));
      if (on && slider_->value() == slider_->maximum()) slider_->setValue(0);
      on ? timer_.start() : timer_.stop();
    });
    connect(slider_, &QSlider::valueChanged, this, [this] { show_time(); });
    connect(graph_, &WaitGraphWidget::chosen, this, [this](int process) { selection_.select_process(process, this); });
    connect(graph_, &WaitGraphWidget::edge_chosen, this, [this](int edge) {
      graph_->choose_edge(graph_->edge() == edge ? -1 : edge);
      const auto& edges = graph_->graph().edges;
      what_if_ = graph_->edge() < 0 ? Removed{} : removed(edges[std::size_t(edge)]);
      show_words();
    });
    connect(words_, &QTextBrowser::anchorClicked, this, [this](const QUrl& url) {
      const QString link = url.toString();
      if (!link.startsWith(QLatin1String("wait:"))) return void(follow_link(selection_, link, this));
      what_if_ = {{link.section(QLatin1Char(':'), 1).section(QLatin1Char('-'), 0, 0).toInt()}, {link.section(QLatin1Char('-'), 1).toInt()}};
      choose_removed();
      show_words();
    });
    connect(&selection_, &Selection::trace_changed, this, [this] {
      background_.cancel(this);
      waits_ = {};
      found_ = nullptr;
      seen_.mark();
    });
    connect(&selection_, &Selection::changed, this, [this](const SelectionState& state) { follow(state); });
  }
  ~WaitsView() override { background_.cancel(this); }

 protected:
  void changeEvent(QEvent* event) override {
    if (event->type() == QEvent::PaletteChange && found_) show_time();
    QWidget::changeEvent(event);
  }

 private:
  // What is shown stays until the new is found.
  void find() {
    const TracePtr trace = selection_.trace();
    if (!trace || trace->preview) return show_waits(trace, {});
    const bool few = trace->launches.size() + trace->wait_edges.size() + trace->host_reads.size() < kAtOnceMax;
    background_.run(
        this, few,
        [trace](const std::stop_token&) {
          Waits found{.list = find_waits(*trace)};
          found.times = change_times(found.list);
          found.telling = telling_time(*trace, found.list);
          return found;
        },
        [this, trace](Waits found) { show_waits(trace, std::move(found)); });
  }

  void show_waits(const TracePtr& trace, Waits found) {
    waits_ = std::move(found);
    what_if_ = {};
    found_ = trace.get();
    play_->setChecked(false);
    const QSignalBlocker blocked(slider_);
    slider_->setRange(0, std::max(int(waits_.times.size()) - 1, 0));
    slider_->setEnabled(waits_.times.size() > 1);
    play_->setEnabled(waits_.times.size() > 1);
    process_ = -1;
    slider_->setValue(int(std::lower_bound(waits_.times.begin(), waits_.times.end(), waits_.telling) - waits_.times.begin()));
    choose_wait(selection_.state());
    show_time();
  }

  // A waiting bar that is chosen anywhere moves the slider to when it waits, and is explained.
  void follow(const SelectionState& state) {
    const TracePtr& trace = selection_.trace();
    if (trace && !trace->preview && found_ && choose_wait(state)) show_time();
  }

  bool choose_wait(const SelectionState& state) {
    const bool event = found_ && state.lane >= 0 && state.event >= 0;
    const int wait = event ? wait_of_event(*selection_.trace(), waits_.list, state.lane, state.event) : -1;
    if (wait < 0 && state.process == process_) return false;
    process_ = state.process;
    if (wait >= 0) {
      const Wait& chosen = waits_.list[std::size_t(wait)];
      process_ = chosen.process;
      const auto at = std::lower_bound(waits_.times.begin(), waits_.times.end(), telling_time_of(chosen));
      const QSignalBlocker blocked(slider_);
      slider_->setValue(int(at - waits_.times.begin()));
    }
    return true;
  }

  // Of the changes while it waits the one at which most wait: who came to wait later belongs to its reason.
  Ns telling_time_of(const Wait& wait) const {
    Ns best = wait.begin;
    std::size_t most = 0;
    constexpr std::ptrdiff_t kTimesMax = 500;  // enough to tell, however long it waits
    const auto& times = waits_.times;
    const auto first = std::lower_bound(times.begin(), times.end(), wait.begin);
    for (auto at = first; at != times.end() && *at < wait.end && at - first < kTimesMax; ++at) {
      std::size_t waiting = 0;
      waits_.list.at(*at, [&](const Wait&) { ++waiting; });
      if (waiting > most) {
        most = waiting;
        best = *at;
      }
    }
    return best;
  }

  Ns now() const {
    const auto& times = waits_.times;
    return times.empty() ? 0 : times[std::size_t(std::clamp(slider_->value(), 0, int(times.size()) - 1))];
  }

  void show_time() {
    const TracePtr& trace = selection_.trace();
    graph_->choose(process_);
    if (trace && !found_) return;  // they are being looked for
    if (!trace || waits_.times.empty()) {
      graph_->show_graph(
          {}, trace ? QStringLiteral("No process waited for another.\nWhere one does, its circle of waiting appears here.") : QString());
      words_->clear();
      time_->clear();
      return;
    }
    const WaitGraph graph = make_wait_graph(*trace, waits_.list, now());
    graph_->show_graph(graph, QStringLiteral("At this moment nobody waits. Move the slider, or press play."));
    time_->setText(
        QStringLiteral("%1  (%2 of %3)").arg(duration_text(now() - trace->range.begin)).arg(slider_->value() + 1).arg(waits_.times.size()));
    choose_removed();
    show_words();
  }

  void show_words() { words_->setHtml(words(*selection_.trace(), graph_->graph())); }

  // Processes that do not wait for others any more.
  struct Removed {
    std::vector<int> waiting, peers;
  };
  Removed removed(std::pair<int, int> edge) const {
    const auto& nodes = graph_->graph().nodes;
    return {nodes[std::size_t(edge.first)].processes, nodes[std::size_t(edge.second)].processes};
  }

  // The arc of what is taken away, at a time at which there is such a one.
  void choose_removed() {
    const WaitGraph& graph = graph_->graph();
    int chosen = -1;
    for (int edge = 0; edge < int(graph.edges.size()) && !what_if_.waiting.empty(); ++edge) {
      const auto [from, to] = graph.edges[std::size_t(edge)];
      if (from == graph.node_of(what_if_.waiting.front()) && to == graph.node_of(what_if_.peers.front())) chosen = edge;
    }
    graph_->choose_edge(chosen);
  }

  QString words(const TraceData& trace, const WaitGraph& graph) const {
    const Theme& theme = theme_of(this);
    const auto links = [](const std::vector<int>& processes) {
      QStringList all;
      for (const int p : processes) {
        if (all.size() == 12) {
          all << QStringLiteral("…");
          break;
        }
        all << QStringLiteral("<a href='process:%1'>%1</a>").arg(p);
      }
      return all.join(QStringLiteral(", "));
    };
    QString text;
    for (const auto& cycle : graph.cycles)
      text += cycle.lasting()
                  ? QStringLiteral("<p><b><font color='%1'>⟳ Processes %2 wait for each other.</font></b> None of them can go on.</p>")
                        .arg(theme.error.name(), links(cycle.processes))
                  : QStringLiteral(
                        "<p><b>⟳ Processes %1 wait for each other</b> at this moment. The circle dissolved %2 later: what they "
                        "wait for was on its way.</p>")
                        .arg(links(cycle.processes), duration_text(cycle.end - now()));
    std::vector<int> never;  // are waited for, and have ended
    for (const auto& [from, to] : graph.edges)
      for (const int process : graph.nodes[std::size_t(to)].processes)
        if (has_ended(trace, process, now()) && std::find(never.begin(), never.end(), process) == never.end()) never.push_back(process);
    std::sort(never.begin(), never.end());
    if (!never.empty())
      text += QStringLiteral("<p><b><font color='%1'>Some wait for process%2 %3, which will never come.</font></b></p>")
                  .arg(theme.error.name(), never.size() == 1 ? QString() : QStringLiteral("es"), links(never));
    else if (graph.cycles.empty() && !graph.edges.empty())
      text += QStringLiteral("<p>Somebody waits, but in no circle: it may still come.</p>");
    const auto best = best_unblockers(trace, waits_.list, now());
    if (!best.empty()) {
      text += QStringLiteral("<p><b>Who would free whom</b></p><ul style='margin-left:-24px'>");
      for (std::size_t i = 0; i < std::min<std::size_t>(best.size(), 4); ++i)
        text += QStringLiteral("<li>if process %1 came, it would free %2</li>").arg(links({best[i].process}), links(best[i].frees));
      text += QStringLiteral("</ul>");
    }
    if (graph_->edge() >= 0) {
      const WhatIf what = without_waits(waits_.list, now(), what_if_.waiting, what_if_.peers);
      text += QStringLiteral("<p><b>If %1 did not wait for %2</b></p><ul style='margin-left:-24px'><li>%3</li>")
                  .arg(links(what_if_.waiting), links(what_if_.peers),
                       what.freed.empty() ? QStringLiteral("nobody could go on") : links(what.freed) + QStringLiteral(" could go on"));
      if (what.circles.empty() && !graph.cycles.empty()) text += QStringLiteral("<li>no circle would be left</li>");
      for (const auto& circle : what.circles)
        text += QStringLiteral("<li><font color='%1'>the circle of %2 would stay</font></li>").arg(theme.error.name(), links(circle));
      text += QStringLiteral("</ul>");
    } else if (const auto closing = waits_that_close(waits_.list, now(), kClosingMax); !closing.empty()) {
      QStringList all;
      for (const auto& [waiting, peer] : closing) all << QStringLiteral("<a href='wait:%1-%2'>%1 for %2</a>").arg(waiting).arg(peer);
      text += QStringLiteral("<p><b>One wait less would open the circle:</b> %1</p>").arg(all.join(QStringLiteral(", ")));
    }
    // Who is chosen and waits for nobody has nothing to explain; somebody who waits has.
    int process = process_;
    if (const int node = graph.node_of(process); node < 0 || !graph.nodes[std::size_t(node)].waits) process = -1;
    if (process < 0 && !graph.nodes.empty() && graph.nodes[0].waits) process = graph.nodes[0].processes[0];
    if (process >= 0) {
      text += QStringLiteral("<p><b>Why process %1 waits</b></p><ol style='margin-left:-24px'>").arg(process);
      for (const auto& step : explain_wait(trace, waits_.list, process, now())) {
        QString line = html(step.text);
        if (step.collective >= 0) line += QStringLiteral(" <a href='collective:%1'>#%1</a>").arg(step.collective);
        text += QStringLiteral("<li>%1</li>").arg(line);
      }
      text += QStringLiteral("</ol>");
    }
    return text;
  }

  Selection& selection_;
  Background& background_;
  Waits waits_;
  const TraceData* found_ = nullptr;  // what they are of; null while they are being looked for
  int process_ = -1;
  Removed what_if_;
  WaitGraphWidget* graph_;
  QTextBrowser* words_;
  QSlider* slider_;
  QToolButton* play_;
  QLabel* time_;
  QTimer timer_;
  WhenSeen seen_{this, [this] { find(); }};
};

QWidget* make_waits(ViewContext& context) { return new WaitsView(context); }

QString text(const Selection& selection) {
  const auto waits = find_waits(*selection.trace());
  const Ns time = telling_time(*selection.trace(), waits);
  int process = selection.state().process;
  if (process < 0 && !waits.empty()) process = waits[0].process;
  return waits_text(*selection.trace(), waits, time, process);
}

}  // namespace

void play_waits(QWidget* waits_view) {
  if (auto* play = waits_view->findChild<QToolButton*>(QStringLiteral("play")); play && play->isEnabled()) play->click();
}

const ViewDef kWaitsView{
    .id = "waits",
    .title = "Waits",
    .key = "Ctrl+Shift+W",
    .doc = "Who waits for whom at any time, which circles there are, and who would free whom",
    .area = ViewArea::kBottomRight,
    .make = make_waits,
    .text = text,
};

}  // namespace shardlab::gui
