// One exchange between two GPUs, with both ends in the test's hands: what is sent, what does not fit, and the end of waiting. Over the
// stand-ins for CUDA and NCCL; nothing here has run on a GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "tests/virtualdev/cuda/gpu_job.h"
#include "virtualdev/cuda/link_exchange.h"

namespace shardlab {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::RecordingGpu;

// One end of an exchange of two processes; the test plays the other.
class OneEnd : public ::testing::Test {
 protected:
  OneEnd() : gpu_(std::make_shared<RecordingGpu>(2)) {
    for (int p : {0, 1}) {
      gpus_.push_back({std::make_shared<cuda::Gpu>(gpu_, p)});
      communicators_.push_back(
          std::make_unique<cuda::Communicators>(gpu_, cuda::Communicators::Options{.process = p, .gpus = {p}, .rendezvous = board_}));
      transports_.push_back(std::make_unique<simulate::ThreadTransport>(hub_, p));
      communicators_.back()->prepare(processes_);
    }
  }
  ~OneEnd() override {
    communicators_.clear();
    EXPECT_THAT(gpu_->faults(), IsEmpty());
    EXPECT_EQ(gpu_->nccl().open_communicators(), 0);
  }
  // Sends `sent` bytes to the other process, and wants `wanted`.
  comm::ExchangeResult exchange(int process, std::size_t sent, std::size_t wanted) {
    auto& gpu = gpus_[std::size_t(process)];
    auto from = cuda::allocate_on(gpu[0], sent), to = cuda::allocate_on(gpu[0], wanted);
    if (sent > 0) gpu_->fill(cuda::block_of(*from).data, process + 1, sent, gpu[0]->stream);
    std::vector<comm::Send> sends{{1 - process, {from->bytes()}}};
    std::vector<comm::Receive> receives{{1 - process, {to->data(), to->size()}}};
    LinkContext link;
    link.transport = transports_[std::size_t(process)].get();
    link.header.fingerprint = 7;
    return cuda::NcclExchange(*gpu_, *communicators_[std::size_t(process)], gpu, link, processes_).run(sends, receives);
  }
  // Takes part in the meeting as process 1, and then never comes.
  void meet_and_vanish(std::int64_t bytes) {
    cuda::NcclExchange::Meeting own{0, 0, bytes, bytes}, theirs;
    comm::MessageHeader header;
    header.fingerprint = 7;
    std::vector<comm::Send> sends{{0, {std::as_bytes(std::span(&own, 1))}}};
    std::vector<comm::Receive> receives{{0, std::as_writable_bytes(std::span(&theirs, 1))}};
    transports_[1]->exchange(header, sends, receives, {});
    EXPECT_EQ(theirs.sent_bytes, bytes);
  }

