// Weak values: which calls make them, what they promote to, and how loops, transformations and placing keep them. The types of the goldens
// come from make_weak_goldens.py.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "runtime/exec/array_ops.h"
#include "runtime/exec/autodiff.h"
#include "runtime/exec/context.h"
#include "runtime/exec/control_flow.h"
#include "runtime/exec/custom_derivatives.h"
#include "runtime/exec/ops.h"
#include "runtime/exec/placement.h"
#include "runtime/exec/shard_map.h"
#include "runtime/exec/visualize.h"
#include "runtime/exec/vmap.h"
#include "runtime/exec/weak_types.h"

namespace shardlab {
namespace {

using Arrays = std::vector<Array>;

Array weak(Shape shape, Operand value = 1.5) { return apply("full", {value}, Attrs{{"shape", std::move(shape)}}, {}).at(0); }
std::string type_of(const Array& array) { return fmt::format("{}{}", weak_type(array) ? "~" : "", array.type().text()); }

// An operand of the goldens: the name of an array, or a number.
Operand operand(const std::string& word) {
  if (word == "w") return weak({4});
  if (word == "W") return weak({4, 4});
  if (word == "n") return weak({4}, 2);
  if (word == "s") return ones({4}, bfloat16);
  if (word == "f") return ones({4});
  if (word == "i") return arange(4);
  if (word == "c") return ones({4}, int8);
  if (word == "z") return ones({4}, complex64);
  if (word == "b") return ones({4}, DType::kBool);
  if (word.back() == 'j') return std::complex<double>(0, std::stod(word));
  if (word.find('.') != std::string::npos) return std::stod(word);
  return std::stoi(word);
}

std::string type_of_call(const std::string& line) {
  std::istringstream words(line);
  std::string op, word;
  words >> op;
  std::vector<Operand> operands;
  Attrs attrs;
  while (words >> word) {
    std::size_t equals = word.find('=');
    if (equals == std::string::npos)
      operands.push_back(operand(word));
    else if (word.starts_with("dtype"))
      attrs.set("dtype", *dtype_from_name(word.substr(equals + 1)));
    else
      attrs.set(word.substr(0, equals), std::int64_t(std::stoi(word.substr(equals + 1))));
  }
  return type_of(apply(op, operands, attrs, {}).at(0));
}

TEST(WeakTypes, AreThoseOfJax) {
  const char* source = std::getenv("SHARDLAB_SOURCE_DIR");
  std::ifstream file(std::string(source ? source : ".") + "/tests/exec/goldens/weak_types.txt");
  int count = 0;
  for (std::string line; std::getline(file, line); ++count) {
    std::size_t arrow = line.find(" -> ");
    std::string call = line.substr(0, arrow), wanted = line.substr(arrow + 4), got;
    try {
      got = type_of_call(call);
    } catch (const std::exception& error) { got = error.what(); }
    // Results of bool are weak in JAX by accident: bool has no weak type.
    if (wanted.starts_with("~bool")) wanted.erase(0, 1);
    EXPECT_EQ(got, wanted) << call;
  }
  EXPECT_GT(count, 250);
}

TEST(WeakTypes, InsideJitAsOutside) {
  auto halved = jit([](const Array& x, const Array& y) { return where(y > 0, 1.0, 0.5) * x; });
  EXPECT_EQ(type_of(halved(ones({4}, bfloat16), ones({4}))), "bfloat16[4]");
  auto made = jit([](const Array& y) { return where(y > 0, 1.0, 0.5); });
  EXPECT_EQ(type_of(made(ones({4}))), "~float32[4]");
  auto same = jit([](const Array& x) { return x; });
  EXPECT_EQ(type_of(same(weak({4}))), "~float32[4]");
  EXPECT_EQ(type_of(same(ones({4}))), "float32[4]");  // another program: the key tells them apart
  auto strong = jit([](const Array& x) { return Arrays{astype(x, float32), x}; });
  Arrays both = strong(weak({4}));
  EXPECT_EQ(type_of(both[0]), "float32[4]");
  EXPECT_EQ(type_of(both[1]), "~float32[4]");
  auto inner = jit([&](const Array& x) { return same(x) * 2; });
  EXPECT_EQ(type_of(inner(weak({4}))), "~float32[4]");
}

TEST(WeakTypes, ArePlacedAsTheyAre) {
  Mesh mesh = make_mesh({8}, {"x"});
  Array x = device_put(weak({8}), NamedSharding(mesh, P("x")));
  EXPECT_EQ(typeof_text(x), "~float32[8@x]");
  EXPECT_EQ(type_of(device_put(x, NamedSharding(mesh, P()))), "~float32[8]");
  EXPECT_EQ(type_of(device_put(2.0, NamedSharding(mesh, P()))), "~float32[]");
  EXPECT_EQ(type_of(x + device_put(ones({8}, bfloat16), NamedSharding(mesh, P("x")))), "bfloat16[8]");
  EXPECT_EQ(type_of(x * 2), "~float32[8]");
}

TEST(WeakTypes, OfLoopsAndBranches) {
  const Array f = ones({3}), s = ones({3}, bfloat16);
  auto fold = [](const Array& init, const Array& xs, const ArrayFunction& body) {
    std::vector<std::string> types;
    for (const Array& each : scan(body, Arrays{init}, Arrays{xs}, ScanOptions{}, Where{})) types.push_back(type_of(each));
    return types;
  };
  using Texts = std::vector<std::string>;
  auto plus = [](const Arrays& x) { return Arrays{x[0] + x[1], x[0]}; };
  auto twice = [](const Arrays& x) { return Arrays{x[0] * 2, x[0]}; };
  EXPECT_EQ(fold(weak({}), s, plus), (Texts{"bfloat16[]", "bfloat16[3]"}));
  EXPECT_EQ(fold(weak({}, 0), s, plus), (Texts{"bfloat16[]", "bfloat16[3]"}));
  EXPECT_EQ(fold(weak({}), f, plus)[0], "float32[]");
  EXPECT_EQ(fold(weak({}), f, twice), (Texts{"~float32[]", "~float32[3]"}));

  auto loop = [](const Array& init, const ArrayFunction& body) {
    return type_of(while_loop(ArrayFunction([](const Arrays& x) { return Arrays{x[0] < 3}; }), body, Arrays{init}, Where{}).at(0));
  };
  EXPECT_EQ(loop(weak({}, 0), [](const Arrays& x) { return Arrays{x[0] + 1}; }), "~int32[]");
  EXPECT_EQ(loop(weak({}, 0), [](const Arrays& x) { return Arrays{x[0] * 1.5 + 1}; }), "float32[]");
  // What is not weak does not give way.
  EXPECT_THROW(loop(zeros({}, int32), [](const Arrays& x) { return Arrays{x[0] * 1.5 + 1}; }), UserError);
  // The index of a loop is a number, too.
  EXPECT_EQ(
      type_of(fori_loop(0, 3, ArrayFunction([](const Arrays& x) { return Arrays{x[1] * x[0]}; }), Arrays{ones({}, int8)}, Where{}).at(0)),
      "int8[]");

  auto choose = [&](const ArrayFunction& a, const ArrayFunction& b) {
    return type_of(switch_branches(1, {a, b}, Arrays{f}, Where{}).at(0));
  };
  auto one = [](const Arrays&) { return Arrays{weak({3})}; };
  EXPECT_EQ(choose(one, one), "~float32[3]");
  EXPECT_EQ(choose(one, [](const Arrays& x) { return x; }), "float32[3]");
  EXPECT_THROW(choose(one, [&](const Arrays&) { return Arrays{s}; }), UserError);
}

TEST(WeakTypes, OfTransformations) {
  auto squares = [](const Array& x) { return sum(x * x); };
  EXPECT_EQ(type_of(grad(squares)(weak({3}))), "~float32[3]");
  EXPECT_EQ(type_of(grad(squares)(ones({3}))), "float32[3]");
  EXPECT_EQ(type_of(jit(grad(squares))(weak({3}))), "~float32[3]");
  EXPECT_EQ(type_of(vmap([](const Array& x) { return x * 2; })(weak({3}))), "~float32[3]");
  EXPECT_EQ(type_of(vmap([](const Array& x) { return x * 2; })(ones({3}))), "float32[3]");
}

TEST(WeakTypes, OfPerDeviceCodeAndFunctionsWithRulesOfTheirOwn) {
  Mesh mesh = make_mesh({8}, {"x"});
  auto twice = [](const Array& x) { return x * 2; };
  auto chosen = [](const Array& x) { return where(x > 3, 1.0, 0.5); };
  auto mapped = [&](auto f) { return shard_map(f, {.mesh = mesh, .in_specs = {P("x")}, .out_specs = {P("x")}}); };
  auto rule = [](const std::tuple<Array>& x, const std::tuple<Array>& t) { return std::pair{std::get<0>(x) * 2, std::get<0>(t) * 2}; };
  EXPECT_EQ(type_of(mapped(twice)(weak({8}))), "~float32[8]");
  EXPECT_EQ(type_of(mapped(twice)(ones({8}))), "float32[8]");
  EXPECT_EQ(type_of(mapped(chosen)(ones({8}))), "~float32[8]");
  EXPECT_EQ(type_of(jit(mapped(twice))(weak({8}))), "~float32[8]");
  EXPECT_EQ(type_of(mapped(chosen)(ones({8})) + ones({8}, bfloat16)), "bfloat16[8]");
  for (bool is_weak : {true, false}) {
    Array x = is_weak ? weak({3}) : ones({3});
    const std::string wanted = is_weak ? "~float32[3]" : "float32[3]";
    EXPECT_EQ(type_of(jit(checkpoint(twice))(x)), wanted);
    EXPECT_EQ(type_of(jit(custom_jvp(twice, rule))(x)), wanted);
    EXPECT_EQ(type_of(grad([&](const Array& v) { return sum(custom_jvp(twice, rule)(v)); })(x)), wanted);
  }
}

}  // namespace
}  // namespace shardlab
