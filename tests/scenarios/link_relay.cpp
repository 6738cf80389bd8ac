// A network between hosts that are network namespaces, for kernels without netem: a tun device in each, and this program, which carries
// the packets from one to another late, in an uneven time, at a limited rate, and not all of them.
//   link_relay [delay=MS] [jitter=MS] [loss=SHARE] [mbit=RATE] [seed=N] NAMESPACE...
// delay: of each way, give or take up to jitter, by which packets overtake each other; loss: from 0 to 1; mbit: of each host's way out.
// Host i of the list is 198.51.100.(i+1), its device is eth0. Says "ready" once packets pass. SIGUSR1 cuts the last host off: no packet to
// or from it passes any more, and nobody is told. Ends with whoever started it.
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <queue>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;
using Milliseconds = std::chrono::duration<double, std::milli>;

constexpr std::size_t kPacketMax = 65536;
constexpr std::size_t kQueueBytesMax = 256 * 1024;  // before a host's way out; what comes then is dropped, as a switch does

volatile std::sig_atomic_t cut = 0;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "%s: %s\n", what.c_str(), std::strerror(errno));
  std::exit(1);
}

// A device that belongs to the namespace; this process may be in another one.
int tun_in(const std::string& space) {
  int file = open(("/var/run/netns/" + space).c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0 || setns(file, CLONE_NEWNET) != 0) fail("no namespace " + space);
  close(file);
  int tun = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (tun < 0) fail("/dev/net/tun");
  ifreq request{};
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  std::strcpy(request.ifr_name, "eth0");
  if (ioctl(tun, TUNSETIFF, &request) != 0) fail("no tun device in " + space);
  return tun;
}

struct Link {
  Milliseconds delay{0}, jitter{0};
  double loss = 0, bytes_per_ms = 0;  // 0: as fast as it goes
  std::uint64_t seed = 1;
};

struct Packet {
  Time due;
  std::size_t from = 0, to = 0;
  std::string bytes;
  bool operator<(const Packet& other) const { return due > other.due; }  // the first one due is on top of the queue
};

class Relay {
 public:
  Relay(const Link& link, std::vector<int> hosts) : link_(link), hosts_(std::move(hosts)) {
    for (std::size_t h = 0; h < hosts_.size(); ++h) ways_.push_back({std::mt19937_64(link.seed + h), Clock::now()});
  }

  [[noreturn]] void run() {
    while (true) {
      std::vector<pollfd> polled;
      for (int host : hosts_) polled.push_back({host, POLLIN, 0});
      timespec wait = until_next();
      if (ppoll(polled.data(), polled.size(), under_way_.empty() ? nullptr : &wait, nullptr) < 0 && errno != EINTR) fail("poll");
      for (std::size_t h = 0; h < hosts_.size(); ++h) take_all(h);
      for (; !under_way_.empty() && under_way_.top().due <= Clock::now(); under_way_.pop()) deliver(under_way_.top());
    }
  }

 private:
  struct Way {
    std::mt19937_64 chance;
    Time free;  // when the last packet has left
  };

  timespec until_next() const {
    if (under_way_.empty()) return {};
    auto ns = std::max<std::int64_t>(std::chrono::nanoseconds(under_way_.top().due - Clock::now()).count(), 0);
    return {ns / 1'000'000'000, ns % 1'000'000'000};
  }

  void take_all(std::size_t from) {
    char bytes[kPacketMax];
    for (ssize_t n; (n = read(hosts_[from], bytes, sizeof bytes)) > 0;) take(from, std::string_view(bytes, std::size_t(n)));
  }

  void take(std::size_t from, std::string_view bytes) {
    constexpr std::size_t kIpv4Header = 20, kDestinationEnd = 19;
    if (bytes.size() < kIpv4Header || bytes[0] >> 4 != 4) return;
    std::size_t to = std::size_t(static_cast<unsigned char>(bytes[kDestinationEnd])) - 1;
    if (to >= hosts_.size() || to == from) return;
    Way& way = ways_[from];
    std::uniform_real_distribution<double> share(0, 1);
    // Both are drawn for each packet: what becomes of one says nothing about the chances of the next.
    double fate = share(way.chance), unevenness = 2 * share(way.chance) - 1;
    Time now = Clock::now();
    Time begin = std::max(way.free, now);
    if (link_.bytes_per_ms > 0) {
      if (Milliseconds(begin - now).count() * link_.bytes_per_ms > double(kQueueBytesMax)) return;
      way.free = begin + std::chrono::duration_cast<Clock::duration>(Milliseconds(double(bytes.size()) / link_.bytes_per_ms));
    }
    if (fate < link_.loss) return;
    Milliseconds late = link_.delay + link_.jitter * unevenness;
    under_way_.push({std::max(way.free, now) + std::chrono::duration_cast<Clock::duration>(late), from, to, std::string(bytes)});
  }

  void deliver(const Packet& packet) {
    std::size_t last = hosts_.size() - 1;
    if (cut && (packet.from == last || packet.to == last)) return;
    // A device whose queue is full drops it, which is one loss more.
    [[maybe_unused]] ssize_t n = write(hosts_[packet.to], packet.bytes.data(), packet.bytes.size());
  }

  const Link link_;
  const std::vector<int> hosts_;
  std::vector<Way> ways_;
  std::priority_queue<Packet> under_way_;
};

}  // namespace

int main(int argc, char** argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  Link link;
  std::vector<int> hosts;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    std::size_t equals = word.find('=');
    double value = equals == word.npos ? 0 : std::atof(word.c_str() + equals + 1);
    if (equals == word.npos)
      hosts.push_back(tun_in(word));
    else if (word.starts_with("delay="))
      link.delay = Milliseconds(value);
    else if (word.starts_with("jitter="))
      link.jitter = Milliseconds(value);
    else if (word.starts_with("loss="))
      link.loss = value;
    else if (word.starts_with("mbit="))
      link.bytes_per_ms = value * 1e6 / 8 / 1e3;
    else if (word.starts_with("seed="))
      link.seed = std::uint64_t(value);
    else {
      std::fprintf(stderr, "link_relay: there is no '%s'\n", word.c_str());
      return 2;
    }
  }
  struct sigaction action {};
  action.sa_handler = [](int) { cut = 1; };
  sigaction(SIGUSR1, &action, nullptr);
  std::puts("ready");
  std::fflush(stdout);
  Relay(link, std::move(hosts)).run();
}
