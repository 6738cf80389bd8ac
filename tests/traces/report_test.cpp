// Reports over the sample traces, in every format.
#include "traces/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/traces/sample_trace.h"
#include "traces/report_data.h"
#include "traces/sharding_svg.h"
#include "traces/source_lines.h"
#include "traces/trace_writer.h"
#include "traces/wait_graph_svg.h"

namespace shardlab::traces {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string report(std::string_view sample, std::string_view format) {
  const auto path = std::filesystem::temp_directory_path() / ("shardlab_report_" + std::to_string(getpid()) + ".db");
  sample::write_sample_trace(sample, path.string(), {.collectives = 500});
  TraceReader reader(path.string());
  std::ostringstream out;
  write_report(reader, format, out);
  std::filesystem::remove(path);
  return out.str();
}

TEST(Report, TextOfAGoodRun) {
  const std::string text = report("toy", "text");
  EXPECT_THAT(text, StartsWith("No diagnosis: 4 processes ran 1 collective, and all of them match.\n"));
  EXPECT_THAT(text, HasSubstr("4 processes, 8 devices, 1 programs"));
  EXPECT_THAT(text, HasSubstr("  all-reduce           i,j               1         4 B        56 B        16 B"));
  EXPECT_THAT(text, HasSubstr("all-reduce #2 of sum at toy.cpp:10, 4 B; process 3 came last, 5.7 us after the first"));
}

TEST(Report, TextOfADeadlockHasBothSides) {
  const std::string text = report("deadlock", "text");
  EXPECT_THAT(text, StartsWith("order-mismatch: process 3 issues matmul(y, x) at toy.cpp:36 where"));
  EXPECT_THAT(text, HasSubstr("process 3: matmul #5"));
  EXPECT_THAT(text, HasSubstr("process 0: matmul #5"));
  EXPECT_THAT(text, HasSubstr("2 never ended"));
  EXPECT_THAT(text, HasSubstr("raised, exit code 1 at toy.cpp:31: DiagnosisError"));
}

TEST(Report, TextOfAKilledProcessAndALoss) {
  const std::string text = report("killed", "text");
  EXPECT_THAT(text, HasSubstr("killed by signal 9 (SIGKILL)"));
  EXPECT_THAT(text, HasSubstr("Process 1: 1 record lost"));
}

TEST(Report, EveryFormatOfEverySample) {
  for (const auto* format : all_report_formats()) {
    EXPECT_FALSE(format->doc.empty());
    for (const auto sample : sample::sample_names())
      EXPECT_GT(report(sample, format->name).size(), 100u) << format->name << " of " << sample;
  }
  EXPECT_THAT(report("torn", "text"), HasSubstr("The trace is cut off"));
  EXPECT_THAT(report("torn", "text"), StartsWith("The trace is incomplete, see the notices. What is left has no error: "));
  EXPECT_THAT(report("torn", "html"), HasSubstr("class='verdict unsure'"));
  EXPECT_THAT(report("empty", "text"), StartsWith("No diagnosis: 1 process ran 0 collectives, and all of them match."));
}

TEST(Report, Json) {
  const Json good = Json::parse(report("toy", "json"));
  EXPECT_EQ(good["status"], "passed");
  EXPECT_EQ(good["collectives"]["wire_bytes"], 56);
  EXPECT_EQ(good["collectives"]["by_kind_and_axes"][0]["count"], 1);
  EXPECT_EQ(good["processes"].size(), 4u);
  const Json bad = Json::parse(report("deadlock", "json"));
  EXPECT_EQ(bad["status"], "diagnosed");
  EXPECT_EQ(bad["diagnoses"][0]["code"], "order-mismatch");
  EXPECT_EQ(bad["diagnoses"][0]["processes"], Json::array({3}));
  EXPECT_EQ(bad["diagnoses"][0]["participants"][0]["where"], "toy.cpp:36");
  EXPECT_EQ(bad["diagnoses"][0]["detected_after_ms"], 8.0);
  EXPECT_EQ(Json::parse(report("torn", "json"))["status"], "inconclusive");
}

TEST(Report, Sarif) {
  const Json sarif = Json::parse(report("deadlock", "sarif"));
  EXPECT_EQ(sarif["version"], "2.1.0");
  const Json& run = sarif["runs"].at(0);
  EXPECT_EQ(run["tool"]["driver"]["rules"].at(0)["id"], "order-mismatch");
  const Json& result = run["results"].at(0);
  EXPECT_EQ(result["level"], "error");
  EXPECT_EQ(result["ruleIndex"], 0);
  const Json& place = result["locations"].at(0)["physicalLocation"];
  EXPECT_EQ(place["artifactLocation"]["uri"], "file:///home/user/toy.cpp");
  EXPECT_EQ(place["region"]["startLine"], 36);
  EXPECT_EQ(result["relatedLocations"].at(0)["physicalLocation"]["region"]["startLine"], 31);
  EXPECT_TRUE(Json::parse(report("toy", "sarif"))["runs"][0]["results"].is_array());
}

// The line of an error, where nothing was launched: its file is known by the lines around it.
TEST(Report, AFileIsKnownByItsName) {
  ReportData data;
  data.sites = {{}, {.file = "/src/toy.cpp", .line = 31}, {.file = "/src/toy.cpp", .line = 33}};
  EXPECT_EQ(data.file_of("toy.cpp:33"), "/src/toy.cpp");
  EXPECT_EQ(data.file_of("toy.cpp:34"), "/src/toy.cpp");
  EXPECT_EQ(data.file_of("boy.cpp:34"), "boy.cpp");
  data.sites.push_back({.file = "/other/toy.cpp", .line = 33});
  EXPECT_EQ(data.file_of("toy.cpp:34"), "toy.cpp") << "two of that name";
}

TEST(Report, Junit) {
  const std::string bad = report("deadlock", "junit");
  EXPECT_THAT(bad, HasSubstr("tests=\"1\" failures=\"1\""));
  EXPECT_THAT(bad, HasSubstr("<testcase name=\"order-mismatch\" classname=\"toy.cpp:36\""));
  EXPECT_THAT(bad, HasSubstr("<failure type=\"order-mismatch\" message=\"process 3 issues matmul(y, x) at toy.cpp:36 where"));
  EXPECT_THAT(report("toy", "junit"), HasSubstr("tests=\"1\" failures=\"0\""));
  const std::string killed = report("killed", "junit");
  EXPECT_THAT(killed, HasSubstr("failures=\"1\""));
  EXPECT_THAT(killed, HasSubstr("SIGKILL"));
}

// Two processes that went apart two calls below main; of process 1 no lines are known.
void write_called(const std::string& path) {
  TraceWriter writer(path);
  const auto frame = [&](Id parent, const char* function, int line) {
    return writer.frame({.parent = parent, .function = function, .file = line > 0 ? "/home/user/train.cpp" : "", .line = line});
  };
  const Id step = frame(frame(frame(0, "main", 40), "train", 30), "step", 20), bare = frame(frame(0, "main", 0), "eval", 0);
  const Id own = writer.site({.file = "/home/user/train.cpp", .function = "step", .line = 20});
  const Id other = writer.site({.file = "/home/user/train.cpp", .function = "eval", .line = 9});
  const Id program = writer.add(ProgramRow{.name = "sum", .devices = {0, 1}, .processes = {0, 1}});
  // Another launch of that rank, on other devices.
  const Id elsewhere = writer.add(ProgramRow{.name = "sum", .devices = {0}, .processes = {0}});
  writer.add(LaunchRow{.process = 0, .launch = 0, .seq = 7, .program = elsewhere, .site = own, .issued_ns = 1});
  writer.add(LaunchRow{.process = 0, .launch = 1, .seq = 7, .program = program, .site = own, .issued_ns = 2, .frame = step});
  writer.add(LaunchRow{.process = 1, .launch = 0, .seq = 7, .program = program, .site = other, .issued_ns = 1, .frame = bare});
  Diagnosis diagnosis{.code = "program-mismatch", .severity = "error", .message = "they differ", .processes = {1}};
  diagnosis.participants = {{.process = 1, .seq = 7, .op = "sum", .where = "train.cpp:9", .state = "waiting", .devices = {0, 1}},
                            {.process = 0, .seq = 7, .op = "sum", .where = "train.cpp:20", .state = "waiting", .devices = {0, 1}},
                            {.process = 0, .seq = 7, .op = "sum", .where = "train.cpp:21", .state = "raised", .devices = {0, 1}}};
  writer.add(diagnosis);
  writer.finish();
}

TEST(Report, EachSideIsToldWithTheCallsThatLedToIt) {
  const auto path = (std::filesystem::temp_directory_path() / ("shardlab_called_" + std::to_string(getpid()) + ".db")).string();
  write_called(path);
  TraceReader reader(path);
  const auto in = [&](std::string_view format) {
    std::ostringstream out;
    write_report(reader, format, out);
    return out.str();
  };
  EXPECT_THAT(in("text"), HasSubstr("process 1: sum #7 at train.cpp:9, called in eval, main, waiting\n"));
  EXPECT_THAT(in("text"),
              HasSubstr("process 0: sum #7 at train.cpp:20, called in step, train (train.cpp:30), main (train.cpp:40), waiting\n"))
      << "the launch's own line is not told twice";
  EXPECT_THAT(in("text"), HasSubstr("process 0: sum #7 at train.cpp:21, raised\n")) << "it has gone on from its launch";
  EXPECT_THAT(in("html"), HasSubstr("called in: <code>step, train (train.cpp:30), main (train.cpp:40)</code>"));
  const Json sides = Json::parse(in("json"))["diagnoses"][0]["participants"];
  EXPECT_EQ(sides[0]["callers"], Json::parse(R"([{"function":"eval"},{"function":"main"}])"));
  EXPECT_EQ(sides[1]["callers"].at(1), Json::parse(R"({"function":"train","file":"/home/user/train.cpp","line":30})"));
  EXPECT_FALSE(sides[2].contains("callers"));
  const Json result = Json::parse(in("sarif"))["runs"][0]["results"][0];
  ASSERT_EQ(result["stacks"].size(), 2U);
  EXPECT_EQ(result["stacks"][1]["message"]["text"], "process 0: sum");
  const Json& frame = result["stacks"][1]["frames"].at(2)["location"];
  EXPECT_EQ(frame["physicalLocation"]["artifactLocation"]["uri"], "file:///home/user/train.cpp");
  EXPECT_EQ(frame["physicalLocation"]["region"]["startLine"], 40);
  EXPECT_EQ(frame["logicalLocations"][0]["fullyQualifiedName"], "main");
  EXPECT_FALSE(result["stacks"][0]["frames"][0]["location"].contains("physicalLocation"));
  std::filesystem::remove(path);
}

TEST(Report, AnErrorThatAllRaisedIsToldOnce) {
  const auto path = (std::filesystem::temp_directory_path() / ("shardlab_raised_" + std::to_string(getpid()) + ".db")).string();
  {
    TraceWriter writer(path);
    for (int p = 0; p < 4; ++p)
      writer.add(ProcessRow{
          .process = p, .state = ProcessState::kRaised, .exit_code = 1, .error = p == 2 ? "no such file" : "16 is not divisible by 6"});
    writer.finish();
  }
  TraceReader reader(path);
  std::ostringstream text, json;
  write_report(reader, "text", text);
  write_report(reader, "json", json);
  EXPECT_THAT(text.str(), StartsWith("No diagnosis was recorded, but processes 0, 1 and 3 raised, exit code 1: 16 is not divisible by 6; "
                                     "process 2 raised, exit code 1: no such file.\n"));
  EXPECT_THAT(text.str(), HasSubstr("raised, exit code 1: the same as process 0\n"));
  EXPECT_EQ(Json::parse(json.str())["status"], "error");
  std::filesystem::remove(path);
}

TEST(Report, HtmlShowsTheStatementsOfBothSidesAndFoldsProcesses) {
  const auto path = (std::filesystem::temp_directory_path() / ("shardlab_html_" + std::to_string(getpid()) + ".db")).string();
  {
    TraceWriter writer(path);
    writer.meta("scenario", R"({"program": [{"op": "matmul", "args": ["x", "w<"]}, {"op": "matmul", "args": ["w", "x"]}]})");
    for (int p = 0; p < 512; ++p)
      writer.add(ProcessRow{.process = p, .pid = 1000 + p, .host = p < 256 ? "a" : "b", .state = ProcessState::kLeft});
    Diagnosis diagnosis{
        .code = "program-mismatch", .severity = "error", .message = "they differ", .explain = "see `fields`", .processes = {9}};
    for (int p : {9, 0, 1}) {
      const std::string n = std::to_string(p == 9);
      diagnosis.participants.push_back(
          {.process = p, .op = "matmul", .where = "statement " + n + " (/program/" + n + ")", .statement = p == 9});
    }
    diagnosis.fields = {"shape", "dtype"};
    writer.add(diagnosis);
    writer.finish();
  }
  TraceReader reader(path);
  std::ostringstream out;
  write_report(reader, "html", out);
  const std::string html = out.str();
  EXPECT_THAT(html, HasSubstr("<span class='here'>   1  matmul(w, x)</span>"));
  EXPECT_THAT(html, HasSubstr("<span class='here'>   0  matmul(x, w&lt;)</span>"));
  EXPECT_THAT(html, HasSubstr("<b>process 9</b> <span class='tag'>"));
  EXPECT_THAT(html, HasSubstr("Differs in: <b>shape, dtype</b>"));
  EXPECT_THAT(html, HasSubstr("see <code>fields</code>"));
  EXPECT_EQ(html.find("they differ"), html.rfind("they differ")) << "the verdict is told once";
  EXPECT_THAT(html, HasSubstr("<td class='name'>0-255<td class='name'>1000-1255<td class='name'>a<td>left"));
  std::filesystem::remove(path);
}

TEST(Report, DetailsLeaveOutWhatTheSidesSay) {
  Diagnosis diagnosis;
  diagnosis.details = {{"look_ahead", "2"},
                       {"calls", "4"},
                       {"call chain on process 1", "matmul at a.cpp:1, called in f"},
                       {"call chain on process 0", "all-reduce of sum at a.cpp:2, in step at a.cpp:1, called in f"}};
  diagnosis.participants.resize(1);
  EXPECT_EQ(details_told(diagnosis).size(), 3U);
  diagnosis.participants[0].callers = "f (a.cpp:1)";
  EXPECT_THAT(details_told(diagnosis),
              testing::ElementsAre(testing::Pair("calls", "4"),
                                   testing::Pair("call chain on process 0", "all-reduce of sum at a.cpp:2, in step at a.cpp:1")));
}

TEST(Report, ARunWithARemarkAloneHasNoError) {
  const auto path = (std::filesystem::temp_directory_path() / ("shardlab_remark_" + std::to_string(getpid()) + ".db")).string();
  {
    TraceWriter writer(path);
    writer.add(ProcessRow{.process = 0, .state = ProcessState::kLeft});
    writer.add(Diagnosis{.code = "straggler", .severity = "info", .message = "they waited"});
    writer.finish();
  }
  TraceReader reader(path);
  std::ostringstream out;
  write_report(reader, "text", out);
  EXPECT_THAT(
      out.str(),
      StartsWith("No error: 1 process ran 0 collectives, and all of them match; worth knowing: straggler.\nstraggler: they waited"));
  std::filesystem::remove(path);
}

TEST(SourceLines, ShowAStatementAmongItsNeighbours) {
  const std::string scenario =
      R"({"program": [{"let": "x", "op": "ones", "shape": [4, 8]}, {"let": "y", "op": "device_put", "args": ["x"], "sharding": ["a", null]},
          {"repeat": 3, "body": [{"let": "s", "op": "sum", "args": ["y", 1.5]}, {"op": "fetch", "args": ["s"]}]}]})";
  const SourceLines whole = read_statement_lines(scenario, "/program/1", 2);
  EXPECT_EQ(whole.first, 0);
  EXPECT_EQ(whole.line, 1);
  EXPECT_THAT(whole.lines,
              testing::ElementsAre("x = ones(shape: [4, 8])", "y = device_put(x, sharding: [a, None])", "repeat: 3, body: 2 statements"));
  EXPECT_THAT(read_statement_lines(scenario, "/program/2/body/0", 0).lines, testing::ElementsAre("s = sum(y, 1.5)"));
  for (const char* nowhere : {"", "/program", "/program/3", "/program/1/body/0", "/limits/0", "/program/x", "/~/1"})
    EXPECT_TRUE(read_statement_lines(scenario, nowhere, 1).lines.empty()) << nowhere;
  EXPECT_TRUE(read_statement_lines("no document", "/program/1", 1).lines.empty());
  EXPECT_EQ(pointer_of("statement 4 (/program/4)"), "/program/4");
  EXPECT_EQ(pointer_of("statement 4 (/program/4, line 12)"), "/program/4");
  EXPECT_EQ(pointer_of("toy.cpp:4"), "");
  EXPECT_EQ(pointer_of(""), "");
}

