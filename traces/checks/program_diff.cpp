#include "traces/checks/program_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <span>
#include <utility>

#include "runtime/base/text.h"

namespace shardlab {
namespace {

// One line of a program's text: a node "%2 = op(%0, %1) {a = 1} : type", a step "s3 = op(s2) : %2 type P(…)", or something else.
struct Line {
  enum class Kind { kHead, kNode, kStep, kOther };
  Kind kind = Kind::kOther;
  std::string text;
  std::string result, op, operands, type;
  std::map<std::string, std::string> attributes;
};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Splits at `separator` where no bracket is open.
std::vector<std::string_view> split_outside(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    if (c != separator || depth != 0) continue;
    parts.push_back(trimmed(text.substr(begin, i - begin)));
    begin = i + 1;
  }
  parts.push_back(trimmed(text.substr(begin)));
  return parts;
}

// The end of the bracket that opens at `open`, or npos.
std::size_t closing(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == '(' || text[i] == '{' || text[i] == '[') ++depth;
    if ((text[i] == ')' || text[i] == '}' || text[i] == ']') && --depth == 0) return i;
  }
  return std::string_view::npos;
}

Line line_of(std::string_view raw) {
  std::string_view text = trimmed(raw);
  Line line{.text = std::string(text)};
  if (text.starts_with("devices ") || text.starts_with("on ")) line.kind = Line::Kind::kHead;
  if (text.empty() || (text[0] != '%' && text[0] != 's')) return line;
  std::size_t equals = text.find(" = ");
  std::size_t open = equals == text.npos ? text.npos : text.find('(', equals);
  if (open != text.npos && text.substr(equals, open - equals).find(" : ") != text.npos) open = text.npos;  // of the type's sharding
  std::size_t close = open == text.npos ? text.npos : closing(text, open);
  bool numbered = text.size() > 1 && text[1] >= '0' && text[1] <= '9';
  if (!numbered) return line;
  line.result = text.substr(0, equals);
  if (close == text.npos) {  // "s0 = parameter 0 : …"
    std::size_t colon = text.find(" : ");
    if (equals == text.npos || colon == text.npos) return line;
    line.kind = Line::Kind::kStep;
    line.op = trimmed(text.substr(equals + 3, colon - equals - 3));
    line.type = trimmed(text.substr(colon + 3));
    return line;
  }
  line.kind = text[0] == '%' ? Line::Kind::kNode : Line::Kind::kStep;
  line.op = trimmed(text.substr(equals + 3, open - equals - 3));
  line.operands = text.substr(open + 1, close - open - 1);
  std::string_view rest = trimmed(text.substr(close + 1));
  if (rest.starts_with('{')) {
    std::size_t end = closing(rest, 0);
    if (end == rest.npos) return line;
    for (std::string_view each : split_outside(rest.substr(1, end - 1), ',')) {
      std::size_t at = each.find(" = ");
      if (at != each.npos) line.attributes[std::string(each.substr(0, at))] = each.substr(at + 3);
    }
    rest = trimmed(rest.substr(end + 1));
  } else if (std::size_t colon = rest.find(": "); colon != rest.npos && colon > 0) {
    line.attributes["groups"] = trimmed(rest.substr(0, colon));
    rest = rest.substr(colon);
  }
  if (rest.starts_with(':')) rest.remove_prefix(1);
  line.type = trimmed(rest);
  return line;
}

std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  for (std::string_view each : split(text, '\n')) lines.push_back(line_of(each));
  return lines;
}

// Values are numbered in order, so that what follows one more node is numbered differently: operands are told by their distance.
std::string key_of(const Line& line) {
  if (line.kind == Line::Kind::kOther || line.kind == Line::Kind::kHead) return line.text;
  std::string key = line.op + '|';
  int number = std::atoi(line.result.c_str() + 1);
  for (std::string_view operand : split_outside(line.operands, ',')) {
    bool numbered = operand.size() > 1 && operand[1] >= '0' && operand[1] <= '9';
    key += numbered ? fmt::format("-{}", number - std::atoi(std::string(operand.substr(1)).c_str())) : std::string(operand);
    key += ',';
  }
  for (const auto& [name, value] : line.attributes) key += fmt::format("|{}={}", name, value);
  std::string_view type = line.type;
  if (line.kind == Line::Kind::kStep && type.starts_with('%')) type = type.substr(std::min(type.size(), type.find(' ')));
  return key + '|' + std::string(type);
}

