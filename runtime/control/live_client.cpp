#include "runtime/control/live_client.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <mutex>

#include "control.grpc.pb.h"
#include "runtime/base/error.h"
#include "runtime/control/channel.h"
#include "runtime/control/wire.h"

namespace shardlab::control {
namespace {

std::uint64_t random_incarnation() {
  std::uint64_t value = 0;
  if (getentropy(&value, sizeof value) != 0) throw IoError("no random bytes for this process's incarnation");
  return value;
}

}  // namespace

class LiveClient::Link {
 public:
  explicit Link(const ClientOptions& options)
      : process_(options.process_index),
        address_(options.address),
        incarnation_(random_incarnation()),
        channel_(connected_channel(options)) {
    stub_ = wire::Coordination::NewStub(channel_);
    context_.AddMetadata(kTokenKey, options.token);
    stream_ = stub_->Live(&context_);
    wire::LiveWord word;
    *word.mutable_entering()->mutable_member() =
        to_wire(Member{process_, getpid(), host_name(), options.num_devices, host_identity(), incarnation_, options.num_processes});
    wire::LiveNews news = ask(word);
    again_ = news.entered().again();
    for (const wire::Member& member : news.entered().members()) members_.push_back(from_wire(member));
  }
  ~Link() {
    if (finished_) return;
    context_.TryCancel();
    stream_->Finish();
  }

  wire::LiveNews ask(const wire::LiveWord& word) {
    wire::LiveNews news;
    if (stream_->Write(word) && stream_->Read(&news)) return news;
    grpc::Status status = stream_->Finish();
    finished_ = true;
    throw TransportError(fmt::format("the coordinator at {} {} process {}{}{}", address_,
                                     status.error_code() == grpc::StatusCode::UNAVAILABLE ? "is gone; its stream broke to" : "refuses",
                                     process_, status.error_message().empty() ? "" : ": ", status.error_message()));
  }
  void leave() {
    if (finished_) return;
    wire::LiveWord word;
    word.mutable_leaving();
    stream_->Write(word);
    stream_->WritesDone();
    wire::LiveNews news;
    while (stream_->Read(&news)) {}
    stream_->Finish();
    finished_ = true;
  }

  const int process_;
  const std::string address_;
  const std::uint64_t incarnation_;
  bool again_ = false, finished_ = false;
  std::vector<Member> members_;

 private:
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<wire::Coordination::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<wire::LiveWord, wire::LiveNews>> stream_;
};

LiveClient::LiveClient(const ClientOptions& options) : link_(std::make_unique<Link>(options)) {}
LiveClient::~LiveClient() = default;
std::uint64_t LiveClient::incarnation() const { return link_->incarnation_; }
bool LiveClient::again() const { return link_->again_; }
const std::vector<Member>& LiveClient::members() const { return link_->members_; }

Gathered LiveClient::gather(bool closing, bool renew) {
  wire::LiveWord word;
  word.mutable_gathering()->set_closing(closing);
  word.mutable_gathering()->set_renew(renew);
  wire::LiveNews news = link_->ask(word);
  return {news.gathered().epoch(), {news.gathered().live().begin(), news.gathered().live().end()}, news.gathered().whole()};
}

void LiveClient::leave() { link_->leave(); }

}  // namespace shardlab::control
