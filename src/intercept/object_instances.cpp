#include "intercept/object_instances.h"

#include <link.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "platform/contained.h"
#include "platform/fork_guard.h"

namespace blastoff::intercept {
namespace {

using platform::ForkGuard;

struct Instance {
  InstanceNumber number = 0;
  std::uintptr_t bias = 0;
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  std::string path;
  std::uintptr_t marked = 0;
  std::array<std::byte, 16> mark{};  // an array, because there may be no memory for more
  std::size_t mark_bytes = 0;

  bool is_at(const ObjectIdentity& object) const {
    return begin == object.begin && end == object.end && path == object.path;
  }
  /// Reads the object's memory, so the object must be loaded.
  bool has_mark() const {
    return mark_bytes > 0 && std::memcmp(reinterpret_cast<const void*>(marked), mark.data(), mark_bytes) == 0;
  }
};

/// A namespace. Programs open hundreds of objects, one after the other, and each time all objects are looked up. So the
/// objects can be found by their place and by their number without a search through all of them.
class Space {
 public:
  LinkerCounts counts;

  /// In the order in which they were loaded.
  std::vector<Instance>& instances() { return instances_; }

  /// Makes room for so many instances, so that set() and add() allocate no memory.
  void reserve(std::size_t count) {
    instances_.reserve(count);
    by_place_.reserve(count);
    by_number_.reserve(count);
  }
  void set(std::vector<Instance> instances) {
    instances_ = std::move(instances);
    by_place_.clear();
    by_number_.clear();
    for (std::uint32_t i = 0; i < instances_.size(); ++i) {
      by_place_.push_back(i);
      by_number_.push_back(i);
    }
    std::ranges::sort(by_place_, {}, [this](std::uint32_t i) { return instances_[i].begin; });
    std::ranges::sort(by_number_, {}, [this](std::uint32_t i) { return instances_[i].number; });
  }

  /// Adds an instance that was loaded after all others.
  void add(Instance instance) {
    const auto index = static_cast<std::uint32_t>(instances_.size());
    by_place_.insert(behind(instance.begin), index);
    by_number_.push_back(index);
    instances_.push_back(std::move(instance));
  }

  /// Returns the instance with the last begin at or before the address; nullptr: there is none.
  const Instance* at_or_before(std::uintptr_t address) const {
    const auto next = behind(address);
    return next == by_place_.begin() ? nullptr : &instances_[*std::prev(next)];
  }
  const Instance* at(const ObjectIdentity& object) const {
    const Instance* const found = at_or_before(object.begin);
    return found != nullptr && found->is_at(object) ? found : nullptr;
  }
  Instance* with(InstanceNumber number) {
    const auto found =
        std::ranges::lower_bound(by_number_, number, {}, [this](std::uint32_t i) { return instances_[i].number; });
    return found != by_number_.end() && instances_[*found].number == number ? &instances_[*found] : nullptr;
  }

 private:
  /// The first place of by_place_ whose instance begins behind the address.
  std::vector<std::uint32_t>::const_iterator behind(std::uintptr_t address) const {
    return std::ranges::upper_bound(by_place_, address, {}, [this](std::uint32_t i) { return instances_[i].begin; });
  }

  std::vector<Instance> instances_;
  std::vector<std::uint32_t> by_place_;   ///< indices of instances_, by begin
  std::vector<std::uint32_t> by_number_;  ///< the same, by number
};

struct Registry {
  std::mutex mutex;  // taken under the dynamic linker's lock, so a thread that holds it must not call the linker
  std::map<long, Space> spaces;
  InstanceNumber last = 0;
};

/// Lasts until the process ends: exit handlers may still load objects.
Registry& registry() {
  static Registry& one = *new Registry;
  return one;
}

/// An object as the linker lists it.
struct Listed {
  std::uintptr_t bias;
  std::uintptr_t begin;
  std::uintptr_t end;
  std::string path;
  InstanceNumber marked_as;  // 0: it has no mark

  ObjectIdentity identity() const { return {begin, end, path}; }
};

/// As long as nothing is unloaded, the objects of the program's namespace that are known come first in each listing, in
/// the same order.
struct Known {
  LinkerCounts counts;
  std::size_t objects = 0;
  bool sole_space = true;  ///< no object is known in another namespace
};

struct Listing {
  Known known;           ///< these objects are left out
  std::size_t seen = 0;  ///< objects, with those left out
  LinkerCounts counts;
  std::vector<Listed> objects;
  bool complete = true;
};

InstanceNumber read_mark(const ObjectIdentity& object, long space) {
  const std::lock_guard lock(registry().mutex);
  const Instance* const known = registry().spaces[space].at(object);
  return known != nullptr && known->has_mark() ? known->number : 0;
}

/// Gives numbers to the objects of a listing, and keeps the numbers of those that were there before. In the program's
/// namespace, objects keep their order, and a new object comes last. So only the last objects of the list can be new,
/// as many as were loaded since. (In other namespaces, any object may be new if anything was loaded or unloaded.)
void renumber(long number_of_space, Listing listing) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  Space& space = all.spaces[number_of_space];
  if (listing.counts.before(space.counts)) return;
  const std::size_t loads = listing.counts.loads - space.counts.loads;
  const bool changed = listing.counts != space.counts;
  // Nothing after this allocates memory: an object that lost its number would count as another object.
  std::vector<Instance> now;
  now.reserve(listing.objects.size());
  space.reserve(listing.objects.size());
  std::vector<Instance>& before = space.instances();
  auto next = before.begin();
  for (std::size_t i = 0; i < listing.objects.size(); ++i) {
    Listed& object = listing.objects[i];
    const bool may_be_new = number_of_space == LM_ID_BASE ? i + loads >= listing.objects.size() : changed;
    const auto same = std::find_if(next, before.end(), [&](const Instance& old) {
      return old.is_at(object.identity()) && (!may_be_new || old.number == object.marked_as);
    });
    if (same == before.end()) {
      now.push_back({++all.last, object.bias, object.begin, object.end, std::move(object.path)});
    } else {
      now.push_back(std::move(*same));
      next = same + 1;
    }
  }
  space.set(std::move(now));
  space.counts = listing.counts;
}

Known known_objects() {
  const std::lock_guard lock(registry().mutex);
  Space& space = registry().spaces[LM_ID_BASE];
  return {space.counts, space.instances().size(), registry().spaces.size() == 1};
}

/// Gives numbers to objects that were loaded since `listing.known`. Returns false if another thread has numbered
/// objects meanwhile.
bool number_loaded(Listing listing) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  Space& space = all.spaces[LM_ID_BASE];
  if (space.counts != listing.known.counts) return false;
  // Nothing after this allocates memory.
  space.reserve(listing.known.objects + listing.objects.size());
  for (Listed& object : listing.objects)
    space.add({++all.last, object.bias, object.begin, object.end, std::move(object.path)});
  space.counts = listing.counts;
  return true;
}

