// Processes that share a segment come to the same answer about each call, and wait for nobody who is dead. Threads
// stand for the processes; those that die are real ones.
#include "scalapack/segment.h"
#include "child.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <array>
#include <chrono>
#include <thread>
#include <vector>

namespace blastoff::scalapack {
namespace {

constexpr std::uint32_t some_class = 7;

class Segments : public testing::Test {
 protected:
  static constexpr int ranks = 3;

  void SetUp() override {
    segments_.push_back(Segment::make(ranks, [] {}));
    ASSERT_NE(segments_[0], nullptr);
  }
  void join(int rank) {
    segments_.push_back(Segment::join(segments_[0]->invitation(), rank, ranks, [] {}));
    ASSERT_NE(segments_.back(), nullptr);
  }
  void all_join() {
    for (int rank = 1; rank < ranks; ++rank) join(rank);
  }

  /// A call in one process: what it has written to the segment as a result, or -1.
  static int call(Segment& segment, int rank, bool wanted, bool able = true, std::uint32_t fingerprint = 1) {
    int result = -1;
    if (!(rank == 0 ? segment.say(some_class, {.wanted = wanted}) : segment.hear(some_class))) return result;
    if (segment.enter()) {
      segment.data()[rank] = static_cast<std::byte>(rank + 1);
      segment.arrive(able, fingerprint);
      if (rank == 0 && segment.all_arrived(fingerprint)) {
        int sum = 0;
        for (int each = 0; each < ranks; ++each) sum += static_cast<int>(segment.data()[each]);
        segment.finish(true, sum);
      }
      if (segment.is_solved()) result = segment.found();
    }
    segment.leave();
    return result;
  }

  /// The same call in all processes that have joined, at once.
  template <class Body>
  std::vector<int> in_all(const Body& body) {
    std::vector<int> results(segments_.size());
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < segments_.size(); ++rank)
      threads.emplace_back([&, rank] { results[rank] = body(*segments_[rank], static_cast<int>(rank)); });
    for (std::thread& thread : threads) thread.join();
    return results;
  }

