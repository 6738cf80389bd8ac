#include "virtualdev/cuda/communicators.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <sstream>

namespace shardlab::cuda {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Whether NCCL takes several ranks on a GPU, if the user wants it. Where others do not, the library says so to all.
bool may_share_gpus(int version) {
  constexpr int kVersionMin = 23000;
  const char* wanted = std::getenv("NCCL_MULTI_RANK_GPU_ENABLE");
  return version >= kVersionMin && wanted != nullptr && std::string_view(wanted) == "1";
}

std::string notice_key(int process) { return fmt::format("shardlab/cuda/process {}", process); }

// Ids are bytes, and values of the store are text.
std::string hex_of(const std::string& bytes) {
  std::string hex;
  for (char byte : bytes) hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return hex;
}
std::string bytes_of(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) bytes += char(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

}  // namespace

std::string CommunicatorGroup::text() const { return fmt::format("processes {}", fmt::join(processes, ", ")); }

Communicators::Communicators(std::shared_ptr<GpuApi> api, Options options) : api_(std::move(api)), options_(std::move(options)) {
  if (options_.rendezvous) publish();
}

Communicators::~Communicators() {
  for (auto& [processes, making] : made_) making->thread = {};
  if (aborted_) return;
  auto end = steady_clock::now() + milliseconds(kFinishMs);
  for (auto& [processes, making] : made_) {
    for (Communicator each : making->group.own) {
      bool is_over = false;
      try {
        if (making->is_ready && !making->failure) {
          api_->finish(each);
          while (!(is_over = api_->is_ready(each)) && steady_clock::now() < end) std::this_thread::sleep_for(milliseconds(1));
        }
      } catch (const std::exception&) {  // its failure is the others' to tell
      }
      is_over ? api_->destroy(each) : api_->abort(each);
    }
  }
}

void Communicators::publish() {
  const int version = api_->nccl_version();
  std::string text = fmt::format("{}", version);
  const std::string owner = may_share_gpus(version) ? fmt::format("/{}", options_.process) : "";
  for (int gpu : options_.gpus) text += fmt::format(" {}{}", api_->info(gpu).uuid, owner);
  options_.rendezvous->set(notice_key(options_.process), text);
}

void Communicators::prepare(const std::vector<int>& processes) {
  if (!options_.rendezvous) return;
  std::lock_guard lock(mutex_);
  auto [found, is_new] = made_.try_emplace(processes);
  if (!is_new) return;
  found->second = std::make_unique<Making>();
  Making& making = *found->second;
  making.group.processes = processes;
  making.thread = std::jthread([this, &making](std::stop_token stop) { make(making, stop); });
}

void Communicators::make(Making& making, const std::stop_token& stop) {
  CommunicatorGroup group{.processes = making.group.processes, .first_rank = {}, .own = {}};
  try {
    int size = 0;
    std::string why = decide(group, size, stop);
    {
      std::lock_guard lock(mutex_);
      making.group.first_rank = group.first_rank;
      making.why_by_host = why;
      making.is_decided = true;
    }
    changed_.notify_all();
    if (!why.empty()) return;
    std::vector<Communicator> own = join(group, size, stop);
    std::lock_guard lock(mutex_);
    making.group.own = own;
    making.is_joined = true;
    if (aborted_)
      for (Communicator each : own) api_->abort(each);
  } catch (const std::exception&) {
    std::lock_guard lock(mutex_);
    making.failure = std::current_exception();
  }
  changed_.notify_all();
}

// The value of a key that another process sets; in turns, as who waits may be told to stop.
std::string Communicators::ask(const std::string& key, const std::string& whom, const std::stop_token& stop) {
  constexpr milliseconds kTurn{250};
  auto end = steady_clock::now() + milliseconds(kNoticeMs);
  std::string last;
  while (!stop.stop_requested() && steady_clock::now() < end) {
    auto begin = steady_clock::now();
    try {
      return options_.rendezvous->get(key, kTurn);
    } catch (const TransportError& error) { last = error.what(); }
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, stop, begin + kTurn, [] { return false; });
  }
  throw TransportError(fmt::format("{} told nothing of its GPUs ({}); do all processes run with the same --backend?", whom, last));
}

