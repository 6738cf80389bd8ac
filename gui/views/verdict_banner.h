// The verdict at the top of the window: one sentence with its icon, and the trace's figures below it.
#pragma once

#include <QFrame>
#include <QLabel>

#include "gui/models/selection.h"
#include "gui/models/verdict.h"

namespace shardlab::gui {

class VerdictBanner : public QFrame {
  Q_OBJECT

 public:
  explicit VerdictBanner(Selection& selection, QWidget* parent = nullptr);
  void show_loading(const QString& path, double fraction);
  void show_failure(const QString& message);
  const Verdict& verdict() const { return verdict_; }

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void changeEvent(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void set(const Verdict& verdict);
  void restyle();
  QString fitting(const QFontMetrics& metrics, int width, int height) const;

  Selection& selection_;
  Verdict verdict_;
  QLabel* sentence_;
  QLabel* context_;
};

}  // namespace shardlab::gui
