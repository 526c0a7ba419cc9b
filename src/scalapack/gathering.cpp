#include "scalapack/gathering.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <utility>

#include "platform/contained.h"
#include "platform/memory_limits.h"
#include "platform/threads.h"
#include "scalapack/messages.h"
#include "scalapack/panels.h"

namespace blastoff::scalapack {
namespace {

/// What one process knows of a call that all make.
struct Gathering {
  const Call& call;
  const Functions& functions;
  const Grid& grid;
  Root& root;
  Places places;

  std::optional<GatheredProblem> problem{};  ///< on the root, and on other members of a team

  /// On the root: whether it hopes to gather such problems, now or later.
  bool hoped(Transport transport) {
    const bool hopes = makes_problem(nullptr, 0) && root.hopes(*problem, grid, transport);
    return hopes || root.insists();
  }
  /// On the root: what it says about a call that it does or does not want.
  Word word(bool wanted) const {
    if (wanted) return {.wanted = true};
    return {.postponed = root.postpones(), .silence = root.silence(call)};
  }
  /// On the root: whether it wants to gather the problem, which lies in the segment or, without one, in memory of its
  /// own.
  bool wanted(Segment* segment) {
    std::byte* const base = segment != nullptr ? segment->data() : nullptr;
    const std::size_t taken = segment != nullptr ? segment->bytes_taken() : 0;
    return makes_problem(base, taken) && root.wants(*problem, grid, segment);
  }
  /// The program may need what is left of the machine's memory.
  bool makes_problem(std::byte* base, std::size_t taken) {
    if (!grid.is_root()) return false;
    if (places.end() > taken && places.end() - taken > platform::memory_left() / 2) return false;
    problem.emplace(call, places, base);
    return static_cast<bool>(*problem);
  }
  /// On another member of a team.
  bool makes_members_problem(std::byte* base) {
    try {
      problem.emplace(call, places, base);
    } catch (const std::bad_alloc&) {
      problem.reset();
    }
    return problem && *problem;
  }
  bool solve(Segment* segment) { return root.solve(*problem, segment) && problem->info() == 0; }

  /// The pivots of a factorization are numbers of rows, which count from the first row of the distributed matrix in
  /// ScaLAPACK, and from the first row of the sub-matrix in LAPACK.
  void pivots_to(int* whole) const {
    const Axis axis = call.pivot_axis(grid);
    const int* const own = call.integers(Argument::ipiv);
    axis.each_own_run([&](std::int64_t row, std::int64_t place, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i) whole[row + i] = own[place + i] - static_cast<int>(axis.begin);
    });
  }
  void pivots_from(const int* whole) const {
    const Axis axis = call.pivot_axis(grid);
    int* const own = call.integers(Argument::ipiv);
    axis.each_own_run([&](std::int64_t row, std::int64_t place, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i) own[place + i] = whole[row + i] + static_cast<int>(axis.begin);
    });
  }
  /// The factors of reflectors are elements. The processes of a column of the grid have the same.
  template <class Copy>
  void each_run_of_factors(std::byte* whole, const Copy& copy) const {
    auto* const own = static_cast<std::byte*>(call.word(Argument::tau));
    const auto at = [&](std::int64_t place) { return static_cast<std::size_t>(place) * call.element_bytes(); };
    call.reflector_axis(grid).each_own_run([&](std::int64_t column, std::int64_t place, std::int64_t count) {
      copy(own + at(place), whole + at(column), at(count));
    });
  }
  void factors_to(void* whole) const {
    each_run_of_factors(static_cast<std::byte*>(whole),
                        [](std::byte* own, std::byte* place, std::size_t bytes) { std::memcpy(place, own, bytes); });
  }
  void factors_from(void* whole) const {
    each_run_of_factors(static_cast<std::byte*>(whole),
                        [](std::byte* own, std::byte* place, std::size_t bytes) { std::memcpy(own, place, bytes); });
  }
  bool has_factors(operation::Intent intent) const {
    return call.has(Argument::tau) && call.reflector_intent() == intent;
  }
  bool has_pivots(operation::Intent intent) const { return call.has(Argument::ipiv) && call.pivot_intent() == intent; }

  /// The part of a result that is to be copied.
  DistributedMatrix result(const MatrixRule& rule, int found) const {
    DistributedMatrix matrix = call.matrix(rule);
    if (rule.matrix == Argument::z) matrix.columns = std::min(matrix.columns, found);
    return matrix;
  }

  /// Fills in the results other than matrices, pivots and eigenvalues.
  void fill_rest(int found) const {
    if (call.has(Argument::info)) *call.integers(Argument::info) = 0;
    if (call.has(Argument::scale)) fill_reals(Argument::scale, 1, 1);
    if (!call.has(Argument::found)) return;
    *call.integers(Argument::found) = found;
    if (!call.wants_vectors()) return;
    *call.integers(Argument::vectors_found) = found;
    if (!call.has(Argument::ifail)) return;
    std::fill_n(call.integers(Argument::ifail), found, 0);
    std::fill_n(call.integers(Argument::clusters), 2 * grid.size(), 0);
    fill_reals(Argument::gaps, grid.size(), -1);  // the value if there are no clusters
  }

  void fill_reals(Argument argument, int count, float value) const {
    if (call.real_bytes() == sizeof(float))
      std::fill_n(static_cast<float*>(call.word(argument)), count, value);
    else
      std::fill_n(static_cast<double*>(call.word(argument)), count, static_cast<double>(value));
  }
};

/// The matrices go through memory that all processes share.
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
      return all_.root.make_in_team(*all_.problem, words, found_.team, member, found_.team.device_of(member),
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

/// The matrices go by messages of the program's own ScaLAPACK.
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
      if (outcome == TeamOutcome::unsolved || !can_alone_) return Outcome::distributed;
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

/// Tries to share a segment. All processes call it together, once, and have a segment then, or none has.
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

}  // namespace

Outcome gather(const Call& call, void* original, const Functions& functions, const Grid& grid, Root& root,
               const Willingness& own) {
  Meeting& meeting = meeting_of(functions, grid);
  Gathering gathering{call, functions, grid, root, Places(call)};
  if (!meeting.complete && !all_take_part(functions, grid, gathering.hoped(Transport::memory), own))
    return Outcome::distributed;
  if (!meeting.segment_tried) share_segment(functions, grid, meeting);
  if (meeting.segment) return ThroughMemory(gathering, meeting).run(original);
  return ByMessages(gathering, meeting).run(original);
}

}  // namespace blastoff::scalapack
