// Where the time went: events of the visible window summed by kind, name, source line, process or group, and how their lengths spread.
#include <QCheckBox>
#include <QComboBox>
#include <QHeaderView>
#include <QPainter>
#include <QTableView>

#include "gui/models/format.h"
#include "gui/models/stats.h"
#include "gui/models/text_twin.h"
#include "gui/views/table_export.h"
#include "gui/views/theme.h"
#include "gui/views/view_def.h"
#include "gui/views/view_frame.h"

namespace shardlab::gui {
namespace {

constexpr std::size_t kAtOnceMax = 20'000;  // events that are summed without leaving the window's thread

// The lengths of a row's events, on a scale of powers of ten.
class Histogram : public QWidget {
 public:
  explicit Histogram(QWidget* parent) : QWidget(parent) {
    setAccessibleName(QStringLiteral("Lengths of the events of the row"));
    setMinimumSize(160, 100);
  }
  void show_row(const StatsRow* row) {
    row_ = row ? *row : StatsRow{};
    first_ = 0;
    last_ = StatsRow::kBins - 1;
    while (first_ < last_ && row_.bins[std::size_t(first_)] == 0) ++first_;
    while (last_ > first_ && row_.bins[std::size_t(last_)] == 0) --last_;
    first_ = std::max(first_ - 1, 0);
    last_ = std::min(last_ + 1, StatsRow::kBins - 1);
    setAccessibleDescription(words());
    setToolTip(words());
    update();
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    const Theme& theme = theme_of(this);
    QPainter painter(this);
    painter.fillRect(rect(), theme.base);
    painter.setPen(theme.muted);
    if (row_.count == 0) {
      painter.drawText(rect().adjusted(12, 0, -12, 0), Qt::AlignCenter | Qt::TextWordWrap,
                       QStringLiteral("Choose a row to see how long its events took."));
      return;
    }
    const QFontMetrics metrics(font());
    const QRect plot = rect().adjusted(14, 30, -14, -24);
    painter.drawText(QRect(14, 6, width() - 28, 18), Qt::AlignLeft | Qt::AlignVCenter,
                     metrics.elidedText(qstr(row_.name) + QStringLiteral(": ") + count_text(row_.count, "event", "events"), Qt::ElideMiddle,
                                        width() - 28));
    const std::int64_t most = *std::max_element(row_.bins.begin(), row_.bins.end());
    const int bins = last_ - first_ + 1;
    const double step = double(plot.width()) / bins;
    for (int b = first_; b <= last_; ++b) {
      const std::int64_t count = row_.bins[std::size_t(b)];
      const double x = plot.left() + (b - first_) * step;
      if (count > 0) {
        const double height = std::max(plot.height() * double(count) / double(most), 2.0);
        painter.fillRect(QRectF(x + 1, plot.bottom() + 1 - height, std::max(step - 2, 1.0), height), theme.accent);
      }
      // A power of ten where there is room for its name.
      if (b % 4 != 0 || (step * 4 < 60 && b % 12 != 0)) continue;
      painter.setPen(theme.muted);
      painter.drawLine(QPointF(x, plot.bottom() + 1), QPointF(x, plot.bottom() + 5));
      const QString text = duration_text(stats_bin_begin(b));
      const double room = metrics.horizontalAdvance(text) + 2, left = std::clamp(x - room / 2, 0.0, std::max(width() - room, 0.0));
      painter.drawText(QRectF(left, plot.bottom() + 6, room, 16), Qt::AlignCenter, text);
    }
    painter.setPen(theme.line);
    painter.drawLine(plot.bottomLeft() + QPoint(0, 1), plot.bottomRight() + QPoint(0, 1));
  }

