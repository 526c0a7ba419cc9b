// Distinguishes objects that occupy the same place one after the other: a library that is closed and opened again, its
// new version, or another library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "intercept/loaded_objects.h"

namespace blastoff::intercept {

/// The number of one loading of an object. No other loading gets the same number. 0: the loading is not known.
using InstanceNumber = std::uint64_t;

/// Numbers the objects that were loaded into the program's namespace since the last call. Fast if nothing was loaded or
/// unloaded.
void number_instances();

/// The same for the objects of another namespace. `before`: linker_counts() before they were listed.
void number_instances(const LinkerCounts& before, const std::vector<LoadedObject>& objects);

// The following functions answer as of the last numbering.
InstanceNumber instance_of(const ObjectIdentity& object, long space = 0);
/// These functions know the objects of the program's namespace.
InstanceNumber instance_at(const void* address);
bool is_loaded(InstanceNumber number);
/// Sorted by number.
std::vector<InstanceNumber> loaded_instances();
/// What the process adds to the addresses of these instances, as far as they are loaded.
std::vector<std::uintptr_t> biases_of(std::span<const InstanceNumber> numbers);

/// Marks an instance by bytes that are in no file. An object that has these bytes at that address is this instance, not
/// a later one. The mark identifies the instance if the order of loading cannot.
void mark_instance(InstanceNumber number, std::uintptr_t address, std::span<const std::byte> bytes);

}  // namespace blastoff::intercept
