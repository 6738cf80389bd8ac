// Generated from the registry: an op with an index map, computed box by box from only what the map says each box needs, equals the
// whole. What is not needed is overwritten with garbage first.
#include <gtest/gtest.h>

#include "tests/ops/evaluate.h"

namespace shardlab {
namespace {

using namespace testing_ops;

// Each dimension cut at random places, in one to four intervals, perhaps empty ones.
std::vector<Box> random_cut(const Shape& shape, std::mt19937& random) {
  std::vector<Box> boxes = {{}};
  for (std::int64_t size : shape) {
    std::vector<std::int64_t> places = {0, size};
    for (std::size_t i = random() % 4; i > 0; --i) places.push_back(std::int64_t(random() % unsigned(size + 1)));
    std::sort(places.begin(), places.end());
    std::vector<Box> longer;
    for (const Box& box : boxes)
      for (std::size_t i = 0; i + 1 < places.size(); ++i) {
        longer.push_back(box);
        longer.back().push_back({places[i], places[i + 1]});
      }
    boxes = std::move(longer);
  }
  return boxes;
}

// The part of an operand in the needed box, with garbage between the steps. Sometimes the box is larger by some indices, which are
// garbage too.
Tensor needed_part(const Tensor& operand, const NeededBox& needed, Box& box, std::mt19937& random) {
  box = needed.box;
  for (std::size_t d = 0; d < box.size(); ++d) {
    box[d].start -= std::min<std::int64_t>(random() % 2, box[d].start);
    box[d].stop += std::min<std::int64_t>(random() % 2, operand.type.shape[d] - box[d].stop);
  }
  Tensor part = part_of(operand, box);
  auto data = std::make_shared<Buffer>(std::size_t(part.type.bytes()));
  std::int64_t item = size_of(part.type.dtype);
  for (std::int64_t i = 0; i < part.type.elements(); ++i) {
    bool is_needed = true;
    std::int64_t rest = i;
    for (std::size_t d = box.size(); d-- > 0;) {
      std::int64_t index = box[d].start + rest % box[d].size(), step = needed.step.empty() ? 1 : needed.step[d];
      rest /= box[d].size();
      const Interval& own = needed.box[d];
      is_needed &= index >= own.start && index < own.stop && (index - own.start) % step == 0;
    }
    std::byte* to = data->data() + i * item;
    if (is_needed)
      std::copy_n(part.data->data() + i * item, item, to);
    else
      std::fill_n(to, item, part.type.dtype == DType::kBool ? std::byte(random() % 2) : std::byte(0x5b));
  }
  return {part.type, data};
}

class Needs : public ::testing::TestWithParam<const OpDef*> {};

TEST_P(Needs, BoxesFromWhatTheyNeedGiveTheWhole) {
  const OpDef& op = *GetParam();
  std::mt19937 random(11);
  for (const Sample& sample : op.samples()) {
    SCOPED_TRACE(describe(op, sample));
    std::vector<Tensor> operands;
    for (const TensorType& type : sample.operands) operands.push_back(random_tensor(type, random));
    std::vector<Tensor> wanted = run(op, operands, sample.attrs);
    std::vector<TensorType> result_types;
    for (const Tensor& tensor : wanted) result_types.push_back(tensor.type);
    for (int round = 0; round < 8; ++round) {
      for (const Box& box : random_cut(wanted[0].type.shape, random)) {
        std::vector<NeededBox> needed = op.needs(sample.operands, result_types, sample.attrs, box);
        ASSERT_EQ(needed.size(), operands.size());
        std::vector<Tensor> parts;
        std::vector<Box> part_boxes(operands.size());
        for (std::size_t i = 0; i < operands.size(); ++i) {
          ASSERT_TRUE(contains(whole(operands[i].type.shape), needed[i].box));
          parts.push_back(needed_part(operands[i], needed[i], part_boxes[i], random));
        }
        std::vector<Tensor> got =
            run_part(op, sample.operands, parts, part_boxes, result_types, std::vector<Box>(wanted.size(), box), sample.attrs);
        for (std::size_t i = 0; i < got.size(); ++i) expect_near(got[i], part_of(wanted[i], box), 1e-6, "a box of the result");
      }
    }
  }
}

std::vector<const OpDef*> ops_with_index_maps() {
  std::vector<const OpDef*> result;
  for (const OpDef* op : all_ops())
    if (op->needs != nullptr) result.push_back(op);
  return result;
}

INSTANTIATE_TEST_SUITE_P(EveryIndexMap, Needs, ::testing::ValuesIn(ops_with_index_maps()),
                         [](const auto& each) { return std::string(each.param->name); });

}  // namespace
}  // namespace shardlab