 private:
  QString words() const {
    QStringList parts;
    for (int b = 0; b < StatsRow::kBins; ++b)
      if (row_.bins[std::size_t(b)] > 0)
        parts << QStringLiteral("%1 from %2").arg(row_.bins[std::size_t(b)]).arg(duration_text(stats_bin_begin(b)));
    return parts.join(QStringLiteral(", "));
  }
  StatsRow row_;
  int first_ = 0, last_ = 0;
};

class StatsView : public QWidget {
 public:
  explicit StatsView(ViewContext& context) : selection_(context.selection), background_(context.background), model_(new StatsModel(this)) {
    by_ = new QComboBox(this);
    by_->setAccessibleName(QStringLiteral("What the events are summed by"));
    for (const auto& def : all_stats_by()) {
      by_->addItem(QStringLiteral("by ") + QString::fromUtf8(def.title), int(def.by));
      by_->setItemData(by_->count() - 1, QString::fromUtf8(def.doc), Qt::ToolTipRole);
    }
    follow_ = new QCheckBox(QStringLiteral("visible window"), this);
    follow_->setChecked(true);
    follow_->setToolTip(QStringLiteral("Sum what meets the timeline's window; off: the whole trace"));
    table_ = new QTableView(this);
    table_->setModel(model_);
    table_->setAccessibleName(QStringLiteral("Where the time went"));
    table_->setSelectionBehavior(QAbstractItemView::SelectRows);
    table_->setSelectionMode(QAbstractItemView::SingleSelection);
    table_->setShowGrid(false);
    table_->setWordWrap(false);
    table_->setTabKeyNavigation(false);
    table_->setSortingEnabled(true);
    table_->horizontalHeader()->setSortIndicator(StatsModel::kTotal, Qt::DescendingOrder);
    table_->horizontalHeader()->setHighlightSections(false);
    table_->horizontalHeader()->setStretchLastSection(true);
    table_->verticalHeader()->hide();
    table_->verticalHeader()->setDefaultSectionSize(22);
    table_->setTextElideMode(Qt::ElideMiddle);
    const int widths[] = {124, 54, 76, 62, 74, 74, 76, 60};
    for (int c = 0; c < StatsModel::kColumnCount; ++c) table_->setColumnWidth(c, widths[c]);
    offer_export(*table_);
    histogram_ = new Histogram(this);
    lay_out(this, {.bars = {{by_, follow_}}, .first = table_, .second = histogram_, .sizes = {640, 260}});
    setFocusProxy(table_);
    auto* follower = new WindowFollower(
        this, selection_, background_, [this] { find(); }, follow_);
    connect(by_, &QComboBox::activated, follower, &WindowFollower::mark);
    connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& at) { choose(at); });
  }

 private:
  void find() {
    const TracePtr trace = selection_.trace();
    if (!trace || trace->preview) return show_rows(nullptr, {});
    const TimeRange window = follow_->isChecked() && !selection_.visible().empty() ? selection_.visible() : trace->range;
    background_.run(
        this, trace->event_count() < kAtOnceMax,
        [trace, window, by = StatsBy(by_->currentData().toInt())](const std::stop_token& stop) {
          return make_stats(*trace, by, window, stop);
        },
        [this, trace](std::vector<StatsRow> rows) { show_rows(trace, std::move(rows)); });
  }

  void show_rows(TracePtr trace, std::vector<StatsRow> rows) {
    const QString chosen = table_->currentIndex().isValid() ? table_->currentIndex().siblingAtColumn(0).data().toString() : QString();
    filling_ = true;
    trace_ = std::move(trace);
    model_->set_rows(std::move(rows));
    model_->sort(table_->horizontalHeader()->sortIndicatorSection(), table_->horizontalHeader()->sortIndicatorOrder());
    int row = model_->rowCount() > 0 ? 0 : -1;
    for (int r = 0; r < model_->rowCount(); ++r)
      if (model_->index(r, 0).data().toString() == chosen) row = r;
    if (row >= 0) table_->selectRow(row);  // or the first to get the focus would be taken for chosen
    histogram_->show_row(row < 0 ? nullptr : &model_->at(row));
    filling_ = false;
  }

  void choose(const QModelIndex& at) {
    if (filling_ || !at.isValid()) return;
    const StatsRow& row = model_->at(at.row());
    histogram_->show_row(&row);
    if (trace_ == selection_.trace()) selection_.select_event(row.lane, row.event, this);
  }

  Selection& selection_;
  Background& background_;
  StatsModel* model_;
  QComboBox* by_;
  QCheckBox* follow_;
  QTableView* table_;
  Histogram* histogram_;
  TracePtr trace_;  // whose events are shown
  bool filling_ = false;
};

QWidget* make_stats_view(ViewContext& context) { return new StatsView(context); }

QString text(const Selection& selection) {
  QString all;
  for (const auto& def : all_stats_by()) {
    StatsModel model;
    model.set_rows(make_stats(*selection.trace(), def.by, selection.visible()));
    all += QStringLiteral("by ") + QString::fromUtf8(def.title) + QLatin1Char('\n') + model_text(model) + QLatin1Char('\n');
  }
  return all;
}

}  // namespace

const ViewDef kStatsView{
    .id = "stats",
    .title = "Stats",
    .key = "Ctrl+Shift+B",
    .doc = "Where the time went, by kind, name, source line, process or group, and how lengths spread",
    .area = ViewArea::kBottomRight,
    .make = make_stats_view,
    .text = text,
};

}  // namespace shardlab::gui
