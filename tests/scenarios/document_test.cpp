// Documents: what is accepted, and where and how each mistake is told.
#include <nlohmann/json.hpp>

#include "runtime/ops/registry.h"
#include "scenarios/document/json_text.h"
#include "scenarios/document/load.h"
#include "scenarios/document/positional.h"
#include "scenarios/document/value_lines.h"

namespace shardlab::scenarios {
namespace {

using testing::HasSubstr;

// A whole document with one part replaced, at a pointer.
std::string with(const std::string& pointer, const std::string& value) {
  auto document = nlohmann::json::parse(R"({
    "shardlab": 1, "name": "test", "cluster": {"processes": 2, "devices": 4},
    "meshes": {"m": {"shape": [4, 2], "axes": ["a", "b"]}},
    "functions": {"f": {"params": ["x"], "body": [{"let": "y", "op": "sin", "args": ["x"]}], "results": ["y"]}},
    "program": [
      {"let": "x", "op": "arange", "args": [32]},
      {"let": "x", "op": "reshape", "args": ["x"], "shape": [4, 8]},
      {"let": "x", "op": "device_put", "args": ["x"], "sharding": ["a", "b"]},
      {"let": "y", "op": "jit", "fn": "f", "args": ["x"]}],
    "expect": [{"diagnosis": null}]})");
  if (!value.empty()) document[nlohmann::json::json_pointer(pointer)] = nlohmann::json::parse(value);
  return document.dump();
}

Loaded load_one(const std::string& text) {
  std::vector<Loaded> loaded = load_text(text, "test");
  EXPECT_EQ(loaded.size(), 1U);
  return loaded.at(0);
}

TEST(Lines, AreToldOfErrorsWhereTheFileHasSeveral) {
  const char* text =
      "{\"shardlab\": 1,\n \"a~/\\\"b\": [[1,\n2], {\"x\":\n {\"y\": 3}}],\n\"program\": [\n{\"op\": \"ones\",\n\"shape\": [2]}]}\n";
  const std::map<std::string, int> lines = value_lines(text);
  EXPECT_EQ(line_of(lines, "/shardlab"), 1);
  EXPECT_EQ(line_of(lines, "/a~0~1\"b"), 2);
  EXPECT_EQ(line_of(lines, "/a~0~1\"b/1"), 3);
  EXPECT_EQ(line_of(lines, "/a~0~1\"b/1/x"), 3);
  EXPECT_EQ(line_of(lines, "/a~0~1\"b/1/x/y"), 4);
  EXPECT_EQ(line_of(lines, "/program/0"), 6);
  EXPECT_EQ(line_of(lines, "/program/0/shape/0"), 7);
  EXPECT_EQ(line_of(lines, "/program/0/let"), 6) << "what is missing is told at what it is missing in";
  EXPECT_EQ(line_of(lines, "/nowhere"), 1);
  EXPECT_TRUE(value_lines("{\"shardlab\": 1}\n").empty());

  const std::string wrong = "{\"shardlab\": 1,\n\"program\": [\n{\"let\": \"x\", \"op\": \"sine\",\n\"args\": [1]}]}";
  EXPECT_THAT(load_text(wrong, "test").at(0).error, HasSubstr("at \"/program/0/op\", line 3: unknown op 'sine'"));
}

TEST(Document, GoodOnesLoad) {
  Loaded loaded = load_one(with("", ""));
  EXPECT_EQ(loaded.error, "");
  ASSERT_TRUE(loaded.document);
  EXPECT_EQ(loaded.document->program.size(), 4U);
  EXPECT_EQ(loaded.document->program[2].pointer, "/program/2");
  EXPECT_EQ(loaded.document->meshes.at("m").text(), "Mesh('a': 4, 'b': 2)");
}

TEST(Document, PositionalAttributesAreThoseOfTheirOps) {
  for (const Positional& each : all_positional()) {
    const OpDef* op = find_op(each.op);
    ASSERT_NE(op, nullptr) << each.op;
    EXPECT_EQ(op->name, each.op);
    EXPECT_GE(int(each.operands), op->operands_min) << each.op;
    EXPECT_EQ(positional_of(each.op), &each) << each.op << " is listed twice";
    for (std::string_view name : each.attributes) {
      auto is_it = [&](const AttrDef& attr) { return attr.name == name; };
      EXPECT_TRUE(name.empty() || std::any_of(op->attrs.begin(), op->attrs.end(), is_it)) << each.op << " has no " << name;
    }
  }
}

struct Mistake {
  std::string pointer, value;  // what is replaced in the good document
  std::string at, says;        // where the error is told and what it says
};

class Mistakes : public testing::TestWithParam<Mistake> {};

TEST_P(Mistakes, AreToldWithAPointer) {
  Loaded loaded = load_one(with(GetParam().pointer, GetParam().value));
  EXPECT_EQ(loaded.pointer, GetParam().at) << loaded.error;
  EXPECT_THAT(loaded.error, HasSubstr(GetParam().says));
  EXPECT_THAT(loaded.error, HasSubstr("\"" + GetParam().at + "\""));
}

const Mistake kMistakes[] = {
    // The document's structure.
    {"/shardlab", "2", "/shardlab", "format version 2"},
    {"/shardlab", "\"1\"", "/shardlab", "wanted an integer, got \"1\""},
    {"/cluser", "{}", "/cluser", "unknown key 'cluser' of a scenario; did you mean 'cluster'?"},
    {"/name", "3", "/name", "wanted a string, got 3"},
    {"/program", "{}", "/program", "wanted a list"},
    {"/cluster/processes", "0", "/cluster/processes", "wanted an integer from 1 to 4096, got 0"},
    {"/cluster/devices", "1.5", "/cluster/devices", "wanted an integer"},
    {"/cluster/proceses", "2", "/cluster/proceses", "did you mean 'processes'?"},
    {"/cluster/backend", "\"cud\"", "/cluster/backend", "did you mean 'cuda'?"},
    {"/cluster/transport", "\"local\"", "/cluster/transport", "inside one process"},
    {"/cluster/transport", "\"nccl\"", "/cluster/transport", "not supported yet: 'nccl'"},
    {"/cluster/run", "\"simulate\"", "/cluster/run", "did you mean 'simulated'?"},
    {"/cluster/execute", "\"struct\"", "/cluster/execute", "unknown word 'struct'"},
    {"/cluster/topology", "\"v5e\"", "/cluster/topology", "not supported yet"},
    {"/schedules", "{}", "/schedules", "the key 'policy' is missing"},
    {"/schedules", "{\"policy\": \"rando\"}", "/schedules/policy", "did you mean 'random'?"},
    {"/schedules", "{\"policy\": \"replay\"}", "/schedules", "needs \"choices\""},
    {"/sweep", "{\"at\": \"every-call\", \"do\": []}", "/sweep/at", "wanted \"every-collective\""},
    {"/sweep", "{\"at\": \"every-collective\", \"do\": [\"kil\"]}", "/sweep/do/0", "did you mean 'kill'?"},
    {"/limits", "{\"run\": 3}", "/limits/run", "did you mean 'run_ms'?"},
    {"/limits", "{\"run_ms\": -1}", "/limits/run_ms", "an integer from 1"},
    // Meshes and shardings.
    {"/meshes/m/shape", "[4, 4]", "/meshes/m/shape", "a mesh of 16 devices, but the cluster has 8 (2 processes × 4)"},
    {"/meshes/m/axes", "[\"a\"]", "/meshes/m/axes", "1 axes for a mesh of 2 dimensions"},
    {"/meshes/m/axes", "[\"a\", \"a\"]", "/meshes/m", "a"},
    {"/meshes/m/devices", "[0, 1, 2, 3, 4, 5, 6, 8]", "/meshes/m/devices/7", "from 0 to 7"},
    {"/meshes/m/devices", "[0, 1]", "/meshes/m", "2"},
    {"/program/2/sharding", "[\"a\", \"c\"]", "/program/2/sharding", "is not found in mesh"},
    {"/program/2/sharding", "[\"a\", \"a\"]", "/program/2/sharding", "duplicate entries"},
    {"/program/2/sharding", "{\"mesh\": \"n\", \"spec\": []}", "/program/2/sharding/mesh", "there is no mesh 'n'"},
    {"/program/2/sharding", "{\"device\": 8}", "/program/2/sharding/device", "from 0 to 7"},
    {"/program/2/sharding", "[\"a\", \"b\", null, \"a\"]", "/program/2/sharding", "duplicate"},
    {"/program/2/sharding", "[[\"a\", \"b\"], null]", "/program/2", "divisible by 8"},
    {"/program/2/sharding", "3", "/program/2/sharding", "wanted a sharding"},
    // Statements.
    {"/program/3/op", "\"sine\"", "/program/3/op", "unknown op 'sine'; did you mean 'sin'?"},
    {"/program/3", R"({"op": "start"})", "/program/3", "step"},
    {"/program/3", R"({"op": "start", "step": {"op": "fetch", "args": ["x"]}})", "/program/3/step", "it waits itself"},
    {"/program/3", R"({"op": "start", "step": {"repeat": 2, "body": []}})", "/program/3/step", "a loop or an issuer cannot be started"},
    {"/program/3", R"({"op": "start", "step": {"let": "z", "op": "sin", "args": ["x"]}})", "/program/3/step/let", "belongs to 'start'"},
    {"/program/3", R"({"op": "wait", "args": ["nobody"]})", "/program/3/args", "no value that was started"},
    {"/program/3", R"({"op": "broadcast", "args": ["x"], "root": 9})", "/program/3/root", "9"},
    {"/program/3", R"({"op": "make_array_from_process_local_data", "sharding": {"device": 0}, "data": ["x", "x", "x"]})", "/program/3/data",
     "the data of 3 processes for"},
    {"/program/3/op", "\"custom_partitioning\"", "/program/3", "the key 'sharding_rule' is missing"},
    {"/program/3/op", "\"random.wrap_key_data\"", "/program/3/op", "not supported yet: the op 'random.wrap_key_data'"},
    {"/program/3/op", "7", "/program/3/op", "wanted a string"},
    {"/program/3", "[]", "/program/3", "wanted a statement"},
    {"/program/3", "{}", "/program/3", "needs \"op\""},
    {"/program/3", "{\"opp\": \"sin\"}", "/program/3/opp", "did you mean 'op'?"},
    {"/program/3", "{\"issuer\": \"i\", \"bdy\": []}", "/program/3/bdy", "did you mean 'body'?"},
    {"/program/3", "{\"op\": \"wait\", \"args\": [\"i\"]}", "/program/3/args",
     "'i' is no value that was started, and no issuer that has begun"},
    {"/program/3", "{\"op\": \"send\", \"args\": [\"x\"], \"peer\": 2}", "/program/3/peer", "from 0 to 1"},
    {"/program/3", "{\"op\": \"send\", \"args\": [\"x\"], \"peer\": 0}", "/program/3/peer", "is its own peer"},
    {"/program/3", "{\"let\": \"r\", \"op\": \"recv\", \"peer\": 1}", "/program/3", "the key 'shape' is missing"},
    {"/program/3/args", "[\"z\"]", "/program/3/args/0", "'z' is used before it is bound"},
    {"/program/3/args", "[{}]", "/program/3/args/0", "wanted a name, a number or a list"},
    {"/program/3/args", "[]", "/program/3/args", "0 for 1 parameters of 'f'"},
    {"/program/3/fn", "\"g\"", "/program/3/fn", "there is no function 'g'"},
    {"/program/3/let", "[\"y\", \"z\"]", "/program/3/let", "2 names for 1 results"},
    {"/program/3/let", "[\"y\", \"y\"]", "/program/3/let/1", "bound twice"},
    {"/program/3/out_shardings", "[]", "/program/3/out_shardings", "0 for 1 results"},
    {"/program/3/in_shardings", "[[\"c\"]]", "/program/3/in_shardings/0", "is not found in mesh"},
    {"/program/3/on", "{\"processes\": [2]}", "/program/3/on/processes/0", "from 0 to 1"},
    {"/program/3/on", "{\"process\": [0]}", "/program/3/on/process", "did you mean 'processes'?"},
    {"/program/1/shap", "[4]", "/program/1/shap", "unknown key 'shap' of 'reshape'; did you mean 'shape'?"},
    {"/program/1/shape", "[5, 8]", "/program/1", "(5, 8)"},
    {"/program/1/shape", "\"x\"", "/program/1/shape", "wanted an integer or a list of integers"},
    {"/program/0/args", "[1e15]", "/program/0", ""},
    {"/program/0/dtype", "\"flot32\"", "/program/0/dtype", "did you mean 'float32'?"},
    {"/program/0/dtype", "\"bfloat\"", "/program/0/dtype", "did you mean 'bfloat16'?"},
    {"/program/0", "{\"let\": \"x\", \"op\": \"constant\", \"value\": [[1], [2, 3]]}", "/program/0/value/1", "as long as the others"},
    {"/program/0", "{\"repeat\": -1, \"body\": []}", "/program/0/repeat", "from 0"},
    {"/program/1", R"({"let": "x", "op": "roll", "args": ["x", 2, 0], "axis": 0})", "/program/1/args/2", "by position and by name"},
    {"/program/1", R"({"let": "x", "op": "roll", "args": ["x", 2, 0, 1]})", "/program/1/args", "'roll' takes 3 arguments, got 4"},
    {"/program/1", R"({"let": "x", "op": "sum", "args": ["x", 0, null, 3]})", "/program/1/args/3", "a parameter that this op lacks"},
    {"/program/1", R"({"let": "x", "op": "roll", "args": ["x", 2, "x"]})", "/program/1/args/2", "the attribute 'axis', which is no name"},
    {"/program/1", R"({"let": "x", "op": "roll", "args": ["x", 2.5]})", "/program/1/args/1", "wanted an integer"},
    // Functions.
    {"/functions/f/body/0/args", "[\"w\"]", "/functions/f/body/0/args/0", "sees its parameters only"},
    {"/functions/f/results", "[\"q\"]", "/functions/f/results/0", "'q' is used before it is bound"},
    {"/functions/f/params", "[\"x\", \"x\"]", "/functions/f/params/1", "distinct"},
    {"/functions/f/body/0", "{\"let\": \"y\", \"op\": \"call\", \"fn\": \"f\", \"args\": [\"x\"]}", "/functions/f/body/0",
     "'f' calls itself"},
    {"/program/3",
     R"({"let": "y", "op": "shard_map", "fn": "f", "args": ["x"], "in_specs": [["b"]], "out_specs": [[]], "axis_names": ["a"]})",
     "/program/3/in_specs/0", "not per device along 'b'"},
    {"/program/3",
     R"({"let": "y", "op": "shard_map", "fn": "f", "args": ["x"], "in_specs": [["a"]], "out_specs": [["a"]], "axis_names": ["c"]})",
     "/program/3/axis_names/0", "mesh has axes a, b, no 'c'"},
    // Faults.
    {"/faults", "[{\"at\": 9, \"do\": \"kill\"}]", "/faults/0/at", "there is no statement '/program/9'"},
    {"/faults", "[{\"at\": 1, \"do\": \"kil\"}]", "/faults/0/do", "did you mean 'kill'?"},
    {"/faults", "[{\"at\": 1, \"do\": \"exit\"}]", "/faults/0/do", "needs a value"},
    {"/faults", "[{\"at\": 1, \"do\": {\"exit\": 256}}]", "/faults/0/do/exit", "from 0 to 255"},
    {"/faults", "[{\"at\": 1, \"do\": {\"slow_link\": 0}}]", "/faults/0/do/slow_link", "a factor from 1"},
    {"/faults", "[{\"at\": 1, \"do\": {\"trace_disk\": \"half\"}}]", "/faults/0/do/trace_disk", "\"full\""},
    {"/faults", "[{\"at\": 1, \"do\": {\"kill\": 1, \"device\": 0}}]", "/faults/0/do/kill", "'kill' takes no value"},
    {"/faults", "[{\"at\": {\"ms\": 1, \"collective\": 2}, \"do\": \"kill\"}]", "/faults/0/at", "one of"},
    // Expectations.
    {"/expect/0", "{\"aray\": \"x\"}", "/expect/0/aray", "did you mean 'array'?"},
    {"/expect/0", "{\"array\": \"q\"}", "/expect/0/array", "the program binds no 'q'"},
    {"/expect/0", "{\"array\": \"x\", \"value\": [1]}", "/expect/0/value", "did you mean 'values'?"},
    {"/expect/0", "{\"diagnosis\": \"deadlok\"}", "/expect/0/diagnosis", "did you mean 'deadlock'?"},
    {"/expect/0", "{\"diagnosis\": \"deadlock\", \"statement\": 9}", "/expect/0/statement", "no statement"},
    {"/expect/0", "{\"collectives\": \"allreduce\", \"count\": 1}", "/expect/0/collectives", "did you mean 'all-reduce'?"},
    {"/expect/0", "{\"peak_bytes_per_device\": {\"at_most\": 1}}", "/expect/0/peak_bytes_per_device", "not supported yet"},
};

INSTANTIATE_TEST_SUITE_P(Document, Mistakes, testing::ValuesIn(kMistakes));

struct BadText {
  std::string text, at, says;
};

TEST(Document, TextsThatAreNotJsonAreToldWhere) {
  std::string deep = R"({"shardlab": 1, "program": )" + std::string(100, '[') + std::string(100, ']') + "}";
  const BadText kTexts[] = {
      {"", "", "not JSON"},
      {"{\"shardlab\": 1, ", "/shardlab", "not JSON, line 1"},
      {"{\"program\": [1,\n 2,, 3]}", "/program/2", "not JSON, line 2, column 4"},
      {"{\"program\": [], \"program\": []}", "/program", "stands twice"},
      {"{\"a\": {\"b~/c\": 1, \"b~/c\": 2}}", "/a/b~0~1c", "stands twice"},
      {"[1]", "", "wanted a scenario"},
      {"{\"name\": \"\xff\"}", "/name", "not JSON"},
      {"{\"name\": 1e999}", "/name", "not JSON"},
      {deep,
       "/program" +
           [] {
             std::string s;
             for (int i = 0; i < 63; ++i) s += "/0";
             return s;
           }(),
       "nested deeper than 64"},
  };
  for (const BadText& each : kTexts) {
    Loaded loaded = load_one(each.text);
    EXPECT_EQ(loaded.pointer, each.at) << each.text << "\n" << loaded.error;
    EXPECT_THAT(loaded.error, HasSubstr(each.says)) << each.text;
  }
}

TEST(Document, TooLargeOnesAreRefused) { EXPECT_THROW(parse_json(std::string(kDocumentBytesMax + 1, ' ')), DocumentError); }

TEST(Document, NamesBoundOnSomeProcessesAreMissingOnOthers) {
  Loaded loaded = load_one(with("/program/2/on", R"({"processes": [0]})"));
  EXPECT_EQ(loaded.error, "");
  loaded = load_one(with("/program/0/not_on", R"({"processes": [1]})"));
  EXPECT_EQ(loaded.pointer, "/program/1/args/0");
  EXPECT_THAT(loaded.error, HasSubstr("on process 1"));
}

TEST(Document, ErrorsOfTheProgramAreTheProgramsOwn) {
  EXPECT_TRUE(load_one(with("/program/1/shape", "[5, 8]")).is_program_error);
  EXPECT_TRUE(load_one(with("/program/2/sharding", R"([["a", "b"]])")).is_program_error);
  EXPECT_FALSE(load_one(with("/program/3/op", "\"sine\"")).is_program_error);
}

TEST(Document, LoopsThatGrowAreBounded) {
  Loaded loaded = load_one(R"({"shardlab": 1, "program": [{"let": "x", "op": "ones", "shape": [2, 2]},
    {"repeat": 1000000000, "body": [{"let": "x", "op": "matmul", "args": ["x", "x"]}]}]})");
  EXPECT_EQ(loaded.error, "") << "types that settle are evaluated once more, not a billion times";
  loaded = load_one(R"({"shardlab": 1, "program": [{"let": "x", "op": "ones", "shape": [2]},
    {"repeat": 1000000000, "body": [{"let": "x", "op": "broadcast_to", "args": ["x"], "shape": [2, 2]},
                                    {"let": "x", "op": "ones", "shape": [2]}]}]})");
  EXPECT_EQ(loaded.error, "");
}

