// The stacks on which launches are issued: kept once, never another one, and named from the files alone.
#include "runtime/base/call_stacks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/base/call_places.h"
#include "runtime/base/call_stack.h"
#include "runtime/base/elf_symbols.h"
#include "runtime/base/modules.h"

// Outside of the library's namespace, as a program's functions are.
namespace program {
namespace {

using shardlab::RecordedStack;
using shardlab::StackSampler;

[[gnu::noinline]] const RecordedStack* launch(StackSampler& sampler, shardlab::Where where = {}) {
  const RecordedStack* stack = sampler.here(where);
  asm volatile("");  // no tail call
  return stack;
}
[[gnu::noinline]] const RecordedStack* forward(StackSampler& sampler) {
  const RecordedStack* stack = launch(sampler);
  asm volatile("");
  return stack;
}
[[gnu::noinline]] const RecordedStack* backward(StackSampler& sampler) {
  const RecordedStack* stack = launch(sampler);
  asm volatile("");
  return stack;
}
using Step = const RecordedStack* (*)(StackSampler&);
[[gnu::noinline]] const RecordedStack* train(StackSampler& sampler, Step step) {
  const RecordedStack* stack = step(sampler);
  asm volatile("");
  return stack;
}

}  // namespace
}  // namespace program

namespace shardlab {
namespace {

std::vector<std::string> names(const RecordedStack* stack) {
  std::vector<std::string> found;
  for (std::string& name : function_names(stack->addresses))
    if (!name.empty()) found.push_back(std::move(name));
  return found;
}

TEST(CallStacks, ALoopHasOneStack) {
  StackSampler sampler;
  std::vector<const RecordedStack*> found;
  for (int i = 0; i < 100; ++i) found.push_back(program::train(sampler, program::forward));
  ASSERT_NE(found[0], nullptr);
  EXPECT_THAT(found, testing::Each(found[0]));
  EXPECT_THAT(names(found[0]), testing::IsSupersetOf({"program::launch", "program::forward", "program::train"}));
}

// The same depth, the same frames' sizes, other functions: the places in memory hold other addresses.
TEST(CallStacks, AnotherWayIsAnotherStack) {
  StackSampler sampler;
  for (int i = 0; i < 20; ++i)
    for (const program::Step step : {program::forward, program::backward}) {
      const RecordedStack* stack = program::train(sampler, step);
      const char* wanted = step == program::forward ? "program::forward" : "program::backward";
      ASSERT_THAT(names(stack), testing::Contains(wanted)) << i;
    }
}

// What the merge does with a file and offsets in it is what the process finds in itself.
TEST(CallStacks, FilesAloneGiveTheSamePlaces) {
  StackSampler sampler;
  const RecordedStack* stack = program::train(sampler, program::backward);
  const std::vector<CallPlace> wanted = call_places(stack->addresses);
  ASSERT_GE(wanted.size(), 3U);
  std::vector<CallPlace> found;
  const std::vector<Module> all = modules();
  for (const std::uintptr_t address : stack->addresses)
    for (const Module& module : all) {
      if (!module.contains(address - 1) || (!found.empty() && found.back().function == "main")) continue;
      EXPECT_EQ(module.build_id, build_id_of(MappedFile(module.file()).bytes()));
      const std::uintptr_t offsets[] = {address - module.base};
      for (const auto& there : call_places_in(module.file(), offsets)) found.insert(found.end(), there.begin(), there.end());
    }
  EXPECT_EQ(found, wanted);
  EXPECT_TRUE(call_places_in("/no/such/file", std::vector<std::uintptr_t>{64})[0].empty());
}

}  // namespace
}  // namespace shardlab
