#include "runtime/control/coordinator.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <thread>

#include "control.grpc.pb.h"
#include "runtime/base/error.h"
#include "runtime/control/referee.h"
#include "runtime/control/wire.h"
#include "traces/checks/evidence_json.h"

namespace shardlab::control {
namespace {

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size(); ++i) difference |= unsigned(a[i]) ^ unsigned(i < b.size() ? b[i] : 0);
  return difference == 0;
}

bool carries(const grpc::CallbackServerContext& context, const std::string& token) {
  auto found = context.client_metadata().find(kTokenKey);
  return found != context.client_metadata().end() &&
         equal_in_constant_time(token, std::string_view(found->second.data(), found->second.size()));
}

const grpc::Status kRefused(grpc::StatusCode::UNAUTHENTICATED, "the token is not this job's");

}  // namespace

std::string random_token() {
  std::uint64_t words[2];
  if (getentropy(words, sizeof words) != 0) throw IoError("no random bytes for the job's token");
  return fmt::format("{:016x}{:016x}", words[0], words[1]);
}

// Lock order: the referee's, then a session's; `mutex_` is taken with neither held, and nothing of either is called under it.
class Coordinator::Impl final : public wire::Coordination::CallbackService {
 public:
  explicit Impl(CoordinatorOptions options)
      : options_(std::move(options)), referee_(referee_options()), processes_(std::size_t(options_.num_processes)) {
    if (options_.token.empty()) options_.token = random_token();
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort(fmt::format("{}:{}", options_.host, options_.port), grpc::InsecureServerCredentials(), &port);
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.SetMaxReceiveMessageSize(kMessageBytesMax);
    if (options_.silence_ms > 0) {
      builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, options_.silence_ms / 2);
      builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, options_.silence_ms / 2);
    }
    // Processes may ask for a sign of life as often as they like.
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 100);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    if (!server_ || port == 0) throw TransportError(fmt::format("the coordinator cannot listen on {}:{}", options_.host, options_.port));
    address_ = fmt::format("{}:{}", options_.host, port);
    warden_ = std::jthread([this](std::stop_token stop) { watch(stop); });
  }

  ~Impl() override {
    warden_ = {};
    server_->Shutdown(std::chrono::system_clock::now());  // cancels what is open
    server_->Wait();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return reactors_ == 0; });
  }

  grpc::ServerBidiReactor<wire::Words, wire::News>* Attend(grpc::CallbackServerContext* context) override;
  grpc::ServerUnaryReactor* SetKey(grpc::CallbackServerContext* context, const wire::KeyValue* request, wire::Nothing*) override;
  grpc::ServerUnaryReactor* GetKey(grpc::CallbackServerContext* context, const wire::Key* request, wire::KeyValue* response) override;

  const std::string& address() const { return address_; }
  const std::string& token() const { return options_.token; }
  Referee& referee() { return referee_; }

  void report_death(int process, int exit_code, int signal, comm::Ns time) {
    {
      std::unique_lock lock(mutex_);
      Process& dead = processes_.at(std::size_t(process));
      dead.reported = true;
      changed_.wait_for(lock, std::chrono::milliseconds(kDrainMs), [&] { return !dead.attending; });
    }
    referee_.died(process, exit_code, signal, time);
  }

  std::vector<Member> members() const {
    std::lock_guard lock(mutex_);
    return members_locked();
  }
  std::vector<int> missing() const {
    std::lock_guard lock(mutex_);
    std::vector<int> missing;
    for (std::size_t p = 0; p < processes_.size(); ++p)
      if (!processes_[p].member) missing.push_back(int(p));
    return missing;
  }
  bool wait_joined(std::chrono::milliseconds limit) const {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, limit, [&] { return joined_ == int(processes_.size()); });
  }
  bool wait_deserted(std::chrono::milliseconds limit) const {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, limit, [&] {
      return joined_ > 0 && std::none_of(processes_.begin(), processes_.end(), [](const Process& p) { return p.attending; });
    });
  }
  std::vector<SilentProcess> silent(std::chrono::milliseconds at_least) const {
    std::lock_guard lock(mutex_);
    std::vector<SilentProcess> silent;
    for (std::size_t p = 0; p < processes_.size(); ++p) {
      double ms = double(comm::now_ns() - processes_[p].heard_ns) / 1e6;
      if (processes_[p].attending && ms >= double(at_least.count())) silent.push_back({int(p), ms});
    }
    return silent;
  }

  void set_key(const std::string& key, const std::string& value);
  std::optional<std::string> get_key(const std::string& key) const {
    std::lock_guard lock(mutex_);
    auto found = keys_.find(key);
    return found == keys_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  class Session;
  class KeyWait;
  struct Process {
    std::optional<Member> member;
    Session* session = nullptr;
    bool attending = false;  // its stream is open
    bool reported = false;   // its death was reported
    bool gone = false;       // the stream broke and that was taken as its death
    comm::Ns heard_ns = 0, broken_ns = 0;
  };

  RefereeOptions referee_options() {
    return {.num_processes = options_.num_processes,
            .stuck = options_.stuck,
            .on_finding =
                [this] {
                  if (options_.on_finding) options_.on_finding();
                },
            .on_verdict =
                [this](const VerdictRef& verdict) {
                  if (options_.on_verdict) options_.on_verdict(verdict);
                }};
  }
  std::vector<Member> members_locked() const {
    std::vector<Member> members;
    for (const Process& process : processes_)
      if (process.member) members.push_back(*process.member);
    return members;
  }

  void reactor_made() {
    std::lock_guard lock(mutex_);
    ++reactors_;
  }
  void reactor_gone() {
    std::lock_guard lock(mutex_);
    --reactors_;
    changed_.notify_all();
  }

  // From sessions, without locks.
  grpc::Status join(Session* session, const Member& member, comm::Ns time);
  void heard(int process) {
    comm::Ns now = comm::now_ns();
    referee_.alive(process, now);
    std::lock_guard lock(mutex_);
    processes_[std::size_t(process)].heard_ns = now;
  }
  void stream_ended(int process);
  void session_gone(int process, Session* session);

  // A stream that broke without a reported death is one after a while; at once where nobody supervises.
  void watch(std::stop_token stop);

  CoordinatorOptions options_;
  Referee referee_;
  mutable std::mutex mutex_;
  mutable std::condition_variable_any changed_;
  std::vector<Process> processes_;
  int joined_ = 0, reactors_ = 0;
  std::map<std::string, std::string> keys_;
  std::list<KeyWait*> key_waits_;
  std::string address_;
  std::unique_ptr<grpc::Server> server_;
  std::jthread warden_;
};

