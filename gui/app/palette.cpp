#include "gui/app/palette.h"

#include <QAction>
#include <QKeyEvent>
#include <QLineEdit>
#include <QListWidget>
#include <QRegularExpression>
#include <QVBoxLayout>

#include "gui/app/main_window.h"
#include "gui/models/filter.h"
#include "gui/models/format.h"
#include "gui/views/timeline_canvas.h"

namespace shardlab::gui {
namespace {

constexpr std::size_t kEntriesMax = 200;

class Palette : public QDialog {
 public:
  explicit Palette(MainWindow& window)
      : QDialog(&window, Qt::Popup), window_(window), field_(new QLineEdit(this)), list_(new QListWidget(this)) {
    setAttribute(Qt::WA_DeleteOnClose);
    setAccessibleName(QStringLiteral("Command palette"));
    field_->setPlaceholderText(QStringLiteral("A command, an array, a collective, a diagnosis, \"process 3\", \"1.5ms\" …"));
    field_->setAccessibleName(QStringLiteral("What to do or where to go"));
    field_->installEventFilter(this);
    list_->setUniformItemSizes(true);
    list_->setFocusPolicy(Qt::NoFocus);
    list_->setAccessibleName(QStringLiteral("What fits"));
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(8, 8, 8, 8);
    layout->addWidget(field_);
    layout->addWidget(list_, 1);
    resize(620, 420);
    move(window.geometry().center().x() - 310, window.geometry().top() + 90);
    connect(field_, &QLineEdit::textChanged, this, [this] { fill(); });
    connect(field_, &QLineEdit::returnPressed, this, [this] { choose(); });
    connect(list_, &QListWidget::itemClicked, this, [this] { choose(); });
    fill();
  }

 protected:
  bool eventFilter(QObject*, QEvent* event) override {
    if (event->type() != QEvent::KeyPress) return false;
    const int key = static_cast<QKeyEvent*>(event)->key();
    const int step = key == Qt::Key_Down ? 1 : key == Qt::Key_Up ? -1 : key == Qt::Key_PageDown ? 10 : key == Qt::Key_PageUp ? -10 : 0;
    if (step == 0) return false;
    list_->setCurrentRow(std::clamp(list_->currentRow() + step, 0, std::max(list_->count() - 1, 0)));
    return true;
  }

 private:
  void fill() {
    entries_ = find_entries(window_, field_->text());
    list_->clear();
    for (const auto& entry : entries_)
      list_->addItem(entry.hint.isEmpty() ? entry.title : entry.title + QStringLiteral("    ") + entry.hint);
    if (entries_.empty()) list_->addItem(QStringLiteral("Nothing fits."));
    list_->setCurrentRow(0);
  }
  void choose() {
    const int row = list_->currentRow();
    if (row < 0 || std::size_t(row) >= entries_.size()) return;
    const auto run = entries_[std::size_t(row)].run;
    close();
    run();
  }

  MainWindow& window_;
  QLineEdit* field_;
  QListWidget* list_;
  std::vector<PaletteEntry> entries_;
};

}  // namespace

std::vector<PaletteEntry> find_entries(MainWindow& window, const QString& text) {
  const QStringList words = text.toLower().split(QLatin1Char(' '), Qt::SkipEmptyParts);
  std::vector<PaletteEntry> entries;
  const auto offer = [&](const QString& title, const QString& hint, std::function<void()> run) {
    if (entries.size() >= kEntriesMax) return;
    const QString all = (title + QLatin1Char(' ') + hint).toLower();
    for (const auto& word : words)
      if (!all.contains(word)) return;
    entries.push_back({title, hint, std::move(run)});
  };
  Selection& selection = window.selection();
  const TracePtr& trace = selection.trace();
  static const QRegularExpression kTime(QStringLiteral("^\\d+(\\.\\d+)?\\s*(ns|us|µs|ms|s)$"));
  if (trace && kTime.match(text.trimmed()).hasMatch())
    if (const auto ns = parse_quantity(text.trimmed()))
      entries.push_back({QStringLiteral("Go to %1").arg(duration_text(Ns(*ns))), {}, [&window, at = trace->range.begin + Ns(*ns)] {
                           auto* canvas = &window.timeline();
                           const Ns half = canvas->scale().window().length() / 2;
                           canvas->set_window({at - half, at + half});
                         }});
  for (QAction* action : window.actions_of_menus())
    offer(action->text().remove(QLatin1Char('&')), action->shortcut().toString(QKeySequence::NativeText), [action] { action->trigger(); });
  const auto timeline_key = window.timeline().key_of;
  for (const auto& def : timeline_keys())
    offer(QStringLiteral("Timeline: ") + QString::fromUtf8(def.doc), timeline_key(def).toString(QKeySequence::NativeText),
          [&window, &def] { def.run(window.timeline()); });
  if (!trace) return entries;
  for (std::size_t i = 0; i < trace->diagnoses.size(); ++i)
    offer(qstr(trace->diagnoses[i].code), qstr(trace->diagnoses[i].message), [&selection, i] { selection.select_diagnosis(int(i)); });
  for (std::size_t i = 0; i < trace->arrays.size(); ++i)
    offer(QStringLiteral("array ") + qstr(trace->arrays[i].display_name()),
          qstr(trace->arrays[i].layout->spec + " " + trace->site_text(trace->arrays[i].site)),
          [&selection, i] { selection.select_array(int(i)); });
  for (const auto& process : trace->processes)
    offer(QStringLiteral("process %1").arg(process.index), qstr(process.state),
          [&selection, index = process.index] { selection.select_process(index); });
  for (const auto& device : trace->devices)
    offer(QStringLiteral("device %1").arg(device.ordinal), qstr(device.name),
          [&selection, ordinal = device.ordinal] { selection.select_device(ordinal); });
  for (std::size_t i = 0; i < trace->collectives.size() && entries.size() < kEntriesMax; ++i) {
    const CollectiveType& type = *trace->collectives[i].type;
    offer(QStringLiteral("collective #%1").arg(i), qstr(type.kind + " of " + type.op + " " + trace->site_text(type.site)),
          [&selection, i] { selection.select_collective(int(i)); });
  }
  return entries;
}

QDialog* make_palette(MainWindow& window) { return new Palette(window); }

}  // namespace shardlab::gui
