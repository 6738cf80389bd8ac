// Pictures of shardings as jax.debug.visualize_array_sharding draws them; the goldens come from make_visualize_goldens.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "runtime/base/text.h"
#include "runtime/exec/jit.h"
#include "runtime/exec/ops.h"
#include "runtime/exec/placement.h"
#include "runtime/exec/visualize.h"

namespace shardlab {
namespace {

using testing::HasSubstr;

struct Case {
  std::string title;
  Shape shape;
  Sharding sharding;
  VisualizeOptions options;
  std::string expected;
};

template <typename Int>
std::vector<Int> integers(const std::string& text, char separator) {
  std::vector<Int> values;
  for (std::string_view part : split(text, separator)) values.push_back(Int(std::stoll(std::string(part))));
  return values;
}

Mesh read_mesh(const std::string& axes, const std::string& devices) {
  Shape sizes;
  std::vector<std::string> names;
  for (std::string_view axis : split(axes, ',')) {
    auto parts = split(axis, '=');
    names.emplace_back(parts[0]);
    sizes.push_back(std::stoll(std::string(parts[1])));
  }
  return Mesh(sizes, names, integers<int>(devices, ','));
}

PartitionSpec read_spec(const std::string& text) {
  std::vector<SpecEntry> entries;
  if (text == ".") return PartitionSpec(entries);
  for (std::string_view entry : split(text, '|')) {
    if (entry == "-") {
      entries.emplace_back();
      continue;
    }
    std::vector<std::string> axes;
    for (std::string_view axis : split(entry, '+')) axes.emplace_back(axis);
    entries.emplace_back(std::move(axes));
  }
  return PartitionSpec(entries);
}

std::vector<Case> read_cases() {
  const char* source = std::getenv("SHARDLAB_SOURCE_DIR");
  std::ifstream file(std::string(source ? source : ".") + "/tests/exec/goldens/visualize.txt");
  std::vector<Case> cases;
  std::string line;
  while (std::getline(file, line)) {
    if (line.starts_with("= ")) {
      std::istringstream words(line.substr(2));
      std::string shape, mesh, devices, spec, mode;
      double scale = 1;
      words >> shape >> mesh >> devices >> spec >> mode >> scale;
      cases.push_back({.title = line.substr(2),
                       .shape = integers<std::int64_t>(shape, 'x'),
                       .sharding = NamedSharding(read_mesh(mesh, devices), read_spec(spec)),
                       .options = {.color = mode == "color", .scale = scale}});
      continue;
    }
    std::string& expected = cases.back().expected;
    if (!expected.empty()) expected += '\n';
    for (std::size_t i = 2; i < line.size(); ++i) {
      bool is_escape = line.compare(i, 2, "\\e") == 0;
      expected += is_escape ? '\x1b' : line[i];
      i += is_escape;
    }
  }
  return cases;
}

Sharding on_mesh(Shape shape, std::vector<std::string> names, PartitionSpec spec, std::vector<int> devices = {}) {
  if (devices.empty())
    for (int i = 0; i < element_count(shape); ++i) devices.push_back(i);
  return NamedSharding(Mesh(std::move(shape), std::move(names), std::move(devices)), std::move(spec));
}

TEST(Visualize, EqualsJax) {
  std::vector<Case> cases = read_cases();
  EXPECT_GT(cases.size(), 100U);
  for (const Case& c : cases) {
    std::string text = sharding_text(c.shape, c.sharding, c.options);
    EXPECT_TRUE(text == c.expected) << c.title << "\ngot\n" << text << "\nwanted\n" << c.expected;
  }
}

// Where JAX's labels become "C…": they take two lines, and no number is cut.
TEST(Visualize, ColumnsShrinkToTheTerminal) {
  EXPECT_EQ(sharding_text({16}, on_mesh({16}, {"x"}, P("x"))),
            "┌───┬───┬───┬───┬───┬───┬───┬───┬───┬───┬───┬───┬───┬───┬───┬───┐\n"
            "│CPU│CPU│CPU│CPU│CPU│CPU│CPU│CPU│CPU│CPU│CPU│CPU│CPU│CPU│CPU│CPU│\n"
            "│ 0 │ 1 │ 2 │ 3 │ 4 │ 5 │ 6 │ 7 │ 8 │ 9 │10 │11 │12 │13 │14 │15 │\n"
            "└───┴───┴───┴───┴───┴───┴───┴───┴───┴───┴───┴───┴───┴───┴───┴───┘");
}

TEST(Visualize, LongListsBreakAfterCommas) {
  EXPECT_EQ(sharding_text({16}, on_mesh({16}, {"x"}, P()), {.max_columns = 24}),
            "┌──────────────────────┐\n"
            "│CPU 0,1,2,3,4,5,6,7,8,│\n"
            "│ 9,10,11,12,13,14,15  │\n"
            "└──────────────────────┘");
}

TEST(Visualize, ThousandsOfDevicesStayReadable) {
  std::string text = sharding_text({512, 4}, on_mesh({512}, {"x"}, P(None, nullptr)));
  EXPECT_THAT(text, HasSubstr("CPU 0,1,2,"));
  EXPECT_THAT(text, HasSubstr("510,511"));
  for (std::string_view line : split(text, '\n')) {
    std::size_t characters = 0;
    for (char byte : line) characters += (byte & 0xC0) != 0x80;
    EXPECT_LE(characters, 80U);
  }
}

// JAX's two halves have one colour.
TEST(Visualize, PartsHaveColorsOfTheirOwn) {
  for (int count = 1; count <= 20; ++count) {
    std::string text = sharding_text({count}, on_mesh({count}, {"x"}, P("x")), {.color = true, .max_columns = 400});
    text.resize(text.find('\n'));
    std::set<std::string> colors;
    for (std::size_t start = text.find("\x1b[38"); start != std::string::npos; start = text.find("\x1b[38", start + 1))
      colors.insert(text.substr(start, text.find('m', start) - start));
    EXPECT_EQ(int(colors.size()), count);
  }
}

TEST(Visualize, SingleDevice) {
  std::string text = sharding_text({8, 8}, Sharding::on_device(5));
  EXPECT_THAT(text, HasSubstr("│         CPU 5         │\n"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 10);
}

TEST(Visualize, PrintsAnArray) {
  Array x = device_put(arange(32).reshape({4, 8}), NamedSharding(make_mesh({2, 2}, {"i", "j"}), P("i", "j")));
  testing::internal::CaptureStdout();
  visualize_array_sharding(x);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), sharding_text(x.shape(), x.sharding()) + '\n');
}

TEST(Visualize, TracedValuesHaveNoTextYet) {
  auto f = jit([](const Array& x) {
    array_sharding_text(x);
    return x;
  });
  EXPECT_THROW(f(arange(4)), UserError);
}

TEST(Visualize, NothingToShow) { EXPECT_THAT(sharding_text({0, 4}, on_mesh({2}, {"x"}, P("x"))), HasSubstr("CPU 1")); }

TEST(Visualize, MoreDimensionsAreDrawnPartByPart) {
  Mesh mesh({2, 2, 2}, {"x", "y", "z"}, {0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(sharding_text({4, 6, 6}, NamedSharding(mesh, P("x", "y")), {.scale = 0.4}),
            "[0:2, :, :]\n"
            "┌────────┐\n"
            "│CPU 0,1 │\n"
            "├────────┤\n"
            "│CPU 2,3 │\n"
            "└────────┘\n"
            "[2:4, :, :]\n"
            "┌────────┐\n"
            "│CPU 4,5 │\n"
            "├────────┤\n"
            "│CPU 6,7 │\n"
            "└────────┘");
  std::string text = sharding_text({2, 3, 4, 6, 6}, NamedSharding(mesh, P(None, None, "z", None, "y")));
  EXPECT_THAT(text, HasSubstr("[:, :, 0:2, :, :]"));
  EXPECT_THAT(text, HasSubstr("CPU 3,7"));
}

TEST(Visualize, AScalarHasNoParts) {
  try {
    sharding_text({}, on_mesh({2}, {"x"}, P()));
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("`visualize_sharding` only works for shapes with 1 and more dimensions"));
  }
}

}  // namespace
}  // namespace shardlab