TEST(Matrix, EveryCombinationIsAScenario) {
  std::vector<Loaded> loaded = load_text(R"({"shardlab": 1, "name": "m", "matrix": {"n": [2, 4], "op": ["sin", "cos", "tanh"]},
    "program": [{"let": "x", "op": "arange", "args": ["$n"], "dtype": "float32", "note": "$free"}, {"let": "y", "op": "$op", "args": ["x"]}]})",
                                         "test");
  ASSERT_EQ(loaded.size(), 6U);
  EXPECT_EQ(loaded[0].name, "m[n=2,op=sin]");
  EXPECT_EQ(loaded[5].name, "m[n=4,op=tanh]");
  for (const Loaded& each : loaded) EXPECT_EQ(each.error, "");
}

TEST(Matrix, MistakesAreToldWithAPointer) {
  Loaded loaded = load_one(R"({"shardlab": 1, "matrix": {"size": [2]}, "program": [{"let": "x", "op": "arange", "args": ["$siz"]}]})");
  EXPECT_EQ(loaded.pointer, "/program/0/args/0");
  EXPECT_THAT(loaded.error, HasSubstr("did you mean '$size'?"));
  EXPECT_EQ(load_one(R"({"shardlab": 1, "matrix": {"n": []}, "program": []})").pointer, "/matrix/n");
  std::string many = R"({"shardlab": 1, "program": [], "matrix": {)";
  for (int i = 0; i < 20; ++i) many += fmt::format(R"({}"v{}": [1, 2])", i ? "," : "", i);
  EXPECT_EQ(load_one(many + "}}").pointer, "/matrix");
}

TEST(Load, LinesAreScenariosAndBadOnesDoNotStopTheOthers) {
  std::string path = testing::TempDir() + "lines.jsonl";
  std::ofstream(path) << R"({"shardlab": 1, "name": "one", "program": []})"
                      << "\n\n{\n"
                      << R"({"shardlab": 1, "name": "three", "program": []})";
  std::vector<Loaded> loaded = load_path(path);
  ASSERT_EQ(loaded.size(), 3U);
  EXPECT_EQ(loaded[0].name, "one");
  EXPECT_EQ(loaded[1].name, path + ":3");
  EXPECT_NE(loaded[1].error, "");
  EXPECT_EQ(loaded[2].name, "three");
  EXPECT_THROW(load_path("/nowhere/x.json"), IoError);
}

}  // namespace
}  // namespace shardlab::scenarios
