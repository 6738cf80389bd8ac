// The diagnoses: a list, and the chosen one with both sides beside each other.
#include <QEvent>
#include <QHeaderView>
#include <QTextBrowser>
#include <QVBoxLayout>

#include <algorithm>

#include "gui/models/text_twin.h"
#include "gui/views/diagnosis_html.h"
#include "gui/views/trace_table.h"
#include "gui/views/view_def.h"
#include "gui/views/when_seen.h"

namespace shardlab::gui {
namespace {

class DiagnosesView : public QWidget {
 public:
  explicit DiagnosesView(ViewContext& context) : selection_(context.selection) {
    table_ = new TraceTable(diagnosis_table(), context, this);
    table_->on_choose = [this](int row) { selection_.select_diagnosis(row, this); };
    table_->chosen_row = [](const SelectionState& state) { return state.diagnosis; };
    pane_ = new QTextBrowser(this);
    pane_->setOpenLinks(false);
    pane_->setAccessibleName(QStringLiteral("The diagnosis with both sides"));
    pane_->document()->setDocumentMargin(10);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(table_);
    layout->addWidget(pane_, 1);
    setFocusProxy(pane_);
    connect(pane_, &QTextBrowser::anchorClicked, this, [this](const QUrl& url) { follow_link(selection_, url.toString(), this); });
    connect(&selection_, &Selection::changed, this, [this] {
      const int diagnosis = std::max(selection_.state().diagnosis, 0);
      if (shown_ == selection_.trace() && diagnosis == diagnosis_) return;  // another event of it was chosen
      seen_.mark();
    });
  }

 protected:
  void changeEvent(QEvent* event) override {
    if (event->type() == QEvent::PaletteChange) seen_.mark();
    QWidget::changeEvent(event);
  }

 private:
  // Reads source lines and lays out tables: once for each diagnosis, and when it is looked at.
  void refresh() {
    const TracePtr& trace = selection_.trace();
    shown_ = trace;
    diagnosis_ = std::max(selection_.state().diagnosis, 0);
    table_->setVisible(trace && trace->diagnoses.size() > 1);
    // The list has the keyboard where there is one to choose from.
    setFocusProxy(table_->isVisibleTo(this) ? static_cast<QWidget*>(table_) : pane_);
    if (!trace) return pane_->clear();
    if (table_->isVisibleTo(this))
      table_->setFixedHeight(std::min(int(trace->diagnoses.size()), 6) * table_->verticalHeader()->defaultSectionSize() +
                             table_->horizontalHeader()->sizeHint().height() + 4);
    if (trace->diagnoses.empty()) return pane_->setHtml(no_diagnosis_html(*trace, theme_of(this)));
    pane_->setHtml(diagnosis_html(*trace, diagnosis_, theme_of(this)));
  }

  Selection& selection_;
  TraceTable* table_;
  QTextBrowser* pane_;
  TracePtr shown_;  // whose diagnosis is shown
  int diagnosis_ = -1;
  WhenSeen seen_{this, [this] { refresh(); }};
};

QWidget* make_diagnoses(ViewContext& context) { return new DiagnosesView(context); }

}  // namespace

const ViewDef kDiagnosesView{
    .id = "diagnoses",
    .title = "Diagnoses",
    .key = "Ctrl+Shift+D",
    .doc = "What is wrong, with both sides, their source lines and what to do",
    .area = ViewArea::kBottomRight,
    .make = make_diagnoses,
    .text = [](const Selection& s) { return diagnosis_text(*s.trace(), s.state().diagnosis); },
};

}  // namespace shardlab::gui
