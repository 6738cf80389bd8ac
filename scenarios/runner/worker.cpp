#include "scenarios/runner/worker.h"

#include <signal.h>
#include <sys/prctl.h>

#include "runtime/exec/context.h"
#include "runtime/shardlab/distributed.h"
#include "scenarios/document/load.h"
#include "scenarios/runner/process.h"

namespace shardlab::scenarios {

int run_worker(const std::string& file, const std::string& folder) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // whoever kills the command leaves no process behind
  std::vector<Loaded> loaded = load_path(file);
  SL_CHECK(loaded.size() == 1 && loaded[0].error.empty(), "a worker got a document that does not hold: {}", loaded[0].error);
  const Document& document = *loaded[0].document;

  distributed::initialize();
  int process = process_index();
  FaultInjector faults(document, process, folder);
  auto collector = std::make_shared<Collector>([&](std::int64_t first, std::int64_t count) { faults.before_calls(first, count); });
  collector->in_calls([&] { faults.in_call(); });
  Context::current().add_observer(collector);
  ProcessOutcome outcome = run_process(document, process, *collector, faults, [] { distributed::shutdown(); });
  // The error is told before anything else, so that the others need not wait for our files.
  if (outcome.error && outcome.diagnosis.empty())
    distributed::raised(*outcome.error, Where::at_statement(document.name, outcome.pointer, outcome.statement));
  faults.before_results();
  write_outcome(outcome, folder);
  if (!outcome.error) return 0;
  fmt::print(stderr, "{}\n", *outcome.error);
  return outcome.internal ? 4 : 1;
}

}  // namespace shardlab::scenarios
