// The programs after the documents print what the documents print: pictures, device orders, numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>
#include <vector>

namespace {

using testing::HasSubstr;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string golden(const std::string& name) {
  std::ifstream file(variable("SHARDLAB_SOURCE_DIR") + "/tests/scenarios/goldens/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// What a program of this repository prints; its name, perhaps with variables before and arguments behind.
std::string printed(const std::string& variables, const std::string& program) {
  FILE* pipe = ::popen((variables + " '" + variable("SHARDLAB_BIN_DIR") + "'/" + program).c_str(), "r");
  std::string output;
  char bytes[4096];
  for (std::size_t n; (n = std::fread(bytes, 1, sizeof bytes, pipe)) > 0;) output.append(bytes, n);
  int status = ::pclose(pipe);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << program << " ended with status " << status;
  return output;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string joined(const std::vector<std::string>& lines, bool (*is_wanted)(const std::string&)) {
  std::string text;
  for (const std::string& line : lines)
    if (is_wanted(line)) text += line + '\n';
  return text;
}

constexpr const char* kV3 = "SHARDLAB_NUM_CPU_DEVICES=8 SHARDLAB_DEVICE_PROFILE=v3-8";

TEST(Programs, DistributedArraysPrintsTheDocument) {
  std::vector<std::string> lines = lines_of(printed(kV3, "distributed_arrays 64"));
  auto is_fixed = [](const std::string& line) { return line.find("ms per loop") == line.npos && line.find("ValueError") == line.npos; };
  EXPECT_EQ(joined(lines, is_fixed), golden("distributed_arrays.txt"));
  std::string errors = joined(lines, [](const std::string& line) { return line.find("ValueError") != line.npos; });
  EXPECT_THAT(errors, HasSubstr("device ids [0, 1, 2, 3] on platform TPU and argument 1 of add with shape float32[64,64] and with device "
                                "ids [4, 5, 6, 7] on platform TPU"));
  EXPECT_THAT(errors, HasSubstr("device ids [0, 1, 2, 3, 4, 5, 6, 7] on platform TPU and argument 1 of add with shape float32[64,64] and "
                                "with device ids [0, 1, 2, 3, 6, 7, 4, 5] on platform TPU"));
}

TEST(Programs, TheNetworkLiesAsInTheDocument) {
  auto is_picture = [](const std::string& line) {
    return line.starts_with("┌") || line.starts_with("│") || line.starts_with("├") || line.starts_with("└");
  };
  EXPECT_EQ(joined(lines_of(printed(kV3, "network")), is_picture), golden("network_boxes.txt"));
}

// Without colours and the blanks at the ends of lines, which the document's text has lost.
std::string plain(const std::string& text) {
  std::string result;
  for (std::string line : lines_of(std::regex_replace(text, std::regex("\x1b\\[[0-9;]*m"), ""))) {
    line.erase(line.find_last_not_of(' ') + 1);
    result += line + '\n';
  }
  return result;
}

TEST(Programs, DistributedComputingPrintsTheDocument) {
  std::string output = plain(printed("FORCE_COLOR=1 SHARDLAB_NUM_CPU_DEVICES=8", "distributed_computing 8 16"));
  std::string document = golden("distributed_computing.txt");
  EXPECT_EQ(output.substr(0, document.size()), document);
  EXPECT_EQ(output.substr(std::min(output.size(), document.size())),
            "slabs: as on one device: yes, and back again: yes; all-to-alls: 2 and 2, all-gathers: 0\n"
            "pencils: as on one device: yes, and back again: yes; all-to-alls: 2 and 2, all-gathers: 0\n");
}

}  // namespace