  std::vector<std::unique_ptr<Segment>> segments_;
};

TEST_F(Segments, LetTheRootSolveWhatItWants) {
  all_join();
  for (int i = 0; i < 300; ++i) {
    const bool wanted = i % 3 == 0;
    const std::vector<int> results = in_all([&](Segment& segment, int rank) { return call(segment, rank, wanted); });
    EXPECT_EQ(results, std::vector<int>(ranks, wanted ? 6 : -1)) << i;
  }
}

TEST_F(Segments, SolveNothingUnlessAllAreAbleAndAgree) {
  all_join();
  const auto with = [&](int unable, int other) {
    return in_all(
        [&](Segment& segment, int rank) { return call(segment, rank, true, rank != unable, rank == other ? 2 : 1); });
  };
  EXPECT_EQ(with(2, -1), std::vector<int>(ranks, -1));
  EXPECT_EQ(with(-1, 1), std::vector<int>(ranks, -1));
  EXPECT_EQ(with(-1, -1), std::vector<int>(ranks, 6));
}

TEST_F(Segments, SayNothingOfSomeCallsOfAClass) {
  all_join();
  const auto silent = [](Segment& segment, int) { return segment.is_silent(some_class) ? 1 : 0; };
  EXPECT_EQ(in_all(silent), std::vector<int>(ranks, 0));
  in_all([](Segment& segment, int rank) {
    return rank == 0 ? segment.say(some_class, {.wanted = false, .silence = 2}) : segment.hear(some_class);
  });
  EXPECT_EQ(in_all(silent), std::vector<int>(ranks, 1));
  EXPECT_EQ(in_all([](Segment& segment, int) { return segment.is_silent(8) ? 1 : 0; }), std::vector<int>(ranks, 0));
  EXPECT_EQ(in_all(silent), std::vector<int>(ranks, 1));
  EXPECT_EQ(in_all(silent), std::vector<int>(ranks, 0));
}

TEST_F(Segments, DoWithoutARankThatIsLate) {
  all_join();
  for (const auto& segment : segments_) segment->set_patience(std::chrono::milliseconds(100));
  const auto without_last = [](Segment& segment, int rank) { return rank == 2 ? -1 : call(segment, rank, true); };
  EXPECT_EQ(in_all(without_last), std::vector<int>(ranks, -1));
  EXPECT_EQ(call(*segments_[2], 2, true), -1) << "it comes when the others have given up";
  const auto in_time = [](Segment& segment, int rank) { return call(segment, rank, true); };
  EXPECT_EQ(in_all(in_time), std::vector<int>(ranks, 6));
}

TEST_F(Segments, KeepTheWordOfACallForARankThatWasStopped) {
  all_join();
  for (const auto& segment : segments_) segment->set_patience(std::chrono::milliseconds(50));
  Segment& stopped = *segments_[2];
  const auto first = [&](Segment& segment, int rank) {
    if (rank < 2) return call(segment, rank, true);
    if (segment.hear(some_class) && segment.enter()) segment.arrive(true, 1);
    return 0;
  };
  const std::vector<int> results = in_all(first);
  EXPECT_GT(results[0], 0);
  constexpr int later = 150;  // more than there are words
  const auto unwanted = [](Segment& segment, int rank) { return rank == 2 ? 0 : call(segment, rank, false); };
  for (int i = 0; i < later; ++i) EXPECT_EQ(in_all(unwanted), std::vector<int>({-1, -1, 0}));
  EXPECT_TRUE(segments_[0]->is_broken()) << "it is not waited for again and again";
  EXPECT_TRUE(stopped.is_solved()) << "the others have results, so it needs them, too";
  EXPECT_EQ(stopped.found(), results[0]);
  stopped.leave();
  for (int i = 0; i < later; ++i) EXPECT_EQ(call(stopped, 2, false), -1);
}

TEST_F(Segments, TakeStepsTogetherOrNotAtAll) {
  all_join();
  constexpr int members = 2;
  // The result of a member: the number of the first step that is not taken, and the other member's note at step 0.
  const auto with = [&](int unable, int step_of_that) {
    return in_all([&](Segment& segment, int rank) {
      int result = -1;
      rank == 0 ? segment.say(some_class, {.wanted = true}) : segment.hear(some_class);
      segment.enter();
      segment.arrive(true, 1);
      const bool full = rank == 0 ? segment.all_arrived(1) : rank >= members || segment.is_full();
      for (int step = 0; rank < members && full && step < 4; ++step) {
        result = step;
        const bool able = rank != unable || step != step_of_that;
        if (!segment.all_able(step, members, able, {static_cast<std::byte>(10 * rank + step)})) break;
        EXPECT_EQ(segment.note_of(1 - rank, step)[0], static_cast<std::byte>(10 * (1 - rank) + step));
      }
      if (rank == 0) segment.finish(true, result, true);
      EXPECT_TRUE(segment.is_solved() && segment.is_solved_by_several());
      segment.leave();
      return result;
    });
  };
  EXPECT_EQ(with(-1, 0), std::vector<int>({3, 3, -1}));
  EXPECT_EQ(with(1, 2), std::vector<int>({2, 2, -1}));
  EXPECT_EQ(with(0, 0), std::vector<int>({0, 0, -1}));
  EXPECT_EQ(with(-1, 0), std::vector<int>({3, 3, -1})) << "no step of an earlier call counts";
}

TEST_F(Segments, LetMembersGoWhereTheRootEndsTheCall) {
  all_join();
  const std::vector<int> results = in_all([&](Segment& segment, int rank) {
    rank == 0 ? segment.say(some_class, {.wanted = true}) : segment.hear(some_class);
    segment.enter();
    segment.arrive(true, 1);
    int result = -1;
    if (rank == 0 && segment.all_arrived(1)) segment.finish(false, 0);
    if (rank == 1 && segment.is_full()) result = segment.all_able(0, 2, true) ? 1 : -1;
    EXPECT_TRUE(rank != 1 || segment.is_hopeless(0, 2));
    if (segment.is_solved()) result = 2;
    segment.leave();
    return result;
  });
  EXPECT_EQ(results, std::vector<int>(ranks, -1));
}

TEST_F(Segments, SayWhatIsPostponed) {
  all_join();
  const auto say = [&](const Word& word) {
    return in_all([&](Segment& segment, int rank) {
      const bool wanted = rank == 0 ? segment.say(some_class, word) : segment.hear(some_class);
      return wanted ? -1 : segment.is_postponed() ? 1 : 0;
    });
  };
  EXPECT_EQ(say({.postponed = true}), std::vector<int>(ranks, 1));
  EXPECT_EQ(say({}), std::vector<int>(ranks, 0));
}

TEST_F(Segments, DoWithoutARankThatIsDead) {
  join(1);
  const Segment::Invitation invitation = segments_[0]->invitation();
  const pid_t child = fork();
  if (child == 0) _exit(Segment::join(invitation, 2, ranks, [] {}) != nullptr ? 0 : 1);
  siginfo_t ended{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);  // nobody has waited for it
  const auto call_of_all = [](Segment& segment, int rank) { return call(segment, rank, true); };
  EXPECT_EQ(in_all(call_of_all), std::vector<int>(2, -1));
  EXPECT_TRUE(segments_[0]->is_broken());
  EXPECT_EQ(in_all(call_of_all), std::vector<int>(2, -1)) << "without waiting again";
  EXPECT_EQ(test::status_of(child), 0);
}

TEST(Segment, DoesWithoutARootThatDiesWhileItSolves) {
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(pipe(pipe_ends.data()), 0);
  const pid_t root = fork();
  if (root == 0) {
    const auto segment = Segment::make(2, [] {});
    const Segment::Invitation invitation = segment->invitation();
    if (write(pipe_ends[1], invitation.data(), sizeof invitation) != sizeof invitation) _exit(1);
    segment->say(some_class, {.wanted = true});
    segment->enter();
    segment->arrive(true, 1);
    _exit(segment->all_arrived(1) ? 0 : 1);
  }
  Segment::Invitation invitation{};
  ASSERT_EQ(read(pipe_ends[0], invitation.data(), sizeof invitation), static_cast<ssize_t>(sizeof invitation));
  const auto segment = Segment::join(invitation, 1, 2, [] {});
  ASSERT_NE(segment, nullptr);
  EXPECT_TRUE(segment->hear(some_class));
  EXPECT_TRUE(segment->enter());
  segment->arrive(true, 1);
  EXPECT_TRUE(segment->is_full());
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(segment->all_able(0, 2, true)) << "it has died before this step";
  EXPECT_FALSE(segment->is_solved());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
  segment->leave();
  EXPECT_EQ(test::status_of(root), 0);
  for (const int end : pipe_ends) close(end);
}

TEST_F(Segments, AreNotThoseOfSomebodyElse) {
  Segment::Invitation invitation = segments_[0]->invitation();
  invitation[2] ^= 1;
  EXPECT_EQ(Segment::join(invitation, 1, ranks, [] {}), nullptr);
  invitation = segments_[0]->invitation();
  segments_[0]->close_invitation();
  EXPECT_EQ(Segment::join(invitation, 1, ranks, [] {}), nullptr);
}

}  // namespace
}  // namespace blastoff::scalapack
