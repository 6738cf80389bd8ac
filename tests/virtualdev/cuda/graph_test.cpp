// Programs as CUDA graphs over the stand-in: what is queued, what becomes a graph, what is launched again, and what goes call by call.
// Nothing here has run on a GPU.
#include "virtualdev/cuda/graphed_gpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>
#include <numeric>
#include <thread>
#include <utility>

#include "runtime/base/at_work.h"
#include "runtime/comm/observer.h"
#include "runtime/exec/array_ops.h"
#include "runtime/exec/context.h"
#include "runtime/exec/control_flow.h"
#include "runtime/exec/fft.h"
#include "runtime/exec/jit.h"
#include "runtime/exec/ops.h"
#include "runtime/exec/placement.h"
#include "tests/virtualdev/cuda/recording_gpu.h"
#include "virtualdev/cuda/cuda_backend.h"

namespace shardlab {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::RecordingCompiler;
using testing::RecordingGpu;

// ---- stretches of one stream

class Stretches : public ::testing::Test {
 protected:
  Stretches() : gpu_(std::make_shared<RecordingGpu>(1)), graphed_(gpu_, true), stream_(graphed_.create_stream(0)) {
    data_ = graphed_.allocate(kBytes, stream_);
    graphed_.fill(data_, 0, kBytes, stream_);
  }
  ~Stretches() override { EXPECT_THAT(gpu_->faults(), IsEmpty()); }
  // A program of fills at these places.
  void fills(std::vector<int> places) {
    graphed_.begin();
    for (int place : places) graphed_.fill(data_ + place, place, 1, stream_);
    graphed_.end();
  }
  static constexpr std::size_t kBytes = 256;
  std::shared_ptr<RecordingGpu> gpu_;
  cuda::GraphedGpu graphed_;
  cuda::Stream stream_;
  std::byte* data_ = nullptr;
};

TEST_F(Stretches, TheSecondTimeIsAGraphAndTheThirdIsThatGraph) {
  for (int round = 0; round < 5; ++round) fills({1, 2, 3, 4});
  EXPECT_EQ(gpu_->calls("make_graph"), 1);
  EXPECT_EQ(gpu_->calls("launch_graph"), 4);
  EXPECT_EQ(gpu_->calls("fill"), 1 + 4) << "outside, and the first round's";
  EXPECT_EQ(graphed_.counts().by_graph, 4);
  EXPECT_EQ(data_[3], std::byte(3));
}

TEST_F(Stretches, ShortOnesGoCallByCall) {
  for (int round = 0; round < 5; ++round) fills({1, 2, 3});
  EXPECT_EQ(gpu_->calls("make_graph"), 0);
  EXPECT_EQ(gpu_->calls("fill"), 1 + 15);
}

TEST_F(Stretches, NothingIsQueuedOutsideOfAProgram) {
  for (int i = 0; i < 20; ++i) graphed_.fill(data_ + i, i, 1, stream_);
  EXPECT_EQ(gpu_->calls("fill"), 1 + 20);
}

TEST_F(Stretches, OtherAddressesAreOtherGraphsThenChangedOnesThenGivenUp) {
  auto at = [](int first) {
    std::vector<int> places(4);
    std::iota(places.begin(), places.end(), first);
    return places;
  };
  fills(at(0));
  for (int round = 0; round < 3; ++round)
    for (int alternative = 0; alternative < 4; ++alternative) fills(at(alternative));
  EXPECT_EQ(graphed_.counts().made, 4);
  EXPECT_EQ(graphed_.counts().changed, 0);
  EXPECT_EQ(graphed_.counts().by_graph, 12);
  for (int round = 0; round < 10; ++round) fills(at(20 + round));
  EXPECT_EQ(graphed_.counts().changed, 10);
  EXPECT_EQ(data_[32], std::byte(32));
  for (int round = 0; round < 10; ++round) fills(at(40 + round));
  EXPECT_EQ(graphed_.counts().given_up, 1);
  int graphs = graphed_.counts().by_graph;
  for (int round = 0; round < 3; ++round) fills(at(0));
  EXPECT_EQ(graphed_.counts().by_graph, graphs) << "call by call for good";
}

TEST_F(Stretches, WhatTheHostWaitsForIsIssued) {
  cuda::Event event = graphed_.create_event(0, false);
  graphed_.begin();
  for (int i = 0; i < 5; ++i) graphed_.fill(data_ + i, i, 1, stream_);
  graphed_.record(event, stream_);
  EXPECT_EQ(gpu_->calls("fill"), 1);
  graphed_.synchronize(event);
  EXPECT_EQ(gpu_->calls("fill"), 1 + 5);
  graphed_.end();
  graphed_.destroy(event);
}

TEST_F(Stretches, ReleasedMemoryIsKeptUntilItsReadersAreIssuedAndServesAgain) {
  for (int round = 0; round < 3; ++round) {
    graphed_.begin();
    std::byte* first = graphed_.allocate(32, stream_);
    graphed_.fill(first, 1, 32, stream_);
    graphed_.copy(data_, first, 32, stream_);
    graphed_.release(first, stream_);
    std::byte* second = graphed_.allocate(32, stream_);
    EXPECT_EQ(first, second) << "later in the queue, so it may have the same memory";
    graphed_.fill(second, 2, 32, stream_);
    graphed_.copy(data_ + 32, second, 32, stream_);
    graphed_.release(second, stream_);
    EXPECT_EQ(gpu_->bytes_allocated(), kBytes + 32);
    graphed_.end();
    EXPECT_EQ(gpu_->bytes_allocated(), kBytes);
    EXPECT_EQ(data_[0], std::byte(1));
    EXPECT_EQ(data_[32], std::byte(2));
  }
}

TEST_F(Stretches, AGraphRecordsItsEvents) {
  cuda::Event inside = graphed_.create_event(0, true), after = graphed_.create_event(0, false);
  for (int round = 0; round < 3; ++round) {
    graphed_.begin();
    for (int i = 0; i < 4; ++i) graphed_.fill(data_ + i, i, 1, stream_);
    graphed_.record(inside, stream_);
    graphed_.fill(data_, 0, 1, stream_);
    graphed_.end();
    EXPECT_EQ(graphed_.is_of_graph(inside), round > 0);
  }
  graphed_.record(after, stream_);
  graphed_.synchronize(after);
  EXPECT_TRUE(graphed_.is_done(inside));
  graphed_.destroy(inside);
  graphed_.destroy(after);
}

// Before the GPU gets to the record of a graph, one who asks may be told of the event's record before.
TEST_F(Stretches, AnEventOfAGraphIsDoneWhenWhatComesBehindTheGraphIs) {
  cuda::Event begin = graphed_.create_event(0, true), inside = graphed_.create_event(0, true), last = graphed_.create_event(0, false);
  for (int round = 0; round < 3; ++round) {
    graphed_.begin();
    graphed_.record(begin, stream_);
    for (int i = 0; i < 4; ++i) graphed_.fill(data_ + i, i, 1, stream_);
    graphed_.record(inside, stream_);
    graphed_.fill(data_, 0, 1, stream_);
    graphed_.record(last, stream_);
    graphed_.end();
    while (!graphed_.is_done(inside)) {}
    EXPECT_GT(graphed_.milliseconds_between(begin, inside), 0.0);
  }
  for (cuda::Event event : {last, inside, begin}) graphed_.destroy(event);
}

// A stand-in that waits as long as a test says.
class SlowGpu final : public RecordingGpu {
 public:
  SlowGpu() : RecordingGpu(1) {}
  std::latch waits{1}, may_end{1};
  bool is_slow = false;

