// The same programs on the same devices, dealt to processes in every way: results, shardings and collectives do not change by a bit.
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "scenarios/runner/run.h"

namespace shardlab::scenarios {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::filesystem::path layouts() { return SHARDLAB_LAYOUTS; }

struct Results {
  json arrays, collectives, wire_bytes;
};

Results results_of(const Loaded& loaded) {
  Report report = run_scenario(loaded, {.program = std::string(std::getenv("SHARDLAB_BIN_DIR")) + "/shardlab"});
  EXPECT_EQ(report.status, Status::kPassed) << loaded.name << ": " << report.message;
  json written = json::parse(to_json(report));
  return {written["arrays"], written["collectives"], written["wire_bytes"]};
}

void expect_equal(const Results& got, const Results& wanted, const std::string& name) {
  EXPECT_EQ(got.wire_bytes, wanted.wire_bytes) << name;
  EXPECT_EQ(got.collectives, wanted.collectives) << name;
  for (const auto& [array, value] : wanted.arrays.items()) EXPECT_EQ(got.arrays.value(array, json()), value) << name << ": " << array;
}

std::vector<Loaded> load(int processes, int devices, std::string run) {
  return load_path(layouts(), {.cluster = {.processes = processes, .devices = devices, .run = std::move(run)}});
}

TEST(Layouts, AnyNumberOfProcessesGivesTheSameResultsAndCollectives) {
  for (const Loaded& whole : load_path(layouts())) {
    ASSERT_EQ(whole.error, "");
    Results wanted = results_of(whole);
    int devices = whole.document->cluster.devices;
    for (int processes = 2; processes <= devices; ++processes) {
      if (devices % processes != 0) continue;
      std::vector<Loaded> dealt =
          load_text(whole.text, whole.name, {.cluster = {.processes = processes, .devices = devices / processes, .run = "simulated"}});
      ASSERT_EQ(dealt.at(0).error, "");
      EXPECT_EQ(dealt[0].document->cluster.processes, processes);
      expect_equal(results_of(dealt[0]), wanted, fmt::format("{} on {} processes", whole.name, processes));
    }
  }
}

TEST(Layouts, ProcessesOfTheirOwnGiveTheSame) {
  constexpr int kEach = 6;
  std::vector<Loaded> all = load_path(layouts());
  for (std::size_t i = 0; i < all.size(); i += kEach) {
    const Cluster& cluster = all[i].document->cluster;
    int processes = cluster.devices == 7 ? 7 : cluster.devices / 2;
    std::vector<Loaded> spawned = load_text(
        all[i].text, all[i].name, {.cluster = {.processes = processes, .devices = cluster.devices / processes, .run = "spawned"}});
    expect_equal(results_of(spawned.at(0)), results_of(all[i]), all[i].name + ", spawned");
  }
}

TEST(Layouts, AnOtherClusterIsCheckedLikeTheDocumentsOwn) {
  Loaded loaded = load(1, 2, "").at(0);
  EXPECT_THAT(loaded.error, HasSubstr("devices"));
  EXPECT_THAT(load(0, 8, "").at(0).error, HasSubstr("/cluster/processes"));
  EXPECT_THAT(load(1, 8, "sometimes").at(0).error, HasSubstr("/cluster/run"));
  EXPECT_THAT(load_text("[]", "t", {.cluster = {.processes = 2}}).at(0).error, HasSubstr("an object"));
  EXPECT_THAT(load_text(R"({"shardlab": 1, "name": "n", "cluster": 3, "program": []})", "t", {.cluster = {.processes = 2}}).at(0).error,
              HasSubstr("/cluster"));
}

}  // namespace
}  // namespace shardlab::scenarios
