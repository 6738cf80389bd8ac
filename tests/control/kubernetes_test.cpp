// A pod finds its place in a Job or a JobSet, against a stand-in of the API server; and what it says when it may not or cannot.
#include "runtime/control/cluster.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "runtime/base/error.h"
#include "runtime/control/environment.h"
#include "tests/control/kubernetes_server.h"

namespace shardlab::control {
namespace {

using testing::HasSubstr;

class Kubernetes : public testing::Test {
 protected:
  void SetUp() override {
    set("KUBERNETES_SERVICE_HOST", "127.0.0.1");
    set("KUBERNETES_SERVICE_PORT", std::to_string(server.port()));
    set("SHARDLAB_KUBERNETES_SERVICE_ACCOUNT", server.service_account().string());
    set("HOSTNAME", "jaxjob-workers-0-1-ddkq8");
    set("JOB_COMPLETION_INDEX", "1");
    server.put("/apis/batch/v1/namespaces/training/jobs/localhost", job());
  }
  void TearDown() override {
    for (const char* name : {"KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", "SHARDLAB_KUBERNETES_SERVICE_ACCOUNT", "HOSTNAME",
                             "JOB_COMPLETION_INDEX", kTokenVariable})
      unsetenv(name);
  }
  static void set(const char* name, const std::string& value) { setenv(name, value.c_str(), 1); }
  static std::string job() {
    return R"({"kind": "Job", "metadata": {"name": "localhost", "uid": "u-1"}, "spec": {"parallelism": 2, "completionMode": "Indexed"}})";
  }
  // Owned by the job "localhost"; `rest` are further members of the metadata and the pod.
  static std::string pod(const std::string& metadata, const std::string& spec) {
    return fmt::format(
        R"({{"kind": "Pod", "metadata": {{"name": "p", {}"ownerReferences": [{{"kind": "Job", "name": "localhost"}}]}}, "spec": {{{}}}}})",
        metadata, spec);
  }
  void put_pod(const std::string& text) { server.put("/api/v1/namespaces/training/pods/jaxjob-workers-0-1-ddkq8", text); }
  std::string error(int limit_ms = 300) {
    try {
      kKubernetesCluster.describe({.limit = std::chrono::milliseconds(limit_ms)});
      return "";
    } catch (const Error& error) { return error.what(); }
  }

