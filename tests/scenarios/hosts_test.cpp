// Several hosts, imitated by network namespaces on one switch: each has two processes of two devices. The same loss to the last bit as on
// one host; the bytes of the plan on every link and on every cable; slow and lossy networks; a cable that is cut. Skipped, with the reason,
// where namespaces are not permitted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/shell.h"

namespace {

using testing::HasSubstr;

using shardlab::support::Ran;
using shardlab::support::shell;

// Hosts 198.51.100.1, 198.51.100.2 … as network namespaces, each with a cable to one switch. Taken down on destruction.
class Network {
 public:
  explicit Network(int hosts) : hosts_(hosts), name_("slt" + std::to_string(getpid())) {
    std::string lines = "set -e; ip netns add " + space("sw") + "; ip -n " + space("sw") + " link add br0 type bridge; ip -n " +
                        space("sw") + " link set br0 up; ";
    for (int h = 0; h < hosts; ++h) {
      std::string host = space(h), cable = name_ + "c" + std::to_string(h);
      lines += "ip netns add " + host + "; ip link add " + cable + " type veth peer name eth0 netns " + host + "; ip link set " + cable +
               " netns " + space("sw") + "; ip -n " + space("sw") + " link set " + cable + " master br0 up; ip -n " + host +
               " addr add 198.51.100." + std::to_string(h + 1) + "/24 dev eth0; ip -n " + host + " link set eth0 up; ip -n " + host +
               " link set lo up; ";
    }
    Ran ran = shell(lines);
    if (ran.code != 0) why_not_ = ran.output;
  }
  ~Network() {
    for (int h = 0; h < hosts_; ++h) shell("ip netns del " + space(h));
    shell("ip netns del " + space("sw"));
  }
  const std::string& why_not() const { return why_not_; }
  std::string in(int host) const { return "ip netns exec " + space(host) + " "; }
  // Of every host's way out; what tc says where it does not.
  std::string impair(const std::string& netem) const {
    for (int h = 0; h < hosts_; ++h) {
      Ran ran = shell("ip netns exec " + space(h) + " tc qdisc add dev eth0 root netem " + netem);
      if (ran.code != 0) return ran.output;
    }
    return "";
  }
  // What has left the host by its cable.
  std::int64_t sent_by(int host) const {
    return std::atoll(shell("ip netns exec " + space(host) + " cat /sys/class/net/eth0/statistics/tx_bytes").output.c_str());
  }
  std::string cut(int host) const { return "ip -n " + space(host) + " link set eth0 down"; }

 private:
  std::string space(int host) const { return name_ + "h" + std::to_string(host); }
  std::string space(const char* part) const { return name_ + part; }
  int hosts_;
  std::string name_, why_not_;
};

// The distinct losses that any process printed, by step.
std::set<std::string> losses(const std::string& output) {
  std::set<std::string> found;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);)
    if (std::size_t at = line.find("step "); at != std::string::npos) found.insert(line.substr(at));
  return found;
}

constexpr int kProcessesPerHost = 2;

// Shell lines that start all processes by hand in the background; their numbers in $pids. `arguments` of the program: its steps first.
std::string start(const Network& network, int hosts, const std::string& arguments) {
  int processes = hosts * kProcessesPerHost;
  std::string lines = "export SHARDLAB_NUM_CPU_DEVICES=2; pids=; ";
  for (int p = 0; p < processes; ++p)
    lines += network.in(p / kProcessesPerHost) + "timeout -k 1 60 $BIN/train_step 198.51.100.1:7000 " + std::to_string(p) + " " +
             std::to_string(processes) + " " + arguments + " & pids=\"$pids $!\"; ";
  return lines;
}

std::string wait_all() { return "code=0; for p in $pids; do wait $p || code=$?; done; exit $code"; }

Ran on_one_host(int processes, const std::string& arguments) {
  return shell("$BIN/shardlab run --limit 100 -n " + std::to_string(processes) + " -d 2 -- $BIN/train_step " + arguments);
}

// What the processes say of their links in the end, by the sender and the receiver.
struct LinkBytes {
  bool same_host = false;
  std::int64_t planned = 0, sent = 0;
};
std::map<std::pair<int, int>, LinkBytes> links(const std::string& output) {
  static const std::regex kLine("process ([0-9]+) to ([0-9]+) (here|elsewhere) planned ([0-9]+) sent ([0-9]+) in");
  std::map<std::pair<int, int>, LinkBytes> found;
  for (std::sregex_iterator each(output.begin(), output.end(), kLine), end; each != end; ++each)
    found[{std::stoi((*each)[1]), std::stoi((*each)[2])}] = {(*each)[3] == "here", std::stoll((*each)[4]), std::stoll((*each)[5])};
  return found;
}

class Hosts : public testing::TestWithParam<int> {};

