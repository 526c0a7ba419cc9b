// Other copies of this library in the process: a site preloads one, a user another. One is active, the others do
// nothing.
#pragma once

#include <string>

namespace blastoff::intercept {

struct LoadedObject;

/// Whether it is this copy that acts: the first one loaded, which is the one that the dynamic linker binds names to.
bool this_copy_acts();

/// Whether an object is another copy.
bool is_another_copy(const LoadedObject& object);

/// Whether an address lies in another copy.
bool in_another_copy(const void* address);

/// dlsym(RTLD_NEXT) past all copies.
void* next_definition(const char* symbol);

/// Which copy is active and which are not, in one line; "" where this one is alone.
std::string describe_copies();

}  // namespace blastoff::intercept
