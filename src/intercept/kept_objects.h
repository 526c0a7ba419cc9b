// Keeps the objects loaded in which Blastoff has found the functions for a caller, as the dynamic linker does for a
// name that it has bound itself.
#pragma once

#include "intercept/object_instances.h"

namespace blastoff::intercept {

/// Keeps the object of `function` loaded as long as the object of `caller`. `calling`, `defining`: their instances.
void keep_while_loaded(const void* caller, InstanceNumber calling, const void* function, InstanceNumber defining);

/// Unloads objects that were kept only for callers that have been unloaded. To be called before the program opens an
/// object.
void release_unused_objects();

}  // namespace blastoff::intercept