TEST_P(Hosts, TheSameLossToTheLastBit) {
  int hosts = GetParam();
  Network network(hosts);
  if (!network.why_not().empty()) GTEST_SKIP() << "no network namespaces here: " << network.why_not();
  Ran together = shell(start(network, hosts, "5") + wait_all());
  ASSERT_EQ(together.code, 0) << together.output;
  Ran alone = on_one_host(hosts * kProcessesPerHost, "5");
  ASSERT_EQ(alone.code, 0) << alone.output;
  EXPECT_EQ(losses(together.output), losses(alone.output)) << together.output;
  EXPECT_EQ(losses(together.output).size(), 5u) << "all processes print the same";
}

// A gradient of a megabyte, so that data and not the control plane is what the cables carry.
TEST_P(Hosts, CablesCarryWhatThePlansSay) {
  constexpr int kSteps = 3, kWidth = 512;
  constexpr std::int64_t kGradientBytes = std::int64_t(kWidth) * kWidth * 4;
  int hosts = GetParam();
  Network network(hosts);
  if (!network.why_not().empty()) GTEST_SKIP() << "no network namespaces here: " << network.why_not();
  std::vector<std::int64_t> before;
  for (int h = 0; h < hosts; ++h) before.push_back(network.sent_by(h));
  std::string arguments = std::to_string(kSteps) + " " + std::to_string(kWidth);
  Ran ran = shell(start(network, hosts, arguments) + wait_all());
  ASSERT_EQ(ran.code, 0) << ran.output;
  EXPECT_EQ(losses(ran.output), losses(on_one_host(hosts * kProcessesPerHost, arguments).output)) << ran.output;

  auto found = links(ran.output);
  ASSERT_EQ(found.size(), std::size_t(hosts * kProcessesPerHost * (hosts * kProcessesPerHost - 1))) << ran.output;
  std::vector<std::int64_t> leaving(std::size_t(hosts), 0);
  std::int64_t crossing = 0;
  for (const auto& [ends, bytes] : found) {
    int from = ends.first / kProcessesPerHost, to = ends.second / kProcessesPerHost;
    EXPECT_EQ(bytes.same_host, from == to) << ends.first << " to " << ends.second;
    EXPECT_EQ(bytes.sent, bytes.planned) << ends.first << " to " << ends.second;
    if (from == to) continue;
    leaving[std::size_t(from)] += bytes.sent;
    crossing += bytes.sent;
  }
  // Every step reduces the gradient and the loss: each part of the gradient goes to the host that combines it and back.
  std::int64_t each_step = 2 * std::int64_t(hosts - 1) * kGradientBytes;
  EXPECT_GE(crossing, kSteps * each_step);
  EXPECT_LE(crossing, kSteps * each_step + 4096) << "the losses alone beside it";
  // Frames and acknowledgements make it more, and so does the control plane.
  for (int h = 0; h < hosts; ++h) {
    std::int64_t seen = network.sent_by(h) - before[std::size_t(h)], planned = leaving[std::size_t(h)];
    EXPECT_GE(seen, planned) << "host " << h;
    EXPECT_LE(seen, planned + planned / 8 + (1 << 20)) << "host " << h;
  }
}

INSTANTIATE_TEST_SUITE_P(, Hosts, testing::Values(2, 4));

TEST(SlowNetwork, DelayLossAndRateAreSurvived) {
  Network network(2);
  if (!network.why_not().empty()) GTEST_SKIP() << "no network namespaces here: " << network.why_not();
  if (std::string why = network.impair("delay 5ms 2ms loss 2% rate 20mbit"); !why.empty()) GTEST_SKIP() << "no netem here: " << why;
  Ran together = shell(start(network, 2, "5") + wait_all());
  ASSERT_EQ(together.code, 0) << together.output;
  EXPECT_EQ(losses(together.output), losses(on_one_host(4, "5").output)) << together.output;
}

TEST(CutCable, EndsTheJobWithinTheLimits) {
  Network network(2);
  if (!network.why_not().empty()) GTEST_SKIP() << "no network namespaces here: " << network.why_not();
  std::string log = testing::TempDir() + "/cut-" + std::to_string(getpid());
  auto begin = std::chrono::steady_clock::now();
  // The cable goes once training runs. Both sides must end by themselves: timeout would say 124.
  Ran ran = shell("exec > " + log + " 2>&1; " + start(network, 2, "1000000") + "for i in $(seq 300); do grep -q 'step 20 ' " + log +
                  " && break; sleep 0.1; done; " + network.cut(1) + "; code=0; for p in $pids; do wait $p; c=$?; echo \"code $c\"; done");
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::string output = shell("cat " + log + "; rm " + log).output;
  std::string tail = output.substr(output.size() - std::min<std::size_t>(output.size(), 4000));
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(output.find("code 0\n"), std::string::npos) << tail;
  EXPECT_EQ(output.find("code 124\n"), std::string::npos) << tail;
  EXPECT_LT(seconds, 55) << tail;
  EXPECT_THAT(tail, testing::AnyOf(HasSubstr("the connection of process"), HasSubstr("disappeared"), HasSubstr("its stream to process")))
      << tail;
}

}  // namespace