// Pairs (i, j) of equal lines, in order; as many as can be (longest common subsequence).
std::vector<std::pair<std::size_t, std::size_t>> common_lines(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  constexpr std::size_t kLinesMax = 2000;  // longer ones are compared line by line
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  if (a.size() > kLinesMax || b.size() > kLinesMax) {
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
      if (a[i] == b[i]) pairs.emplace_back(i, i);
    return pairs;
  }
  std::vector<std::vector<std::uint16_t>> length(a.size() + 1, std::vector<std::uint16_t>(b.size() + 1, 0));
  for (std::size_t i = a.size(); i-- > 0;)
    for (std::size_t j = b.size(); j-- > 0;)
      length[i][j] = a[i] == b[j] ? std::uint16_t(length[i + 1][j + 1] + 1) : std::max(length[i + 1][j], length[i][j + 1]);
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i] == b[j]) {
      pairs.emplace_back(i++, j++);
    } else if (length[i + 1][j] >= length[i][j + 1]) {
      ++i;
    } else {
      ++j;
    }
  }
  return pairs;
}

std::string place_of(const Line& line) {
  if (line.op.starts_with("parameter ")) return line.op;
  if (line.kind == Line::Kind::kHead) return line.text.starts_with("devices") ? "the order of devices" : "the mesh";
  if (line.kind == Line::Kind::kOther) return "the program";
  return fmt::format("{} = {}", line.result, line.op);
}

// "%0 float32[8,8] P('a', None)" -> "P('a', None)".
std::string sharding_of(const std::string& type) {
  std::size_t at = type.find(" P(");
  return at == std::string::npos ? "" : type.substr(at + 1);
}

// "devices [0,1]" -> "[0,1]", "on Mesh('a': 2) {" -> "Mesh('a': 2)".
std::string head_value(std::string_view text) {
  text.remove_prefix(std::min(text.size(), text.find(' ') + 1));
  if (text.ends_with(" {")) text.remove_suffix(2);
  return std::string(text);
}

// Two texts without the words at their ends that they have in common: "barrier a", "barrier b" of what both move in the same way.
std::pair<std::string, std::string> without_common_end(const std::string& a, const std::string& b) {
  std::size_t same = 0, words = 0;
  for (; same < std::min(a.size(), b.size()) && a[a.size() - 1 - same] == b[b.size() - 1 - same]; ++same)
    if (a[a.size() - 1 - same] == ' ') words = same + 1;
  return {a.substr(0, a.size() - words), b.substr(0, b.size() - words)};
}

// "[0, 1, 1, 0]" of who sends to whom -> "0->1, 1->0".
std::string pairs_text(std::string_view flat) {
  if (!flat.starts_with('[') || !flat.ends_with(']')) return std::string(flat);
  const std::vector<std::string_view> numbers = split(flat.substr(1, flat.size() - 2), ',');
  std::string text;
  for (std::size_t i = 0; i + 1 < numbers.size(); i += 2)
    text += fmt::format("{}{}->{}", text.empty() ? "" : ", ", trimmed(numbers[i]), trimmed(numbers[i + 1]));
  return text;
}

void compare(const Line& a, const Line& b, std::vector<ProgramDifference>& found) {
  if (a.kind == Line::Kind::kHead) {
    found.push_back({place_of(a), "devices", head_value(a.text), head_value(b.text)});
    return;
  }
  if (a.kind == Line::Kind::kOther) {
    auto [left, right] = without_common_end(a.text, b.text);
    found.push_back({place_of(a), "text", std::move(left), std::move(right)});
    return;
  }
  if (a.op != b.op) {
    found.push_back({a.result, "op", a.op, b.op});
    return;
  }
  std::map<std::string, std::pair<std::string, std::string>> attributes;
  for (const auto& [name, value] : a.attributes) attributes[name].first = value;
  for (const auto& [name, value] : b.attributes) attributes[name].second = value;
  std::size_t before = found.size();
  for (const auto& [name, values] : attributes)
    if (values.first != values.second) {
      const bool is_pairs = name == "perm";
      found.push_back({place_of(a), "attribute " + name, is_pairs ? pairs_text(values.first) : values.first,
                       is_pairs ? pairs_text(values.second) : values.second});
    }
  std::string mine = sharding_of(a.type), theirs = sharding_of(b.type);
  if (mine != theirs)
    found.push_back({place_of(a), "sharding", mine, theirs});
  else if (a.type != b.type && found.size() == before)
    found.push_back({place_of(a), "type", a.type, b.type});
  if (found.size() == before && a.operands != b.operands) found.push_back({place_of(a), "operands", a.operands, b.operands});
}

