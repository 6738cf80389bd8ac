// What devices hold: each one's most in a stretch of time, and the arrays of one at a moment, with the lines that made them.
#include <QComboBox>
#include <QHeaderView>
#include <QLabel>
#include <QTableView>

#include <algorithm>

#include "gui/models/format.h"
#include "gui/models/memory_model.h"
#include "gui/models/text_twin.h"
#include "gui/views/table_export.h"
#include "gui/views/view_def.h"
#include "gui/views/view_frame.h"

namespace shardlab::gui {
namespace {

constexpr int kNarrowPx = 780;              // a narrower view would cut the columns of the devices
constexpr std::size_t kAtOnceMax = 20'000;  // arrays that are looked at without leaving the window's thread

// The stretch of time: of the event or the range that is chosen, else what the timeline shows.
TimeRange stretch_of(const Selection& selection) {
  const TraceData& trace = *selection.trace();
  const SelectionState& state = selection.state();
  TimeRange range = selection.visible();
  if (!state.range.empty()) {
    range = state.range;
  } else if (state.lane >= 0 && state.event >= 0) {
    const LaneEvents& events = *trace.lanes[std::size_t(state.lane)].events;
    range = {events.begin[std::size_t(state.event)],
             std::max(events.end[std::size_t(state.event)], events.begin[std::size_t(state.event)] + 1)};
  }
  return range.empty() ? trace.range : range;
}

QString stretch_words(const Selection& selection) {
  const SelectionState& state = selection.state();
  return !state.range.empty()                  ? QStringLiteral("Of the chosen range, ")
         : state.lane >= 0 && state.event >= 0 ? QStringLiteral("Of the chosen event, ")
                                               : QStringLiteral("Of the visible window, ");
}

QTableView* make_table(QAbstractItemModel* model, const QString& name, std::span<const int> widths, QWidget* parent) {
  auto* table = new QTableView(parent);
  table->setModel(model);
  table->setAccessibleName(name);
  table->setSelectionBehavior(QAbstractItemView::SelectRows);
  table->setSelectionMode(QAbstractItemView::SingleSelection);
  table->setShowGrid(false);
  table->setWordWrap(false);
  table->setTabKeyNavigation(false);
  table->setTextElideMode(Qt::ElideMiddle);
  table->horizontalHeader()->setHighlightSections(false);
  table->horizontalHeader()->setStretchLastSection(true);
  table->verticalHeader()->hide();
  table->verticalHeader()->setDefaultSectionSize(22);
  for (int c = 0; c < int(widths.size()); ++c) table->setColumnWidth(c, widths[std::size_t(c)]);
  offer_export(*table);
  return table;
}

class MemoryView : public QWidget {
 public:
  explicit MemoryView(ViewContext& context)
      : selection_(context.selection),
        background_(context.background),
        devices_(new DeviceMemoryModel(this)),
        held_(new HeldArrayModel(this)) {
    at_ = new QComboBox(this);
    at_->setAccessibleName(QStringLiteral("Which moment is looked at"));
    for (const auto& def : all_memory_at()) {
      at_->addItem(QString::fromUtf8(def.title), int(def.at));
      at_->setItemData(at_->count() - 1, QString::fromUtf8(def.doc), Qt::ToolTipRole);
    }
    sentence_ = new QLabel(this);
    sentence_->setWordWrap(true);
    sentence_->setTextFormat(Qt::PlainText);
    static constexpr int kDeviceWidths[] = {74, 56, 70, 70, 100}, kHeldWidths[] = {96, 116, 96, 70, 56, 100, 150, 74, 90};
    device_table_ = make_table(devices_, QStringLiteral("What each device holds at most"), kDeviceWidths, this);
    held_table_ = make_table(held_, QStringLiteral("Arrays that the device holds"), kHeldWidths, this);
    held_table_->setSortingEnabled(true);
    held_table_->horizontalHeader()->setSortIndicator(HeldArrayModel::kBytes, Qt::DescendingOrder);
    // All columns of the devices are to be seen, however narrow: what is cut has its text in the tooltip.
    device_table_->horizontalHeader()->setMinimumSectionSize(34);
    device_table_->horizontalHeader()->setStretchLastSection(false);
    device_table_->horizontalHeader()->setSectionResizeMode(QHeaderView::Stretch);
    lay_out(this, {.bars = {{at_, sentence_}}, .first = device_table_, .second = held_table_, .sizes = {396, 640}, .narrow_px = kNarrowPx});
    setFocusProxy(held_table_);
    follower_ = new WindowFollower(this, selection_, background_, [this] { find(); });
    connect(at_, &QComboBox::activated, this, [this] { follower_->mark(); });
    connect(&selection_, &Selection::changed, this, [this](const SelectionState&, QObject* origin) {
      if (origin != this) follower_->mark();
    });
    connect(device_table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& at) {
      if (filling_ || !at.isValid() || trace_ != selection_.trace()) return;
      choose_device(devices_->at(at.row()).devices.front());
    });
    connect(held_table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& at) {
      if (!filling_ && at.isValid() && trace_ == selection_.trace()) selection_.select_array(held_->at(at.row()).array, this);
    });
  }

