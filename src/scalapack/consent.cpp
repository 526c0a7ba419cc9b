#include "scalapack/consent.h"

#include <array>
#include <mutex>
#include <vector>

#include <unistd.h>

namespace blastoff::scalapack {
namespace {

/// These differ from the tag of messages between processes in the BLACS (9976). They are below 32767, to which MPI
/// guarantees that tags may go.
constexpr int greeting_tag = 29765;
constexpr int answer_tag = 29766;
constexpr int word_tag = 29767;

/// What the root says at a call: whether all take part. The others answer the greeting with `yes` or `no`.
enum Answer : int {
  no,
  yes,
  never,  ///< no, and this is the last word
};
constexpr std::array<int, 3> words{no, yes, never};

/// From this call after the greeting on, the root expects no more answers. (UCX prints a line about each message that
/// has not been received by the end of the job.)
constexpr int last_call_for_answers = 3;

/// What this process has heard on one communicator. It is an attribute of the communicator, so it ends with it.
struct Acquaintance {
  int calls = 0;
  int greeting = 0;  ///< number of the call at which the greeting came; 0: no greeting yet
  bool over = false;
  int heard = 0;                 ///< number of words received from the root
  int likeness = 0;              ///< on the root: as it has sent it
  std::vector<bool> answered{};  ///< on the root: whether a rank has answered
  int answers = 0;
  bool refused = false;  ///< on the root: a rank has answered that it does not take part
  Meeting meeting{};
  Functions functions{};
};

extern "C" int copy_acquaintance(void*, int, void*, void*, void*, int* copied) {
  *copied = 0;
  return 0;
}
extern "C" int erase_acquaintance(void*, int, void* acquaintance, void*) {
  const std::unique_ptr<Acquaintance> ends(static_cast<Acquaintance*>(acquaintance));
  const Functions& functions = ends->functions;
  Meeting& meeting = ends->meeting;
  int finalized = 1;
  if (!meeting.complete || functions.mpi.finalized(&finalized) != 0 || finalized != 0) return 0;
  const bool has_context = meeting.context >= 0 && grid_of(functions, meeting.context).rows > 0;
  if (has_context) functions.grid_exit(meeting.context);  // it may have ended with all grids
  if (meeting.members) meeting.members->end(functions);
  functions.mpi.free_communicator(static_cast<void*>(&meeting.communicator));
  return 0;
}

/// The key is the same for all communicators, because a program has one MPI library.
int attribute_key(const Mpi& mpi) {
  static std::once_flag once;
  static int key = 0;
  std::call_once(once, [&] {
    mpi.create_keyval(reinterpret_cast<void*>(&copy_acquaintance), reinterpret_cast<void*>(&erase_acquaintance), &key,
                      nullptr);
  });
  return key;
}

void* communicator_of(const Functions& functions, const Grid& grid) {
  constexpr int messages_between_processes = 10;  // Cblacs_get: returns it as a system handle
  int handle = 0;
  functions.get(grid.context, messages_between_processes, &handle);
  void* const communicator = functions.communicator(handle);
  functions.free_handle(handle);
  return communicator;
}

Acquaintance& acquaintance_on(const Functions& functions, void* communicator) {
  const int key = attribute_key(functions.mpi);
  Acquaintance* acquaintance = nullptr;
  int there = 0;
  functions.mpi.get_attribute(communicator, key, static_cast<void*>(&acquaintance), &there);
  if (there == 0) {
    acquaintance = new Acquaintance;
    acquaintance->functions = functions;
    functions.mpi.set_attribute(communicator, key, acquaintance);
  }
  return *acquaintance;
}

/// All processes call it together.
void complete(Meeting& meeting, const Functions& functions, const Grid& grid, void* communicator) {
  functions.mpi.duplicate(communicator, static_cast<void*>(&meeting.communicator));
  meeting.ranks = grid.size();
  meeting.complete = true;
}

class Conversation {
 public:
  Conversation(const Functions& functions, const Grid& grid, int likeness)
      : mpi_(functions.mpi),
        grid_(grid),
        likeness_(likeness),
        communicator_(communicator_of(functions, grid)),
        acquaintance_(&acquaintance_on(functions, communicator_)) {
    ++acquaintance_->calls;
  }

  void complete(const Functions& functions) const {
    scalapack::complete(acquaintance_->meeting, functions, grid_, communicator_);
  }

