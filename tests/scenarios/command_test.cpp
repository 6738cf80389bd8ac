// The shardlab command: exit codes, outputs, runs of several processes.

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/base/error.h"
#include "tests/scenarios/command_line.h"
#include "tests/support/quickest.h"

namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

using namespace shardlab::command_tests;
using shardlab::support::Ran;

TEST(Command, HelpNamesEachCommandThatIsThere) {
  Ran ran = shell("$SHARDLAB --help");
  EXPECT_EQ(ran.code, 0);
  for (const char* name : {"run", "replay", "check", "report", "view", "doctor"}) EXPECT_THAT(ran.output, HasSubstr(name));
  EXPECT_THAT(ran.output, Not(HasSubstr("worker")));
  EXPECT_EQ(shell("$SHARDLAB replay --help").code, 0);
}

TEST(Command, MistakesSayWhatToTry) {
  Ran ran = shell("$SHARDLAB reply x.json");
  EXPECT_EQ(ran.code, 3);
  EXPECT_THAT(ran.output, HasSubstr("did you mean 'replay'?"));
  ran = shell("$SHARDLAB replay --reprot R.json x.json");
  EXPECT_EQ(ran.code, 3);
  EXPECT_THAT(ran.output, HasSubstr("did you mean '--report'?"));
  ran = shell("$SHARDLAB run -n many -- true");
  EXPECT_EQ(ran.code, 3);
  EXPECT_THAT(ran.output, HasSubstr("wants an integer from 1"));
  EXPECT_EQ(shell("$SHARDLAB replay /nowhere.json").code, 3);
  EXPECT_EQ(shell("$SHARDLAB run -- ./no-such-program").code, 3);
  EXPECT_EQ(shell("$SHARDLAB").code, 3);
  EXPECT_THAT(shell("$SHARDLAB report /etc/passwd").output, HasSubstr("/etc/passwd: not a trace: it is no SQLite file\n"));
  ran = shell("$SHARDLAB run --trace /no/such/folder/t.db -- echo it ran");
  EXPECT_EQ(ran.code, 3);
  EXPECT_THAT(ran.output, HasSubstr("no trace can be written to /no/such/folder/t.db: /no/such/folder: No such file or directory"));
  EXPECT_EQ(ran.output.find("it ran"), std::string::npos);
}

TEST(Command, DoctorIsHonest) {
  Ran ran = shell("$SHARDLAB doctor");
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.output, HasSubstr("usable cores"));
  EXPECT_THAT(ran.output, HasSubstr("GPU"));
  for (const char* transport : {" auto: ", " shm: ", " tcp: ", " mpi: "}) EXPECT_THAT(ran.output, HasSubstr(transport));
}

TEST(Replay, MakesTheFolderOfASimulatedTrace) {
  Ran ran = shell("rm -rf made; $SHARDLAB replay " + corpus("straggler.json") + " --run simulated --trace-dir made/here; ls made/here");
  EXPECT_EQ(ran.code, 0) << ran.output;
  EXPECT_THAT(ran.output, HasSubstr("\n0000-straggler.db"));
}

TEST(Replay, TheToyOfFourProcesses) {
  Ran ran = shell("$SHARDLAB replay " + corpus("toy.json") + " --report toy.json --junit toy.xml --trace toy.db");
  ASSERT_EQ(ran.code, 0) << ran.output;
  json report = report_at("toy.json");
  EXPECT_EQ(report["status"], "passed");
  EXPECT_EQ(report["collectives"].size(), 1U);
  EXPECT_EQ(report["collectives"][0]["wire_bytes"], 56);
  EXPECT_EQ(report["arrays"]["x"]["values"][31], 31);
  EXPECT_EQ(report["expectations"].size(), 6U);
  EXPECT_EQ(report["trace"], "toy.db");
  EXPECT_TRUE(fs::exists(testing::TempDir() + "toy.db"));
  EXPECT_EQ(shell("$SHARDLAB report toy.db").code, 0);
}

