// The sharding view: a named array at its point of the program, who holds what, and the mesh beside it.
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
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

class ShardingView : public QWidget {
 public:
  explicit ShardingView(Selection& selection) : selection_(selection) {
    picker_ = new QComboBox(this);
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
    connect(picker_, &QComboBox::activated, this, [this](int row) { selection_.select_array(picker_->itemData(row).toInt(), this); });
    connect(&selection, &Selection::trace_changed, this, [this] { fill_picker(); });
    connect(&selection, &Selection::changed, this, [this](const SelectionState& state) { show_array(state.array); });
  }

 private:
  void fill_picker() {
    picker_->clear();
    shown_ = -2;
    const TracePtr& trace = selection_.trace();
    if (!trace) return;
    for (std::size_t i = 0; i < trace->arrays.size(); ++i) {
      const Array& array = trace->arrays[i];
      const std::string where = trace->site_text(array.site);
      QString text = qstr(array.display_name()) + QStringLiteral("   ") + qstr(array.layout->spec);
      if (!where.empty()) text += QStringLiteral("   at ") + qstr(where);
      picker_->addItem(text, int(i));
      picker_->setItemData(int(i), text, Qt::ToolTipRole);
    }
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
    picker_->setCurrentIndex(picker_->findData(index));
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
    .key = "Ctrl+2",
    .doc = "Which device holds which part of an array, and where that device lies in the mesh",
    .area = ViewArea::kBottom,
    .make = make_sharding,
    .text =
        [](const Selection& s) {
          const int array = s.state().array;
          return array_text(*s.trace(), array) +
                 mesh_text(*s.trace(), array < 0 ? -1 : s.trace()->arrays[std::size_t(array)].layout->mesh, s.state());
        },
};

}  // namespace shardlab::gui
