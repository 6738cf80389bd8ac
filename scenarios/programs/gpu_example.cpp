// The guide's program for several hosts: the coordinator's address, this process's number and how many there are come as arguments.
//   gpu_example 192.168.0.1:8000 0 4     on the first host
//   gpu_example 192.168.0.1:8000 1 4     on the second, and so on
#include <shardlab/shardlab.h>

#include <cstdlib>
#include <iostream>
using namespace shardlab;

int main(int argc, char** argv) {
  if (argc == 4) {
    distributed::initialize({.coordinator_address = argv[1], .num_processes = std::atoi(argv[3]), .process_id = std::atoi(argv[2])});
  } else {
    distributed::initialize();
  }
  std::cout << "process id = " << process_index() << '\n';
  std::cout << "global devices = " << devices() << '\n';
  std::cout << "local devices = " << local_devices() << '\n';
}
