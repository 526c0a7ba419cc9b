#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "scalapack/messages.h"
#include "scalapack/panels.h"
#include "scalapack/transports.h"

namespace blastoff::scalapack {
namespace {

class ByMessages {
 public:
  ByMessages(Gathering& gathering, Meeting& meeting)
      : all_(gathering),
        meeting_(meeting),
        messages_(gathering.functions.mpi, meeting.communicator, meeting.ranks, gathering.grid.is_root()) {}

  Outcome run(void* original) {
    const std::uint32_t call_class = all_.call.fingerprint(false);
    if (meeting_.silence.covers(call_class)) return Outcome::distributed;
    const Word word = heard();
    meeting_.silence.begin(call_class, word.silence);
    if (!word.wanted) return word.postponed ? Outcome::postponed : Outcome::distributed;
    if (all_.call.has_work() && all_.call.query(original) != 0) return Outcome::reported;
    if (!agree()) return Outcome::distributed;
    own_context(all_.functions, meeting_);
    if (!team_.is_root_alone()) {
      const TeamOutcome outcome = by_team();
      if (outcome == TeamOutcome::solved) return Outcome::gathered_by_several;
      if (outcome != TeamOutcome::unable || !can_alone_) return Outcome::distributed;
    }
    return by_root() ? Outcome::gathered : Outcome::distributed;
  }

 private:
  /// How columns are dealt out to the processes that make the call. The root alone has all of them.
  struct Deal {
    Team team{};
    int context = -1;
    int member = -1;                      ///< this process's number among them; -1: it is none
    std::span<std::byte* const> parts{};  ///< by the index of the rule
  };

  /// What the root says about the call. It may want to know first how many members a team may have.
  Word heard() {
    Word word;
    for (bool asks = true; asks;) {
      const auto& members = meeting_.members;
      if (all_.grid.is_root()) {
        if (members) all_.root.has_members(members->count());
        const bool wanted = all_.wanted(nullptr);
        asks = !members && all_.root.asks_for_members();
        if (!asks) word = all_.word(wanted);
        team_ = word.wanted ? all_.root.team() : Team{};
        can_alone_ = all_.root.can_alone();
      }
      std::array<int, 7> numbers{word.wanted ? 1 : 0, word.postponed ? 1 : 0,        static_cast<int>(word.silence),
                                 team_.members,       static_cast<int>(team_.block), can_alone_ ? 1 : 0,
                                 asks ? 1 : 0};
      messages_.broadcast(numbers.data(), numbers.size());
      word = {numbers[0] != 0, numbers[1] != 0, static_cast<std::uint32_t>(numbers[2])};
      team_ = {.members = numbers[3], .block = numbers[4]};
      can_alone_ = numbers[5] != 0;
      asks = numbers[6] != 0;
      if (asks)
        meeting_.members = MembersAcross::find(all_.functions, meeting_.communicator, all_.grid.rank(), meeting_.ranks,
                                               [&] { return all_.root.seen_devices(); });
    }
    return word;
  }

  bool by_root() {
    std::array<std::byte*, Call::max_matrices> wholes{};
    for (std::size_t i = 0; i < wholes.size() && all_.problem; ++i)
      wholes[i] = all_.places.matrix(i, all_.problem->base()).address;
    constexpr int all_columns = std::numeric_limits<int>::max();
    const Deal deal{.team = {.block = all_columns},
                    .context = meeting_.context,
                    .member = all_.grid.is_root() ? 0 : -1,
                    .parts = wholes};
    give_operands(deal);
    std::array<int, 2> solved{0, 0};
    if (all_.problem) solved = {all_.solve(nullptr) ? 1 : 0, all_.problem->found()};
    messages_.broadcast(solved.data(), 2);
    if (solved[0] == 0) return false;
    take_results(deal, solved[1]);
    return true;
  }