/// Runs under the dynamic linker's lock: no exception may pass it.
int list_one(dl_phdr_info* info, std::size_t, void* result) {
  auto& listing = *static_cast<Listing*>(result);
  listing.counts = {info->dlpi_adds, info->dlpi_subs};
  const bool known = listing.counts.unloads == listing.known.counts.unloads && listing.seen < listing.known.objects;
  ++listing.seen;
  if (known) return 0;
  const ObjectIdentity object = identify(*info);
  listing.complete = platform::contained([&] {
    listing.objects.push_back(
        {info->dlpi_addr, object.begin, object.end, std::string(object.path), read_mark(object, LM_ID_BASE)});
  });
  return listing.complete ? 0 : 1;
}

Listing list_all_but(const Known& known) {
  Listing listing{.known = known, .counts = {}, .objects = {}};
  dl_iterate_phdr(list_one, &listing);
  if (!listing.complete) throw std::bad_alloc();
  return listing;
}

}  // namespace

void number_instances() {
  const ForkGuard guard;
  const Known known = known_objects();
  const LinkerCounts counts = linker_counts();
  if (counts == known.counts) return;
  // Where there are other namespaces, the count of unloads does not tell.
  if (known.sole_space && counts.unloads == known.counts.unloads) {
    Listing listing = list_all_but(known);
    if (listing.counts.unloads == known.counts.unloads && number_loaded(std::move(listing))) return;
  }
  renumber(LM_ID_BASE, list_all_but({}));
}

void number_instances(const LinkerCounts& before, const std::vector<LoadedObject>& objects) {
  const ForkGuard guard;
  if (objects.empty()) return;
  Listing listing{.known = {}, .counts = before, .objects = {}};
  const long space = objects.front().space;
  for (const LoadedObject& object : objects)
    listing.objects.push_back(
        {object.bias, object.begin, object.end, object.path, read_mark(object.identity(), space)});
  renumber(space, std::move(listing));
}

InstanceNumber instance_of(const ObjectIdentity& object, long space) {
  const ForkGuard guard;
  const std::lock_guard lock(registry().mutex);
  const Instance* const found = registry().spaces[space].at(object);
  return found != nullptr ? found->number : 0;
}

InstanceNumber instance_at(const void* address) {
  const ForkGuard guard;
  const auto value = reinterpret_cast<std::uintptr_t>(address);
  const std::lock_guard lock(registry().mutex);
  const Instance* const found = registry().spaces[LM_ID_BASE].at_or_before(value);
  return found != nullptr && value < found->end ? found->number : 0;
}

bool is_loaded(InstanceNumber number) {
  const ForkGuard guard;
  const std::lock_guard lock(registry().mutex);
  return std::ranges::any_of(registry().spaces, [&](auto& space) { return space.second.with(number) != nullptr; });
}

std::vector<InstanceNumber> loaded_instances() {
  const ForkGuard guard;
  std::vector<InstanceNumber> numbers;
  const std::lock_guard lock(registry().mutex);
  for (auto& [_, space] : registry().spaces)
    for (const Instance& instance : space.instances()) numbers.push_back(instance.number);
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::vector<std::uintptr_t> biases_of(std::span<const InstanceNumber> numbers) {
  const ForkGuard guard;
  std::vector<std::uintptr_t> biases;
  const std::lock_guard lock(registry().mutex);
  for (auto& [_, space] : registry().spaces)
    for (const InstanceNumber number : numbers)
      if (const Instance* const instance = space.with(number)) biases.push_back(instance->bias);
  return biases;
}

void mark_instance(InstanceNumber number, std::uintptr_t address, std::span<const std::byte> bytes) {
  const ForkGuard guard;
  const std::lock_guard lock(registry().mutex);
  for (auto& [_, space] : registry().spaces) {
    Instance* const instance = space.with(number);
    if (instance == nullptr) continue;
    instance->marked = address;
    instance->mark_bytes = std::min(bytes.size(), instance->mark.size());
    std::copy_n(bytes.begin(), instance->mark_bytes, instance->mark.begin());
  }
}

}  // namespace blastoff::intercept
