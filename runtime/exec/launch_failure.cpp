#include "runtime/exec/launch_failure.h"

#include "runtime/base/error.h"

namespace shardlab {

std::shared_ptr<LaunchFailure> LaunchFailure::caught(std::string launch, Where where) {
  auto made = [&](Kind kind, std::string cause) {
    return std::shared_ptr<LaunchFailure>(new LaunchFailure(kind, std::move(cause), std::move(launch), where));
  };
  try {
    throw;
  } catch (const UserError& error) { return made(Kind::kUser, error.what()); } catch (const TransportError& error) {
    return made(Kind::kTransport, error.what());
  } catch (const IoError& error) { return made(Kind::kIo, error.what()); } catch (const InternalError& error) {
    return made(Kind::kInternal, error.what());
  } catch (const std::exception& error) { return made(Kind::kOther, error.what()); } catch (...) {
    return made(Kind::kOther, "an error that is no std::exception");
  }
}

std::shared_ptr<LaunchFailure> LaunchFailure::out_of_memory(std::string launch, Where where, std::int64_t bytes) {
  std::string cause = fmt::format(
      "RESOURCE_EXHAUSTED: Out of memory: {} needs {} bytes for its results in this process, and memory beside them; shard it over more "
      "processes, or donate what it takes",
      launch, bytes);
  return std::shared_ptr<LaunchFailure>(new LaunchFailure(Kind::kOther, std::move(cause), std::move(launch), where));
}

std::string LaunchFailure::issued() const { return fmt::format("{} at {}", launch_, where_.text()); }

std::string LaunchFailure::text() const { return fmt::format("{} [{}]", cause_, issued()); }

void LaunchFailure::raise(std::string_view what, Where use, Where made) {
  told_ = true;
  bool is_own = made.line == where_.line && made.statement == where_.statement && std::string_view(made.file) == where_.file;
  throw_with(fmt::format("{}; first used by {} at {}{}", issued(), what, use.text(),
                         is_own ? std::string() : fmt::format(", by way of what was computed at {}", made.text())));
}

void LaunchFailure::raise_unused(std::size_t more) {
  told_ = true;
  std::string others = more == 0 ? std::string() : fmt::format("; {} more failed unnoticed", more);
  throw_with(fmt::format("{}; nobody has used its results{}", issued(), others));
}

void LaunchFailure::throw_with(const std::string& places) {
  std::string text = fmt::format("{} [{}]", cause_, places);
  switch (kind_) {
    case Kind::kUser:
      throw UserError(text);
    case Kind::kTransport:
      throw TransportError(text);
    case Kind::kIo:
      throw IoError(text);
    case Kind::kInternal:
      throw InternalError(text);
    case Kind::kOther:
      break;
  }
  throw Error(text);
}

}  // namespace shardlab
