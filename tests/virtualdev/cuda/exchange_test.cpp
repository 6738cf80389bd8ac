// Exchanges between the GPUs of several processes over the stand-ins for CUDA and NCCL: values as on CPU devices, one communicator a set of
// processes, who meets before what, and the end of all waiting on an abort. Nothing here has run on a GPU.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <semaphore>

#include "runtime/exec/array_ops.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/jit.h"
#include "runtime/exec/messages.h"
#include "runtime/exec/ops.h"
#include "runtime/exec/placement.h"
#include "runtime/exec/shard_map.h"
#include "tests/virtualdev/cuda/gpu_job.h"
#include "virtualdev/cuda/link_exchange.h"

namespace shardlab {
namespace {

using ::testing::Each;
using testing::GpuJob;
using ::testing::IsEmpty;
using testing::RecordingGpu;
using testing::run_job;
using Strings = std::vector<std::string>;

struct Layout {
  std::vector<int> devices_per_process;
  int devices_per_gpu;
  Shape mesh;
  std::vector<int> order;
};
const std::vector<Layout>& layouts() {
  static const std::vector<Layout> all{
      {{1, 1}, 1, {2, 1}, {1, 0}},
      {{2, 2}, 1, {2, 2}, {0, 3, 2, 1}},
      {{4, 4}, 2, {4, 2}, {0, 1, 2, 3, 4, 5, 6, 7}},
      {{2, 1, 3}, 2, {3, 2}, {5, 3, 1, 0, 2, 4}},
      {{1, 2, 1, 2, 1}, 2, {7, 1}, {6, 0, 5, 1, 4, 2, 3}},
  };
  return all;
}

int gpus_of(const GpuJob& job) {
  int all = 0;
  for (int p = 0; p < int(job.devices_per_process.size()); ++p) all += testing::gpus_of(job, p);
  return all;
}
GpuJob job_of(const Layout& layout, bool on_cpu) {
  GpuJob job{.devices_per_process = layout.devices_per_process, .devices_per_gpu = layout.devices_per_gpu, .on_cpu = on_cpu};
  if (!on_cpu) job.gpu = std::make_shared<RecordingGpu>(gpus_of(job));
  return job;
}

// What every device holds of the results of a few programs, as text: of functions whose last digit is the same on both platforms.
std::string programs(const Layout& layout) {
  Mesh mesh(layout.mesh, {"a", "b"}, layout.order);
  std::string text;
  auto tell = [&](const Array& x) {
    for (const Shard& shard : x.addressable_shards()) text += fmt::format("{}: {}", shard.device.ordinal, shard.text()) + "\n";
  };
  Array x = device_put(tan(arange(7.0 * 12.0)).reshape({7 * 2, 6}), Sharding(mesh, P(nullptr, nullptr)));
  Array rows = device_put(x, Sharding(mesh, P(nullptr, "b")));
  tell(rows + 1.0);
  int a = int(layout.mesh[0]);
  Array y = device_put(tan(arange(double(12 * a * 5))).reshape({12 * a, 5}), Sharding(mesh, P("a", nullptr)));
  tell(device_put(y, Sharding(mesh, P(nullptr, nullptr))));
  tell(jit([](const Array& v) { return matmul(transpose(v), v); })(floor(y * 4.0)));  // exact: products have an order of their own
  tell(shard_map([](const Array& v) { return psum(v, {"a"}) + pmax(v, {"a"}); },
                 {.mesh = mesh, .in_specs = {P("a")}, .out_specs = {P(nullptr)}})(y));
  std::vector<std::pair<int, int>> ring;
  for (int i = 0; i < a; ++i) ring.emplace_back(i, (i + 1) % a);
  tell(shard_map([&](const Array& v) { return ppermute(v, {"a"}, ring); }, {.mesh = mesh, .in_specs = {P("a")}, .out_specs = {P("a")}})(y));
  tell(shard_map([](const Array& v) { return all_gather(v, {"a"}, {.tiled = true}) * 2.0; },
                 {.mesh = mesh, .in_specs = {P("a")}, .out_specs = {P("a")}})(y));
  return text;
}

class Exchanges : public ::testing::TestWithParam<int> {};

// Says when a process begins to wait for another one in an exchange, and what its GPU had been given by then.
class FirstWait final : public comm::Observer {
 public:
  explicit FirstWait(std::shared_ptr<RecordingGpu> gpu) : gpu_(std::move(gpu)) {}
  void on_call_waiting(const comm::Launch&, int, comm::Ns, const std::vector<int>&) override {
    if (launches_ < 0) launches_ = gpu_->calls("launch");
    came_.release();
  }
  bool wait() { return came_.try_acquire_for(std::chrono::minutes(2)); }
  int launches() const { return launches_; }

