#include "runtime/shardlab/job.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>

#include "runtime/base/call_places.h"
#include "runtime/control/client.h"
#include "runtime/control/environment.h"
#include "runtime/control/job_token.h"
#include "runtime/control/live_client.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/launch_aware.h"
#include "runtime/exec/platform.h"
#include "runtime/shardlab/interrupt.h"
#include "runtime/shardlab/job_trace.h"
#include "runtime/shardlab/lone_controls.h"
#include "runtime/shardlab/say_once.h"
#include "runtime/shardlab/subset_transport.h"
#include "runtime/shardlab/thread_stack.h"
#include "traces/recorder/recorder.h"
#include "virtualdev/transports/shm_segment.h"
#include "virtualdev/transports/transport_def.h"

namespace shardlab {
namespace {

constexpr std::chrono::seconds kConnectLimit{60}, kReconnectLimit{10};
constexpr std::chrono::milliseconds kLinkLimit{10'000};  // limits.link_ms of a scenario
constexpr std::chrono::milliseconds kElasticLimit{5'000};

// The job's key-value store, as transports use it.
class JobRendezvous final : public Rendezvous {
 public:
  JobRendezvous(std::shared_ptr<control::ControlClient> control, std::string prefix)
      : control_(std::move(control)), prefix_(std::move(prefix)) {}
  void set(const std::string& key, const std::string& value) override { control_->set_key(prefix_ + key, value); }
  std::string get(const std::string& key, std::chrono::milliseconds limit) override { return control_->get_key(prefix_ + key, limit); }

 private:
  std::shared_ptr<control::ControlClient> control_;
  std::string prefix_;
};

// What the links between hosts are encrypted under: known to those alone whom the coordinator lets in.
std::string fresh_secret(Rendezvous& rendezvous, bool first) {
  constexpr char kKey[] = "shardlab/link secret";
  if (first) rendezvous.set(kKey, control::random_token() + control::random_token());
  return rendezvous.get(kKey, kConnectLimit);
}

// A number for each process's host, in the order of the processes; none where all are on one.
std::vector<int> host_numbers(const std::vector<std::string>& host_ids) {
  std::map<std::string, int> numbers;
  std::vector<int> hosts;
  for (const std::string& id : host_ids) hosts.push_back(numbers.try_emplace(id, int(numbers.size())).first->second);
  return numbers.size() > 1 ? hosts : std::vector<int>();
}

std::shared_ptr<Context> outside_context(int process, const std::vector<int>& devices_per_process) {
  ContextOptions options;
  options.process_index = process;
  options.devices_per_process = devices_per_process;
  options.transport = std::make_shared<SubsetTransport>(nullptr, std::vector<int>{process}, int(devices_per_process.size()));
  options.control = std::make_shared<OutsideControl>();
  return std::make_shared<Context>(std::move(options));
}

}  // namespace

std::shared_ptr<Job> Job::find(const control::JobRequest& request, std::shared_ptr<LastWords> words,
                               const std::function<void(bool supervised)>& before_joining) {
  std::shared_ptr<Job> job(new Job(std::move(words)));
  auto environment = control::find_job(request);
  if (environment) job->words_->looks_for(environment->process_index, environment->coordinator);
  before_joining(environment && environment->source == control::JobEnvironment::Source::kLauncher);
  if (environment && environment->num_processes > 1) {
    job->join(*environment);
    return job;
  }
  int devices = control::devices_from_environment().value_or(1);
  if (environment && !environment->trace_dir.empty())
    job->record_.begin(environment->trace_dir, 0, 1);
  else
    job->record_.begin_alone();
  if (environment && !environment->coordinator.empty()) {
    job->join(*environment);
  } else {
    job->devices_per_process_ = {devices};
    job->start();
  }
  return job;
}

// As process 0 says, which started the coordinator that is to merge it; SHARDLAB_TRACE_DIR alone is each process's own business.
void Job::agree_where_to_record(const control::TracePlace& place) {
  constexpr char kKey[] = "shardlab/trace parts";
  if (environment_.process_index == 0 && epoch_ == 0) control_->set_key(kKey, place.parts);
  std::string parts = control_->get_key(kKey, kConnectLimit);
  if (parts.empty()) parts = environment_.trace_dir;
  if (parts.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(parts, error);  // on hosts that do not share it with process 0's
  if (error) throw IoError(fmt::format("the folder {} for the parts of the trace cannot be made: {}", parts, error.message()));
  record_.begin(parts, environment_.process_index, environment_.num_processes);
}

// Whoever started the job may look for the trace as soon as its processes have ended.
void Job::await_trace(std::chrono::milliseconds limit) const {
  if (client_.merged_fd < 0) return;
  if (live_) limit = std::min(limit, kElasticLimit);  // the others may go on
  pollfd merged{client_.merged_fd, POLLIN, 0};
  if (poll(&merged, 1, int(limit.count())) == 0)
    fmt::print(stderr, "shardlab: the trace {} is not merged yet; where its parts stay, `shardlab merge` makes it of them\n",
               environment_.trace);
}

void Job::join(const control::JobEnvironment& environment) {
  const bool supervised = environment.source == control::JobEnvironment::Source::kLauncher;
  if (!record_.recorder() && !environment.trace_dir.empty() && supervised)
    record_.begin(environment.trace_dir, environment.process_index, environment.num_processes);
  control::JoinOptions options;
  if (!supervised && environment.process_index == 0) options.serve = {.trace = make_trace_place(environment), .merge = merge_job_trace};
  options.num_devices = environment.num_cpu_devices.value_or(1);
  options.on_stop = [this](const std::string& why) { stop(why); };
  environment_ = environment;
  client_ = control::locate(environment, options);
  words_->found(client_);
  if (const control::TracePlace& place = options.serve.trace; client_.merged_fd < 0 && !place.parts.empty() && !place.keep)
    std::filesystem::remove(place.parts);  // of an elastic job: its coordinator, from before, has one
  if (environment.recoverable && environment.num_processes > 1) {
    live_ = std::make_unique<control::LiveClient>(client_);
    client_.incarnation = live_->incarnation();
    words_->found(client_);
  }
  if (live_ && live_->again()) {
    remember(live_->members());
    clean_ = true;
    context_ = outside_context(environment.process_index, devices_per_process_);
    return;
  }
  control_ = control::connect(client_);
  judged_ = control_.get();
  if (!record_.recorder() && !supervised) agree_where_to_record(options.serve.trace);
  if (!environment.shm.empty()) segment_ = ShmSegment::open(environment.shm);
  put_places();
  remember(control_->members());
  if (environment.num_processes > 1) connect();
  start();
}

// Known whatever ends the process.
void Job::put_places() {
  control_->put_places([words = words_, segment = segment_, process = environment_.process_index](Where where) {
    words->place().put(where);
    if (segment) segment->put_place(process, where);
  });
  // Who tells of its end goes no further: the others would do without it what its last words do not know of.
  control_->rest_at_steps(yield_to_interrupt);
}

// Who is here, and where: a process that was started again may be elsewhere.
void Job::remember(const std::vector<control::Member>& members) {
  devices_per_process_.resize(std::size_t(environment_.num_processes), 1);
  host_ids_.resize(std::size_t(environment_.num_processes));
  for (const control::Member& member : members) {
    devices_per_process_[std::size_t(member.process)] = member.devices;
    host_ids_[std::size_t(member.process)] = member.host_id;
  }
}

// Transports number the processes that they join from 0 on.
void Job::connect() {
  const std::vector<control::Member>& members = control_->members();
  std::vector<int> processes;
  for (const control::Member& member : members) processes.push_back(member.process);
  auto self = std::find(processes.begin(), processes.end(), environment_.process_index) - processes.begin();
  // What belongs to an epoch has its number, so that nobody of another one fits.
  std::string epoch = epoch_ > 0 ? fmt::format("epoch {}/", epoch_) : std::string();
  rendezvous_ = std::make_shared<JobRendezvous>(control_, epoch);
  TransportOptions options{.process_index = int(self),
                           .num_processes = int(members.size()),
                           .address = epoch_ > 0 ? std::string() : environment_.shm,
                           .rendezvous = rendezvous_.get(),
                           .secret = environment_.tls.on() ? fresh_secret(*rendezvous_, self == 0) : epoch + environment_.token,
                           .encrypted = environment_.tls.on(),
                           .bind_address = control::own_address(environment_),
                           .limit = epoch_ > 0 ? kReconnectLimit : kConnectLimit,
                           .link = kLinkLimit};
  for (const control::Member& member : members) options.hosts.push_back(member.host_id);
  const TransportDef& transport = transport_named(environment_.transport);
  if (transport.processes_max > 0 && options.num_processes > transport.processes_max)
    throw_user_error("the transport {} joins at most {} processes, and the job has {}; use auto", transport.name, transport.processes_max,
                     options.num_processes);
  transport_ = transport.make(options);
  if (int(processes.size()) < environment_.num_processes)
    transport_ = std::make_shared<SubsetTransport>(std::move(transport_), std::move(processes), environment_.num_processes);
  abortable_ = transport_.get();
  if (stopped_) transport_->abort("the job was stopped while this process joined it");
}

void Job::start() {
  ContextOptions options;
  options.process_index = environment_.process_index;
  options.devices_per_process = devices_per_process_;
  options.hosts = host_numbers(host_ids_);
  options.transport = transport_;
  options.control = control_;
  if (!control_) options.control = std::make_shared<AloneControl>(words_);
  // What its backend tells the others goes by the job's store.
  if (const PlatformDef* platform = platform_from_environment(); platform != nullptr && rendezvous_)
    options.make_backend = [platform, rendezvous = rendezvous_, process = environment_.process_index](const std::vector<int>& ordinals) {
      require_platform(*platform, "SHARDLAB_PLATFORM");
      return platform->make({ordinals, process, rendezvous});
    };
  if (record_.recorder()) options.observers.push_back(record_.recorder());
  options.first_array_id = next_array_id_;
  context_ = std::make_shared<Context>(std::move(options));
  if (record_.recorder()) record_.describe_devices(*context_);
}

// nullptr: they are CPU devices.
LaunchAware* Job::aware_of_devices() const {
  std::vector<int> ordinals;
  for (const Device& device : context_->devices()) ordinals.push_back(device.ordinal);
  const int count = int(ordinals.size());
  return count == 0 ? nullptr : aware_of(context_->backend_of(Mesh({count}, {"devices"}, std::move(ordinals))));
}

bool Job::uses_libraries() const {
  if (context_ == nullptr) return false;
  LaunchAware* aware = aware_of_devices();
  return aware != nullptr && (!context_->executor().is_idle() || aware->is_preparing());
}

std::vector<distributed::LinkTraffic> Job::link_traffic() {
  Executor& executor = context_->executor();
  executor.drain();
  std::map<int, std::int64_t> planned = executor.planned_bytes();
  std::vector<SentBytes> sent;
  if (transport_) sent = transport_->sent();
  std::map<int, LaunchAware::Sent> beside;  // the transport
  if (LaunchAware* aware = aware_of_devices()) beside = aware->sent();
  const std::vector<int>& hosts = context_->hosts();
  std::vector<distributed::LinkTraffic> links;
  for (int peer = 0; peer < context_->process_count(); ++peer) {
    if (peer == context_->process_index()) continue;
    distributed::LinkTraffic& link = links.emplace_back();
    link.process = peer;
    link.same_host = hosts.empty() || hosts[std::size_t(peer)] == hosts[std::size_t(context_->process_index())];
    link.planned_bytes = planned[peer];
    link.sent_bytes = beside[peer].bytes;
    link.messages = beside[peer].messages;
    if (sent.empty()) continue;
    link.sent_bytes += sent[std::size_t(peer)].bytes;
    link.messages += sent[std::size_t(peer)].messages;
  }
  return links;
}

void Job::stop(const std::string& why) {
  const bool is_first = !stopped_.exchange(true);
  if (comm::Transport* transport = abortable_.load()) transport->abort(why);
  if (is_first) tell_where_stuck();
}

// The verdict knows the line that a stuck process began last; in which functions it is since then, the process alone. It says so when the
// verdict has come, which this does not hold up.
void Job::tell_where_stuck() const {
  constexpr std::chrono::milliseconds kAnswerLimit{800};
  const control::ControlClient* control = judged_.load();
  const control::VerdictRef verdict = control ? control->verdict() : nullptr;
  if (!verdict || verdict->code != "process-stuck") return;
  const std::vector<int>& guilty = verdict->diagnoses.front().processes;
  const int own = environment_.process_index;
  if (std::find(guilty.begin(), guilty.end(), own) == guilty.end()) return;
  const std::vector<CallPlace> places = call_places(stack_of(issuer_, kAnswerLimit));
  if (!places.empty()) fmt::print(stderr, "shardlab: process {} is in {}\n", own, text_of(places));
}

void Job::leave() {
  if (!live_) {
    context_->leave();
    if (transport_) transport_->finish();
    return;
  }
  // Without fate sharing: who has ended what it began with the others has nothing to do with how they end.
  bool over = clean_ || !context_;
  try {
    if (!over) context_->leave();
  } catch (const comm::DiagnosisError&) {
    if (failed_processes().empty()) throw;
  }
  live_->leave();
  if (over) retire();
}

void Job::retire() {
  clean_ = false;
  if (control_) control_->abandon("what the processes had begun together is over, and another set of them goes on");
  if (context_) {
    try {
      context_->executor().drain();
    } catch (const Error&) {  // told to whoever reads what failed
    }
  }
}

std::vector<int> Job::open(bool renew) {
  renew = renew || !clean_;
  while (true) {
    control::Gathered gathered = live_->gather(false, renew);
    clean_ = false;
    if (gathered.epoch == epoch_) return gathered.live;
    try {
      begin(gathered);
      return gathered.live;
    } catch (const Error&) {  // one of them has ended since, or the coordinator, which the next gathering tells
      renew = true;
    }
  }
}

// Another context with the same devices: arrays stay what they are, and nothing of the former epoch reaches this one.
void Job::begin(const control::Gathered& gathered) {
  retire();
  Context::set_current(nullptr);
  if (context_) next_array_id_ = context_->next_array_id();  // there is none where an epoch could not begin
  context_.reset();
  rendezvous_.reset();
  control_.reset();  // its threads may be aborting the transport
  abortable_ = nullptr;
  transport_.reset();
  stopped_ = false;
  epoch_ = gathered.epoch;
  client_.epoch = epoch_;
  control_ = control::connect(client_);
  judged_ = control_.get();
  put_places();
  remember(control_->members());
  if (gathered.live.size() > 1)
    connect();
  else
    transport_ = std::make_shared<SubsetTransport>(nullptr, gathered.live, environment_.num_processes);
  abortable_ = transport_.get();
  if (!record_.recorder() && environment_.source != control::JobEnvironment::Source::kLauncher) agree_where_to_record({});
  if (record_.recorder()) record_.recorder()->begin_epoch(epoch_, gathered.live);
  start();
  Context::set_current(context_);
  Context::set_of_job(context_);
}

void Job::settle() {
  context_->control().await_agreement(context_->executor().last_spanning_launch(), "the end of live_devices", {});
  context_->executor().drain();
}

control::Gathered Job::close() {
  control::Gathered gathered = live_->gather(true, false);
  clean_ = gathered.whole;
  return gathered;
}

std::vector<int> Job::failed_processes() const {
  control::VerdictRef verdict = control_ ? control_->verdict() : nullptr;
  if (!verdict || verdict->diagnoses.empty()) return {};
  const Diagnosis& first = verdict->diagnoses.front();
  return first.code == "process-killed" || first.code == "process-exited" ? first.processes : std::vector<int>();
}

void Job::raised(std::string_view text, Where where) {
  if (control_) control_->raised(text, where);
}

int Job::say_once(const std::string& text, const std::function<void()>& say) {
  if (!control_) return say(), -1;
  // Processes that print to places of their own, as in several terminals, are each read alone.
  const std::string place = environment_.joined_output ? std::string() : output_identity();
  const int own = environment_.process_index;
  const int teller = shardlab::say_once(*control_, own, fmt::format("{}/{}/", epoch_, place), text, say);
  return teller == own ? -1 : teller;
}

Job::~Job() {
  // The executor's thread may be in an exchange: it ends before the transport that it uses.
  stop("the process leaves the job");
  if (Context::current_or_null() == context_.get()) Context::set_current(nullptr);
  context_.reset();
}

}  // namespace shardlab