TEST(Replay, AnUnknownWayToRunIsTheOptionsError) {
  Ran ran = shell("$SHARDLAB replay " + corpus("toy.json") + " --run simulate");
  EXPECT_EQ(ran.code, 3);
  EXPECT_THAT(ran.output, HasSubstr("shardlab replay: --run wants one of auto, spawned, simulated, got 'simulate'"));
  EXPECT_THAT(ran.output, HasSubstr("did you mean 'simulated'?"));
}

TEST(Replay, OneAndFourProcessesGiveTheSameBits) {
  ASSERT_EQ(shell("$SHARDLAB replay " + corpus("toy.json") + " --report four.json").code, 0);
  ASSERT_EQ(shell("$SHARDLAB replay " + corpus("toy_one_process.json") + " --report one.json").code, 0);
  EXPECT_EQ(report_at("four.json")["arrays"]["y"]["values"], report_at("one.json")["arrays"]["y"]["values"]);
}

TEST(Replay, ADeadlockIsDiagnosedWithBothStatements) {
  std::ifstream file(corpus("deadlock_operands_swapped.json"));
  json document = json::parse(file);
  document.erase("expect");
  std::string path = write("deadlock.json", document.dump());
  auto detected_after_ms = [&] {
    Ran ran = shell("$SHARDLAB replay " + path + " --report deadlock_report.json --no-failure-traces");
    EXPECT_EQ(ran.code, 2) << ran.output;
    json report = report_at("deadlock_report.json");
    EXPECT_EQ(report["status"], "diagnosed");
    EXPECT_EQ(report["diagnoses"].size(), 1U);
    json diagnosis = report["diagnoses"].at(0);
    EXPECT_EQ(diagnosis["code"], "program-mismatch");
    EXPECT_EQ(diagnosis["processes"], json::parse("[3]"));
    EXPECT_EQ(diagnosis["participants"][0]["statement"], 5);
    return diagnosis["detected_after_ms"].get<double>();
  };
  EXPECT_LT(shardlab::support::quickest(100, 5, detected_after_ms), 100);
}

TEST(Run, SaysWhatIsMissingForGpus) {
  if (std::filesystem::exists("/dev/nvidiactl")) GTEST_SKIP() << "this machine has a GPU";
  Ran ran = shell("$SHARDLAB run --backend cuda -- true");
  EXPECT_EQ(ran.code, 3) << ran.output;
  EXPECT_THAT(ran.output, HasSubstr("shardlab run --backend cuda: there are no cuda devices: "));
  EXPECT_THAT(ran.output, HasSubstr("To go on with virtual CPU devices"));
  ran = shell("$SHARDLAB run --backend cudo -- true");
  EXPECT_THAT(ran.output, HasSubstr("there is no platform 'cudo'; did you mean 'cuda'?"));
}

TEST(Replay, ExitCodes) {
  std::string good = write("good.json", R"({"shardlab": 1, "program": []})");
  std::string fails =
      write("fails.json", R"({"shardlab": 1, "program": [], "expect": [{"wire_bytes": {"at_most": 0}}, {"diagnosis": "deadlock"}]})");
  std::string wrong = write("wrong.json", R"({"shardlab": 1, "program": [{"op": "sine"}]})");
  std::string skipped = write("skipped.json", R"({"shardlab": 1, "cluster": {"backend": "cuda"}, "program": []})");
  std::string slow =
      write("slow.json", R"({"shardlab": 1, "cluster": {"run": "spawned"}, "program": [{"let": "x", "op": "ones", "shape": [2]}],
                                           "faults": [{"at": 0, "do": "hang"}]})");
  EXPECT_EQ(shell("$SHARDLAB replay " + good).code, 0);
  EXPECT_EQ(shell("$SHARDLAB replay " + fails).code, 1);
  Ran ran = shell("$SHARDLAB replay " + wrong);
  EXPECT_EQ(ran.code, 3);
  EXPECT_THAT(ran.output, HasSubstr("at \"/program/0/op\": unknown op 'sine'; did you mean 'sin'?"));
  ran = shell("$SHARDLAB replay --limit 1 --no-failure-traces " + slow);
  EXPECT_EQ(ran.code, 5) << ran.output;
  EXPECT_EQ(shell("$SHARDLAB replay " + good + " " + fails + " " + wrong).code, 3);
  EXPECT_EQ(shell("$SHARDLAB replay " + good + " " + fails).code, 1);
  bool has_gpu = fs::exists("/dev/nvidiactl");
  EXPECT_EQ(shell("$SHARDLAB replay " + skipped).code, has_gpu ? 3 : 77);
}

