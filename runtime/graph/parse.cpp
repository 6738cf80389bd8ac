// Reads the canonical text of a graph, as print.cpp writes it.
//
// A recursive descent over characters with one position; every failure is a UserError with line and column. Bounds: sizes of text, rank
// and of literals, so that no input makes it allocate out of proportion.
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <utility>

#include "runtime/graph/graph.h"

namespace shardlab {
namespace {

constexpr std::size_t kTextBytesMax = std::size_t(64) << 20;
constexpr int kRankMax = 64;
constexpr int kDepthMax = 64;
constexpr std::int64_t kLiteralElementsMax = 16;
constexpr std::int64_t kElementsMax = std::int64_t(1) << 48;
constexpr std::int64_t kMeshSizeMax = std::int64_t(1) << 20;

bool is_name_char(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.'; }
bool is_number_char(char c) { return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'; }

class Parser {
 public:
  Parser(std::string_view text, const OpDef* (*find_op)(std::string_view)) : text_(text), find_op_(find_op) {}

  Graph graph() {
    if (text_.size() > kTextBytesMax) fail("the text has {} bytes, at most {} are read", text_.size(), kTextBytesMax);
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
    std::size_t at = position_;
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

  template <typename... Args>
  [[noreturn]] void fail_at(std::size_t at, fmt::format_string<Args...> text, Args&&... args) const {
    std::size_t line = 1, column = 1;
    for (std::size_t i = 0; i < at && i < text_.size(); ++i) {
      ++column;
      if (text_[i] == '\n') ++line, column = 1;
    }
    throw UserError(fmt::format("graph text, line {}, column {}: {}", line, column, fmt::format(text, std::forward<Args>(args)...)));
  }
  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> text, Args&&... args) const {
    fail_at(position_, text, std::forward<Args>(args)...);
  }
  std::string got() const {
    if (position_ >= text_.size()) return "the end of the text";
    unsigned char c = static_cast<unsigned char>(text_[position_]);
    return c < 0x20 || c >= 0x7f ? fmt::format("byte {}", int(c)) : fmt::format("'{}'", char(c));
  }

  // The next character that is no white space and in no comment; '\0' at the end.
  char peek() {
    while (position_ < text_.size()) {
      char c = text_[position_];
      if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
        ++position_;
      } else if (text_.substr(position_, 2) == "//") {
        while (position_ < text_.size() && text_[position_] != '\n') ++position_;
      } else {
        return c;
      }
    }
    return '\0';
  }
  bool accept(char c) {
    if (peek() != c || position_ >= text_.size()) return false;
    ++position_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail("wanted '{}', got {}", c, got());
  }
  void expect_word(std::string_view word) {
    std::size_t at = (peek(), position_);
    if (name(word) != word) fail_at(at, "wanted '{}'", word);
  }
  std::string_view name(std::string_view what) {
    peek();
    std::size_t start = position_;
    while (position_ < text_.size() && is_name_char(text_[position_])) ++position_;
    if (position_ == start) fail("wanted {}, got {}", what, got());
    return text_.substr(start, position_ - start);
  }
  std::string quoted() {
    char quote = peek();
    std::size_t start = position_++;
    std::string result;
    while (position_ < text_.size() && text_[position_] != quote) {
      char c = text_[position_++];
      if (c == '\\' && position_ < text_.size()) {
        c = text_[position_++];
        if (c == 'x') c = hex_byte();
      }
      result += c;
    }
    if (position_ >= text_.size()) fail_at(start, "the quoted text does not end");
    ++position_;
    return result;
  }
  char hex_byte() {
    int value = 0;
    const char* first = text_.data() + position_;
    const char* last = text_.data() + std::min(position_ + 2, text_.size());
    auto [end, error] = std::from_chars(first, last, value, 16);
    if (error != std::errc() || end != first + 2) fail("wanted two hexadecimal digits after \\x");
    position_ += 2;
    return char(value);
  }
  std::int64_t integer() {
    peek();
    std::int64_t value = 0;
    auto [end, error] = std::from_chars(text_.data() + position_, text_.data() + text_.size(), value);
    if (error == std::errc::result_out_of_range) fail("the integer does not fit 64 bits");
    if (error != std::errc()) fail("wanted an integer, got {}", got());
    position_ = std::size_t(end - text_.data());
    return value;
  }
  double number() {
    peek();
    std::size_t start = position_;
    bool negative = text_.substr(position_, 1) == "-";
    std::string_view word = text_.substr(position_ + negative, 3);
    if (word == "nan" || word == "inf") {
      position_ += negative + 3;
      double value = word == "nan" ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
      return negative ? -value : value;
    }
    while (position_ < text_.size() && is_number_char(text_[position_])) ++position_;
    double value = 0;
    const char* last = text_.data() + position_;
    auto [end, error] = std::from_chars(text_.data() + start, last, value);
    if (start == position_ || error == std::errc::invalid_argument || end != last) fail_at(start, "wanted a number");
    return value;  // out of range keeps what from_chars could read
  }
  std::vector<std::int64_t> integer_list(char open, char close, std::size_t count_max) {
    std::vector<std::int64_t> values;
    expect(open);
    while (!accept(close)) {
      if (!values.empty()) expect(',');
      if (values.size() >= count_max) fail("more than {} entries", count_max);
      values.push_back(integer());
    }
    return values;
  }

  DType dtype() {
    std::size_t at = (peek(), position_);
    std::string_view word = name("a dtype");
    auto found = dtype_from_name(word);
    if (!found) fail_at(at, "unknown dtype '{}'", word);
    return *found;
  }
  TensorType type() {
    TensorType type;
    type.dtype = dtype();
    type.shape = shape();
    return type;
  }
  Shape shape() {
    std::size_t at = (peek(), position_);
    Shape shape = integer_list('[', ']', kRankMax);
    std::int64_t elements = 1;
    for (std::int64_t size : shape) {
      if (size < 0) fail_at(at, "the size {} is negative", size);
      if (size > 0 && elements > kElementsMax / size) fail_at(at, "the shape has more than {} elements", kElementsMax);
      elements *= std::max<std::int64_t>(size, 1);
    }
    return shape;
  }

  void define(std::int64_t number, std::size_t at, ValueId id) {
    if (!ids_.emplace(number, id).second) fail_at(at, "%{} is defined twice", number);
  }
  std::int64_t value_number() {
    expect('%');
    return integer();
  }
  ValueId value() {
    std::size_t at = (peek(), position_);
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
    std::size_t at = (peek(), position_);
    std::int64_t number = value_number();
    expect(':');
    ValueId id = ValueId(graph_.values.size());
    graph_.values.push_back({type(), -1, int(graph_.params.size())});
    graph_.params.push_back(id);
    define(number, at, id);
  }
  void node() {
    std::size_t start = position_;
    std::vector<std::int64_t> numbers;
    do numbers.push_back(value_number());
    while (accept(','));
    expect('=');
    Node node;
    std::size_t at = (peek(), position_);
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
      std::size_t at = (peek(), position_);
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
      std::size_t at = (peek(), position_);
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
    std::size_t start = position_;
    if (c == '-' || (c >= '0' && c <= '9') || text_.substr(start, 3) == "nan" || text_.substr(start, 3) == "inf") return numeric();
    std::string_view word = name("a value");
    if (word == "true") return true;
    if (word == "false") return false;
    if (word == "NamedSharding") return named_sharding();
    if (word == "SingleDeviceSharding") return single_device_sharding();
    position_ = start;
    DType element = dtype();
    if (peek() != '[') return element;
    return literal({element, shape()});
  }
  // Integers, names, shardings or bodies, by the first entry.
  AttrValue list() {
    std::size_t start = position_;
    expect('[');
    char first = peek();
    if (first == ']' || first == '-' || (first >= '0' && first <= '9')) {
      position_ = start;
      return integer_list('[', ']', text_.size());
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
    std::string_view rest = text_.substr(position_);
    if (rest.starts_with("NamedSharding(") || rest.starts_with("SingleDeviceSharding(")) return entries([&] { return sharding(); });
    return entries([&] { return body(); });
  }
  // Whether a function whose name is in quotes stands here, and not a text.
  bool is_quoted_body() {
    std::size_t start = position_;
    quoted();
    bool result = peek() == '(';
    position_ = start;
    return result;
  }
  Sharding sharding() {
    std::size_t at = (peek(), position_);
    std::string_view word = name("a sharding");
    if (word == "NamedSharding") return std::get<Sharding>(named_sharding());
    if (word == "SingleDeviceSharding") return std::get<Sharding>(single_device_sharding());
    fail_at(at, "wanted a sharding");
  }
  AttrValue numeric() {
    std::size_t start = position_, end = start;
    while (end < text_.size() && is_number_char(text_[end])) ++end;
    std::string_view word = text_.substr(start, end - start);
    if (word.find_first_of(".e") == std::string_view::npos && !word.empty() && word != "-") return integer();
    return number();
  }

  AttrValue literal(TensorType literal_type) {
    std::size_t start = position_;
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
    std::size_t at = (peek(), position_);
    std::string_view word = name("true or false");
    if (word != "true" && word != "false") fail_at(at, "wanted true or false");
    return word == "true";
  }
  template <typename T>
  T whole_element() {
    std::size_t start = (peek(), position_), end = start;
    while (end < text_.size() && is_number_char(text_[end])) ++end;
    std::string_view word = text_.substr(start, end - start);
    T value = 0;
    auto [rest, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error == std::errc() && rest == word.data() + word.size()) {
      position_ = end;
      return value;
    }
    fail_at(start, "{} does not fit the dtype", integer());
  }
  template <typename T>
  T element(T) {
    if constexpr (Bool<T>) {
      return truth();
    } else if constexpr (Whole<T>) {
      return whole_element<T>();
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

  AttrValue single_device_sharding() {
    expect('(');
    expect_word("device");
    expect('=');
    std::size_t at = (peek(), position_);
    std::int64_t device = integer();
    if (device < 0 || device > kMeshSizeMax) fail_at(at, "device {} is out of range", device);
    expect(')');
    return Sharding::on_device(int(device));
  }
  AttrValue named_sharding() {
    expect('(');
    expect_word("mesh");
    expect('=');
    Mesh parsed = mesh();
    expect(',');
    expect_word("spec");
    expect('=');
    std::size_t at = (peek(), position_);
    Spec parsed_spec = spec(parsed);
    expect(')');
    try {
      Sharding sharding(parsed, parsed_spec);
      SL_CHECK(sharding.spec(int(parsed_spec.size())).size() == parsed_spec.size());
      return sharding;
    } catch (const UserError& error) { fail_at(at, "{}", error.what()); }
  }
  Mesh mesh() {
    std::size_t at = (peek(), position_);
    expect_word("Mesh");
    expect('(');
    Shape sizes;
    std::vector<std::string> names;
    std::vector<int> devices;
    std::int64_t total = 1;
    while (!accept(')')) {
      if (!sizes.empty()) expect(',');
      if (peek() != '\'') {
        devices = device_list();
        expect(')');
        break;
      }
      names.push_back(quoted());
      expect(':');
      sizes.push_back(integer());
      if (sizes.size() > kRankMax || sizes.back() < 1 || sizes.back() > kMeshSizeMax || (total *= sizes.back()) > kMeshSizeMax)
        fail_at(at, "the mesh is out of range: at most {} devices", kMeshSizeMax);
    }
    if (devices.empty())
      for (std::int64_t d = 0; d < total; ++d) devices.push_back(int(d));
    try {
      return Mesh(sizes, names, devices);
    } catch (const UserError& error) { fail_at(at, "{}", error.what()); }
  }
  std::vector<int> device_list() {
    expect_word("devices");
    expect('=');
    std::size_t at = (peek(), position_);
    std::vector<int> devices;
    for (std::int64_t device : integer_list('[', ']', std::size_t(kMeshSizeMax))) {
      if (device < 0 || device > std::numeric_limits<int>::max()) fail_at(at, "device {} is out of range", device);
      devices.push_back(int(device));
    }
    return devices;
  }
  Spec spec(const Mesh& mesh_of_spec) {
    expect_word("P");
    expect('(');
    Spec result;
    while (!accept(')')) {
      if (!result.empty()) {
        expect(',');
        if (accept(')')) break;  // P('a',)
      }
      if (result.size() >= kRankMax) fail("more than {} entries", kRankMax);
      Axes axes;
      if (peek() == '\'') {
        axes.push_back(piece(mesh_of_spec));
      } else if (accept('(')) {
        do axes.push_back(piece(mesh_of_spec));
        while (accept(','));
        expect(')');
      } else {
        expect_word("None");
      }
      result.push_back(std::move(axes));
    }
    check_disjoint(result);
    return result;
  }
  // 'a', or 'a:(1)2' for a sub-axis.
  AxisPiece piece(const Mesh& mesh_of_spec) {
    std::size_t at = (peek(), position_);
    if (peek() != '\'') fail("wanted an axis, got {}", got());
    std::string text = quoted();
    if (auto axis = mesh_of_spec.axis_index(text)) return mesh_of_spec.whole_axis(*axis);
    std::size_t colon = text.rfind(":(");
    std::size_t close = text.find(')', colon == std::string::npos ? text.size() : colon);
    auto axis = colon == std::string::npos ? std::nullopt : mesh_of_spec.axis_index(text.substr(0, colon));
    if (!axis || close == std::string::npos) fail_at(at, "the mesh has no axis '{}'", text);
    AxisPiece result{*axis, 0, 0};
    std::from_chars(text.data() + colon + 2, text.data() + close, result.pre);
    std::from_chars(text.data() + close + 1, text.data() + text.size(), result.size);
    std::int64_t whole = mesh_of_spec.axis_size(*axis);
    if (result.pre < 1 || result.size < 1 || result.pre > whole || result.size > whole || whole % (result.pre * result.size) != 0)
      fail_at(at, "'{}' is no part of an axis of size {}", text, whole);
    return result;
  }
  void check_disjoint(const Spec& checked) {
    Axes all;
    for (const Axes& axes : checked)
      for (const AxisPiece& axis : axes) {
        for (const AxisPiece& other : all)
          if (overlaps(axis, other)) fail("an axis is used twice in one spec");
        all.push_back(axis);
      }
  }

  std::string_view text_;
  const OpDef* (*find_op_)(std::string_view);
  std::size_t position_ = 0;
  Graph graph_;
  std::map<std::int64_t, ValueId> ids_;
  int depth_ = 0;  // of bodies
};

}  // namespace

Graph parse_graph(std::string_view text, const OpDef* (*find_op)(std::string_view)) { return Parser(text, find_op).graph(); }

}  // namespace shardlab