// The ranks of all; or why there are none.
std::string Communicators::decide(CommunicatorGroup& group, int& size, const std::stop_token& stop) {
  std::map<std::string, int> owners;  // of GPUs
  int version = 0;
  for (int process : group.processes) {
    Notice notice;
    std::istringstream text(ask(notice_key(process), fmt::format("process {}", process), stop));
    text >> notice.version;
    for (std::string gpu; text >> gpu;) notice.gpus.push_back(gpu);
    if (notice.version == 0) return fmt::format("process {} has no NCCL", process);
    if (notice.version < kVersionMin) return fmt::format("process {} has NCCL {}, and {} is needed", process, notice.version, kVersionMin);
    if (version != 0 && notice.version != version)
      return fmt::format("processes {} and {} have NCCL {} and {}", group.processes[0], process, version, notice.version);
    version = notice.version;
    for (const std::string& gpu : notice.gpus)
      if (auto [found, is_new] = owners.try_emplace(gpu, process); !is_new)
        return fmt::format("processes {} and {} share a GPU", found->second, process);
    group.first_rank[process] = size;
    size += int(notice.gpus.size());
  }
  return {};
}

std::vector<Communicator> Communicators::join(const CommunicatorGroup& group, int size, const std::stop_token& stop) {
  std::string key = fmt::format("shardlab/cuda/communicator {}", fmt::join(group.processes, ",")), id;
  if (group.processes[0] == options_.process) {
    id = api_->new_communicator_id();
    options_.rendezvous->set(key, hex_of(id));
  } else {
    id = bytes_of(ask(key, fmt::format("process {}", group.processes[0]), stop));
  }
  std::vector<CommunicatorMember> members;
  for (std::size_t i = 0; i < options_.gpus.size(); ++i)
    members.push_back({group.first_rank.at(options_.process) + int(i), options_.gpus[i]});
  return api_->join(id, members, size);
}

void Communicators::wait_until(std::unique_lock<std::mutex>& lock, const std::function<bool()>& is_so, const std::function<void()>& pause) {
  constexpr milliseconds kPause{1};
  while (!is_so()) {
    changed_.wait_for(lock, kPause);
    lock.unlock();
    pause();
    lock.lock();
    if (aborted_) throw NcclError("NCCL was aborted");
  }
}

bool Communicators::goes_by_nccl(const std::vector<int>& processes, const std::function<void()>& pause) {
  std::unique_lock lock(mutex_);
  auto found = made_.find(processes);
  if (found == made_.end()) return false;
  Making& making = *found->second;
  wait_until(
      lock, [&] { return making.is_decided || making.failure; }, pause);
  if (!making.is_decided) std::rethrow_exception(making.failure);
  return making.why_by_host.empty();
}

const CommunicatorGroup& Communicators::await(const std::vector<int>& processes, const std::function<void()>& pause) {
  std::unique_lock lock(mutex_);
  Making& making = *made_.at(processes);
  auto is_ready = [&] {
    if (making.failure) std::rethrow_exception(making.failure);
    if (aborted_) throw NcclError("NCCL was aborted");
    if (making.is_ready || !making.is_joined) return making.is_ready;
    making.is_ready = true;
    for (Communicator each : making.group.own) making.is_ready = api_->is_ready(each) && making.is_ready;
    return making.is_ready;
  };
  wait_until(lock, is_ready, pause);
  return making.group;
}

std::string Communicators::why_by_host(const std::vector<int>& processes) const {
  std::lock_guard lock(mutex_);
  if (!options_.rendezvous) return "the processes have no store to meet in";
  auto found = made_.find(processes);
  return found == made_.end() ? "" : found->second->why_by_host;
}

void Communicators::count_sent(int process, std::int64_t bytes) {
  std::lock_guard lock(mutex_);
  sent_[process].bytes += bytes;
  ++sent_[process].messages;
}
std::map<int, LaunchAware::Sent> Communicators::sent() const {
  std::lock_guard lock(mutex_);
  return sent_;
}

bool Communicators::is_making() {
  std::lock_guard lock(mutex_);
  return std::ranges::any_of(made_, [&](const auto& each) {
    const Making& making = *each.second;
    if (making.is_ready || making.failure || !making.why_by_host.empty()) return false;
    try {
      return !making.is_joined || aborted_ || !std::ranges::all_of(making.group.own, [&](Communicator own) { return api_->is_ready(own); });
    } catch (const std::exception&) { return true; }  // where one failed, others may be at it yet
  });
}

void Communicators::abort() noexcept {
  std::lock_guard lock(mutex_);
  if (aborted_) return;
  aborted_ = true;
  for (auto& [processes, making] : made_)
    for (Communicator each : making->group.own) api_->abort(each);
}

}  // namespace shardlab::cuda
