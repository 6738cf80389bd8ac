#include "runtime/control/client.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "control.grpc.pb.h"
#include "runtime/base/at_work.h"
#include "runtime/base/error.h"
#include "runtime/control/channel.h"
#include "runtime/control/coordinator.h"
#include "runtime/control/environment.h"
#include "runtime/control/network.h"
#include "runtime/control/silence.h"
#include "runtime/control/tls_probe.h"
#include "runtime/control/wire.h"
#include "runtime/control/word_sender.h"
#include "runtime/control/words.h"
#include "traces/checks/evidence_json.h"

namespace shardlab::control {
namespace {

using When = WordSender::When;

}  // namespace

class ControlClient::Link final : public Uplink {
 public:
  Link(ControlClient& owner, ClientOptions options) : owner_(owner), options_(std::move(options)) {
    channel_ = connected_channel(options_);
    stub_ = wire::Coordination::NewStub(channel_);
    context_.AddMetadata(kTokenKey, options_.token);
    if (options_.epoch > 0) context_.AddMetadata(kEpochKey, std::to_string(options_.epoch));
    stream_ = stub_->Attend(&context_);
    push(join_word({options_.process_index, getpid(), host_name(), options_.num_devices, own_host_id_, options_.incarnation,
                    options_.num_processes}),
         When::kNow);
    coordinator_.heard(comm::now_ns());
    reader_ = std::jthread([this] { read(); });
    watcher_ = std::jthread([this](std::stop_token stop) { watch(stop); });
    sender_.start();
  }

  ~Link() override {
    {
      std::lock_guard lock(mutex_);
      closing_ = true;
    }
    wake_watcher_.notify_all();
    sender_.finish();
    {
      // The coordinator closes the stream when it has heard that we go. If it does not, we close it.
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, std::chrono::milliseconds(kGoodbyeMs), [&] { return reader_done_; });
      if (!reader_done_) context_.TryCancel();
    }
    sender_.join();
    reader_.join();
    looker_ = {};  // begun by the reader
    watcher_ = {};
  }

  void wait_for_all() {
    std::unique_lock lock(mutex_);
    auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(options_.join_timeout_ms);
    auto here = [&] { return all_joined_ || over_; };
    for (auto tell_at = std::chrono::steady_clock::now() + kTellAfter; !here() && std::chrono::steady_clock::now() < end;) {
      if (changed_.wait_until(lock, std::min(end, tell_at), here) || std::chrono::steady_clock::now() < tell_at) continue;
      tell_who_is_here();
      tell_at += kTellAgainAfter;
    }
    if (all_joined_) return;
    if (over_) {
      lock.unlock();
      owner_.gate().pass_leaving(std::chrono::milliseconds(0));  // throws what ended it
    }
    std::vector<int> missing = missing_processes();
    throw TransportError(fmt::format("not all processes joined the job within {} ms: missing {} of {}: {}; {}", options_.join_timeout_ms,
                                     missing.size(), options_.num_processes, fmt::join(missing, ", "), joined_text()));
  }

  const std::vector<Member>& members() const { return members_; }

  void set_key(const std::string& key, const std::string& value, bool only_new, std::chrono::milliseconds limit) {
    grpc::ClientContext context;
    prepare(context, limit);
    wire::KeyValue request;
    request.set_key(key);
    request.set_value(value);
    request.set_only_new(only_new);
    wire::Nothing response;
    check(stub_->SetKey(&context, request, &response), "set", key);
  }

  std::string get_key(const std::string& key, std::chrono::milliseconds limit) {
    grpc::ClientContext context;
    prepare(context, limit);
    wire::Key request;
    request.set_key(key);
    wire::KeyValue response;
    check(stub_->GetKey(&context, request, &response), "get", key);
    return response.value();
  }

  std::string await_key(const std::string& key, std::chrono::milliseconds timeout, const std::string& told_as, Where where) {
    grpc::ClientContext context;
    prepare(context, std::min<std::chrono::milliseconds>(timeout, kBarrierMax));
    wire::Key request;
    request.set_key(key);
    request.set_process(options_.process_index);
    request.set_visit(++visits_);
    request.set_timeout_ms(timeout.count());
    wire::KeyValue response;
    std::optional<grpc::Status> answered;
    stub_->async()->GetKey(&context, &request, &response, [&](const grpc::Status& status) { answer(answered, status); });
    await_answer(context, answered, {-1, false, fmt::format("key '{}'", told_as), where.text(), where.statement, request.visit()});
    if (!answered->ok()) throw_what_ended_it();
    check(*answered, "get", key);
    return response.value();
  }

