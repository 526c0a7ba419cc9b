// A map that does not grow for ever: beyond so many entries, it forgets the one that was used least recently.
#pragma once

#include <cstddef>
#include <iterator>
#include <list>
#include <map>

namespace blastoff::platform {

/// Ordered by key. Not thread-safe. References last until their entry is forgotten or erased.
template <class Key, class Value>
class RecentMap {
 public:
  /// `most`: entries, at least 1.
  explicit RecentMap(std::size_t most) : most_(most) {}
  RecentMap(const RecentMap&) = delete;
  RecentMap& operator=(const RecentMap&) = delete;

  /// The entry of the key, made if there is none. This is a use of it. Calls forgotten(key, value) of an entry that
  /// makes room.
  template <class Forgotten>
  Value& use(const Key& key, Forgotten&& forgotten) {
    if (const auto found = entries_.find(key); found != entries_.end()) {
      order_.splice(order_.end(), order_, found->second.place);
      return found->second.value;
    }
    Order place(1);
    const auto made = entries_.try_emplace(key).first;
    place.front() = &made->first;
    made->second.place = place.begin();
    order_.splice(order_.end(), place);
    if (entries_.size() > most_) {
      const auto oldest = entries_.find(*order_.front());
      forgotten(oldest->first, oldest->second.value);
      erase(oldest);
    }
    return made->second.value;
  }
  Value& use(const Key& key) {
    return use(key, [](const Key&, const Value&) {});
  }

  /// nullptr: there is none. No use of it.
  Value* find(const Key& key) {
    const auto found = entries_.find(key);
    return found == entries_.end() ? nullptr : &found->second.value;
  }
  const Value* find(const Key& key) const {
    const auto found = entries_.find(key);
    return found == entries_.end() ? nullptr : &found->second.value;
  }

  /// The entry of the largest key that is not larger than this one; nullptr: there is none. No use of it.
  Value* find_up_to(const Key& key) {
    const auto next = entries_.upper_bound(key);
    return next == entries_.begin() ? nullptr : &std::prev(next)->second.value;
  }

  /// Calls visit(key, value) for all, by ascending key.
  template <class Visit>
  void each(Visit&& visit) const {
    for (const auto& [key, entry] : entries_) visit(key, entry.value);
  }

  /// Erases the entries with keys in [first, last), and calls visit(value) of each before, by ascending key.
  template <class Visit>
  void erase_within(const Key& first, const Key& last, Visit&& visit) {
    for (auto entry = entries_.lower_bound(first); entry != entries_.end() && entry->first < last; entry = erase(entry))
      visit(entry->second.value);
  }
  void erase_within(const Key& first, const Key& last) {
    erase_within(first, last, [](const Value&) {});
  }

  /// Erases the entries of which select(key) says so.
  template <class Select>
  void erase_if(Select&& select) {
    for (auto entry = entries_.begin(); entry != entries_.end();)
      entry = select(entry->first) ? erase(entry) : std::next(entry);
  }

  void clear() {
    order_.clear();
    entries_.clear();
  }

 private:
  using Order = std::list<const Key*>;
  struct Entry {
    Value value{};
    typename Order::iterator place{};
  };
  using Entries = std::map<Key, Entry>;

  typename Entries::iterator erase(typename Entries::iterator entry) {
    order_.erase(entry->second.place);
    return entries_.erase(entry);
  }

  const std::size_t most_;
  Entries entries_;
  Order order_;  // latest use last
};

/// So many matrices, or parts of them, of which something is remembered that only saves time. Programs that work on
/// tiles have some ten thousand of them.
inline constexpr std::size_t most_matrices_remembered = std::size_t{1} << 16;

}  // namespace blastoff::platform
