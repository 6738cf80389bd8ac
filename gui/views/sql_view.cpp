// Questions to the trace in SQL: read-only, off the window's thread, with templates that teach the schema.
#include <QComboBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QShortcut>
#include <QSplitter>
#include <QTableView>
#include <QVBoxLayout>

#include "gui/models/background.h"
#include "gui/models/format.h"
#include "gui/views/table_export.h"
#include "gui/views/theme.h"
#include "gui/views/view_def.h"
#include "traces/trace_reader.h"

namespace shardlab::gui {
namespace {

constexpr int kRowsMax = 10'000;
constexpr int kMeasuredMax = 100;  // rows whose texts a column is made wide for

struct Template {
  const char* title;
  const char* sql;
};
constexpr Template kTemplates[] = {
    {"Collectives by kind",
     "SELECT s.text AS kind, count(*) AS calls, sum(c.wire_bytes) AS wire_bytes, max(c.last_ns - c.first_ns) AS slowest_ns\nFROM "
     "collectives c JOIN strings s ON s.id = c.kind GROUP BY 1 ORDER BY 3 DESC"},
    {"Who came late",
     "SELECT m.collective, m.process, m.start_ns - min(m.start_ns) OVER (PARTITION BY m.collective) AS late_ns\nFROM members m ORDER BY "
     "late_ns DESC LIMIT 50"},
    {"Launches that did not end",
     "SELECT l.process, l.launch, p.name, l.issued_ns FROM launches l LEFT JOIN programs p ON p.id = l.program\nWHERE l.done_ns IS NULL "
     "ORDER BY l.process, l.launch"},
    {"Events of an op",
     "SELECT t.name AS lane, e.time_ns, e.duration_ns FROM events e JOIN tracks t ON t.id = e.track JOIN strings s ON s.id = e.name\nWHERE "
     "s.text LIKE 'matmul%' ORDER BY e.time_ns"},
    {"Waits, longest first", "SELECT process, peer, collective, end_ns - begin_ns AS waited_ns FROM wait_edges ORDER BY waited_ns DESC"},
    {"Arrays and where they lie",
     "SELECT s.text AS array, l.shape, l.spec, a.time_ns FROM arrays a JOIN layouts l ON l.id = a.layout LEFT JOIN strings s ON s.id = "
     "a.name ORDER BY a.time_ns"},
    {"Who took an array, and who made it",
     "SELECT role, program, file, line, statement, position, donated, count(*) AS launches, min(issued_ns) AS first_ns FROM "
     "array_launches\n"
     "WHERE array = 1 GROUP BY 1, 2, 3, 4, 5, 6, 7 ORDER BY first_ns"},
    {"The most that each device held",
     "WITH change AS (SELECT device, begin_ns AS at_ns, bytes FROM array_memory\n"
     "  UNION ALL SELECT device, end_ns, -bytes FROM array_memory WHERE end_ns IS NOT NULL),\n"
     "held AS (SELECT device, at_ns, sum(bytes) OVER (PARTITION BY device ORDER BY at_ns, bytes ROWS UNBOUNDED PRECEDING) AS bytes FROM "
     "change)\n"
     "SELECT device, max(bytes) AS most_bytes, at_ns FROM held GROUP BY device ORDER BY most_bytes DESC"},
    {"Arrays at the moment of most memory",
     "WITH change AS (SELECT device, begin_ns AS at_ns, bytes FROM array_memory\n"
     "  UNION ALL SELECT device, end_ns, -bytes FROM array_memory WHERE end_ns IS NOT NULL),\n"
     "held AS (SELECT device, at_ns, sum(bytes) OVER (PARTITION BY device ORDER BY at_ns, bytes ROWS UNBOUNDED PRECEDING) AS bytes FROM "
     "change),\n"
     "peak AS (SELECT device, at_ns, max(bytes) FROM held)\n"
     "SELECT m.device, m.name, m.bytes, f.text AS file, s.line, s.statement, m.begin_ns, m.end_ns FROM peak p\n"
     "JOIN array_memory m ON m.device = p.device AND m.begin_ns <= p.at_ns AND (m.end_ns IS NULL OR m.end_ns > p.at_ns)\n"
     "JOIN arrays a ON a.id = m.array LEFT JOIN sites s ON s.id = a.site LEFT JOIN strings f ON f.id = s.file ORDER BY m.bytes DESC"},
    {"Tables and columns",
     "SELECT m.name AS 'table', i.name AS 'column', i.type FROM sqlite_master m, pragma_table_info(m.name) i WHERE m.type = 'table' ORDER "
     "BY 1, i.cid"},
};

struct Answer {
  QStringList titles;
  QList<QStringList> rows;
  QString error;
  bool more = false;
};

Answer ask(const std::string& path, const std::string& sql, const std::stop_token& stop) {
  Answer answer;
  try {
    traces::Database database = traces::TraceReader::open(path);
    traces::Statement row(database, sql);
    for (int c = 0; c < row.column_count(); ++c) answer.titles << qstr(row.column_name(c));
    while (row.step() && !stop.stop_requested()) {
      if (answer.rows.size() == kRowsMax) {
        answer.more = true;
        break;
      }
      QStringList cells;
      for (int c = 0; c < row.column_count(); ++c) cells << (row.is_null(c) ? QStringLiteral("–") : qstr(row.text(c)));
      answer.rows << cells;
    }
  } catch (const std::exception& problem) { answer.error = qstr(problem.what()); }
  return answer;
}

// The rows of an answer as they came: nothing is made anew of ten thousand of them.
class AnswerModel : public QAbstractTableModel {
 public:
  using QAbstractTableModel::QAbstractTableModel;
  void set(Answer answer) {
    beginResetModel();
    answer_ = std::move(answer);
    endResetModel();
  }
  int rowCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : int(answer_.rows.size()); }
  int columnCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : int(answer_.titles.size()); }
  QVariant data(const QModelIndex& index, int role) const override {
    return index.isValid() && role == Qt::DisplayRole ? answer_.rows[index.row()].value(index.column()) : QVariant();
  }
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override {
    return orientation == Qt::Horizontal && role == Qt::DisplayRole ? answer_.titles.value(section) : QVariant();
  }

