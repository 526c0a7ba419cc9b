#include "scalapack/segment.h"

#include <sched.h>
#include <unistd.h>

#include <utility>

#include "platform/living.h"
#include "platform/memory_limits.h"

namespace blastoff::scalapack {
namespace {

constexpr std::size_t page_bytes = 4096;
constexpr std::size_t cache_line = 64;

/// A slot holds the number of a call, how many calls are silent after it, whether it is postponed, and its phase.
constexpr unsigned phase_bits = 7;
constexpr std::uint32_t phase_mask = (1U << phase_bits) - 1;
constexpr std::uint32_t postponed_bit = 1U << phase_bits;
constexpr unsigned silence_shift = phase_bits + 1;
constexpr unsigned call_shift = 32;
constexpr std::uint32_t silence_mask = (1U << (call_shift - silence_shift)) - 1;
constexpr std::uint64_t slot_value(std::uint32_t call, const Word& word, std::uint8_t phase) {
  return (std::uint64_t{call} << call_shift) | (std::uint64_t{word.silence & silence_mask} << silence_shift) |
         (word.postponed ? postponed_bit : 0) | phase;
}
constexpr std::uint32_t call_of(std::uint64_t slot) {
  return static_cast<std::uint32_t>(slot >> call_shift);
}

/// So many waits may end because a process was late; then the segment is given up.
constexpr int max_late = 3;

}  // namespace

struct alignas(cache_line) Segment::RankState {
  std::atomic<std::uint32_t> arrived{0};  ///< the last call in which it has arrived
  std::atomic<std::uint32_t> left{0};     ///< the last call with which it is through
  std::atomic<std::uint32_t> able{0};
  std::atomic<std::uint32_t> fingerprint{0};
  std::atomic<std::uint64_t> pid{0};  ///< platform::ProcessName
  std::uint64_t made = 0;
  std::uint64_t pid_namespace = 0;
  /// What it has said at a step of a call: the number of the call, and whether it is able.
  struct Step {
    std::atomic<std::uint64_t> word{0};
    Note note{};  ///< set before the word
  };
  std::array<Step, max_steps> steps{};
  Changes changes{};  ///< in the call in which it has arrived; all read it until they leave that call
};

struct alignas(cache_line) Segment::Header {
  static constexpr std::uint32_t slots = 64;

