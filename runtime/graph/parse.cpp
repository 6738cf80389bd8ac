// Reads the canonical text of a graph, as print.cpp writes it.
//
// A recursive descent over characters with one position; every failure is a UserError with line and column. Bounds: sizes of text, rank
// and of literals, so that no input makes it allocate out of proportion.
#include <map>
#include <utility>

#include "runtime/graph/graph.h"
#include "runtime/graph/parse_sharding.h"

namespace shardlab {
namespace {

constexpr std::size_t kTextBytesMax = std::size_t(64) << 20;
constexpr int kDepthMax = 64;
constexpr std::int64_t kLiteralElementsMax = 16;

class Parser : private TextReader {
 public:
  Parser(std::string_view text, const OpDef* (*find_op)(std::string_view)) : TextReader(text), find_op_(find_op) {}

  Graph graph() {
    if (size() > kTextBytesMax) fail("the text has {} bytes, at most {} are read", size(), kTextBytesMax);
    Graph result = function();
    if (peek() != '\0') fail("wanted the end of the text");
    return result;
  }

 private:
  Graph function() {
    graph_.name = peek() == '"' ? quoted() : std::string(name("the program's name"));
    expect('(');
    while (!accept(')')) {
      if (!graph_.params.empty()) expect(',');
      parameter();
    }
    expect('{');
    while (peek() == '%') node();
    std::size_t at = position();
    if (name("a node or 'return'") != "return") fail_at(at, "wanted a node or 'return'");
    if (peek() == '%') graph_.results = operands();
    expect('}');
    return std::move(graph_);
  }
  // A graph inside a node has values of its own.
  GraphRef body() {
    if (++depth_ > kDepthMax) fail("bodies are nested deeper than {}", kDepthMax);
    Graph outer = std::exchange(graph_, Graph());
    std::map<std::int64_t, ValueId> outer_ids = std::exchange(ids_, {});
    auto result = std::make_shared<const Graph>(function());
    graph_ = std::move(outer);
    ids_ = std::move(outer_ids);
    --depth_;
    return result;
  }

  void define(std::int64_t number, std::size_t at, ValueId id) {
    if (!ids_.emplace(number, id).second) fail_at(at, "%{} is defined twice", number);
  }
  std::int64_t value_number() {
    expect('%');
    return integer();
  }
  ValueId value() {
    std::size_t at = next();
    std::int64_t number = value_number();
    auto found = ids_.find(number);
    if (found == ids_.end()) fail_at(at, "%{} is used before it is defined", number);
    return found->second;
  }
  std::vector<ValueId> operands() {
    std::vector<ValueId> ids;
    do ids.push_back(value());
    while (accept(','));
    return ids;
  }
  void parameter() {
    std::size_t at = next();
    std::int64_t number = value_number();
    expect(':');
    ValueId id = ValueId(graph_.values.size());
    graph_.values.push_back({type(), -1, int(graph_.params.size())});
    graph_.params.push_back(id);
    define(number, at, id);
  }
  void node() {
    std::size_t start = position();
    std::vector<std::int64_t> numbers;
    do numbers.push_back(value_number());
    while (accept(','));
    expect('=');
    Node node;
    std::size_t at = next();
    std::string_view op_name = name("an op");
    node.op = find_op_(op_name);
    if (node.op == nullptr) fail_at(at, "unknown op '{}'", op_name);
    if (!node.op->is_primitive()) fail_at(at, "'{}' is no primitive; a graph holds what it expands to", op_name);
    expect('(');
    if (peek() == '%') node.operands = operands();
    expect(')');
    int count = int(node.operands.size());
    if (count < node.op->operands_min || (node.op->operands_max >= 0 && count > node.op->operands_max))
      fail_at(at, "{} does not take {} operands", op_name, count);
    if (accept('{')) node.attrs = attributes();
    expect(':');
    finish_node(std::move(node), numbers, start);
  }
  void finish_node(Node node, const std::vector<std::int64_t>& numbers, std::size_t start) {
    node.user_op = node.op->name;
    std::vector<TensorType> types;
    try {
      types = node.op->infer(*node.op, graph_.types(node.operands), node.attrs);
    } catch (const Error& error) {  // a getter's InternalError too: the attributes come from outside
      fail_at(start, "{}", error.what());
    }
    if (types.size() != numbers.size()) fail_at(start, "{} has {} results, got {}", node.op->name, types.size(), numbers.size());
    NodeId index = NodeId(graph_.nodes.size());
    for (std::size_t i = 0; i < types.size(); ++i) {
      if (i > 0) expect(',');
      std::size_t at = next();
      TensorType given = type();
      if (given != types[i]) fail_at(at, "{} gives {}, the text says {}", node.op->name, types[i].text(), given.text());
      ValueId id = ValueId(graph_.values.size());
      graph_.values.push_back({types[i], index, int(i)});
      node.results.push_back(id);
      define(numbers[i], start, id);
    }
    graph_.nodes.push_back(std::move(node));
  }

