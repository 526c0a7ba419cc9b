// A map of limited size: if it is full, it forgets the entry that was used least recently.
#pragma once

#include <cstddef>
#include <iterator>
#include <list>
#include <map>

namespace blastoff::platform {

/// Ordered by key. Not thread-safe. A reference is valid until its entry is forgotten or erased.
template <class Key, class Value>
class RecentMap {
 public:
  /// `most`: number of entries, at least 1.
  explicit RecentMap(std::size_t most) : max_(most) {}
  RecentMap(const RecentMap&) = delete;
  RecentMap& operator=(const RecentMap&) = delete;

  /// Returns the entry for the key, made if there is none, and counts as a use of it. If an entry has to make room,
  /// calls forgotten(key, value) for it.
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
    if (entries_.size() > max_) {
      const auto oldest = entries_.find(*order_.front());
      forgotten(oldest->first, oldest->second.value);
      erase(oldest);
    }
    return made->second.value;
  }
  Value& use(const Key& key) {
    return use(key, [](const Key&, const Value&) {});
  }

  /// nullptr if there is no entry. Does not count as a use.
  Value* find(const Key& key) {
    const auto found = entries_.find(key);
    return found == entries_.end() ? nullptr : &found->second.value;
  }
  const Value* find(const Key& key) const {
    const auto found = entries_.find(key);
    return found == entries_.end() ? nullptr : &found->second.value;
  }

  /// The entry with the largest key that is not larger than `key`; nullptr if there is none. Does not count as a use.
  Value* find_up_to(const Key& key) {
    const auto next = entries_.upper_bound(key);
    return next == entries_.begin() ? nullptr : &std::prev(next)->second.value;
  }

  const Value* find_up_to(const Key& key) const {
    const auto next = entries_.upper_bound(key);
    return next == entries_.begin() ? nullptr : &std::prev(next)->second.value;
  }

  /// Calls visit(key, value) for all entries, by ascending key.
  template <class Visit>
  void each(Visit&& visit) const {
    for (const auto& [key, entry] : entries_) visit(key, entry.value);
  }

  /// Calls visit(value) for the entries with keys in [first, last), by ascending key.
  template <class Visit>
  void each_within(const Key& first, const Key& last, Visit&& visit) {
    for (auto at = entries_.lower_bound(first); at != entries_.end() && at->first < last; ++at) visit(at->second.value);
  }

  /// Calls visit(value) for the entries with keys in [first, last), by ascending key, and erases each afterwards.
  template <class Visit>
  void erase_within(const Key& first, const Key& last, Visit&& visit) {
    for (auto entry = entries_.lower_bound(first); entry != entries_.end() && entry->first < last; entry = erase(entry))
      visit(entry->second.value);
  }
  void erase_within(const Key& first, const Key& last) {
    erase_within(first, last, [](const Value&) {});
  }

  /// Erases the entries for which select(key) is true.
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

  const std::size_t max_;
  Entries entries_;
  Order order_;  // the latest use is last
};

/// Number of matrices, or parts of matrices, about which something is remembered to save time. Programs that work on
/// tiles have some ten thousand of them.
inline constexpr std::size_t max_matrices_remembered = std::size_t{1} << 16;

}  // namespace blastoff::platform