  /// Nothing moves until all members are able to make the call.
  TeamOutcome by_team() {
    const MembersAcross& members = *meeting_.members;
    WordsByMessages* const words = members.words();
    Parts parts;
    const Deal deal{.team = team_,
                    .context = members.context(),
                    .member = words != nullptr ? words->member() : -1,
                    .parts = parts.addresses};
    int goes = 0;
    const auto bring = [&] {
      goes = 1;
      messages_.broadcast(&goes, 1);
      give_operands(deal);
    };
    TeamOutcome outcome = TeamOutcome::unable;
    if (words != nullptr) {
      words->begin_call();
      if ((deal.member == 0 || all_.makes_members_problem(nullptr)) && take_parts(deal, parts))
        outcome = all_.root.make_in_team(*all_.problem, *words, team_, deal.member, members.device(),
                                         {.parts = parts.addresses, .bring = std::ref(bring)});
      else
        words->all_able(0, false, {});  // the others wait for a word
    }
    if (goes == 0) {
      messages_.broadcast(&goes, 1);
      if (goes != 0) give_operands(deal);
    }
    std::array<int, 2> made{static_cast<int>(outcome), all_.grid.is_root() ? all_.problem->found() : 0};
    if (goes != 0) messages_.broadcast(made.data(), made.size());
    outcome = static_cast<TeamOutcome>(made[0]);
    if (outcome == TeamOutcome::solved && words != nullptr && all_.has_pivots(operation::Intent::write))
      members.messages(all_.functions.mpi).greatest_to_root(pivots(), pivot_count());
    if (!all_.grid.is_root()) all_.problem.reset();
    if (outcome == TeamOutcome::solved) take_results(deal, made[1]);
    return goes == 0 ? TeamOutcome::unable : outcome;
  }

  /// This member's parts of the matrices.
  struct Parts {
    struct Free {
      void operator()(std::byte* allocated) const { std::free(allocated); }
    };
    std::array<std::unique_ptr<std::byte, Free>, Call::max_matrices> memory{};
    std::array<std::byte*, Call::max_matrices> addresses{};
  };
  /// Returns false if there is too little memory. All members may be on this node, too. A member finds the pivots of
  /// its own columns, or all.
  bool take_parts(const Deal& deal, Parts& parts) const {
    if (all_.places.bytes() > platform::memory_left() / 2) return false;
    for (std::size_t i = 0; i < all_.call.rules().size(); ++i) {
      const DistributedMatrix matrix = all_.call.matrix(all_.call.rules()[i]);
      const std::int64_t columns = own_share(deal.team.columns(matrix.columns, deal.member));
      const std::size_t bytes = static_cast<std::size_t>(matrix.rows * columns) * matrix.element_bytes;
      if (i == 0 || !all_.call.vectors_lie_in_a())
        parts.memory[i].reset(static_cast<std::byte*>(std::malloc(std::max<std::size_t>(1, bytes))));
      parts.addresses[i] = parts.memory[i] ? parts.memory[i].get() : parts.addresses[0];
      if (parts.addresses[i] == nullptr) return false;
    }
    if (all_.has_pivots(operation::Intent::write)) std::fill_n(pivots(), pivot_count(), 0);
    return true;
  }
  int* pivots() const { return all_.places.pivots(all_.problem->base()); }
  std::size_t pivot_count() const { return static_cast<std::size_t>(all_.call.integer(Argument::n)); }

  void give_operands(const Deal& deal) const {
    for (std::size_t i = 0; i < all_.call.rules().size(); ++i) {
      const DistributedMatrix matrix = all_.call.matrix(all_.call.rules()[i]);
      // Redistribution knows no triangles, so that what lies in the other one goes there and back.
      const bool keeps_elements = matrix.part != operation::Part::full && operation::writes(matrix.intent);
      if (operation::reads(matrix.intent) || keeps_elements) move(i, matrix, deal, true);
    }
  }

  /// Whether all processes can gather and have the same arguments.
  bool agree() {
    // The minimum of all numbers and the minimum of their complements are complements of each other only if all numbers
    // are equal.
    constexpr int all_bits = 0x7fffffff;
    const Call& call = all_.call;
    const bool has_vectors = all_.has_pivots(operation::Intent::read) || all_.has_factors(operation::Intent::read);
    bool yes = call.is_right_here(all_.grid) && may_be_redistributed() && !has_vectors;
    if (call.has_work()) yes = yes && call.has_work_space();
    const int fingerprint = static_cast<int>(call.fingerprint() & all_bits);
    std::array<int, 3> votes{yes ? 1 : 0, fingerprint, all_bits - fingerprint};
    messages_.least(votes);
    return votes[0] == 1 && votes[1] == all_bits - votes[2];
  }

