// The first look at a run: its verdict, what stands out, what the devices' time went to, and how busy each was when.
#include <QComboBox>
#include <QEvent>
#include <QHBoxLayout>
#include <QPainter>
#include <QSplitter>
#include <QTextBrowser>
#include <QVBoxLayout>

#include "gui/models/background.h"
#include "gui/models/format.h"
#include "gui/models/overview.h"
#include "gui/views/table_export.h"
#include "gui/views/theme.h"
#include "gui/views/trace_table.h"
#include "gui/views/utilisation_map.h"
#include "gui/views/view_def.h"
#include "gui/views/when_seen.h"

namespace shardlab::gui {
namespace {

constexpr std::size_t kAtOnceMax = 20'000;  // events that are summed without leaving the window's thread

// All devices' time as one bar, with what each part is.
class SplitBar : public QWidget {
 public:
  explicit SplitBar(QWidget* parent) : QWidget(parent) {
    setAccessibleName(QStringLiteral("What the devices' time went to"));
    setFixedHeight(kBarHeight + 2 * kLineHeight + 14);
  }
  void show_split(const TimeSplit& split, Ns of) {
    split_ = split;
    of_ = of;
    setAccessibleDescription(of > 0 ? split_text(split, of) : QString());
    setToolTip(accessibleDescription());
    update();
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    const Theme& theme = theme_of(this);
    QPainter painter(this);
    painter.fillRect(rect(), theme.base);
    if (of_ <= 0) return;
    const QColor call = theme.collective("all-reduce");
    const struct {
      Ns length;
      QBrush brush;
      const char* name;
    } parts[] = {{split_.compute, theme.compute, "computing"},
                 {split_.transfer, call, "communicating"},
                 {split_.wait, QBrush(theme.muted, Qt::BDiagPattern), "waiting for peers"},
                 {std::max<Ns>(of_ - split_.sum(), 0), theme.lane_alternate, "nothing recorded"}};
    const QFontMetrics metrics(font());
    const QRectF bar(kMargin, 6, width() - 2 * kMargin, kBarHeight);
    double x = bar.left();
    int left = kMargin, line = 0;
    for (const auto& part : parts) {
      const double share = double(part.length) / double(of_);
      painter.fillRect(QRectF(x, bar.top(), share * bar.width(), bar.height()), part.brush);
      x += share * bar.width();
      const QString text = QStringLiteral("%1 %2").arg(QString::fromUtf8(part.name), percent_text(share));
      const int room = kChip + 6 + metrics.horizontalAdvance(text);
      if (left + room > width() - kMargin && left > kMargin && line == 0) {
        left = kMargin;
        ++line;
      }
      const int top = int(bar.bottom()) + 5 + line * kLineHeight;
      const QRect chip(left, top + (kLineHeight - kChip) / 2, kChip, kChip);
      painter.fillRect(chip, part.brush);
      painter.setPen(theme.line);
      painter.drawRect(chip.adjusted(0, 0, -1, -1));
      painter.setPen(theme.text);
      painter.drawText(QRect(left + kChip + 6, top, room, kLineHeight), Qt::AlignLeft | Qt::AlignVCenter, text);
      left += room + 18;
    }
    painter.setPen(theme.line);
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(bar);
  }

