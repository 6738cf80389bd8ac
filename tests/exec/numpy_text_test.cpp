// Arrays printed as numpy prints them; the goldens come from make_numpy_goldens.py.
#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "runtime/base/text.h"
#include "runtime/exec/visualize.h"

namespace shardlab {
namespace {

struct Case {
  int line = 0;
  TensorType type;
  std::vector<std::uint32_t> words;
  std::vector<std::byte> bytes;  // in place of words
  std::string expected;
};

template <typename T>
void fill_ramp(std::vector<std::uint32_t>& words, double step) {
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = std::bit_cast<std::uint32_t>(static_cast<T>(i) * static_cast<T>(step));
}

void read_ramp(Case& c, const std::string& step) {
  c.words.resize(std::size_t(c.type.elements()));
  if (c.type.dtype == DType::kFloat32)
    fill_ramp<float>(c.words, std::stod(step));
  else
    fill_ramp<std::int32_t>(c.words, std::stod(step));
}

TensorType read_type(std::istringstream& words) {
  std::string dtype, shape;
  words >> dtype >> shape;
  TensorType type{*dtype_from_name(dtype), {}};
  if (shape != "-")
    for (std::string_view size : split(shape, 'x')) type.shape.push_back(std::stoll(std::string(size)));
  return type;
}

std::vector<Case> read_cases() {
  const char* source = std::getenv("SHARDLAB_SOURCE_DIR");
  std::ifstream file(std::string(source ? source : ".") + "/tests/exec/goldens/numpy_text.txt");
  std::vector<Case> cases;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    std::istringstream words(line);
    std::string kind, word;
    words >> kind;
    if (kind == "=") {
      cases.push_back({.line = number, .type = read_type(words)});
    } else if (kind == "bits") {
      while (words >> word) cases.back().words.push_back(std::uint32_t(std::stoul(word, nullptr, 16)));
    } else if (kind == "bytes") {
      words >> word;
      for (std::size_t i = 0; i + 1 < word.size(); i += 2)
        cases.back().bytes.push_back(std::byte(std::stoul(word.substr(i, 2), nullptr, 16)));
    } else if (kind == "ramp") {
      words >> word;
      read_ramp(cases.back(), word);
    } else {
      std::string& expected = cases.back().expected;
      if (!expected.empty()) expected += '\n';
      expected += line.substr(2);
    }
  }
  return cases;
}

std::string text_of(const Case& c) {
  if (!c.bytes.empty()) return numpy_text(c.type, c.bytes.data());
  if (c.type.dtype != DType::kBool) return numpy_text(c.type, reinterpret_cast<const std::byte*>(c.words.data()));
  std::vector<std::byte> bytes;
  for (std::uint32_t word : c.words) bytes.push_back(std::byte(word));
  return numpy_text(c.type, bytes.data());
}

TEST(NumpyText, EqualsNumpy) {
  std::vector<Case> cases = read_cases();
  EXPECT_GT(cases.size(), 400U);
  for (const Case& c : cases) EXPECT_EQ(text_of(c), c.expected) << "line " << c.line << " of the goldens, " << c.type.text();
}

TEST(NumpyText, ToyProgram) {
  float result = -0.12398731708526611F;
  EXPECT_EQ(numpy_text({DType::kFloat32, {}}, reinterpret_cast<const std::byte*>(&result)), "-0.12398732");
  std::vector<std::int32_t> shard = {8, 9, 10, 11};
  EXPECT_EQ(numpy_text({DType::kInt32, {1, 4}}, reinterpret_cast<const std::byte*>(shard.data())), "[[ 8  9 10 11]]");
}

}  // namespace
}  // namespace shardlab