  /// Redistribution knows one type of descriptors, and counts elements in 32 bits.
  bool may_be_redistributed() const {
    for (const MatrixRule& rule : all_.call.rules()) {
      if (!all_.call.uses(rule.matrix)) continue;
      const DistributedMatrix matrix = all_.call.matrix(rule);
      const std::int64_t columns = own_share(matrix.all_columns(all_.grid));
      if (matrix.layout.type != Descriptor::dense) return false;
      if (matrix.layout.leading_dimension * columns >= std::numeric_limits<int>::max()) return false;
    }
    return true;
  }

  void take_results(const Deal& deal, int found) {
    const Call& call = all_.call;
    for (std::size_t i = 0; i < call.rules().size(); ++i) {
      const DistributedMatrix matrix = all_.result(call.rules()[i], found);
      if (matrix.columns > 0 && operation::writes(matrix.intent)) move(i, matrix, deal, false);
    }
    if (all_.has_pivots(operation::Intent::write)) {
      std::vector<int> pivots(static_cast<std::size_t>(call.integer(Argument::n)));
      int* const whole = all_.problem ? all_.places.pivots(all_.problem->base()) : pivots.data();
      messages_.broadcast(whole, static_cast<std::size_t>(call.pivot_axis(all_.grid).count));
      all_.pivots_from(whole);
    }
    if (all_.has_factors(operation::Intent::write)) {
      const auto count = static_cast<std::size_t>(call.reflector_axis(all_.grid).count);
      std::vector<std::byte> factors(count * call.element_bytes());
      void* const whole = all_.problem ? all_.places.factors(all_.problem->base()) : factors.data();
      messages_.broadcast(static_cast<int*>(whole), factors.size() / sizeof(int));
      all_.factors_from(whole);
    }
    if (call.has(Argument::w)) {
      const std::size_t bytes = static_cast<std::size_t>(found) * call.real_bytes();
      if (all_.problem) std::memcpy(call.word(Argument::w), all_.places.values(all_.problem->base()), bytes);
      messages_.broadcast(call.integers(Argument::w), bytes / sizeof(int));
    }
    all_.fill_rest(found);
  }

  void move(std::size_t index, const DistributedMatrix& matrix, const Deal& deal, bool to_members) const {
    constexpr std::int64_t panel_bytes = std::int64_t{64} << 20;
    if (matrix.rows == 0) return;
    const std::int64_t column_bytes = matrix.rows * static_cast<std::int64_t>(matrix.element_bytes);
    const int one = 1;
    const int row = matrix.row + 1;
    const auto* const given = static_cast<const Descriptor*>(all_.call.descriptor(all_.call.rules()[index].matrix));
    each_panel(deal.team, matrix.columns, column_bytes, panel_bytes, [&](const Panel& panel) {
      const int columns = static_cast<int>(panel.columns);
      const Descriptor layout{.context = deal.context,
                              .rows = matrix.rows,
                              .columns = columns,
                              .row_block = matrix.rows,
                              .column_block = static_cast<int>(panel.block),
                              .first_column = panel.first_member,
                              .leading_dimension = matrix.rows};
      std::byte* part = nullptr;
      if (deal.member >= 0)
        part = deal.parts[index] + own_share(deal.team.columns(panel.begin, deal.member)) * column_bytes;
      const int column = matrix.column + static_cast<int>(panel.begin) + 1;
      const auto redistribute = all_.functions.redistribute;
      if (to_members)
        redistribute(&matrix.rows, &columns, matrix.address, &row, &column, given, part, &one, &one, &layout,
                     &meeting_.context);
      else
        redistribute(&matrix.rows, &columns, part, &one, &one, &layout, matrix.address, &row, &column, given,
                     &meeting_.context);
    });
  }

  Gathering& all_;
  Meeting& meeting_;
  Messages messages_;
  Team team_{};
  bool can_alone_ = true;  ///< the root
};

}  // namespace

Outcome gather_by_messages(Gathering& gathering, Meeting& meeting, void* original) {
  return ByMessages(gathering, meeting).run(original);
}

}  // namespace blastoff::scalapack