 private:
  // The range that was chosen stays: the device is looked at in it.
  void choose_device(int device) {
    const TimeRange range = selection_.state().range;
    selection_.select_device(device, this);
    if (!range.empty()) selection_.select_range(range, this);
    follower_->mark();
  }

  void find() {
    const TracePtr trace = selection_.trace();
    if (!trace || trace->preview) return show_picture(nullptr, {});
    background_.run(
        this, trace->array_holds.size() < kAtOnceMax,
        [trace, range = stretch_of(selection_), at = MemoryAt(at_->currentData().toInt()),
         device = selection_.state().device](const std::stop_token&) { return make_memory_picture(*trace, range, at, device); },
        [this, trace](MemoryPicture picture) { show_picture(trace, std::move(picture)); });
  }

  void show_picture(TracePtr trace, MemoryPicture picture) {
    filling_ = true;
    trace_ = std::move(trace);
    sentence_->setText(!trace_                     ? QString()
                       : picture.moment.device < 0 ? memory_sentence(*trace_, picture)
                                                   : stretch_words(selection_) + memory_sentence(*trace_, picture));
    int row = -1;
    for (std::size_t r = 0; r < picture.devices.size() && row < 0; ++r)
      if (std::binary_search(picture.devices[r].devices.begin(), picture.devices[r].devices.end(), picture.moment.device)) row = int(r);
    devices_->set(trace_, std::move(picture.devices));
    held_->set(trace_, std::move(picture.held));
    held_->sort(held_table_->horizontalHeader()->sortIndicatorSection(), held_table_->horizontalHeader()->sortIndicatorOrder());
    // Or the first to get the focus would be taken for chosen.
    if (row >= 0) device_table_->selectRow(row);
    if (held_->rowCount() > 0) held_table_->selectRow(0);
    filling_ = false;
  }

  Selection& selection_;
  Background& background_;
  DeviceMemoryModel* devices_;
  HeldArrayModel* held_;
  QComboBox* at_;
  QLabel* sentence_;
  QTableView* device_table_;
  QTableView* held_table_;
  WindowFollower* follower_;
  TracePtr trace_;  // whose memory is shown
  bool filling_ = false;
};

QWidget* make_memory_view(ViewContext& context) { return new MemoryView(context); }

QString text(const Selection& selection) {
  const MemoryPicture picture = make_memory_picture(*selection.trace(), stretch_of(selection), MemoryAt::kMost, selection.state().device);
  if (picture.moment.device < 0) return memory_sentence(*selection.trace(), picture) + QLatin1Char('\n');
  DeviceMemoryModel devices;
  devices.set(selection.trace(), picture.devices);
  HeldArrayModel held;
  held.set(selection.trace(), picture.held);
  return stretch_words(selection) + memory_sentence(*selection.trace(), picture) + QStringLiteral("\n\n") + model_text(devices) +
         QLatin1Char('\n') + model_text(held);
}

}  // namespace

const ViewDef kMemoryView{
    .id = "memory",
    .title = "Memory",
    .key = "Ctrl+Shift+Y",
    .doc = "What devices hold: the most in the visible window or what is chosen, and the arrays at that moment with their lines",
    .area = ViewArea::kBottomRight,
    .make = make_memory_view,
    .text = text,
};

}  // namespace shardlab::gui
