// The members of teams whose processes share no memory: they run on several nodes. Words and matrices go by messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "scalapack/functions.h"
#include "scalapack/messages.h"
#include "scalapack/team.h"

namespace blastoff::scalapack {

/// The words of such a team. Each member sends one word to the first member at each step, which answers each of them
/// with one verdict: as soon as one is not able, and else when all are. So the members that are inside a library learn
/// of a failure of another one. Nobody learns that a process has died: MPI ends the job then.
class WordsByMessages final : public TeamWords {
 public:
  WordsByMessages(const Mpi& mpi, void* communicator, int member, std::vector<std::uint64_t> processes);

  int members() const override { return static_cast<int>(said_.size()); }
  int member() const { return member_; }
  /// Before the first word about a call, on all members.
  void begin_call() { over_ = false; }
  bool all_able(int step, bool able, const Note& note) override;
  const Note& note_of(int member, int) const override { return verdict_[static_cast<std::size_t>(member)].note; }
  bool is_hopeless(int step) override;
  bool on_any_thread() const override { return false; }
  std::vector<std::uint64_t> processes() const override { return processes_; }

 private:
  struct Word {
    bool able = false;
    Note note{};
  };
  bool is_there(int member, int tag) const;
  void receive(void* words, std::size_t bytes, int member, int tag) const;
  void wait(void*& request) const;
  bool collect();
  void judge();

  const Mpi mpi_;
  void* const communicator_;
  const int member_;
  const std::vector<std::uint64_t> processes_;
  Word own_{};
  std::vector<Word> verdict_;  ///< one for each member; all are able, or the first one is not
  std::vector<Word> words_;    ///< on the first member: of this step
  std::vector<char> said_;     ///< on the first member: whether a member has said its word at this step
  std::vector<void*> requests_;
  bool judged_ = false;  ///< the verdict about this step has been sent, or received
  bool over_ = false;    ///< no more words about this call
};

/// Who makes calls together. It is found once for each grid. The first member is the root.
class MembersAcross {
 public:
  /// All processes of the grid call it together. The members are the first ranks of each node, as many as the node's
  /// first rank sees devices. `seen`: what this process sees; it is asked only on the first rank of each node.
  static std::unique_ptr<MembersAcross> find(const Functions& functions, void* communicator, int rank, int ranks,
                                             const std::function<SeenDevices()>& seen);
  /// Gives back what `find` has made; before the communicator ends.
  void end(const Functions& functions);

  int count() const { return count_; }
  /// On a member; nullptr: this process is none.
  WordsByMessages* words() const { return words_.get(); }
  int device() const { return device_; }
  /// Messages between the members.
  Messages messages(const Mpi& mpi) const { return {mpi, communicator_, count_, words_->member() == 0}; }
  /// BLACS's number of a grid of one row of the members; -1 where this process is none.
  int context() const { return context_; }

 private:
  int count_ = 1;
  int device_ = 0;
  void* communicator_ = nullptr;  ///< of the members; or of all others
  int context_ = -1;
  std::unique_ptr<WordsByMessages> words_{};
};

}  // namespace blastoff::scalapack
