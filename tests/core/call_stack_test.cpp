// The functions on the stack have the names that their program gave them.
#include "runtime/base/call_stack.h"

#include <gtest/gtest.h>

#include <functional>

// Outside of the library's namespace, as a program's functions are.
namespace program {
namespace {

template <typename T>
[[gnu::noinline]] std::vector<std::uintptr_t> innermost(T) {
  std::vector<std::uintptr_t> stack = shardlab::call_stack();
  asm volatile("");  // no tail call
  return stack;
}

struct Trainer {
  [[gnu::noinline]] std::vector<std::uintptr_t> step(const std::function<std::vector<std::uintptr_t>()>& work) const {
    std::vector<std::uintptr_t> stack = work();
    asm volatile("");
    return stack;
  }
};

}  // namespace
}  // namespace program

namespace shardlab {
namespace {

TEST(CallStack, NamesTheProgramsFunctionsFromTheInnermostOn) {
  auto stack = program::Trainer().step([] { return program::innermost(1.5); });
  std::string text = functions_text(stack);
  EXPECT_TRUE(text.starts_with("program::innermost, program::Trainer::step, ")) << text;
  EXPECT_TRUE(text.ends_with(", main") || text.ends_with(", …")) << text;
  EXPECT_EQ(text.find("std::"), std::string::npos) << text;
  EXPECT_EQ(text.find("shardlab"), std::string::npos) << text;
}

TEST(CallStack, AddressesOfNothingHaveNoNames) {
  std::vector<std::uintptr_t> stack{1, 4096, ~std::uintptr_t(0)};
  EXPECT_EQ(functions_text(stack), "");
  EXPECT_EQ(functions_text({}), "");
}

TEST(CallStack, NamesAreShortened) {
  EXPECT_EQ(function_name("main"), "main");
  EXPECT_EQ(function_name("_ZN5train4stepERKN8shardlab5ArrayEi"), "train::step");
  EXPECT_EQ(function_name("_ZN12_GLOBAL__N_14stepEv"), "step");
  EXPECT_EQ(function_name("_ZZ4mainENKUlvE_clEv"), "main::lambda");
  EXPECT_EQ(function_name("_Z5applyIZ4mainEUlvE_EvT_"), "apply");
  EXPECT_EQ(function_name("_ZNK5Model4lossEv"), "Model::loss");
  EXPECT_EQ(function_name("_ZL4stepi.constprop.0"), "step");
  EXPECT_EQ(function_name("_ZNSt8functionIFvvEEclEv"), "");
  EXPECT_EQ(function_name("_ZN8shardlab3sumERKNS_5ArrayE"), "");
  EXPECT_EQ(function_name("_ZZN8shardlab3sumERKNS_5ArrayEENKUlvE_clEv"), "");
  EXPECT_EQ(function_name("_start"), "");
}

}  // namespace
}  // namespace shardlab