  testing_::KubernetesServer server;
};

// The names of a cluster do not resolve here: the coordinator's does, because the job is called so that it is this host's.
constexpr char kJobSetLabel[] = R"("labels": {"jobset.sigs.k8s.io/jobset-name": "jaxjob"}, )";

TEST_F(Kubernetes, IsTriedLast) {
  EXPECT_TRUE(kKubernetesCluster.present());
  EXPECT_EQ(all_clusters().back(), &kKubernetesCluster);
}

TEST_F(Kubernetes, AJobSetsNameThatDoesNotResolveYet) {
  put_pod(pod(kJobSetLabel, ""));
  EXPECT_THAT(error(), HasSubstr("the name localhost-0.jaxjob of the job's first pod could not be resolved within 300 ms"));
  EXPECT_THAT(server.requests(), testing::ElementsAre("/api/v1/namespaces/training/pods/jaxjob-workers-0-1-ddkq8",
                                                      "/apis/batch/v1/namespaces/training/jobs/localhost"));
}

TEST_F(Kubernetes, IsAskedForWhatIsMissing) {
  put_pod(pod("", ""));  // without a service: who gives the address needs none
  ClusterPlace place = kKubernetesCluster.describe({.coordinator = false});
  EXPECT_EQ(place.num_processes, 2);
  EXPECT_EQ(place.process_index, 1);
  std::size_t asked = server.requests().size();
  EXPECT_EQ(kKubernetesCluster.describe({.coordinator = false, .num_processes = false}).process_index, 1);
  EXPECT_EQ(server.requests().size(), asked) << "the pod's own variable says it";
  unsetenv("JOB_COMPLETION_INDEX");
  EXPECT_EQ(kKubernetesCluster.describe({.coordinator = false, .process_index = false}).num_processes, 2);
}

TEST_F(Kubernetes, APlainJobWithAHeadlessService) {
  // "<job>-0.localhost" is loopback by RFC 6761; where the resolver does not know that, the whole way up to it is still shown.
  put_pod(pod("", R"("subdomain": "localhost")"));
  try {
    ClusterPlace place = kKubernetesCluster.describe({.limit = std::chrono::milliseconds(300)});
    EXPECT_EQ(place.coordinator_host, "localhost-0.localhost");
    EXPECT_EQ(place.coordinator_port, 55527);
    EXPECT_EQ(place.num_processes, 2);
    EXPECT_EQ(place.process_index, 1);
    EXPECT_EQ(place.job, "kubernetes u-1");
    auto environment = find_job();
    ASSERT_TRUE(environment);
    EXPECT_EQ(environment->coordinator, "localhost-0.localhost:55527");
    EXPECT_EQ(environment->num_processes, 2);
    EXPECT_EQ(environment->process_index, 1);
  } catch (const UserError& error) { EXPECT_THAT(error.what(), HasSubstr("the name localhost-0.localhost of the job's first pod")); }
}

TEST_F(Kubernetes, ThePodByItsAddress) {
  set("HOSTNAME", "a-name-of-its-own");
  server.put("/api/v1/namespaces/training/pods?fieldSelector=status.podIP%3D127.0.0.1", R"({"items": [)" + pod(kJobSetLabel, "") + "]}");
  EXPECT_THAT(error(), HasSubstr("the name localhost-0.jaxjob"));
  server.put("/api/v1/namespaces/training/pods?fieldSelector=status.podIP%3D127.0.0.1", R"({"items": []})");
  EXPECT_THAT(error(), HasSubstr("none is called 'a-name-of-its-own' (HOSTNAME), and none alone has the address 127.0.0.1"));
}

TEST_F(Kubernetes, WhoIsInNoJob) {
  put_pod(R"({"metadata": {"name": "p", "ownerReferences": [{"kind": "ReplicaSet", "name": "web"}]}})");
  EXPECT_THAT(error(), HasSubstr("In K8s, cluster automatic bootstrap only supports Job/JobSet."));
  put_pod(R"({"metadata": {"name": "p"}})");
  EXPECT_THAT(error(), HasSubstr("In K8s, cluster automatic bootstrap only supports Job/JobSet."));
}

TEST_F(Kubernetes, AJobThatIsNotIndexed) {
  unsetenv("JOB_COMPLETION_INDEX");
  put_pod(pod(kJobSetLabel, ""));
  EXPECT_THAT(error(), HasSubstr("jobs must be indexed by setting `completionMode: \"Indexed\"`"));
}

TEST_F(Kubernetes, APlainJobWithoutAService) {
  put_pod(pod("", ""));
  EXPECT_THAT(error(), HasSubstr("a plain Job needs a headless service"));
  EXPECT_THAT(error(), HasSubstr("spec.template.spec.subdomain: localhost"));
}

TEST_F(Kubernetes, AnAccountThatMayNotRead) {
  put_pod(pod(kJobSetLabel, ""));
  server.forbid("/jobs/");
  EXPECT_THAT(error(), HasSubstr("Kubernetes answers 403 to GET /apis/batch/v1/namespaces/training/jobs/localhost"));
  EXPECT_THAT(error(), HasSubstr("verbs get and list for pods, and get for jobs"));
  std::ofstream(server.service_account() / "token") << "another";
  EXPECT_THAT(error(), HasSubstr("Kubernetes answers 401"));
}

TEST_F(Kubernetes, AnAccountThatIsNotMounted) {
  std::filesystem::remove(server.service_account() / "token");
  EXPECT_THAT(error(), HasSubstr("service account is not mounted"));
}

TEST_F(Kubernetes, AServerThatIsNotTheClusters) {
  testing_::KubernetesServer other;  // with another certificate
  set("KUBERNETES_SERVICE_PORT", std::to_string(other.port()));
  EXPECT_THAT(error(), HasSubstr("its certificate is not trusted"));
  EXPECT_TRUE(other.requests().empty()) << "the account's token is not told to it";
  set("KUBERNETES_SERVICE_HOST", "localhost");
  set("KUBERNETES_SERVICE_PORT", std::to_string(server.port()));
  EXPECT_THAT(error(), HasSubstr("its certificate is not trusted")) << "it names 127.0.0.1";
}

TEST_F(Kubernetes, WhatIsNoAnswer) {
  put_pod("[1, 2");
  EXPECT_THAT(error(), HasSubstr("with no JSON object"));
  server.talk_nonsense();
  EXPECT_THAT(error(), HasSubstr("what it answers is not HTTP"));
}

}  // namespace
}  // namespace shardlab::control