  void wait_at_barrier(const std::string& barrier, std::chrono::milliseconds timeout, const std::vector<int>& participants, Where where) {
    grpc::ClientContext context;
    prepare(context, std::min<std::chrono::milliseconds>(timeout, kBarrierMax) + std::chrono::milliseconds(kKeyMs));
    wire::BarrierArrival request;
    request.set_barrier(barrier);
    request.set_process(options_.process_index);
    request.set_incarnation(options_.incarnation);
    request.mutable_participants()->Add(participants.begin(), participants.end());
    request.set_timeout_ms(timeout.count());
    std::string place = where.known() ? where.text() : std::string();
    request.set_where(clean_text(place));
    request.set_visit(++visits_);
    wire::Nothing response;
    std::optional<grpc::Status> answered;
    stub_->async()->WaitAtBarrier(&context, &request, &response, [&](const grpc::Status& status) { answer(answered, status); });
    await_answer(context, answered, {-1, false, fmt::format("barrier '{}'", barrier), place, where.statement, request.visit()});
    check_barrier(*answered);
  }

  void declare(ProgramEvidence program) override { push(program_word(program), When::kSoon); }
  void issued(CallEvidence call) override { push(issued_word(call), When::kSoon); }
  void reading(Reading reading) override { push(reading_word(reading), When::kNow); }
  void running() override { push(running_word(), When::kLater); }
  void waiting(std::string doing, std::string where, std::int32_t statement) override {
    push(waiting_word(doing, where, statement), When::kLater);
  }
  void wire_mismatch(int from, std::string what) override { push(wire_mismatch_word(from, what), When::kNow); }
  void raised(std::string error, std::string where, std::int32_t statement) override {
    push(raised_word(error, where, statement), When::kNow);
  }
  void leaving() override { push(leaving_word(), When::kNow); }
  void recent(Recent recent) override { push(recent_word(recent), When::kNow); }
  void looked_ahead() override { push(looked_ahead_word(), When::kNow); }

 private:
  static constexpr int kKeyMs = 10'000;
  static constexpr std::chrono::seconds kTellAfter{3}, kTellAgainAfter{15};
  // Who is through soon tells nobody; the others again and again.
  static constexpr std::chrono::milliseconds kShortBarrier{20}, kTellAtBarrier{1000}, kVerdictAfter{1000};
  static constexpr std::chrono::hours kBarrierMax{24 * 365};

  void answer(std::optional<grpc::Status>& answered, const grpc::Status& status) {
    std::lock_guard lock(mutex_);
    answered = status;
    changed_.notify_all();
  }

