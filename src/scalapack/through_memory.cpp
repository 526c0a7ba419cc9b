#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <memory>
#include <utility>

#include "platform/contained.h"
#include "platform/threads.h"
#include "scalapack/messages.h"
#include "scalapack/transports.h"

namespace blastoff::scalapack {
namespace {

class ThroughMemory {
 public:
  ThroughMemory(Gathering& gathering, Meeting& meeting)
      : all_(gathering), meeting_(meeting), segment_(*meeting.segment) {}

  Outcome run(void* original) {
    const std::uint32_t call_class = all_.call.fingerprint(false);
    if (segment_.is_silent(call_class)) return Outcome::distributed;
    if (!(all_.grid.is_root() ? say(call_class) : segment_.hear(call_class)))
      return segment_.is_postponed() ? Outcome::postponed : Outcome::distributed;
    found_ = segment_.places();
    all_.places.move(found_.begins);
    // Until all have arrived.
    const bool in_doubt = all_.grid.is_root() && std::exchange(meeting_.places_in_doubt, true);
    const bool reported = all_.call.has_work() && all_.call.query(original) != 0;
    const bool solved = !reported && copied_and_solved(in_doubt);
    if (solved) take_results();
    const bool by_several = solved && segment_.is_solved_by_several();
    segment_.leave();
    if (reported) return Outcome::reported;
    if (!solved) return Outcome::distributed;
    return by_several ? Outcome::gathered_by_several : Outcome::gathered;
  }

 private:
  bool say(std::uint32_t call_class) {
    FoundPlaces found;
    bool wanted = all_.places.bytes() <= segment_.capacity();
    if (wanted) {
      found = meeting_.places.find(all_.call, all_.places,
                                   PlaceBook::room(all_.places, segment_.bytes_taken(), segment_.capacity()));
      all_.places.move(found.begins);
      wanted = all_.wanted(&segment_);
      if (wanted) found.team = all_.root.team();
      if (!found.team.is_root_alone()) found.devices = all_.root.seen_devices();
    }
    return segment_.say(call_class, all_.word(wanted), found);
  }

  bool copied_and_solved(bool in_doubt) {
    if (!segment_.enter()) return false;
    if (in_doubt) all_.root.changed(segment_.data(), segment_.capacity());
    segment_.take(all_.places.end());
    const bool able = all_.places.end() <= segment_.capacity() && all_.call.is_right_here(all_.grid) &&
                      (!all_.call.has_work() || all_.call.has_work_space());
    const Segment::Changes changes = able ? give_operands() : Segment::Changes{};
    const std::uint32_t fingerprint = all_.call.fingerprint();
    segment_.arrive(able, fingerprint, changes);
    if (all_.grid.is_root() && segment_.all_arrived(fingerprint)) {
      tell_changes();
      meeting_.places_in_doubt = false;
      const bool may_be_solved = are_pivots();
      const TeamOutcome by_team = may_be_solved ? take_part() : TeamOutcome::unable;
      const bool alone = may_be_solved && by_team == TeamOutcome::unable && all_.root.can_alone();
      const bool solved = by_team == TeamOutcome::solved || (alone && all_.solve(&segment_));
      segment_.finish(solved, all_.problem->found(), by_team == TeamOutcome::solved);
    } else if (is_member() && segment_.is_full()) {
      take_part();
    }
    return segment_.is_solved();
  }

  bool is_member() const { return !all_.grid.is_root() && all_.grid.rank() < found_.team.members; }
  TeamOutcome take_part() {
    if (found_.team.is_root_alone()) return TeamOutcome::unable;
    const int member = all_.grid.rank();
    WordsInMemory words(segment_, found_.team.members);
    if (member == 0 || all_.makes_members_problem(segment_.data()))
      return all_.root.make_in_team(*all_.problem, words, found_.team, member, found_.devices.of(member),
                                    {.segment = &segment_});
    words.all_able(0, false, {});  // the others wait for a word
    return TeamOutcome::unable;
  }

  Segment::Changes give_operands() const {
    Segment::Changes changes{};
    for (std::size_t i = 0; i < all_.call.rules().size(); ++i) {
      const DistributedMatrix matrix = all_.call.matrix(all_.call.rules()[i]);
      if (matrix.columns == 0 || !operation::reads(matrix.intent)) continue;
      const WholeMatrix whole = all_.places.matrix(i, segment_.data());
      in_company(matrix, [&](platform::WorkerPool* workers) {
        if (found_.holds(i))
          changes[i] = copy_changes_to(whole, matrix, all_.grid, workers);
        else
          copy_to(whole, matrix, all_.grid, workers);
      });
    }
    // The processes of a row of the grid have the same pivots.
    if (all_.has_pivots(operation::Intent::read) && all_.grid.column == 0)
      all_.pivots_to(all_.places.pivots(segment_.data()));
    if (all_.has_factors(operation::Intent::read) && all_.grid.row == 0)
      all_.factors_to(all_.places.factors(segment_.data()));
    return changes;
  }

