// A blocked LU factorization (no pivoting) of a diagonally dominant matrix. The CPU factors the panels. dtrsm and dgemm
// work on submatrices of one array, each at a new address. Usage: factorise [SIZE [BLOCK]]
#include "scenario.h"

void dtrsm_(const char*, const char*, const char*, const char*, const int*, const int*, const double*, const double*,
            const int*, double*, const int*);

static void factorise_panel(double* a, int rows, int columns, int ld) {
  for (int j = 0; j < columns; ++j) {
    for (int i = j + 1; i < rows; ++i) {
      a[i + (size_t)j * ld] /= a[j + (size_t)j * ld];
      for (int l = j + 1; l < columns; ++l) a[i + (size_t)l * ld] -= a[i + (size_t)j * ld] * a[j + (size_t)l * ld];
    }
  }
}

int main(int argc, char** argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 320;
  const int block = argc > 2 ? atoi(argv[2]) : 48;
  const int ld = n + 3;
  double* a = filled((size_t)ld * n, 1);
  for (int i = 0; i < n; ++i) a[i + (size_t)i * ld] += 2.0 * n;
  double* original = malloc((size_t)ld * n * sizeof(double));
  memcpy(original, a, (size_t)ld * n * sizeof(double));

  const double one = 1.0, minus_one = -1.0;
  for (int j = 0; j < n; j += block) {
    const int width = n - j < block ? n - j : block, rest = n - j - width;
    double* corner = a + j + (size_t)j * ld;
    double* right = corner + (size_t)width * ld;
    factorise_panel(corner, n - j, width, ld);
    if (rest == 0) break;
    dtrsm_("L", "L", "N", "U", &width, &rest, &one, corner, &ld, right, &ld);
    dgemm_("N", "N", &rest, &rest, &width, &minus_one, corner + width, &ld, right, &ld, &one, right + width, &ld);
  }

  double worst = 0;
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < n; ++i) {
      double sum = i <= j ? a[i + (size_t)j * ld] : 0.0;
      for (int l = 0; l < (i <= j ? i : j + 1); ++l) sum += a[i + (size_t)l * ld] * a[l + (size_t)j * ld];
      worst = fmax(worst, fabs(sum - original[i + (size_t)j * ld]) / n);
    }
  }
  int untouched = 1;
  for (int j = 0; j < n; ++j) {
    for (int i = n; i < ld; ++i) untouched &= a[i + (size_t)j * ld] == original[i + (size_t)j * ld];
  }
  verdict("L times U", worst < 1e-12);
  verdict("the rows between the columns", untouched);
  return scenario_status();
}
