// What is said where there is no GPU: the first thing that is missing, and what helps.
#include "virtualdev/cuda/presence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/exec/context.h"
#include "runtime/exec/platform.h"

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
  presence.wanted_major = 13;
  presence.driver_version = 12080;
  EXPECT_THAT(missing_text(presence), HasSubstr("goes up to CUDA 12.8, and this build calls CUDA 13"));
  for (int enough : {13000, 13010, 14000}) {
    presence.driver_version = enough;
    EXPECT_EQ(missing_text(presence), "");
  }
  presence = whole_presence();
  presence.libraries_missing = {"NVRTC (libnvrtc.so.13)"};
  EXPECT_THAT(missing_text(presence), HasSubstr("libraries are missing: NVRTC (libnvrtc.so.13)"));
}

TEST(Platforms, AreFoundByEitherName) {
  EXPECT_EQ(find_platform("cpu"), nullptr);
  ASSERT_NE(find_platform("cuda"), nullptr);
  EXPECT_EQ(find_platform("cuda"), find_platform("gpu"));
  try {
    find_platform("cudo");
    FAIL();
  } catch (const UserError& error) { EXPECT_THAT(error.what(), HasSubstr("there is no platform 'cudo'; did you mean 'cuda'?")); }
}

TEST(Platforms, ACpuJobHasNoGpuDevices) {
  EXPECT_EQ(devices("cpu").size(), devices().size());
  try {
    devices("cuda");
    FAIL();
  } catch (const UserError& error) {
    bool is_here = find_platform("cuda")->missing().empty();
    EXPECT_THAT(error.what(), HasSubstr(is_here ? "this job was started on cpu" : "devices(\"cuda\"): there are no cuda devices: "));
    if (!is_here) { EXPECT_THAT(error.what(), HasSubstr("To go on with virtual CPU devices")); }
  }
}

TEST(Platforms, AContextOnAMissingPlatformSaysSo) {
  if (find_platform("cuda")->missing().empty()) GTEST_SKIP() << "this machine has a GPU";
  ContextOptions options;
  options.platform = "cuda";
  try {
    Context context(std::move(options));
    FAIL();
  } catch (const UserError& error) { EXPECT_THAT(error.what(), HasSubstr("there are no cuda devices")); }
}

}  // namespace
}  // namespace shardlab
