// Mutations of scenario documents, in structure and in bytes, from a seed.
#pragma once

#include <random>
#include <string>
#include <vector>

namespace shardlab::scenarios {

// `corpus`: good documents to start from and to take parts of.
std::string mutate(const std::vector<std::string>& corpus, std::mt19937_64& random);

}  // namespace shardlab::scenarios
