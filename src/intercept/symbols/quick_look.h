// A look at the names in an ELF file, for the many objects of a process that have nothing to do with routines.
#pragma once

namespace blastoff::intercept {

/// Whether the file may name a routine, or is unusual. Reads the tables of names without mapping the file, in half of
/// the time of ObjectFile::open() and may_define_blas(); false only where these would find no routine.
bool may_name_routine(const char* path);

}  // namespace blastoff::intercept