  std::shared_ptr<RecordingGpu> gpu_;
  std::shared_ptr<testing::ThreadBoard> board_ = std::make_shared<testing::ThreadBoard>();
  std::shared_ptr<simulate::ThreadHub> hub_ = std::make_shared<simulate::ThreadHub>();
  const std::vector<int> processes_{0, 1};
  std::vector<std::vector<std::shared_ptr<cuda::Gpu>>> gpus_;
  std::vector<std::unique_ptr<simulate::ThreadTransport>> transports_;
  std::vector<std::unique_ptr<cuda::Communicators>> communicators_;
};

TEST_F(OneEnd, BothEndsComeThrough) {
  comm::ExchangeResult other;
  std::jthread peer([&] { other = exchange(1, 24, 8); });
  EXPECT_EQ(exchange(0, 8, 24).status, comm::ExchangeStatus::kDone);
  peer.join();
  EXPECT_EQ(other.status, comm::ExchangeStatus::kDone);
  EXPECT_EQ(gpu_->calls("group_end"), 2);
}

TEST_F(OneEnd, OneWayAndNothingAtAll) {
  std::jthread peer([&] {
    EXPECT_EQ(exchange(1, 0, 8).status, comm::ExchangeStatus::kDone);
    EXPECT_EQ(exchange(1, 0, 0).status, comm::ExchangeStatus::kDone);
  });
  EXPECT_EQ(exchange(0, 8, 0).status, comm::ExchangeStatus::kDone);
  EXPECT_EQ(exchange(0, 0, 0).status, comm::ExchangeStatus::kDone);
  peer.join();
  EXPECT_EQ(gpu_->calls("send"), 1);
  EXPECT_EQ(gpu_->calls("receive"), 1);
}

TEST_F(OneEnd, AnotherLengthIsAMismatchBeforeAnythingIsSent) {
  comm::ExchangeResult other;
  std::jthread peer([&] { other = exchange(1, 16, 8); });
  comm::ExchangeResult result = exchange(0, 8, 24);
  peer.join();
  EXPECT_EQ(result.status, comm::ExchangeStatus::kMismatch);
  ASSERT_EQ(result.mismatches.size(), 1u);
  EXPECT_EQ(result.mismatches[0].expected.bytes, 24);
  EXPECT_EQ(result.mismatches[0].got.bytes, 16);
  EXPECT_EQ(other.status, comm::ExchangeStatus::kMismatch) << "its end of the message would have waited for ever";
  EXPECT_EQ(gpu_->calls("send") + gpu_->calls("receive"), 0);
}

// The control plane aborts the transport when it knows of a death; the exchange is then in the middle of NCCL's work.
TEST_F(OneEnd, AnAbortEndsWhatWaitsInACommunicator) {
  std::atomic<int> sent = 0;
  std::jthread peer([&] {
    meet_and_vanish(8);
    while (gpu_->calls("group_end") == 0) std::this_thread::yield();
    sent = gpu_->calls("send");
    transports_[0]->abort("process 1 was killed");
  });
  EXPECT_EQ(exchange(0, 8, 8).status, comm::ExchangeStatus::kAborted);
  peer.join();
  EXPECT_EQ(sent, 1);
  EXPECT_EQ(gpu_->calls("abort"), 1);
  EXPECT_EQ(exchange(0, 8, 8).status, comm::ExchangeStatus::kAborted) << "every later one, too";
}

TEST_F(OneEnd, AFailureOfNcclIsToldUnlessTheControlPlaneKnowsMore) {
  std::jthread peer([&] {
    meet_and_vanish(8);
    while (gpu_->calls("group_end") == 0) std::this_thread::yield();
    gpu_->nccl().break_rank(0);
  });
  try {
    exchange(0, 8, 8);
    FAIL();
  } catch (const TransportError& error) {
    EXPECT_THAT(error.what(), HasSubstr("the exchange between the GPUs of processes 0, 1 broke: NCCL, meanwhile"));
  }
  EXPECT_EQ(gpu_->calls("abort"), 1);
}

// A process that caught the failure goes on.
TEST_F(OneEnd, ABrokenCommunicatorIsNotUsedAgain) {
  std::jthread peer([&] {
    meet_and_vanish(8);
    while (gpu_->calls("group_end") == 0) std::this_thread::yield();
    gpu_->nccl().break_rank(0);
    meet_and_vanish(8);
  });
  EXPECT_THROW(exchange(0, 8, 8), TransportError);
  EXPECT_THROW(exchange(0, 8, 8), TransportError);
  EXPECT_EQ(gpu_->calls("group_end"), 1);
}

TEST_F(OneEnd, AFailureWithinAGroupEndsTheGroup) {
  std::jthread peer([&] { meet_and_vanish(8); });
  gpu_->fail_next("receive");
  EXPECT_THROW(exchange(0, 8, 8), cuda::GpuError);
  EXPECT_EQ(gpu_->calls("group_end"), 1);
  EXPECT_EQ(gpu_->calls("abort"), 1);
}

TEST_F(OneEnd, AFailureThatAVerdictExplainsIsTheVerdicts) {
  std::jthread peer([&] {
    meet_and_vanish(8);
    while (gpu_->calls("group_end") == 0) std::this_thread::yield();
    gpu_->nccl().break_rank(0);
    while (gpu_->calls("abort") == 0) std::this_thread::yield();
    transports_[0]->abort("process 1 was killed");
  });
  EXPECT_EQ(exchange(0, 8, 8).status, comm::ExchangeStatus::kAborted);
}

}  // namespace
}  // namespace shardlab
