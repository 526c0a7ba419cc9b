// BLASTOFF_ARGUMENT_REGISTERS(X): X(0), X(1), ... for each integer register that can hold an argument of a function.
#pragma once

#if defined(__x86_64__)
#define BLASTOFF_ARGUMENT_REGISTERS(X) X(0), X(1), X(2), X(3), X(4), X(5)
#elif defined(__aarch64__)
#define BLASTOFF_ARGUMENT_REGISTERS(X) X(0), X(1), X(2), X(3), X(4), X(5), X(6), X(7)
#else
#error "unknown architecture: which registers hold integer arguments?"
#endif
