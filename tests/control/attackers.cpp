#include "tests/control/attackers.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

namespace shardlab::testing_ {
namespace {

using Random = std::mt19937_64;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr char kService[] = "/shardlab.control.wire.Coordination/";
constexpr char kTokenKey[] = "shardlab-token";
constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

std::size_t below(Random& random, std::size_t limit) { return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random); }

std::string random_bytes(Random& random, std::size_t size) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = char(random());
  return bytes;
}

// ── Raw connections ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

class Connection {
 public:
  explicit Connection(const Target& target) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(std::uint16_t(target.port));
    inet_pton(AF_INET, target.host.c_str(), &address.sin_addr);
    connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address);
    wait(POLLOUT, milliseconds(1000));
  }
  Connection(Connection&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~Connection() {
    if (fd_ >= 0) close(fd_);
  }

  bool wait(short events, milliseconds limit) const {
    pollfd polled{fd_, events, 0};
    return poll(&polled, 1, int(limit.count())) > 0;
  }
  // As much as goes.
  void send(std::string_view bytes) const {
    while (!bytes.empty() && wait(POLLOUT, milliseconds(200))) {
      ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n <= 0) return;
      bytes.remove_prefix(std::size_t(n));
    }
  }
  // Ends it with a reset, not with a goodbye.
  void reset() const {
    linger hard{1, 0};
    setsockopt(fd_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
  }

 private:
  int fd_;
};

std::string frame(std::uint8_t type, std::uint8_t flags, std::uint32_t stream, std::string_view payload, std::uint32_t told_size) {
  std::string bytes;
  for (int shift : {16, 8, 0}) bytes += char(told_size >> shift);
  bytes += char(type);
  bytes += char(flags);
  for (int shift : {24, 16, 8, 0}) bytes += char(stream >> shift);
  bytes += payload;
  return bytes;
}

