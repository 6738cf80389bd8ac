#include "gui/app/report_builder.h"

#include <QFile>
#include <QFileDialog>
#include <QHBoxLayout>
#include <QLabel>
#include <QListWidget>
#include <QPushButton>
#include <QSettings>
#include <QVBoxLayout>

#include "gui/app/html_report.h"
#include "gui/app/main_window.h"
#include "gui/models/format.h"

namespace shardlab::gui {
namespace {

QString left_out_setting() { return QStringLiteral("report/left_out"); }

class ReportBuilder : public QDialog {
 public:
  explicit ReportBuilder(MainWindow& window) : QDialog(&window), window_(window), sections_(report_sections(window)) {
    setAttribute(Qt::WA_DeleteOnClose);
    setWindowTitle(QStringLiteral("Report"));
    list_ = new QListWidget(this);
    list_->setAccessibleName(QStringLiteral("Parts of the report"));
    const QStringList left_out = QSettings().value(left_out_setting()).toStringList();
    for (const auto& section : sections_) {
      auto* item = new QListWidgetItem(section.title, list_);
      item->setToolTip(section.doc);
      item->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemIsUserCheckable);
      item->setCheckState(left_out.contains(qstr(section.id)) ? Qt::Unchecked : Qt::Checked);
    }
    list_->setCurrentRow(0);
    note_ = new QLabel(this);
    note_->setTextFormat(Qt::PlainText);
    note_->setWordWrap(true);
    save_ = new QPushButton(QStringLiteral("Save …"), this);
    save_->setObjectName(QStringLiteral("save"));
    auto* all = new QPushButton(QStringLiteral("All"), this);
    auto* none = new QPushButton(QStringLiteral("None"), this);
    for (auto* button : {all, none}) button->setAutoDefault(false);
    auto* bar = new QHBoxLayout;
    bar->addWidget(all);
    bar->addWidget(none);
    bar->addStretch(1);
    bar->addWidget(save_);
    auto* layout = new QVBoxLayout(this);
    layout->addWidget(list_, 1);
    layout->addWidget(note_);
    layout->addLayout(bar);
    resize(360, 520);
    connect(all, &QPushButton::clicked, this, [this] { check_all(Qt::Checked); });
    connect(none, &QPushButton::clicked, this, [this] { check_all(Qt::Unchecked); });
    connect(list_, &QListWidget::itemChanged, this, [this] { tell(); });
    connect(save_, &QPushButton::clicked, this, [this] { save(); });
    tell();
  }

 private:
  std::vector<ReportSection> chosen() const {
    std::vector<ReportSection> sections;
    for (int row = 0; row < list_->count(); ++row)
      if (list_->item(row)->checkState() == Qt::Checked) sections.push_back(sections_[std::size_t(row)]);
    return sections;
  }

  void check_all(Qt::CheckState state) {
    for (int row = 0; row < list_->count(); ++row) list_->item(row)->setCheckState(state);
  }

  void tell() {
    const auto count = std::int64_t(chosen().size());
    save_->setEnabled(count > 0);
    note_->setText(sections_.empty() ? QStringLiteral("No trace is open.")
                                     : QStringLiteral("%1 of %2, as one page that needs nothing else.")
                                           .arg(count)
                                           .arg(count_text(std::int64_t(sections_.size()), "part", "parts")));
  }

  void save() {
    QStringList left_out;
    for (int row = 0; row < list_->count(); ++row)
      if (list_->item(row)->checkState() != Qt::Checked) left_out << qstr(sections_[std::size_t(row)].id);
    QSettings().setValue(left_out_setting(), left_out);
    const QString path = QFileDialog::getSaveFileName(this, QStringLiteral("Save the report"), QStringLiteral("shardlab.html"),
                                                      QStringLiteral("Pages (*.html)"));
    if (path.isEmpty()) return;
    QFile file(path);
    const QByteArray page = html_report(window_, chosen());
    if (file.open(QIODevice::WriteOnly) && file.write(page) == page.size())
      note_->setText(QStringLiteral("Saved %1").arg(path));
    else
      note_->setText(QStringLiteral("Cannot write %1: %2").arg(path, file.errorString()));
  }

  MainWindow& window_;
  const std::vector<ReportSection> sections_;
  QListWidget* list_;
  QLabel* note_;
  QPushButton* save_;
};

}  // namespace

QDialog* make_report_builder(MainWindow& window) { return new ReportBuilder(window); }

}  // namespace shardlab::gui
