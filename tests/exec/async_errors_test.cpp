// Errors that arise while a launch runs: each surfaces at the first use, with the line that issued it and the line that used it, over one
// process and over two, of which the judge of real runs knows.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/control/local_control.h"
#include "runtime/control/referee.h"
#include "runtime/exec/array_ops.h"
#include "runtime/exec/context.h"
#include "runtime/exec/control_flow.h"
#include "runtime/exec/device_mesh.h"
#include "runtime/exec/jit.h"
#include "runtime/exec/ops.h"
#include "runtime/exec/placement.h"
#include "runtime/exec/shard_map.h"
#include "runtime/graph/builder.h"
#include "runtime/ops/registry.h"
#include "tests/support/thread_job.h"

namespace shardlab {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// An op of a user's own, whose kernel does not like negative numbers; whole numbers it likes even less.
void refuse_negatives(const KernelArgs& args) {
  const ConstView& x = args.operands[0];
  const auto* from = reinterpret_cast<const float*>(x.data);
  auto* to = reinterpret_cast<float*>(args.results[0].data);
  for (std::int64_t i = 0; i < element_count(x.type.shape); ++i) {
    if (from[i] <= -100) throw 42;
    if (from[i] < 0) throw std::runtime_error(fmt::format("a negative number came: {}", from[i]));
    to[i] = from[i];
  }
}

const OpDef& positive_op() {
  static const OpDef op = [] {
    OpDef made = *find_op("sort");  // its shapes and factors
    made.name = "positive";
    made.expand = [](GraphBuilder& b, const OpDef& self, std::span<const Arg> args, const Attrs&) {
      return b.emit(self, {std::get<ValueId>(args[0])}, Attrs{{"axis", std::int64_t(1)}});
    };
    made.kernel = refuse_negatives;
    return made;
  }();
  return op;
}

Array positive(const Array& x, std::source_location where = std::source_location::current()) {
  return apply(positive_op(), {Operand(x, where)}, {}, Where::from(where)).at(0);
}

std::string line(unsigned number) { return fmt::format("async_errors_test.cpp:{}", number); }

std::string text_of_error(const std::function<void()>& body) {
  try {
    body();
  } catch (const std::exception& error) { return error.what(); }
  return "no error";
}

int occurrences(const std::string& text, const std::string& part) {
  int found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

// Processes as threads, judged as real ones are. `body` ends with the process; what it throws is told to the others and returned.
std::vector<std::string> judged(const std::vector<int>& devices_per_process, const std::function<void()>& body) {
  control::Referee referee({.num_processes = int(devices_per_process.size())});
  auto hub = std::make_shared<testing::ThreadHub>();
  std::vector<std::string> ends(devices_per_process.size(), "left");
  std::vector<std::jthread> threads;
  for (std::size_t p = 0; p < devices_per_process.size(); ++p)
    threads.emplace_back([&, p] {
      auto transport = std::make_shared<testing::ThreadTransport>(hub, int(p));
      auto control =
          std::make_shared<control::LocalLedgerControl>(referee, int(p), [transport](const std::string& why) { transport->abort(why); });
      ContextOptions options;
      options.process_index = int(p);
      options.devices_per_process = devices_per_process;
      options.worker_threads = 1;
      options.transport = transport;
      options.control = control;
      Context::set_current(std::make_shared<Context>(options));
      try {
        body();
        Context::current().leave();
      } catch (const comm::DiagnosisError& error) {
        ends[p] = fmt::format("verdict: {}", error.what());
      } catch (const std::exception& error) {
        ends[p] = error.what();
        control->raised(error.what(), {});
      }
      Context::set_current(nullptr);
      referee.died(int(p), 0, 0, comm::now_ns());
    });
  threads.clear();
  return ends;
}

class AsyncErrors : public ::testing::TestWithParam<int> {
 protected:
  // Four devices in all; fails where the processes do not all end as `body` does by itself.
  void on_processes(const std::function<void()>& body) const {
    std::vector<int> devices(std::size_t(GetParam()), 4 / GetParam());
    for (const std::string& end : judged(devices, body)) EXPECT_EQ(end, "left");
  }
  // Rows over the devices of all processes.
  static Array rows(float first) {
    return device_put(arange(16, float32).reshape({4, 4}) + first, NamedSharding(make_mesh({4}, {"d"}), P("d")));
  }
};

TEST_P(AsyncErrors, AKernelThatThrowsSurfacesAtTheFirstUse) {
  on_processes([] {
    Array x = arange(4, float32).reshape({2, 2}) - 1;
    Array y = positive(x);
    unsigned issued = __LINE__ - 1;
    EXPECT_EQ(y.shape(), (Shape{2, 2}));
    unsigned used = __LINE__ + 1;
    std::string error = text_of_error([&] { y.fetch(); });
    EXPECT_EQ(error, fmt::format("a negative number came: -1 [positive at {}; first used by fetch at {}]", line(issued), line(used)));
  });
}

TEST_P(AsyncErrors, WaitingIsAUse) {
  on_processes([] {
    Array y = positive(arange(4, float32).reshape({2, 2}) - 200);
    unsigned issued = __LINE__ - 1, used = __LINE__ + 1;
    std::string error = text_of_error([&] { y.block_until_ready(); });
    EXPECT_EQ(error, fmt::format("an error that is no std::exception [positive at {}; first used by block_until_ready at {}]", line(issued),
                                 line(used)));
  });
}

// In 2^48 bytes no process has room, whatever its machine promises.
TEST_P(AsyncErrors, NoMemoryForAResult) {
  on_processes([] {
    Array y = full({std::int64_t(1) << 46}, 1.0F);
    unsigned issued = __LINE__ - 1;
    Array z = y + 1;
    std::string error = text_of_error([&] { z.block_until_ready(); });
    EXPECT_THAT(error, AllOf(HasSubstr("RESOURCE_EXHAUSTED: Out of memory"), HasSubstr("281474976710656 bytes"), HasSubstr(line(issued))));
  });
}

TEST_P(AsyncErrors, AChainNamesTheFirstCauseOnce) {
  on_processes([] {
    Array x = positive(arange(4, float32).reshape({2, 2}) - 1);
    unsigned issued = __LINE__ - 1;
    Array y = sin(x);
    Array other = positive(y);
    Array z = jit([](const Array& a, const Array& b) { return matmul(a, b); })(y, other);
    unsigned last = __LINE__ - 1, used = __LINE__ + 1;
    std::string error = text_of_error([&] { z.fetch(); });
    EXPECT_EQ(error,
              fmt::format("a negative number came: -1 [positive at {}; first used by fetch at {}, by way of what was computed at {}]",
                          line(issued), line(used), line(last)));
    // What was told once is no news at the end; what else was made of it says the same.
    EXPECT_EQ(occurrences(text_of_error([&] { other.fetch(); }), "a negative number came"), 1);
  });
}

// All processes fail in a launch over all of them. Each has its own error at its own use, or where it was slower to fail than another was
// to tell it, that one's, which is the same.
void expect_own_or_told(const std::vector<std::string>& ends, const std::function<void(const std::string&)>& expect_own) {
  int told = 0;
  for (std::size_t p = 0; p < ends.size(); ++p) {
    if (!ends[p].starts_with("verdict")) {
      expect_own(ends[p]);
      continue;
    }
    ++told;
    EXPECT_TRUE(ends[p].starts_with(fmt::format("verdict: process-raised: process {} raised", 1 - p))) << ends[p];
  }
  EXPECT_LT(told, int(ends.size()));
}

TEST_P(AsyncErrors, ALaunchOverProcessesThatFailsInEach) {
  std::vector<int> devices(std::size_t(GetParam()), 4 / GetParam());
  std::atomic<unsigned> issued = 0, used = 0;  // the processes are threads
  auto ends = judged(devices, [&] {
    Array y = positive(rows(-20));
    issued = __LINE__ - 1;
    Array z = sum(sin(y));
    used = __LINE__ + 1;
    z.fetch();
  });
  for (const std::string& end : ends) {
    EXPECT_EQ(occurrences(end, "a negative number came"), 1) << end;
    EXPECT_THAT(end, HasSubstr("positive at " + line(issued)));
  }
  expect_own_or_told(ends, [&](const std::string& own) { EXPECT_THAT(own, HasSubstr("fetch at " + line(used))); });
}

// Checks inside a program: devices of a loop or branch that go different ways cannot take part in a collective.
TEST_P(AsyncErrors, ACheckInsideAProgram) {
  std::vector<int> devices(std::size_t(GetParam()), 4 / GetParam());
  std::atomic<unsigned> issued = 0, inside = 0;  // the processes are threads
  auto ends = judged(devices, [&] {
    auto mesh = make_mesh({4}, {"d"});
    auto f = shard_map(
        [&](const Array& x) {
          inside = __LINE__ + 1;
          auto both = [&](const Array& v) { return psum(v, {"d"}) * 1.0F + v * 0.0F; };
          return cond(
              axis_index({"d"}) % 2 == 1, both, [](const Array& v) { return v; }, x);
        },
        {.mesh = mesh, .in_specs = {P("d")}, .out_specs = {P("d")}, .check_vma = false});
    Array y = jit(f)(rows(0));
    issued = __LINE__ - 1;
    (void)sum(y).item<float>();
  });
  for (const std::string& end : ends)
    EXPECT_THAT(end, AllOf(HasSubstr("stands where devices go different ways"), HasSubstr(line(inside)), HasSubstr(line(issued))));
  expect_own_or_told(ends, [](const std::string& own) { EXPECT_THAT(own, HasSubstr("first used by")); });
}

TEST_P(AsyncErrors, WhatNobodyUsesIsToldAtTheEnd) {
  std::vector<int> devices(std::size_t(GetParam()), 4 / GetParam());
  std::atomic<unsigned> issued = 0;
  auto ends = judged(devices, [&] {
    Array y = positive(arange(4, float32).reshape({2, 2}) - 1);
    issued = __LINE__ - 1;
    Array z = positive(sin(y)) + positive(arange(4, float32).reshape({2, 2}) - 3);
  });
  for (const std::string& end : ends) {
    if (end.starts_with("verdict")) continue;  // it was told first that the other one has ended so
    EXPECT_EQ(end, fmt::format("a negative number came: -1 [positive at {}; nobody has used its results; 1 more failed unnoticed]",
                               line(issued)));
  }
  EXPECT_FALSE(ends[0].starts_with("verdict") && ends.back().starts_with("verdict"));
}

// Who catches such an error goes on by itself, and comes to an end: it leaves where all failed alike, else it is told of the others. Where
// one is told before it has failed itself, they did not fail alike yet.
TEST_P(AsyncErrors, WhoCatchesItComesToAnEnd) {
  for (float first : {-200.0F, -20.0F}) {
    auto ends = judged(std::vector<int>(std::size_t(GetParam()), 4 / GetParam()), [&] {
      Array y = positive(rows(first));
      for (int i = 0; i < 3; ++i) EXPECT_THAT(text_of_error([&] { (void)sum(y).item<float>(); }), HasSubstr("positive at"));
      EXPECT_EQ(sum(arange(4, float32)).item<float>(), 6);
    });
    bool may_be_alike = first == -200.0F, alone = GetParam() == 1;
    for (const std::string& end : ends) {
      EXPECT_EQ(end == "left", alone || (may_be_alike && ends[0] == "left")) << end;
      EXPECT_THAT(end, AnyOf(Eq("left"), StartsWith("verdict: process-raised: process")));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, AsyncErrors, ::testing::Values(1, 2),
                         [](const auto& each) { return each.param == 1 ? std::string("OneProcess") : std::string("TwoProcesses"); });

// One of two fails in a launch over both: it has its own error, and the other one its reason with the same cause and line.
TEST(AsyncErrorsOfAPeer, AreToldToTheOthers) {
  std::atomic<unsigned> issued = 0, used = 0;  // the processes are threads
  auto ends = judged({2, 2}, [&] {
    auto everywhere = NamedSharding(make_mesh({4}, {"d"}), P("d"));
    Array x = device_put(arange(16, float32).reshape({4, 4}) * -1.0F + 10.0F, everywhere);  // 10 to 3 here, 2 to -5 there
    Array y = positive(x);
    issued = __LINE__ - 1;
    Array z = sum(cos(y));
    used = __LINE__ + 1;
    z.fetch();
  });
  EXPECT_THAT(ends[1], AllOf(HasSubstr("a negative number came: -1 [positive at " + line(issued)), HasSubstr("fetch at " + line(used)),
                             Not(HasSubstr("verdict"))));
  EXPECT_THAT(ends[0], AllOf(HasSubstr("verdict: process-raised: process 1 raised"), HasSubstr("a negative number came: -1"),
                             HasSubstr("positive at " + line(issued))));
}

}  // namespace
}  // namespace shardlab
