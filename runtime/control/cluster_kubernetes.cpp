// Kubernetes: a pod of an indexed Job or of a JobSet asks the API server who owns it.
#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>

#include "runtime/base/error.h"
#include "runtime/control/cluster.h"
#include "runtime/control/https_client.h"
#include "runtime/control/network.h"

namespace shardlab::control {
namespace {

using Json = nlohmann::json;

constexpr int kPort = 55527;  // JAX's choice: processes cannot agree on one before they know each other
constexpr char kServiceAccountVariable[] = "SHARDLAB_KUBERNETES_SERVICE_ACCOUNT";
constexpr char kServiceAccount[] = "/var/run/secrets/kubernetes.io/serviceaccount";

constexpr char kRbacAdvice[] =
    "the pod's service account may not read this. It needs a Role with the verbs get and list for pods, and get for jobs (apiGroup batch), "
    "bound to it, and the pod must name it as serviceAccountName: see docs/kubernetes/service-account.yaml";

bool present() { return !variable("KUBERNETES_SERVICE_HOST").empty(); }

// The API server as this pod reaches it.
class Api {
 public:
  Api() {
    folder_ = variable(kServiceAccountVariable).empty() ? kServiceAccount : variable(kServiceAccountVariable);
    request_.host = variable("KUBERNETES_SERVICE_HOST");
    request_.port = variable("KUBERNETES_SERVICE_PORT").empty() ? 443 : number_variable("KUBERNETES_SERVICE_PORT", 1);
    request_.ca_file = folder_ + "/ca.crt";
    request_.bearer_token = read("token");
    space_ = read("namespace");
  }
  const std::string& space() const { return space_; }

  // The object at the path; nothing where there is none.
  Json get(const std::string& path) const {
    HttpsRequest request = request_;
    request.path = path;
    HttpResponse response = ask(request);
    if (response.status == 404) return nullptr;
    if (response.status == 401 || response.status == 403)
      throw_user_error("Kubernetes answers {} to GET {}: {}", response.status, path, kRbacAdvice);
    if (response.status != 200)
      throw_user_error("Kubernetes answers {} to GET {}: {}", response.status, path, response.body.substr(0, 500));
    Json object = Json::parse(response.body, nullptr, false);
    if (!object.is_object()) throw_user_error("Kubernetes answers GET {} with no JSON object: {}", path, response.body.substr(0, 200));
    return object;
  }

 private:
  static HttpResponse ask(const HttpsRequest& request) {
    try {
      return https_get(request);
    } catch (const TransportError& error) {
      throw TransportError(fmt::format(
          "the Kubernetes API server, as KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT name it, cannot be asked: {}", error.what()));
    }
  }
  std::string read(const std::string& name) const {
    std::ifstream file(folder_ + "/" + name);
    std::string text((std::istreambuf_iterator<char>(file)), {});
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
    if (text.empty())
      throw_user_error(
          "the pod's service account is not mounted: {}/{} is missing or empty. Does the pod have automountServiceAccountToken: false?",
          folder_, name);
    return text;
  }

