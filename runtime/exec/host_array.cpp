#include "runtime/exec/host_array.h"

#include "runtime/exec/visualize.h"

namespace shardlab {

HostArray::HostArray(const Array& array, std::source_location where)
    : values_{array.type(), std::make_shared<Buffer>(array.fetch(where))} {}

void HostArray::check_fills(std::int64_t elements) const {
  if (elements != size()) throw_user_error("HostArray: {} values do not fill shape {}", elements, text_of(shape()));
}

void HostArray::check_is(DType asked) const {
  if (dtype() != asked) throw_user_error("HostArray: the array is {}, asked for {}", type().text(), name_of(asked));
}

std::string HostArray::text() const { return numpy_text(type(), data()); }

Array HostArray::to_device() const { return array_from_host(type(), {data(), std::size_t(type().bytes())}); }

HostArray device_get(const Array& array, std::source_location where) { return HostArray(array, where); }

}  // namespace shardlab