// In virtual time, with the verdict; what is recorded is a golden run, as of real processes.
TEST(Replay, SimulatedProcessesLeaveATraceToo) {
  std::string diagnoses = variable("SHARDLAB_SOURCE_DIR") + "/scenarios/diagnoses/";
  for (std::string_view name :
       {"deadlock", "input-divergence.while_loop_per_device", "straggler", "process-killed", "potential-deadlock"}) {
    SCOPED_TRACE(name);
    Ran ran = shell(
        fmt::format("$SHARDLAB replay {}{}.json --run simulated --trace simulated.db --report simulated_report.json", diagnoses, name));
    EXPECT_EQ(ran.code, 0) << ran.output;
    json recorded = json::parse(shell("$SHARDLAB report simulated.db --format json").output);
    json report = report_at("simulated_report.json");
    ASSERT_FALSE(recorded["diagnoses"].empty()) << recorded.dump(1);
    EXPECT_EQ(recorded["diagnoses"][0]["message"], report["diagnoses"][0]["message"]);
    EXPECT_EQ(recorded["processes"].size(), json::parse(std::ifstream(diagnoses + std::string(name) + ".json"))["cluster"]["processes"]);
    ran = shell("$SHARDLAB replay simulated.db");
    EXPECT_EQ(ran.code, 0) << ran.output;
  }
  std::string path =
      write("simulated.json", R"({"shardlab": 1, "name": "two", "cluster": {"processes": 2, "devices": 2, "run": "simulated"},
    "meshes": {"m": {"shape": [4], "axes": ["i"]}},
    "program": [{"let": "x", "op": "arange", "args": [8], "dtype": "float32", "sharding": ["i"]}, {"let": "s", "op": "sum", "args": ["x"]}],
    "expect": [{"trace": "SELECT count(*) FROM collectives JOIN strings ON strings.id = kind WHERE text = 'all-reduce'", "rows": [[1]]},
               {"trace": "SELECT value FROM meta WHERE key = 'clock_domain'", "rows": [["virtual time"]]},
               {"trace": "SELECT count(*) FROM arrays JOIN strings ON strings.id = name WHERE text = 'x'", "rows": [[1]]}]})");
  Ran ran = shell("$SHARDLAB replay " + path);
  EXPECT_EQ(ran.code, 0) << ran.output;
}

TEST(Replay, ALimitEndsWhatComputesForTooLong) {
  std::string path = write("long.json", R"({"shardlab": 1, "program": [{"let": "x", "op": "ones", "shape": [64, 64]},
    {"repeat": 1000000000, "body": [{"let": "x", "op": "matmul", "args": ["x", "x"]}]}]})");
  std::string good = write("good2.json", R"({"shardlab": 1, "program": []})");
  Ran ran = shell("$SHARDLAB replay --limit 1 --report long_report.json " + path + " " + good);
  EXPECT_EQ(ran.code, 5) << ran.output;
  json report = report_at("long_report.json");
  EXPECT_EQ(report[0]["status"], "inconclusive");
  EXPECT_EQ(report[1]["status"], "passed") << "the next scenario has a process again";
}

TEST(Replay, AThousandScenariosRunInOneProcess) {
  std::string lines;
  for (int i = 0; i < 1000; ++i)
    lines +=
        fmt::format(R"({{"shardlab": 1, "name": "s{0}", "cluster": {{"devices": 8}}, "meshes": {{"m": {{"shape": [8], "axes": ["a"]}}}},
      "program": [{{"let": "x", "op": "arange", "args": [16]}}, {{"let": "x", "op": "device_put", "args": ["x"], "sharding": ["a"]}},
      {{"let": "s", "op": "sum", "args": ["x"]}}], "expect": [{{"array": "s", "values": [120]}}]}})",
                    i) +
        " ";
  for (std::size_t at = 0; (at = lines.find("\n", at)) != std::string::npos;) lines[at] = ' ';
  for (std::size_t at = 0; (at = lines.find("} {\"shardlab\"", at)) != std::string::npos;) lines[at + 1] = '\n';
  std::string path = write("thousand.jsonl", lines);
  Ran ran = shell("$SHARDLAB replay -q --report thousand.json " + path);
  EXPECT_EQ(ran.code, 0) << ran.output.substr(0, 2000);
  EXPECT_EQ(report_at("thousand.json").size(), 1000U);
}

