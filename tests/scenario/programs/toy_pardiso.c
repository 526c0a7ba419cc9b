// A library with a function of a name that Blastoff does not take.
long pardiso(void* handle, double* values);

long pardiso(void* handle, double* values) {
  return handle == values;
}
