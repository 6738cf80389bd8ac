#include "runtime/control/live_session.h"

#include <utility>

#include "runtime/control/wire.h"

namespace shardlab::control {

LiveSession::LiveSession(LiveCourt court, const grpc::Status& welcome) : court_(std::move(court)) {
  court_.open.began();
  if (welcome.ok())
    StartRead(&word_);
  else
    finish(welcome);
}

void LiveSession::OnReadDone(bool ok) {
  if (!ok) return finish(grpc::Status::OK);
  grpc::Status status = hear(word_);
  if (!status.ok()) return finish(status);
  StartRead(&word_);
}

void LiveSession::OnWriteDone(bool) {
  bool last = false;
  {
    std::lock_guard lock(mutex_);
    outbox_.pop_front();
    last = finish_asked_;
    if (!last && !outbox_.empty()) StartWrite(&outbox_.front());
  }
  if (last) Finish(finish_status_);
}

void LiveSession::OnDone() {
  // Before this goes: an answer of the assembly's may be on its way here until it knows.
  if (process_ >= 0 && !left_) court_.on_vanished(process_, incarnation_);
  OpenCalls& open = court_.open;
  delete this;
  open.ended();
}

grpc::Status LiveSession::hear(const wire::LiveWord& word) {
  if (word.has_entering()) return enter(word.entering());
  if (process_ < 0) return {grpc::StatusCode::INVALID_ARGUMENT, "the first word of a process is to enter"};
  if (!court_.assembly.is_current(process_, incarnation_))
    return {grpc::StatusCode::FAILED_PRECONDITION, "this process was taken for dead, or goes on as another incarnation"};
  if (word.has_leaving()) {
    left_ = true;
    court_.assembly.left(process_, incarnation_);
    court_.on_left(process_);
  } else if (word.has_gathering()) {
    court_.assembly.gather(process_, incarnation_, word.gathering().closing(), word.gathering().renew(), [this](const Gathered& gathered) {
      wire::LiveNews news;
      news.mutable_gathered()->set_epoch(gathered.epoch);
      news.mutable_gathered()->set_whole(gathered.whole);
      news.mutable_gathered()->mutable_live()->Add(gathered.live.begin(), gathered.live.end());
      answer(news);
    });
  }
  return grpc::Status::OK;
}

grpc::Status LiveSession::enter(const wire::Entering& entering) {
  if (process_ >= 0) return {grpc::StatusCode::INVALID_ARGUMENT, "a process enters once"};
  Member member = from_wire(entering.member());
  if (auto why_not = court_.refuse(member)) return {grpc::StatusCode::ALREADY_EXISTS, *why_not};
  Assembly::Entry entry = court_.assembly.enter(member);
  if (entry.replaced) court_.on_replaced(*entry.replaced);
  if (!entry.refused.empty()) return {grpc::StatusCode::ALREADY_EXISTS, entry.refused};
  process_ = member.process;
  incarnation_ = member.incarnation;
  court_.on_entered(process_);
  wire::LiveNews news;
  news.mutable_entered()->set_again(entry.again);
  for (const Member& each : entry.members) *news.mutable_entered()->add_members() = to_wire(each);
  answer(news);
  return grpc::Status::OK;
}

void LiveSession::answer(const wire::LiveNews& news) {
  std::lock_guard lock(mutex_);
  if (finish_asked_) return;
  outbox_.push_back(news);
  if (outbox_.size() == 1) StartWrite(&outbox_.front());
}

void LiveSession::finish(const grpc::Status& status) {
  {
    std::lock_guard lock(mutex_);
    if (finish_asked_) return;
    finish_asked_ = true;
    finish_status_ = status;
    if (!outbox_.empty()) return;  // OnWriteDone finishes
  }
  Finish(status);
}

}  // namespace shardlab::control
