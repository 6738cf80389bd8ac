// Chakra's format, read back by protobuf's library.
#include <gmock/gmock.h>
#include <google/protobuf/io/coded_stream.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "chakra.pb.h"
#include "tests/traces/exporters/export_samples.h"

namespace shardlab::exporters {
namespace {

using chakra_read::Node;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Decoded {
  chakra_read::GlobalMetadata metadata;
  std::vector<Node> nodes;

  explicit Decoded(const std::string& path) {
    const std::string bytes = sample::read_file(path);
    google::protobuf::io::CodedInputStream in(reinterpret_cast<const std::uint8_t*>(bytes.data()), int(bytes.size()));
    const auto take = [&](google::protobuf::Message& message) {
      std::uint32_t size = 0;
      if (!in.ReadVarint32(&size)) return false;
      const auto limit = in.PushLimit(int(size));
      EXPECT_TRUE(message.ParseFromCodedStream(&in) && in.ConsumedEntireMessage()) << path;
      in.PopLimit(limit);
      return true;
    };
    EXPECT_TRUE(take(metadata));
    for (Node node; take(node);) nodes.push_back(node);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      EXPECT_EQ(nodes[i].id(), i);
      for (const auto before : nodes[i].data_deps()) EXPECT_LT(before, i);
      for (const auto before : nodes[i].ctrl_deps()) EXPECT_LT(before, i);
    }
  }
};

std::map<std::string, std::string> attributes(const Node& node) {
  std::map<std::string, std::string> all;
  for (const auto& each : node.attr())
    all[each.name()] = each.has_string_val()  ? each.string_val()
                       : each.has_int64_val() ? std::to_string(each.int64_val())
                       : each.has_int32_val() ? std::to_string(each.int32_val())
                                              : (each.bool_val() ? "true" : "false");
  return all;
}

TEST(Chakra, HasAFileForEachDeviceAndTheGroups) {
  sample::Folder folder;
  Exported told;
  folder.exported("toy", kChakra, &told);
  ASSERT_EQ(told.files.size(), 9U);
  EXPECT_EQ(told.files[3], folder.path("out.3.et"));
  for (int d = 0; d < 8; ++d) {
    const Decoded device(told.files[std::size_t(d)]);
    ASSERT_EQ(device.nodes.size(), 3U);
    EXPECT_EQ(device.nodes[0].type(), chakra_read::COMP_NODE);
    EXPECT_EQ(device.nodes[0].name(), "sin");
    EXPECT_EQ(device.nodes[0].duration_micros(), 4U);
    const auto sum = attributes(device.nodes[2]);
    EXPECT_EQ(device.nodes[2].type(), chakra_read::COMM_COLL_NODE);
    EXPECT_EQ(sum.at("comm_type"), "0");
    EXPECT_EQ(sum.at("comm_size"), "4");
    EXPECT_EQ(sum.at("pg_name"), "1");
    EXPECT_EQ(sum.at("call_site"), "toy.cpp:10");
  }
  EXPECT_EQ(nlohmann::json::parse(sample::read_file(told.files[8])), nlohmann::json::parse(R"({"1": [0,1,2,3,4,5,6,7]})"));
}

TEST(Chakra, TakesDependenciesFromTheProgramWhereEveryStepLeftItsEvent) {
  sample::Folder folder;
  Exported told;
  const Decoded device(folder.exported("odd", kChakra, &told));
  ASSERT_EQ(device.nodes.size(), 6U);
  EXPECT_THAT(device.nodes[0].data_deps(), IsEmpty());  // sin(parameter)
  EXPECT_THAT(device.nodes[1].data_deps(), IsEmpty());  // cos(parameter): runs after, takes nothing from it
  EXPECT_THAT(device.nodes[1].ctrl_deps(), ElementsAre(0));
  EXPECT_THAT(device.nodes[2].data_deps(), ElementsAre(0));  // neg(sin)
  EXPECT_THAT(device.nodes[3].data_deps(), ElementsAre(2, 1));
  EXPECT_THAT(device.nodes[4].data_deps(), ElementsAre(3)) << "a launch follows the one before";
  EXPECT_THAT(device.nodes[5].data_deps(), ElementsAre(4)) << "of a launch that the trace lost";
  EXPECT_EQ(device.nodes[5].duration_micros(), 2U);
}

TEST(Chakra, PermutesAreSendsAndReceives) {
  sample::Folder folder;
  Exported told;
  const Decoded first(folder.exported("odd", kChakra, &told));
  const Decoded second(told.files.at(1));
  EXPECT_EQ(first.nodes[4].type(), chakra_read::COMM_SEND_NODE);
  EXPECT_EQ(second.nodes[4].type(), chakra_read::COMM_RECV_NODE);
  for (const auto* device : {&first, &second}) {
    const auto what = attributes(device->nodes[4]);
    EXPECT_EQ(what.at("comm_src"), "0");
    EXPECT_EQ(what.at("comm_dst"), "1");
    EXPECT_EQ(what.at("comm_size"), "16");
    EXPECT_EQ(what.at("comm_tag"), attributes(first.nodes[4]).at("comm_tag"));
  }
}

}  // namespace
}  // namespace shardlab::exporters
