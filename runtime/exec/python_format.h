// Python's str.format() over values of the host: "x = {}, y = {y:.2f}".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/exec/host_array.h"

namespace shardlab {

// A format, parsed. Fields are by position ("{}", "{0}") or by name ("{loss}"), with Python's format specification behind a colon: for
// scalars alone, as numpy has it.
class PythonFormat {
 public:
  // UserError for braces that do not fit together, and for what Python has beside (attributes, indices, conversions but !s).
  explicit PythonFormat(std::string_view text);

  using Value = std::variant<HostArray, std::string>;
  struct Named {
    std::string name;  // empty: by position
    Value value;
  };
  // Which of arguments with these names (empty: by position) no field asks for. UserError with Python's words where a field asks for one
  // that is not there.
  std::vector<std::size_t> unused(const std::vector<std::string>& names) const;
  std::string apply(const std::vector<Named>& values) const;

 private:
  struct Field {
    std::variant<std::size_t, std::string> key;
    std::string spec;
  };
  std::optional<std::size_t> index_of(const Field& field, const std::vector<std::string>& names) const;

  std::vector<std::variant<std::string, Field>> pieces_;  // literal text and fields
};

}  // namespace shardlab