std::string noise(const Target& target, Random& random) {
  Connection connection(target);
  connection.send(random_bytes(random, 1 + below(random, 100'000)));
  if (random() % 2) connection.reset();
  return "";
}

std::string frames(const Target& target, Random& random) {
  Connection connection(target);
  connection.send(kPreface);
  if (random() % 2) connection.send(frame(4, 0, 0, "", 0));  // our settings, as they should come
  for (std::size_t i = 0; i < 50; ++i) {
    std::string payload = random_bytes(random, below(random, 300));
    std::uint32_t told = random() % 4 ? std::uint32_t(payload.size()) : std::uint32_t(random() & 0xffffff);
    connection.send(frame(std::uint8_t(below(random, 12)), std::uint8_t(random()), std::uint32_t(random() % 9), payload, told));
  }
  if (random() % 2) connection.reset();
  return "";
}

// Begins and never goes on.
std::string half_open(const Target& target, Random& random) {
  std::vector<Connection> connections;
  for (std::size_t i = 0; i < 20; ++i) {
    connections.emplace_back(target);
    std::size_t said = below(random, kPreface.size() + 1);
    connections.back().send(kPreface.substr(0, said));
  }
  connections.front().wait(0, milliseconds(100 + below(random, 400)));
  return "";
}

// A byte now and then.
std::string drip(const Target& target, Random& random) {
  Connection connection(target);
  std::string bytes = std::string(kPreface) + frame(4, 0, 0, "", 0) + random_bytes(random, 40);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    connection.send(std::string_view(bytes).substr(i, 1));
    poll(nullptr, 0, int(below(random, 12)));
  }
  return "";
}

std::string many_connections(const Target& target, Random& random) {
  std::vector<Connection> connections;
  for (std::size_t i = 0; i < 200; ++i) {
    connections.emplace_back(target);
    if (random() % 3 == 0) connections.back().send(kPreface);
  }
  return "";
}

// ── gRPC ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

// A message of random fields, some nested, some with lengths that are not so.
std::string random_message(Random& random, int depth = 0) {
  std::string message;
  auto varint = [&](std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) message += char(value | 0x80);
    message += char(value);
  };
  for (std::size_t fields = below(random, 8); fields > 0; --fields) {
    std::uint64_t field = 1 + below(random, 16), type = std::array{0, 2, 2, 2, 1, 5}[below(random, 6)];
    varint(field << 3 | type);
    if (type == 0) {
      varint(random() >> below(random, 64));
    } else if (type == 2) {
      std::string content = depth < 4 && random() % 2 ? random_message(random, depth + 1) : random_bytes(random, below(random, 200));
      varint(random() % 30 == 0 ? random() >> below(random, 64) : content.size());
      message += content;
    } else {
      message += random_bytes(random, type == 1 ? 8 : 4);
    }
  }
  return message;
}

grpc::ByteBuffer buffer(const std::string& bytes) {
  grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

// A client of its own connection, with blocking calls of any bytes.
class Client {
 public:
  Client(const Target& target, const std::string& token) : token_(token) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    arguments.SetMaxReceiveMessageSize(-1);
    std::string address = fmt::format("{}:{}", target.host, target.port);
    stub_ = std::make_unique<grpc::GenericStub>(grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
  }

  grpc::Status call(const char* method, const std::string& request, milliseconds limit) {
    grpc::ClientContext context;
    prepare(context, limit);
    grpc::CompletionQueue queue;
    auto reader = stub_->PrepareUnaryCall(&context, std::string(kService) + method, buffer(request), &queue);
    reader->StartCall();
    grpc::ByteBuffer response;
    grpc::Status status;
    reader->Finish(&response, &status, this);
    wait(queue);
    return status;
  }

  // Streams the messages; how the stream ended. Never reads what comes.
  grpc::Status stream(const std::vector<std::string>& messages, milliseconds limit, bool cancel) {
    grpc::ClientContext context;
    prepare(context, limit);
    grpc::CompletionQueue queue;
    auto stream = stub_->PrepareCall(&context, std::string(kService) + "Attend", &queue);
    stream->StartCall(this);
    bool open = wait(queue);
    for (std::size_t i = 0; open && i < messages.size(); ++i) {
      stream->Write(buffer(messages[i]), this);
      open = wait(queue);
    }
    if (cancel) context.TryCancel();
    grpc::Status status;
    stream->Finish(&status, this);
    wait(queue);
    return status;
  }

 private:
  void prepare(grpc::ClientContext& context, milliseconds limit) const {
    if (!token_.empty()) context.AddMetadata(kTokenKey, token_);
    context.set_deadline(std::chrono::system_clock::now() + limit);
  }
  static bool wait(grpc::CompletionQueue& queue) {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  }

  std::string token_;
  std::unique_ptr<grpc::GenericStub> stub_;
};

std::string wrong_token(const Target& target, Random& random) {
  switch (random() % 4) {
    case 0:
      return "";
    case 1:
      return target.token.substr(0, target.token.size() - 1);
    case 2:
      return target.token + "0";
    default:
      return std::string(1 + below(random, 2000), 'x');
  }
}

std::string expect_refused(const grpc::Status& status, std::string_view what) {
  // A busy machine may not answer in time, which is no admission.
  bool refused = !status.ok();
  return refused ? "" : fmt::format("{} was let in", what);
}

std::string field(int number, const std::string& content) {
  std::string message(1, char(number << 3 | 2));
  std::uint64_t size = content.size();
  for (; size >= 0x80; size >>= 7) message += char(size | 0x80);
  return message + char(size) + content;
}

// A words message with the joining of a process.
std::string joining(std::uint64_t process, std::uint64_t devices) {
  std::string member;
  for (auto [number, value] : {std::pair{1, process}, std::pair{4, devices}}) {
    member += char(number << 3);
    for (; value >= 0x80; value >>= 7) member += char(value | 0x80);
    member += char(value);
  }
  return field(1, field(2, member));
}

// An arrival of a process at a barrier over all.
std::string arrival(const std::string& barrier, std::uint64_t process, std::uint64_t timeout_ms) {
  std::string message = field(1, barrier);
  for (auto [number, value] : {std::pair{2, process}, std::pair{5, timeout_ms}}) {
    message += char(number << 3);
    for (; value >= 0x80; value >>= 7) message += char(value | 0x80);
    message += char(value);
  }
  return message;
}

std::string stranger_calls(const Target& target, Random& random) {
  Client client(target, wrong_token(target, random));
  std::string value(below(random, 4) == 0 ? std::size_t(20) << 20 : below(random, 100'000), 'v');
  std::string harm = expect_refused(client.call("SetKey", field(1, "stolen") + field(2, value), seconds(5)), "a stranger's SetKey");
  if (harm.empty()) harm = expect_refused(client.call("GetKey", field(1, "stolen"), seconds(5)), "a stranger's GetKey");
  if (harm.empty()) harm = expect_refused(client.call("WaitAtBarrier", arrival("round", 0, 1), seconds(5)), "a stranger's WaitAtBarrier");
  return harm;
}

std::string stranger_joins(const Target& target, Random& random) {
  Client client(target, wrong_token(target, random));
  std::vector<std::string> messages{joining(below(random, std::size_t(target.num_processes)), 1)};
  for (std::size_t i = below(random, 5); i > 0; --i) messages.push_back(random_message(random));
  return expect_refused(client.stream(messages, seconds(5), random() % 4 == 0), "a stranger");
}

// Knows the token, and speaks nonsense.
std::string confused_stream(const Target& target, Random& random) {
  Client client(target, target.token);
  std::vector<std::string> messages;
  for (std::size_t i = 1 + below(random, 5); i > 0; --i) messages.push_back(field(1, random_message(random)));
  // Its first word is that it joins as nobody, or no joining at all.
  if (random() % 2)
    messages.insert(
        messages.begin(),
        joining(random() % 2 ? std::uint64_t(target.num_processes) + below(random, 1000) : random() | 1ull << 63, 1 + below(random, 4)));
  else
    messages.insert(messages.begin(), field(1, field(11, "")));
  return expect_refused(client.stream(messages, seconds(5), random() % 4 == 0), "a process that is none");
}

std::string confused_calls(const Target& target, Random& random) {
  Client client(target, target.token);
  const char* methods[] = {"SetKey", "GetKey", "WaitAtBarrier", "NoSuchMethod"};
  // Keys of fields at random; a get waits for a key that nobody sets, until it gives up.
  std::string message = random_message(random);
  client.call(methods[below(random, 4)], message, milliseconds(1 + below(random, 200)));
  std::string large = field(1, std::string(2000, 'k')) + field(2, "v");
  std::string harm = expect_refused(client.call("SetKey", large, seconds(5)), "a key of 2,000 bytes");
  std::string huge = field(1, "huge") + field(2, std::string(std::size_t(17) << 20, 'v'));
  if (harm.empty() && random() % 4 == 0) harm = expect_refused(client.call("SetKey", huge, seconds(5)), "a message of 17 MB");
  return harm;
}

// Barriers that nobody else comes to: of processes that are none, without limit, by names without end; given up sooner or later.
std::string confused_barriers(const Target& target, Random& random) {
  Client client(target, target.token);
  std::string harm;
  for (std::size_t i = 1 + below(random, 20); i > 0 && harm.empty(); --i) {
    std::string name = random() % 8 ? random_bytes(random, below(random, 100)) : std::string(2000, 'n');
    std::uint64_t process = random() % 2 ? below(random, std::size_t(target.num_processes)) : random() >> below(random, 64);
    harm = expect_refused(
        client.call("WaitAtBarrier", arrival(name, process, random() >> below(random, 64)), milliseconds(1 + below(random, 20))),
        "a barrier that nobody else comes to");
  }
  return harm;
}

constexpr std::array kAttacks{
    Attack{"noise", noise},
    Attack{"frames", frames},
    Attack{"half-open connections", half_open},
    Attack{"a byte now and then", drip},
    Attack{"many connections", many_connections},
    Attack{"calls without the token", stranger_calls},
    Attack{"joining without the token", stranger_joins},
    Attack{"nonsense in a stream", confused_stream},
    Attack{"nonsense in calls", confused_calls},
    Attack{"barriers of nobody", confused_barriers},
};

}  // namespace

std::span<const Attack> all_attacks() { return kAttacks; }

}  // namespace shardlab::testing_
