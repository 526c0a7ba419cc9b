// Usage: program NAME..., see opening.c. If the first name begins with "library:", the library opens the names.
#include <string.h>

#include "product.h"

void opening(int count, char** names);
void opening_in_library(int count, char** names);

int main(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "library:") == 0) {
    opening_in_library(argc - 2, argv + 2);
  } else {
    opening(argc - 1, argv + 1);
  }
  verdict_of("products", right_products(dgemm_));
  return scenario_status();
}
