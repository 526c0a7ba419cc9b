// Tells apart objects that were at one place one after the other: a library that is closed and opened again, its new
// version, or another one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "intercept/loaded_objects.h"

namespace blastoff::intercept {

/// Numbers one loading of an object. No other loading gets the same number. 0: no loading that is known.
using InstanceNumber = std::uint64_t;

/// Numbers the objects that were loaded into the program's namespace since the last time. Quick if nothing was loaded
/// or unloaded.
void number_instances();

/// The same for the objects of another namespace; `before` was asked for before they were listed.
void number_instances(const LinkerCounts& before, const std::vector<LoadedObject>& objects);

// What these say is true as of the last numbering.
InstanceNumber instance_of(const ObjectIdentity& object, long space = 0);
/// These know the objects of the program's namespace.
InstanceNumber instance_at(const void* address);
bool is_loaded(InstanceNumber number);
/// Sorted.
std::vector<InstanceNumber> loaded_instances();

/// These bytes are in no file: an object that has them at that address is this instance and no later one. They tell it
/// where the order of loading does not.
void mark_instance(InstanceNumber number, std::uintptr_t address, std::span<const std::byte> bytes);

}  // namespace blastoff::intercept
