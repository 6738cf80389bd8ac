// Several hosts, imitated by network namespaces on one switch, or on a relay that holds packets up: each has two processes of two devices.
// The same loss to the last bit as on one host; the bytes of the plan on every link and on every cable; slow and lossy networks; a cable
// that is cut. Skipped, with the reason, where namespaces are not permitted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/text.h"
#include "scenarios/launch/child_process.h"
#include "tests/support/shell.h"

extern char** environ;

namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

using shardlab::support::Ran;
using shardlab::support::shell;

// Hosts 198.51.100.1, 198.51.100.2 … as network namespaces, each with a cable to one switch; or all of them on a relay that holds packets
// up and loses some, as its words say (link_relay.cpp). Taken down on destruction.
class Network {
 public:
  explicit Network(int hosts, const std::string& relay = "") : hosts_(hosts), name_("slt" + std::to_string(getpid())) {
    std::string spaces, addresses;
    for (int h = 0; h < hosts; ++h) {
      spaces += "ip netns add " + space(h) + "; ";
      addresses += "ip -n " + space(h) + " addr add 198.51.100." + std::to_string(h + 1) + "/24 dev eth0; ip -n " + space(h) +
                   " link set eth0 up; ip -n " + space(h) + " link set lo up; ";
    }
    make(spaces);
    if (why_not_.empty() && relay.empty()) make(cables());
    if (why_not_.empty() && !relay.empty()) start_relay(relay);
    if (why_not_.empty()) make(addresses);
  }
  ~Network() {
    relay_.reset();
    for (int h = 0; h < hosts_; ++h) shell("ip netns del " + space(h));
    shell("ip netns del " + space("sw"));
  }
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

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
  // A shell line that takes the last host off the network: its cable goes, or no packet passes any more and nobody is told.
  std::string cut() const {
    return relay_ ? "kill -USR1 " + std::to_string(relay_->pid()) : "ip -n " + space(hosts_ - 1) + " link set eth0 down";
  }

 private:
  std::string space(int host) const { return space("h" + std::to_string(host)); }
  std::string space(const std::string& part) const { return name_ + part; }
  void make(const std::string& lines) {
    Ran ran = shell("set -e; " + lines);
    if (ran.code != 0) why_not_ = ran.output;
  }
  std::string cables() const {
    std::string lines =
        "ip netns add " + space("sw") + "; ip -n " + space("sw") + " link add br0 type bridge; ip -n " + space("sw") + " link set br0 up; ";
    for (int h = 0; h < hosts_; ++h) {
      std::string cable = name_ + "c" + std::to_string(h);
      lines += "ip link add " + cable + " type veth peer name eth0 netns " + space(h) + "; ip link set " + cable + " netns " + space("sw") +
               "; ip -n " + space("sw") + " link set " + cable + " master br0 up; ";
    }
    return lines;
  }
  void start_relay(const std::string& relay) {
    constexpr int kLimitMs = 20'000;
    std::vector<std::string> words{SHARDLAB_LINK_RELAY}, variables;
    for (std::string_view word : shardlab::split(relay, ' ')) words.emplace_back(word);
    for (int h = 0; h < hosts_; ++h) words.push_back(space(h));
    for (char** entry = environ; *entry; ++entry) variables.emplace_back(*entry);
    relay_ = std::make_unique<shardlab::ChildProcess>(shardlab::ChildOptions{.argv = words, .environment = variables});
    pollfd said{relay_->out().get(), POLLIN, 0};
    ::poll(&said, 1, kLimitMs);
    char bytes[1024] = {};
    if (::read(relay_->out().get(), bytes, sizeof bytes - 1) > 0) return;  // it is ready
    pollfd done{relay_->done_fd(), POLLIN, 0};
    ::poll(&done, 1, kLimitMs);
    why_not_ = ::read(relay_->err().get(), bytes, sizeof bytes - 1) > 0 ? bytes : "the relay did not start";
  }

