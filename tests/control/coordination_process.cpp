// A process of a job for tests: does its arguments in order by the public API, each for all processes or, with "@1,2 " before it, for some.
//   barrier:NAME:MS[:0,2]   set:KEY:VALUE   replace:KEY:VALUE   get:KEY:MS   sum[:0,2]   max[:0,2] (over the devices of those, or all)
//   sleep:MS   kill   stop   exit:CODE   raise:TEXT
//   callback (on the first device, of the sum over all; it throws)   begin (a sum that nobody reads)   diverge[:all] (the devices of the
//   last process, or of each, go different ways in a launch over all, then a sum)   fail[:caught] (a launch of all devices of this process
//   alone, which fails; nobody uses its result, or its error is caught)   library (a launch that nobody waits for uses what ends by
//   atexit(), registered after the joining)   signal (waits for one that a handler of its own takes; with "handler" as the very first
//   argument)   interrupt (by SIGTERM, itself)
// With "late" as the very first argument it asks itself to end by SIGTERM when all else of its end is done.
// The first may be at=ADDRESS,PROCESS,PROCESSES. What a step throws is printed, and the next one follows; a sum's or a verdict's ends the
// process.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/base/text.h"
#include "runtime/comm/control.h"

#include <shardlab/shardlab.h>
using namespace shardlab;

namespace {

volatile std::sig_atomic_t handled = 0;

std::vector<int> numbers(std::string_view text) {
  std::vector<int> list;
  for (std::string_view each : split(text, ',')) list.push_back(std::atoi(std::string(each).c_str()));
  return list;
}

[[gnu::noinline]] int look_up(const int* table, int i) { return table[i]; }

[[gnu::noinline]] void wait_for_ever() {
  for (volatile bool ready = false; !ready;) std::this_thread::sleep_for(std::chrono::hours(1));
}

[[gnu::noinline]] void step(const std::vector<std::string>& words) {
  auto ms = [](const std::string& word) { return std::chrono::milliseconds(std::atoi(word.c_str())); };
  const std::string& verb = words[0];
  if (verb == "barrier") {
    distributed::wait_at_barrier(words[1], ms(words[2]), words.size() > 3 ? numbers(words[3]) : std::vector<int>());
    std::cout << "passed " << words[1] << std::endl;
  } else if (verb == "set" || verb == "replace") {
    distributed::key_value_set(words[1], words[2], verb == "replace");
  } else if (verb == "get") {
    std::cout << "got " << distributed::blocking_key_value_get(words[1], ms(words[2])) << std::endl;
  } else if (verb == "sum" || verb == "max") {
    std::vector<Device> over;
    for (const Device& device : devices())
      if (words.size() < 2 || std::ranges::count(numbers(words[1]), device.process_index) > 0) over.push_back(device);
    const std::int64_t count = std::int64_t(over.size());
    auto x = device_put(full({count}, 1), NamedSharding(make_mesh({count}, {"all"}, over), P("all")));
    std::cout << verb << " " << (verb == "sum" ? sum(x) : max(x)).item<int>() << std::endl;
  } else if (verb == "callback") {
    auto x = device_put(full({device_count()}, 1), NamedSharding(make_mesh({device_count()}, {"all"}), P("all")));
    auto refuse = [](const HostArrays&) -> HostArray { throw std::runtime_error("no such row"); };
    auto f = jit([&](const Array& a) { return pure_callback(refuse, TensorType{DType::kInt32, {}}, {sum(a)}) + 1; });
    std::cout << "called " << f(x).item<int>() << std::endl;
  } else if (verb == "begin") {
    auto everywhere = NamedSharding(make_mesh({device_count()}, {"all"}), P("all"));
    sum(device_put(full({device_count()}, 1), everywhere));
  } else if (verb == "diverge") {
    const bool all = words.size() > 1;
    const int last = device_count() - 1;
    auto mesh = make_mesh({device_count()}, {"all"});
    auto ways = [&](const Array& x) {
      return cond(
          all ? axis_index({"all"}) % 2 == 1 : axis_index({"all"}) == last, [](const Array& v) { return psum(v, {"all"}); },
          [](const Array& v) { return v * 2; }, x);
    };
    auto f = shard_map(ways, {.mesh = mesh, .in_specs = {P("all")}, .out_specs = {P("all")}, .check_vma = false});
    std::cout << "sum " << sum(f(device_put(full({device_count()}, 1), NamedSharding(mesh, P("all"))))).item<int>() << std::endl;
  } else if (verb == "fail") {
    auto mesh = make_mesh({local_device_count()}, {"own"}, local_devices());
    auto ways = [](const Array& x) {
      return cond(
          axis_index({"own"}) == 0, [](const Array& v) { return psum(v, {"own"}); }, [](const Array& v) { return v * 2; }, x);
    };
    auto f = shard_map(ways, {.mesh = mesh, .in_specs = {P("own")}, .out_specs = {P("own")}, .check_vma = false});
    Array failed = f(device_put(full({local_device_count()}, 1), NamedSharding(mesh, P("own"))));
    if (words.size() > 1) failed.block_until_ready();
  } else if (verb == "library") {
    static std::atomic<bool> is_there = true;
    std::atexit([] { is_there = false; });
    auto use = [](const HostArrays& arrays) -> HostArray {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      std::cout << "the library " << (is_there ? "is there" : "has ended") << std::endl;
      return arrays[0];
    };
    auto x = device_put(full({device_count()}, 1), NamedSharding(make_mesh({device_count()}, {"all"}), P("all")));
    jit([&](const Array& a) { return pure_callback(use, TensorType{DType::kInt32, {}}, {sum(a)}); })(x);
  } else if (verb == "thread") {  // another one asks what there is, and computes
    std::thread([] {
      std::cout << "process " << process_index() << " of " << process_count() << ", " << device_count() << " devices" << std::endl;
      try {
        std::cout << sum(ones({4})) << std::endl;
      } catch (const UserError& error) { std::cout << "refused: " << error.what() << std::endl; }
    }).join();
  } else if (verb == "sleep") {
    std::this_thread::sleep_for(ms(words[1]));
  } else if (verb == "hang") {
    wait_for_ever();
  } else if (verb == "signal") {
    while (!handled) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::cout << "handled" << std::endl;
  } else if (verb == "kill") {
    std::raise(SIGKILL);
  } else if (verb == "crash") {
    int* volatile nothing = nullptr;
    std::cout << look_up(nothing, 3) << std::endl;
  } else if (verb == "abort") {
    std::abort();
  } else if (verb == "interrupt") {
    std::raise(SIGTERM);
  } else if (verb == "stop") {
    std::raise(SIGSTOP);
  } else if (verb == "exit") {
    std::_Exit(std::atoi(words[1].c_str()));
  } else if (verb == "raise") {
    throw std::runtime_error(words[1]);
  }
}

}  // namespace