 private:
  void synchronize(cuda::Event event) override {
    if (std::exchange(is_slow, false)) {
      waits.count_down();
      may_end.wait();
    }
    RecordingGpu::synchronize(event);
  }
};

// Two threads' marks in one graph: the one that comes last stands for both, and goes while the other thread still waits for it.
TEST(Waits, ForAnEventThatAnotherThreadDestroysEnd) {
  auto gpu = std::make_shared<SlowGpu>();
  {
    cuda::GraphedGpu graphed(gpu, true);
    const cuda::Stream stream = graphed.create_stream(0);
    std::byte* data = graphed.allocate(64, stream);
    for (int round = 0; round < 3; ++round) {
      const cuda::Event fetched = graphed.create_event(0, false), exchanged = graphed.create_event(0, false);
      graphed.begin();
      for (int place = 0; place < 6; ++place) graphed.fill(data + place, place, 1, stream);
      graphed.record(fetched, stream);
      graphed.record(exchanged, stream);
      graphed.synchronize(exchanged);
      gpu->is_slow = round == 2;
      std::jthread fetches([&] { graphed.synchronize(fetched); });
      if (round == 2) gpu->waits.wait();
      if (round < 2) fetches.join();
      graphed.destroy(exchanged);
      if (round == 2) gpu->may_end.count_down();
      if (round == 2) fetches.join();
      graphed.destroy(fetched);
      graphed.end();
    }
    EXPECT_EQ(graphed.counts().by_graph, 2);
    graphed.release(data, stream);
    graphed.destroy(stream);
  }
  EXPECT_THAT(gpu->faults(), IsEmpty());
  EXPECT_EQ(gpu->events_alive(), 0);
}

// Others who wait for this process meanwhile are told so: it is not stuck.
TEST(Waits, ForTheGpuAreWork) {
  auto gpu = std::make_shared<SlowGpu>();
  cuda::CudaBackend backend(gpu, std::make_shared<RecordingCompiler>(), {.ordinals = {0}, .kernel_folder = ""});
  auto buffer = backend.allocate(8, 0);
  backend.clear(*buffer);
  gpu->is_slow = true;
  std::jthread fetches([&] { backend.to_host(buffer); });
  gpu->waits.wait();
  std::int64_t begun = 0;
  for ([[maybe_unused]] bool again : {false, true}) EXPECT_TRUE(AtWork::any_since(begun));
  gpu->may_end.count_down();
  fetches.join();
  AtWork::any_since(begun);
  EXPECT_FALSE(AtWork::any_since(begun));
}

TEST_F(Stretches, WhatNoGraphCanDoGoesCallByCall) {
  fills({1, 2, 3, 4});
  gpu_->refuse_graphs();
  for (int round = 0; round < 3; ++round) fills({1, 2, 3, 4});
  EXPECT_EQ(gpu_->calls("fill"), 1 + 16);
  EXPECT_EQ(gpu_->calls("make_graph"), 1);
  EXPECT_EQ(graphed_.counts().given_up, 1);
  EXPECT_THAT(graphed_.counts().refused, HasSubstr("not permitted when stream is capturing"));
}

// What is released in a program is kept for its queued work, which then is issued early.
TEST_F(Stretches, MemoryThatIsShortIsTakenFromWhatIsKept) {
  gpu_->limit_memory(kBytes + 100);
  graphed_.begin();
  std::byte* first = graphed_.allocate(80, stream_);
  graphed_.fill(first, 1, 80, stream_);
  graphed_.release(first, stream_);
  std::byte* second = graphed_.allocate(64, stream_);
  graphed_.fill(second, 2, 64, stream_);
  EXPECT_THROW(graphed_.allocate(80, stream_), cuda::OutOfGpuMemory);
  graphed_.release(second, stream_);
  graphed_.end();
}

// Another event may get the handle of one that is gone.
TEST_F(Stretches, AGraphGoesWithTheEventsThatItRecords) {
  cuda::Event inside = graphed_.create_event(0, true);
  auto run = [&] {
    graphed_.begin();
    graphed_.record(inside, stream_);
    for (int i = 0; i < 4; ++i) graphed_.fill(data_ + i, i, 1, stream_);
    graphed_.end();
  };
  run();
  run();
  EXPECT_EQ(graphed_.counts().by_graph, 1);
  graphed_.destroy(inside);
  inside = graphed_.create_event(0, true);
  run();
  EXPECT_EQ(graphed_.counts().by_graph, 1) << "begins anew";
  run();
  EXPECT_EQ(graphed_.counts().by_graph, 2);
  graphed_.destroy(inside);
}

// ---- programs

struct Names final : comm::Observer {
  void on_compute(const comm::Launch&, std::string_view op, Where, comm::Ns, comm::Ns) override {
    std::lock_guard lock(mutex);
    names.emplace_back(op);
  }
  std::mutex mutex;
  std::vector<std::string> names;
};

// When each step of a name began.
struct Begins final : comm::Observer {
  void on_compute(const comm::Launch&, std::string_view op, Where, comm::Ns begin, comm::Ns) override {
    std::lock_guard lock(mutex);
    if (op.starts_with("dot_general")) begins.insert(begin);
    ++steps;
  }
  std::mutex mutex;
  std::set<comm::Ns> begins;
  int steps = 0;
};

// Eight devices of one GPU.
class GraphedPrograms : public ::testing::Test {
 protected:
  void SetUp() override { start({}); }
  void start(std::vector<std::shared_ptr<comm::Observer>> observers) {
    Context::set_current(nullptr);
    ContextOptions options;
    options.devices_per_process = {8};
    options.cpu_devices = 8;
    options.observers = std::move(observers);
    options.make_backend = [&](const std::vector<int>& ordinals) {
      return backend_ = std::make_shared<cuda::CudaBackend>(
                 gpu_, compiler_, cuda::CudaOptions{.ordinals = ordinals, .devices_per_gpu = 8, .kernel_folder = ""});
    };
    Context::set_current(std::make_shared<Context>(std::move(options)));
  }
  void TearDown() override {
    backend_.reset();
    Context::set_current(nullptr);
    EXPECT_THAT(gpu_->faults(), IsEmpty());
    EXPECT_EQ(gpu_->bytes_allocated(), 0u) << "memory is left";
  }
  // Memory comes again as it does from CUDA's pools.
  GraphedPrograms() { gpu_->reuse_memory(); }
  static Array on(int first, const Shape& shape) {
    std::vector<int> devices(8);
    std::iota(devices.begin(), devices.end(), first);
    return device_put(sin(arange(double(element_count(shape)))).reshape(shape), Sharding(Mesh({4, 2}, {"a", "b"}, devices), P("a", "b")));
  }
  static void expect_alike(const Array& one, const Array& other) {
    Buffer a = one.fetch(), b = other.fetch();
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size() / 4; ++i) ASSERT_NEAR(a.as<float>()[i], b.as<float>()[i], 1e-4) << "element " << i;
  }