 private:
  static constexpr int kBarHeight = 16, kLineHeight = 18, kMargin = 12, kChip = 10;
  TimeSplit split_;
  Ns of_ = 0;
};

QString findings_html(const TraceData& trace, const Overview& overview, const Theme& theme) {
  const auto tone = [&theme](VerdictLevel level) {
    return (level == VerdictLevel::kError     ? theme.error
            : level == VerdictLevel::kWarning ? theme.warning
            : level == VerdictLevel::kGood    ? theme.good
                                              : theme.muted)
        .name();
  };
  const Verdict verdict = make_verdict(trace);
  QString text =
      QStringLiteral("<p style='margin-top:2px; margin-bottom:4px'><b><font color='%1'>%2</font></b></p><p><font color='%3'>%4</font></p>")
          .arg(tone(verdict.level), verdict.sentence.toHtmlEscaped(), theme.muted.name(), verdict.context.toHtmlEscaped());
  for (const Finding& finding : overview.findings) {
    const QString mark = finding.level == VerdictLevel::kError     ? QStringLiteral("✖")
                         : finding.level == VerdictLevel::kWarning ? QStringLiteral("▲")
                                                                   : QStringLiteral("•");
    text += QStringLiteral("<p style='margin-top:5px; margin-bottom:5px'><font color='%1'>%2</font> %3%4</p>")
                .arg(tone(finding.level), mark, finding.text.toHtmlEscaped(),
                     finding.link.isEmpty() ? QString() : QStringLiteral(" <a href='%1'>show</a>").arg(finding.link));
  }
  if (overview.findings.empty() && !overview.rows.empty())
    text += QStringLiteral("<p><font color='%1'>Nothing stands out.</font></p>").arg(theme.muted.name());
  return text;
}

class OverviewView : public QWidget {
 public:
  explicit OverviewView(ViewContext& context)
      : context_(context), selection_(context.selection), background_(context.background), overview_(std::make_shared<Overview>()) {
    bar_ = new SplitBar(this);
    use_ = new QComboBox(this);
    use_->setAccessibleName(QStringLiteral("What the colours show"));
    use_->setToolTip(QStringLiteral("The share of each stretch of time that a device spent so"));
    use_->addItem(QStringLiteral("computing"), int(TimeUse::kCompute));
    use_->addItem(QStringLiteral("communicating"), int(TimeUse::kTransfer));
    use_->addItem(QStringLiteral("waiting for peers"), int(TimeUse::kWait));
    map_ = new UtilisationMap(this);
    map_->on_choose = [this](int row, TimeRange) {
      if (shown_ == selection_.trace()) selection_.select_device(overview_->rows[std::size_t(row)].device, this);
    };
    map_->on_open = [this](TimeRange range) {
      if (shown_ == selection_.trace() && context_.show_time) context_.show_time(range);
    };
    offer_export(*map_, [this] { return std::make_unique<OverviewModel>(shown_, shown_ ? *overview_ : Overview{}); });
    findings_ = new QTextBrowser(this);
    findings_->setOpenLinks(false);
    findings_->setAccessibleName(QStringLiteral("The verdict, and what stands out"));
    findings_->document()->setDocumentMargin(10);
    auto* bar = new QHBoxLayout;
    bar->setContentsMargins(8, 5, 8, 5);
    bar->addWidget(use_);
    bar->addStretch(1);
    auto* left = new QWidget(this);
    auto* column = new QVBoxLayout(left);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(bar_);
    column->addLayout(bar);
    column->addWidget(map_, 1);
    auto* split = new QSplitter(Qt::Horizontal, this);
    split->addWidget(left);
    split->addWidget(findings_);
    split->setSizes({600, 400});
    split->setChildrenCollapsible(false);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(split);
    setFocusProxy(map_);
    connect(use_, &QComboBox::activated, this, [this] { show_use(); });
    connect(findings_, &QTextBrowser::anchorClicked, this, [this](const QUrl& url) { follow(url.toString()); });
    connect(&selection_, &Selection::trace_changed, this, [this] {
      background_.cancel(this);
      seen_.mark();
    });
    connect(&selection_, &Selection::changed, this, [this](const SelectionState& state, QObject* origin) {
      if (origin != this) map_->choose_device(state.device);
    });
  }
  ~OverviewView() override { background_.cancel(this); }

 protected:
  void changeEvent(QEvent* event) override {
    if (event->type() == QEvent::PaletteChange && shown_) show_findings();
    QWidget::changeEvent(event);
  }

 private:
  // What is shown stays until the new is found.
  void find() {
    const TracePtr trace = selection_.trace();
    if (!trace || trace->preview) return show_overview(nullptr, {});
    background_.run(
        this, trace->event_count() < kAtOnceMax, [trace](const std::stop_token& stop) { return make_overview(*trace, stop); },
        [this, trace](Overview overview) { show_overview(trace, std::move(overview)); });
  }

  void show_overview(TracePtr trace, Overview overview) {
    shown_ = std::move(trace);
    overview_ = std::make_shared<const Overview>(std::move(overview));
    bar_->show_split(overview_->total, overview_->device_time());
    show_use();
    map_->choose_device(selection_.state().device);
    show_findings();
  }

  void show_use() { map_->show_overview(shown_, shown_ ? overview_ : nullptr, TimeUse(use_->currentData().toInt())); }

  void show_findings() {
    if (!shown_) return findings_->clear();
    findings_->setHtml(findings_html(*shown_, *overview_, theme_of(this)));
  }

  void follow(const QString& link) {
    const QStringList parts = link.split(QLatin1Char(':'));
    if (shown_ != selection_.trace()) return;  // of a trace that grew since
    if (parts[0] == QLatin1String("view")) return context_.show_view(parts.value(1).toStdString());
    if (parts[0] == QLatin1String("event")) return selection_.select_event(parts.value(1).toInt(), parts.value(2).toLongLong(), nullptr);
    follow_link(selection_, link, nullptr);
    if (parts[0] == QLatin1String("diagnosis")) context_.show_view(kDiagnosesView.id);
  }

  ViewContext context_;
  Selection& selection_;
  Background& background_;
  TracePtr shown_;  // whose overview it is
  std::shared_ptr<const Overview> overview_;
  SplitBar* bar_;
  QComboBox* use_;
  UtilisationMap* map_;
  QTextBrowser* findings_;
  WhenSeen seen_{this, [this] { find(); }};
};

QWidget* make_overview_view(ViewContext& context) { return new OverviewView(context); }

QString text(const Selection& selection) { return overview_text(*selection.trace(), make_overview(*selection.trace())); }

}  // namespace

const ViewDef kOverviewView{
    .id = "overview",
    .title = "Overview",
    .key = "Ctrl+Shift+O",
    .doc = "The verdict, what stands out, what the devices' time went to, and how busy each was when",
    .area = ViewArea::kBottomRight,
    .make = make_overview_view,
    .text = text,
};

}  // namespace shardlab::gui
