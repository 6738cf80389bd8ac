// Where the program's work came from: files, lines and ops as a tree, with what each took, who did it, and its source.
#include <QCheckBox>
#include <QComboBox>
#include <QEvent>
#include <QHeaderView>
#include <QLabel>
#include <QPainter>
#include <QSortFilterProxyModel>
#include <QStyledItemDelegate>
#include <QTextBrowser>
#include <QTreeView>

#include <map>

#include "gui/models/call_site_model.h"
#include "gui/models/format.h"
#include "gui/models/text_twin.h"
#include "gui/views/source_html.h"
#include "gui/views/table_export.h"
#include "gui/views/theme.h"
#include "gui/views/view_def.h"
#include "gui/views/view_frame.h"

namespace shardlab::gui {
namespace {

constexpr int kSourceContext = 8, kExpandMax = 60;
constexpr std::size_t kAtOnceMax = 20'000;  // events that are summed without leaving the window's thread

// A bar for the share, and a chip for each set of processes: equal sets have one colour, all processes the quiet one.
class CallSiteDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    QStyledItemDelegate::paint(painter, option, index);
    if (index.column() != CallSiteModel::kShare) return;
    const Theme& theme = theme_of(option.widget);
    const double share = index.data(CallSiteModel::kShareRole).toDouble();
    painter->fillRect(QRectF(option.rect.left() + 4, option.rect.bottom() - 3, share * (option.rect.width() - 8), 3), theme.accent);
  }
  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    return {QStyledItemDelegate::sizeHint(option, index).width(), 22};
  }

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
    QStyledItemDelegate::initStyleOption(option, index);
    option->textElideMode = Qt::ElideMiddle;
    const Theme& theme = theme_of(option->widget);
    const int rank_class = index.data(CallSiteModel::kClassRole).toInt();
    if (index.column() != CallSiteModel::kProcesses || rank_class < 0) return;
    QPixmap chip(10, 10);
    chip.fill(rank_class == 0 ? theme.line : theme.group(rank_class - 1));
    option->features |= QStyleOptionViewItem::HasDecoration;
    option->decorationSize = QSize(10, 10);
    option->icon = QIcon(chip);
  }
};

QString quiet(const Theme& theme, const QString& text) {
  return QStringLiteral("<p><font color='%1'>%2</font></p>").arg(theme.muted.name(), text);
}

