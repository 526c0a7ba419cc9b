// A library with one function of MKL's FFT interface.
long DftiComputeForward(void* descriptor, double* values);

long DftiComputeForward(void* descriptor, double* values) {
  return descriptor == values;
}
