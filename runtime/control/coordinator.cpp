#include "runtime/control/coordinator.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <mutex>
#include <utility>

#include "control.grpc.pb.h"
#include "runtime/base/error.h"
#include "runtime/control/assembly.h"
#include "runtime/control/barrier_calls.h"
#include "runtime/control/barriers.h"
#include "runtime/control/interrupts.h"
#include "runtime/control/key_calls.h"
#include "runtime/control/key_store.h"
#include "runtime/control/live_session.h"
#include "runtime/control/membership.h"
#include "runtime/control/open_calls.h"
#include "runtime/control/referee.h"
#include "runtime/control/session.h"
#include "runtime/control/silence.h"
#include "runtime/control/wire.h"
#include "traces/checks/wording.h"

namespace shardlab::control {
namespace {

constexpr int kStrangerMs = 10'000;                               // how long a connection may stay without a call
constexpr int kCallsMax = 256;                                    // at once, of one connection
constexpr std::size_t kBuffersBytesMax = std::size_t(512) << 20;  // of all messages under way

// For those who wait for it at a barrier.
std::string end_text(int exit_code, int signal) {
  if (signal != 0) return fmt::format("was killed by signal {} ({})", signal, signal_name(signal));
  return exit_code == kDisappeared ? "is gone" : fmt::format("exited with code {}", exit_code);
}

}  // namespace

// Holds the parts of a job together and serves them.
class Coordinator::Impl final : public wire::Coordination::CallbackService {
 public:
  explicit Impl(CoordinatorOptions options)
      : options_(std::move(options)),
        court_(make_court(0, {})),
        assembly_(options_.num_processes,
                  [this](const Gathered& gathered, const std::vector<Ended>& ended) { begin_epoch(gathered, ended); }),
        barriers_(
            options_.num_processes, [this](int process) { return whereabouts(court()->referee.evidence(), process); }, barrier_watch()) {
    if (options_.token.empty()) options_.token = random_token();
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort(fmt::format("{}:{}", options_.host, options_.port), server_credentials(options_.tls), &port);
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.SetMaxReceiveMessageSize(kMessageBytesMax);
    if (options_.silence_ms > 0) {
      builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, options_.silence_ms / 2);
      builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, options_.silence_ms / 2);
    }
    // Who connects and says nothing, or nothing that we take, does not stay; a process of the job always has a call open.
    builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kStrangerMs);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kStrangerMs);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kCallsMax);
    builder.SetResourceQuota(grpc::ResourceQuota().Resize(kBuffersBytesMax));
    // Processes may ask for a sign of life as often as they like.
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 100);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    if (!server_ || port == 0) throw TransportError(fmt::format("the coordinator cannot listen on {}:{}", options_.host, options_.port));
    address_ = fmt::format("{}:{}", options_.host, port);
  }

  ~Impl() override {
    court()->membership.stop_watching();
    server_->Shutdown(std::chrono::system_clock::now());  // cancels what is open
    server_->Wait();
    open_.wait_none();
  }

  grpc::ServerBidiReactor<wire::Words, wire::News>* Attend(grpc::CallbackServerContext* context) override {
    grpc::Status welcome = admit(*context);
    std::int64_t epoch = -1;
    std::shared_ptr<Court> now = court(&epoch);
    if (welcome.ok() && epoch_of(*context) != epoch)
      welcome = {grpc::StatusCode::FAILED_PRECONDITION,
                 fmt::format("epoch {} of the job is over, and this is epoch {}", epoch_of(*context), epoch)};
    return new Session({std::move(now), open_, [this](int process, std::uint64_t incarnation) { return is_current(process, incarnation); },
                        [this](int process, const std::string& how) { barriers_.ended(process, how); }},
                       welcome);
  }
  grpc::ServerBidiReactor<wire::LiveWord, wire::LiveNews>* Live(grpc::CallbackServerContext* context) override {
    grpc::Status welcome = admit(*context);
    if (welcome.ok() && !options_.elastic)
      welcome = {grpc::StatusCode::FAILED_PRECONDITION, "the job is not elastic where its coordinator was started"};
    LiveCourt live{assembly_,
                   open_,
                   [this](const Member& member) { return court()->membership.refuse(member); },
                   [this](int process) { gone(process, comm::now_ns()); },
                   [this](int process, std::uint64_t incarnation) { vanished(process, incarnation); },
                   [this](int process) {
                     interrupts_.forget(process);
                     barriers_.returned(process);
                   },
                   [this](int process) { barriers_.ended(process, kLeftTheJob); }};
    return new LiveSession(std::move(live), welcome);
  }
  grpc::ServerUnaryReactor* SetKey(grpc::CallbackServerContext* context, const wire::KeyValue* request, wire::Nothing*) override {
    grpc::Status welcome = admit(*context);
    return welcome.ok() ? control::set_key(keys_, *request) : answer_with(welcome);
  }
  grpc::ServerUnaryReactor* GetKey(grpc::CallbackServerContext* context, const wire::Key* request, wire::KeyValue* response) override {
    grpc::Status welcome = admit(*context);
    return welcome.ok() ? control::get_key(keys_, open_, *request, response, key_watch(*request)) : answer_with(welcome);
  }
  grpc::ServerUnaryReactor* WaitAtBarrier(grpc::CallbackServerContext* context, const wire::BarrierArrival* request,
                                          wire::Nothing*) override {
    grpc::Status welcome = admit(*context);
    if (welcome.ok() && !is_current(request->process(), request->incarnation()))
      welcome = {grpc::StatusCode::FAILED_PRECONDITION, "this process was taken for dead, or goes on as another incarnation"};
    return welcome.ok() ? control::wait_at_barrier(barriers_, open_, *request) : answer_with(welcome);
  }

  grpc::ServerUnaryReactor* Interrupted(grpc::CallbackServerContext* context, const wire::Interruption* request,
                                        wire::Whereabouts* response) override {
    grpc::Status welcome = admit(*context);
    const int process = request->process();
    if (welcome.ok() && (process < 0 || process >= options_.num_processes || !is_current(process, request->incarnation())))
      welcome = {grpc::StatusCode::FAILED_PRECONDITION, "no such process, or it goes on as another incarnation"};
    if (welcome.ok() && (request->signal() < 1 || request->signal() >= NSIG))
      welcome = {grpc::StatusCode::INVALID_ARGUMENT, "no such signal"};
    if (!welcome.ok()) return answer_with(welcome);
    response->set_teller(interrupts_.came(process, request->signal(), comm::now_ns()));
    if (response->teller() == process) {
      Evidence evidence = court()->referee.evidence();
      if (!request->at().empty()) evidence.processes.at(std::size_t(process)).at = clean_text(request->at());
      response->set_text(whereabouts_text(evidence));
    }
    return answer_with(grpc::Status::OK);
  }

  const std::string& address() const { return address_; }
  const std::string& token() const { return options_.token; }
  std::shared_ptr<Court> court(std::int64_t* epoch = nullptr) const {
    std::lock_guard lock(court_mutex_);
    if (epoch) *epoch = epoch_;
    return court_;
  }
  const Assembly& assembly() const { return assembly_; }
  bool elastic() const { return options_.elastic; }
  KeyStore& keys() { return keys_; }
  void tell_silences() {
    std::shared_ptr<Court> now = court();
    if (now->referee.verdict()) return;
    for (const SilenceToTell& each : silences_.look(now->membership, std::chrono::milliseconds(kSilentMs), comm::now_ns()))
      now->membership.tell_silence(each.teller, each.silent, each.silent_ms, whereabouts(now->referee.evidence(), each.silent.process));
  }

  void report_death(int process, int exit_code, int signal, comm::Ns time, Where place) {
    std::shared_ptr<Court> now = court();
    now->membership.reported(process, std::chrono::milliseconds(kDrainMs));
    now->referee.died(process, exit_code, signal, time, place);
    assembly_.died(process, {exit_code, signal});
    barriers_.ended(process, end_text(exit_code, signal));
  }

 private:
  // In an elastic job one that is started again may come, or set a key: nothing is proved there.
  BarrierWatch barrier_watch() {
    if (options_.elastic) return {};
    return {.waits =
                [this](const Arrival& arrival, const std::set<int>& participants) {
                  court()->referee.came(arrival.barrier, arrival.process, arrival.visit, participants, arrival.timeout);
                },
            .over = [this](const std::string& barrier) { court()->referee.barrier_over(barrier); }};
  }
  KeyWatch key_watch(const wire::Key& request) {
    if (options_.elastic || request.visit() == 0) return {};
    return {.waits =
                [this](const wire::Key& key) {
                  court()->referee.wants_key(key.process(), key.visit(), std::chrono::milliseconds(key.timeout_ms()));
                },
            .over = [this](const wire::Key& key) { court()->referee.key_over(key.process(), key.visit()); }};
  }
  std::shared_ptr<Court> make_court(std::int64_t epoch, const std::vector<int>& participants) {
    RefereeOptions referee{.num_processes = options_.num_processes,
                           .look_ahead = options_.look_ahead,
                           .stuck = options_.stuck,
                           .on_finding =
                               [this] {
                                 if (options_.on_finding) options_.on_finding();
                               },
                           .on_verdict =
                               [this](const VerdictRef& verdict) {
                                 if (options_.on_verdict) options_.on_verdict(verdict);
                               }};
    MembershipOptions membership{.num_processes = options_.num_processes,
                                 .participants = participants,
                                 .grace = std::chrono::milliseconds(options_.supervised ? kDisappearedMs : 0),
                                 .silence = silence_before_end(),
                                 .on_gone = [this, epoch](int process, comm::Ns time, bool silent) {
                                   std::int64_t now = -1;
                                   std::shared_ptr<Court> judging = court(&now);
                                   Ended how = how_gone(process);
                                   // Who left or raised has ended in its own way, and may take its time.
                                   if (now == epoch && !judging->referee.ended(process)) {
                                     if (silent && !options_.elastic)
                                       judging->referee.lost(process, time, silence_before_end());
                                     else
                                       judging->referee.died(process, how.exit_code, how.signal, time);
                                   }
                                   if (!options_.elastic) barriers_.ended(process, end_text(how.exit_code, how.signal));
                                 }};
    return std::make_shared<Court>(referee, membership);
  }
  // gRPC closes a connection that nobody answers after half of `silence_ms` or more.
  std::chrono::milliseconds silence_before_end() const {
    constexpr int kHeardMs = 2 * kHeartbeatMs - 200;  // who lives was heard in this time
    return std::chrono::milliseconds(options_.silence_ms == 0 ? 0 : std::max(options_.silence_ms * 2 / 5, kHeardMs));
  }
  // With the assembly's lock held.
  void begin_epoch(const Gathered& gathered, const std::vector<Ended>& ended) {
    std::shared_ptr<Court> next = make_court(gathered.epoch, gathered.live);
    for (int p = 0; p < options_.num_processes; ++p) {
      const Ended& how = ended[std::size_t(p)];
      bool lives = std::binary_search(gathered.live.begin(), gathered.live.end(), p);
      if (!lives) next->referee.absent(p, how.left, how.exit_code, how.signal);
    }
    std::lock_guard lock(court_mutex_);
    court_.swap(next);
    epoch_ = gathered.epoch;
  }
  // Nobody supervises: its stream ended, and what it said before is all there is.
  Ended how_gone(int process) const {
    int signal = interrupts_.signal_of(process);
    return signal != 0 ? Ended{.signal = signal} : Ended{.exit_code = kDisappeared};
  }
  void gone(int process, comm::Ns time) {
    std::shared_ptr<Court> now = court();
    Ended how = how_gone(process);
    if (!now->referee.ended(process)) now->referee.died(process, how.exit_code, how.signal, time);
    barriers_.ended(process, end_text(how.exit_code, how.signal));
  }
  bool is_current(int process, std::uint64_t incarnation) const { return !options_.elastic || assembly_.is_current(process, incarnation); }
  void vanished(int process, std::uint64_t incarnation) {
    if (options_.supervised)
      assembly_.silenced(process, incarnation);  // its supervisor knows more
    else if (assembly_.vanished(process, incarnation, how_gone(process)))
      gone(process, comm::now_ns());
  }
  static std::int64_t epoch_of(const grpc::CallbackServerContext& context) {
    auto found = context.client_metadata().find(kEpochKey);
    if (found == context.client_metadata().end()) return 0;
    std::int64_t epoch = -1;
    std::from_chars(found->second.data(), found->second.data() + found->second.size(), epoch);
    return epoch;
  }

  grpc::Status admit(const grpc::CallbackServerContext& context) const {
    auto found = context.client_metadata().find(kTokenKey);
    if (found != context.client_metadata().end() &&
        same_token(options_.token, std::string_view(found->second.data(), found->second.size())))
      return grpc::Status::OK;
    return {grpc::StatusCode::UNAUTHENTICATED, "the token is not this job's"};
  }

  CoordinatorOptions options_;
  mutable std::mutex court_mutex_;
  std::shared_ptr<Court> court_;  // of the epoch
  std::int64_t epoch_ = 0;
  Assembly assembly_;
  KeyStore keys_;
  Barriers barriers_;
  Interrupts interrupts_;
  Silences silences_;
  OpenCalls open_;
  std::string address_;
  std::unique_ptr<grpc::Server> server_;
};

