// The functions on the stack have the names that their program gave them.
#include "runtime/base/call_stack.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>

#include "runtime/base/elf_symbols.h"

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

// Its own file with a few bytes changed, where sections are described above all, or cut short: no name may come, but nothing else either.
TEST(CallStack, DamagedFilesDoNoHarm) {
  MappedFile whole("/proc/self/exe");
  std::span<const char> bytes = whole.bytes();
  ASSERT_GT(bytes.size(), 4096U);
  std::vector<char> file(bytes.begin(), bytes.end());
  std::vector<std::uintptr_t> addresses;
  for (std::uintptr_t at = 0; at < bytes.size(); at += bytes.size() / 200) addresses.push_back(at);
  auto names = [&](std::span<const char> of) {
    auto found = function_symbols(of, addresses);
    return std::count_if(found.begin(), found.end(), [](const std::string& name) { return !name.empty(); });
  };
  ASSERT_GT(names(file), 0);
  std::uint64_t sections = 0;
  std::memcpy(&sections, file.data() + 40, 8);  // e_shoff
  std::mt19937_64 random(20261122);
  for (int i = 0; i < 3000; ++i) {
    std::vector<std::pair<std::size_t, char>> before;
    for (int changes = int(random() % 4) + 1; changes > 0; --changes) {
      std::size_t at = random() % 4 == 0 ? random() % 64 : sections + random() % (file.size() - sections);
      before.emplace_back(at, file[at]);
      file[at] = char(random());
    }
    std::size_t size = random() % 4 == 0 ? random() % file.size() : file.size();
    names(std::span<const char>(file).first(size));
    for (auto change = before.rbegin(); change != before.rend(); ++change) file[change->first] = change->second;
  }
  EXPECT_GT(names(file), 0);
  EXPECT_EQ(function_symbols({}, addresses), std::vector<std::string>(addresses.size()));
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
