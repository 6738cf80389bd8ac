// The shared segment: its size, its name, and that nothing is left behind.
#include "virtualdev/transports/shm_segment.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "runtime/base/error.h"
#include "virtualdev/transports/transport_def.h"

namespace shardlab {
namespace {

TEST(ShmSegment, RingsHaveTheirBounds) {
  for (int n : {1, 2, 3, 4, 7, 16, 32, 64}) {
    auto segment = ShmSegment::create(n);
    EXPECT_GE(segment->ring_bytes(), ShmSegment::kRingBytesMin);
    EXPECT_LE(segment->ring_bytes(), ShmSegment::kRingBytesMax);
    if (n <= 32) { EXPECT_LE(segment->ring_bytes() * n * n, ShmSegment::kTotalBytesMax); }
    EXPECT_EQ(segment->num_processes(), n);
  }
}

TEST(ShmSegment, IsGoneWithItsOwner) {
  std::string name;
  {
    auto segment = ShmSegment::create(2);
    name = segment->name();
    EXPECT_EQ(ShmSegment::open(name)->num_processes(), 2);
  }
  EXPECT_THROW(ShmSegment::open(name), IoError);
}

TEST(ShmSegment, OtherFilesAreRefused) {
  std::string path = testing::TempDir() + "/not-a-segment-" + std::to_string(getpid());
  std::ofstream(path) << std::string(8192, 'x');
  EXPECT_THROW(ShmSegment::open(path), IoError);
  std::ofstream(path) << "short";
  EXPECT_THROW(ShmSegment::open(path), IoError);
  unlink(path.c_str());
}

TEST(Transports, AreFoundByName) {
  EXPECT_EQ(transport_named("shm").name, "shm");
  try {
    transport_named("shn");
    FAIL();
  } catch (const UserError& error) { EXPECT_NE(std::string(error.what()).find("did you mean 'shm'"), std::string::npos) << error.what(); }
}

}  // namespace
}  // namespace shardlab