int main(int argc, char** argv) {
  int first = 1;
  if (argc > 1 && std::string_view(argv[1]) == "handler") {
    std::signal(SIGINT, [](int signal) { handled = signal; });
    ++first;
  } else if (argc > 1 && std::string_view(argv[1]) == "late") {
    std::atexit([] { std::raise(SIGTERM); });
    ++first;
  }
  if (argc > first && std::string_view(argv[first]).starts_with("at=")) {
    std::string place = argv[first++] + 3;
    std::vector<std::string_view> words = split(place, ',');
    distributed::initialize(std::string(words.at(0)), std::stoi(std::string(words.at(2))), std::stoi(std::string(words.at(1))));
  } else {
    distributed::initialize();
  }
  for (int i = first; i < argc; ++i) {
    std::string text = argv[i];
    if (text[0] == '@') {
      std::size_t space = text.find(' ');
      std::vector<int> own = numbers(std::string_view(text).substr(1, space - 1));
      text = text.substr(space + 1);
      if (std::find(own.begin(), own.end(), process_index()) == own.end()) continue;
    }
    std::vector<std::string> words;
    for (std::string_view word : split(text, ':')) words.emplace_back(word);
    try {
      step(words);
    } catch (const comm::DiagnosisError&) { throw; } catch (const Error& error) {
      std::cout << "failed: " << error.what() << std::endl;
    }
  }
}
