// Moves and reductions between devices of several processes, against plain indexing, for random layouts.
#include "runtime/exec/moves.h"
#include "runtime/exec/cpu_backend.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <thread>

#include "runtime/exec/cpu_backend.h"
#include "tests/support/thread_transport.h"

namespace shardlab {
namespace {

using testing::ThreadHub;
using testing::ThreadTransport;

// Devices dealt to processes in the given sizes, in order.
std::vector<int> owners_of(const std::vector<int>& devices_per_process) {
  std::vector<int> owners;
  for (std::size_t p = 0; p < devices_per_process.size(); ++p) owners.insert(owners.end(), std::size_t(devices_per_process[p]), int(p));
  return owners;
}

std::vector<float> values_of(const Shape& shape) {
  std::vector<float> values(std::size_t(element_count(shape)));
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

BufferRef part_of(const std::vector<float>& values, const Shape& shape, const Box& box) {
  auto buffer = std::make_shared<Buffer>(std::size_t(element_count(box)) * sizeof(float));
  copy_box(reinterpret_cast<const std::byte*>(values.data()), whole(shape), buffer->data(), box, box, sizeof(float));
  return buffer;
}

using LinkBytes = std::map<std::pair<int, int>, std::int64_t>;  // from one process to another

// Runs `body(process, link)` on one thread a process; what was sent.
LinkBytes on_processes(int processes, const std::function<void(int, LinkContext&)>& body) {
  auto hub = std::make_shared<ThreadHub>();
  std::vector<std::jthread> threads;
  for (int p = 0; p < processes; ++p)
    threads.emplace_back([&, p] {
      ThreadTransport transport(hub, p);
      CpuBackend backend(1);
      LinkContext link;
      link.backend = &backend;
      link.transport = &transport;
      body(p, link);
    });
  threads.clear();
  return hub->bytes;
}

// Processes dealt to hosts: all on one, two and two, in turn.
std::vector<HostOf> deals() {
  return {{}, [](int process) { return process / 2; }, [](int process) { return process % 2; }, [](int process) { return process; }};
}

Spec random_spec(std::mt19937& random, const Mesh& mesh, const Shape& shape) {
  Spec spec(shape.size());
  std::vector<int> axes(std::size_t(mesh.axis_count()));
  std::iota(axes.begin(), axes.end(), 0);
  std::shuffle(axes.begin(), axes.end(), random);
  for (int axis : axes) {
    std::size_t d = random() % (shape.size() + 1);
    if (d == shape.size()) continue;
    Axes longer = spec[d];
    push(longer, mesh.whole_axis(axis));
    if (shape[d] % part_count(longer) == 0) spec[d] = longer;
  }
  return spec;
}

struct Case {
  std::vector<int> devices_per_process;
  Shape mesh_shape;
  std::vector<int> devices;
};

std::vector<Case> cases() {
  return {{{8}, {4, 2}, {0, 1, 2, 3, 4, 5, 6, 7}},
          {{2, 2, 2, 2}, {4, 2}, {0, 1, 2, 3, 4, 5, 6, 7}},
          {{2, 2, 2, 2}, {2, 4}, {5, 2, 7, 0, 1, 6, 3, 4}},
          {{1, 5, 2}, {2, 2, 2}, {7, 6, 5, 4, 3, 2, 1, 0}},
          {{3, 3}, {3, 2}, {0, 1, 2, 3, 4, 5}},
          {{3, 0, 4}, {7}, {6, 0, 5, 1, 4, 2, 3}}};
}

std::vector<std::string> names(std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back(std::string(1, char('a' + i)));
  return names;
}

TEST(MovePlan, AnyLayoutToAnyOther) {
  for (const Case& c : cases()) {
    Mesh mesh(c.mesh_shape, names(c.mesh_shape.size()), c.devices);
    std::vector<int> owners = owners_of(c.devices_per_process);
    for (unsigned seed = 0; seed < 40; ++seed) {
      SCOPED_TRACE(::testing::Message() << mesh.text() << " seed " << seed);
      std::mt19937 random(seed);
      Shape shape = {24, 7, 6};
      Layout from{mesh.devices(), boxes_of(shape, random_spec(random, mesh, shape), mesh)};
      Layout to{mesh.devices(), boxes_of(shape, random_spec(random, mesh, shape), mesh)};
      std::vector<float> values = values_of(shape);
      HostOf host_of = deals()[seed % deals().size()];
      on_processes(int(c.devices_per_process.size()), [&](int process, LinkContext& link) {
        Ownership ownership{[&](int device) { return owners[std::size_t(device)]; }, process, host_of};
        MovePlan plan(from, to, transfers_between(from, to, ownership), DType::kFloat32, ownership);
        std::vector<BufferRef> sources(from.devices.size()), targets(to.devices.size());
        for (std::size_t p = 0; p < sources.size(); ++p)
          if (owners[std::size_t(from.devices[p])] == process) sources[p] = part_of(values, shape, from.boxes[p]);
        MoveStatus status = plan.run(sources, targets, link);
        EXPECT_EQ(status.exchange.status, comm::ExchangeStatus::kDone);
        for (std::size_t p = 0; p < targets.size(); ++p) {
          bool local = owners[std::size_t(to.devices[p])] == process;
          ASSERT_EQ(targets[p] != nullptr, local);
          if (!local) continue;
          BufferRef wanted = part_of(values, shape, to.boxes[p]);
          ASSERT_EQ(targets[p]->size(), wanted->size());
          EXPECT_EQ(0, std::memcmp(targets[p]->data(), wanted->data(), wanted->size())) << "position " << p;
        }
      });
    }
  }
}

TEST(MovePlan, ReplicasShareOneBufferAndWholeShardsMoveAsPointers) {
  Mesh mesh({4}, {"a"}, {0, 1, 2, 3});
  Shape shape = {8};
  Layout cut{mesh.devices(), boxes_of(shape, {{mesh.whole_axis(0)}}, mesh)};
  Layout full{mesh.devices(), boxes_of(shape, {{}}, mesh)};
  Ownership ownership{[](int) { return 0; }, 0};
  std::vector<float> values = values_of(shape);
  std::vector<BufferRef> sources(4), gathered(4), again(4);
  for (int p = 0; p < 4; ++p) sources[std::size_t(p)] = part_of(values, shape, cut.boxes[std::size_t(p)]);
  MovePlan gather(cut, full, transfers_within(cut, full, {{0, 1, 2, 3}}, ownership), DType::kFloat32, ownership);
  CpuBackend backend(1);
  LinkContext link;
  link.backend = &backend;
  gather.run(sources, gathered, link);
  EXPECT_EQ(gathered[0], gathered[3]);
  MovePlan identity(full, full, transfers_within(full, full, {}, ownership), DType::kFloat32, ownership);
  identity.run(gathered, again, link);
  EXPECT_EQ(gathered[2], again[2]);
}

// The sum over a group must not depend on which process owns which device, to the last bit; neither where everybody sends what it has nor
// where the elements are dealt out in parts.
class ReduceLayouts : public ::testing::TestWithParam<std::tuple<std::int64_t, std::vector<int>>> {};

TEST_P(ReduceLayouts, EqualToTheLastBit) {
  const auto& [width, devices] = GetParam();
  Mesh mesh({2, 6}, {"a", "b"}, devices);
  Shape shape = {12, width};
  for (bool scatter : {false, true}) {
    Axes over = {mesh.whole_axis(1)};
    Layout from{mesh.devices(), boxes_of(shape, {{mesh.whole_axis(0)}, {}}, mesh)};
    Spec to_spec = {scatter ? Axes{mesh.whole_axis(0), mesh.whole_axis(1)} : Axes{mesh.whole_axis(0)}, {}};
    Layout to{mesh.devices(), boxes_of(shape, to_spec, mesh)};
    std::vector<std::vector<BufferRef>> by_layout;
    std::vector<std::pair<std::vector<int>, HostOf>> layouts = {{{12}, {}}};
    for (const std::vector<int>& sizes : std::vector<std::vector<int>>{{6, 6}, {3, 3, 3, 3}, {1, 7, 4}, {5, 0, 1, 6}})
      for (const HostOf& host_of : deals()) layouts.emplace_back(sizes, host_of);
    for (const auto& [sizes, host_of] : layouts) {
      std::vector<int> owners = owners_of(sizes);
      std::vector<BufferRef> results(to.devices.size());
      on_processes(int(sizes.size()), [&](int process, LinkContext& link) {
        Ownership ownership{[&](int device) { return owners[std::size_t(device)]; }, process, host_of};
        ReducePlan plan(from, to, groups_along(mesh, over), Reduction::kSum, DType::kFloat32, ownership);
        std::vector<BufferRef> sources(from.devices.size()), targets(to.devices.size());
        for (std::size_t p = 0; p < sources.size(); ++p) {
          if (owners[std::size_t(from.devices[p])] != process) continue;
          std::mt19937 random{unsigned(p)};
          std::uniform_real_distribution<float> uniform(-1000, 1000);
          auto buffer = std::make_shared<Buffer>(std::size_t(element_count(from.boxes[p])) * sizeof(float));
          for (std::int64_t i = 0; i < element_count(from.boxes[p]); ++i) buffer->as<float>()[i] = uniform(random);
          sources[p] = buffer;
        }
        EXPECT_EQ(plan.run(sources, targets, link).exchange.status, comm::ExchangeStatus::kDone);
        for (std::size_t p = 0; p < targets.size(); ++p) {
          ASSERT_EQ(targets[p] != nullptr, owners[std::size_t(to.devices[p])] == process);
          if (targets[p]) results[p] = targets[p];
        }
      });
      by_layout.push_back(results);
    }
    for (const auto& results : by_layout)
      for (std::size_t p = 0; p < results.size(); ++p)
        EXPECT_EQ(0, std::memcmp(results[p]->data(), by_layout[0][p]->data(), results[p]->size())) << "position " << p;
  }
}

INSTANTIATE_TEST_SUITE_P(, ReduceLayouts,
                         ::testing::Combine(::testing::Values(0, 5, 10007),
                                            ::testing::Values(std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11},
                                                              std::vector<int>{7, 0, 10, 3, 5, 1, 11, 2, 8, 4, 9, 6})));

// Hosts with two processes of two devices each: what crosses between the hosts, as the plans say and as it was seen.
struct Crossing {
  std::int64_t planned = 0, seen = 0;
};

template <typename MakePlan>
Crossing crossing(const Layout& from, const Layout& to, MakePlan make_plan, int hosts = 2) {
  int processes = 2 * hosts;
  auto host_of = [](int process) { return process / 2; };
  std::vector<std::int64_t> planned(std::size_t(processes), 0);
  LinkBytes seen = on_processes(processes, [&](int process, LinkContext& link) {
    auto plan = make_plan(Ownership{[](int device) { return device / 2; }, process, host_of});
    std::vector<BufferRef> sources(from.devices.size()), targets(to.devices.size());
    for (std::size_t p = 0; p < sources.size(); ++p)
      if (from.devices[p] / 2 == process) sources[p] = std::make_shared<Buffer>(std::size_t(element_count(from.boxes[p])) * sizeof(float));
    EXPECT_EQ(plan.run(sources, targets, link).exchange.status, comm::ExchangeStatus::kDone);
    std::map<int, std::int64_t> sent;
    plan.add_sent(sent);
    for (const auto& [peer, bytes] : sent)
      if (host_of(peer) != host_of(process)) planned[std::size_t(process)] += bytes;
  });
  Crossing result{std::accumulate(planned.begin(), planned.end(), std::int64_t(0)), 0};
  for (const auto& [link, bytes] : seen)
    if (host_of(link.first) != host_of(link.second)) result.seen += bytes;
  return result;
}

TEST(Hosts, WhatAllNeedCrossesTheNetworkOnce) {
  Mesh mesh({8}, {"a"}, {0, 1, 2, 3, 4, 5, 6, 7});
  Shape shape = {64, 3};
  std::int64_t bytes = element_count(shape) * std::int64_t(sizeof(float));
  Layout cut{mesh.devices(), boxes_of(shape, {{mesh.whole_axis(0)}, {}}, mesh)};
  Layout full{mesh.devices(), boxes_of(shape, {{}, {}}, mesh)};
  Axes all = {mesh.whole_axis(0)};
  auto groups = groups_along(mesh, all);

  Crossing gather = crossing(cut, full, [&](const Ownership& ownership) {
    return MovePlan(cut, full, transfers_within(cut, full, groups, ownership), DType::kFloat32, ownership);
  });
  EXPECT_EQ(gather.planned, bytes);  // each half once
  EXPECT_EQ(gather.seen, bytes);

  Crossing reduce = crossing(
      full, full, [&](const Ownership& ownership) { return ReducePlan(full, full, groups, Reduction::kSum, DType::kFloat32, ownership); });
  EXPECT_EQ(reduce.planned, 2 * bytes);  // each host's sum once
  EXPECT_EQ(reduce.seen, 2 * bytes);

  Crossing scatter = crossing(
      full, cut, [&](const Ownership& ownership) { return ReducePlan(full, cut, groups, Reduction::kSum, DType::kFloat32, ownership); });
  EXPECT_EQ(scatter.planned, bytes);  // each host's sum of the other's half
  EXPECT_EQ(scatter.seen, bytes);
}

// As in a ring over the hosts, each part crosses to the host that combines it and back; combining everywhere would need H (H - 1).
TEST(Hosts, LargeReductionsCrossTheNetworkAsARing) {
  for (int hosts : {2, 3, 4}) {
    std::vector<int> devices(std::size_t(hosts * 4));
    std::iota(devices.begin(), devices.end(), 0);
    Mesh mesh({hosts * 4}, {"a"}, devices);
    Shape shape = {311, 1009};
    std::int64_t bytes = element_count(shape) * std::int64_t(sizeof(float));
    Layout full{mesh.devices(), boxes_of(shape, {{}, {}}, mesh)};
    Axes all = {mesh.whole_axis(0)};
    Crossing reduce = crossing(
        full, full,
        [&](const Ownership& ownership) {
          return ReducePlan(full, full, groups_along(mesh, all), Reduction::kSum, DType::kFloat32, ownership);
        },
        hosts);
    EXPECT_EQ(reduce.planned, 2 * (hosts - 1) * bytes) << hosts << " hosts";
    EXPECT_EQ(reduce.seen, reduce.planned) << hosts << " hosts";
  }
}

// Of four processes of one host each sends every byte twice at most, not three times.
TEST(ReducePlan, LargeOnesAreScatteredAndGathered) {
  Mesh mesh({4}, {"a"}, {0, 1, 2, 3});
  Shape shape = {1 << 16};
  std::int64_t bytes = element_count(shape) * std::int64_t(sizeof(float));
  Layout full{mesh.devices(), boxes_of(shape, {{}}, mesh)};
  for (int self = 0; self < 4; ++self) {
    ReducePlan plan(full, full, {{0, 1, 2, 3}}, Reduction::kSum, DType::kFloat32, {[](int device) { return device; }, self});
    std::map<int, std::int64_t> sent;
    plan.add_sent(sent);
    EXPECT_EQ(sent.size(), 3u);
    for (const auto& [peer, each] : sent) EXPECT_EQ(each, bytes / 2) << self << " to " << peer;
  }
}

TEST(Hosts, ReplicasAreTakenFromTheOwnHost) {
  Mesh mesh({8}, {"a"}, {0, 1, 2, 3, 4, 5, 6, 7});
  Shape shape = {8};
  // Every host has the whole on its first process; its second one wants it.
  Layout from{{0, 4}, {whole(shape), whole(shape)}}, to{{2, 3, 6, 7}, std::vector<Box>(4, whole(shape))};
  Crossing copy = crossing(from, to, [&](const Ownership& ownership) {
    return MovePlan(from, to, transfers_between(from, to, ownership), DType::kFloat32, ownership);
  });
  EXPECT_EQ(copy.planned, 0);
  EXPECT_EQ(copy.seen, 0);
}

TEST(ThreadPool, RunsEveryItemOnceAndRethrows) {
  ThreadPool pool(3);
  std::vector<std::atomic<int>> seen(1000);
  for (int round = 0; round < 20; ++round) pool.parallel_for(1000, [&](std::int64_t i) { ++seen[std::size_t(i)]; });
  for (auto& count : seen) EXPECT_EQ(count, 20);
  EXPECT_THROW(pool.parallel_for(100,
                                 [](std::int64_t i) {
                                   if (i == 57) throw UserError("57");
                                 }),
               UserError);
  pool.parallel_for(10, [&](std::int64_t i) { ++seen[std::size_t(i)]; });
  EXPECT_EQ(seen[3], 21);
}

}  // namespace
}  // namespace shardlab