  std::shared_ptr<RecordingGpu> gpu_ = std::make_shared<RecordingGpu>(1);
  std::shared_ptr<RecordingCompiler> compiler_ = std::make_shared<RecordingCompiler>();
  std::shared_ptr<cuda::CudaBackend> backend_;
};

TEST_F(GraphedPrograms, AStepOfTrainingIsOneLaunchOfAGraph) {
  auto step = jit([](const Array& w, const Array& x) { return w - 0.01f * matmul(transpose(x), tanh(matmul(x, w))); });
  std::vector<Array> results;
  for (int first : {0, 8}) {
    Array w = on(first, {8, 8}), x = on(first, {16, 8});
    for (int round = 0; round < 12; ++round) w = step(w, x);
    results.push_back(w);
  }
  expect_alike(results[0], results[1]);
  EXPECT_GE(gpu_->calls("launch_graph"), 8);
  EXPECT_GE(gpu_->products_together(), 8) << "of eight devices";
  EXPECT_LE(backend_->graph_counts().made, 4);
  EXPECT_EQ(backend_->graph_counts().changed, 0) << "memory comes again in the same order";
  Array w = on(0, {8, 8}), x = on(0, {16, 8});
  x.block_until_ready();
  int launches = gpu_->calls("launch"), products = gpu_->calls("multiply");
  step(w, x).block_until_ready();
  EXPECT_EQ(gpu_->calls("launch"), launches) << "kernels are launched by the graph";
  EXPECT_EQ(gpu_->calls("multiply"), products);
}