  /// Calls copy(workers) for a matrix; nullptr: this thread copies alone.
  template <class Copy>
  void in_company(const DistributedMatrix& matrix, const Copy& copy) const {
    platform::undisturbed([&] {
      std::unique_ptr<platform::WorkerPool> workers;
      platform::contained([&] { workers = all_.root.workers_to_copy(own_bytes(matrix, all_.grid)); });
      copy(workers.get());
    });
  }

  /// All have copied their elements.
  void tell_changes() const {
    for (std::size_t i = 0; i < all_.call.rules().size(); ++i) {
      const WholeMatrix whole = all_.places.matrix(i, segment_.data());
      if (!found_.holds(i)) {
        all_.root.changed(whole.address, all_.places.matrix_bytes(i));
        continue;
      }
      const std::size_t column_bytes = whole.leading_dimension * all_.call.element_bytes();
      segment_.each_change(i, [&](Columns columns) {
        if (!columns.empty())
          all_.root.changed(whole.address + static_cast<std::size_t>(columns.begin) * column_bytes,
                            static_cast<std::size_t>(columns.end - columns.begin) * column_bytes);
      });
    }
    all_.root.changed(segment_.data() + all_.places.begins().vectors, all_.places.vector_bytes());
  }

  /// Whether the pivots that were given are numbers of rows. LAPACK relies on it.
  bool are_pivots() const {
    if (!all_.has_pivots(operation::Intent::read)) return true;
    const int n = all_.call.integer(Argument::n);
    const int* const pivots = all_.places.pivots(segment_.data());
    return std::all_of(pivots, pivots + n, [&](int row) { return row >= 1 && row <= n; });
  }

  void take_results() const {
    const int found = segment_.found();
    for (std::size_t i = 0; i < all_.call.rules().size(); ++i) {
      const DistributedMatrix matrix = all_.result(all_.call.rules()[i], found);
      if (matrix.columns == 0 || !operation::writes(matrix.intent)) continue;
      const auto begin = std::chrono::steady_clock::now();
      in_company(matrix, [&](platform::WorkerPool* workers) {
        copy_from(all_.places.matrix(i, segment_.data()), matrix, all_.grid, workers);
      });
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
      if (all_.grid.is_root() && own_bytes(matrix, all_.grid) > 0) all_.root.copied(matrix.bytes(), taken.count());
    }
    if (all_.has_pivots(operation::Intent::write)) all_.pivots_from(all_.places.pivots(segment_.data()));
    if (all_.has_factors(operation::Intent::write)) all_.factors_from(all_.places.factors(segment_.data()));
    if (all_.call.has(Argument::w))
      std::memcpy(all_.call.word(Argument::w), all_.places.values(segment_.data()),
                  static_cast<std::size_t>(found) * all_.call.real_bytes());
    all_.fill_rest(found);
  }

  Gathering& all_;
  Meeting& meeting_;
  Segment& segment_;
  FoundPlaces found_{};
};

}  // namespace

void share_segment(const Functions& functions, const Grid& grid, Meeting& meeting) {
  const auto progress = [probe = functions.mpi.iprobe, communicator = meeting.communicator] {
    constexpr int unused_tag = 29764;
    int there = 0;
    std::array<long, 32> status{};
    probe(0, unused_tag, communicator, &there, status.data());
  };
  meeting.segment_tried = true;
  Segment::Invitation invitation{};
  if (grid.is_root()) {
    meeting.segment = Segment::make(grid.size(), progress);
    invitation = meeting.segment ? meeting.segment->invitation() : Segment::Invitation{0, -1};
  }
  const Messages messages(functions.mpi, meeting.communicator, meeting.ranks, grid.is_root());
  messages.broadcast(invitation.data(), Segment::invitation_words);
  if (!grid.is_root()) meeting.segment = Segment::join(invitation, grid.rank(), grid.size(), progress);
  std::array<int, 1> joined{meeting.segment ? 1 : 0};
  messages.least(joined);
  if (meeting.segment) meeting.segment->close_invitation();
  if (joined[0] == 0) meeting.segment.reset();
}

Outcome gather_through_memory(Gathering& gathering, Meeting& meeting, void* original) {
  return ThroughMemory(gathering, meeting).run(original);
}

}  // namespace blastoff::scalapack
