// Random sequences on one to three devices against a model that knows what every block holds, and what may be refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <list>
#include <random>
#include <thread>

#include "mapped_memory.h"
#include "rig.h"

namespace blastoff::blocks {
namespace {

using Word = std::uint32_t;

/// A block, what it has to hold, and who holds it.
struct Subject {
  std::unique_ptr<Block> block;
  Word* program = nullptr;  // the program's memory under it
  std::vector<Word> content;
  bool defined = false;
  bool host_newest = true;  // the host version is one of the newest
  struct Hold {
    int place;
    Access access;
    std::uint64_t address;
    device::Queue* stream;
  };
  std::vector<Hold> holds;
};

struct Course {
  RigSettings rig;
  bool program_memory = false;
  int steps = 1500;
};

class Player {
 public:
  Player(const Course& course, unsigned seed) : engine_(seed), rig_(course.rig, true) {
    faulty_ = !course.rig.fault.empty();
    for (int place = 0; place < course.rig.devices; ++place)
      for (int i = 0; i < 2; ++i) streams_.push_back(rig_.stream(place));
    const std::size_t page = platform::page_size();
    if (course.program_memory) memory_ = std::make_unique<test::Memory>(64);
    std::size_t offset = 40;
    for (int i = 0; i < 8; ++i) {
      Subject subject;
      const std::size_t words = std::size_t{1} + random(i % 2 == 0 ? 700 : 5000);
      subject.content.assign(words, 0);
      const std::size_t bytes = words * sizeof(Word);
      if (course.program_memory && i < 6 && offset + bytes < 64 * page) {
        subject.program = reinterpret_cast<Word*>(memory_->page(0) + offset);
        std::copy_n(subject.program, words, subject.content.begin());
        subject.block = rig_.block_over(subject.program, bytes);
        subject.defined = true;
        offset += bytes + (random(2) == 0 ? 0 : 512);  // neighbours share pages
      } else {
        subject.block = rig_.block(bytes);
      }
      subjects_.push_back(std::move(subject));
    }
  }

  void play(int steps) {
    for (int step = 0; step < steps && !testing::Test::HasFailure(); ++step) {
      Subject& subject = subjects_[random(subjects_.size())];
      switch (random(10)) {
        case 0:
        case 1:
        case 2: acquire(subject); break;
        case 3:
        case 4:
        case 5:
        case 6: release(subject); break;
        case 7: hint(subject); break;
        case 8: write_plainly(subject); break;
        default: release_wrongly(subject); break;
      }
    }
    for (Subject& subject : subjects_)
      while (!subject.holds.empty() && !testing::Test::HasFailure()) release(subject);
    finish();
  }

 private:
  std::size_t random(std::size_t below) { return engine_() % below; }
  int random_place() { return static_cast<int>(random(static_cast<std::size_t>(rig_.engine().devices()) + 1)) - 1; }

  bool may_hold(const Subject& subject, Access access) const {
    if (writes(access)) return subject.holds.empty();
    return std::none_of(subject.holds.begin(), subject.holds.end(),
                        [](const auto& hold) { return writes(hold.access); });
  }

  /// What memory and faults may refuse at any time.
  bool excused(const Error& error) const {
    if (error.kind == ErrorKind::out_of_memory) return true;
    return faulty_ && error.kind == ErrorKind::device_lost;
  }

  device::Queue* random_stream(int place) {
    if (place == host_place || random(2) == 0) return nullptr;
    return streams_[static_cast<std::size_t>(place) * 2 + random(2)].get();
  }

  void acquire(Subject& subject) {
    const int place = random_place();
    const auto access = static_cast<Access>(random(3));
    device::Queue* const stream = random_stream(place);
    const auto address = subject.block->acquire(place, access, stream);
    if (!may_hold(subject, access)) {
      if (address || (address.error().kind != ErrorKind::conflict && !excused(address.error())))
        ADD_FAILURE() << "held already, and yet: " << message_of(address);
      return;
    }
    if (!address) {
      const bool undefined = reads(access) && !subject.defined;
      if (!excused(address.error()) && !(undefined && address.error().kind == ErrorKind::nothing_there))
        ADD_FAILURE() << address.error().message;
      return;
    }
    if (reads(access) && !subject.defined) ADD_FAILURE() << "read before it was written";
    subject.holds.push_back({place, access, *address, stream});
    if (writes(access)) subject.host_newest = place == host_place;
    if (!writes(access) && place == host_place) subject.host_newest = true;
    if (reads(access)) expect_content(subject, subject.holds.back());
    if (writes(access)) write(subject, subject.holds.back());
  }

  /// On devices by the stream, if there is one: when the program gets there, and not before.
  void expect_content(const Subject& subject, const Subject::Hold& hold) {
    const std::size_t bytes = subject.content.size() * sizeof(Word);
    if (hold.stream == nullptr) {
      if (std::memcmp(at<Word>(hold.address), subject.content.data(), bytes) != 0)
        ADD_FAILURE() << "wrong content at place " << hold.place;
      return;
    }
    checks_.push_back({std::vector<Word>(subject.content.size()), subject.content});
    const auto copy = [&] {
      return hold.stream->copy_to_host(checks_.back().found.data(), hold.address, {bytes, 1, bytes, bytes});
    };
    if (!copy()) (void)copy();  // a fault that passes
  }