 private:
  std::shared_ptr<RecordingGpu> gpu_;
  std::atomic<int> launches_ = -1;
  std::counting_semaphore<> came_{0};
};

// The other process comes late: what is computed before the exchange does not wait for it.
TEST(WhatIsQueued, IsIssuedBeforeTheProcessesMeet) {
  GpuJob job{.devices_per_process = {1, 1}, .devices_per_gpu = 1, .gpu = std::make_shared<RecordingGpu>(2)};
  auto first = std::make_shared<FirstWait>(job.gpu);
  job.observers[0] = first;
  std::atomic<int> before = 0;
  std::counting_semaphore<> ready{0};
  Strings ends = run_job(job, [&](int p, const cuda::CudaBackend*) {
    Array x = device_put(arange(64.0), Sharding(Mesh({2}, {"a"}, {0, 1}), P("a")));
    x.block_until_ready();
    if (p == 0) {
      EXPECT_TRUE(ready.try_acquire_for(std::chrono::minutes(2)));
      before = job.gpu->calls("launch");
    } else {
      ready.release();
      EXPECT_TRUE(first->wait());
    }
    jit([](const Array& v) { return sum(sin(v)); })(x).block_until_ready();
  });
  EXPECT_THAT(ends, Each(IsEmpty()));
  EXPECT_THAT(job.gpu->faults(), IsEmpty());
  EXPECT_GT(first->launches(), before);
}

// What the plans say, to the byte: nothing goes by way of the transport but who meets whom.
TEST(SentBetweenGpus, IsWhatThePlansSay) {
  GpuJob job{.devices_per_process = {2, 2}, .devices_per_gpu = 1, .gpu = std::make_shared<RecordingGpu>(4)};
  std::vector<std::map<int, std::int64_t>> planned(2);
  std::vector<std::map<int, LaunchAware::Sent>> sent(2);
  Strings ends = run_job(job, [&](int p, const cuda::CudaBackend* backend) {
    Mesh mesh({4}, {"a"}, {0, 1, 2, 3});
    Array x = device_put(arange(4096.0), Sharding(mesh, P("a")));
    for (int round = 0; round < 3; ++round) x = x + jit([](const Array& v) { return sum(v); })(x);
    device_put(x, Sharding(mesh, P(nullptr))).block_until_ready();
    Context::current().executor().drain();
    planned[std::size_t(p)] = Context::current().executor().planned_bytes();
    sent[std::size_t(p)] = backend->sent();
  });
  EXPECT_THAT(ends, Each(IsEmpty()));
  for (int p : {0, 1}) {
    const LaunchAware::Sent& link = sent[std::size_t(p)][1 - p];
    EXPECT_GE(link.bytes, 2048 * 4);
    EXPECT_EQ(link.bytes, planned[std::size_t(p)][1 - p]);
    EXPECT_GE(link.messages, 4);
  }
}

// Bit for bit: the order of a reduction is that of CPU devices.
TEST_P(Exchanges, GiveWhatCpuDevicesGive) {
  const Layout& layout = layouts()[std::size_t(GetParam())];
  std::vector<Strings> texts;
  for (bool on_cpu : {true, false}) {
    GpuJob job = job_of(layout, on_cpu);
    Strings& here = texts.emplace_back(layout.devices_per_process.size());
    Strings ends = run_job(job, [&](int p, const cuda::CudaBackend*) { here[std::size_t(p)] = programs(layout); });
    EXPECT_THAT(ends, Each(IsEmpty()));
    if (on_cpu) continue;
    EXPECT_THAT(job.gpu->faults(), IsEmpty());
    EXPECT_GT(job.gpu->calls("send"), 0);
    EXPECT_EQ(job.gpu->calls("send"), job.gpu->calls("receive"));
    EXPECT_THAT(job.gpu->nccl().sizes(), ::testing::ElementsAre(gpus_of(job))) << "one communicator, of all GPUs";
    EXPECT_EQ(job.gpu->nccl().open_communicators(), 0);
    EXPECT_EQ(job.gpu->calls("abort"), 0) << "a good end sees off what was sent";
    EXPECT_EQ(job.gpu->bytes_allocated(), 0u) << "memory is left";
  }
  for (std::size_t p = 0; p < texts[0].size(); ++p) EXPECT_EQ(texts[0][p], texts[1][p]) << "process " << p;
}
INSTANTIATE_TEST_SUITE_P(Layouts, Exchanges, ::testing::Range(0, 5));

Array replicated_sum(const std::vector<int>& devices, double begin) {
  Mesh mesh({int(devices.size())}, {"a"}, devices);
  Array x = device_put(arange(12.0) + begin, Sharding(mesh, P("a")));
  return jit([](const Array& v) { return sum(v * v); })(x);
}

TEST(Communicators, AreMadeForEachSetOfProcessesWhenItFirstExchanges) {
  GpuJob job{.devices_per_process = {1, 1, 1}, .gpu = std::make_shared<RecordingGpu>(3)};
  Strings ends = run_job(job, [&](int p, const cuda::CudaBackend*) {
    (arange(4.0) + 1.0).block_until_ready();
    for (int round = 0; round < 3; ++round) {
      if (p < 2) { EXPECT_EQ(replicated_sum({0, 1}, 0).item<float>(), 506.0f); }
      if (p > 0) { EXPECT_EQ(replicated_sum({2, 1}, 0).item<float>(), 506.0f); }
      EXPECT_EQ(replicated_sum({0, 2, 1}, 0).item<float>(), 506.0f);
    }
  });
  EXPECT_THAT(ends, Each(IsEmpty()));
  EXPECT_THAT(job.gpu->nccl().sizes(), ::testing::UnorderedElementsAre(2, 2, 3));
  EXPECT_THAT(job.gpu->faults(), IsEmpty());
}

TEST(Communicators, AreNotMadeWhereNothingIsExchanged) {
  GpuJob job{.devices_per_process = {2, 2}, .gpu = std::make_shared<RecordingGpu>(4)};
  Strings ends = run_job(job, [&](int, const cuda::CudaBackend*) {
    Mesh mesh({4}, {"a"}, {0, 1, 2, 3});
    Array x = jit([] { return arange(8.0) * 0.5; }, {.out_shardings = {Sharding(mesh, P("a"))}})();
    (x * 2.0 + x).block_until_ready();
  });
  EXPECT_THAT(ends, Each(IsEmpty()));
  EXPECT_THAT(job.gpu->nccl().sizes(), IsEmpty());
}

// Meanwhile the library must not be taken down, as a process does that ends.
TEST(Communicators, AreBeingMadeUntilAllHaveJoinedAndTheyAreReady) {
  auto is_soon = [](const std::function<bool()>& is_so) {
    for (int turn = 0; turn < 60'000 && !is_so(); ++turn) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return is_so();
  };
  auto gpu = std::make_shared<RecordingGpu>(2);
  {
    auto board = std::make_shared<testing::ThreadBoard>();
    cuda::Communicators first(gpu, {.process = 0, .gpus = {0}, .rendezvous = board}),
        second(gpu, {.process = 1, .gpus = {1}, .rendezvous = board});
    EXPECT_FALSE(first.is_making());
    first.prepare({0, 1});
    EXPECT_TRUE(first.is_making());
    EXPECT_TRUE(is_soon([&] { return gpu->calls("join") == 1; }));
    EXPECT_TRUE(first.is_making());
    second.prepare({0, 1});
    EXPECT_TRUE(is_soon([&] { return !first.is_making() && !second.is_making(); }));
  }
  auto board = std::make_shared<testing::ThreadBoard>();  // of processes that share a GPU, which make none
  cuda::Communicators one(gpu, {.process = 0, .gpus = {0}, .rendezvous = board}),
      other(gpu, {.process = 1, .gpus = {0}, .rendezvous = board});
  one.prepare({0, 1});
  EXPECT_TRUE(is_soon([&] { return !one.is_making(); }));
  EXPECT_EQ(gpu->calls("join"), 2);
  EXPECT_THAT(gpu->faults(), IsEmpty());
}

TEST(Communicators, ProcessesThatShareAGpuExchangeByWayOfTheHost) {
  GpuJob job{.devices_per_process = {2, 2}, .devices_per_gpu = 2, .shares_gpus = true, .gpu = std::make_shared<RecordingGpu>(1)};
  Strings ends = run_job(job, [&](int, const cuda::CudaBackend* backend) {
    EXPECT_EQ(replicated_sum({0, 2, 1, 3}, 0).item<float>(), 506.0f);
    EXPECT_EQ(backend->communicators().why_by_host({0, 1}), "processes 0 and 1 share a GPU");
  });
  EXPECT_THAT(ends, Each(IsEmpty()));
  EXPECT_EQ(job.gpu->calls("send"), 0);
  EXPECT_THAT(job.gpu->faults(), IsEmpty());
}

// Where the library takes several ranks on a GPU, if it is told to.
TEST(Communicators, ProcessesMayShareAGpuWithANewerNccl) {
  ::setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1", 1);
  for (int version : {22900, 23000}) {
    GpuJob job{.devices_per_process = {2, 2}, .devices_per_gpu = 2, .shares_gpus = true, .gpu = std::make_shared<RecordingGpu>(1)};
    job.gpu->set_nccl_version(version);
    job.gpu->nccl().let_ranks_share();
    Strings ends = run_job(job, [&](int, const cuda::CudaBackend* backend) {
      EXPECT_EQ(replicated_sum({0, 2, 1, 3}, 0).item<float>(), 506.0f);
      EXPECT_EQ(backend->communicators().why_by_host({0, 1}), version < 23000 ? "processes 0 and 1 share a GPU" : "");
    });
    EXPECT_THAT(ends, Each(IsEmpty()));
    EXPECT_EQ(job.gpu->calls("send") > 0, version >= 23000);
    EXPECT_THAT(job.gpu->faults(), IsEmpty());
  }
  ::unsetenv("NCCL_MULTI_RANK_GPU_ENABLE");
}

TEST(Communicators, WithoutNcclExchangesGoByWayOfTheHost) {
  for (auto [version, why] : {std::pair(0, "process 0 has no NCCL"), std::pair(21304, "process 0 has NCCL 21304, and 21400 is needed")}) {
    GpuJob job{.devices_per_process = {1, 1}, .gpu = std::make_shared<RecordingGpu>(2)};
    job.gpu->set_nccl_version(version);
    Strings ends = run_job(job, [&, why = why](int, const cuda::CudaBackend* backend) {
      EXPECT_EQ(replicated_sum({0, 1}, 0).item<float>(), 506.0f);
      EXPECT_EQ(backend->communicators().why_by_host({0, 1}), why);
    });
    EXPECT_THAT(ends, Each(IsEmpty()));
    EXPECT_EQ(job.gpu->calls("join"), 0);
  }
}

// Two that send before they receive: a buffered message does not wait for its receiver, and so not for a meeting either.
TEST(Messages, BufferedOnesGoByWayOfTheHost) {
  GpuJob job{.devices_per_process = {1, 1}, .gpu = std::make_shared<RecordingGpu>(2)};
  Strings ends = run_job(job, [&](int p, const cuda::CudaBackend*) {
    send_to(arange(4.0) + double(p), {.peer = 1 - p}, {});
    Array got = receive_from({DType::kFloat32, {4}}, {.peer = 1 - p}, {});
    EXPECT_EQ(got.to_vector<float>()[0], float(1 - p));
  });
  EXPECT_THAT(ends, Each(IsEmpty()));
  EXPECT_EQ(job.gpu->calls("send"), 0);
}

TEST(Messages, LargeOnesGoFromGpuToGpu) {
  GpuJob job{.devices_per_process = {1, 1}, .gpu = std::make_shared<RecordingGpu>(2)};
  constexpr std::int64_t kCount = kBufferedMessageBytes;
  Strings ends = run_job(job, [&](int p, const cuda::CudaBackend*) {
    if (p == 0)
      send_to(arange(double(kCount)), {.peer = 1}, {});
    else
      EXPECT_EQ(receive_from({DType::kFloat32, {kCount}}, {.peer = 0}, {}).to_vector<float>()[5], 5.0f);
  });
  EXPECT_THAT(ends, Each(IsEmpty()));
  EXPECT_EQ(job.gpu->calls("send"), 1);
  EXPECT_THAT(job.gpu->faults(), IsEmpty());
}

// ---- what goes wrong

// The same verdicts as on CPU devices, and nobody is left waiting in a kernel.
TEST(Verdicts, AreThoseOfCpuDevices) {
  struct Departure {
    const char* what;
    std::function<void(int)> body;
  };
  const Departure departures[] = {
      {"another program",
       [](int p) {
         for (int i = 0; i < 3; ++i) replicated_sum({0, 1, 2}, 0).block_until_ready();
         Mesh mesh({3}, {"a"}, {0, 1, 2});
         Array x = device_put(arange(12.0), Sharding(mesh, P("a")));
         jit([p](const Array& v) { return p == 1 ? sum(v + v) : sum(v * v); })(x).item<float>();
       }},
      {"one leaves a launch out",
       [](int p) {
         replicated_sum({0, 1, 2}, 0).block_until_ready();
         if (p != 2) replicated_sum({0, 1, 2}, 1).block_until_ready();
         replicated_sum({2, 1, 0}, 2).item<float>();
       }},
      {"one ends in an error",
       [](int p) {
         replicated_sum({0, 1, 2}, 0).block_until_ready();
         if (p == 0) throw_user_error("no more");
         replicated_sum({0, 1, 2}, 1).item<float>();
       }},
  };
  for (const Departure& departure : departures) {
    std::vector<Strings> ends;
    for (bool on_cpu : {true, false}) {
      GpuJob job{.devices_per_process = {1, 1, 1}, .on_cpu = on_cpu, .gpu = std::make_shared<RecordingGpu>(3)};
      ends.push_back(run_job(job, [&](int p, const cuda::CudaBackend*) { departure.body(p); }));
      EXPECT_THAT(job.gpu->faults(), IsEmpty()) << departure.what;
      EXPECT_EQ(job.gpu->nccl().open_communicators(), 0) << departure.what;
    }
    EXPECT_EQ(ends[0], ends[1]) << departure.what;
    EXPECT_THAT(ends[1], ::testing::Not(Each(IsEmpty()))) << departure.what;
  }
}

// A loop in a loop that goes round less often on one process: the others wait within it, and end.
TEST(Verdicts, WithinNestedLoops) {
  auto compiler = std::make_shared<testing::RecordingCompiler>();
  for (bool differs : {true, false}) {
    GpuJob job{.devices_per_process = {2, 2, 2, 2}, .devices_per_gpu = 2, .shares_gpus = true, .gpu = std::make_shared<RecordingGpu>(1)};
    job.compiler = compiler;
    Strings ends = run_job(job, [&](int p, const cuda::CudaBackend*) { testing::nested_loops(p == 2 && differs); });
    if (differs)
      EXPECT_THAT(ends, Each(std::string("input-divergence")));
    else
      EXPECT_THAT(ends, Each(IsEmpty()));
    EXPECT_THAT(job.gpu->faults(), IsEmpty());
  }
}

// Counts the steps that it is told of.
struct StepCounter final : comm::Observer {
  std::atomic<int> steps = 0;
  void on_compute(const comm::Launch& launch, std::string_view op, Where, comm::Ns, comm::Ns) override {
    EXPECT_FALSE(launch.program->name.empty());
    EXPECT_FALSE(op.empty());
    ++steps;
  }
};

// What the GPU had begun of a launch that others have ended is told of when it is known to be over: the process may have let go of all
// else.
TEST(Verdicts, OfLaunchesWhoseStepsAreRecorded) {
  GpuJob job{.devices_per_process = {2, 2, 2, 2}, .devices_per_gpu = 2, .shares_gpus = true, .gpu = std::make_shared<RecordingGpu>(1)};
  std::map<int, std::shared_ptr<StepCounter>> counters;
  for (int p = 0; p < 4; ++p) job.observers[p] = counters[p] = std::make_shared<StepCounter>();
  Strings ends = run_job(job, [&](int p, const cuda::CudaBackend*) { testing::nested_loops(p == 2); });
  EXPECT_THAT(ends, Each(std::string("input-divergence")));
  for (const auto& [p, counter] : counters) EXPECT_GT(counter->steps, 5) << p;
  EXPECT_THAT(job.gpu->faults(), IsEmpty());
}

// Whichever call it is: who made it, or waits for its work, says so, the others are told, and all end.
TEST(Failures, OfAnyCallEndTheJob) {
  auto compiler = std::make_shared<testing::RecordingCompiler>();
  auto struck_in = [&](int nth, int processes) {
    GpuJob job{.devices_per_process = std::vector<int>(std::size_t(processes), 8 / processes),
               .devices_per_gpu = 8,
               .shares_gpus = true,
               .gpu = std::make_shared<RecordingGpu>(1)};
    job.compiler = compiler;
    for (int p = 0; nth % 2 == 0 && p < processes; ++p) job.observers[p] = std::make_shared<StepCounter>();
    job.gpu->fail_at(nth);
    std::atomic<bool> too_late = false;  // what is let go at the end has been told by then
    Strings ends = run_job(job, [&](int, const cuda::CudaBackend*) {
      testing::nested_loops(false);
      Mesh mesh({4, 2}, {"a", "b"}, {0, 1, 2, 3, 4, 5, 6, 7});
      Array x = device_put(arange(64.0).reshape({8, 8}), Sharding(mesh, P("a", "b")));
      auto step = jit([](const Array& v) { return v - 0.1 * matmul(v, transpose(v)) + sum(sin(v), 0); });
      for (int i = 0; i < 4; ++i) x = step(x);
      sum(x).item<float>();
      if (job.gpu->failure_is_ahead()) too_late = true;
    });
    const bool struck = !job.gpu->failure_is_ahead();
    if (struck && !too_late) {
      EXPECT_THAT(ends, ::testing::Contains(::testing::HasSubstr("illegal memory access"))) << "call " << nth << " of " << processes;
    } else if (!struck) {
      EXPECT_THAT(ends, Each(IsEmpty()));
    }
    return struck && !too_late;
  };
  int calls = 1;
  for (; struck_in(calls, 1); ++calls) {}
  EXPECT_GT(calls, 200);
  for (int nth = 1; struck_in(nth, 4); nth += 211) {}
}

}  // namespace
}  // namespace shardlab
