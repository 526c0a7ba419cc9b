# libblastoff.so: all rooms behind the exported BLAS names, with the C++ runtime linked in and hidden.
