#include "gui/app/key_map.h"

#include <QFile>
#include <QFileDialog>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeySequenceEdit>
#include <QLabel>
#include <QPushButton>
#include <QSettings>
#include <QTableWidget>
#include <QVBoxLayout>

#include "gui/app/main_window.h"
#include "gui/models/format.h"
#include "gui/views/timeline_canvas.h"

namespace shardlab::gui {
namespace {
QString setting(const QString& id) { return QStringLiteral("keys/") + id; }
}  // namespace

std::vector<KeyEntry> all_keys() {
  std::vector<KeyEntry> entries;
  const auto add = [&](const char* section, const QString& id, const char* doc, const char* key) {
    entries.push_back({QString::fromUtf8(section), id, QString::fromUtf8(doc), QKeySequence(QString::fromUtf8(key))});
  };
  for (const auto& def : all_actions()) add("Everywhere", QString::fromUtf8(def.id), def.doc, def.key);
  for (const ViewDef* def : all_views()) add("Views", QStringLiteral("view-") + qstr(def->id), def->doc, def->key);
  for (const auto& def : all_perspectives()) add("Perspectives", QStringLiteral("perspective-") + qstr(def.id), def.doc, def.key);
  for (const auto& def : timeline_keys()) add("Timeline", QStringLiteral("timeline-") + QString::fromUtf8(def.key), def.doc, def.key);
  return entries;
}

QKeySequence key_of(const QString& id, const QKeySequence& fallback) {
  const QString own = QSettings().value(setting(id)).toString();
  return own.isEmpty() ? fallback : QKeySequence(own, QKeySequence::PortableText);
}

void set_key(const QString& id, const QKeySequence& key) {
  QSettings settings;
  key.isEmpty() ? settings.remove(setting(id)) : settings.setValue(setting(id), key.toString(QKeySequence::PortableText));
}

void reset_keys() { QSettings().remove(QStringLiteral("keys")); }

const KeyEntry* holder_of(const std::vector<KeyEntry>& entries, const QKeySequence& key, const QString& except) {
  for (const auto& entry : entries)
    if (entry.id != except && !key.isEmpty() && key_of(entry.id, entry.fallback) == key) return &entry;
  return nullptr;
}

QString key_map_html() {
  QString rows, section;
  for (const auto& entry : all_keys()) {
    if (entry.section != section) rows += QStringLiteral("<tr><th colspan='2'>%1</th></tr>").arg(section = entry.section);
    rows += QStringLiteral("<tr><td><kbd>%1</kbd></td><td>%2</td></tr>")
                .arg(key_of(entry.id, entry.fallback).toString(QKeySequence::NativeText).toHtmlEscaped(), entry.doc.toHtmlEscaped());
  }
  return QStringLiteral(
             "<!doctype html><meta charset='utf-8'><title>Keys of the shardlab window</title><style>body{font:13px sans-serif;columns:2}"
             "th{text-align:left;padding-top:10px}kbd{font:12px monospace;white-space:nowrap}td{padding:1px 14px 1px 0;vertical-align:top}"
             "</style><table>%1</table>")
      .arg(rows);
}

QDialog* make_key_dialog(QWidget* parent, std::function<void()> changed) {
  auto* dialog = new QDialog(parent);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setWindowTitle(QStringLiteral("Keys"));
  auto* table = new QTableWidget(dialog);
  table->setAccessibleName(QStringLiteral("All keys"));
  table->setColumnCount(3);
  table->setHorizontalHeaderLabels({QStringLiteral("Key"), QStringLiteral("Does"), QStringLiteral("Where")});
  table->verticalHeader()->hide();
  table->verticalHeader()->setDefaultSectionSize(22);
  table->setShowGrid(false);
  table->setEditTriggers(QAbstractItemView::NoEditTriggers);
  table->setSelectionBehavior(QAbstractItemView::SelectRows);
  table->setSelectionMode(QAbstractItemView::SingleSelection);
  table->setTabKeyNavigation(false);  // Tab leads on to the field of the new key
  table->setColumnWidth(0, 130);
  table->setColumnWidth(1, 400);
  table->horizontalHeader()->setStretchLastSection(true);
  auto* edit = new QKeySequenceEdit(dialog);
  edit->setAccessibleName(QStringLiteral("New key of the chosen line"));
  auto* note = new QLabel(QStringLiteral("Choose a line, then press its new key in the field."), dialog);
  auto* save = new QPushButton(QStringLiteral("Save as page …"), dialog);
  auto* reset = new QPushButton(QStringLiteral("All as they were"), dialog);
  for (auto* button : {save, reset}) button->setAutoDefault(false);
  const auto entries = std::make_shared<std::vector<KeyEntry>>(all_keys());
  const auto fill = [table, entries] {
    table->setRowCount(int(entries->size()));
    for (int r = 0; r < table->rowCount(); ++r) {
      const KeyEntry& entry = (*entries)[std::size_t(r)];
      table->setItem(r, 0, new QTableWidgetItem(key_of(entry.id, entry.fallback).toString(QKeySequence::NativeText)));
      table->setItem(r, 1, new QTableWidgetItem(entry.doc));
      table->setItem(r, 2, new QTableWidgetItem(entry.section));
    }
  };
  fill();
  QObject::connect(edit, &QKeySequenceEdit::editingFinished, dialog, [=] {
    const int row = table->currentRow();
    if (row < 0 || edit->keySequence().isEmpty()) return;
    const KeyEntry& entry = (*entries)[std::size_t(row)];
    if (const KeyEntry* other = holder_of(*entries, edit->keySequence(), entry.id)) {
      note->setText(QStringLiteral("%1 is taken: %2").arg(edit->keySequence().toString(QKeySequence::NativeText), other->doc));
    } else {
      set_key(entry.id, edit->keySequence());
      note->setText(QStringLiteral("%1: %2").arg(edit->keySequence().toString(QKeySequence::NativeText), entry.doc));
      fill();
      changed();
    }
    edit->clear();
  });
  QObject::connect(reset, &QPushButton::clicked, dialog, [=] {
    reset_keys();
    fill();
    changed();
  });
  QObject::connect(save, &QPushButton::clicked, dialog, [=] {
    const QString path = QFileDialog::getSaveFileName(dialog, QStringLiteral("Save the keys"), QStringLiteral("shardlab-keys.html"),
                                                      QStringLiteral("Pages (*.html)"));
    QFile file(path);
    if (!path.isEmpty() && (!file.open(QIODevice::WriteOnly) || file.write(key_map_html().toUtf8()) < 0)) note->setText(file.errorString());
  });
  auto* bar = new QHBoxLayout;
  bar->addWidget(edit);
  bar->addWidget(note, 1);
  bar->addWidget(save);
  bar->addWidget(reset);
  auto* layout = new QVBoxLayout(dialog);
  layout->addWidget(table, 1);
  layout->addLayout(bar);
  dialog->resize(720, 760);
  return dialog;
}

}  // namespace shardlab::gui
