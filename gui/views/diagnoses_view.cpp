// The diagnoses: a list, and the chosen one with both sides beside each other.
#include <QEvent>
#include <QHeaderView>
#include <QTextBrowser>
#include <QVBoxLayout>

#include "gui/models/text_twin.h"
#include "gui/views/diagnosis_html.h"
#include "gui/views/trace_table.h"
#include "gui/views/view_def.h"

namespace shardlab::gui {
namespace {

class DiagnosesView : public QWidget {
 public:
  explicit DiagnosesView(Selection& selection) : selection_(selection) {
    table_ = new TraceTable(diagnosis_table(), selection, this);
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
    connect(&selection, &Selection::changed, this, [this] { show(selection_.state().diagnosis); });
  }

 protected:
  void changeEvent(QEvent* event) override {
    if (event->type() == QEvent::PaletteChange) show(selection_.state().diagnosis);
    QWidget::changeEvent(event);
  }

 private:
  using QWidget::show;
  void show(int diagnosis) {
    const TracePtr& trace = selection_.trace();
    table_->setVisible(trace && trace->diagnoses.size() > 1);
    // The list has the keyboard where there is one to choose from.
    setFocusProxy(table_->isVisibleTo(this) ? static_cast<QWidget*>(table_) : pane_);
    if (!trace) return pane_->clear();
    if (table_->isVisibleTo(this))
      table_->setFixedHeight(std::min(int(trace->diagnoses.size()), 6) * table_->verticalHeader()->defaultSectionSize() +
                             table_->horizontalHeader()->sizeHint().height() + 4);
    if (trace->diagnoses.empty()) return pane_->setHtml(no_diagnosis_html(*trace, theme_of(this)));
    pane_->setHtml(diagnosis_html(*trace, std::max(diagnosis, 0), theme_of(this)));
  }

  Selection& selection_;
  TraceTable* table_;
  QTextBrowser* pane_;
};

QWidget* make_diagnoses(ViewContext& context) { return new DiagnosesView(context.selection); }

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
