#include "traces/epochs.h"

#include "runtime/base/error.h"
#include "traces/database.h"

namespace shardlab::traces {

std::vector<EpochRow> read_epochs(const std::string& path) {
  std::vector<EpochRow> rows;
  try {
    Database database(path, OpenMode::kRead);
    if (database.integer("SELECT count(*) FROM sqlite_schema WHERE name = 'epochs'") == 0) return rows;
    Statement row(database, "SELECT epoch, first_ns, live, gone, came FROM epochs ORDER BY epoch");
    while (row.step())
      rows.push_back({row.integer(0), row.is_null(1) ? kNoTime : row.integer(1), parse_int_list(row.text(2)), parse_int_list(row.text(3)),
                      parse_int_list(row.text(4))});
  } catch (const IoError&) {  // a torn trace: what is missing is told of where its tables are read
  }
  return rows;
}

}  // namespace shardlab::traces
