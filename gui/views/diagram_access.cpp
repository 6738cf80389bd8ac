#include "gui/views/diagram_access.h"

#include <QAccessible>
#include <QAccessibleWidget>
#include <QPointer>

#include <map>

namespace shardlab::gui {
namespace {

// A group (item -1) or an item of a diagram.
class Part : public QAccessibleInterface, public QAccessibleActionInterface {
 public:
  Part(QWidget* widget, int group, int item) : widget_(widget), group_(group), item_(item) {}
  QAccessible::Id id = 0;

  bool isValid() const override { return widget_ && diagram() && group_ < diagram()->access_groups(); }
  QObject* object() const override { return nullptr; }
  QAccessibleInterface* parent() const override;
  QAccessibleInterface* child(int index) const override;
  int childCount() const override { return item_ < 0 && isValid() ? diagram()->access_items(group_) : 0; }
  int indexOfChild(const QAccessibleInterface* child) const override {
    const auto* part = dynamic_cast<const Part*>(child);
    return part && part->group_ == group_ ? part->item_ : -1;
  }
  QAccessibleInterface* childAt(int, int) const override { return nullptr; }
  QString text(QAccessible::Text what) const override {
    if (!isValid() || what != QAccessible::Name) return {};
    return item_ < 0 ? diagram()->access_group_name(group_) : diagram()->access_item_name(group_, item_);
  }
  void setText(QAccessible::Text, const QString&) override {}
  QRect rect() const override {
    if (!isValid() || item_ < 0) return {};
    const QRect box = diagram()->access_item_box(group_, item_);
    return box.isEmpty() ? QRect() : QRect(widget_->mapToGlobal(box.topLeft()), box.size());
  }
  QAccessible::Role role() const override { return item_ < 0 ? QAccessible::List : QAccessible::ListItem; }
  QAccessible::State state() const override {
    QAccessible::State state;
    state.selectable = item_ >= 0;
    state.offscreen = item_ >= 0 && rect().isEmpty();
    return state;
  }
  void* interface_cast(QAccessible::InterfaceType type) override {
    return type == QAccessible::ActionInterface && item_ >= 0 ? static_cast<QAccessibleActionInterface*>(this) : nullptr;
  }
  QStringList actionNames() const override { return {pressAction()}; }
  void doAction(const QString& name) override {
    if (isValid() && name == pressAction()) diagram()->access_choose(group_, item_);
  }
  QStringList keyBindingsForAction(const QString&) const override { return {}; }

 private:
  AccessibleDiagram* diagram() const { return dynamic_cast<AccessibleDiagram*>(widget_.data()); }
  QPointer<QWidget> widget_;
  int group_, item_;
};

class Diagram : public QAccessibleWidget {
 public:
  explicit Diagram(QWidget* widget) : QAccessibleWidget(widget, QAccessible::Chart, widget->accessibleName()) {}
  ~Diagram() override {
    for (const auto& [key, part] : parts_) QAccessible::deleteAccessibleInterface(part->id);
  }
  int childCount() const override { return diagram()->access_groups(); }
  QAccessibleInterface* child(int index) const override { return index >= 0 && index < childCount() ? part(index, -1) : nullptr; }
  int indexOfChild(const QAccessibleInterface* child) const override {
    for (int i = 0; i < childCount(); ++i)
      if (this->child(i) == child) return i;
    return -1;
  }
  QString text(QAccessible::Text what) const override {
    if (what == QAccessible::Name) return widget()->accessibleName();
    if (what == QAccessible::Description) return widget()->accessibleDescription();
    return QAccessibleWidget::text(what);
  }
  Part* part(int group, int item) const {
    auto& slot = parts_[{group, item}];
    if (!slot) {
      if (parts_.size() > kPartsMax) const_cast<Diagram*>(this)->forget();
      slot = new Part(widget(), group, item);
      slot->id = QAccessible::registerAccessibleInterface(slot);
    }
    return parts_[{group, item}];
  }

 private:
  static constexpr std::size_t kPartsMax = 100'000;  // a reader walks a few; a tool that walks all must not fill the memory
  void forget() {
    for (auto it = parts_.begin(); it != parts_.end();)
      if (it->first.second >= 0 && it->second) {
        QAccessible::deleteAccessibleInterface(it->second->id);
        it = parts_.erase(it);
      } else {
        ++it;
      }
  }
  AccessibleDiagram* diagram() const { return dynamic_cast<AccessibleDiagram*>(widget()); }
  mutable std::map<std::pair<int, int>, Part*> parts_;
};

Diagram* diagram_of(QWidget* widget) { return dynamic_cast<Diagram*>(QAccessible::queryAccessibleInterface(widget)); }

QAccessibleInterface* Part::parent() const {
  if (!widget_) return nullptr;
  Diagram* whole = diagram_of(widget_);
  return item_ < 0 || !whole ? static_cast<QAccessibleInterface*>(whole) : whole->part(group_, -1);
}

QAccessibleInterface* Part::child(int index) const {
  Diagram* whole = widget_ ? diagram_of(widget_) : nullptr;
  return whole && index >= 0 && index < childCount() ? whole->part(group_, index) : nullptr;
}

QAccessibleInterface* make(const QString&, QObject* object) {
  auto* widget = qobject_cast<QWidget*>(object);
  return widget && dynamic_cast<AccessibleDiagram*>(widget) ? new Diagram(widget) : nullptr;
}

}  // namespace

void install_diagram_access() {
  static const bool installed = [] {
    QAccessible::installFactory(make);
    return true;
  }();
  (void)installed;
}

}  // namespace shardlab::gui
