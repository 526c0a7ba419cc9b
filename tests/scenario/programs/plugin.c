// A plugin that is linked with its own toy BLAS (see toy_blas.c).
typedef TOY_INTEGER integer;

const char* toy_name(void);
int toy_calls(void);
const char* plugin_whose(void);
int plugin_multiply(double* a, double* b, double* c, int n);

void TOY_GEMM(const char*, const char*, const integer*, const integer*, const integer*, const double*, const double*,
              const integer*, const double*, const integer*, const double*, double*, const integer*);

const char* plugin_whose(void) {
  return toy_calls() > 0 ? TOY_NAME : "someone else";
}

int plugin_multiply(double* a, double* b, double* c, int n) {
  const integer size = n;
  const double one = 1.0, zero = 0.0;
  TOY_GEMM("N", "N", &size, &size, &size, &one, a, &size, b, &size, &zero, c, &size);
  return 0;
}
