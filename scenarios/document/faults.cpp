// "faults".
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>

#include "runtime/base/text.h"
#include "scenarios/document/document_error.h"
#include "scenarios/document/sections.h"
#include "scenarios/document/values.h"

namespace shardlab::scenarios {
namespace {

constexpr std::int64_t kFaultMsMax = 24LL * 3600 * 1000;

// One kind of fault: a bare word, or an object with this key.
struct FaultDef {
  std::string_view name;
  bool bare;
  void (*read)(const Node& value, Fault& fault);
};

const FaultDef kFaults[] = {
    {"raise", true, [](const Node&, Fault& fault) { fault.kind = FaultKind::kRaise; }},
    {"kill", true, [](const Node&, Fault& fault) { fault.kind = FaultKind::kKill; }},
    {"hang", true, [](const Node&, Fault& fault) { fault.kind = FaultKind::kHang; }},
    {"exit", false,
     [](const Node& value, Fault& fault) {
       fault.kind = FaultKind::kExit;
       fault.exit_code = int(value.integer(0, 255));
     }},
    {"stop_ms", false,
     [](const Node& value, Fault& fault) {
       fault.kind = FaultKind::kStop;
       fault.duration_ms = value.integer(0, kFaultMsMax);
     }},
    {"delay_ms", false,
     [](const Node& value, Fault& fault) {
       fault.kind = FaultKind::kDelay;
       fault.duration_ms = value.integer(0, kFaultMsMax);
     }},
    {"corrupt", false,
     [](const Node& value, Fault& fault) {
       fault.kind = FaultKind::kCorrupt;
       fault.array = value.string();
     }},
    {"disconnect", true, [](const Node&, Fault& fault) { fault.kind = FaultKind::kDisconnect; }},
    {"slow_link", false,
     [](const Node& value, Fault& fault) {
       fault.kind = FaultKind::kSlowLink;
       fault.factor = value.number();
       if (!(fault.factor >= 1 && fault.factor <= 1e6)) value.wanted("a factor from 1 to 1,000,000");
     }},
    {"clock", false,
     [](const Node& value, Fault& fault) {
       static constexpr std::string_view kKeys[] = {"offset_ms", "drift_ppm"};
       value.only_keys(kKeys, "the fault 'clock'");
       fault.kind = FaultKind::kClock;
       if (auto offset = value.find("offset_ms")) fault.offset_ms = offset->integer(-kFaultMsMax, kFaultMsMax);
       if (auto drift = value.find("drift_ppm")) fault.drift_ppm = drift->number();
       if (!(fault.drift_ppm > -1e6 && fault.drift_ppm < 1e6)) value.wanted("a drift of less than 1,000,000 ppm");
     }},
    {"trace_disk", false,
     [](const Node& value, Fault& fault) {
       fault.kind = FaultKind::kTraceDisk;
       if (value.string() != "full") value.wanted("\"full\"");
     }},
};

std::vector<std::string_view> fault_names() {
  std::vector<std::string_view> names;
  for (const FaultDef& each : kFaults) names.push_back(each.name);
  return names;
}

const FaultDef& fault_at(const Node& node, const std::string& name, bool bare) {
  for (const FaultDef& each : kFaults) {
    if (each.name != name) continue;
    if (each.bare != bare)
      node.fail(bare ? fmt::format("'{}' needs a value: {{\"{}\": …}}", name, name) : fmt::format("'{}' takes no value", name));
    return each;
  }
  node.fail(fmt::format("unknown fault '{}'{}", name, did_you_mean(name, fault_names())));
}

void read_do(const Node& node, Fault& fault) {
  fault.text = node.json().dump();
  if (node.is_string()) {
    fault_at(node, node.string(), true).read(node, fault);
    return;
  }
  if (!node.is_object()) node.wanted("a fault: a word or an object of one key");
  for (const std::string& key : node.keys())
    if (key != "device" && !std::any_of(std::begin(kFaults), std::end(kFaults), [&](const FaultDef& each) { return each.name == key; }))
      node.only_keys(fault_names(), "a fault");
  for (const FaultDef& each : kFaults)
    if (auto value = node.find(each.name)) {
      const FaultDef& def = fault_at(*value, std::string(each.name), false);
      const std::string_view only[] = {def.name, "device"};
      node.only_keys(std::span(only).first(def.name == "corrupt" ? 2 : 1), fmt::format("the fault '{}'", def.name));
      def.read(*value, fault);
      if (auto device = node.find("device")) fault.device = int(device->integer(0, 1'000'000));
      return;
    }
  node.fail("a fault without a kind");
}

void read_at(const Node& node, Fault& fault, const std::set<std::string>& statements) {
  if (node.is_object()) {
    static constexpr std::string_view kKeys[] = {"collective", "ms"};
    node.only_keys(kKeys, "a fault's place");
    if (node.json().size() != 1) node.wanted("one of {\"collective\": N} and {\"ms\": T}");
    if (auto collective = node.find("collective"))
      fault.collective = collective->integer(0);
    else
      fault.after_ms = node.at("ms").integer(0, kFaultMsMax);
    return;
  }
  if (!node.is_integer() && !node.is_string()) node.wanted("a statement's pointer or number, {\"collective\": N} or {\"ms\": T}");
  fault.statement = node.is_integer() ? fmt::format("/program/{}", node.integer(0)) : node.string();
  if (!statements.contains(fault.statement)) node.fail(fmt::format("there is no statement '{}'", fault.statement));
}

// One device belongs to one process.
void check_device(const Node& node, Fault& fault, const Document& document) {
  int devices = document.cluster.processes * document.cluster.devices;
  if (*fault.device >= devices) node.fail(fmt::format("there is no device {}: the cluster has {}", *fault.device, devices));
  int owner = *fault.device / document.cluster.devices;
  if (!std::binary_search(fault.processes.begin(), fault.processes.end(), owner))
    node.fail(fmt::format("device {} is process {}'s, and the fault is not for that process", *fault.device, owner));
  fault.processes = {owner};
}

Fault read_fault(const Node& node, const Document& document, const std::set<std::string>& statements) {
  static constexpr std::string_view kKeys[] = {"at", "iteration", "processes", "do", "note"};
  node.only_keys(kKeys, "a fault");
  Fault fault;
  fault.pointer = node.pointer();
  read_at(node.at("at"), fault, statements);
  if (auto iteration = node.find("iteration")) {
    if (fault.statement.empty()) iteration->fail("only a statement has iterations");
    fault.iteration = iteration->integer(0);
  }
  if (auto processes = node.find("processes")) {
    fault.processes = read_processes(*processes, document);
  } else {
    fault.processes.resize(std::size_t(document.cluster.processes));
    std::iota(fault.processes.begin(), fault.processes.end(), 0);
  }
  read_do(node.at("do"), fault);
  if (fault.device) check_device(node.at("do").at("device"), fault, document);
  return fault;
}

}  // namespace

Sweep read_sweep(const Node& node, const Document& document) {
  static constexpr std::string_view kKeys[] = {"at", "do", "processes", "note"};
  node.only_keys(kKeys, "a sweep");
  Node at = node.at("at");
  if (at.string() != "every-collective") at.wanted("\"every-collective\"");
  Sweep sweep;
  for (const Node& item : node.at("do").items()) {
    Fault fault;
    fault.pointer = item.pointer();
    read_do(item, fault);
    sweep.faults.push_back(std::move(fault));
  }
  sweep.processes.resize(std::size_t(document.cluster.processes));
  std::iota(sweep.processes.begin(), sweep.processes.end(), 0);
  if (auto processes = node.find("processes")) sweep.processes = read_processes(*processes, document);
  return sweep;
}

std::vector<Fault> read_faults(const Node& node, const Document& document, const std::set<std::string>& statements) {
  std::vector<Fault> faults;
  for (const Node& item : node.items()) faults.push_back(read_fault(item, document, statements));
  return faults;
}

}  // namespace shardlab::scenarios