TEST(Check, PartitionsWithoutRunning) {
  // As it would run: what is a constant is one here, too.
  EXPECT_THAT(shell("$SHARDLAB check " + corpus("integers_that_are_constants.json")).output, HasSubstr("r0: bool[16,8] P(None, None)"));
  Ran ran = shell("$SHARDLAB check " + corpus("relu_matmul.json"));
  EXPECT_EQ(ran.code, 0) << ran.output;
  EXPECT_THAT(ran.output, HasSubstr("all-reduce over b, for matmul"));
  EXPECT_THAT(ran.output, HasSubstr("P('a', None)"));
  EXPECT_EQ(shell("$SHARDLAB check " + write("wrong2.json", "{")).code, 3);
}

// A golden run: the trace of a scenario, replayed. Its timing differs, what it means does not.
TEST(Golden, ATraceReplaysWhatItRecorded) {
  EXPECT_EQ(shell("$SHARDLAB replay --trace golden.db " + corpus("toy.json")).code, 0);
  Ran same = shell("$SHARDLAB replay golden.db --report golden.json");
  EXPECT_EQ(same.code, 0) << same.output;
  EXPECT_TRUE(report_at("golden.json").at("golden").empty());

  // The program changes: another op, a value and a sharding.
  json document = json::parse(std::ifstream(corpus("toy.json")));
  document["program"].back()["op"] = "max";
  document["program"][2]["sharding"] = {"j", "i"};
  document.erase("expect");
  std::string script =
      "import sqlite3, sys; d = sqlite3.connect('golden.db'); d.execute(\"UPDATE meta SET value = ? WHERE key = 'scenario'\", "
      "(open('changed.json').read(),)); d.commit()";
  write("changed.json", document.dump());
  ASSERT_EQ(shell("python3 -c \"$(cat <<'END'\n" + script + "\nEND\n)\"").code, 0);
  Ran differs = shell("$SHARDLAB replay golden.db --report golden.json");
  EXPECT_EQ(differs.code, 1) << differs.output;
  EXPECT_THAT(differs.output, HasSubstr("array x, sharding: recorded [\"i\",\"j\"], now [\"j\",\"i\"]"));
  EXPECT_THAT(differs.output, HasSubstr("collective of statement 4: recorded"));
  EXPECT_THAT(differs.output, HasSubstr("array y, values: element 0 is"));
  EXPECT_THAT(differs.output, HasSubstr("--update records it again"));
  EXPECT_EQ(report_at("golden.json").at("status"), "failed");

  Ran updated = shell("$SHARDLAB replay golden.db --update");
  EXPECT_EQ(updated.code, 0) << updated.output;
  EXPECT_THAT(updated.output, HasSubstr("updated: array x, sharding"));
  EXPECT_EQ(shell("$SHARDLAB replay golden.db").code, 0);
}

TEST(Golden, AVerdictIsRecordedToo) {
  EXPECT_EQ(shell("$SHARDLAB replay --trace killed.db " + corpus("order_swapped.json")).code, 0);
  EXPECT_EQ(shell("$SHARDLAB replay killed.db").code, 0);
}

TEST(Golden, ATraceOfAProgramIsNoScenario) {
  EXPECT_EQ(shell("$SHARDLAB run -n 4 -d 2 --trace program.db -- $BIN/toy").code, 0);
  Ran ran = shell("$SHARDLAB replay program.db");
  EXPECT_EQ(ran.code, 3);
  EXPECT_THAT(ran.output, HasSubstr("was recorded from a program, not from a scenario"));
}

