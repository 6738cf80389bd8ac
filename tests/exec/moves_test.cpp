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

// Runs `body(process, link)` on one thread a process.
void on_processes(int processes, const std::function<void(int, LinkContext&)>& body) {
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
      on_processes(int(c.devices_per_process.size()), [&](int process, LinkContext& link) {
        Ownership ownership{[&](int device) { return owners[std::size_t(device)]; }, process};
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

// The sum over a group must not depend on which process owns which device, to the last bit.
TEST(ReducePlan, EqualToTheLastBitForEveryLayoutOfProcesses) {
  Mesh mesh({2, 6}, {"a", "b"}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  Shape shape = {12, 5};
  for (bool scatter : {false, true}) {
    Axes over = {mesh.whole_axis(1)};
    Layout from{mesh.devices(), boxes_of(shape, {{mesh.whole_axis(0)}, {}}, mesh)};
    Spec to_spec = {scatter ? Axes{mesh.whole_axis(0), mesh.whole_axis(1)} : Axes{mesh.whole_axis(0)}, {}};
    Layout to{mesh.devices(), boxes_of(shape, to_spec, mesh)};
    std::vector<std::vector<BufferRef>> by_layout;
    for (const std::vector<int>& sizes : std::vector<std::vector<int>>{{12}, {6, 6}, {3, 3, 3, 3}, {1, 7, 4}, {5, 0, 1, 6}}) {
      std::vector<int> owners = owners_of(sizes);
      std::vector<BufferRef> results(to.devices.size());
      on_processes(int(sizes.size()), [&](int process, LinkContext& link) {
        Ownership ownership{[&](int device) { return owners[std::size_t(device)]; }, process};
        ReducePlan plan(from, to, groups_along(mesh, over), Reduction::kSum, DType::kFloat32, ownership);
        std::vector<BufferRef> sources(from.devices.size()), targets(to.devices.size());
        for (std::size_t p = 0; p < sources.size(); ++p) {
          if (owners[p] != process) continue;
          std::mt19937 random{unsigned(p)};
          std::uniform_real_distribution<float> uniform(-1000, 1000);
          auto buffer = std::make_shared<Buffer>(std::size_t(element_count(from.boxes[p])) * sizeof(float));
          for (std::int64_t i = 0; i < element_count(from.boxes[p]); ++i) buffer->as<float>()[i] = uniform(random);
          sources[p] = buffer;
        }
        EXPECT_EQ(plan.run(sources, targets, link).exchange.status, comm::ExchangeStatus::kDone);
        for (std::size_t p = 0; p < targets.size(); ++p) {
          ASSERT_EQ(targets[p] != nullptr, owners[p] == process);
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
