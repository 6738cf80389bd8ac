// What a GPU does for one node on one device: kernel launches, copies and library calls over numbered buffers. Made without a GPU.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/exec/epilogue.h"
#include "runtime/graph/op_def.h"

namespace shardlab::cuda {

// A kernel, by what it calls: "copy_region<u32, 3, u32>(a)", with room for so many buffers and numbers.
struct KernelText {
  std::string body;
  int buffers = 1, numbers = 1;
  int lanes = 1;             // neighbours that a thread takes at once
  int instances = 1;         // as many sets of arguments, one after another: a grid's y says which
  std::string name() const;  // of the function, by content
  bool operator==(const KernelText&) const = default;
};

struct Call {
  enum class Kind : std::uint8_t {
    kKernel,  // of `kernel`, with buffers and numbers
    kCopy,    // numbers[0] bytes from buffers[0] at numbers[1] to buffers[1] at numbers[2]
    kUpload,  // `data` to buffers[0]
    kClear,   // numbers[0] bytes of buffers[0] become numbers[1]
    kMatrix,  // a product of matrices of `dtype` by cuBLASLt; `kernel` says the same for whoever has no library, numbers as its
    kSort,    // places by words, by CUB: buffers words, places, then both in order; numbers: how many, bytes of a word, its bits
    kFourier  // rows of transforms by cuFFT: buffers[0] to buffers[1]; numbers: FftKind, length, rows; `dtype` of the real parts
  };
  Kind kind = Kind::kKernel;
  KernelText kernel;
  std::vector<int> buffers;
  std::vector<std::int64_t> numbers;
  std::int64_t work = 0;      // threads, or blocks where they have barriers
  bool has_barriers = false;  // a block makes a result
  DType dtype = DType::kFloat32;
  BufferRef data;
  // Of a product: what follows it; `kernel` does it in place, on the result and what is added.
  struct End {
    double scale = 1;
    int added = -1;  // a buffer: the bias, or the addend; -1: none
    bool is_addend = false;
    Epilogue::Activation activation = Epilogue::Activation::kNone;
    KernelText kernel;
    std::vector<std::int64_t> numbers;
  };
  std::optional<End> end;
};

// Buffers: operands, results, then temporaries of so many bytes.
struct NodePlan {
  std::vector<std::size_t> temporaries;
  std::vector<Call> calls;
  bool is_unordered = false;  // the calls may be done in any order, and at once
};

// Of libraries that may be missing, which there are.
struct Libraries {
  bool has_sorts = false;
};

// The plan of a node on one device: `args` has types, boxes and attributes, and no data. UserError that names the op where there is none,
// which the tests forbid.
NodePlan plan_node(const OpDef& op, const KernelArgs& args, Libraries libraries = {});
// Of a product with what follows it: the bias or the addend is the third operand.
NodePlan plan_product(const OpDef& op, const KernelArgs& args, const Epilogue& epilogue);

class Planner;

// The families of ops that have a plan; one definition each, in codegen/<family>_plan.cpp, listed in codegen/families.cpp.
struct FamilyDef {
  std::string_view name, doc;
  bool (*has)(const OpDef& op);
  void (*plan)(Planner& planner, const OpDef& op, const KernelArgs& args);
};
const FamilyDef* family_of(const OpDef& op);  // nullptr: it has no GPU path

// A family whose ops have a plan each: `has` and `plan` of its FamilyDef.
struct OpPlan {
  std::string_view op;
  void (*plan)(Planner& planner, const KernelArgs& args);
};
template <const auto& kPlans>
struct PlansByOp {
  static const OpPlan* find(const OpDef& op) {
    for (const OpPlan& each : kPlans)
      if (each.op == op.name) return &each;
    return nullptr;
  }
  static bool has(const OpDef& op) { return find(op) != nullptr; }
  static void plan(Planner& planner, const OpDef& op, const KernelArgs& args) { find(op)->plan(planner, args); }
};

// Grows a plan call by call. Buffers by number: operand(i), result(i), or what temporary() gave.
class Planner {
 public:
  explicit Planner(const KernelArgs& args, Libraries libraries = {}) : args_(args), libraries_(libraries) {}

  const Libraries& libraries() const { return libraries_; }

  int operand(std::size_t i) const { return int(i); }
  int result(std::size_t i) const { return int(args_.operands.size() + i); }
  int temporary(std::int64_t bytes);

  Call& kernel(std::string body, std::vector<int> buffers, std::vector<std::int64_t> numbers);
  // A kernel of which a block makes each of numbers[0] results.
  Call& kernel_of_blocks(std::string body, std::vector<int> buffers, std::vector<std::int64_t> numbers);
  void copy(int from, std::int64_t from_offset, int to, std::int64_t to_offset, std::int64_t bytes);
  // Elements of a region; offsets and strides in elements. As copy() where both sides are dense.
  struct Side {
    int buffer;
    std::int64_t offset;
    Shape strides;
  };
  void copy_region(const Shape& shape, Side from, Side to, std::int64_t element_bytes);
  // Then copy_region() copies by kernels alone, which are one launch where several devices copy at once.
  void use_kernels_alone() { uses_kernels_alone_ = true; }
  void need_no_order() { plan_.is_unordered = true; }
  void clear(int buffer, std::int64_t bytes, int byte = 0);
  void upload(int buffer, BufferRef data);
  Call& add(Call call);
  NodePlan take() { return std::move(plan_); }

 private:
  const KernelArgs& args_;
  Libraries libraries_;
  bool uses_kernels_alone_ = false;
  NodePlan plan_;
};

std::string_view type_name(DType dtype);  // "f32", as kernels call it
// What accumulators are stored as between two rounds of a reduction: "f32" of 16-bit floats, else as the elements.
std::string_view wide_name(DType dtype);
std::int64_t wide_bytes(DType dtype);
std::string_view raw_type_name(std::int64_t bytes);  // "u32": elements that nobody looks into
std::string_view functor_name(Reduction reduction);  // "Sum"
std::int64_t integer_code(DType dtype);              // of index_at()

// An elementwise op on values: the expression of its result, a value as stored.
bool is_elementwise(const OpDef& op);
std::string elementwise_text(const OpDef& op, const std::vector<DType>& dtypes, DType result, const std::vector<std::string>& values);

// The text of a program of kernels: for NVRTC, or as C++ that runs on the CPU.
enum class Form : std::uint8_t { kNvrtc, kHost };
std::string program_text(const std::vector<KernelText>& kernels, Form form);

}  // namespace shardlab::cuda