TEST(SourceLines, AreFoundAsGivenAndBesideTheTrace) {
  const auto folder = std::filesystem::temp_directory_path() / ("shardlab_lines_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "toy.cpp") << "int main() {\r\n  f();\r\n}\n";
  const std::string trace = (folder / "t.db").string();
  for (const std::string& file : {(folder / "toy.cpp").string(), std::string("/nowhere/toy.cpp"), std::string("toy.cpp")}) {
    const SourceLines lines = read_source_lines(file + ":2", trace, 1);
    EXPECT_EQ(lines.file, (folder / "toy.cpp").string());
    EXPECT_THAT(lines.lines, testing::ElementsAre("int main() {", "  f();", "}"));
    EXPECT_EQ(lines.first, 1);
  }
  for (const char* nowhere : {"toy.cpp", "toy.cpp:0", "toy.cpp:9", ":2", "boy.cpp:1", ""})
    EXPECT_TRUE(read_source_lines(nowhere, trace, 1).lines.empty()) << nowhere;
  std::filesystem::remove_all(folder);
}

TEST(Report, HtmlLoadsNothingAndEscapes) {
  const std::string html = report("deadlock", "html");
  EXPECT_THAT(html, HasSubstr("class='side guilty'"));
  EXPECT_THAT(html, HasSubstr("P(&#39;b&#39;, None)"));
  for (const char* no : {"<script", "src=", "href=", "url(", "http"}) EXPECT_THAT(html, Not(HasSubstr(no)));
}

// Every tag that is opened is closed, in order: what XML demands of the pictures too.
void expect_balanced(const std::string& markup) {
  std::vector<std::string> open;
  for (std::size_t at = 0; (at = markup.find('<', at)) != std::string::npos;) {
    const std::size_t end = markup.find('>', at);
    ASSERT_NE(end, std::string::npos);
    const std::string tag = markup.substr(at + 1, end - at - 1);
    at = end + 1;
    if (tag.ends_with('/')) continue;
    if (tag.starts_with('/')) {
      ASSERT_FALSE(open.empty()) << tag;
      EXPECT_EQ("/" + open.back(), tag);
      open.pop_back();
    } else {
      open.push_back(tag.substr(0, tag.find(' ')));
    }
  }
  EXPECT_TRUE(open.empty());
}

TEST(Report, TheWaitForGraphHasAnArrowForEachWait) {
  Evidence evidence;
  for (int p = 0; p < 3; ++p) evidence.processes.push_back({.process = p, .state = ProcessState::kRunning});
  // 0 waits for 1 (at another call), 1 for 2 (at none), and the texts are not trusted.
  evidence.programs = {{.fingerprint = 1, .name = "f<&>", .processes = {0, 1}}, {.fingerprint = 2, .name = "g", .processes = {1, 2}}};
  evidence.processes[0].calls = {{.fingerprint = 1, .op = "f<&>", .where = "toy.cpp:1"}};
  evidence.processes[1].calls = {{.fingerprint = 2, .op = "g", .where = "toy.cpp:2"}};
  const std::string svg = wait_graph_svg(evidence);
  expect_balanced(svg);
  auto count = [&](const std::string& what) {
    int n = 0;
    for (std::size_t at = 0; (at = svg.find(what, at)) != std::string::npos; ++at) ++n;
    return n;
  };
  EXPECT_EQ(count("class='edge'"), 2);
  EXPECT_EQ(count("<circle"), 3);
  EXPECT_EQ(count("class='node gone'"), 1);
  EXPECT_THAT(svg, HasSubstr("f&lt;&amp;&gt;"));
  EXPECT_EQ(wait_graph_svg(Evidence{}), "");
}

TEST(Report, AShardingIsDrawnWithItsDevices) {
  const std::vector<int> devices{0, 1, 2, 3, 4, 5};
  const std::string cut = sharding_svg("float32[6,4] P('a', 'b')", "Mesh('a': 3, 'b': 2)", devices);
  expect_balanced(cut);
  for (int d : devices) EXPECT_THAT(cut, HasSubstr(fmt::format(">{}</text>", d)));
  // Two axes on one dimension, and the other order of the mesh.
  EXPECT_THAT(sharding_svg("float32[12] P(('b', 'a'),)", "Mesh('a': 3, 'b': 2)", devices), HasSubstr(">0</text>"));
  EXPECT_THAT(sharding_svg("float32[6,4] P('a', None)", "Mesh('a': 3, 'b': 2)", {5, 4, 3, 2, 1, 0}), HasSubstr(">5,4</text>"));
  EXPECT_THAT(sharding_svg("float32[] P()", "Mesh('a': 3, 'b': 2)", devices), HasSubstr(">0,1,2,3,4,5</text>"));
  EXPECT_EQ(sharding_svg("float32[8] host", "Mesh('a': 3, 'b': 2)", devices), "");
  EXPECT_EQ(sharding_svg("float32[8] P('c',)", "Mesh('a': 3, 'b': 2)", devices), "");
  EXPECT_EQ(sharding_svg("", "", {}), "");
}

TEST(Report, SpecsThatCutAlikeAreTheSame) {
  EXPECT_TRUE(same_spec("P('a', None)", "P('a',)"));
  EXPECT_TRUE(same_spec("P()", "P(None, None)"));
  EXPECT_TRUE(same_spec("P(('a', 'b'), None)", "P(('a', 'b'))"));
  EXPECT_TRUE(same_spec("P('a', None) partial over ('b')", "P('a') partial over ('b')"));
  EXPECT_FALSE(same_spec("P('a', None)", "P(None, 'a')"));
  EXPECT_FALSE(same_spec("P(None, 'a')", "P()"));
  EXPECT_FALSE(same_spec("P('a') partial over ('b')", "P('a')"));
  EXPECT_FALSE(same_spec("P(('a', 'b'))", "P('a', 'b')"));
}

// A program with two sums planned: the first was recorded as an all-gather, the second once in two runs; a permute that nobody planned; a
// result that lies otherwise.
void write_otherwise(const std::string& path) {
  TraceWriter writer(path);
  const auto line = [&](int number) { return writer.site({.file = "/home/user/toy.cpp", .function = "main", .line = number}); };
  const CollectiveShape first{
      .kind = "all-reduce", .groups = "[[0,1]]", .axes = "[\"i\"]", .bytes = 32, .wire_bytes = 64, .op = "sum", .site = line(10)};
  CollectiveShape second = first, gather = first, permute = first;
  second.site = line(11);
  gather.kind = "all-gather", gather.wire_bytes = 4096;
  permute.kind = "collective-permute", permute.groups = "", permute.pairs = "[[0,1]]", permute.site = line(12);
  ProgramRow program{.name = "step", .devices = {0, 1}, .processes = {0}, .collectives = {first, second}};
  program.values = {{true, "", "float32", "P('i', None)", {4, 4}}};
  const Id id = writer.add(program);
  for (int run = 0; run < 2; ++run) {
    writer.add(LaunchRow{.launch = run, .seq = run, .program = id, .issued_ns = 10 + run, .started_ns = 20 + run, .done_ns = 30 + run});
    writer.add(CollectiveRow{.program = id, .call = 0, .launch = run, .what = gather});
    if (run == 0) writer.add(CollectiveRow{.program = id, .call = 1, .launch = run, .what = second});
    writer.add(CollectiveRow{.program = id, .call = 2, .launch = run, .what = permute});
    const Id layout = writer.add(LayoutRow{.shape = {4, 4}, .spec = run == 0 ? "P('i')" : "P(None, 'i')", .axes = {{}, {}}});
    writer.add(ArrayRow{.name = "w", .dtype = "float32", .layout = layout, .launch = run, .site = line(13), .time_ns = 20 + run});
  }
  writer.finish();
}

TEST(Report, WhatCameOtherwiseThanPlannedIsAWarningAtItsLine) {
  const auto path = (std::filesystem::temp_directory_path() / ("shardlab_otherwise_" + std::to_string(getpid()) + ".db")).string();
  write_otherwise(path);
  TraceReader reader(path);
  const auto in = [&](std::string_view format) {
    std::ostringstream out;
    write_report(reader, format, out);
    return out.str();
  };
  const std::string messages[] = {
      "step has planned all-reduce over i of sum, 32 B on a device, 64 B on the wire, and what was recorded is all-gather over i of "
      "sum, 32 B on a device, 4.0 KiB on the wire",
      "step has planned all-reduce over i of sum, 32 B on a device, 64 B on the wire once a run, and it was recorded once in 2 runs",
      "collective-permute over i of sum, 32 B on a device, 64 B on the wire was recorded 2 times in step, whose plan does not have it",
      "result 0 of step, w was planned as P('i', None) and lies as P(None, 'i')"};
  const Json sarif = Json::parse(in("sarif"))["runs"][0];
  ASSERT_EQ(sarif["results"].size(), 4U);
  EXPECT_EQ(sarif["tool"]["driver"]["rules"].size(), 1U);
  for (int i = 0; i < 4; ++i) {
    const Json& result = sarif["results"][std::size_t(i)];
    EXPECT_EQ(result["ruleId"], "not-as-planned");
    EXPECT_EQ(result["level"], "warning");
    EXPECT_EQ(result["message"]["text"], messages[i]);
    EXPECT_EQ(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "file:///home/user/toy.cpp");
    EXPECT_EQ(result["locations"][0]["physicalLocation"]["region"]["startLine"], 10 + i);
    EXPECT_THAT(in("text"), HasSubstr(fmt::format("  toy.cpp:{}: warning: {}\n", 10 + i, messages[i])));
  }
  EXPECT_EQ(Json::parse(in("json"))["otherwise_than_planned"].size(), 4U);
  EXPECT_THAT(in("junit"), HasSubstr("<testcase name=\"not-as-planned\" classname=\"toy.cpp:13\""));
  EXPECT_THAT(in("junit"), HasSubstr("failures=\"0\""));
  EXPECT_THAT(in("html"), HasSubstr("<h2>Otherwise than planned</h2>"));
  std::filesystem::remove(path);
  for (const auto sample : sample::sample_names())
    EXPECT_EQ(Json::parse(report(sample, "json"))["otherwise_than_planned"].size(), 0U) << sample;
}

TEST(Report, UnknownFormatNamesTheNearest) {
  try {
    report("toy", "jsn");
    FAIL();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("no report format 'jsn'; did you mean 'json'?; known: text, json, html, sarif, junit"));
  }
}

TEST(Report, Units) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(1536), "1.5 KiB");
  EXPECT_EQ(bytes_text(INT64_MAX), "8.0 EiB");
  EXPECT_EQ(duration_text(999), "999 ns");
  EXPECT_EQ(duration_text(1'500'000), "1.50 ms");
}

}  // namespace
}  // namespace shardlab::traces
