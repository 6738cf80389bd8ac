// What is said where there is no GPU: the first thing that is missing, and what helps.
#include "virtualdev/cuda/presence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shardlab {
namespace {

using cuda::missing_text;
using cuda::Presence;
using ::testing::HasSubstr;

Presence whole_presence() {
  Presence presence;
  presence.built = presence.driver = true;
  presence.gpus = 1;
  return presence;
}

TEST(CudaPresence, NamesTheFirstThingThatIsMissing) {
  EXPECT_EQ(missing_text(whole_presence()), "");
  Presence presence = whole_presence();
  presence.built = false;
  EXPECT_THAT(missing_text(presence), HasSubstr("this build has no CUDA in it"));
  presence = whole_presence();
  presence.driver = false;
  EXPECT_THAT(missing_text(presence), HasSubstr("libcuda.so.1 cannot be loaded"));
  presence = whole_presence();
  presence.driver_error = 803;
  EXPECT_THAT(missing_text(presence), HasSubstr("cuInit gives error 803"));
  presence = whole_presence();
  presence.gpus = 0;
  EXPECT_THAT(missing_text(presence), HasSubstr("sees no GPU"));
  presence.visible = "-1";
  EXPECT_THAT(missing_text(presence), HasSubstr("CUDA_VISIBLE_DEVICES is '-1'"));
  presence = whole_presence();
  presence.libraries_missing = {"NVRTC (libnvrtc.so.13)"};
  EXPECT_THAT(missing_text(presence), HasSubstr("libraries are missing: NVRTC (libnvrtc.so.13)"));
}

}  // namespace
}  // namespace shardlab
