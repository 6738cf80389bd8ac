#include "tests/scenarios/mutate.h"

#include <nlohmann/json.hpp>

namespace shardlab::scenarios {
namespace {

using nlohmann::json;

class Mutator {
 public:
  Mutator(const std::vector<std::string>& corpus, std::mt19937_64& random) : corpus_(corpus), random_(random) {}

  std::string run() {
    json document = any_document();
    for (int i = 0, n = below(4); i < n; ++i) change(pick_place(document));
    std::string text = document.dump();
    if (below(4) == 0)
      for (int i = 0, n = 1 + below(4); i < n; ++i) change_bytes(text);
    return text;
  }

 private:
  int below(std::size_t n) { return n == 0 ? 0 : int(random_() % n); }
  json any_document() { return json::parse(corpus_[std::size_t(below(corpus_.size()))]); }

  // A value anywhere below `root`, deeper ones as likely as flat ones.
  json& pick_place(json& root) {
    json* at = &root;
    while (at->is_structured() && !at->empty() && below(6) != 0) {
      int index = below(at->size());
      at = &*std::next(at->begin(), index);
    }
    return *at;
  }

  json interesting() {
    static const char* const kValues[] = {"null",
                                          "true",
                                          "0",
                                          "-1",
                                          "1",
                                          "2",
                                          "3",
                                          "7",
                                          "1e9",
                                          "1e300",
                                          "2147483648",
                                          "-9223372036854775808",
                                          "18446744073709551615",
                                          "0.5",
                                          "\"\"",
                                          "\"x\"",
                                          "\"y\"",
                                          "\"$n\"",
                                          "\"nan\"",
                                          "\"-inf\"",
                                          "[]",
                                          "{}",
                                          "[[]]",
                                          "[0]",
                                          "[1, 2]",
                                          "[-1]",
                                          "[0, 0]",
                                          "[[1], 2]",
                                          "[4, 8]",
                                          "[null]",
                                          "[\"a\"]",
                                          "[\"a\", \"b\"]",
                                          "[[\"a\", \"b\"]]",
                                          "{\"processes\": [0]}",
                                          "{\"device\": 0}",
                                          "\"int32\"",
                                          "\"complex64\"",
                                          "\"bool\"",
                                          "\"sum\"",
                                          "\"matmul\"",
                                          "\"reshape\"",
                                          "\"transpose\"",
                                          "\"jit\"",
                                          "\"call\"",
                                          "\"device_put\"",
                                          "\"einsum\"",
                                          "\"broadcast_to\"",
                                          "\"arange\"",
                                          "\"iota\"",
                                          "\"constant\"",
                                          "\"softmax\"",
                                          "\"select\"",
                                          "\"slice\"",
                                          "\"mean\"",
                                          "\"vmap\"",
                                          "\"checkpoint\"",
                                          "\"auto_axes\"",
                                          "\"explicit_axes\"",
                                          "\"reshard\"",
                                          "\"psum\"",
                                          "\"UNCONSTRAINED\"",
                                          "[\"UNCONSTRAINED\"]",
                                          "[\"Explicit\"]",
                                          "[\"Auto\", \"Explicit\"]",
                                          "[null, 0]",
                                          "{\"repeat\": 2, \"body\": []}",
                                          "{\"let\": \"x\", \"op\": \"ones\", \"shape\": [0]}"};
    return json::parse(kValues[below(std::size(kValues))]);
  }

  std::string any_key() {
    static const char* const kKeys[] = {"op",
                                        "let",
                                        "args",
                                        "shape",
                                        "axis",
                                        "axes",
                                        "dtype",
                                        "sharding",
                                        "spec",
                                        "mesh",
                                        "fn",
                                        "on",
                                        "not_on",
                                        "processes",
                                        "repeat",
                                        "body",
                                        "keepdims",
                                        "value",
                                        "in_shardings",
                                        "out_shardings",
                                        "devices",
                                        "matrix",
                                        "functions",
                                        "limits",
                                        "expect",
                                        "subscripts",
                                        "dimension",
                                        "in_axes",
                                        "out_axes",
                                        "axis_name",
                                        "axis_size",
                                        "spmd_axis_name",
                                        "axis_types",
                                        "policy",
                                        "out_sharding",
                                        "in_sharding",
                                        "strang\u00e9/~"};
    return kKeys[below(std::size(kKeys))];
  }

  void change(json& place) {
    switch (below(7)) {
      case 0:
        place = interesting();
        break;
      case 1: {  // a part of another document
        json other = any_document();
        place = pick_place(other);
        break;
      }
      case 2:
        if (place.is_structured() && !place.empty()) place.erase(std::next(place.begin(), below(place.size())));
        break;
      case 3:
        if (place.is_array())
          place.insert(place.begin() + below(place.size() + 1), interesting());
        else if (place.is_object())
          place[any_key()] = interesting();
        break;
      case 4:
        if (place.is_array() && !place.empty()) place.push_back(place[std::size_t(below(place.size()))]);
        break;
      case 5:
        if (place.is_number_integer()) place = place.get<std::int64_t>() + below(5) - 2;
        break;
      case 6:
        if (place.is_string()) {
          std::string text = place.get<std::string>();
          if (!text.empty()) text[std::size_t(below(text.size()))] = char('a' + below(26));
          place = text;
        }
        break;
    }
  }

  void change_bytes(std::string& text) {
    if (text.empty()) return;
    std::size_t at = std::size_t(below(text.size()));
    switch (below(4)) {
      case 0:
        text[at] = char(below(256));
        break;
      case 1:
        text.erase(at, std::size_t(1 + below(8)));
        break;
      case 2:
        text.insert(at, 1, "{}[],:\"\\0e-"[below(11)]);
        break;
      case 3:
        text.resize(at);
        break;
    }
  }

  const std::vector<std::string>& corpus_;
  std::mt19937_64& random_;
};

}  // namespace

std::string mutate(const std::vector<std::string>& corpus, std::mt19937_64& random) { return Mutator(corpus, random).run(); }

}  // namespace shardlab::scenarios