class CallSitesView : public QWidget {
 public:
  explicit CallSitesView(ViewContext& context)
      : selection_(context.selection), background_(context.background), model_(new CallSiteModel(this)) {
    follow_ = new QCheckBox(QStringLiteral("visible window"), this);
    follow_->setChecked(true);
    follow_->setToolTip(QStringLiteral("Sum what meets the timeline's window; off: the whole trace"));
    kind_ = new QComboBox(this);
    kind_->addItems({QStringLiteral("by file"), QStringLiteral("by caller")});
    kind_->hide();
    kind_->setAccessibleName(QStringLiteral("Files and lines, or functions and whom they called"));
    kind_->setToolTip(
        QStringLiteral("Files with their lines and ops; or the functions from main down to each launch, equal stacks as one"));
    summary_ = new QLabel(this);
    summary_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    summary_->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    proxy_ = new QSortFilterProxyModel(this);
    proxy_->setSourceModel(model_);
    proxy_->setSortRole(CallSiteModel::kSortRole);
    tree_ = new QTreeView(this);
    tree_->setModel(proxy_);
    tree_->setItemDelegate(new CallSiteDelegate(tree_));
    tree_->setAccessibleName(QStringLiteral("Call sites"));
    tree_->setUniformRowHeights(true);
    tree_->setIndentation(16);
    tree_->setSortingEnabled(true);
    tree_->sortByColumn(CallSiteModel::kWhere, Qt::AscendingOrder);
    tree_->header()->setStretchLastSection(true);
    tree_->header()->setHighlightSections(false);
    const int widths[] = {196, 84, 76, 64, 76, 50, 58, 70, 74};
    for (int c = 0; c < CallSiteModel::kColumnCount; ++c) tree_->header()->resizeSection(c, widths[c]);
    offer_export(*tree_);
    source_ = new QTextBrowser(this);
    source_->setOpenLinks(false);
    source_->setAccessibleName(QStringLiteral("Source of the chosen line"));
    source_->document()->setDocumentMargin(8);
    lay_out(this, {.bars = {{kind_, follow_, summary_}}, .first = tree_, .second = source_, .sizes = {640, 300}});
    setFocusProxy(tree_);
    connect(&selection_, &Selection::trace_changed, this,
            [this] { kind_->setVisible(selection_.trace() && knows_callers(*selection_.trace())); });
    auto* follower = new WindowFollower(
        this, selection_, background_, [this] { find(); }, follow_);
    connect(kind_, &QComboBox::currentIndexChanged, follower, [follower] { follower->mark(); });
    connect(&selection_, &Selection::changed, this, [this](const SelectionState&, QObject* origin) {
      if (origin != this) show_selected();
    });
    connect(tree_->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& at) { choose(at); });
    connect(tree_, &QTreeView::expanded, this, [this](const QModelIndex& at) { opened(at, true); });
    connect(tree_, &QTreeView::collapsed, this, [this](const QModelIndex& at) { opened(at, false); });
  }

 protected:
  void changeEvent(QEvent* event) override {
    if (event->type() == QEvent::PaletteChange && trace_) show_source(node_of(tree_->currentIndex()));
    QWidget::changeEvent(event);
  }

 private:
  // What is shown stays until the new is found.
  void find() {
    const TracePtr trace = selection_.trace();
    if (!trace || trace->preview) return show_sites(nullptr, {});
    const TimeRange window = follow_->isChecked() && !selection_.visible().empty() ? selection_.visible() : trace->range;
    const bool callers = knows_callers(*trace) && kind_->currentIndex() == 1;
    background_.run(
        this, trace->event_count() < kAtOnceMax,
        [trace, window, callers](const std::stop_token& stop) {
          return callers ? make_call_tree(*trace, window, stop) : make_call_sites(*trace, window, stop);
        },
        [this, trace](CallSites sites) { show_sites(trace, std::move(sites)); });
  }

  void show_sites(TracePtr trace, CallSites sites) {
    filling_ = true;
    const int site = trace_ ? site_of(tree_->currentIndex()) : -1;
    trace_ = std::move(trace);
    std::size_t lines = 0;
    for (const auto& node : sites.nodes) lines += node.frame >= 0 || (node.site >= 0 && !node.children.empty());
    model_->set(trace_, std::move(sites));
    open_nodes();
    summary_->setText(trace_ ? model_->sites().nodes.empty()
                                   ? QStringLiteral("Nothing was recorded in this window of time.")
                                   : QStringLiteral("%1, %2 of all lanes")
                                         .arg(count_text(std::int64_t(lines), "line", "lines"), duration_text(model_->sites().time))
                             : QString());
    QModelIndex at = proxy_->mapFromSource(model_->index_of(model_->sites().line_of(site)));
    if (!at.isValid()) at = proxy_->mapFromSource(model_->index_of(longest_line()));
    if (at.isValid()) tree_->setCurrentIndex(at);  // or the first to get the focus would be taken for chosen
    show_source(node_of(at));
    filling_ = false;
    show_selected();
  }

  // What stays the same of a node when another window of time is summed.
  QString path_of(int node) const {
    QString path;
    for (const auto& nodes = model_->sites().nodes; node >= 0; node = nodes[std::size_t(node)].parent)
      path += qstr(nodes[std::size_t(node)].name) + QStringLiteral("#%1/").arg(nodes[std::size_t(node)].site);
    return path;
  }

  void opened(const QModelIndex& at, bool open) {
    if (!filling_) opened_[path_of(at.data(CallSiteModel::kNodeRole).toInt())] = open;
  }

  // All lines where they are few, else the files'; then what was opened and closed by hand.
  void open_nodes() {
    const auto& nodes = model_->sites().nodes;
    if (std::ssize(nodes) <= kExpandMax)
      tree_->expandAll();
    else
      tree_->expandToDepth(0);
    for (int node = 0; node < int(nodes.size()) && !opened_.empty(); ++node)
      if (const auto by_hand = opened_.find(path_of(node)); by_hand != opened_.end())
        tree_->setExpanded(proxy_->mapFromSource(model_->index_of(node)), by_hand->second);
  }

  int longest_line() const {
    const auto& nodes = model_->sites().nodes;
    int longest = nodes.empty() ? -1 : 0;
    for (std::size_t n = 0; n < nodes.size(); ++n)
      if (nodes[n].site >= 0 && (nodes[std::size_t(longest)].site < 0 || nodes[n].time > nodes[std::size_t(longest)].time))
        longest = int(n);
    return longest;
  }

  const CallSite* node_of(const QModelIndex& at) const {
    return at.isValid() ? &model_->sites().nodes[std::size_t(at.data(CallSiteModel::kNodeRole).toInt())] : nullptr;
  }
  int site_of(const QModelIndex& at) const {
    const CallSite* node = node_of(at);
    return node ? node->site : -1;
  }

  void choose(const QModelIndex& at) {
    const CallSite* node = node_of(at);
    if (filling_ || !node) return;
    show_source(node);
    if (node->event >= 0 && trace_ == selection_.trace()) selection_.select_event(node->lane, node->event, this);
  }

  // The line of what was selected elsewhere.
  void show_selected() {
    const SelectionState& state = selection_.state();
    if (!trace_ || trace_ != selection_.trace()) return;
    int site = -1;
    if (state.lane >= 0 && state.event >= 0) {
      const auto& labels = trace_->lanes[std::size_t(state.lane)].events->label;
      site = trace_->labels[labels[std::size_t(state.event)]].site;
    } else if (state.collective >= 0) {
      site = trace_->collectives[std::size_t(state.collective)].type->site;
    }
    const int line = model_->sites().line_of(site);
    if (line < 0 || site_of(tree_->currentIndex()) == model_->sites().nodes[std::size_t(line)].site) return;
    const QModelIndex at = proxy_->mapFromSource(model_->index_of(line));
    filling_ = true;
    tree_->setCurrentIndex(at);
    tree_->scrollTo(at);
    show_source(node_of(at));
    filling_ = false;
  }

  void show_source(const CallSite* node) {
    const Theme& theme = theme_of(this);
    if (!trace_ || !node) return source_->clear();
    if (node->frame >= 0) return show_frame(trace_->frames[std::size_t(node->frame)]);
    if (node->site < 0)
      return source_->setHtml(quiet(theme, node->parent < 0 && !node->children.empty() ? QStringLiteral("Choose a line to see its source.")
                                                                                       : QStringLiteral("The trace has no line for it.")));
    show_site(trace_->sites[std::size_t(node->site)]);
  }

  void show_frame(const Frame& frame) {
    if (frame.line > 0) return show_site({.file = frame.file, .function = frame.function, .line = frame.line, .pointer = {}});
    source_->setHtml(
        QStringLiteral("<p><b>%1</b></p><p>The program has no debugging information: no line is known.</p>").arg(html(frame.function)));
  }

  void show_site(const Site& site) {
    const Theme& theme = theme_of(this);
    const traces::SourceLines lines = site.statement >= 0
                                          ? traces::read_statement_lines(traces::scenario_of(trace_->path), site.pointer, kSourceContext)
                                          : traces::read_source_lines(site.path(), trace_->path, kSourceContext);
    const QString text = source_html(lines, theme);
    source_->setHtml(QStringLiteral("<p><b>%1</b></p>").arg(html(site.text())) +
                     (text.isEmpty() ? quiet(theme, QStringLiteral("not readable from here: %1").arg(html(site.path()))) : text));
  }

  Selection& selection_;
  Background& background_;
  CallSiteModel* model_;
  QSortFilterProxyModel* proxy_;
  TracePtr trace_;  // whose call sites are shown
  QComboBox* kind_;
  QCheckBox* follow_;
  QLabel* summary_;
  QTreeView* tree_;
  QTextBrowser* source_;
  bool filling_ = false;
  std::map<QString, bool> opened_;  // by hand, of nodes by their path
};

QWidget* make_call_sites_view(ViewContext& context) { return new CallSitesView(context); }

QString text(const Selection& selection) {
  CallSiteModel model;
  const TimeRange window = selection.visible().empty() ? selection.trace()->range : selection.visible();
  model.set(selection.trace(), make_call_sites(*selection.trace(), window));
  if (model.rowCount() == 0) return QStringLiteral("nothing was recorded\n");
  QString text = model_text(model);
  if (!knows_callers(*selection.trace())) return text;
  model.set(selection.trace(), make_call_tree(*selection.trace(), window));
  return text + QLatin1Char('\n') + model_text(model);
}

}  // namespace

const ViewDef kCallSitesView{
    .id = "callsites",
    .title = "Call Sites",
    .key = "Ctrl+Shift+F",
    .doc = "Files, lines and ops of the program as a tree: what each took and sent, which processes did it, and its source",
    .area = ViewArea::kBottomRight,
    .make = make_call_sites_view,
    .text = text,
};

}  // namespace shardlab::gui
