// Checkpoints: saved by some processes under one mesh, loaded by others under another; what a failure leaves.
#include "runtime/exec/checkpoint.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "runtime/exec/devices.h"
#include "runtime/exec/multihost.h"
#include "runtime/exec/ops.h"
#include "runtime/exec/placement.h"
#include "tests/support/thread_job.h"

namespace shardlab {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::on_job;

class Folder {
 public:
  Folder() : path_(::testing::TempDir() + "/checkpoint-" + std::to_string(getpid()) + "-" + std::to_string(made_++)) {}
  ~Folder() { fs::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  static inline int made_ = 0;
  std::string path_;
};

Array numbers(const Shape& shape, float first) { return (arange(element_count(shape), float32) + double(first)).reshape(shape); }

std::vector<float> wanted(std::int64_t count, float first) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = float(i) + first;
  return values;
}

// On any number of processes that have eight devices.
void save_some(const std::string& folder, float first) {
  Mesh mesh({4, 2}, {"a", "b"}, {5, 2, 7, 0, 1, 6, 3, 4});
  auto w = device_put(numbers({16, 6}, first), Sharding(mesh, P("a", "b")));
  auto replicated = device_put(numbers({5}, first + 1), Sharding(mesh, P()));
  auto together = device_put(numbers({8, 3}, first + 2), Sharding(mesh, P(std::vector<std::string>{"b", "a"})));
  auto step = array<std::int32_t>({7});
  checkpoints::save(folder, {{"w", w}, {"the bias", replicated}, {"together", together}, {"step", step}, {"empty", zeros({0, 3})}});
}

void expect_loaded(const std::string& folder, const Mesh& mesh, const PartitionSpec& spec, float first) {
  auto whole = [&](const char* name, const PartitionSpec& how) {
    return multihost_utils::process_allgather(checkpoints::load(folder, name, Sharding(mesh, how)), true).to_vector<float>();
  };
  EXPECT_EQ(whole("w", spec), wanted(96, first));
  EXPECT_EQ(whole("the bias", P()), wanted(5, first + 1));
  EXPECT_EQ(whole("together", spec), wanted(24, first + 2));
  auto step = checkpoints::load(folder, "step", Sharding(mesh, P()));
  EXPECT_EQ(step.addressable_shards().at(0).text(), "[7]");
  EXPECT_EQ(checkpoints::load(folder, "empty", Sharding(mesh, P())).shape(), (Shape{0, 3}));
}

TEST(Checkpoint, AnyMeshAndAnyNumberOfProcessesReadsIt) {
  for (const std::vector<int>& writers : std::vector<std::vector<int>>{{8}, {2, 2, 2, 2}, {1, 5, 2}}) {
    Folder folder;
    on_job(writers, [&] { save_some(folder.path(), 100); });
    on_job({8}, [&] { expect_loaded(folder.path(), Mesh({2, 4}, {"x", "y"}, {0, 1, 2, 3, 4, 5, 6, 7}), P("y"), 100); });
    on_job({3, 1}, [&] { expect_loaded(folder.path(), Mesh({4}, {"x"}, {3, 1, 0, 2}), P("x"), 100); });
    on_job({1, 1, 1}, [&] { expect_loaded(folder.path(), Mesh({1, 3}, {"x", "y"}, {0, 1, 2}), P(None, "y"), 100); });
  }
}

TEST(Checkpoint, EachReplicaIsWrittenOnceByWhoHasIt) {
  Folder folder;
  on_job({4, 4}, [&] {
    Mesh mesh({8}, {"a"}, {0, 1, 2, 3, 4, 5, 6, 7});
    checkpoints::save(folder.path(), {{"x", device_put(numbers({64}, 0), Sharding(mesh, P()))}});
  });
  std::uintmax_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(folder.path()))
    if (entry.path().filename().string().starts_with("data-")) bytes += entry.file_size();
  EXPECT_EQ(bytes, 64 * sizeof(float) + sizeof(std::uint64_t));
}

