// Certificates for tests, made when they run.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace shardlab::testing_ {

struct CertificateFiles {
  std::string certificate, key;
};

struct CertificateOptions {
  std::vector<std::string> names = {"IP:127.0.0.1"};  // "DNS:node1" or "IP:192.0.2.1"
  int from_s = -3600, to_s = 3600;                    // from now
};

// An authority with its files in a folder of its own, which goes with it.
class Authority {
 public:
  explicit Authority(const std::string& name);
  ~Authority();
  Authority(const Authority&) = delete;
  Authority& operator=(const Authority&) = delete;

  std::string file() const;  // its certificate
  const std::filesystem::path& folder() const;
  CertificateFiles issue(const std::string& name, const CertificateOptions& options = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace shardlab::testing_
