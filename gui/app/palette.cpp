#include "gui/app/palette.h"

#include <QAction>
#include <QKeyEvent>
#include <QLineEdit>
#include <QListWidget>
#include <QRegularExpression>
#include <QVBoxLayout>

#include <algorithm>
#include <iterator>

#include "gui/app/main_window.h"
#include "gui/app/view_link.h"
#include "gui/models/filter.h"
#include "gui/models/format.h"
#include "gui/views/timeline_canvas.h"

namespace shardlab::gui {
namespace {

constexpr std::size_t kEntriesMax = 200;
constexpr std::size_t kFilteredAtOnceMax = 2000;  // things of a trace that are looked through without leaving the window's thread

// Takes what has every word of a text.
struct Offers {
  explicit Offers(const QString& text) : words(text.toLower().split(QLatin1Char(' '), Qt::SkipEmptyParts)) {}
  bool full() const { return entries.size() >= kEntriesMax; }
  void add(const QString& title, const QString& hint, std::function<void()> run) {
    if (full()) return;
    const QString all = (title + QLatin1Char(' ') + hint).toLower();
    if (std::all_of(words.begin(), words.end(), [&](const QString& word) { return all.contains(word); }))
      entries.push_back({title, hint, std::move(run)});
  }
  QStringList words;
  std::vector<PaletteEntry> entries;
};

class Palette : public QDialog {
 public:
  explicit Palette(MainWindow& window)
      : QDialog(&window, Qt::Popup), window_(window), field_(new QLineEdit(this)), list_(new QListWidget(this)) {
    setAttribute(Qt::WA_DeleteOnClose);
    setAccessibleName(QStringLiteral("Command palette"));
    field_->setPlaceholderText(QStringLiteral("A command, an array, a collective, a diagnosis, \"process 3\", \"1.5ms\", a link …"));
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
  ~Palette() override { window_.background().cancel(this); }

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
  // The commands at once, what the trace has as soon as it is found: until then what was found before stays.
  void fill() {
    Selection& selection = window_.selection();
    const TracePtr trace = selection.trace();
    const bool few = !trace || trace->arrays.size() + trace->collectives.size() <= kFilteredAtOnceMax;
    searching_ = true;
    chosen_early_ = false;
    window_.background().run(
        this, few,
        [&selection, trace, text = field_->text()](const std::stop_token& stop) { return find_things(selection, trace, text, stop); },
        [this](std::vector<PaletteEntry> things) { show_entries(std::move(things)); });
  }

  void show_entries(std::vector<PaletteEntry> things) {
    searching_ = false;
    entries_ = find_commands(window_, field_->text());
    std::move(things.begin(), things.end(), std::back_inserter(entries_));
    if (entries_.size() > kEntriesMax) entries_.resize(kEntriesMax);
    list_->clear();
    for (const auto& entry : entries_)
      list_->addItem(entry.hint.isEmpty() ? entry.title : entry.title + QStringLiteral("    ") + entry.hint);
    if (entries_.empty()) list_->addItem(QStringLiteral("Nothing fits."));
    list_->setCurrentRow(0);
    if (chosen_early_) choose();
  }

  // Who is quicker than the search gets what it finds.
  void choose() {
    if (searching_) {
      chosen_early_ = true;
      return;
    }
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
  bool searching_ = false, chosen_early_ = false;
};

}  // namespace

std::vector<PaletteEntry> find_commands(MainWindow& window, const QString& text) {
  Offers offers(text);
  const TracePtr& trace = window.selection().trace();
  static const QRegularExpression kTime(QStringLiteral("^\\d+(\\.\\d+)?\\s*(ns|us|µs|ms|s)$"));
  if (trace && kTime.match(text.trimmed()).hasMatch())
    if (const auto ns = parse_quantity(text.trimmed()))
      offers.entries.push_back({QStringLiteral("Go to %1").arg(duration_text(Ns(*ns))), {}, [&window, at = trace->range.begin + Ns(*ns)] {
                                  auto* canvas = &window.timeline();
                                  const Ns half = canvas->scale().window().length() / 2;
                                  canvas->set_window({at - half, at + half});
                                }});
  if (is_link(text))
    offers.entries.push_back(
        {QStringLiteral("Go to this link"), QStringLiteral("a view of the trace"), [&window, text] { window.go_to_link(text); }});
  for (QAction* action : window.actions_of_menus())
    offers.add(action->text().remove(QLatin1Char('&')), action->shortcut().toString(QKeySequence::NativeText),
               [action] { action->trigger(); });
  const auto timeline_key = window.timeline().key_of;
  for (const auto& def : timeline_keys())
    offers.add(QStringLiteral("Timeline: ") + QString::fromUtf8(def.doc), timeline_key(def).toString(QKeySequence::NativeText),
               [&window, &def] { def.run(window.timeline()); });
  return std::move(offers.entries);
}

std::vector<PaletteEntry> find_things(Selection& selection, const TracePtr& trace, const QString& text, const std::stop_token& stop) {
  if (!trace) return {};
  Offers offers(text);
  const auto each = [&](const auto& rows, const auto& offer) {
    for (std::size_t i = 0; i < rows.size() && !offers.full() && !stop.stop_requested(); ++i) offer(rows[i], int(i));
  };
  each(trace->diagnoses, [&](const Diagnosis& row, int i) {
    offers.add(qstr(row.code), qstr(row.message), [&selection, i] { selection.select_diagnosis(i); });
  });
  each(trace->processes, [&](const Process& row, int) {
    offers.add(QStringLiteral("process %1").arg(row.index), qstr(row.state),
               [&selection, index = row.index] { selection.select_process(index); });
  });
  each(trace->devices, [&](const Device& row, int) {
    offers.add(QStringLiteral("device %1").arg(row.ordinal), qstr(row.name),
               [&selection, ordinal = row.ordinal] { selection.select_device(ordinal); });
  });
  each(trace->arrays, [&](const Array& row, int i) {
    offers.add(QStringLiteral("array ") + qstr(row.display_name()), qstr(row.layout->spec + " " + trace->site_text(row.site)),
               [&selection, i] { selection.select_array(i); });
  });
  each(trace->collectives, [&](const Collective& row, int i) {
    offers.add(QStringLiteral("collective #%1").arg(i),
               qstr(row.type->kind + " of " + row.type->op + " " + trace->site_text(row.type->site)),
               [&selection, i] { selection.select_collective(i); });
  });
  return std::move(offers.entries);
}

std::vector<PaletteEntry> find_entries(MainWindow& window, const QString& text) {
  std::vector<PaletteEntry> entries = find_commands(window, text);
  auto things = find_things(window.selection(), window.selection().trace(), text);
  std::move(things.begin(), things.end(), std::back_inserter(entries));
  return entries;
}

QDialog* make_palette(MainWindow& window) { return new Palette(window); }

}  // namespace shardlab::gui
