// Work off the window's thread: one slot an asker, a newer task supersedes the older, whose result is dropped.
//
// `work` runs on a pool thread and must not touch widgets; `done` gets its result on the thread of this object. The destructor
// asks all tasks to stop and waits for them.
#pragma once

#include <QObject>
#include <QThreadPool>

#include <functional>
#include <map>
#include <memory>
#include <stop_token>

namespace shardlab::gui {

class Background : public QObject {
  Q_OBJECT

 public:
  explicit Background(QObject* parent = nullptr) : QObject(parent) { pool_.setMaxThreadCount(2); }
  ~Background() override;

  // Pictures of what is looked at go before what is still to be counted.
  static constexpr int kPicture = 1;

  // `asker` must outlive the call of `done`, or call cancel() before it goes.
  template <typename Work, typename Done>
  void run(const void* asker, Work work, Done done, int priority = 0) {
    const std::stop_token stop = begin(asker);
    const std::uint64_t task = task_;
    pool_.start(
        [this, asker, task, stop, work = std::move(work), done = std::move(done)] {
          auto result = std::make_shared<decltype(work(stop))>(work(stop));
          QMetaObject::invokeMethod(
              this,
              [this, asker, task, result, done] {
                if (end(asker, task)) done(std::move(*result));
              },
              Qt::QueuedConnection);
        },
        priority);
  }
  // At once where `now` says that it is too little to be worth the wait.
  template <typename Work, typename Done>
  void run(const void* asker, bool now, Work work, Done done) {
    if (!now) return run(asker, std::move(work), std::move(done));
    cancel(asker);
    done(work(std::stop_token()));
  }
  void cancel(const void* asker);
  bool idle() const { return slots_.empty(); }

 private:
  struct Slot {
    std::uint64_t task = 0;
    std::stop_source stop;
  };
  std::stop_token begin(const void* asker);
  bool end(const void* asker, std::uint64_t task);  // false: superseded

  QThreadPool pool_;
  std::map<const void*, Slot> slots_;
  std::uint64_t task_ = 0;
};

}  // namespace shardlab::gui
