// Preloaded behind Blastoff, it makes the C library one on which Blastoff cannot run.
const char* gnu_get_libc_version(void);
const char* gnu_get_libc_version(void) {
  return "2.17";
}