  std::string folder_, space_;
  HttpsRequest request_;
};

std::string text_at(const Json& object, const char* pointer) {
  const Json::json_pointer at(pointer);
  return object.contains(at) && object.at(at).is_string() ? object.at(at).get<std::string>() : std::string();
}

// By the host's name, which is the pod's; by the address where a pod has a host name of its own.
Json own_pod(const Api& api) {
  std::string name = variable("HOSTNAME"), pods = fmt::format("/api/v1/namespaces/{}/pods", api.space());
  if (!name.empty())
    if (Json pod = api.get(fmt::format("{}/{}", pods, escaped(name))); pod.is_object()) return pod;
  std::string address = own_address_towards(variable("KUBERNETES_SERVICE_HOST"));
  Json list = api.get(fmt::format("{}?fieldSelector={}", pods, escaped("status.podIP=" + address)));
  if (list.is_object() && list.contains("items") && list["items"].is_array() && list["items"].size() == 1) return list["items"][0];
  throw_user_error("no pod in the namespace {} is this one: none is called '{}' (HOSTNAME), and none alone has the address {}", api.space(),
                   name, address);
}

// The Job that owns the pod.
Json owner_of(const Api& api, const Json& pod) {
  const Json::json_pointer owners("/metadata/ownerReferences");
  if (pod.contains(owners) && pod.at(owners).is_array())
    for (const Json& owner : pod.at(owners))
      if (text_at(owner, "/kind") == "Job") {
        std::string path = fmt::format("/apis/batch/v1/namespaces/{}/jobs/{}", api.space(), escaped(text_at(owner, "/name")));
        if (Json job = api.get(path); job.is_object()) return job;
        throw_user_error("the pod's owner, the job {}, is not in the namespace {}", text_at(owner, "/name"), api.space());
      }
  throw_user_error("In K8s, cluster automatic bootstrap only supports Job/JobSet. The pod {} is owned by neither.",
                   text_at(pod, "/metadata/name"));
}

// By which name the job's pods reach its first one: a JobSet brings a service, a plain Job may have one.
std::string first_pod(const Json& pod, const std::string& job) {
  std::string service = text_at(pod, "/metadata/labels/jobset.sigs.k8s.io~1jobset-name");
  if (service.empty()) service = text_at(pod, "/spec/subdomain");
  if (service.empty())
    throw_user_error(
        "the pods of the job {} have no names that the others can resolve: a plain Job needs a headless service. Add to the job's "
        "manifest\n"
        "  spec.template.spec.subdomain: {}\nand the service\n  apiVersion: v1\n  kind: Service\n  metadata: {{name: {}}}\n  spec: "
        "{{clusterIP: None, selector: {{job-name: {}}}}}\nor use a JobSet, which brings its own (docs/kubernetes)",
        job, job, job, job);
  return fmt::format("{}-0.{}", job, service);
}

int parallelism_of(const Json& job, const std::string& name) {
  const Json::json_pointer parallelism("/spec/parallelism");
  if (!job.contains(parallelism) || !job.at(parallelism).is_number_integer() || job.at(parallelism).get<int>() < 1)
    throw_user_error("the job {} has no spec.parallelism, which says how many processes there are", name);
  return job.at(parallelism).get<int>();
}

int completion_index() {
  if (variable("JOB_COMPLETION_INDEX").empty())
    throw_user_error(
        "To enable automatic bootstrap in a K8s cluster, jobs must be indexed by setting `completionMode: \"Indexed\"`. This pod's is not: "
        "JOB_COMPLETION_INDEX is not set here");
  return number_variable("JOB_COMPLETION_INDEX", 0);
}

ClusterPlace describe(const ClusterQuestion& question) {
  ClusterPlace place;
  if (question.coordinator || question.num_processes) {
    Api api;
    Json pod = own_pod(api), job = owner_of(api, pod);
    std::string name = text_at(job, "/metadata/name");
    if (question.coordinator) place.coordinator_host = first_pod(pod, name);
    if (question.num_processes) place.num_processes = parallelism_of(job, name);
    place.job = "kubernetes " + text_at(job, "/metadata/uid");
  }
  if (question.process_index) place.process_index = completion_index();
  if (!question.coordinator) return place;
  place.coordinator_port = kPort;
  // The name is known once the first pod runs.
  if (!wait_resolved(place.coordinator_host, question.limit))
    throw_user_error(
        "the name {} of the job's first pod could not be resolved within {} ms: has it started, and is there a headless service?",
        place.coordinator_host, question.limit.count());
  return place;
}

}  // namespace

const ClusterDef kKubernetesCluster{
    .name = "k8s",
    .doc = "a pod of an indexed Job or a JobSet: KUBERNETES_SERVICE_HOST is set",
    .present = present,
    .incomplete = [] { return std::string(); },
    .describe = describe,
    .joins_output = false,
};

}  // namespace shardlab::control