 private:
  Answer answer_;
};

class SqlView : public QWidget {
 public:
  explicit SqlView(ViewContext& context) : selection_(context.selection), background_(context.background), model_(new AnswerModel(this)) {
    templates_ = new QComboBox(this);
    templates_->setAccessibleName(QStringLiteral("Questions to begin with"));
    for (const auto& each : kTemplates) templates_->addItem(QString::fromUtf8(each.title), QString::fromUtf8(each.sql));
    text_ = new QPlainTextEdit(this);
    text_->setAccessibleName(QStringLiteral("SQL"));
    text_->setTabChangesFocus(true);
    text_->setPlaceholderText(QStringLiteral("SELECT …   (docs/trace-schema.md has the tables)"));
    text_->setPlainText(templates_->itemData(0).toString());
    auto* run = new QPushButton(QStringLiteral("Ask"), this);
    run->setToolTip(QStringLiteral("Ctrl+Return. The trace is opened for reading alone."));
    note_ = new QLabel(this);
    note_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    table_ = new QTableView(this);
    table_->setModel(model_);
    table_->setAccessibleName(QStringLiteral("Answer"));
    table_->setEditTriggers(QAbstractItemView::NoEditTriggers);
    table_->setShowGrid(false);
    table_->verticalHeader()->hide();
    table_->verticalHeader()->setDefaultSectionSize(22);
    table_->verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    table_->horizontalHeader()->setResizeContentsPrecision(kMeasuredMax);
    table_->setTabKeyNavigation(false);
    offer_export(*table_);
    auto* bar = new QHBoxLayout;
    bar->setContentsMargins(8, 5, 8, 5);
    bar->setSpacing(8);
    bar->addWidget(templates_);
    bar->addWidget(run);
    bar->addWidget(note_, 1);
    auto* split = new QSplitter(Qt::Vertical, this);
    split->addWidget(text_);
    split->addWidget(table_);
    split->setSizes({90, 260});
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addLayout(bar);
    layout->addWidget(split, 1);
    setFocusProxy(text_);
    auto* key = new QShortcut(this);
    key->setKey(QKeySequence(QStringLiteral("Ctrl+Return")));
    key->setContext(Qt::WidgetWithChildrenShortcut);
    connect(&selection_, &Selection::trace_changed, this, [this] {
      asked_path_.clear();
      if (isVisible()) ask_first();
    });
    connect(key, &QShortcut::activated, this, [this] { start(); });
    connect(run, &QPushButton::clicked, this, [this] { start(); });
    connect(templates_, &QComboBox::activated, this, [this](int row) {
      text_->setPlainText(templates_->itemData(row).toString());
      start();
    });
  }
  ~SqlView() override { background_.cancel(this); }

 protected:
  // The first question has its answer as soon as it is seen.
  void showEvent(QShowEvent* event) override {
    QWidget::showEvent(event);
    ask_first();
  }

 private:
  // Of each trace the first question is asked as soon as the view is in sight.
  void ask_first() {
    const TracePtr& trace = selection_.trace();
    if (trace && !trace->preview && !trace->path.empty() && trace->path != asked_path_) start();
  }

  void start() {
    const TracePtr& trace = selection_.trace();
    if (!trace || trace->path.empty()) return note_->setText(QStringLiteral("Open a trace first."));
    asked_path_ = trace->path;
    note_->setText(QStringLiteral("Asking …"));
    background_.run(
        this, [path = trace->path, sql = text_->toPlainText().toStdString()](const std::stop_token& stop) { return ask(path, sql, stop); },
        [this](Answer answer) { show(std::move(answer)); });
  }

  using QWidget::show;
  void show(Answer answer) {
    QPalette ink = palette();
    if (!answer.error.isEmpty()) ink.setColor(QPalette::WindowText, theme_of(this).error);
    note_->setPalette(ink);
    note_->setText(answer.error.isEmpty() ? count_text(answer.rows.size(), "row", "rows") +
                                                (answer.more ? QStringLiteral(", and more: use LIMIT and OFFSET") : QString())
                                          : answer.error);
    note_->setToolTip(note_->text());
    if (!answer.error.isEmpty()) return;
    model_->set(std::move(answer));
    table_->resizeColumnsToContents();
  }

  Selection& selection_;
  Background& background_;
  QComboBox* templates_;
  QPlainTextEdit* text_;
  QLabel* note_;
  std::string asked_path_;  // of the trace that was asked last
  AnswerModel* model_;
  QTableView* table_;
};

QWidget* make_sql(ViewContext& context) { return new SqlView(context); }
QString text(const Selection&) {
  QString text = QStringLiteral("questions to begin with:\n");
  for (const auto& each : kTemplates)
    text += QStringLiteral("-- %1\n%2;\n").arg(QString::fromUtf8(each.title), QString::fromUtf8(each.sql));
  return text;
}

}  // namespace

const ViewDef kSqlView{
    .id = "sql",
    .title = "SQL",
    .key = "Ctrl+Shift+Q",
    .doc = "Questions to the trace in SQL, read-only, with templates",
    .area = ViewArea::kBottomRight,
    .make = make_sql,
    .text = text,
    .in_report = false,
};

}  // namespace shardlab::gui
