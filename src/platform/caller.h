// Finds out where code belongs: the object of an address, and the line of Python that a thread executes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "platform/span.h"

namespace blastoff::platform {

/// Looks up the functions that the others below use, so that they need no lock of the dynamic linker later. Called
/// once, when the library is loaded.
void prepare_callers();

/// A place in a loaded object.
struct CodePlace {
  const char* object = "";   ///< its path; "" for the program
  std::uint64_t offset = 0;  ///< of the address, relative to the object's base address as linked
};

/// The place of an address in code; the object is "?" if none contains it. Takes no lock from glibc 2.35 on.
CodePlace code_place(const void* address);

/// The dynamic linker's record of the object that contains an address; nullptr if none does. Only for comparisons:
/// another object may get the same record later. Takes no lock from glibc 2.35 on.
const void* object_record(const void* address);

/// The memory of that object. Empty if no object contains the address, or if the C library is older than 2.35. Takes no
/// lock.
Span object_span(const void* address);

/// Whether this thread may be executing Python code.
bool executes_python();

/// The innermost line of the calling thread's Python code that belongs to no installed package, as "path:line in
/// function". If there is none, the innermost line; "" if the thread runs no Python. The text lies in `text` and is cut
/// at the front if it does not fit. Takes 15 us, and 2 us for each Python function that is active; the interpreter's
/// lock need not be held. To be called undisturbed (platform/threads.h).
std::string_view python_line(char* text, std::size_t size);

}  // namespace blastoff::platform