  std::uint64_t key = 0;  ///< as in the invitation: shows that this is the segment of the grid
  std::atomic<bool> broken{false};
  std::atomic<int> late{0};
  std::atomic<int> found{0};
  std::atomic<bool> by_several{false};
  std::array<std::atomic<std::uint64_t>, slots> words{};
  std::array<FoundPlaces, slots> places{};  ///< set before the word says that the call is wanted
};

// The ranks' states follow the header.
Segment::RankState& Segment::state(int rank) const {
  return reinterpret_cast<RankState*>(memory_.data() + sizeof(Header))[rank];
}

std::size_t Segment::header_bytes() const {
  const std::size_t bytes = sizeof(Header) + static_cast<std::size_t>(ranks_) * sizeof(RankState);
  return (bytes + page_bytes - 1) / page_bytes * page_bytes;
}

Segment::Segment(platform::SharedMemory memory, int rank, int ranks, std::function<void()> progress)
    : memory_(std::move(memory)), rank_(rank), ranks_(ranks), progress_(std::move(progress)) {}

Segment::~Segment() {
  if (at_end_) at_end_();
}

void Segment::enter_name() {
  RankState& own = state(rank_);
  const auto pid = static_cast<std::uint64_t>(getpid());
  own.made = platform::started_at(pid).value_or(0);
  own.pid_namespace = platform::pid_namespace();
  own.pid.store(pid);
}

// The segment has the size that the largest gathered problem may have. It takes no memory until it is used.
std::unique_ptr<Segment> Segment::make(int ranks, std::function<void()> progress) {
  const std::size_t bytes =
      std::min(platform::usable_memory() / 4, platform::address_space_left() / 8) / page_bytes * page_bytes;
  platform::SharedMemory memory = platform::SharedMemory::make(bytes);
  if (!memory) return nullptr;
  std::unique_ptr<Segment> segment(new Segment(std::move(memory), 0, ranks, std::move(progress)));
  if (segment->header_bytes() >= bytes) return nullptr;
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  segment->header().key = static_cast<std::uint64_t>(now) ^ (static_cast<std::uint64_t>(getpid()) << 32U);
  segment->enter_name();
  return segment;
}

Segment::Invitation Segment::invitation() const {
  const auto low = [](std::uint64_t word) { return static_cast<int>(static_cast<std::uint32_t>(word)); };
  const std::uint64_t place = platform::pid_namespace();
  const std::uint64_t key = memory_ ? header().key : 0;
  return {getpid(),
          memory_.offered(),
          low(key),
          low(key >> 32U),
          low(place),
          low(place >> 32U),
          low(memory_.size()),
          low(memory_.size() >> 32U)};
}

std::unique_ptr<Segment> Segment::join(const Invitation& invitation, int rank, int ranks,
                                       std::function<void()> progress) {
  const auto wide = [&](std::size_t low) {
    return std::uint64_t{static_cast<std::uint32_t>(invitation[low])} |
           (std::uint64_t{static_cast<std::uint32_t>(invitation[low + 1])} << 32U);
  };
  const auto [pid, descriptor] = std::pair(invitation[0], invitation[1]);
  if (descriptor < 0 || wide(4) == 0 || wide(4) != platform::pid_namespace()) return nullptr;
  if (wide(6) > platform::address_space_left() / 8) return nullptr;
  platform::SharedMemory memory = platform::SharedMemory::join(static_cast<std::uint64_t>(pid), descriptor, wide(6));
  if (!memory) return nullptr;
  std::unique_ptr<Segment> segment(new Segment(std::move(memory), rank, ranks, std::move(progress)));
  if (segment->header_bytes() >= segment->memory_.size() || segment->header().key != wide(2)) return nullptr;
  segment->enter_name();
  return segment;
}

std::atomic<std::uint64_t>& Segment::slot() const {
  return header().words[call_ % Header::slots];
}

Segment::Phase Segment::phase() const {
  const std::uint64_t word = slot().load();
  return call_of(word) == call_ ? static_cast<Phase>(word & phase_mask) : Phase::none;
}

bool Segment::is_slot_free() const {
  return call_ <= Header::slots || behind(&RankState::left, call_ - Header::slots) < 0;
}

/// Changes the phase of the call, unless another process has changed it before, or the slot is not free.
bool Segment::turn(Phase from, Phase to, const Word& word) {
  std::uint64_t before = slot().load();
  while (phase() == from && (from != Phase::none || is_slot_free()))
    if (slot().compare_exchange_weak(before, slot_value(call_, word, static_cast<std::uint8_t>(to)))) return true;
  return false;
}

void Segment::decline() {
  if (!turn(Phase::none, Phase::declined)) turn(Phase::wanted, Phase::declined);
}

bool Segment::is_broken() const {
  return header().broken.load();
}

bool Segment::living(int rank) const {
  const RankState& other = state(rank);
  return platform::is_living({other.pid.load(), other.made, other.pid_namespace}).value_or(true);
}

int Segment::behind(std::atomic<std::uint32_t> RankState::*counter, std::uint32_t call) const {
  for (int rank = 0; rank < ranks_; ++rank)
    if (static_cast<std::int32_t>((state(rank).*counter).load() - call) < 0) return rank;
  return -1;
}

template <class Condition, class Missing>
bool Segment::wait(const Condition& condition, const Missing& missing, bool patient) const {
  using Clock = std::chrono::steady_clock;
  constexpr int short_turns = 20;
  constexpr unsigned pause = 50;                        // microseconds
  constexpr auto look = std::chrono::milliseconds(50);  // from one look at the others to the next
  const auto begin = Clock::now();
  auto next_look = begin + look;
  for (int turns = 0; !condition(); ++turns) {
    progress_();
    if (turns < short_turns) {
      sched_yield();
      continue;
    }
    usleep(pause);
    const auto now = Clock::now();
    if (now < next_look) continue;
    next_look = now + look;
    const int rank = missing();
    const bool dead = rank >= 0 && !living(rank);
    const bool late = !patient && now - begin > patience_;
    if (!dead && !late) continue;
    if (dead || ++header().late >= max_late) header().broken.store(true);
    return condition();
  }
  return true;
}

FoundPlaces& Segment::places_of_call() const {
  return header().places[call_ % Header::slots];
}

const FoundPlaces& Segment::places() const {
  return places_of_call();
}

const Segment::Changes& Segment::changes_of(int rank) const {
  return state(rank).changes;
}

bool Segment::say(std::uint32_t call_class, const Word& word, const FoundPlaces& places) {
  ++call_;
  const auto missing = [&] { return behind(&RankState::left, call_ - Header::slots); };
  wait([&] { return is_slot_free() || is_broken(); }, missing);
  if (!is_slot_free()) header().broken.store(true);
  const bool wanted = word.wanted && !is_broken();
  const Word said{wanted, word.postponed, word.silence};
  if (wanted) places_of_call() = places;
  if (turn(Phase::none, wanted ? Phase::wanted : Phase::declined, said)) silence_.begin(call_class, said.silence);
  if (phase() == Phase::wanted) return true;
  leave();
  return false;
}

bool Segment::hear(std::uint32_t call_class) {
  ++call_;
  const bool in_time = wait([&] { return phase() != Phase::none || is_broken(); }, [] { return 0; });
  // Where the first rank has said that it is wanted, others may be past this: then this rank takes part, too.
  if (!in_time || is_broken()) turn(Phase::none, Phase::declined);
  const std::uint64_t word = slot().load();
  if (call_of(word) == call_)
    silence_.begin(call_class, static_cast<std::uint32_t>(word >> silence_shift) & silence_mask);
  if (phase() > Phase::declined) return true;
  leave();
  return false;
}

bool Segment::is_postponed() const {
  const std::uint64_t word = slot().load();
  return call_of(word) == call_ && phase() == Phase::declined && (word & postponed_bit) != 0;
}

bool Segment::enter() {
  const auto missing = [&] { return behind(&RankState::left, call_ - 1); };
  if (!wait([&] { return missing() < 0 || phase() == Phase::declined; }, missing)) decline();
  return phase() != Phase::declined;
}

void Segment::arrive(bool able, std::uint32_t fingerprint, const Changes& changes) {
  RankState& own = state(rank_);
  own.changes = changes;
  own.able.store(able ? 1 : 0);
  own.fingerprint.store(fingerprint);
  own.arrived.store(call_);
}

bool Segment::all_arrived(std::uint32_t fingerprint) {
  const auto missing = [&] { return behind(&RankState::arrived, call_); };
  if (!wait([&] { return missing() < 0 || phase() == Phase::declined; }, missing)) decline();
  bool agreed = phase() == Phase::wanted;
  for (int rank = 0; rank < ranks_ && agreed; ++rank) {
    const RankState& other = state(rank);
    agreed = other.able.load() != 0 && other.fingerprint.load() == fingerprint;
  }
  if (!agreed) turn(Phase::wanted, Phase::declined);
  return agreed && turn(Phase::wanted, Phase::full);
}

void Segment::finish(bool solved, int found, bool by_several) {
  header().found.store(found);
  header().by_several.store(by_several);
  header().late.store(0);
  turn(Phase::full, solved ? Phase::solved : Phase::failed);
}

bool Segment::is_full() {
  constexpr bool patient = true;
  const auto decided = [&] { return phase() == Phase::declined || phase() > Phase::wanted; };
  return wait(
             decided, [] { return 0; }, patient) &&
         phase() == Phase::full;
}

namespace {

constexpr std::uint64_t step_word(std::uint32_t call, bool able) {
  return (std::uint64_t{call} << 1U) | (able ? 1 : 0);
}

}  // namespace

bool Segment::all_able(int step, int members, bool able, const Note& note) {
  const auto index = static_cast<std::size_t>(step);
  state(rank_).steps[index].note = note;
  state(rank_).steps[index].word.store(step_word(call_, able));
  for (std::size_t later = index + 1; later < max_steps && !able; ++later)  // they are not taken
    state(rank_).steps[later].word.store(step_word(call_, false));
  const auto word_of = [&](int member) { return state(member).steps[index].word.load(); };
  const auto missing = [&] {
    for (int member = 0; member < members; ++member)
      if (word_of(member) >> 1U != call_) return member;
    return -1;
  };
  constexpr bool patient = true;
  wait([&] { return missing() < 0 || phase() != Phase::full; }, missing, patient);
  for (int member = 0; member < members; ++member)
    if (word_of(member) != step_word(call_, true)) return false;
  return true;
}

const Segment::Note& Segment::note_of(int member, int step) const {
  return state(member).steps[static_cast<std::size_t>(step)].note;
}

bool Segment::is_hopeless(int step, int members) const {
  if (phase() != Phase::full) return true;
  for (int member = 0; member < members; ++member) {
    const std::uint64_t word = state(member).steps[static_cast<std::size_t>(step)].word.load();
    if (word == step_word(call_, false) || !living(member)) return true;
  }
  return false;
}

std::vector<std::uint64_t> Segment::processes(int members) const {
  std::vector<std::uint64_t> result;
  result.reserve(static_cast<std::size_t>(members));
  for (int member = 0; member < members; ++member) result.push_back(state(member).pid.load());
  return result;
}

bool Segment::is_solved() {
  const auto decided = [&] { return phase() == Phase::declined || phase() >= Phase::solved; };
  constexpr bool patient = true;
  if (!wait(
          decided, [] { return 0; }, patient)) {
    decline();
    turn(Phase::full, Phase::failed);
  }
  return phase() == Phase::solved;
}

bool Segment::is_solved_by_several() const {
  return header().by_several.load();
}

int Segment::found() const {
  return header().found.load();
}

void Segment::leave() {
  state(rank_).left.store(call_);
}

}  // namespace blastoff::scalapack