bool may_pair(const Line& a, const Line& b) { return a.kind == b.kind && (a.kind != Line::Kind::kHead || place_of(a) == place_of(b)); }

// What lies between two common lines on either side: lines of one op are versions of each other, others stand alone.
void compare_blocks(std::span<const Line> a, std::span<const Line> b, std::vector<ProgramDifference>& found) {
  std::size_t pairs = std::min(a.size(), b.size());
  bool same_length = a.size() == b.size();
  for (std::size_t i = 0, j = 0; i < a.size() || j < b.size();) {
    bool both = i < a.size() && j < b.size();
    if (both && may_pair(a[i], b[j]) && (same_length || a[i].op == b[j].op || pairs == 0)) {
      compare(a[i++], b[j++], found);
    } else if (i < a.size() && (!both || a.size() - i >= b.size() - j)) {
      found.push_back({place_of(a[i]), "node", a[i].text, ""});
      ++i;
    } else {
      found.push_back({place_of(b[j]), "node", "", b[j].text});
      ++j;
    }
  }
}

std::vector<ProgramDifference> compare_lines(const std::vector<Line>& a, const std::vector<Line>& b) {
  std::vector<std::string> keys_a, keys_b;
  for (const Line& line : a) keys_a.push_back(key_of(line));
  for (const Line& line : b) keys_b.push_back(key_of(line));
  auto common = common_lines(keys_a, keys_b);
  common.emplace_back(a.size(), b.size());
  std::vector<ProgramDifference> found;
  std::size_t i = 0, j = 0;
  for (auto [next_i, next_j] : common) {
    compare_blocks(std::span(a).subspan(i, next_i - i), std::span(b).subspan(j, next_j - j), found);
    i = next_i + 1;
    j = next_j + 1;
  }
  return found;
}

std::vector<Line> of_kinds(const std::vector<Line>& lines, std::initializer_list<Line::Kind> kinds) {
  std::vector<Line> chosen;
  for (const Line& line : lines)
    if (std::find(kinds.begin(), kinds.end(), line.kind) != kinds.end()) chosen.push_back(line);
  return chosen;
}

}  // namespace

std::vector<ProgramDifference> program_differences(std::string_view a, std::string_view b, std::size_t most) {
  std::vector<Line> left = lines_of(a), right = lines_of(b);
  using Kind = Line::Kind;
  std::vector<ProgramDifference> found = compare_lines(of_kinds(left, {Kind::kHead}), of_kinds(right, {Kind::kHead}));
  std::vector<ProgramDifference> nodes = compare_lines(of_kinds(left, {Kind::kNode}), of_kinds(right, {Kind::kNode}));
  found.insert(found.end(), nodes.begin(), nodes.end());
  if (found.empty()) found = compare_lines(of_kinds(left, {Kind::kStep}), of_kinds(right, {Kind::kStep}));
  if (found.empty()) found = compare_lines(of_kinds(left, {Kind::kOther}), of_kinds(right, {Kind::kOther}));
  if (found.size() > most) found.resize(most);
  return found;
}

std::string text_of(const ProgramDifference& difference, std::string_view on_a, std::string_view on_b) {
  if (difference.what == "node")
    return difference.b.empty() ? fmt::format("{} alone has {}", on_a, difference.a) : fmt::format("{} alone has {}", on_b, difference.b);
  std::string what = difference.what == "devices" || difference.what == "text" ? difference.place
                                                                               : fmt::format("{} of {}", difference.what, difference.place);
  auto told = [](const std::string& value) { return value.empty() ? std::string("absent") : value; };
  return fmt::format("{} is {} on {} and {} on {}", what, told(difference.a), on_a, told(difference.b), on_b);
}

}  // namespace shardlab