// The predicate is read by the host: each round is a stretch, and the rounds are one graph.
TEST_F(GraphedPrograms, ALoopIsAGraphARound) {
  auto loop = jit([](const Array& x) {
    return while_loop([](const Array& v) { return sum(v * v) < 4000.0; }, [](const Array& v) { return sin(v) + v * 1.25 + cos(v) * 0.1; },
                      x);
  });
  expect_alike(loop(on(0, {8, 8})), loop(on(8, {8, 8})));
  EXPECT_GT(backend_->graph_counts().by_graph, 1);
}

// Its steps are not gone through, whatever the values are; where the memory is not there again, they are.
TEST_F(GraphedPrograms, ALaunchInTheSameMemoryIsRepeated) {
  auto f = jit([](const Array& x) { return std::vector<Array>{sum(exp(x), {0}) + x * 2.0, x, matmul(transpose(x), x)}; });
  auto check = [&](double scale) {
    const Array x = on(0, {8, 8}) * scale, y = on(8, {8, 8}) * scale;
    x.block_until_ready();
    const int before = gpu_->calls("record");
    const std::vector<Array> results = f(x), wanted = f(y);
    const int records = gpu_->calls("record") - before;
    for (std::size_t i = 0; i < results.size(); ++i) expect_alike(results[i], wanted[i]);
    return std::pair(results, records);
  };
  for (int round = 0; round < 3; ++round) check(round + 1.0);
  const int repeated = backend_->graph_counts().repeated;
  for (int round = 0; round < 3; ++round) EXPECT_EQ(check(0.25 * round).second, 1) << "one for all of the steps";
  EXPECT_GE(backend_->graph_counts().repeated, repeated + 3);
  std::vector<std::vector<Array>> kept;
  for (int round = 0; round < 4; ++round) kept.push_back(check(0.5 * round).first);
  for (int round = 0; round < 4; ++round) expect_alike(kept[std::size_t(round)][1], on(8, {8, 8}) * (0.5 * round));
}

// What the host decides by is another time other.
TEST_F(GraphedPrograms, WhatTheHostDecidesIsNotRepeated) {
  auto f = jit([](const Array& x) {
    Array y = cond(
        sum(x) > 0.0, [](const Array& v) { return sin(v) * 2.0 + cos(v) * 3.0 + exp(v); }, [](const Array& v) { return v; }, x);
    return y + sum(y);
  });
  for (int round = 0; round < 8; ++round) {
    const double sign = round % 3 == 0 ? -1.0 : 1.0;
    expect_alike(f(on(0, {8, 8}) * sign), f(on(8, {8, 8}) * sign));
  }
}