  void write(Subject& subject, const Subject::Hold& hold) {
    subject.defined = true;
    const auto begin = hold.access == Access::write ? 0 : random(subject.content.size());
    const auto end =
        hold.access == Access::write ? subject.content.size() : begin + 1 + random(subject.content.size() - begin);
    for (std::size_t i = begin; i < end; ++i) subject.content[i] = static_cast<Word>(engine_());
    const std::size_t bytes = (end - begin) * sizeof(Word);
    if (hold.stream == nullptr) {
      std::memcpy(at<Word>(hold.address) + begin, subject.content.data() + begin, bytes);
      return;
    }
    sources_.emplace_back(subject.content.begin() + static_cast<std::ptrdiff_t>(begin),
                          subject.content.begin() + static_cast<std::ptrdiff_t>(end));
    const auto copy = [&] {
      return hold.stream->copy_to_device(hold.address + begin * sizeof(Word), sources_.back().data(),
                                         {bytes, 1, bytes, bytes});
    };
    if (!copy()) (void)copy();
  }

  void release(Subject& subject) {
    if (subject.holds.empty()) return;
    const std::size_t index = random(subject.holds.size());
    const Subject::Hold hold = subject.holds[index];
    // The block does not know one reader at a place from the other.
    subject.holds.erase(subject.holds.begin() + static_cast<std::ptrdiff_t>(index));
    auto released = subject.block->release(hold.place, hold.stream);
    if (!released && !excused(released.error())) ADD_FAILURE() << released.error().message;
  }

  void release_wrongly(Subject& subject) {
    const int place = random_place();
    const bool held =
        std::any_of(subject.holds.begin(), subject.holds.end(), [&](const auto& hold) { return hold.place == place; });
    if (held) return;
    EXPECT_TRUE(fails_with(subject.block->release(place, nullptr), ErrorKind::not_held));
  }

  void hint(Subject& subject) {
    const int place = random_place();
    if (random(20) == 0) rig_.engine().trim();
    const auto done = random(2) == 0 ? subject.block->prefetch(place) : subject.block->evict(place);
    if (!done && done.error().kind != ErrorKind::conflict && !excused(done.error()))
      ADD_FAILURE() << done.error().message;
    if (subject.holds.empty() && subject.block->is_current(host_place)) subject.host_newest = true;
  }

  /// As the program may: nobody holds the block, and the host has one of its newest versions.
  void write_plainly(Subject& subject) {
    if (subject.program == nullptr || !subject.holds.empty() || !subject.host_newest) return;
    const std::size_t first = random(subject.content.size());
    const std::size_t last = std::min(subject.content.size(), first + 1 + random(40));
    for (std::size_t i = first; i < last; ++i) subject.program[i] = subject.content[i] = static_cast<Word>(engine_());
  }

  void finish() {
    for (const auto& stream : streams_)
      if (stream) (void)stream->synchronize();
    if (!faulty_) {
      for (const Check& check : checks_)
        if (check.found != check.expected) {
          ADD_FAILURE() << "a stream found wrong content";
          break;
        }
    }
    for (Subject& subject : subjects_) {
      const auto finished = subject.block->finish();
      if (!finished && !excused(finished.error())) ADD_FAILURE() << finished.error().message;
      if (subject.program != nullptr && finished &&
          !std::equal(subject.content.begin(), subject.content.end(), subject.program))
        ADD_FAILURE() << "wrong content at home";
    }
  }

  struct Check {
    std::vector<Word> found;
    std::vector<Word> expected;
  };

  std::mt19937 engine_;
  // Work of streams uses these; they end after the devices.
  std::list<Check> checks_;
  std::list<std::vector<Word>> sources_;
  std::unique_ptr<test::Memory> memory_;
  Rig rig_;
  std::vector<std::unique_ptr<device::Queue>> streams_;
  std::vector<Subject> subjects_;
  bool faulty_ = false;
};

constexpr std::size_t ample = std::size_t{64} << 20;
constexpr std::size_t scarce = std::size_t{48} << 10;

void play(const Course& course, unsigned seeds) {
  for (unsigned seed = 1; seed <= seeds && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Course with_seed = course;
    with_seed.rig.seed = seed;
    with_seed.rig.direct = static_cast<Direct>(seed % 3);
    with_seed.rig.streams = 1 + static_cast<int>(seed % 5);
    Player(with_seed, seed).play(course.steps);
  }
}

TEST(RandomBlocks, OnOneToThreeDevices) {
  for (int devices = 1; devices <= 3; ++devices) play({.rig = {.devices = devices, .device_memory = ample}}, 20);
}

TEST(RandomBlocks, WithoutADevice) {
  play({.rig = {.devices = 0}, .program_memory = true}, 5);
}

TEST(RandomBlocks, WhereMemoryIsShort) {
  for (int devices = 1; devices <= 2; ++devices)
    play({.rig = {.devices = devices, .device_memory = scarce}, .program_memory = devices == 2}, 20);
}

TEST(RandomBlocks, OverTheProgramsMemory) {
  for (int devices = 1; devices <= 3; ++devices)
    play({.rig = {.devices = devices, .device_memory = ample}, .program_memory = true}, 20);
}

TEST(RandomBlocks, OnDevicesThatWorkLate) {
  for (int devices = 1; devices <= 3; ++devices)
    play({.rig = {.devices = devices, .device_memory = devices == 2 ? scarce : ample, .delayed = true},
          .program_memory = devices != 1,
          .steps = 400},
         4);
}

TEST(RandomBlocks, WithFaults) {
  for (const std::string what :
       {"to-device", "to-host", "between", "allocate", "record", "wait", "synchronize", "event", "staging", "queue"})
    for (const std::string how : {":lost", ":memory", ":unsupported"})
      for (int which : {1, 7, 40}) {
        if (how == ":unsupported" && what != "between") continue;  // only there is another road
        const std::string fault = what + ":" + std::to_string(which) + how;
        SCOPED_TRACE(fault);
        play({.rig = {.devices = 2, .device_memory = which == 7 ? scarce : ample, .fault = fault},
              .program_memory = which == 40,
              .steps = 600},
             3);
      }
}

}  // namespace
}  // namespace blastoff::blocks
