#include "runtime/control/session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "runtime/control/wire.h"
#include "traces/checks/evidence_json.h"
#include "traces/checks/wording.h"

namespace shardlab::control {

Session::Session(Courtroom court, const grpc::Status& welcome) : court_(std::move(court)) {
  court_.open.began();
  if (welcome.ok())
    StartRead(&words_);
  else
    finish(welcome);
}

void Session::OnReadDone(bool ok) {
  if (!ok) {
    if (process_ >= 0) court_.court->membership.stream_ended(process_);
    return finish(grpc::Status::OK);
  }
  grpc::Status status;
  try {
    for (const wire::Word& word : words_.words()) {
      status = hear(word);
      if (!status.ok()) break;
    }
  } catch (const std::exception& error) { status = {grpc::StatusCode::INVALID_ARGUMENT, error.what()}; }
  if (!status.ok()) return finish(status);
  StartRead(&words_);
}

void Session::OnWriteDone(bool ok) {
  bool last = false;
  {
    std::lock_guard lock(mutex_);
    outbox_.pop_front();
    if (!ok) outbox_.clear();
    writing_ = false;
    last = finish_asked_;
    if (!last) write_next();
  }
  if (last) Finish(finish_status_);
}

void Session::OnDone() {
  OpenCalls& open = court_.open;
  if (process_ >= 0) {
    court_.court->membership.stream_ended(process_);
    court_.court->referee.listen(process_, nullptr);
    court_.court->membership.forget(process_, this);
  }
  delete this;
  open.ended();
}

void Session::roll(const std::vector<Member>& joined, int num_processes) {
  wire::News news;
  wire::Roll* roll = news.mutable_roll();
  roll->set_num_processes(num_processes);
  for (const Member& member : joined) *roll->add_members() = to_wire(member);
  const Member self{.process = -1, .pid = getpid(), .host = host_name(), .host_id = host_identity()};
  *roll->mutable_coordinator() = to_wire(self);
  send(std::move(news));
}

void Session::disagreement(const std::string& what) {
  wire::News news;
  news.set_disagreement(clean_text(what));
  send(std::move(news));
}

void Session::silence(const Member& silent, double silent_ms, const std::string& whereabouts) {
  wire::News news;
  wire::Silence& silence = *news.mutable_silence();
  *silence.mutable_member() = to_wire(silent);
  silence.set_silent_ms(silent_ms);
  silence.set_whereabouts(clean_text(whereabouts));
  send(std::move(news));
}

void Session::matched(std::int64_t count) {
  wire::News news;
  news.set_matched(count);
  std::lock_guard lock(mutex_);
  if (finish_asked_) return;
  // Only the newest count matters: a reader that is stopped does not make the outbox grow.
  if (outbox_.size() > 1 && outbox_.back().has_matched())
    outbox_.back() = std::move(news);
  else
    outbox_.push_back(std::move(news));
  write_next();
}

void Session::poison(bool anyone_raised) {
  wire::News news;
  news.mutable_poison()->set_anyone_raised(anyone_raised);
  send(std::move(news));
}

void Session::verdict(const VerdictRef& verdict) {
  wire::News news;
  news.mutable_verdict()->set_diagnoses_json(to_json(verdict->diagnoses));
  send(std::move(news));
}

void Session::left() {
  wire::News news;
  news.mutable_left();
  send(std::move(news));
}

grpc::Status Session::join(const wire::Word& word) {
  if (process_ >= 0) return {grpc::StatusCode::INVALID_ARGUMENT, "a process joins once"};
  Member member = from_wire(word.join());
  if (!court_.is_current(member.process, member.incarnation))
    return {grpc::StatusCode::FAILED_PRECONDITION,
            fmt::format("process {} was taken for dead, or goes on as another incarnation", member.process)};
  if (auto why_not = court_.court->membership.join(member, this)) return {grpc::StatusCode::ALREADY_EXISTS, *why_not};
  process_ = member.process;
  court_.court->referee.joined(process_, word.time_ns());
  court_.court->referee.listen(process_, this);
  return grpc::Status::OK;
}

grpc::Status Session::hear(const wire::Word& word) {
  Referee& referee = court_.court->referee;
  if (word.has_join()) return join(word);
  if (process_ < 0) return {grpc::StatusCode::INVALID_ARGUMENT, "the first word of a process is to join"};
  comm::Ns now = comm::now_ns();
  referee.alive(process_, now);
  court_.court->membership.heard(process_, now);
  switch (word.word_case()) {
    case wire::Word::kProgram:
      referee.declare(from_wire(word.program()));
      break;
    case wire::Word::kIssued:
      referee.issued(process_, from_wire(word.issued()));
      break;
    case wire::Word::kReading: {
      const wire::Reading& r = word.reading();
      referee.reading(process_, {r.launch(), r.poisoned(), r.doing(), r.where(), r.statement(), r.visit()}, word.time_ns());
      break;
    }
    case wire::Word::kRunning:
      referee.running(process_, word.time_ns());
      break;
    case wire::Word::kWaiting:
      referee.waiting(process_, word.waiting().doing(), word.waiting().where(), word.waiting().statement(), word.time_ns());
      break;
    case wire::Word::kWireMismatch: {
      int from = word.wire_mismatch().from();
      if (!court_.court->membership.is_process(from)) return {grpc::StatusCode::INVALID_ARGUMENT, "no such process"};
      referee.wire_mismatch(process_, from, word.wire_mismatch().what(), word.time_ns());
      break;
    }
    case wire::Word::kRaised: {
      referee.raised(process_, word.raised().error(), word.raised().where(), word.raised().statement(), word.time_ns());
      court_.on_end(process_, fmt::format("raised \"{}\"{}", word.raised().error(), where_text(word.raised().where())));
      wire::News news;
      news.mutable_raised_heard();
      send(std::move(news));
      break;
    }
    case wire::Word::kRecent:
      referee.recent(process_, from_wire(word.recent()));
      break;
    case wire::Word::kLookedAhead:
      referee.looked_ahead(process_);
      break;
    case wire::Word::kLeaving:
      referee.leaving(process_, word.time_ns());
      court_.on_end(process_, kLeftTheJob);
      break;
    case wire::Word::kHeartbeat: {
      if (word.heartbeat().at_work()) referee.at_work(process_, now);
      wire::News news;
      news.mutable_heard();
      send(std::move(news));
      break;
    }
    default:
      break;  // a word of a newer version
  }
  return grpc::Status::OK;
}

void Session::send(wire::News news) {
  std::lock_guard lock(mutex_);
  if (finish_asked_) return;
  outbox_.push_back(std::move(news));
  write_next();
}

void Session::write_next() {
  if (writing_ || outbox_.empty()) return;
  writing_ = true;
  StartWrite(&outbox_.front());
}

void Session::finish(const grpc::Status& status) {
  {
    std::lock_guard lock(mutex_);
    if (finish_asked_) return;
    finish_asked_ = true;
    finish_status_ = status;
    if (writing_) return;  // OnWriteDone finishes
  }
  Finish(status);
}

}  // namespace shardlab::control
