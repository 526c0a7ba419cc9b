// Other copies of this library in the process, for example if a site preloads one and a user another. One copy is
// active, the others do nothing.
#pragma once

#include <string>

namespace blastoff::intercept {

struct LoadedObject;

/// Whether this copy is the active one: the first one loaded, to which the dynamic linker binds names.
bool this_copy_acts();

/// Whether an object is another copy.
bool is_another_copy(const LoadedObject& object);

/// Whether an address lies in another copy.
bool in_another_copy(const void* address);

/// dlsym(RTLD_NEXT) past all copies.
void* next_definition(const char* symbol);

/// Which copy is active and which are not, in one line; "" if there is only this one.
std::string describe_copies();

}  // namespace blastoff::intercept
