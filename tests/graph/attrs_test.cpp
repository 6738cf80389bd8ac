#include "runtime/graph/attrs.h"

#include <gtest/gtest.h>

namespace shardlab {
namespace {

std::shared_ptr<const Literal> literal(std::vector<float> elements) {
  auto buffer = std::make_shared<Buffer>(elements.size() * sizeof(float));
  std::copy(elements.begin(), elements.end(), buffer->as<float>());
  return std::make_shared<const Literal>(Literal{{DType::kFloat32, {std::int64_t(elements.size())}}, buffer});
}

TEST(Attrs, SortByNameAndReplace) {
  Attrs attrs{{"shape", std::vector<std::int64_t>{1}}, {"axis", std::int64_t(2)}};
  attrs.set("dtype", DType::kInt32).set("axis", std::int64_t(3));
  ASSERT_EQ(attrs.entries().size(), 3u);
  EXPECT_EQ(attrs.entries()[0].first, "axis");
  EXPECT_EQ(attrs.integer("axis"), 3);
  EXPECT_EQ(attrs.integer("absent", 7), 7);
  EXPECT_EQ(attrs.number("axis"), 3.0);
  EXPECT_FALSE(attrs.flag("absent"));
  EXPECT_THROW(attrs.integer("dtype"), InternalError);
  EXPECT_THROW(attrs.string("absent"), InternalError);
}

TEST(Attrs, PrintCanonically) {
  EXPECT_EQ(text_of(AttrValue(true)), "true");
  EXPECT_EQ(text_of(AttrValue(std::int64_t(-3))), "-3");
  EXPECT_EQ(text_of(AttrValue(0.5)), "0.5");
  EXPECT_EQ(text_of(AttrValue(2.0)), "2.0");
  EXPECT_EQ(text_of(AttrValue(std::string("a\"b\\\n"))), R"("a\"b\\\x0a")");
  EXPECT_EQ(text_of(AttrValue(std::vector<std::int64_t>{1, 2})), "[1, 2]");
  EXPECT_EQ(text_of(AttrValue(DType::kFloat32)), "float32");
  EXPECT_EQ(text_of(AttrValue(literal({1, 2.5}))), "float32[2]{1.0, 2.5}");
  std::string large = text_of(AttrValue(literal(std::vector<float>(17, 1))));
  EXPECT_TRUE(large.starts_with("float32[17]{sha256:")) << large;
  Sharding sharding(Mesh({2, 2}, {"a", "b"}, {0, 1, 2, 3}), P("a", None));
  EXPECT_EQ(text_of(AttrValue(sharding)), sharding.text());
}

TEST(Attrs, CompareByValue) {
  Attrs a{{"value", literal({1, 2})}}, b{{"value", literal({1, 2})}}, c{{"value", literal({1, 3})}};
  EXPECT_TRUE(a == b);
  EXPECT_FALSE(a == c);
  EXPECT_FALSE(a == Attrs{});
  EXPECT_TRUE((Attrs{{"x", 0.5}}) == (Attrs{{"x", 0.5}}));
  EXPECT_FALSE((Attrs{{"x", 1.0}}) == (Attrs{{"x", std::int64_t(1)}}));
}

}  // namespace
}  // namespace shardlab