// One process's stream. Its own mutex guards the outbox; gRPC runs one read and one write at a time.
class Coordinator::Impl::Session final : public grpc::ServerBidiReactor<wire::Words, wire::News>, public Listener {
 public:
  Session(Impl& coordinator, bool welcome) : coordinator_(coordinator) {
    coordinator.reactor_made();
    if (!welcome) {
      finish(kRefused);
      return;
    }
    StartRead(&words_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      if (process_ >= 0) coordinator_.stream_ended(process_);
      finish(grpc::Status::OK);
      return;
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

  void OnWriteDone(bool ok) override {
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

  void OnDone() override {
    Impl& coordinator = coordinator_;
    if (process_ >= 0) coordinator.session_gone(process_, this);
    delete this;
    coordinator.reactor_gone();
  }

  void send(wire::News news) {
    std::lock_guard lock(mutex_);
    if (finish_asked_) return;
    outbox_.push_back(std::move(news));
    write_next();
  }

  void matched(std::int64_t count) override {
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
  void poison() override {
    wire::News news;
    news.mutable_poison();
    send(std::move(news));
  }
  void verdict(const VerdictRef& verdict) override {
    wire::News news;
    news.mutable_verdict()->set_diagnoses_json(to_json(verdict->diagnoses));
    send(std::move(news));
  }
  void left() override {
    wire::News news;
    news.mutable_left();
    send(std::move(news));
  }

 private:
  grpc::Status hear(const wire::Word& word) {
    Referee& referee = coordinator_.referee_;
    if (word.has_join()) {
      if (process_ >= 0) return {grpc::StatusCode::INVALID_ARGUMENT, "a process joins once"};
      Member member = from_wire(word.join());
      grpc::Status status = coordinator_.join(this, member, word.time_ns());
      if (status.ok()) {
        process_ = member.process;
        referee.joined(process_, word.time_ns());
        referee.listen(process_, this);
      }
      return status;
    }
    if (process_ < 0) return {grpc::StatusCode::INVALID_ARGUMENT, "the first word of a process is to join"};
    coordinator_.heard(process_);
    switch (word.word_case()) {
      case wire::Word::kProgram:
        referee.declare(from_wire(word.program()));
        break;
      case wire::Word::kIssued:
        referee.issued(process_, from_wire(word.issued()));
        break;
      case wire::Word::kReading: {
        const wire::Reading& r = word.reading();
        referee.reading(process_, {r.launch(), r.poisoned(), r.doing(), r.where(), r.statement()}, word.time_ns());
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
        if (from < 0 || from >= coordinator_.options_.num_processes) return {grpc::StatusCode::INVALID_ARGUMENT, "no such process"};
        referee.wire_mismatch(process_, from, word.wire_mismatch().what(), word.time_ns());
        break;
      }
      case wire::Word::kRaised: {
        referee.raised(process_, word.raised().error(), word.raised().where(), word.raised().statement(), word.time_ns());
        wire::News news;
        news.mutable_raised_heard();
        send(std::move(news));
        break;
      }
      case wire::Word::kRecent:
        referee.recent(process_, from_wire(word.recent()));
        break;
      case wire::Word::kLeaving:
        referee.leaving(process_, word.time_ns());
        break;
      default:
        break;  // a heartbeat, or a word of a newer version
    }
    return grpc::Status::OK;
  }

  void write_next() {
    if (writing_ || outbox_.empty()) return;
    writing_ = true;
    StartWrite(&outbox_.front());
  }
  // Without the lock: once finished, this may be gone.
  void finish(const grpc::Status& status) {
    {
      std::lock_guard lock(mutex_);
      if (finish_asked_) return;
      finish_asked_ = true;
      finish_status_ = status;
      if (writing_) return;  // OnWriteDone finishes
    }
    Finish(status);
  }

  Impl& coordinator_;
  int process_ = -1;
  wire::Words words_;
  std::mutex mutex_;
  std::deque<wire::News> outbox_;
  bool writing_ = false, finish_asked_ = false;
  grpc::Status finish_status_;
};

// A get that waits for its key. Finished once, by the set or by its cancellation.
class Coordinator::Impl::KeyWait final : public grpc::ServerUnaryReactor {
 public:
  KeyWait(Impl& coordinator, std::string key, wire::KeyValue* response)
      : coordinator_(coordinator), key_(std::move(key)), response_(response) {
    coordinator_.reactor_made();
    std::lock_guard lock(coordinator_.mutex_);
    auto found = coordinator_.keys_.find(key_);
    if (found != coordinator_.keys_.end()) {
      answer(found->second);
    } else {
      coordinator_.key_waits_.push_back(this);
      waiting_ = true;
    }
  }
  const std::string& key() const { return key_; }
  // With the coordinator's mutex held; off the list already.
  void answer(const std::string& value) {
    waiting_ = false;
    response_->set_key(key_);
    response_->set_value(value);
    Finish(grpc::Status::OK);
  }
  void OnCancel() override {
    std::lock_guard lock(coordinator_.mutex_);
    if (!waiting_) return;
    waiting_ = false;
    coordinator_.key_waits_.remove(this);
    Finish(grpc::Status::CANCELLED);
  }
  void OnDone() override {
    Impl& coordinator = coordinator_;
    delete this;
    coordinator.reactor_gone();
  }

 private:
  Impl& coordinator_;
  std::string key_;
  wire::KeyValue* response_;
  bool waiting_ = false;
};

namespace {

// A unary call that is answered at once.
class Answer final : public grpc::ServerUnaryReactor {
 public:
  explicit Answer(const grpc::Status& status) { Finish(status); }
  void OnDone() override { delete this; }
};

}  // namespace

grpc::ServerBidiReactor<wire::Words, wire::News>* Coordinator::Impl::Attend(grpc::CallbackServerContext* context) {
  return new Session(*this, carries(*context, options_.token));
}

grpc::ServerUnaryReactor* Coordinator::Impl::SetKey(grpc::CallbackServerContext* context, const wire::KeyValue* request, wire::Nothing*) {
  if (!carries(*context, options_.token)) return new Answer(kRefused);
  if (request->key().size() > kKeyBytesMax || request->value().size() > kValueBytesMax)
    return new Answer({grpc::StatusCode::INVALID_ARGUMENT, "the key or the value is too long"});
  {
    std::lock_guard lock(mutex_);
    if (keys_.size() >= kKeysMax && !keys_.contains(request->key()))
      return new Answer({grpc::StatusCode::RESOURCE_EXHAUSTED, "too many keys"});
  }
  set_key(request->key(), request->value());
  return new Answer(grpc::Status::OK);
}

grpc::ServerUnaryReactor* Coordinator::Impl::GetKey(grpc::CallbackServerContext* context, const wire::Key* request,
                                                    wire::KeyValue* response) {
  if (!carries(*context, options_.token)) return new Answer(kRefused);
  return new KeyWait(*this, request->key(), response);
}

void Coordinator::Impl::set_key(const std::string& key, const std::string& value) {
  std::lock_guard lock(mutex_);
  keys_[key] = value;
  for (auto it = key_waits_.begin(); it != key_waits_.end();) {
    KeyWait* wait = *it;
    if (wait->key() != key) {
      ++it;
      continue;
    }
    it = key_waits_.erase(it);
    wait->answer(value);
  }
}

grpc::Status Coordinator::Impl::join(Session* session, const Member& member, comm::Ns) {
  std::lock_guard lock(mutex_);
  if (member.process < 0 || member.process >= int(processes_.size()))
    return {grpc::StatusCode::INVALID_ARGUMENT, fmt::format("process {} joins a job of {} processes", member.process, processes_.size())};
  Process& process = processes_[std::size_t(member.process)];
  if (process.member)
    return {grpc::StatusCode::ALREADY_EXISTS,
            fmt::format("process {} has joined before, as pid {} on {}", member.process, process.member->pid, process.member->host)};
  process.member = member;
  process.session = session;
  process.attending = true;
  process.heard_ns = comm::now_ns();
  ++joined_;
  wire::News news;
  wire::Roll* roll = news.mutable_roll();
  roll->set_num_processes(int(processes_.size()));
  for (const Member& joined : members_locked()) *roll->add_members() = to_wire(joined);
  for (Process& other : processes_)
    if (other.session) other.session->send(news);
  changed_.notify_all();
  return grpc::Status::OK;
}

void Coordinator::Impl::stream_ended(int process) {
  std::lock_guard lock(mutex_);
  processes_[std::size_t(process)].attending = false;
  processes_[std::size_t(process)].broken_ns = comm::now_ns();
  changed_.notify_all();
}

void Coordinator::Impl::session_gone(int process, Session* session) {
  stream_ended(process);
  referee_.listen(process, nullptr);
  std::lock_guard lock(mutex_);
  if (processes_[std::size_t(process)].session == session) processes_[std::size_t(process)].session = nullptr;
}

void Coordinator::Impl::watch(std::stop_token stop) {
  const comm::Ns grace_ns = options_.supervised ? comm::Ns(kDisappearedMs) * 1'000'000 : 0;
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    comm::Ns next_ns = -1;
    std::vector<std::pair<int, comm::Ns>> gone;
    for (std::size_t p = 0; p < processes_.size(); ++p) {
      Process& process = processes_[p];
      if (!process.member || process.attending || process.reported || process.gone) continue;
      comm::Ns due_ns = process.broken_ns + grace_ns;
      if (due_ns <= comm::now_ns()) {
        process.gone = true;
        gone.emplace_back(int(p), process.broken_ns);
      } else if (next_ns < 0 || due_ns < next_ns) {
        next_ns = due_ns;
      }
    }
    if (!gone.empty()) {
      lock.unlock();
      for (auto [p, time_ns] : gone) {
        // Who left or raised has ended in its own way, and may take its time.
        if (!referee_.ended(p)) referee_.died(p, kDisappeared, 0, time_ns);
      }
      lock.lock();
      continue;
    }
    auto stirred = [&] {
      return std::any_of(processes_.begin(), processes_.end(), [&](const Process& p) {
        return p.member && !p.attending && !p.reported && !p.gone && (next_ns < 0 || p.broken_ns + grace_ns < next_ns);
      });
    };
    if (next_ns < 0)
      changed_.wait(lock, stop, stirred);
    else
      changed_.wait_for(lock, stop, std::chrono::nanoseconds(std::max<comm::Ns>(next_ns - comm::now_ns(), 0)), stirred);
  }
}

Coordinator::Coordinator(CoordinatorOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Coordinator::~Coordinator() = default;
const std::string& Coordinator::address() const { return impl_->address(); }
const std::string& Coordinator::token() const { return impl_->token(); }
void Coordinator::report_death(int process, int exit_code, int signal, comm::Ns time) {
  impl_->report_death(process, exit_code, signal, time);
}
std::vector<Member> Coordinator::members() const { return impl_->members(); }
std::vector<int> Coordinator::missing() const { return impl_->missing(); }
bool Coordinator::wait_joined(std::chrono::milliseconds limit) const { return impl_->wait_joined(limit); }
bool Coordinator::wait_over(std::chrono::milliseconds limit) const { return impl_->referee().wait_over(limit); }
void Coordinator::conclude() const { impl_->referee().conclude(); }
bool Coordinator::wait_deserted(std::chrono::milliseconds limit) const { return impl_->wait_deserted(limit); }
Evidence Coordinator::evidence() const { return impl_->referee().evidence(); }
std::vector<Diagnosis> Coordinator::diagnoses() const {
  VerdictRef verdict = impl_->referee().verdict();
  return verdict ? verdict->diagnoses : std::vector<Diagnosis>{};
}
std::optional<std::string> Coordinator::common_error() const { return impl_->referee().common_error(); }
bool Coordinator::ended(int process) const { return impl_->referee().ended(process); }
std::vector<SilentProcess> Coordinator::silent(std::chrono::milliseconds at_least) const { return impl_->silent(at_least); }
void Coordinator::set_key(const std::string& key, const std::string& value) { impl_->set_key(key, value); }
std::optional<std::string> Coordinator::get_key(const std::string& key) const { return impl_->get_key(key); }

}  // namespace shardlab::control
