// Preloaded behind Blastoff. It makes the C library look too old for Blastoff.
const char* gnu_get_libc_version(void);
const char* gnu_get_libc_version(void) {
  return "2.17";
}
