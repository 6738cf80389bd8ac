#include "runtime/control/interrupt_client.h"

#include <fmt/format.h>

#include "control.grpc.pb.h"
#include "runtime/base/error.h"
#include "runtime/control/channel.h"
#include "runtime/control/network.h"
#include "runtime/control/wire.h"

namespace shardlab::control {

InterruptAnswer tell_interrupt(const ClientOptions& options, int signal, Where at, std::chrono::milliseconds limit) {
  std::string server =
      options.server_name.empty() ? split_address(options.address, "the coordinator's address").first : options.server_name;
  auto stub = wire::Coordination::NewStub(make_channel(options.address, options.tls, server));
  grpc::ClientContext context;
  context.AddMetadata(kTokenKey, options.token);
  context.set_deadline(std::chrono::system_clock::now() + limit);
  wire::Interruption request;
  request.set_process(options.process_index);
  request.set_incarnation(options.incarnation);
  request.set_signal(signal);
  if (at.known()) request.set_at(clean_text(at.text()));
  wire::Whereabouts response;
  grpc::Status status = stub->Interrupted(&context, request, &response);
  if (!status.ok()) throw TransportError(fmt::format("the coordinator at {} does not answer: {}", options.address, status.error_message()));
  return {response.teller(), response.text()};
}

}  // namespace shardlab::control
