// comm::Control of a process that has no others to agree with.
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/comm/control.h"
#include "runtime/shardlab/last_words.h"

namespace shardlab {

// The control of a process that was started again, until it takes part: it has nobody to compute with.
class OutsideControl final : public comm::Control {
 public:
  void issued(const comm::Launch& launch) override {
    throw_user_error(
        "{} spans processes, and this one was started again and takes no part yet: computations with others go inside live_devices [{}]",
        launch.program->name, launch.where.text());
  }
  void await_agreement(std::int64_t, std::string_view, Where) override {}
  bool may_run(std::int64_t) override { return false; }
  void wire_mismatch(const comm::Launch&, int, const comm::WireMismatch&) override {}
  void raised(std::string_view, Where) override {}
  void leave() override {}
};

// The control of a process on its own: everything agrees, and its place is known.
class AloneControl final : public comm::Control {
 public:
  explicit AloneControl(std::shared_ptr<LastWords> words) : words_(std::move(words)) {}
  void issued(const comm::Launch& launch) override { words_->place().put(launch.where); }
  void local(const comm::Launch& launch) override { words_->place().put(launch.where); }
  void at(Where where) override { words_->place().put(where); }
  void await_agreement(std::int64_t, std::string_view, Where) override {}
  bool may_run(std::int64_t) override { return true; }
  void wire_mismatch(const comm::Launch&, int, const comm::WireMismatch&) override {}
  void raised(std::string_view, Where) override {}
  void leave() override {}

 private:
  std::shared_ptr<LastWords> words_;
};

}  // namespace shardlab
