// Prints quantities as the library writes them: reads lines "KIND VALUE" and answers each with a line. tests/python
// compares the command's own functions with it.
#include <iostream>
#include <string>

#include "platform/quantity.h"

int main() {
  using namespace blastoff::platform;
  std::string kind;
  std::string value;
  while (std::cin >> kind >> value) {
    if (kind == "bytes") {
      std::cout << format_bytes(std::stoull(value)) << '\n';
    } else if (kind == "duration") {
      std::cout << format_duration(std::stod(value)) << '\n';
    } else if (kind == "seconds") {
      std::cout << format_seconds(std::stod(value)) << '\n';
    } else if (kind == "number") {
      std::cout << format_number(std::stod(value)) << '\n';
    } else {
      std::cerr << "no such kind: " << kind << '\n';
      return 2;
    }
  }
  return 0;
}
