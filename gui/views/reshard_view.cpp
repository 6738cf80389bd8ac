// Before and after of a reshard: who held what, who holds what now, and exactly what moves between them.
#include <QHeaderView>
#include <QLabel>
#include <QSplitter>
#include <QTableWidget>
#include <QVBoxLayout>

#include "gui/models/format.h"
#include "gui/models/reshard.h"
#include "gui/models/text_twin.h"
#include "gui/views/mesh_widget.h"
#include "gui/views/shard_widget.h"
#include "gui/views/table_export.h"
#include "gui/views/theme.h"
#include "gui/views/view_def.h"

namespace shardlab::gui {
namespace {

constexpr std::size_t kMovesMax = 2000;  // rows of the table

std::int64_t element_bytes(const std::string& dtype) {
  const auto digits = dtype.find_first_of("0123456789");
  return digits == std::string::npos ? 1 : std::max<std::int64_t>(std::atoll(dtype.c_str() + digits) / 8, 1);
}

// The selected collective's, else the selected array's.
std::optional<Reshard> reshard_of(const Selection& selection) {
  const TraceData& trace = *selection.trace();
  if (auto found = reshard_of_collective(trace, selection.state().collective)) return found;
  return reshard_of_array(trace, selection.state().array);
}

constexpr int kLeastWidth = 150, kLeastMesh = 110;

class ReshardView : public QWidget {
 public:
  explicit ReshardView(Selection& selection) : selection_(selection) {
    facts_ = new QLabel(this);
    facts_->setContentsMargins(10, 6, 10, 6);
    facts_->setWordWrap(true);
    facts_->setTextFormat(Qt::RichText);
    before_ = new ShardWidget(selection, this);
    after_ = new ShardWidget(selection, this);
    mesh_ = new MeshWidget(selection, this);
    moves_ = new QTableWidget(this);
    moves_->setColumnCount(4);
    moves_->setHorizontalHeaderLabels({QStringLiteral("From"), QStringLiteral("To"), QStringLiteral("Slice"), QStringLiteral("Bytes")});
    moves_->setAccessibleName(QStringLiteral("Moves of the reshard"));
    moves_->verticalHeader()->hide();
    moves_->verticalHeader()->setDefaultSectionSize(22);
    moves_->setShowGrid(false);
    moves_->setEditTriggers(QAbstractItemView::NoEditTriggers);
    moves_->setSelectionBehavior(QAbstractItemView::SelectRows);
    moves_->horizontalHeader()->setHighlightSections(false);
    moves_->horizontalHeader()->setStretchLastSection(true);
    moves_->horizontalHeader()->setMinimumSectionSize(36);
    moves_->setTabKeyNavigation(false);
    offer_export(*moves_);
    for (const auto& [column, width] : {std::pair(0, 44), std::pair(1, 44), std::pair(2, 112)}) moves_->setColumnWidth(column, width);
    split_ = new QSplitter(Qt::Horizontal, this);
    split_->addWidget(titled(before_title_, QStringLiteral("before"), before_));
    split_->addWidget(titled(mesh_title_, QStringLiteral("moves"), mesh_));
    split_->addWidget(titled(after_title_, QStringLiteral("after"), after_));
    split_->addWidget(moves_);
    split_->setChildrenCollapsible(false);
    // In a narrow window all four stay readable; by their own wishes the diagrams would leave the list nothing.
    for (QWidget* each : {static_cast<QWidget*>(before_), static_cast<QWidget*>(after_), static_cast<QWidget*>(moves_)})
      each->setMinimumWidth(kLeastWidth);
    mesh_->setMinimumWidth(kLeastMesh);
    split_->setSizes({290, 220, 290, 290});
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(facts_);
    layout->addWidget(split_, 1);
    setFocusProxy(moves_);
    // Not the current cell: the first becomes it as soon as the table has the keyboard.
    connect(moves_, &QTableWidget::itemSelectionChanged, this, [this] {
      const int row = moves_->currentRow();
      if (row >= 0 && !filling_ && !moves_->selectedItems().isEmpty())
        selection_.select_device(moves_->item(row, 1)->data(Qt::UserRole).toInt(), this);
    });
    connect(&selection, &Selection::changed, this, [this] {
      if (isVisible()) refresh();
    });
  }

 protected:
  void showEvent(QShowEvent* event) override {
    QWidget::showEvent(event);
    refresh();
  }

 private:
  QWidget* titled(QLabel*& label, const QString& text, QWidget* content) {
    auto* box = new QWidget(this);
    label = new QLabel(text, box);
    label->setContentsMargins(10, 2, 4, 2);
    label->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
    auto* layout = new QVBoxLayout(box);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(label);
    layout->addWidget(content, 1);
    return box;
  }