TEST(Checkpoint, ANewOneReplacesTheOldOneWhole) {
  Folder folder;
  on_job({4, 4}, [&] { save_some(folder.path(), 0); });
  on_job({4, 4}, [&] { save_some(folder.path(), 50); });
  on_job({8}, [&] { expect_loaded(folder.path(), Mesh({8}, {"x"}, {0, 1, 2, 3, 4, 5, 6, 7}), P("x"), 50); });
  int files = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder.path())) ++files;
  EXPECT_EQ(files, 3);  // the index and two processes' data
}

// What is written before the index leaves the old checkpoint as it was.
TEST(Checkpoint, WhoFailsBeforeTheEndLeavesTheOldOne) {
  Folder folder;
  on_job({4, 4}, [&] { save_some(folder.path(), 0); });
  on_job({4, 4}, [&] {
    Mesh mesh({8}, {"a"}, {0, 1, 2, 3, 4, 5, 6, 7});
    auto x = device_put(numbers({8}, 0), Sharding(mesh, P("a")));
    std::string name = process_index() == 0 ? "x" : "y";
    try {
      checkpoints::save(folder.path(), {{name, x}});
      ADD_FAILURE() << "the processes disagree";
    } catch (const UserError& error) { EXPECT_THAT(error.what(), HasSubstr("the processes save different arrays")); }
  });
  on_job({8}, [&] { expect_loaded(folder.path(), Mesh({8}, {"x"}, {0, 1, 2, 3, 4, 5, 6, 7}), P("x"), 0); });
}

// As where each host has a folder of that name.
TEST(Checkpoint, AFolderThatNotAllSeeIsToldAndTheOldOneStays) {
  Folder folder, other;
  on_job({4, 4}, [&] { save_some(folder.path(), 0); });
  std::string error;
  on_job({4, 4}, [&] {
    try {
      save_some(process_index() == 0 ? folder.path() : other.path(), 50);
    } catch (const IoError& found) {
      error = found.what();
      multihost_utils::sync_global_devices("checkpoints::save: the index is written");  // where the other one waits
    }
  });
  EXPECT_THAT(error, HasSubstr("what process 1 wrote is not there for process 0: "));
  on_job({8}, [&] { expect_loaded(folder.path(), Mesh({8}, {"x"}, {0, 1, 2, 3, 4, 5, 6, 7}), P("x"), 0); });
}

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::exception& error) { return error.what(); }
  return "no error";
}

TEST(Checkpoint, DamageIsSeenAndNamed) {
  Folder folder;
  on_job({1}, [&] {
    auto load = [&](const char* name) { return error_of([&] { checkpoints::load(folder.path(), name, Sharding::on_device(0)); }); };
    EXPECT_THAT(load("x"), HasSubstr("has no checkpoint"));
    EXPECT_THAT(error_of([&] { checkpoints::save(folder.path(), {{"x", ones({4})}, {"x", ones({4})}}); }), HasSubstr("given twice"));
    checkpoints::save(folder.path(), {{"weights", ones({4})}});
    EXPECT_THAT(load("wieghts"), HasSubstr("did you mean 'weights'?"));
    EXPECT_EQ(load("weights"), "no error");
    fs::path data;
    for (const auto& entry : fs::directory_iterator(folder.path()))
      if (entry.path().filename().string().starts_with("data-")) data = entry.path();
    std::fstream(data, std::ios::in | std::ios::out | std::ios::binary).seekp(2).put('!');
    EXPECT_THAT(load("weights"), HasSubstr("is damaged: the data of 'weights' at 0"));
    fs::resize_file(data, 7);
    EXPECT_THAT(load("weights"), HasSubstr("is shorter than it was: 7 bytes"));
    std::ofstream(folder.path() + "/index") << "shardlab-checkpoint 1\ngeneration 3\narray float99 1 4 x\n";
    EXPECT_THAT(load("weights"), HasSubstr("line 3: an array of dtype \"float99\""));
    std::ofstream(folder.path() + "/index") << "shardlab-checkpoint 1\n";
    EXPECT_THAT(load("weights"), HasSubstr("the end is missing"));
  });
}

}  // namespace
}  // namespace shardlab
