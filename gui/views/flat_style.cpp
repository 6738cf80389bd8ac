#include "gui/views/flat_style.h"

#include <QHeaderView>
#include <QPainter>
#include <QStyleOption>
#include <QTableView>
#include <QTextBrowser>
#include <QTreeView>

#include <algorithm>

namespace shardlab::gui {
namespace {

// Around what a header, a tab and a field say; of a header's label Fusion has a part itself.
constexpr QMargins kHeader(6, 3, 7, 4), kHeaderLabel(4, 0, 5, 1), kTab(6, 7, 6, 5), kField(6, 4, 6, 4);
constexpr int kSeparatorPx = 5, kTitlePx = 5, kTipPx = 4, kHandlePx = 26;
constexpr int kCellPx = 4;  // beside the text of a cell, so that a number does not touch the next column's text

QSize with(const QMargins& margins, const QSize& contents) { return contents.grownBy(margins); }

// A field of its own, not the one inside of a spin box.
bool is_field(const QStyleOption* option) {
  const auto* frame = qstyleoption_cast<const QStyleOptionFrame*>(option);
  return frame && frame->lineWidth > 0;
}

void paint_header(QPainter& painter, const QRect& rect, const QPalette& palette) {
  painter.fillRect(rect, palette.button());
  painter.fillRect(QRect(rect.left(), rect.bottom(), rect.width(), 1), palette.mid());
  painter.fillRect(QRect(rect.right(), rect.top(), 1, rect.height()), palette.mid());
}

// A column's title stands as its cells do: numbers to the right.
Qt::Alignment alignment_of(const QStyleOptionHeader& header, const QWidget* widget) {
  const auto* view = qobject_cast<const QHeaderView*>(widget);
  if (!view || !view->model() || header.orientation != Qt::Horizontal) return header.textAlignment;
  const QVariant cells = view->model()->index(0, header.section).data(Qt::TextAlignmentRole);
  return cells.isValid() ? Qt::Alignment(cells.toInt()) : Qt::AlignLeft | Qt::AlignVCenter;
}

// A groove, and on it the part that is in sight, darker where it is held.
void paint_scroll_bar(QPainter& painter, const QRect& groove, const QRect& handle, const QStyleOptionSlider& bar) {
  const QColor base = bar.palette.color(QPalette::Window), ink = bar.palette.color(QPalette::WindowText);
  const auto mixed = [&](double share) {
    const auto mix = [share](int a, int b) { return int(a * share + b * (1 - share)); };
    return QColor(mix(ink.red(), base.red()), mix(ink.green(), base.green()), mix(ink.blue(), base.blue()));
  };
  painter.fillRect(groove, base);
  if (!(bar.state & QStyle::State_Enabled) || bar.maximum == bar.minimum) return;
  const bool held = bar.activeSubControls & QStyle::SC_ScrollBarSlider;
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(mixed(held ? 0.45 : 0.28));
  painter.drawRoundedRect(QRectF(handle).adjusted(3, 3, -3, -3), 4, 4);
}

void paint_tab(QPainter& painter, const QRect& rect, const QPalette& palette, bool selected) {
  painter.fillRect(rect, selected ? palette.button() : palette.window());
  if (selected) painter.fillRect(QRect(rect.left(), rect.top(), rect.width(), 2), palette.highlight());
}

void paint_title(QPainter& painter, const QStyleOptionDockWidget& option, const QRect& text) {
  painter.fillRect(option.rect, option.palette.button());
  painter.fillRect(QRect(option.rect.left(), option.rect.bottom(), option.rect.width(), 1), option.palette.mid());
  QFont bold = painter.font();
  bold.setWeight(QFont::DemiBold);
  painter.setFont(bold);
  painter.setPen(option.palette.color(QPalette::WindowText));
  painter.drawText(text, Qt::AlignLeft | Qt::AlignVCenter, QFontMetrics(bold).elidedText(option.title, Qt::ElideRight, text.width()));
}

void paint_field(QPainter& painter, const QRect& rect, const QPalette& palette) {
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(palette.mid(), 1));
  painter.setBrush(palette.base());
  painter.drawRoundedRect(QRectF(rect).adjusted(0.5, 0.5, -0.5, -0.5), 3, 3);
}

}  // namespace

void FlatStyle::polish(QWidget* widget) {
  QProxyStyle::polish(widget);
  if (qobject_cast<QTableView*>(widget) || qobject_cast<QTreeView*>(widget) || qobject_cast<QTextBrowser*>(widget))
    static_cast<QFrame*>(widget)->setFrameShape(QFrame::NoFrame);
}

int FlatStyle::pixelMetric(PixelMetric metric, const QStyleOption* option, const QWidget* widget) const {
  switch (metric) {
    case PM_DockWidgetSeparatorExtent:
      return kSeparatorPx;
    case PM_DockWidgetTitleMargin:
      return kTitlePx;
    case PM_FocusFrameHMargin:
      return kCellPx;
    case PM_TabBarTabHSpace:
      return kTab.left() + kTab.right();
    case PM_TabBarTabVSpace:
      return kTab.top() + kTab.bottom();
    case PM_TabBarTabShiftVertical:
    case PM_TabBarTabOverlap:
    case PM_ToolBarFrameWidth:
    case PM_ToolBarItemMargin:
    case PM_ToolBarItemSpacing:
      return 0;
    case PM_ScrollBarSliderMin:
      return kHandlePx;
    case PM_ToolTipLabelFrameWidth:
      return kTipPx;
    default:
      return QProxyStyle::pixelMetric(metric, option, widget);
  }
}

