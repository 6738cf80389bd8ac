#include "tests/spmd/simulator.h"

#include <cstring>
#include <random>

#include "runtime/core/buffer.h"
#include "runtime/ops/combine.h"

namespace shardlab::testing {
namespace {

using spmd::ComputeStep;
using spmd::MoveStep;
using spmd::PartitionedProgram;
using spmd::RegionStep;
using spmd::Slot;
using spmd::SlotId;

TensorType local_type(const TensorType& type, const Box& box) { return {type.dtype, shape_of(box)}; }

// Where bytes lie, somewhere also where there are none, as in the library's buffers.
template <typename AnyBytes>
auto* place_of(AnyBytes& bytes) {
  static std::byte nothing;
  return bytes.empty() ? &nothing : bytes.data();
}

// Runs one kernel; operands and results with their boxes.
std::vector<Bytes> run_kernel(const Node& node, const std::vector<TensorType>& operand_types, const std::vector<Bytes>& operands,
                              const std::vector<Box>& operand_boxes, const std::vector<TensorType>& result_types,
                              const std::vector<Box>& result_boxes) {
  std::vector<ConstView> inputs;
  for (std::size_t i = 0; i < operands.size(); ++i)
    inputs.push_back({local_type(operand_types[i], operand_boxes[i]), place_of(operands[i]), &operand_boxes[i], &operand_types[i].shape});
  std::vector<Bytes> results;
  for (std::size_t i = 0; i < result_types.size(); ++i)
    results.emplace_back(std::size_t(local_type(result_types[i], result_boxes[i]).bytes()));
  std::vector<MutableView> outputs;
  for (std::size_t i = 0; i < results.size(); ++i)
    outputs.push_back({local_type(result_types[i], result_boxes[i]), place_of(results[i]), &result_boxes[i]});
  node.op->kernel({inputs, outputs, node.attrs});
  return results;
}

class Simulation {
 public:
  explicit Simulation(const PartitionedProgram& program) : program_(program), data_(program.slots.size()) {
    for (const Slot& slot : program.slots) boxes_.push_back(boxes_of(slot, program.mesh));
  }

  void put(SlotId slot, const Bytes& value) {
    const TensorType& type = program_.slots[std::size_t(slot)].type;
    auto& shards = make(slot);
    for (std::size_t p = 0; p < shards.size(); ++p) {
      const Box& box = boxes_[std::size_t(slot)][p];
      copy_box(value.data(), whole(type.shape), shards[p].data(), box, box, size_of(type.dtype));
    }
  }

  void step(const ComputeStep& step) {
    const Node& node = program_.graph.nodes[std::size_t(step.node)];
    for (SlotId slot : step.results) make(slot);
    for (std::size_t p = 0; p < positions(); ++p) {
      std::vector<Bytes> operands;
      std::vector<Box> operand_boxes, result_boxes;
      std::vector<TensorType> operand_types, result_types;
      for (SlotId slot : step.operands) {
        operands.push_back(data_[std::size_t(slot)][p]);
        operand_boxes.push_back(boxes_[std::size_t(slot)][p]);
        operand_types.push_back(program_.slots[std::size_t(slot)].type);
      }
      for (SlotId slot : step.results) {
        result_boxes.push_back(boxes_[std::size_t(slot)][p]);
        result_types.push_back(program_.slots[std::size_t(slot)].type);
      }
      std::vector<Bytes> results = run_kernel(node, operand_types, operands, operand_boxes, result_types, result_boxes);
      for (std::size_t i = 0; i < results.size(); ++i) data_[std::size_t(step.results[i])][p] = std::move(results[i]);
    }
  }

  // Bodies are run by the executor's own tests.
  void step(const RegionStep& step) { throw InternalError(fmt::format("step of node {} has bodies: not simulated", step.node)); }

  void step(const MoveStep& step) {
    make(step.to);
    if (step.reduction) {
      reduce(step);
      return;
    }
    std::int64_t item = size_of(program_.slots[std::size_t(step.to)].type.dtype);
    for (const spmd::Transfer& t : transfers_of(program_, step)) copy(step, t.source, data_[std::size_t(step.to)], t.target, t.box, item);
  }