  void refresh() {
    const TracePtr& trace = selection_.trace();
    const SelectionState& state = selection_.state();
    if (!trace || trace->preview) return;
    if (shown_ == trace && collective_ == state.collective && array_ == state.array) return;
    shown_ = trace;
    collective_ = state.collective;
    array_ = state.array;
    const auto reshard = reshard_of(selection_);
    split_->setVisible(reshard.has_value());
    if (!reshard) {
      facts_->setText(
          QStringLiteral("Nothing was resharded here. Select a collective that changes a sharding, or an array that was put or moved."));
      return;
    }
    const auto side = [](const std::shared_ptr<const ArrayLayout>& layout, const std::vector<std::string>& partial) {
      QString text = layout ? html(layout->spec) : QStringLiteral("the host");
      QStringList axes;
      for (const auto& axis : partial) axes << qstr(axis);
      if (!partial.empty()) text += QStringLiteral(" <i>partial over %1</i>").arg(axes.join(QStringLiteral(", ")).toHtmlEscaped());
      return text;
    };
    before_title_->setText(QStringLiteral("before: ") + side(reshard->before, reshard->partial_before));
    after_title_->setText(QStringLiteral("after: ") + side(reshard->after, reshard->partial_after));
    before_->set_layout(reshard->name, reshard->dtype, reshard->before, reshard->partial_before);
    after_->set_layout(reshard->name, reshard->dtype, reshard->after, reshard->partial_after);
    mesh_->set_mesh(reshard->after->mesh >= 0 ? reshard->after->mesh : reshard->before ? reshard->before->mesh : -1);
    const MovePlan plan = reshard->before ? plan_moves(*trace, *reshard->before, *reshard->after) : MovePlan{};
    show_moves(plan, element_bytes(reshard->dtype));
    moves_->setVisible(!plan.moves.empty());
    QStringList facts{
        QStringLiteral("<b>%1</b>: %2 → %3")
            .arg(html(reshard->name), side(reshard->before, reshard->partial_before), side(reshard->after, reshard->partial_after))};
    if (reshard->before) {
      const std::int64_t bytes = element_bytes(reshard->dtype);
      facts << QStringLiteral("%1 moved in %2, %3 between processes")
                   .arg(bytes_text(plan.elements * bytes), count_text(std::int64_t(plan.moves.size()), "slice", "slices"),
                        bytes_text(plan.across * bytes));
      if (!reshard->partial_before.empty()) facts << QStringLiteral("and summed over the partial axes");
    }
    if (!reshard->recorded.empty()) facts << QStringLiteral("recorded: %1").arg(html(reshard->recorded));
    if (!reshard->why.empty()) facts << QStringLiteral("why: %1").arg(html(reshard->why));
    facts_->setText(facts.join(QStringLiteral(" &nbsp;·&nbsp; ")));
  }

  void show_moves(const MovePlan& plan, std::int64_t bytes) {
    filling_ = true;
    std::vector<std::pair<int, int>> arrows;
    for (const auto& move : plan.moves) arrows.emplace_back(move.source, move.target);
    mesh_->set_arrows(arrows);
    mesh_title_->setText(plan.moves.empty() ? QStringLiteral("nothing moves") : QStringLiteral("moves"));
    const int rows = int(std::min(plan.moves.size(), kMovesMax));
    moves_->setRowCount(rows);
    for (int r = 0; r < rows; ++r) {
      const Move& move = plan.moves[std::size_t(r)];
      const QString texts[] = {QString::number(move.source), QString::number(move.target), qstr(move.slice_text()),
                               bytes_text(move.elements * bytes)};
      for (int c = 0; c < 4; ++c) {
        auto* item = new QTableWidgetItem(texts[c]);
        item->setData(Qt::UserRole, move.target);
        item->setToolTip(QStringLiteral("device %1 sends %2 to device %3").arg(move.source).arg(qstr(move.slice_text())).arg(move.target));
        moves_->setItem(r, c, item);
      }
    }
    filling_ = false;
  }

  Selection& selection_;
  QLabel *facts_, *before_title_, *mesh_title_, *after_title_;
  ShardWidget *before_, *after_;
  MeshWidget* mesh_;
  QTableWidget* moves_;
  QSplitter* split_;
  TracePtr shown_;
  int collective_ = -2, array_ = -2;
  bool filling_ = false;
};

QWidget* make_reshard(ViewContext& context) { return new ReshardView(context.selection); }
QString text(const Selection& selection) {
  const auto reshard = reshard_of(selection);
  return reshard ? reshard_text(*selection.trace(), *reshard) : QStringLiteral("nothing was resharded here\n");
}

}  // namespace

const ViewDef kReshardView{
    .id = "reshard",
    .title = "Reshard",
    .key = "Ctrl+Shift+H",
    .doc = "Before and after of a reshard, with every slice that moves and its bytes",
    .area = ViewArea::kBottom,
    .make = make_reshard,
    .text = text,
};

}  // namespace shardlab::gui
