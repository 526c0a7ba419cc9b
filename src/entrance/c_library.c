/* Stands for the C library when libblastoff.so is linked, so that no version of a symbol is recorded. Only what every C
 * library has in its first version, and cannot be called through a slot: data, and what the compiler refers to by
 * itself. */
char* stdin;
char* stdout;
char* stderr;
char** environ;
char** __environ;
char* __progname;
char* __progname_full;
char* program_invocation_name;
char* program_invocation_short_name;
unsigned long __stack_chk_guard;
void __tls_get_addr(void);
void __tls_get_addr(void) {}