  int hosts_;
  std::string name_, why_not_;
  std::unique_ptr<shardlab::ChildProcess> relay_;
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

void expect_the_same_losses(const Network& network, const std::string& arguments) {
  Ran together = shell(start(network, 2, arguments) + wait_all());
  ASSERT_EQ(together.code, 0) << together.output;
  EXPECT_EQ(losses(together.output), losses(on_one_host(4, arguments).output)) << together.output;
  EXPECT_THAT(together.output, Not(HasSubstr("no sign of life")));
}

TEST(SlowNetwork, DelayLossAndRateAreSurvived) {
  Network network(2);
  if (!network.why_not().empty()) GTEST_SKIP() << "no network namespaces here: " << network.why_not();
  if (std::string why = network.impair("delay 5ms 2ms loss 2% rate 20mbit"); !why.empty()) GTEST_SKIP() << "no netem here: " << why;
  expect_the_same_losses(network, "5");
}

// The same without netem, and worse: packets overtake each other, and every twentieth is lost.
class Relayed : public testing::TestWithParam<const char*> {};

TEST_P(Relayed, DelayLossAndRateAreSurvived) {
  Network network(2, GetParam());
  if (!network.why_not().empty()) GTEST_SKIP() << "no tun devices in network namespaces here: " << network.why_not();
  expect_the_same_losses(network, "5 64");
}

INSTANTIATE_TEST_SUITE_P(, Relayed,
                         testing::Values("delay=5 jitter=2 loss=0.02 mbit=20 seed=1", "delay=20 jitter=15 loss=0.05 mbit=5 seed=2",
                                         "delay=60"));

// What all processes said but their steps, when the last host was cut off. They must end by themselves: timeout would say 124.
std::string cut_while_training(const Network& network) {
  std::string log = testing::TempDir() + "/cut-" + std::to_string(getpid());
  auto begin = std::chrono::steady_clock::now();
  Ran ran = shell("exec > " + log + " 2>&1; " + start(network, 2, "1000000") + "for i in $(seq 300); do grep -q 'step 20 ' " + log +
                  " && break; sleep 0.1; done; " + network.cut() + "; code=0; for p in $pids; do wait $p; c=$?; echo \"code $c\"; done");
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::string output = shell("grep -v ' step ' " + log + "; rm " + log).output;
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(output, AllOf(Not(HasSubstr("code 0\n")), Not(HasSubstr("code 124\n"))));
  EXPECT_LT(seconds, 55) << output;
  return output;
}

// The kernel of each host knows at once that its cable is gone, or of nothing.
TEST(CutCable, EndsTheJobWithinTheLimits) {
  Network network(2);
  if (!network.why_not().empty()) GTEST_SKIP() << "no network namespaces here: " << network.why_not();
  EXPECT_THAT(cut_while_training(network), testing::AnyOf(HasSubstr("the connection of process"), HasSubstr("fallen silent"),
                                                          HasSubstr("disappeared"), HasSubstr("its stream to process")));
}

TEST(CutRelay, EachSideSaysWhomItHasLost) {
  Network network(2, "delay=2");
  if (!network.why_not().empty()) GTEST_SKIP() << "no tun devices in network namespaces here: " << network.why_not();
  std::string output = cut_while_training(network);
  for (const char* lost : {"2", "3"}) {
    EXPECT_THAT(output, ContainsRegex(std::string("shardlab: process ") + lost +
                                      " \\(pid [0-9]+ on [^)]*\\) has given no sign of life for [0-9.]+ s: it is stopped, or its host "
                                      "cannot be reached; last "));
    EXPECT_THAT(output, HasSubstr(std::string("the coordinator at 198.51.100.1:7000 is gone: its stream to process ") + lost + " broke"));
  }
  EXPECT_THAT(output, ContainsRegex("process-stuck: process [23] has fallen silent, stopped or cut off"));
}

}  // namespace