  bool as_root(bool wanted, std::chrono::duration<double> patience) {
    Acquaintance& all = *acquaintance_;
    if (all.over || (all.greeting == 0 && !wanted)) return false;
    if (all.greeting == 0) {
      all.greeting = all.calls;
      all.answered.resize(static_cast<std::size_t>(grid_.size()));
      all.likeness = likeness_;
      tell_others(all.greeting, greeting_tag);
      tell_others(all.likeness, greeting_tag);
    }
    if (all.calls > all.greeting) patience = std::chrono::seconds(0);
    wait([&] { return collect_answers() || all.refused; }, patience);
    const bool complete = !all.refused && collect_answers();
    all.over = all.refused || (!complete && all.calls - all.greeting >= last_call_for_answers);
    tell_others(words[all.over ? never : complete ? yes : no], word_tag);
    return complete;
  }

  bool as_other(std::chrono::duration<double> patience) {
    Acquaintance& own = *acquaintance_;
    if (own.over) return false;
    if (own.greeting == 0) {
      if (own.calls > 1) patience = std::chrono::seconds(0);
      if (!wait([&] { return is_there(0, greeting_tag); }, patience)) return false;
      own.greeting = receive(0, greeting_tag);
      const bool is_like_root = receive(0, greeting_tag) == likeness_;
      const bool takes_part = is_like_root && own.calls >= own.greeting;  // or this rank has missed earlier calls
      send(words[takes_part ? yes : no], 0, answer_tag);
      own.over = !takes_part;
    }
    int word = no;
    for (; own.heard <= own.calls - own.greeting && !own.over; ++own.heard) {
      word = receive(0, word_tag);
      own.over = word == never;
    }
    return word == yes;
  }

 private:
  bool collect_answers() const {
    Acquaintance& all = *acquaintance_;
    for (int rank = 1; rank < grid_.size(); ++rank) {
      if (all.answered[static_cast<std::size_t>(rank)] || !is_there(rank, answer_tag)) continue;
      if (receive(rank, answer_tag) != yes) all.refused = true;
      all.answered[static_cast<std::size_t>(rank)] = true;
      ++all.answers;
    }
    return all.answers == grid_.size() - 1;
  }

  /// Waits for a condition. One look may not be enough for MPI to find a message.
  template <class Condition>
  bool wait(const Condition& condition, std::chrono::duration<double> patience) const {
    constexpr unsigned pause = 50;  // microseconds
    constexpr int quick_looks = 10;
    const auto deadline = std::chrono::steady_clock::now() + patience;
    for (int looks = 1; !condition(); ++looks) {
      if (looks < quick_looks) continue;
      if (std::chrono::steady_clock::now() > deadline) return false;
      usleep(pause);
    }
    return true;
  }

  bool is_there(int rank, int tag) const {
    int there = 0;
    mpi_.iprobe(rank, tag, communicator_, &there, status_.data());
    return there != 0;
  }

  /// `number` must outlive the communicator, because nobody waits until it has been sent.
  void send(const int& number, int rank, int tag) const {
    void* request = nullptr;
    mpi_.isend(&number, sizeof number, mpi_.byte, rank, tag, communicator_, static_cast<void*>(&request));
    mpi_.request_free(static_cast<void*>(&request));
  }
  void tell_others(const int& number, int tag) const {
    for (int rank = 1; rank < grid_.size(); ++rank) send(number, rank, tag);
  }

  int receive(int rank, int tag) const {
    int number = no;
    mpi_.receive(&number, sizeof number, mpi_.byte, rank, tag, communicator_, status_.data());
    return number;
  }

  const Mpi& mpi_;
  const Grid& grid_;
  const int likeness_;
  void* const communicator_;
  Acquaintance* const acquaintance_;
  mutable std::array<long, 32> status_{};  // longer than any MPI_Status
};

}  // namespace

Meeting& meeting_of(const Functions& functions, const Grid& grid) {
  return acquaintance_on(functions, communicator_of(functions, grid)).meeting;
}

int own_context(const Functions& functions, Meeting& meeting) {
  if (meeting.context >= 0) return meeting.context;
  const int handle = functions.handle_of(meeting.communicator);
  meeting.context = handle;
  functions.grid_init(&meeting.context, "Row", 1, meeting.ranks);
  functions.free_handle(handle);
  return meeting.context;
}

bool all_take_part(const Functions& functions, const Grid& grid, bool wanted, const Willingness& own) {
  Conversation conversation(functions, grid, own.likeness);
  const bool all = grid.is_root() ? conversation.as_root(wanted, own.patience) : conversation.as_other(own.patience);
  if (all) conversation.complete(functions);
  return all;
}

}  // namespace blastoff::scalapack
