// The sharding view: a named array at its point of the program, who holds what, and the mesh beside it.
#include <QAbstractListModel>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QListView>
#include <QSplitter>
#include <QVBoxLayout>

#include "gui/models/format.h"
#include "gui/models/text_twin.h"
#include "gui/views/mesh_widget.h"
#include "gui/views/shard_widget.h"
#include "gui/views/theme.h"
#include "gui/views/view_def.h"

namespace shardlab::gui {
namespace {

// The arrays of a trace, whose words are made when they are looked at: a long run has very many.
class ArrayNames : public QAbstractListModel {
 public:
  using QAbstractListModel::QAbstractListModel;
  void set_trace(TracePtr trace) {
    beginResetModel();
    trace_ = std::move(trace);
    endResetModel();
  }
  int rowCount(const QModelIndex& parent = {}) const override { return parent.isValid() || !trace_ ? 0 : int(trace_->arrays.size()); }
  QVariant data(const QModelIndex& index, int role) const override {
    if (!index.isValid() || (role != Qt::DisplayRole && role != Qt::ToolTipRole)) return {};
    const Array& array = trace_->arrays[std::size_t(index.row())];
    const std::string where = trace_->site_text(array.site);
    const QString text = qstr(array.display_name()) + QStringLiteral("   ") + qstr(array.layout->spec);
    return where.empty() ? text : text + QStringLiteral("   at ") + qstr(where);
  }

  // What is typed on the list is looked for where that takes no time.
  QModelIndexList match(const QModelIndex& start, int role, const QVariant& value, int hits, Qt::MatchFlags flags) const override {
    constexpr int kMatchMax = 5000;
    return rowCount() > kMatchMax ? QModelIndexList() : QAbstractListModel::match(start, role, value, hits, flags);
  }

 private:
  TracePtr trace_;
};

class ShardingView : public QWidget {
 public:
  explicit ShardingView(Selection& selection) : selection_(selection) {
    picker_ = new QComboBox(this);
    names_ = new ArrayNames(this);
    picker_->setModel(names_);
    if (auto* list = qobject_cast<QListView*>(picker_->view())) list->setUniformItemSizes(true);
    picker_->setAccessibleName(QStringLiteral("Array"));
    picker_->setToolTip(QStringLiteral("The array to show, with the line that gave it this sharding"));
    picker_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    picker_->setMinimumContentsLength(16);
    picker_->setMaxVisibleItems(24);
    facts_ = new QLabel(this);
    facts_->setTextFormat(Qt::RichText);
    facts_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    facts_->setMinimumWidth(80);
    auto* head = new QVBoxLayout;
    head->setContentsMargins(8, 6, 8, 6);
    head->setSpacing(4);
    head->addWidget(picker_);
    head->addWidget(facts_);
    shards_ = new ShardWidget(selection, this);
    mesh_ = new MeshWidget(selection, this);
    auto* split = new QSplitter(Qt::Horizontal, this);
    split->addWidget(shards_);
    split->addWidget(mesh_);
    split->setStretchFactor(0, 7);
    split->setStretchFactor(1, 3);
    split->setChildrenCollapsible(false);
    split->setSizes({700, 300});
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addLayout(head);
    layout->addWidget(split, 1);
    setFocusProxy(picker_);
    connect(picker_, &QComboBox::activated, this, [this](int row) { selection_.select_array(row, this); });
    connect(&selection, &Selection::trace_changed, this, [this] { fill_picker(); });
    connect(&selection, &Selection::changed, this, [this](const SelectionState& state) { show_array(state.array); });
  }

 private:
  void fill_picker() {
    shown_ = -2;
    names_->set_trace(selection_.trace());
    picker_->setEnabled(picker_->count() > 0);
  }

  void show_array(int index) {
    if (index == shown_ && index >= 0) return;
    shown_ = index;
    const TracePtr& trace = selection_.trace();
    if (!trace || index < 0) {
      facts_->clear();
      shards_->set_array(-1);
      mesh_->set_mesh(trace && !trace->meshes.empty() ? 0 : -1);
      return;
    }
    const Array& array = trace->arrays[std::size_t(index)];
    picker_->setCurrentIndex(index);
    QStringList facts{QStringLiteral("<b>%1</b>").arg(html(array.type_text())), html(make_shard_grid(array).summary())};
    if (array.bytes_per_device() > 0) facts << bytes_text(array.bytes_per_device()) + QStringLiteral(" on each device");
    if (array.layout->mesh >= 0) facts << QStringLiteral("mesh %1").arg(html(trace->meshes[std::size_t(array.layout->mesh)].text()));
    facts_->setText(facts.join(QStringLiteral(" &nbsp;·&nbsp; ")));
    facts_->setToolTip(facts_->text());
    shards_->set_array(index);
    mesh_->set_mesh(array.layout->mesh);
  }

  Selection& selection_;
  QComboBox* picker_;
  ArrayNames* names_;
  QLabel* facts_;
  ShardWidget* shards_;
  MeshWidget* mesh_;
  int shown_ = -2;
};

QWidget* make_sharding(ViewContext& context) { return new ShardingView(context.selection); }

}  // namespace

const ViewDef kShardingView{
    .id = "sharding",
    .title = "Sharding",
    .key = "Ctrl+Shift+S",
    .doc = "Which device holds which part of an array, and where that device lies in the mesh",
    .area = ViewArea::kBottom,
    .make = make_sharding,
    .text =
        [](const Selection& s) {
          const int array = s.state().array;
          return array_text(*s.trace(), array) + uses_text(*s.trace(), array, s.state().device) +
                 mesh_text(*s.trace(), array < 0 ? -1 : s.trace()->arrays[std::size_t(array)].layout->mesh, s.state());
        },
};

}  // namespace shardlab::gui