// Those whose arguments are donated find their results in the arguments' memory.
TEST_F(GraphedPrograms, DonatedArgumentsServeTheResults) {
  auto step = jit(
      [](const Array& w, const Array& x) {
        return std::vector<Array>{cumsum(cumsum(cumsum(w, {.axis = 1}), {.axis = 0}), {.axis = 1}) * 1e-3 + 1.0, x * 2.0, x};
      },
      {.donate_argnums = {0}});
  std::vector<std::vector<Array>> results;
  for (int first : {0, 8}) {
    std::vector<Array> now = {on(first, {8, 8})}, kept;
    const Array x = on(first, {16, 8});
    for (int round = 0; round < 12; ++round) {
      now = step(now[0], x);
      if (round % 4 == 0) kept.push_back(now[1]);
    }
    kept.push_back(now[0]);
    kept.push_back(now[2]);
    results.push_back(kept);
  }
  for (std::size_t i = 0; i < results[0].size(); ++i) expect_alike(results[0][i], results[1][i]);
  EXPECT_GE(backend_->graph_counts().repeated, 4);
}

TEST_F(GraphedPrograms, TransformsAndReductionsAreCapturedToo) {
  auto f = jit([](const Array& x) { return sum(abs(fft::fft(x)) * 2.0, {0}) + max(x, {0}); });
  for (int round = 0; round < 3; ++round) expect_alike(f(on(0, {8, 6})), f(on(8, {8, 6})));
  EXPECT_GE(backend_->graph_counts().by_graph, 2);
}

TEST_F(GraphedPrograms, TheTraceSaysWhichStepsAGraphDid) {
  auto names = std::make_shared<Names>();
  start({names});
  auto f = jit([](const Array& x) { return matmul(transpose(x), x) + sum(exp(x)); });
  Array x = on(0, {8, 6});
  f(x).block_until_ready();
  EXPECT_THAT(names->names, Contains(HasSubstr("dot_general")));
  EXPECT_THAT(names->names, ::testing::Not(Contains(HasSubstr("(graph)"))));
  std::size_t before = names->names.size();
  f(x).block_until_ready();
  std::vector<std::string> later(names->names.begin() + std::ptrdiff_t(before), names->names.end());
  EXPECT_THAT(later, Contains("dot_general (graph)"));
  EXPECT_THAT(names->names, Contains("all-reduce (graph)")) << "what the GPU does of a collective is a step, too";
}

// Work is issued after its steps have been gone through: profilers must see it under its steps' names all the same.
TEST_F(GraphedPrograms, CallsAreMadeWithinTheRangesOfTheirSteps) {
  auto f = jit([](const Array& x) { return matmul(transpose(x), x) + sum(exp(x)); });
  Array x = on(0, {8, 6});
  f(x).block_until_ready();
  EXPECT_THAT(gpu_->made_within("dot_general"), Contains("multiply"));
  EXPECT_THAT(gpu_->ranges(), ::testing::Not(Contains(::testing::StartsWith("graph: "))));
  f(x).block_until_ready();
  EXPECT_THAT(gpu_->ranges(), Contains(::testing::StartsWith("graph: ")));
}

// A program that is launched again before the GPU is done with it records its events again.
TEST_F(GraphedPrograms, EachLaunchHasItsOwnTimes) {
  auto begins = std::make_shared<Begins>();
  start({begins});
  auto f = jit([](const Array& x) { return matmul(transpose(x), x) + sum(exp(x)); });
  Array x = on(0, {8, 6});
  x.block_until_ready();
  std::vector<Array> results;
  for (int round = 0; round < 12; ++round) results.push_back(f(x));
  for (Array& each : results) each.block_until_ready();
  EXPECT_EQ(begins->begins.size(), 12u);
}

TEST_F(GraphedPrograms, AQueuedFailureIsThatOfItsStep) {
  auto f = jit([](const Array& x) { return matmul(transpose(x), x) + 1.0f; });
  Array x = on(0, {8, 6});
  x.block_until_ready();
  gpu_->fail_next("multiply");
  try {
    f(x).fetch();
    FAIL();
  } catch (const std::exception& error) {
    EXPECT_THAT(error.what(), HasSubstr("illegal memory access"));
    EXPECT_THAT(error.what(), HasSubstr("is dot_general at"));
  }
}

}  // namespace
}  // namespace shardlab
