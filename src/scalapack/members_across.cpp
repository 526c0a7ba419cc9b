#include "scalapack/members_across.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <unistd.h>

#include "platform/process.h"

namespace blastoff::scalapack {
namespace {

constexpr int word_tag = 1;
constexpr int verdict_tag = 2;
constexpr unsigned pause = 50;  // microseconds

std::uint64_t hash(std::string_view text) {
  std::uint64_t value = 0xcbf29ce484222325;  // FNV-1a
  for (const char letter : text) value = (value ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  return value;
}

}  // namespace

WordsByMessages::WordsByMessages(const Mpi& mpi, void* communicator, int member, std::vector<std::uint64_t> processes)
    : mpi_(mpi),
      communicator_(communicator),
      member_(member),
      processes_(std::move(processes)),
      verdict_(processes_.size() / 2),
      words_(verdict_.size()),
      said_(verdict_.size()),
      requests_(verdict_.size()) {}

bool WordsByMessages::is_there(int member, int tag) const {
  int there = 0;
  std::array<long, 32> status{};
  mpi_.iprobe(member, tag, communicator_, &there, status.data());
  return there != 0;
}

void WordsByMessages::receive(void* words, std::size_t bytes, int member, int tag) const {
  std::array<long, 32> status{};
  mpi_.receive(words, static_cast<int>(bytes), mpi_.byte, member, tag, communicator_, status.data());
}

void WordsByMessages::wait(void*& request) const {
  std::array<long, 32> status{};
  mpi_.wait(static_cast<void*>(&request), status.data());
}

/// On the first member: receives the words that are there. Returns whether all others have said theirs.
bool WordsByMessages::collect() {
  bool complete = true;
  bool able = true;
  for (std::size_t other = 1; other < said_.size(); ++other) {
    const auto member = static_cast<int>(other);
    if (said_[other] == 0 && is_there(member, word_tag)) {
      receive(&words_[other], sizeof words_[other], member, word_tag);
      said_[other] = 1;
    }
    complete = complete && said_[other] != 0;
    able = able && (said_[other] == 0 || words_[other].able);
  }
  if (!able) judge();
  return complete;
}

/// On the first member: sends the verdict, once.
void WordsByMessages::judge() {
  if (std::exchange(judged_, true)) return;
  const bool able = std::ranges::all_of(words_, &Word::able) && std::ranges::all_of(said_, std::identity());
  verdict_ = words_;
  verdict_[0].able = able;
  for (std::size_t other = 1; other < said_.size(); ++other)
    mpi_.isend(verdict_.data(), static_cast<int>(verdict_.size() * sizeof(Word)), mpi_.byte, static_cast<int>(other),
               verdict_tag, communicator_, static_cast<void*>(&requests_[other]));
}

bool WordsByMessages::is_hopeless(int) {
  if (member_ == 0) {
    collect();
  } else if (!judged_ && is_there(0, verdict_tag)) {  // before this member has said that it is able
    receive(verdict_.data(), verdict_.size() * sizeof(Word), 0, verdict_tag);
    judged_ = true;
  }
  return judged_;
}

bool WordsByMessages::all_able(int, bool able, const Note& note) {
  if (over_) return false;
  own_ = {able, note};
  if (member_ == 0) {
    words_[0] = own_;
    said_[0] = 1;
    if (!able) judge();
    while (!collect()) usleep(pause);
    judge();
    std::for_each(requests_.begin() + 1, requests_.end(), [&](void*& request) { wait(request); });
    std::ranges::fill(said_, 0);
  } else {
    mpi_.isend(&own_, sizeof own_, mpi_.byte, 0, word_tag, communicator_, static_cast<void*>(requests_.data()));
    if (!judged_) receive(verdict_.data(), verdict_.size() * sizeof(Word), 0, verdict_tag);
    wait(requests_[0]);
  }
  judged_ = false;
  over_ = !verdict_[0].able;
  return !over_;
}

std::unique_ptr<MembersAcross> MembersAcross::find(const Functions& functions, void* communicator, int rank, int ranks,
                                                   const std::function<SeenDevices()>& seen) {
  struct Process {
    std::uint64_t node;
    std::uint64_t pid;
  };
  const Messages messages(functions.mpi, communicator, ranks, rank == 0);
  const auto all = messages.of_all(Process{hash(platform::host_name()), static_cast<std::uint64_t>(getpid())});
  const auto first_of_node = [&](std::size_t index) {
    return static_cast<std::size_t>(std::ranges::find(all, all[index].node, &Process::node) - all.begin());
  };
  const auto own = static_cast<std::size_t>(rank);
  const auto devices = messages.of_all(first_of_node(own) == own ? seen() : SeenDevices{});
  auto found = std::make_unique<MembersAcross>();
  std::vector<int> taken(all.size());  // devices of a node, by its first rank
  std::vector<std::uint64_t> processes;
  int member = -1;
  for (std::size_t other = 0; other < all.size(); ++other) {
    const std::size_t first = first_of_node(other);
    if (taken[first] == devices[first].count) continue;
    if (other == own) {
      member = static_cast<int>(processes.size() / 2);
      found->device_ = devices[first].of(taken[first]);
    }
    ++taken[first];
    processes.insert(processes.end(), {all[other].node, all[other].pid});
  }
  found->count_ = devices[0].count > 0 ? static_cast<int>(processes.size() / 2) : 1;
  if (found->count_ == 1) return found;
  functions.mpi.split(communicator, member >= 0 ? 1 : 0, rank, static_cast<void*>(&found->communicator_));
  if (member < 0) return found;
  found->words_ = std::make_unique<WordsByMessages>(functions.mpi, found->communicator_, member, std::move(processes));
  const int handle = functions.handle_of(found->communicator_);
  found->context_ = handle;
  functions.grid_init(&found->context_, "Row", 1, found->count_);
  functions.free_handle(handle);
  return found;
}

void MembersAcross::end(const Functions& functions) {
  const bool has_context = context_ >= 0 && grid_of(functions, context_).rows > 0;
  if (has_context) functions.grid_exit(context_);  // it may have ended with all grids
  if (communicator_ != nullptr) functions.mpi.free_communicator(static_cast<void*>(&communicator_));
}

}  // namespace blastoff::scalapack