Coordinator::Coordinator(CoordinatorOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Coordinator::~Coordinator() = default;
const std::string& Coordinator::address() const { return impl_->address(); }
const std::string& Coordinator::token() const { return impl_->token(); }
void Coordinator::report_death(int process, int exit_code, int signal, comm::Ns time, Where place) {
  impl_->report_death(process, exit_code, signal, time, place);
}
std::vector<Member> Coordinator::members() const { return impl_->court()->membership.members(); }
std::vector<int> Coordinator::missing() const { return impl_->court()->membership.missing(); }
bool Coordinator::wait_joined(std::chrono::milliseconds limit) const { return impl_->court()->membership.wait_joined(limit); }
bool Coordinator::disagree() const { return impl_->court()->membership.disagree(); }
bool Coordinator::wait_deserted(std::chrono::milliseconds limit) const {
  return impl_->elastic() ? impl_->assembly().wait_deserted(limit) : impl_->court()->membership.wait_deserted(limit);
}
std::vector<SilentProcess> Coordinator::silent(std::chrono::milliseconds at_least) const {
  return impl_->court()->membership.silent(at_least);
}
void Coordinator::tell_silences() { impl_->tell_silences(); }
bool Coordinator::wait_over(std::chrono::milliseconds limit) const { return impl_->court()->referee.wait_over(limit); }
void Coordinator::conclude() const { impl_->court()->referee.conclude(); }
Evidence Coordinator::evidence() const { return impl_->court()->referee.evidence(); }
std::vector<Diagnosis> Coordinator::diagnoses() const {
  VerdictRef verdict = impl_->court()->referee.verdict();
  return verdict ? verdict->diagnoses : std::vector<Diagnosis>{};
}
std::optional<std::string> Coordinator::common_error() const { return impl_->court()->referee.common_error(); }
bool Coordinator::ended(int process) const { return impl_->court()->referee.ended(process); }
void Coordinator::set_key(const std::string& key, const std::string& value) { impl_->keys().set(key, value); }
std::optional<std::string> Coordinator::get_key(const std::string& key) const { return impl_->keys().get(key); }

}  // namespace shardlab::control
