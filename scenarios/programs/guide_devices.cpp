// The guide's GPU example: every process prints its number, all devices, and its own.
//   guide_devices 192.0.2.1:8000 0 4     on the first host
//   guide_devices 192.0.2.1:8000 1 4     on the second, and so on
#include <iostream>

#include "guide.h"
using namespace shardlab;

int main(int argc, char** argv) {
  join(argc, argv);
  std::cout << "process id = " << process_index() << '\n';
  std::cout << "global devices = " << devices() << '\n';
  std::cout << "local devices = " << local_devices() << '\n';
}