  // Waits for the answer. A process at a barrier is not stuck, and says so; what ends the job ends its waiting.
  void await_answer(grpc::ClientContext& context, const std::optional<grpc::Status>& answered, const Reading& place) {
    bool told = false, cancelled = false;
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, told ? kTellAtBarrier : kShortBarrier, [&] { return answered || (over_ && !cancelled); }) ||
           !answered) {
      if (over_ && !cancelled) {
        context.TryCancel();
        cancelled = true;
      }
      lock.unlock();
      reading(place);
      told = true;
      lock.lock();
    }
    // Who ended without coming is told of by the verdict, with all that is known.
    if (answered->error_code() == grpc::StatusCode::ABORTED) changed_.wait_for(lock, kVerdictAfter, [&] { return over_; });
    lock.unlock();
    if (told) running();
  }
  void throw_what_ended_it() {
    {
      std::lock_guard lock(mutex_);
      if (!over_) return;
    }
    owner_.gate().pass_leaving(std::chrono::milliseconds(0));
  }
  void check_barrier(const grpc::Status& status) {
    if (status.ok()) return;
    throw_what_ended_it();
    if (status.error_code() == grpc::StatusCode::INVALID_ARGUMENT) throw UserError(status.error_message());
    throw TransportError(status.error_message());
  }

  // With the lock held.
  std::vector<int> missing_processes() const {
    std::vector<int> missing;
    for (int p = 0; p < options_.num_processes; ++p)
      if (std::none_of(members_.begin(), members_.end(), [&](const Member& m) { return m.process == p; })) missing.push_back(p);
    return missing;
  }
  std::string joined_text() const {
    std::string text;
    for (const Member& member : members_) text += fmt::format("{}{} on {}", text.empty() ? "" : ", ", member.process, member.host);
    return text.empty() ? "none has joined" : "joined: " + text;
  }
  void tell_who_is_here() const {
    std::vector<int> missing = missing_processes();
    fmt::print(stderr, "shardlab: process {} waits for {} of {} processes: {} ({})\n", options_.process_index, missing.size(),
               options_.num_processes, fmt::join(missing, ", "), joined_text());
  }

  void push(wire::Word word, When when) { sender_.push(std::move(word), when); }

  // With a heartbeat goes what others may need who wait for one that waits itself.
  void beat(wire::Words& batch) {
    *batch.add_words() = heartbeat_word(AtWork::any_since(work_told_));
    if (owner_.waits_by_choice()) *batch.add_words() = recent_word(owner_.ProcessControl::recent());
  }

  // Nobody listens any more.
  void set_over() {
    sender_.close();
    std::lock_guard lock(mutex_);
    over_ = true;
    changed_.notify_all();
    wake_watcher_.notify_all();
  }

  bool is_closing() {
    std::lock_guard lock(mutex_);
    return closing_;
  }

  void read() {
    wire::News news;
    while (stream_->Read(&news)) hear(news);
    grpc::Status status = stream_->Finish();
    if (!is_closing())
      owner_.hear_broken(status.ok() || status.error_code() == grpc::StatusCode::UNAVAILABLE || status.error_message().empty()
                             ? fmt::format("the coordinator at {} is gone: its stream to process {} broke{}", options_.address,
                                           options_.process_index,
                                           status.error_message().empty() ? std::string() : fmt::format(" ({})", status.error_message()))
                             : fmt::format("the coordinator at {} refuses process {}: {}", options_.address, options_.process_index,
                                           status.error_message()));
    set_over();
    std::lock_guard lock(mutex_);
    reader_done_ = true;
    changed_.notify_all();
  }

  // Of a coordinator that is stopped, or cut off, nobody else can tell; it ends this process by the limit alone.
  void watch(std::stop_token stop) {
    constexpr std::size_t kTellersOfHost = 4;  // the first ones: they may have terminals of their own, and many share one
    std::unique_lock lock(mutex_);
    auto over = [&] { return over_ || closing_; };
    while (!wake_watcher_.wait_for(lock, stop, std::chrono::milliseconds(Coordinator::kHeartbeatMs), over) && !stop.stop_requested()) {
      std::optional<double> silent_ms = coordinator_.look(comm::now_ns());
      std::size_t before_us = 0;
      for (const Member& member : members_)
        if (member.process < options_.process_index && member.host_id == own_host_id_) ++before_us;
      if (!silent_ms || before_us >= kTellersOfHost) continue;
      std::string limit = options_.heartbeat_timeout_ms == 0 ? std::string()
                                                             : fmt::format("; process {} ends where that lasts {} s",
                                                                           options_.process_index, options_.heartbeat_timeout_ms / 1000.0);
      fmt::print(stderr, "shardlab: {}{}\n",
                 silence_text(fmt::format("the coordinator at {}", options_.address), coordinator_member_, *silent_ms, ""), limit);
    }
  }

  void hear(const wire::News& news) {
    coordinator_.heard(comm::now_ns());
    switch (news.news_case()) {
      case wire::News::kRoll: {
        std::lock_guard lock(mutex_);
        if (all_joined_) break;
        coordinator_member_ = from_wire(news.roll().coordinator());
        members_.clear();
        for (const wire::Member& member : news.roll().members()) members_.push_back(from_wire(member));
        all_joined_ = int(members_.size()) == news.roll().num_processes();
        changed_.notify_all();
        break;
      }
      case wire::News::kMatched:
        owner_.hear_matched(news.matched());
        break;
      case wire::News::kPoison:
        owner_.hear_poison(news.poison().anyone_raised());
        recent(owner_.ProcessControl::recent());
        if (!looker_.joinable()) looker_ = std::jthread([this](std::stop_token stop) { owner_.look_ahead(stop); });
        break;
      case wire::News::kVerdict:
        if (disagreed_) break;  // that others have ended for the same reason
        owner_.hear_verdict(make_verdict(diagnoses_from_json(news.verdict().diagnoses_json())));
        set_over();
        break;
      case wire::News::kLeft:
        owner_.gate().left();
        break;
      case wire::News::kSilence: {
        Member silent = from_wire(news.silence().member());
        fmt::print(
            stderr, "shardlab: {}\n",
            silence_text(fmt::format("process {}", silent.process), silent, news.silence().silent_ms(), news.silence().whereabouts()));
        break;
      }
      case wire::News::kDisagreement: {
        disagreed_ = true;
        owner_.hear_broken(fmt::format("the job does not begin: {}", news.disagreement()));
        set_over();
        break;
      }
      case wire::News::kRaisedHeard:
        owner_.gate().acknowledged();
        break;
      default:
        break;
    }
  }

  void prepare(grpc::ClientContext& context, std::chrono::milliseconds limit) const {
    context.AddMetadata(kTokenKey, options_.token);
    context.set_deadline(std::chrono::system_clock::now() + limit);
  }
  static void check(const grpc::Status& status, const char* verb, const std::string& key) {
    if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED)
      throw TransportError(fmt::format("nobody set the key '{}' in time", key));
    if (status.error_code() == grpc::StatusCode::ALREADY_EXISTS) throw UserError(fmt::format("ALREADY_EXISTS: key {} already exists", key));
    if (!status.ok()) throw TransportError(fmt::format("cannot {} the key '{}': {}", verb, key, status.error_message()));
  }

  ControlClient& owner_;
  const ClientOptions options_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<wire::Coordination::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<wire::Words, wire::News>> stream_;

  std::mutex mutex_;
  std::condition_variable_any wake_watcher_;
  std::condition_variable changed_;
  bool all_joined_ = false, over_ = false, reader_done_ = false, closing_ = false;
  std::vector<Member> members_;
  std::uint64_t visits_ = 0;  // at barriers and for keys, by the issuing thread
  const std::string own_host_id_ = host_identity();
  Member coordinator_member_;
  bool disagreed_ = false;      // the reader's
  std::int64_t work_told_ = 0;  // the sender's: AtWork as of the last heartbeat
  CoordinatorSilence coordinator_{std::chrono::milliseconds(Coordinator::kSilentMs), std::chrono::milliseconds(Coordinator::kHeartbeatMs)};
  WordSender sender_{[this](const wire::Words& words) { return stream_->Write(words); }, [this] { stream_->WritesDone(); },
                     [this](wire::Words& batch) { beat(batch); }};
  std::jthread reader_, looker_, watcher_;
};

