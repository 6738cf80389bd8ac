// Who connects must prove that it knows the job's token, and strangers cost nothing.
#include "virtualdev/transports/handshake.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <thread>

#include "runtime/base/error.h"
#include "tests/support/shared_board.h"
#include "virtualdev/transports/transport_def.h"

namespace shardlab {
namespace {

using namespace std::chrono_literals;

TransportOptions options(int process, Rendezvous& rendezvous, std::string secret = "secret", std::chrono::milliseconds limit = 20s) {
  return {.process_index = process, .num_processes = 2, .rendezvous = &rendezvous, .secret = std::move(secret), .limit = limit};
}

int connect_to(const std::string& address) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(std::uint16_t(std::stoi(address.substr(address.rfind(':') + 1))));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  return fd;
}

TEST(Handshake, TheMacDependsOnEverythingThatIsSaid) {
  Greeting greeting{.from = 1, .to = 0};
  Nonce nonce{};
  Mac mac = proof_of(greeting, nonce, "secret").mac;
  EXPECT_TRUE(equal(mac, proof_of(greeting, nonce, "secret").mac));
  EXPECT_FALSE(equal(mac, proof_of(greeting, nonce, "Secret").mac));
  EXPECT_FALSE(equal(mac, answer_to(greeting, nonce, "secret").mac)) << "an answer must not serve as a proof";
  greeting.from = 2;
  EXPECT_FALSE(equal(mac, proof_of(greeting, nonce, "secret").mac));
  greeting.from = 1;
  nonce[3] = 1;
  EXPECT_FALSE(equal(mac, proof_of(greeting, nonce, "secret").mac));
}

TEST(Handshake, TheMacIsTheStandards) {
  // RFC 4231 has no message of this form; the key of more than a block and the empty one must both work and differ.
  Greeting greeting;
  EXPECT_FALSE(equal(proof_of(greeting, {}, std::string(200, 'k')).mac, proof_of(greeting, {}, "").mac));
}

TEST(TcpConnections, AnotherTokenIsRefusedOnBothSides) {
  testing::SharedBoard board;
  std::string errors[2];
  {
    std::jthread other([&] {
      try {
        transport_named("tcp").make(options(1, board, "another", 500ms));
      } catch (const TransportError& error) { errors[1] = error.what(); }
    });
    try {
      transport_named("tcp").make(options(0, board, "secret", 500ms));
    } catch (const TransportError& error) { errors[0] = error.what(); }
  }
  EXPECT_NE(errors[0].find("no connection from processes 1 came within 500 ms"), std::string::npos) << errors[0];
  EXPECT_NE(errors[1].find("does not know this job's token"), std::string::npos) << errors[1];
}

TEST(TcpConnections, StrangersAreTurnedAwayAndHarmNothing) {
  testing::SharedBoard board;
  std::unique_ptr<comm::Transport> first, second;
  std::jthread accepting([&] { first = transport_named("tcp").make(options(0, board)); });
  std::string address = board.get("shardlab/tcp/0", 10s);
  std::mt19937 random(20261121);
  std::vector<int> open;
  for (int i = 0; i < 200; ++i) {
    int fd = connect_to(address);
    std::string bytes(i % 7 == 0 ? 0 : random() % 300, '\0');  // some never say anything
    for (char& c : bytes) c = char(random());
    Greeting greeting{.from = int(random() % 5) - 1, .to = int(random() % 3) - 1};
    if (i % 3 == 0)
      bytes.replace(0, std::min(bytes.size(), sizeof greeting), reinterpret_cast<char*>(&greeting),
                    std::min(bytes.size(), sizeof greeting));
    if (!bytes.empty()) send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (i % 2 == 0)
      close(fd);
    else
      open.push_back(fd);
  }
  // One that greets rightly and cannot prove itself does not take the place of the one that can.
  int liar = connect_to(address);
  Greeting greeting{.from = 1, .to = 0};
  send(liar, &greeting, sizeof greeting, MSG_NOSIGNAL);
  Answer answer;
  EXPECT_EQ(recv(liar, &answer, sizeof answer, MSG_WAITALL), ssize_t(sizeof answer));
  Proof wrong;
  send(liar, &wrong, sizeof wrong, MSG_NOSIGNAL);
  char byte;
  EXPECT_LE(recv(liar, &byte, 1, 0), 0) << "it is turned away";
  second = transport_named("tcp").make(options(1, board));
  accepting.join();
  ASSERT_TRUE(first && second);
  std::jthread sender([&] {
    std::byte data{7};
    comm::Send send_one{1, {{&data, 1}}};
    first->exchange({}, {&send_one, 1}, {}, {});
  });
  std::byte got{};
  comm::Receive receive{0, {&got, 1}};
  EXPECT_EQ(second->exchange({}, {}, {&receive, 1}, {}).status, comm::ExchangeStatus::kDone);
  EXPECT_EQ(got, std::byte{7});
  for (int fd : open) close(fd);
  close(liar);
}

TEST(TcpConnections, AnAddressThatIsNoneIsSaid) {
  testing::SharedBoard board;
  TransportOptions bad = options(0, board);
  bad.bind_address = "nowhere";
  try {
    transport_named("tcp").make(bad);
    FAIL();
  } catch (const TransportError& error) {
    EXPECT_NE(std::string(error.what()).find("'nowhere' port 0 is no address"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace shardlab
