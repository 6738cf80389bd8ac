// A stand-in for the Kubernetes API server: HTTPS with a certificate of its own, a bearer token, role-based refusals, and the two kinds of
// object that a pod reads; and the service account's folder as a pod has it mounted.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/scratch_folder.h"

namespace shardlab::testing_ {

class KubernetesServer {
 public:
  KubernetesServer();
  ~KubernetesServer();

  int port() const { return port_; }
  const std::filesystem::path& service_account() const { return folder_.path(); }
  // What GET answers for the path, with its query.
  void put(const std::string& path, std::string json);
  // The account may not read paths that contain this.
  void forbid(const std::string& part);
  std::vector<std::string> requests() const;
  // Answers that are no HTTP.
  void talk_nonsense();

 private:
  void serve();
  std::string answer(const std::string& request);

  ScratchFolder folder_{"account"};
  int listener_ = -1, port_ = 0;
  void* context_ = nullptr;  // SSL_CTX
  mutable std::mutex mutex_;
  std::map<std::string, std::string> objects_;
  std::vector<std::string> forbidden_, requests_;
  bool nonsense_ = false;
  std::jthread thread_;
};

}  // namespace shardlab::testing_