  // Fails the program where two holders of one element disagree.
  Bytes gather(SlotId slot) const {
    const TensorType& type = program_.slots[std::size_t(slot)].type;
    Bytes value(std::size_t(type.bytes()));
    for (std::size_t p = 0; p < positions(); ++p) {
      const Box& box = boxes_[std::size_t(slot)][p];
      copy_box(data_[std::size_t(slot)][p].data(), box, value.data(), whole(type.shape), box, size_of(type.dtype));
    }
    for (std::size_t p = 0; p < positions(); ++p) {
      const Box& box = boxes_[std::size_t(slot)][p];
      Bytes shard(data_[std::size_t(slot)][p].size());
      copy_box(value.data(), whole(type.shape), shard.data(), box, box, size_of(type.dtype));
      SL_CHECK(shard == data_[std::size_t(slot)][p], "position {} disagrees about slot {}", p, slot);
    }
    return value;
  }

 private:
  std::size_t positions() const { return std::size_t(program_.mesh.size()); }

  // Filled with a pattern, so that what nobody wrote shows.
  std::vector<Bytes>& make(SlotId slot) {
    auto& shards = data_[std::size_t(slot)];
    std::int64_t item = size_of(program_.slots[std::size_t(slot)].type.dtype);
    shards.clear();
    for (const Box& box : boxes_[std::size_t(slot)]) shards.emplace_back(std::size_t(element_count(box) * item), std::byte{0xA5});
    return shards;
  }

  void copy(const MoveStep& step, int source, std::vector<Bytes>& to, int target, const Box& box, std::int64_t item) const {
    copy_box(data_[std::size_t(step.from)][std::size_t(source)].data(), boxes_[std::size_t(step.from)][std::size_t(source)],
             to[std::size_t(target)].data(), boxes_[std::size_t(step.to)][std::size_t(target)], box, item);
  }

  void reduce(const MoveStep& step) {
    const TensorType& type = program_.slots[std::size_t(step.to)].type;
    for (const auto& group : step.groups) {
      for (int target : group) {
        const Box& box = boxes_[std::size_t(step.to)][std::size_t(target)];
        Bytes& sum = data_[std::size_t(step.to)][std::size_t(target)];
        for (std::size_t m = 0; m < group.size(); ++m) {
          std::vector<Bytes> part(positions());
          part[std::size_t(target)].resize(sum.size());
          copy(step, group[m], part, target, box, size_of(type.dtype));
          if (m == 0)
            sum = part[std::size_t(target)];
          else
            ops::combine(*step.reduction, type.dtype, sum.data(), sum.data(), part[std::size_t(target)].data(), element_count(box));
        }
      }
    }
  }

  const PartitionedProgram& program_;
  std::vector<std::vector<Box>> boxes_;  // per slot and position
  std::vector<std::vector<Bytes>> data_;
};

}  // namespace

std::vector<Bytes> run_whole(const Graph& graph, const std::vector<Bytes>& params) {
  std::vector<Bytes> values(graph.values.size());
  for (std::size_t i = 0; i < params.size(); ++i) values[std::size_t(graph.params[i])] = params[i];
  for (const Node& node : graph.nodes) {
    std::vector<Bytes> operands;
    std::vector<Box> operand_boxes, result_boxes;
    for (ValueId id : node.operands) {
      operands.push_back(values[std::size_t(id)]);
      operand_boxes.push_back(whole(graph.type(id).shape));
    }
    for (ValueId id : node.results) result_boxes.push_back(whole(graph.type(id).shape));
    std::vector<Bytes> results =
        run_kernel(node, graph.types(node.operands), operands, operand_boxes, graph.types(node.results), result_boxes);
    for (std::size_t i = 0; i < results.size(); ++i) values[std::size_t(node.results[i])] = std::move(results[i]);
  }
  std::vector<Bytes> results;
  for (ValueId id : graph.results) results.push_back(values[std::size_t(id)]);
  return results;
}

std::vector<Bytes> run_partitioned(const spmd::PartitionedProgram& program, const std::vector<Bytes>& params) {
  Simulation simulation(program);
  for (std::size_t i = 0; i < params.size(); ++i) simulation.put(program.params[i], params[i]);
  for (const spmd::Step& step : program.steps) std::visit([&](const auto& each) { simulation.step(each); }, step);
  std::vector<Bytes> results;
  for (SlotId slot : program.results) results.push_back(simulation.gather(slot));
  return results;
}

Bytes random_int32(const Shape& shape, unsigned seed) {
  std::mt19937 random(seed);
  Bytes bytes(std::size_t(element_count(shape)) * sizeof(std::int32_t));
  for (std::size_t i = 0; i < bytes.size(); i += sizeof(std::int32_t)) {
    std::int32_t value = std::int32_t(random() % 2001) - 1000;
    std::memcpy(bytes.data() + i, &value, sizeof value);
  }
  return bytes;
}

}  // namespace shardlab::testing
