#include "scalapack/gathering.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <limits>
#include <new>
#include <optional>
#include <utility>

#include "platform/contained.h"
#include "platform/memory_limits.h"
#include "platform/threads.h"

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
      const bool solved = are_pivots() && all_.solve(&segment_);
      segment_.finish(solved, all_.problem->found(), all_.root.solved_in_team());
    } else if (is_member() && segment_.is_full()) {
      take_part();
    }
    return segment_.is_solved();
  }

  bool is_member() const { return !all_.grid.is_root() && all_.grid.rank() < found_.team.members; }
  void take_part() {
    try {
      all_.problem.emplace(all_.call, all_.places, segment_.data());
    } catch (const std::bad_alloc&) {
      all_.problem.reset();
    }
    if (all_.problem && *all_.problem)
      all_.root.take_part(*all_.problem, segment_, found_.team, all_.grid.rank());
    else
      segment_.all_able(0, found_.team.members, false);  // the others wait for a word
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

/// Words and numbers of all processes of a grid.
class Messages {
 public:
  Messages(const Functions& functions, const Meeting& meeting, bool is_root)
      : mpi_(functions.mpi), meeting_(meeting), is_root_(is_root) {}

  /// The smallest of each number over all processes.
  template <std::size_t count>
  void least(std::array<int, count>& numbers) const {
    std::vector<std::array<int, count>> all(is_root_ ? static_cast<std::size_t>(meeting_.ranks) : 0);
    mpi_.gather(numbers.data(), sizeof numbers, mpi_.byte, all.data(), sizeof numbers, mpi_.byte, 0,
                meeting_.communicator);
    for (const std::array<int, count>& each : all)
      for (std::size_t i = 0; i < count; ++i) numbers[i] = std::min(numbers[i], each[i]);
    broadcast(numbers.data(), count);
  }

  /// Sends numbers from the root to all processes.
  void broadcast(int* numbers, std::size_t count) const {
    mpi_.broadcast(numbers, static_cast<int>(count * sizeof(int)), mpi_.byte, 0, meeting_.communicator);
  }

 private:
  const Mpi& mpi_;
  const Meeting& meeting_;
  const bool is_root_;
};

/// The matrices go by messages of the program's own ScaLAPACK.
class ByMessages {
 public:
  ByMessages(Gathering& gathering, Meeting& meeting)
      : all_(gathering), meeting_(meeting), messages_(gathering.functions, meeting, gathering.grid.is_root()) {}

  Outcome run(void* original) {
    const std::uint32_t call_class = all_.call.fingerprint(false);
    if (meeting_.silence.covers(call_class)) return Outcome::distributed;
    const Word word = heard();
    meeting_.silence.begin(call_class, word.silence);
    if (!word.wanted) return word.postponed ? Outcome::postponed : Outcome::distributed;
    if (all_.call.has_work() && all_.call.query(original) != 0) return Outcome::reported;
    if (!agree()) return Outcome::distributed;
    own_context(all_.functions, meeting_);
    for (std::size_t i = 0; i < all_.call.rules().size(); ++i) {
      const DistributedMatrix matrix = all_.call.matrix(all_.call.rules()[i]);
      // Redistribution knows no triangles, so that what lies in the other one goes to the root and back.
      const bool keeps_elements = matrix.part != operation::Part::full && operation::writes(matrix.intent);
      if (operation::reads(matrix.intent) || keeps_elements) move(i, matrix, true);
    }
    std::array<int, 2> solved{0, 0};
    if (all_.problem) solved = {all_.solve(nullptr) ? 1 : 0, all_.problem->found()};
    messages_.broadcast(solved.data(), 2);
    if (solved[0] == 0) return Outcome::distributed;
    take_results(solved[1]);
    return Outcome::gathered;
  }

 private:
  /// What the root says about the call.
  Word heard() {
    Word word;
    if (all_.grid.is_root()) word = all_.word(all_.wanted(nullptr));
    std::array<int, 3> numbers{word.wanted ? 1 : 0, word.postponed ? 1 : 0, static_cast<int>(word.silence)};
    messages_.broadcast(numbers.data(), numbers.size());
    return {numbers[0] != 0, numbers[1] != 0, static_cast<std::uint32_t>(numbers[2])};
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

  void take_results(int found) {
    const Call& call = all_.call;
    for (std::size_t i = 0; i < call.rules().size(); ++i) {
      const DistributedMatrix matrix = all_.result(call.rules()[i], found);
      if (matrix.columns > 0 && operation::writes(matrix.intent)) move(i, matrix, false);
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

  /// Moves panels, because redistribution counts bytes in 32 bits and buffers what it sends and receives.
  void move(std::size_t index, const DistributedMatrix& matrix, bool to_root) const {
    constexpr std::size_t panel_bytes = std::size_t{64} << 20;
    const std::size_t column_bytes = static_cast<std::size_t>(matrix.rows) * matrix.element_bytes;
    const int width = static_cast<int>(std::max<std::size_t>(1, panel_bytes / column_bytes));
    const int one = 1;
    const int row = matrix.row + 1;
    const auto* const given = static_cast<const Descriptor*>(all_.call.descriptor(all_.call.rules()[index].matrix));
    for (int begin = 0; begin < matrix.columns; begin += width) {
      const int panel = std::min(width, matrix.columns - begin);
      // A layout of one block: the first process of the grid has all of it.
      const Descriptor layout{.context = meeting_.context,
                              .rows = matrix.rows,
                              .columns = panel,
                              .row_block = matrix.rows,
                              .column_block = panel,
                              .leading_dimension = matrix.rows};
      std::byte* const part = all_.problem ? all_.places.matrix(index, all_.problem->base()).address +
                                                 static_cast<std::size_t>(begin) * column_bytes
                                           : nullptr;
      const int column = matrix.column + begin + 1;
      const auto redistribute = all_.functions.redistribute;
      if (to_root)
        redistribute(&matrix.rows, &panel, matrix.address, &row, &column, given, part, &one, &one, &layout,
                     &meeting_.context);
      else
        redistribute(&matrix.rows, &panel, part, &one, &one, &layout, matrix.address, &row, &column, given,
                     &meeting_.context);
    }
  }

  Gathering& all_;
  Meeting& meeting_;
  Messages messages_;
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
  const Messages messages(functions, meeting, grid.is_root());
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