// The first divergence of two runs, timing aside.
TEST(Diff, TellsWhereTwoRunsWentApart) {
  json document = json::parse(std::ifstream(corpus("toy.json")));
  document.erase("expect");
  write("left.json", document.dump());
  document["program"][2]["sharding"] = {nullptr, "i"};
  write("right.json", document.dump());
  EXPECT_EQ(shell("$SHARDLAB replay --trace left.db left.json && $SHARDLAB replay --trace again.db left.json").code, 0);
  EXPECT_EQ(shell("$SHARDLAB replay --trace right.db right.json").code, 0);
  Ran same = shell("$SHARDLAB diff left.db again.db");
  EXPECT_EQ(same.code, 0) << same.output;
  Ran differs = shell("$SHARDLAB diff left.db right.db");
  EXPECT_EQ(differs.code, 1) << differs.output;
  EXPECT_THAT(differs.output, HasSubstr("P('i', 'j')"));
  EXPECT_THAT(differs.output, HasSubstr("P(None, 'i')"));
  EXPECT_EQ(shell("$SHARDLAB diff left.db").code, 3);
  EXPECT_EQ(shell("$SHARDLAB diff left.db nowhere.db").code, 3);
}

// Its devices are those that it names, in processes of their own too, whatever is the machine's default.
TEST(Replay, AScenarioNamesItsDevices) {
  for (const char* run : {"spawned", "simulated"}) {
    const std::string path = write("devices.json", fmt::format(R"({{"shardlab": 1, "cluster": {{"processes": 2, "run": "{}"}},
      "meshes": {{"m": {{"shape": [2], "axes": ["a"]}}}}, "program": [{{"let": "x", "op": "ones", "shape": [2], "sharding": ["a"]}}]}})",
                                                               run));
    const Ran ran = shell("export SHARDLAB_PLATFORM=cuda; $SHARDLAB replay " + path);
    EXPECT_EQ(ran.code, 0) << ran.output;
  }
}

// It is our fault, whatever it was: what it was doing is told, and the others run.
TEST(Replay, AScenarioThatTakesItsProcessDownSaysWhere) {
  std::string slow = write("slow.json", R"({"shardlab": 1, "meshes": {"m": {"shape": [1], "axes": ["a"]}},
    "functions": {"below": {"params": ["n"], "body": [{"let": "p", "op": "less", "args": ["n", 2000000000]}], "results": ["p"]},
                  "next": {"params": ["n"], "body": [{"let": "n", "op": "add", "args": ["n", 1]}], "results": ["n"]}},
    "program": [{"let": "n", "op": "zeros", "shape": [], "dtype": "int32"},
                {"let": "n", "op": "while_loop", "cond_fn": "below", "body_fn": "next", "args": ["n"]}]})");
  Ran ran = shell("$SHARDLAB replay " + slow + " " + corpus("straggler.json") + R"( -j 1 > crashed.txt 2>&1 & R=$!
    for i in $(seq 400); do W=$(cat /proc/$R/task/$R/children); [ -n "$W" ] && break; sleep 0.02; done
    for i in $(seq 400); do grep -qE '^SigCgt:.*[4-7c-f]..$' /proc/$W/status && break; sleep 0.02; done
    sleep 0.5; kill -SEGV $W; wait $R; echo "exit $?"; cat crashed.txt)");
  EXPECT_THAT(ran.output, HasSubstr("exit 4\n")) << "as for any fault of our own";
  EXPECT_THAT(ran.output, HasSubstr("the process that ran it was killed by signal 11 (SIGSEGV); it crashed in "));
  EXPECT_THAT(ran.output, HasSubstr("shardlab+0x"));
  EXPECT_THAT(ran.output, HasSubstr("1 passed"));
}