  Attrs attributes() {
    Attrs attrs;
    while (!accept('}')) {
      if (!attrs.entries().empty()) expect(',');
      std::size_t at = next();
      std::string_view key = name("an attribute");
      if (attrs.has(key)) fail_at(at, "attribute '{}' is given twice", key);
      expect('=');
      attrs.set(key, attribute_value());
    }
    return attrs;
  }
  AttrValue attribute_value() {
    char c = peek();
    if (c == '"') return quoted();
    if (c == '[') return list();
    std::size_t start = position();
    if (c == '-' || (c >= '0' && c <= '9') || stands("nan") || stands("inf")) return numeric();
    std::string_view word = name("a value");
    if (word == "true") return true;
    if (word == "false") return false;
    if (word == "NamedSharding" || word == "SingleDeviceSharding") {
      go_to(start);
      return read_sharding(*this);
    }
    go_to(start);
    DType element = dtype();
    if (peek() != '[') return element;
    return literal({element, shape()});
  }
  // Integers, names, shardings or bodies, by the first entry.
  AttrValue list() {
    std::size_t start = position();
    expect('[');
    char first = peek();
    if (first == ']' || first == '-' || (first >= '0' && first <= '9')) {
      go_to(start);
      return integer_list('[', ']', size());
    }
    auto entries = [&](auto read) {
      std::vector<decltype(read())> values;
      do values.push_back(read());
      while (accept(','));
      expect(']');
      return values;
    };
    bool is_string = first == '"' && !is_quoted_body();
    if (is_string) return entries([&] { return peek() == '"' ? quoted() : std::string(name("a text in quotes")); });
    if (stands_sharding(*this)) return entries([&] { return read_sharding(*this); });
    return entries([&] { return body(); });
  }
  // Whether a function whose name is in quotes stands here, and not a text.
  bool is_quoted_body() {
    std::size_t start = position();
    quoted();
    bool result = peek() == '(';
    go_to(start);
    return result;
  }
  AttrValue numeric() {
    std::string_view word = number_word();
    if (word.find_first_of(".e") == std::string_view::npos && !word.empty() && word != "-") return integer();
    return number();
  }

  AttrValue literal(TensorType literal_type) {
    std::size_t start = position();
    expect('{');
    if (literal_type.elements() > kLiteralElementsMax)
      fail_at(start, "this array is left out of the text ({} elements, at most {} are printed)", literal_type.elements(),
              kLiteralElementsMax);
    auto buffer = std::make_shared<Buffer>(std::size_t(literal_type.bytes()));
    visit_dtype(literal_type.dtype, [&](auto sample) {
      using T = decltype(sample);
      for (std::int64_t i = 0; i < literal_type.elements(); ++i) {
        if (i > 0) expect(',');
        buffer->as<T>()[i] = element(sample);
      }
    });
    expect('}');
    return std::make_shared<const Literal>(Literal{std::move(literal_type), std::move(buffer)});
  }
  bool truth() {
    std::size_t at = next();
    std::string_view word = name("true or false");
    if (word != "true" && word != "false") fail_at(at, "wanted true or false");
    return word == "true";
  }
  template <typename T>
  T element(T) {
    if constexpr (Bool<T>) {
      return truth();
    } else if constexpr (Whole<T>) {
      return whole_number<T>();
    } else if constexpr (Cplx<T>) {
      expect('(');
      double real = number();
      expect(',');
      double imag = number();
      expect(')');
      return {typename T::value_type(real), typename T::value_type(imag)};
    } else {
      return element_from<T>(number());
    }
  }

  const OpDef* (*find_op_)(std::string_view);
  Graph graph_;
  std::map<std::int64_t, ValueId> ids_;
  int depth_ = 0;  // of bodies
};

}  // namespace

Graph parse_graph(std::string_view text, const OpDef* (*find_op)(std::string_view)) { return Parser(text, find_op).graph(); }

}  // namespace shardlab
