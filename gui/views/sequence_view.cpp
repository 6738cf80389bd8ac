// The calls of all processes in lockstep: equal processes are one row, the first divergence is pinned in sight.
#include <QHeaderView>
#include <QLabel>
#include <QPainter>
#include <QStyledItemDelegate>
#include <QTableView>
#include <QVBoxLayout>

#include "gui/models/background.h"
#include "gui/models/format.h"
#include "gui/models/sequence_model.h"
#include "gui/models/text_twin.h"
#include "gui/views/table_export.h"
#include "gui/views/theme.h"
#include "gui/views/view_def.h"
#include "gui/views/when_seen.h"

namespace shardlab::gui {
namespace {

constexpr std::size_t kAtOnceMax = 20'000;  // launches that are aligned without leaving the window's thread
constexpr int kColumnPx = 132, kRowPx = 46;

// Op above its place; what differs is red and hatched, what never came is only hatched.
class CallDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    const Theme& theme = theme_of(option.widget);
    const auto match = static_cast<CallMatch>(index.data(SequenceModel::kMatchRole).toInt());
    const bool bad = match == CallMatch::kDiffers || match == CallMatch::kMissing || match == CallMatch::kTie;
    painter->save();
    painter->fillRect(option.rect, match == CallMatch::kOutside ? theme.window : bad ? theme.differ_back : theme.base);
    if (match == CallMatch::kMissing) painter->fillRect(option.rect, QBrush(blend(theme.error, theme.differ_back, 0.35), Qt::BDiagPattern));
    if (match == CallMatch::kDiffers || match == CallMatch::kTie)
      painter->fillRect(QRect(option.rect.topLeft(), QSize(4, option.rect.height())), theme.error);
    painter->setPen(theme.line);
    painter->drawLine(option.rect.topRight(), option.rect.bottomRight());
    painter->drawLine(option.rect.bottomLeft(), option.rect.bottomRight());
    const QRect box = option.rect.adjusted(10, 5, -6, -5);
    const QString place = index.data(SequenceModel::kSiteRole).toString();
    QFont bold = option.font;
    bold.setBold(!place.isEmpty() || bad);
    painter->setFont(bold);
    painter->setPen(bad ? theme.error : place.isEmpty() ? theme.muted : theme.text);
    const QString name = index.data(Qt::DisplayRole).toString();
    painter->drawText(place.isEmpty() ? box : box.adjusted(0, 0, 0, -box.height() / 2), Qt::AlignLeft | Qt::AlignVCenter,
                      QFontMetrics(bold).elidedText(name, Qt::ElideRight, box.width()));
    painter->setFont(option.font);
    painter->setPen(bad ? theme.text : theme.muted);
    painter->drawText(box.adjusted(0, box.height() / 2, 0, 0), Qt::AlignLeft | Qt::AlignVCenter,
                      QFontMetrics(option.font).elidedText(place, Qt::ElideMiddle, box.width()));
    if (option.state & QStyle::State_Selected) {
      painter->setPen(QPen(theme.accent, 2));
      painter->drawRect(option.rect.adjusted(1, 1, -2, -2));
    }
    painter->restore();
  }
};

QString nothing_to_show(const TraceData& trace) {
  if (trace.preview) return QStringLiteral("Reading the calls …");
  if (!trace.launches.empty())
    return QStringLiteral("%1, of programs whose record was lost: what they called cannot be told.")
        .arg(count_text(std::int64_t(trace.launches.size()), "launch", "launches"));
  return QStringLiteral("No calls were recorded. A program's launches appear here, process beside process.");
}

class SequenceView : public QWidget {
 public:
  explicit SequenceView(ViewContext& context)
      : selection_(context.selection), background_(context.background), model_(new SequenceModel(this)) {
    summary_ = new QLabel(this);
    summary_->setContentsMargins(10, 6, 10, 6);
    summary_->setTextFormat(Qt::PlainText);
    table_ = new QTableView(this);
    table_->setModel(model_);
    table_->setItemDelegate(new CallDelegate(table_));
    table_->setAccessibleName(QStringLiteral("Calls of all processes in lockstep"));
    table_->setShowGrid(false);
    table_->setSelectionMode(QAbstractItemView::SingleSelection);
    table_->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
    table_->setCornerButtonEnabled(false);
    table_->setTabKeyNavigation(false);
    offer_export(*table_);
    table_->horizontalHeader()->setDefaultSectionSize(kColumnPx);
    table_->horizontalHeader()->setSectionResizeMode(QHeaderView::Interactive);
    table_->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    table_->verticalHeader()->setDefaultSectionSize(kRowPx);
    table_->verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    detail_ = new QLabel(this);
    detail_->setWordWrap(true);
    detail_->setTextFormat(Qt::PlainText);
    detail_->setContentsMargins(10, 6, 10, 8);
    detail_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(summary_);
    layout->addWidget(table_, 1);
    layout->addWidget(detail_);
    setFocusProxy(table_);
    connect(&selection_, &Selection::trace_changed, this, [this] {
      background_.cancel(this);
      seen_.mark();
    });
    connect(table_->selectionModel(), &QItemSelectionModel::currentChanged, this, [this](const QModelIndex& at) { choose(at); });
  }

