// What the processes of a grid share if they all run on one node: a place for whole matrices, and words about each
// call, so that a gathered call needs no message.
//
// All processes count the calls alike. The root says of each call whether it is wanted. If it is, each process copies
// its elements into the segment and arrives. When all have arrived and agree, the root makes the call for all, and says
// whether it is solved. What a call comes to is decided by one atomic word, so all processes see the same: as long as a
// call is not full, each process may decline it, because it has waited too long, or for a process that is dead. All
// then make the call together, as without Blastoff. The word stays until all processes are through with the call. If
// one of them is not after many later calls, the segment is given up.
//
// A process that waits lets MPI work on the program's own messages: the process for which it waits may need them.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "platform/shared_memory.h"
#include "scalapack/place_book.h"
#include "scalapack/silence.h"
#include "scalapack/team.h"

namespace blastoff::scalapack {

/// What the root says about a call.
struct Word {
  bool wanted = false;
  bool postponed = false;     ///< not wanted yet, but later calls of this class may be
  std::uint32_t silence = 0;  ///< of how many later calls of this class nothing is said: they are not wanted
};

class Segment {
 public:
  /// The words with which the root invites the others: numbers of 32 bits.
  static constexpr int invitation_words = 8;
  using Invitation = std::array<int, invitation_words>;

  /// `rank` of `ranks` is this process. `progress`: lets MPI work; called while the process waits.
  static std::unique_ptr<Segment> make(int ranks, std::function<void()> progress);
  static std::unique_ptr<Segment> join(const Invitation& invitation, int rank, int ranks,
                                       std::function<void()> progress);
  Invitation invitation() const;
  /// All have joined, or will not.
  void close_invitation() { memory_.withdraw(); }

  /// The place for whole matrices, and its size.
  std::byte* data() const { return memory_.data() + header_bytes(); }
  std::size_t capacity() const { return memory_.size() - header_bytes(); }

  /// To be called before the memory goes, once.
  void at_end(std::function<void()> act) { at_end_ = std::move(act); }
  bool has_end() const { return at_end_ != nullptr; }
  ~Segment();

  /// The most bytes that calls have used.
  std::size_t bytes_taken() const { return bytes_taken_; }
  void take(std::size_t bytes) { bytes_taken_ = std::max(bytes_taken_, bytes); }

  /// To be called once for each call of a class, before all else: whether the root announces no decision about it.
  bool is_silent(std::uint32_t call_class) { return silence_.covers(call_class); }
  /// The root announces its decision, and where the matrices are to lie. Returns false if the call will not be
  /// gathered.
  bool say(std::uint32_t call_class, const Word& word, const FoundPlaces& places = {});
  /// The others wait for it. The same result.
  bool hear(std::uint32_t call_class);
  /// After say() or hear(): whether the root may want later calls of the class.
  bool is_postponed() const;
  /// After say() or hear() has returned true.
  const FoundPlaces& places() const;

  /// For a call of which say() or hear() has returned true; leave() must follow. Waits until the segment's matrices are
  /// no longer needed for an earlier call. Returns false if this call will not be gathered.
  bool enter();
  /// In which columns of each held matrix this process has changed elements, by the index of the rule.
  using Changes = std::array<Columns, Call::max_matrices>;

  /// This process has copied its elements, if it is `able`, and has arguments with this fingerprint.
  void arrive(bool able, std::uint32_t fingerprint, const Changes& changes = {});
  /// The root waits for all. Returns false if the call will not be gathered.
  bool all_arrived(std::uint32_t fingerprint);
  /// After that: calls visit(columns) for what each process has changed of a matrix.
  template <class Visit>
  void each_change(std::size_t matrix, const Visit& visit) const {
    for (int rank = 0; rank < ranks_; ++rank) visit(changes_of(rank)[matrix]);
  }
  /// The root has made the call.
  void finish(bool solved, int found, bool by_several = false);

  /// Steps of a call that the first `members` processes make together, once all have arrived (a team). At each step,
  /// each of them says whether it is able to go on. They all go on, or none does.
  static constexpr int max_steps = 8;
  using Note = TeamWords::Note;
  /// Waits until all members have arrived, for those that do not wait otherwise. Returns false if the call is not made.
  bool is_full();
  /// Returns false if a member is not able or is dead, or if the root has ended the call. A member that is not able at
  /// a step is not able at later ones either.
  bool all_able(int step, int members, bool able, const Note& note = {});
  /// After all_able() for this step, until the call has ended.
  const Note& note_of(int member, int step) const;
  /// Whether all_able() for this step is going to return false, as far as can be told. For another thread, while this
  /// process is on its way to the step.
  bool is_hopeless(int step, int members) const;
  /// The ids of the members' processes.
  std::vector<std::uint64_t> processes(int members) const;

  /// Waits until the root has made the call. Returns false if nobody has solved it.
  bool is_solved();
  int found() const;
  bool is_solved_by_several() const;
  /// This process has copied its part of the results, or there are none.
  void leave();

  /// Whether the segment is of no use any more: a process has died, or has not been there in time several times.
  bool is_broken() const;

  /// The longest wait for a process that lives.
  void set_patience(std::chrono::duration<double> patience) { patience_ = patience; }

 private:
  struct Header;
  struct RankState;
  enum class Phase : std::uint8_t { none, declined, wanted, full, solved, failed };

  Segment(platform::SharedMemory memory, int rank, int ranks, std::function<void()> progress);
  std::size_t header_bytes() const;
  Header& header() const { return *reinterpret_cast<Header*>(memory_.data()); }
  RankState& state(int rank) const;
  const Changes& changes_of(int rank) const;
  std::atomic<std::uint64_t>& slot() const;
  /// Whether all processes are through with the call that used the slot before. Otherwise its word stays, because a
  /// process that was stopped has yet to read it.
  bool is_slot_free() const;
  Phase phase() const;
  bool turn(Phase from, Phase to, const Word& word = {});
  FoundPlaces& places_of_call() const;
  void decline();
  bool living(int rank) const;
  void enter_name();

  /// Waits for a condition. `missing` returns a rank for which this process waits, or -1. Returns false if that rank is
  /// dead, or if the patience is over (`patient`: it never is).
  template <class Condition, class Missing>
  bool wait(const Condition& condition, const Missing& missing, bool patient = false) const;
  /// Returns a rank whose counter has not reached the number of a call; -1: all have.
  int behind(std::atomic<std::uint32_t> RankState::*counter, std::uint32_t call) const;

  platform::SharedMemory memory_;
  int rank_;
  int ranks_;
  std::function<void()> progress_;
  std::function<void()> at_end_;
  std::chrono::duration<double> patience_ = std::chrono::seconds(10);
  std::size_t bytes_taken_ = 0;
  std::uint32_t call_ = 0;  ///< number of the call of which something was said last
  Silence silence_;
};

/// The words of a team whose members share a segment.
class WordsInMemory final : public TeamWords {
 public:
  WordsInMemory(Segment& segment, int members) : segment_(segment), members_(members) {}

  int members() const override { return members_; }
  bool all_able(int step, bool able, const Note& note) override {
    return segment_.all_able(step, members_, able, note);
  }
  const Note& note_of(int member, int step) const override { return segment_.note_of(member, step); }
  bool is_hopeless(int step) override { return segment_.is_hopeless(step, members_); }
  bool on_any_thread() const override { return true; }
  std::vector<std::uint64_t> processes() const override { return segment_.processes(members_); }

 private:
  Segment& segment_;
  const int members_;
};

}  // namespace blastoff::scalapack
