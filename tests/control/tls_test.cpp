// Jobs over TLS: who is let in, who is not, and what each is told.
#include "runtime/control/tls.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <latch>
#include <thread>

#include "runtime/base/error.h"
#include "runtime/control/client.h"
#include "runtime/control/coordinator.h"
#include "runtime/control/network.h"
#include "scenarios/launch/launcher.h"
#include "tests/control/certificates.h"
#include "tests/control/programs.h"
#include "tests/support/ports.h"

namespace shardlab::control {
namespace {

using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;
using testing_::Authority;
using testing_::CertificateFiles;

class Tls : public testing::Test {
 protected:
  TlsOptions with(const CertificateFiles& files, bool mutual = false) const {
    return {files.certificate, files.key, authority.file(), mutual};
  }
  TlsOptions trusting() const { return {.ca = authority.file()}; }

  Authority authority{"the job's authority"};
};

ClientOptions client_of(const Coordinator& coordinator, const TlsOptions& tls, int process = 0, int n = 1) {
  return {.address = coordinator.address(),
          .token = coordinator.token(),
          .process_index = process,
          .num_processes = n,
          .join_timeout_ms = 30'000,
          .tls = tls};
}

std::string error_of(const ClientOptions& options) {
  try {
    connect(options);
  } catch (const Error& error) { return error.what(); }
  return "";
}

std::string problem(const TlsOptions& options, TlsSide side) {
  try {
    check_tls(options, side);
  } catch (const UserError& error) { return error.what(); }
  return "";
}

// Three processes agree, exchange keys and leave.
void run_job(Coordinator& coordinator, const TlsOptions& tls) {
  std::vector<std::string> errors(3);
  {
    std::vector<std::jthread> threads;
    for (int p = 0; p < 3; ++p)
      threads.emplace_back([&, p] {
        try {
          auto client = connect(client_of(coordinator, tls, p, 3));
          testing_::Issuer issuer;
          for (int i = 0; i < 100; ++i) client->issued(issuer.launch(testing_::make_program("A", {0, 1, 2}), 7));
          client->await_agreement(issuer.last(), "print", {});
          client->set_key(fmt::format("from {}", p), std::string(100'000, char('a' + p)));
          EXPECT_EQ(client->get_key(fmt::format("from {}", (p + 1) % 3), seconds(30)), std::string(100'000, char('a' + (p + 1) % 3)));
          client->leave();
        } catch (const Error& error) { errors[std::size_t(p)] = error.what(); }
      });
  }
  for (const std::string& error : errors) EXPECT_EQ(error, "");
}

TEST_F(Tls, AJobRuns) {
  Coordinator coordinator({.num_processes = 3, .tls = with(authority.issue("coordinator"))});
  run_job(coordinator, trusting());
}

TEST_F(Tls, AJobRunsWhereEverybodyHasACertificate) {
  TlsOptions all = with(authority.issue("everybody"), true);
  Coordinator coordinator({.num_processes = 3, .tls = all});
  run_job(coordinator, all);
}

TEST_F(Tls, ATokenIsNeededAllTheSame) {
  Coordinator coordinator({.num_processes = 1, .tls = with(authority.issue("coordinator"))});
  ClientOptions options = client_of(coordinator, trusting());
  options.token = "guess";
  EXPECT_THAT(error_of(options), HasSubstr("the token is not this job's"));
}

TEST_F(Tls, WhatIsWrongWithAFileIsSaid) {
  CertificateFiles good = authority.issue("good"), other = authority.issue("other"),
                   old = authority.issue("old", {.from_s = -100, .to_s = -50}), early = authority.issue("early", {.from_s = 1000});
  EXPECT_EQ(problem(with(good), TlsSide::kCoordinator), "");
  EXPECT_EQ(problem({}, TlsSide::kCoordinator), "");
  TlsOptions options = with(good);
  options.certificate = authority.folder() / "none.pem";
  EXPECT_THAT(problem(options, TlsSide::kCoordinator), AllOf(HasSubstr("the certificate of TLS (SHARDLAB_TLS_CERTIFICATE), '"),
                                                             HasSubstr("/none.pem', cannot be read: No such file")));
  options = with(good);
  options.ca = authority.folder() / "none.pem";
  EXPECT_EQ(problem(options, TlsSide::kCoordinator), "");  // only mutual needs it there
  EXPECT_THAT(problem(options, TlsSide::kProcess), HasSubstr("the certificate authority of TLS (SHARDLAB_TLS_CA), '"));
  options = with({good.certificate, other.key});
  EXPECT_THAT(problem(options, TlsSide::kCoordinator),
              AllOf(HasSubstr("other.key', is not that of the certificate '"), HasSubstr("good.pem'")));
  EXPECT_THAT(problem(with({good.key, good.key}), TlsSide::kCoordinator), HasSubstr("holds no certificate: wanted a PEM file"));
  EXPECT_THAT(problem(with({good.certificate, good.certificate}), TlsSide::kCoordinator), HasSubstr("holds no private key"));
  EXPECT_THAT(problem(with(old), TlsSide::kCoordinator), AllOf(HasSubstr("old.pem', has expired: it was good until "), HasSubstr("GMT")));
  EXPECT_THAT(problem(with(early), TlsSide::kCoordinator), HasSubstr("early.pem', is not good before "));
  EXPECT_THAT(problem(trusting(), TlsSide::kCoordinator),
              HasSubstr("the coordinator, which process 0 or the launcher starts, has no certificate: set SHARDLAB_TLS_CERTIFICATE"));
  EXPECT_THAT(problem({.ca = authority.file(), .mutual = true}, TlsSide::kProcess), HasSubstr("this process has no certificate"));
  EXPECT_THAT(problem({good.certificate, "", authority.file()}, TlsSide::kProcess),
              HasSubstr("this process has no key: set SHARDLAB_TLS_KEY"));
  EXPECT_THROW(Coordinator({.tls = with(old)}), UserError);
}

TEST_F(Tls, ACertificateForAnotherHostIsRefused) {
  Coordinator coordinator({.tls = with(authority.issue("coordinator", {.names = {"DNS:node7", "IP:192.0.2.9"}}))});
  EXPECT_THAT(error_of(client_of(coordinator, trusting())),
              AllOf(HasSubstr(fmt::format("process 0 joins the coordinator at {} over TLS", coordinator.address())),
                    HasSubstr("its certificate is for another host: wanted 127.0.0.1, got node7, 192.0.2.9"), HasSubstr("subjectAltName")));
  // Whoever says that the coordinator is node7 finds it.
  ClientOptions options = client_of(coordinator, trusting());
  options.server_name = "node7";
  EXPECT_EQ(error_of(options), "");
}

TEST_F(Tls, AnUnknownAuthorityIsRefused) {
  Authority stranger("somebody else");
  Coordinator coordinator({.tls = with(authority.issue("coordinator"))});
  EXPECT_THAT(error_of(client_of(coordinator, {.ca = stranger.file()})),
              AllOf(HasSubstr("its certificate /CN=coordinator was signed by an authority that is unknown here"),
                    HasSubstr("wanted one of SHARDLAB_TLS_CA '" + stranger.file()), HasSubstr("got /CN=the job's authority")));
}

TEST_F(Tls, ACertificateThatExpiresWhileTheCoordinatorServesIsRefused) {
  Coordinator coordinator({.tls = with(authority.issue("coordinator", {.to_s = 2}))});
  std::this_thread::sleep_for(std::chrono::milliseconds(3100));  // the clock of certificates is the world's
  EXPECT_THAT(error_of(client_of(coordinator, trusting())), HasSubstr("its certificate /CN=coordinator has expired"));
}

TEST_F(Tls, WithoutACertificateNobodyIsHeardWhereTheyAreWanted) {
  Authority stranger("somebody else");
  TlsOptions all = with(authority.issue("everybody"), true);
  Coordinator coordinator({.tls = all});
  EXPECT_THAT(error_of(client_of(coordinator, trusting())),
              AllOf(HasSubstr("it wants a certificate of this process, too, and got none"), HasSubstr("SHARDLAB_TLS_MUTUAL=1")));
  CertificateFiles foreign = stranger.issue("foreigner");
  EXPECT_THAT(
      error_of(client_of(coordinator, {foreign.certificate, foreign.key, authority.file(), true})),
      AllOf(HasSubstr("it does not take this process's certificate '" + foreign.certificate), HasSubstr("is it signed by the authority")));
  EXPECT_EQ(error_of(client_of(coordinator, all)), "");
}

TEST_F(Tls, OneSideAloneIsSaid) {
  Coordinator plain({.num_processes = 1}), encrypted({.num_processes = 1, .tls = with(authority.issue("coordinator"))});
  EXPECT_THAT(error_of(client_of(plain, trusting())), HasSubstr("it does not speak TLS"));
  EXPECT_THAT(error_of(client_of(encrypted, {})), HasSubstr("it speaks TLS, and this process was not asked to: set SHARDLAB_TLS_CA"));
}

TEST_F(Tls, TheCoordinatorIsLookedForOverTls) {
  Coordinator coordinator({.tls = with(authority.issue("coordinator"))});
  int port = split_address(coordinator.address(), "it").second;
  EXPECT_EQ(find_coordinator("127.0.0.1", port, 1, coordinator.token(), 1, 20'000, trusting()), coordinator.address());
  Authority stranger("somebody else");
  EXPECT_THROW(find_coordinator("127.0.0.1", port, 1, coordinator.token(), 1, 20'000, {.ca = stranger.file()}), TransportError);
}

// Real processes: under our launcher, and by hand, where process 0 starts the coordinator; their links are TCP.
TEST_F(Tls, ProgramsRun) {
  TlsOptions all = with(authority.issue("everybody"), true);
  std::vector<std::pair<std::string, std::string>> variables{
      {kTlsCertificateVariable, all.certificate}, {kTlsKeyVariable, all.key}, {kTlsCaVariable, all.ca}, {kTlsMutualVariable, "1"}};
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  std::string outputs[3];
  LaunchResult result = launch({.argv = {SHARDLAB_TRAIN_STEP, "8"}, .processes = 3, .devices = 2, .transport = "tcp"});
  for (const auto& [name, value] : variables) unsetenv(name.c_str());
  EXPECT_TRUE(result.ok()) << result.processes[0].err;
  for (int p = 0; p < 3; ++p) outputs[p] = result.processes[std::size_t(p)].out;
  EXPECT_THAT(outputs[0], HasSubstr("step 7 loss"));

  std::string by_hand = fmt::format(
      "i=$SHARDLAB_PROCESS_INDEX; unset SHARDLAB_COORDINATOR SHARDLAB_JOB_TOKEN SHARDLAB_PROCESS_INDEX SHARDLAB_NUM_PROCESSES "
      "SHARDLAB_SHM; "
      "exec {} 127.0.0.1:{} $i 3 8",
      SHARDLAB_TRAIN_STEP, support::unused_port());
  result = launch({.argv = {"sh", "-c", by_hand}, .processes = 3, .devices = 2, .transport = "tcp", .environment = variables});
  EXPECT_TRUE(result.ok()) << result.processes[0].err << result.processes[1].err;
  for (int p = 0; p < 3; ++p) EXPECT_EQ(result.processes[std::size_t(p)].out, outputs[p]);
  LaunchResult plain = launch({.argv = {SHARDLAB_TRAIN_STEP, "8"}, .processes = 3, .devices = 2, .transport = "tcp"});
  for (int p = 0; p < 3; ++p) EXPECT_EQ(plain.processes[std::size_t(p)].out, outputs[p]);
}

}  // namespace
}  // namespace shardlab::control