ControlClient::ControlClient(ClientOptions options)
    : ProcessControl(options.process_index, options.on_stop, std::chrono::milliseconds(options.shutdown_timeout_ms)) {
  link_ = std::make_unique<Link>(*this, std::move(options));
}
ControlClient::~ControlClient() = default;

Uplink& ControlClient::uplink() { return *link_; }
const std::vector<Member>& ControlClient::members() const { return link_->members(); }
void ControlClient::set_key(const std::string& key, const std::string& value, bool only_new, std::chrono::milliseconds limit) {
  link_->set_key(key, value, only_new, limit);
}
std::string ControlClient::get_key(const std::string& key, std::chrono::milliseconds limit) { return link_->get_key(key, limit); }

void ControlClient::wait_at_barrier(const std::string& barrier, std::chrono::milliseconds timeout, const std::vector<int>& participants,
                                    Where where) {
  at(where);
  link_->wait_at_barrier(barrier, timeout, participants, where);
}

std::string ControlClient::await_key(const std::string& key, std::chrono::milliseconds timeout, const std::string& told_as, Where where) {
  at(where);
  return link_->await_key(key, timeout, told_as, where);
}

std::unique_ptr<ControlClient> connect(ClientOptions options) {
  if (options.server_name.empty()) options.server_name = split_address(options.address, "the coordinator's address").first;
  std::unique_ptr<ControlClient> client(new ControlClient(std::move(options)));
  client->link_->wait_for_all();
  return client;
}

}  // namespace shardlab::control