  ~SequenceView() override { background_.cancel(this); }

 private:
  // What is shown stays until the new is found.
  void find() {
    const TracePtr trace = selection_.trace();
    if (!trace || trace->preview) return show_sequence(trace, {});
    background_.run(
        this, trace->launches.size() < kAtOnceMax, [trace](const std::stop_token&) { return make_call_sequence(*trace); },
        [this, trace](CallSequence sequence) { show_sequence(trace, std::move(sequence)); });
  }

  void show_sequence(const TracePtr& trace, CallSequence made) {
    following_ = true;
    model_->set(trace, std::move(made));
    trace_ = trace;
    const CallSequence& sequence = model_->sequence();
    detail_->clear();
    if (!trace || sequence.columns.empty()) {
      summary_->setText(trace ? nothing_to_show(*trace) : QString());
    } else {
      const QString calls = count_text(std::int64_t(sequence.columns.size()), "call", "calls");
      summary_->setText(sequence.first_divergence < 0
                            ? QStringLiteral("%1, %2.").arg(calls, qstr(same_words(sequence)))
                            : QStringLiteral("%1. The first that differs is call %2; %3.")
                                  .arg(calls)
                                  .arg(sequence.columns[std::size_t(sequence.first_divergence)].seq)
                                  .arg(count_text(std::int64_t(sequence.divergence_count), "call differs in all", "calls differ in all")));
      const int column = model_->first_divergent_column();
      if (column >= 0) {
        table_->scrollTo(model_->index(0, column), QAbstractItemView::PositionAtCenter);
        QStringList lines;
        for (std::size_t r = 0; r < sequence.rows.size(); ++r)
          if (sequence.rows[r].cells[std::size_t(sequence.first_divergence)].match != CallMatch::kOutside)
            lines << qstr(describe(*trace, sequence, r, std::size_t(sequence.first_divergence)));
        detail_->setText(lines.mid(0, 6).join(QLatin1Char('\n')));
      }
    }
    following_ = false;
  }

  void choose(const QModelIndex& at) {
    if (following_ || !at.isValid()) return;
    detail_->setText(at.data(Qt::ToolTipRole).toString());
    const int launch = at.data(SequenceModel::kLaunchRole).toInt();
    const TracePtr& trace = selection_.trace();
    if (launch < 0 || trace != trace_) return;  // of a trace that grew since
    const Launch& row = trace->launches[std::size_t(launch)];
    for (std::size_t c = 0; c < trace->collectives.size(); ++c) {
      const Collective& call = trace->collectives[c];
      const bool mine = std::any_of(call.members.begin(), call.members.end(), [&](const Member& m) { return m.process == row.process; });
      if (call.program == row.program && call.seq == row.seq && mine) return selection_.select_collective(int(c), this);
    }
    selection_.select_process(row.process, this);
  }

  Selection& selection_;
  Background& background_;
  SequenceModel* model_;
  TracePtr trace_;  // whose calls are shown
  QLabel* summary_;
  QTableView* table_;
  QLabel* detail_;
  bool following_ = false;
  WhenSeen seen_{this, [this] { find(); }};
};

QWidget* make_sequence(ViewContext& context) { return new SequenceView(context); }
QString text(const Selection& selection) { return sequence_text(*selection.trace(), make_call_sequence(*selection.trace())); }

}  // namespace

const ViewDef kSequenceView{
    .id = "sequence",
    .title = "Calls",
    .key = "Ctrl+Shift+K",
    .doc = "Every process's calls in lockstep, equal processes merged, with the first divergence in sight",
    .area = ViewArea::kBottomRight,
    .make = make_sequence,
    .text = text,
};

}  // namespace shardlab::gui
