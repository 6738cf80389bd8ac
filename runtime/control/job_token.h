// The job's token: who carries it is a process of the job.
#pragma once

#include <string>
#include <string_view>

namespace shardlab::control {

std::string random_token();

// In a time that does not depend on where they differ.
bool same_token(std::string_view wanted, std::string_view got);

}  // namespace shardlab::control
