// Lists of numbers as text.
#include "runtime/base/number_list.h"

#include <gtest/gtest.h>

#include <numeric>

namespace shardlab {
namespace {

std::vector<int> counted(int count, int first = 0, int step = 1) {
  std::vector<int> numbers(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) numbers[std::size_t(i)] = first + i * step;
  return numbers;
}

TEST(NumberList, ShortOnesAreWhole) {
  EXPECT_EQ(list_text({}), "[]");
  EXPECT_EQ(list_text(counted(1)), "[0]");
  EXPECT_EQ(list_text(counted(8)), "[0,1,2,3,4,5,6,7]");
  EXPECT_EQ(lists_text({}), "[]");
  EXPECT_EQ(lists_text({{0, 1}, {2, 3}, {4, 5}}), "[[0,1],[2,3],[4,5]]");
}

TEST(NumberList, LongOnesAreToldByRuns) {
  EXPECT_EQ(list_text(counted(65536)), "[0..65535]");
  EXPECT_EQ(list_text(counted(256, 3, 256)), "[3..65283 by 256]");
  std::vector<int> swapped = counted(100);
  std::swap(swapped[50], swapped[51]);
  EXPECT_EQ(list_text(swapped), "[0..49,51,50,52..99]");
}

TEST(NumberList, ManyAreToldByWhatTheyAreMoved) {
  std::vector<std::vector<int>> rows, columns;
  for (int i = 0; i < 256; ++i) {
    rows.push_back(counted(256, i * 256));
    columns.push_back(counted(256, i, 256));
  }
  EXPECT_EQ(lists_text(rows), "[[0..255] and 255 more, each 256 further]");
  EXPECT_EQ(lists_text(columns), "[[0..65280 by 256] and 255 more, each 1 further]");
  std::swap(rows[1][0], rows[1][1]);
  EXPECT_NE(lists_text(rows), "[[0..255] and 255 more, each 256 further]");
}

TEST(NumberList, MessagesTellRangesOfFiveOrMore) {
  EXPECT_EQ(ranges_text(std::vector<int>{3}), "3");
  EXPECT_EQ(ranges_text(std::vector<int>{0, 2}), "0 and 2");
  EXPECT_EQ(ranges_text(counted(4)), "0, 1, 2 and 3");
  EXPECT_EQ(ranges_text(counted(5)), "0-4");
  std::vector<int> gap = counted(64);
  gap.erase(gap.begin() + 21);
  EXPECT_EQ(ranges_text(gap), "0-20 and 22-63");
}

}  // namespace
}  // namespace shardlab
