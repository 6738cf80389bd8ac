// The key-value store alone: its limits, and those who wait.
#include "runtime/control/key_store.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace shardlab::control {
namespace {

TEST(KeyStore, AnswersEachWaiterOnce) {
  KeyStore keys;
  std::vector<std::string> heard;
  auto hear = [&](const std::string& value) { heard.push_back(value); };
  EXPECT_NE(keys.wait("a", hear), 0u);
  EXPECT_NE(keys.wait("a", hear), 0u);
  std::uint64_t other = keys.wait("b", hear);
  EXPECT_EQ(keys.set("a", "1"), KeyStore::Set::kDone);
  EXPECT_EQ(keys.set("a", "2"), KeyStore::Set::kDone);
  EXPECT_EQ(heard, (std::vector<std::string>{"1", "1"}));
  EXPECT_EQ(keys.wait("a", hear), 0u);
  EXPECT_EQ(heard.back(), "2");
  EXPECT_TRUE(keys.cancel(other));
  EXPECT_FALSE(keys.cancel(other));
  keys.set("b", "3");
  EXPECT_EQ(heard.size(), 3u);
  EXPECT_EQ(keys.set("b", "4", true), KeyStore::Set::kExists);
  EXPECT_EQ(keys.get("b"), "3");
  EXPECT_EQ(keys.set("c", "5", true), KeyStore::Set::kDone);
}

TEST(KeyStore, RefusesWhatIsTooLongOrTooMuch) {
  KeyStore keys;
  EXPECT_EQ(keys.set(std::string(KeyStore::kKeyBytesMax + 1, 'k'), ""), KeyStore::Set::kTooLong);
  EXPECT_EQ(keys.set("k", std::string(KeyStore::kValueBytesMax + 1, 'v')), KeyStore::Set::kTooLong);
  std::string large(KeyStore::kValueBytesMax, 'v');
  std::size_t taken = 0;
  while (keys.set("k" + std::to_string(taken), large) == KeyStore::Set::kDone) ++taken;
  EXPECT_LT(taken, KeyStore::kBytesMax / KeyStore::kValueBytesMax);
  EXPECT_GE(taken + 1, KeyStore::kBytesMax / KeyStore::kValueBytesMax);
  EXPECT_EQ(keys.set("k0", ""), KeyStore::Set::kDone);  // what is replaced gives its room back
  EXPECT_EQ(keys.set("again", large), KeyStore::Set::kDone);
  KeyStore many;
  for (std::size_t i = 0; i < KeyStore::kKeysMax; ++i) ASSERT_EQ(many.set(std::to_string(i), ""), KeyStore::Set::kDone);
  EXPECT_EQ(many.set("one more", ""), KeyStore::Set::kTooMany);
  EXPECT_EQ(many.set("0", "replaced"), KeyStore::Set::kDone);
}

}  // namespace
}  // namespace shardlab::control
