// What a graph's work comes behind, and which of it is one launch or one call. There need be no GPU.
#include "virtualdev/cuda/graph_tasks.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace shardlab {
namespace {

// Kernels and how many sets of arguments they have.
using Launches = std::vector<std::pair<std::uintptr_t, unsigned>>;
Launches launches_in(const std::vector<cuda::Work>& work) {
  Launches launches;
  for (const cuda::Work& each : work)
    if (auto* launch = std::get_if<cuda::KernelWork>(&each)) launches.push_back({std::uintptr_t(launch->kernel), launch->instances});
  return launches;
}
// For several sets of arguments: a hundred times as many and the kernel's number.
const cuda::Batcher kHundreds = [](const auto& wanted) {
  std::vector<cuda::Kernel> kernels;
  for (const auto& [one, count] : wanted) kernels.push_back(cuda::Kernel(100 * count + std::uintptr_t(one)));
  return kernels;
};
cuda::KernelWork launch_of(int number, std::size_t bytes = 8) {
  return cuda::KernelWork{cuda::Kernel(number), 4, 256, false, std::vector<std::byte>(bytes)};
}
cuda::Work fill_of(const std::byte* data) { return cuda::FillWork{const_cast<std::byte*>(data), 0, 1}; }

TEST(Tasks, ComeBehindWhatTheyTouchAndNothingElse) {
  const std::byte places[6] = {};
  const std::byte *a = places, *b = places + 1, *c = places + 2, *d = places + 3, *e = places + 4, *f = places + 5;
  std::vector<cuda::Work> work;
  auto add = [&](std::vector<const std::byte*> touched, std::size_t reads) {
    work.push_back(cuda::TaskWork{touched, reads});
    work.push_back(fill_of(touched.empty() ? e : touched.back()));
  };
  add({a}, 0);
  add({a, b}, 1);
  add({a, c}, 1);
  add({d}, 0);
  add({f}, 0);
  add({b, a}, 1);  // writes a again: behind both who read it
  add({}, 0);      // in no task
  add({d, e}, 1);
  const std::vector<cuda::GraphTask> tasks = cuda::tasks_of(work);
  std::vector<std::vector<std::size_t>> behind;
  for (const cuda::GraphTask& task : tasks) behind.push_back(task.behind);
  using Lists = std::vector<std::vector<std::size_t>>;
  EXPECT_EQ(behind, (Lists{{}, {0}, {0}, {}, {}, {1, 0, 2}, {3, 4, 5}, {6}}));
  EXPECT_EQ(cuda::last_of(tasks), std::vector<std::size_t>{7});
}

// As on one device, where to do two things at once is worth less than it costs; but for products of which it is known that they are several
// devices'.
TEST(Tasks, AreInOrderWhereFewAreAtOnce) {
  const std::byte places[8] = {};
  std::vector<cuda::Work> work;
  for (int i = 0; i < 2; ++i) {
    work.push_back(cuda::TaskWork{{places + i}, 0});
    work.push_back(cuda::MatrixProduct{});
  }
  EXPECT_EQ(cuda::tasks_of(work)[1].behind, std::vector<std::size_t>{0});
  for (std::size_t at : {1, 3}) std::get<cuda::MatrixProduct>(work[at]).is_beside = true;
  EXPECT_EQ(cuda::tasks_of(work)[1].behind, std::vector<std::size_t>{});
}

// Kernels of few blocks are beside the line where the next larger task needs nothing of them; what needs them later is behind them.
TEST(Tasks, ThatAreSmallAreBesideTheLine) {
  const std::byte places[16] = {};
  std::vector<cuda::Work> work;
  auto add = [&](std::vector<int> touched, std::size_t reads, unsigned grid) {
    cuda::TaskWork task;
    for (int each : touched) task.places.push_back(places + each);
    task.reads = reads;
    work.push_back(task);
    work.push_back(cuda::KernelWork{cuda::Kernel(1), grid, 256, false, {}});
  };
  add({0}, 0, 1000);        // 0
  add({0, 1}, 1, 2);        // 1: nobody needs it
  add({0, 2}, 1, 2);        // 2: 3 does
  add({2, 3}, 1, 2);        // 3: the next large one does
  add({3, 4}, 1, 1000);     // 4
  add({1, 5}, 1, 64);       // 5: after 1, beside
  add({4, 6}, 1, 1000);     // 6
  add({6, 5, 7}, 2, 1000);  // 7: needs 5
  add({8, 1}, 1, 2);        // 8: writes what 5 reads
  add({7, 9}, 1, 65);       // 9: not small
  std::vector<std::vector<std::size_t>> behind;
  for (const cuda::GraphTask& task : cuda::tasks_of(work)) behind.push_back(task.behind);
  using Lists = std::vector<std::vector<std::size_t>>;
  EXPECT_EQ(behind, (Lists{{}, {0}, {0}, {2}, {3}, {1}, {4}, {5, 6}, {1, 5}, {7}}));
  work.insert(work.end() - 2, cuda::RecordWork{cuda::Event(1)});  // behind all, and so behind 8, which comes in line then
  const std::vector<cuda::GraphTask> timed = cuda::tasks_of(work);
  EXPECT_EQ(std::set<std::size_t>(timed[9].behind.begin(), timed[9].behind.end()), (std::set<std::size_t>{5, 8}));
  EXPECT_EQ(timed[10].behind, std::vector<std::size_t>{9});
}

TEST(Tasks, OfProductsHaveAsManyRoomsAsThereAre) {
  const std::byte places[32] = {};
  std::vector<cuda::Work> work;
  for (int i = 0; i < 10; ++i) {
    work.push_back(cuda::TaskWork{{places + i}, 0});
    work.push_back(cuda::MatrixProduct{});
  }
  const std::vector<cuda::GraphTask> tasks = cuda::tasks_of(work);
  EXPECT_EQ(tasks[7].product_room, 7);
  EXPECT_EQ(tasks[9].product_room, 1);
  EXPECT_EQ(tasks[9].behind, std::vector<std::size_t>{1}) << "in the room of the second";
}

// The kernels of equal tasks that may be done at once are one launch; others stay.
TEST(Tasks, ThatDoTheSameAreLaunchedTogether) {
  const std::byte places[16] = {};
  auto kernel = [](int number, int argument) {
    return cuda::KernelWork{cuda::Kernel(number), 4, 256, false, {std::byte(argument), std::byte(0)}};
  };
  std::vector<cuda::Work> work;
  for (int device = 0; device < 3; ++device)
    for (int step = 0; step < 2; ++step) {
      work.push_back(cuda::TaskWork{{places + device, places + 8 + device}, std::size_t(step)});
      work.push_back(kernel(step + 1, device));
    }
  work.push_back(cuda::TaskWork{{places + 7}, 0});
  work.push_back(kernel(5, 7));
  const std::vector<cuda::Work> together = cuda::batched(work, kHundreds);
  EXPECT_EQ(launches_in(together), (Launches{{301, 3}, {302, 3}, {5, 1}}));
  const auto& first = std::get<cuda::KernelWork>(together[1]);
  EXPECT_EQ(first.arguments.size(), 8u) << "of four, a power of two";
  EXPECT_EQ(first.arguments[4], std::byte(2));
  EXPECT_EQ(cuda::tasks_of(together).size(), 3u);
}

// One of them comes behind a task that the others do not come behind, as where it uses memory that another let go.
TEST(Tasks, ThatDoTheSameNeedNotBeAsFarFromTheBeginning) {
  const std::byte places[8] = {};
  std::vector<cuda::Work> work{cuda::TaskWork{{places}, 0},
                               launch_of(1),
                               cuda::TaskWork{{places + 1}, 0},
                               launch_of(9),
                               cuda::TaskWork{{places + 1, places + 2}, 1},
                               launch_of(1),
                               cuda::TaskWork{{places, places + 3}, 1},
                               launch_of(2),
                               cuda::TaskWork{{places + 2, places + 4}, 1},
                               launch_of(2)};
  EXPECT_EQ(launches_in(cuda::batched(work, kHundreds)), (Launches{{9, 1}, {201, 2}, {202, 2}}));
  // Behind one of its like, by way of another task, it is not at once with it.
  std::get<cuda::TaskWork>(work[2]) = cuda::TaskWork{{places, places + 1}, 1};
  EXPECT_EQ(launches_in(cuda::batched(work, kHundreds)), (Launches{{1, 1}, {9, 1}, {1, 1}, {202, 2}}));
}

// Copies of parts into one array: as few launches as they are kernels, as far as arguments have room.
TEST(Tasks, WithoutOrderAreLaunchesByKernel) {
  const std::byte places[8] = {};
  std::vector<cuda::Work> work;
  for (int device : {0, 1}) {
    work.push_back(cuda::TaskWork{{places + 4, places + device}, 1, true});
    for (int part = 0; part < 40; ++part) work.push_back(launch_of(part % 4 == 3 ? 2 : 1, 100));
  }
  EXPECT_EQ(launches_in(cuda::batched(work, kHundreds)), (Launches{{3201, 32}, {2801, 28}, {2002, 20}}));
  std::get<cuda::TaskWork>(work[0]).is_unordered = false;
  EXPECT_EQ(launches_in(cuda::batched(work, kHundreds)).size(), 42u) << "one by one, then two for all of the other's";
}

// Equal products of as many devices as are to be together are one call, and then all is in order; of fewer they stay.
TEST(Tasks, OfProductsThatAreToBeTogetherAreOneCall) {
  const std::byte places[64] = {};
  auto work_of = [&](int devices, std::int64_t last_columns) {
    std::vector<cuda::Work> work;
    for (int device = 0; device < devices; ++device) {
      const std::byte *left = places + device, *right = places + 32;
      auto* result = const_cast<std::byte*>(places + 16 + device);
      work.push_back(cuda::TaskWork{{left, right, result}, 2});
      cuda::MatrixProduct product{DType::kFloat32, 1, 8, device == 2 ? last_columns : 8, 8, 64, 8, 1, 64, 8, 1, left, right, result};
      product.is_beside = true;
      product.together = 3;
      work.push_back(product);
    }
    return work;
  };
  const cuda::Batcher none = [](const auto& wanted) { return std::vector<cuda::Kernel>(wanted.size()); };
  const std::vector<cuda::Work> together = cuda::batched(work_of(3, 8), none);
  ASSERT_EQ(together.size(), 2u);
  EXPECT_EQ(std::get<cuda::TaskWork>(together[0]).places.size(), 9u);
  EXPECT_EQ(std::get<cuda::TaskWork>(together[0]).reads, 6u);
  const auto& product = std::get<cuda::MatrixProduct>(together[1]);
  ASSERT_EQ(product.others.size(), 2u);
  EXPECT_EQ(product.others[1].left, places + 2);
  EXPECT_EQ(product.others[1].result, places + 18);
  EXPECT_EQ(cuda::batched(work_of(2, 8), none).size(), 4u);
  EXPECT_EQ(cuda::batched(work_of(3, 9), none).size(), 6u) << "another product among them";
}

// Where some are one call, those that are not are beside each other, and all else is in order.
TEST(Tasks, OfProductsBesideAreBehindWhatIsBeforeAllOfThem) {
  const std::byte places[32] = {};
  std::vector<cuda::Work> work;
  auto add = [&](int task, bool is_beside, bool is_together) {
    work.push_back(cuda::TaskWork{{places + task}, 0});
    cuda::MatrixProduct product{};
    product.is_beside = is_beside;
    if (is_together) product.others.resize(1);
    work.push_back(product);
  };
  add(0, true, true);
  for (int task = 1; task < 4; ++task) add(task, true, false);
  add(4, false, false);
  add(5, true, true);
  std::vector<std::vector<std::size_t>> behind;
  for (const cuda::GraphTask& task : cuda::tasks_of(work)) behind.push_back(task.behind);
  using Lists = std::vector<std::vector<std::size_t>>;
  EXPECT_EQ(behind, (Lists{{}, {0}, {0}, {0}, {1, 2, 3}, {4}}));
}

}  // namespace
}  // namespace shardlab
