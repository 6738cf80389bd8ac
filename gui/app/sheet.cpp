#include "gui/app/sheet.h"

#include <QGridLayout>
#include <QLabel>

#include "gui/views/view_def.h"

namespace shardlab::gui {
namespace {
constexpr int kColumns = 4, kPartGap = 8;
}

QWidget* make_sheet(const std::map<std::string_view, QWidget*>& views, QWidget* parent) {
  auto* sheet = new QWidget(parent);
  auto* grid = new QGridLayout(sheet);
  grid->setContentsMargins(kPartGap, kPartGap, kPartGap, kPartGap);
  grid->setHorizontalSpacing(kPartGap);
  grid->setVerticalSpacing(2);
  int place = 0;
  for (const ViewDef* def : all_views()) {
    const int row = 2 * (place / kColumns), column = place % kColumns;
    auto* title = new QLabel(QStringLiteral("<b>%1</b>").arg(QString::fromUtf8(def->title).toHtmlEscaped()), sheet);
    QWidget* view = views.at(def->id);
    view->setParent(sheet);
    // All have one size, whatever they would like best.
    view->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Ignored);
    grid->addWidget(title, row, column);
    grid->addWidget(view, row + 1, column);
    grid->setColumnStretch(column, 1);
    grid->setRowStretch(row + 1, 1);
    view->show();
    ++place;
  }
  return sheet;
}

}  // namespace shardlab::gui
