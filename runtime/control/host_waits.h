// What processes wait for beside calls: the coordinator's named barriers and keys.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace shardlab::control {

// Pure and single-threaded. A process waits for certain when both say so: who holds the barrier or the key, that it came and has not been
// answered; and the process itself, on the stream by which its calls come, so that all that it issued before is known. A wait of its own
// that ends soon by its time-out is none: a program may look for a key again and again.
class HostWaits {
 public:
  struct Wait {
    bool for_all = true;  // for all of them to come; else for any one of the others to set the key
    const std::set<int>* missing = nullptr;
  };
  explicit HostWaits(int num_processes) : told_(std::size_t(num_processes)), key_(std::size_t(num_processes)) {}

  // `visit` is the process's own number of its wait, from 1; 0 where it gives none.
  void came(const std::string& barrier, int process, std::uint64_t visit, const std::set<int>& participants, bool ends_soon);
  void barrier_over(const std::string& barrier);
  void wants_key(int process, std::uint64_t visit, bool ends_soon);
  void key_over(int process, std::uint64_t visit);
  // By its stream; 0: it waits for nothing of the kind.
  void told(int process, std::uint64_t visit) { told_.at(std::size_t(process)) = visit; }

  bool any() const { return !barriers_.empty() || keys_wanted_ > 0; }
  std::optional<Wait> of(int process) const;

 private:
  struct Barrier {
    std::set<int> missing;
    std::map<int, std::uint64_t> here;  // visit by process
    bool ends_soon = false;
  };
  struct Key {
    std::uint64_t visit = 0;
    bool ends_soon = false;
  };
  std::map<std::string, Barrier> barriers_;
  std::vector<std::uint64_t> told_;  // by process
  std::vector<Key> key_;             // by process
  int keys_wanted_ = 0;
};

}  // namespace shardlab::control
