#include "runtime/control/local_control.h"

namespace shardlab::control {

// Both directions, by plain calls.
class LocalLedgerControl::Link final : public Uplink, public Listener {
 public:
  explicit Link(LocalLedgerControl& owner) : owner_(owner), referee_(owner.referee_), process_(owner.process_index()) {}

  void declare(ProgramEvidence program) override { referee_.declare(program); }
  void issued(CallEvidence call) override { referee_.issued(process_, std::move(call)); }
  void reading(Reading reading) override { referee_.reading(process_, std::move(reading), comm::now_ns()); }
  void running() override { referee_.running(process_, comm::now_ns()); }
  void waiting(std::string doing, std::string where, std::int32_t statement) override {
    referee_.waiting(process_, doing, where, statement, comm::now_ns());
  }
  void wire_mismatch(int from, std::string what) override { referee_.wire_mismatch(process_, from, what, comm::now_ns()); }
  void raised(std::string error, std::string where, std::int32_t statement) override {
    referee_.raised(process_, error, where, statement, comm::now_ns());
    owner_.gate().acknowledged();
  }
  void leaving() override { referee_.leaving(process_, comm::now_ns()); }
  void recent(Recent recent) override { referee_.recent(process_, std::move(recent)); }
  void looked_ahead() override { referee_.looked_ahead(process_); }

  void matched(std::int64_t count) override { owner_.hear_matched(count); }
  void poison(bool anyone_raised) override { owner_.hear_poison(anyone_raised); }
  void verdict(const VerdictRef& verdict) override { owner_.hear_verdict(verdict); }
  void left() override { owner_.gate().left(); }
  std::optional<Recent> recent() const override { return owner_.ProcessControl::recent(); }

 private:
  LocalLedgerControl& owner_;
  Referee& referee_;
  const int process_;
};

LocalLedgerControl::LocalLedgerControl(Referee& referee, int process_index, std::function<void(const std::string&)> on_stop)
    : ProcessControl(process_index, std::move(on_stop)), referee_(referee), link_(std::make_unique<Link>(*this)) {
  referee_.joined(process_index, comm::now_ns());
  referee_.listen(process_index, link_.get());
}

LocalLedgerControl::~LocalLedgerControl() { referee_.listen(process_index(), nullptr); }

Uplink& LocalLedgerControl::uplink() { return *link_; }

}  // namespace shardlab::control
