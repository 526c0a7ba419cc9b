// Ranks reach the same answer without waiting for ranks that do not take part. The test runs the ranks one after the
// other; a rank that would wait for a message that has not been sent ends the test.
#include "scalapack/consent.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <tuple>

namespace blastoff::scalapack {
namespace {

struct Network {
  int size = 3;
  int rank = 0;                                                         ///< the rank that runs now
  std::map<std::tuple<int, int, int>, std::deque<int>> on_their_way{};  ///< from, to, tag
  std::map<int, void*> attributes{};
  int sent = 0;
  int duplicates = 0;
  int would_wait_for_ever = 0;
};
Network network;

int isend(const void* buffer, int, void*, int to, int tag, void*, void*) {
  network.on_their_way[{network.rank, to, tag}].push_back(*static_cast<const int*>(buffer));
  ++network.sent;
  return 0;
}
int request_free(void*) {
  return 0;
}
int iprobe(int from, int tag, void*, int* there, void*) {
  *there = network.on_their_way[{from, network.rank, tag}].empty() ? 0 : 1;
  return 0;
}
int receive(void* buffer, int, void*, int from, int tag, void*, void*) {
  std::deque<int>& waiting = network.on_their_way[{from, network.rank, tag}];
  if (waiting.empty()) {
    ++network.would_wait_for_ever;
    return 1;
  }
  *static_cast<int*>(buffer) = waiting.front();
  waiting.pop_front();
  return 0;
}
int create_keyval(void*, void*, int* key, void*) {
  *key = 1;
  return 0;
}
int set_attribute(void*, int, void* value) {
  network.attributes[network.rank] = value;
  return 0;
}
int get_attribute(void*, int, void* value, int* there) {
  const auto found = network.attributes.find(network.rank);
  *there = found != network.attributes.end() ? 1 : 0;
  if (*there != 0) *static_cast<void**>(value) = found->second;
  return 0;
}

int duplicate(void*, void*) {
  ++network.duplicates;
  return 0;
}

class Consent : public testing::Test {
 protected:
  void SetUp() override {
    network = {};
    functions_.get = [](int, int, int* handle) { *handle = 0; };
    functions_.communicator = [](int) -> void* { return nullptr; };
    functions_.free_handle = [](int) {};
    functions_.mpi.isend = &isend;
    functions_.mpi.request_free = &request_free;
    functions_.mpi.iprobe = &iprobe;
    functions_.mpi.receive = &receive;
    functions_.mpi.create_keyval = &create_keyval;
    functions_.mpi.set_attribute = &set_attribute;
    functions_.mpi.get_attribute = &get_attribute;
    functions_.mpi.duplicate = &duplicate;
  }
  void TearDown() override { EXPECT_EQ(network.would_wait_for_ever, 0); }

  bool call(int rank, bool wanted = false, int likeness = 1) {
    network.rank = rank;
    const Grid grid{.context = 0, .rows = 1, .columns = network.size, .row = 0, .column = rank};
    return all_take_part(functions_, grid, wanted, {.likeness = likeness});
  }

  Functions functions_{};
};

TEST_F(Consent, IsThereFromTheSecondCallAtTheLatest) {
  EXPECT_FALSE(call(0, true)) << "nobody has answered yet";
  EXPECT_FALSE(call(1));
  EXPECT_FALSE(call(2));
  EXPECT_EQ(network.duplicates, 0) << "that takes all ranks";
  EXPECT_TRUE(call(0, false)) << "whether the root wants this call or not";
  EXPECT_TRUE(call(1));
  EXPECT_TRUE(call(2));
  EXPECT_EQ(network.duplicates, 3);
}

TEST_F(Consent, ARankThatWasAheadCatchesUp) {
  EXPECT_FALSE(call(1));  // before the root has sent anything
  EXPECT_FALSE(call(0, true));
  EXPECT_FALSE(call(2));
  EXPECT_FALSE(call(0, true)) << "rank 1 has not answered";
  EXPECT_FALSE(call(1));
  EXPECT_FALSE(call(2));
  EXPECT_TRUE(call(0, true));
  EXPECT_TRUE(call(1));
  EXPECT_TRUE(call(2));
}

TEST_F(Consent, ARootThatNeverWantsIsSilent) {
  for (int i = 0; i < 20; ++i)
    for (int rank = 0; rank < 3; ++rank) EXPECT_FALSE(call(rank));
  EXPECT_EQ(network.sent, 0);
}

TEST_F(Consent, TheRootMayWantLater) {
  for (int i = 0; i < 3; ++i)
    for (int rank = 0; rank < 3; ++rank) EXPECT_FALSE(call(rank));
  for (int rank = 0; rank < 3; ++rank) EXPECT_FALSE(call(rank, true));
  for (int rank = 0; rank < 3; ++rank) EXPECT_TRUE(call(rank, true));
}

TEST_F(Consent, NobodyWaitsForARankThatIsNotThere) {
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(call(0, true));
    EXPECT_FALSE(call(1));
  }
  EXPECT_LT(network.sent, 15) << "the root gives up";
  EXPECT_FALSE(call(2)) << "it is there after all, but not from the start";
}

TEST_F(Consent, NobodyWaitsForARootThatIsNotThere) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(call(1));
    EXPECT_FALSE(call(2));
  }
}

TEST_F(Consent, TheRootStopsAskingWhereARankIsUnlike) {
  EXPECT_FALSE(call(0, true));
  EXPECT_FALSE(call(1));
  EXPECT_FALSE(call(2, false, 2)) << "other settings";
  const int sent = network.sent;
  EXPECT_FALSE(call(0, true));
  EXPECT_EQ(network.sent, sent + 2) << "its last word";
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(call(0, true) || call(1) || call(2, false, 2));
  EXPECT_EQ(network.sent, sent + 2);
  EXPECT_EQ(network.duplicates, 0);
}

TEST_F(Consent, OneProcessAgreesWithItself) {
  network.size = 1;
  EXPECT_FALSE(call(0, false));
  EXPECT_TRUE(call(0, true));
}

}  // namespace
}  // namespace blastoff::scalapack