TEST(Check, ForeseesDeadlocks) {
  Ran ran = shell("$SHARDLAB check " + corpus("deadlock_operands_swapped.json"));
  EXPECT_EQ(ran.code, 0) << "it is expected: " << ran.output;
  EXPECT_THAT(ran.output, HasSubstr("program-mismatch: process 3 runs matmul"));
  EXPECT_THAT(shell("$SHARDLAB check " + corpus("order_swapped.json")).output, HasSubstr("order-mismatch: process 1"));
  EXPECT_THAT(shell("$SHARDLAB check " + corpus("deadlock_device_put_on_process_0.json")).output,
              HasSubstr("missing-participant: process 0"));
  std::string path = write("foreseen.json", R"({"shardlab": 1, "cluster": {"processes": 2}, "meshes": {"m": {"shape": [2], "axes": ["a"]}},
    "program": [{"let": "x", "op": "ones", "shape": [2], "sharding": ["a"]}, {"op": "sum", "args": ["x"], "on": {"processes": [0]}}]})");
  EXPECT_EQ(shell("$SHARDLAB check " + path).code, 2);
  EXPECT_EQ(shell("$SHARDLAB check " + variable("SHARDLAB_SOURCE_DIR") + "/scenarios/corpus").code, 0);
}

// 8,192 devices: what is said of one process is found in about a third of a second; a way that goes through devices again and again would
// not be.
TEST(Check, ManyDevicesTakeSeconds) {
  Ran ran = shell("ulimit -t 20; $SHARDLAB check -q " + corpus("mlp_step_one_departs.json"));
  EXPECT_EQ(ran.code, 0) << ran.output;
  EXPECT_THAT(ran.output, HasSubstr("program-mismatch: process 170 runs other_rate("));
  EXPECT_THAT(ran.output, HasSubstr("at statement 13 (/program/13, line 76)"));
  EXPECT_THAT(ran.output, HasSubstr("\n  processes 0-169 and 171-511: step #11"));
}

TEST(Run, TheToyProgramPrintsTheSameValueEitherWay) {
  Ran four = shell("$SHARDLAB run -n 4 -d 2 -- $BIN/toy"), one = shell("$SHARDLAB run -n 1 -d 8 -- $BIN/toy");
  EXPECT_EQ(four.code, 0) << four.output;
  EXPECT_EQ(one.code, 0) << one.output;
  EXPECT_THAT(one.output, HasSubstr("-0.123987"));
  std::string value = one.output.substr(one.output.find("-0.123987"));
  EXPECT_THAT(four.output, HasSubstr("[3] " + value));
  EXPECT_THAT(four.output, HasSubstr("[0] ┌"));
}

TEST(Run, DeadlocksExitWithTwoAndNameBothLines) {
  Ran ran = shell("$SHARDLAB run -n 4 -d 4 --limit 60 --trace swapped.db -- $BIN/deadlock_swapped");
  EXPECT_EQ(ran.code, 2) << ran.output;
  EXPECT_THAT(ran.output, HasSubstr("(explained by: shardlab report swapped.db, shown by: shardlab view swapped.db)"));
  EXPECT_THAT(ran.output, HasSubstr("deadlock_swapped.cpp:14"));
  EXPECT_THAT(ran.output, HasSubstr("deadlock_swapped.cpp:16"));
  ran = shell("$SHARDLAB run -n 3 -d 2 --limit 60 -- $BIN/deadlock_device_put");
  EXPECT_EQ(ran.code, 2) << ran.output;
  EXPECT_THAT(ran.output, HasSubstr("deadlock_device_put.cpp:12"));
  ran = shell("$SHARDLAB run -n 2 -d 2 --limit 60 -- $BIN/raises");
  EXPECT_EQ(ran.code, 2) << ran.output;
  EXPECT_THAT(ran.output, HasSubstr("no data on this host"));
#ifdef SHARDLAB_HAS_BACKTRACE  // the program has debugging information
  EXPECT_THAT(ran.output, HasSubstr("[1]   called in local_rows (raises.cpp:9), main (raises.cpp:15)"));
  EXPECT_THAT(ran.output, HasSubstr("raised \"no data on this host\" at raises.cpp:9"));
#else
  EXPECT_THAT(ran.output, HasSubstr("[1]   called in main"));
#endif
}

TEST(Run, ExitCodesAreTheProgramsOwn) {
  EXPECT_EQ(shell("$SHARDLAB run -- sh -c 'exit 7'").code, 7);
  EXPECT_EQ(shell("$SHARDLAB run --limit 1 -- sleep 30").code, 5);
}

}  // namespace
