// numpy.matmul, and so the operator @ of NumPy's arrays. NumPy multiplies a stack of matrices by one call of
// cblas_?gemm for each. Its universal functions have a loop for each element type, which gets the whole stack. Ours
// takes its place.
#pragma once

namespace blastoff::intercept {

/// Replaces the loops of numpy.matmul for floating-point numbers. Loops that make no batch for the device are NumPy's,
/// as before. `fields`: what NumPy's object holds behind the head of all Python objects. `types`: the letters of the
/// types of all loops, as Python knows them: "???bbb". Changes nothing, and says so, if the object is not laid out as
/// NumPy 1 and 2 do it. The caller holds the interpreter's lock.
void take_matmul(void* fields, const char* types);

}  // namespace blastoff::intercept