int FlatStyle::styleHint(StyleHint hint, const QStyleOption* option, const QWidget* widget, QStyleHintReturn* data) const {
  if (hint == SH_ComboBox_Popup) return 0;  // a menu measures every entry, and a long run has very many arrays
  if (hint == SH_Table_GridLineColor && option) return int(option->palette.color(QPalette::Midlight).rgba());
  return QProxyStyle::styleHint(hint, option, widget, data);
}

QSize FlatStyle::sizeFromContents(ContentsType type, const QStyleOption* option, const QSize& contents, const QWidget* widget) const {
  if (type == CT_LineEdit && is_field(option)) return with(kField, contents);
  const QSize size = QProxyStyle::sizeFromContents(type, option, contents, widget);
  return type == CT_HeaderSection ? with(kHeader, size) : size;
}

QRect FlatStyle::subElementRect(SubElement element, const QStyleOption* option, const QWidget* widget) const {
  if (element == SE_LineEditContents && is_field(option)) return option->rect.marginsRemoved(kField);
  return QProxyStyle::subElementRect(element, option, widget);
}

// Scroll bars have no buttons: the groove goes from end to end.
QRect FlatStyle::subControlRect(ComplexControl control, const QStyleOptionComplex* option, SubControl part, const QWidget* widget) const {
  const auto* bar = control == CC_ScrollBar ? qstyleoption_cast<const QStyleOptionSlider*>(option) : nullptr;
  if (!bar) return QProxyStyle::subControlRect(control, option, part, widget);
  const bool across = bar->orientation == Qt::Horizontal;
  const QRect& rect = bar->rect;
  const int length = across ? rect.width() : rect.height();
  const qint64 steps = qint64(bar->maximum) - bar->minimum + bar->pageStep;
  const int handle = bar->maximum == bar->minimum ? length
                                                  : std::clamp(int(qint64(length) * bar->pageStep / std::max<qint64>(steps, 1)),
                                                               std::min(kHandlePx, length), length);
  const int begin = sliderPositionFromValue(bar->minimum, bar->maximum, bar->sliderPosition, length - handle, bar->upsideDown);
  const auto stretch = [&](int from, int to) {
    const QRect part_rect = across ? QRect(rect.left() + from, rect.top(), to - from, rect.height())
                                   : QRect(rect.left(), rect.top() + from, rect.width(), to - from);
    return visualRect(bar->direction, rect, part_rect);
  };
  switch (part) {
    case SC_ScrollBarGroove:
      return rect;
    case SC_ScrollBarSlider:
      return stretch(begin, begin + handle);
    case SC_ScrollBarSubPage:
      return stretch(0, begin);
    case SC_ScrollBarAddPage:
      return stretch(begin + handle, length);
    default:
      return {};
  }
}

void FlatStyle::drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter, const QWidget* widget) const {
  painter->save();
  switch (element) {
    case PE_IndicatorDockWidgetResizeHandle:
      painter->fillRect(option->rect, option->state & State_MouseOver ? option->palette.highlight() : option->palette.window());
      break;
    case PE_PanelTipLabel:
      painter->setPen(option->palette.color(QPalette::Mid));
      painter->setBrush(option->palette.toolTipBase());
      painter->drawRect(option->rect.adjusted(0, 0, -1, -1));
      break;
    case PE_PanelLineEdit:
      if (is_field(option))
        paint_field(*painter, option->rect, option->palette);
      else
        QProxyStyle::drawPrimitive(element, option, painter, widget);
      break;
    case PE_PanelScrollAreaCorner:
      painter->fillRect(option->rect, option->palette.window());
      break;
    case PE_FrameStatusBarItem:
      break;
    default:
      QProxyStyle::drawPrimitive(element, option, painter, widget);
  }
  painter->restore();
}

void FlatStyle::drawControl(ControlElement element, const QStyleOption* option, QPainter* painter, const QWidget* widget) const {
  painter->save();
  switch (element) {
    case CE_HeaderSection:
      paint_header(*painter, option->rect, option->palette);
      break;
    case CE_HeaderLabel:
      if (const auto* header = qstyleoption_cast<const QStyleOptionHeader*>(option)) {
        QStyleOptionHeader muted = *header;
        muted.textAlignment = alignment_of(*header, widget);
        muted.rect = header->rect.marginsRemoved(kHeaderLabel);
        muted.palette.setColor(QPalette::ButtonText, option->palette.color(QPalette::PlaceholderText));
        QProxyStyle::drawControl(element, &muted, painter, widget);
      }
      break;
    case CE_TabBarTabShape:
      paint_tab(*painter, option->rect, option->palette, option->state & State_Selected);
      break;
    case CE_DockWidgetTitle:
      if (const auto* dock = qstyleoption_cast<const QStyleOptionDockWidget*>(option))
        paint_title(*painter, *dock, subElementRect(SE_DockWidgetTitleBarText, option, widget).adjusted(4, 0, 0, 0));
      break;
    case CE_Splitter:
      painter->fillRect(option->rect, option->palette.window());
      break;
    case CE_ToolBar:
      break;
    default:
      QProxyStyle::drawControl(element, option, painter, widget);
  }
  painter->restore();
}

void FlatStyle::drawComplexControl(ComplexControl control, const QStyleOptionComplex* option, QPainter* painter,
                                   const QWidget* widget) const {
  const auto* bar = control == CC_ScrollBar ? qstyleoption_cast<const QStyleOptionSlider*>(option) : nullptr;
  if (!bar) return QProxyStyle::drawComplexControl(control, option, painter, widget);
  painter->save();
  paint_scroll_bar(*painter, bar->rect, subControlRect(CC_ScrollBar, bar, SC_ScrollBarSlider, widget), *bar);
  painter->restore();
}

}  // namespace shardlab::gui
