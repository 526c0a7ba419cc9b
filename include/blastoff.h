/* What libblastoff.so offers besides the BLAS names that it intercepts. Programs need none of it. */
#ifndef BLASTOFF_H
#define BLASTOFF_H

#ifdef __cplusplus
extern "C" {
#endif

/* "0.1.0" */
const char* blastoff_version(void);

/* Every setting: a JSON list of objects. NULL when out of memory. */
const char* blastoff_options_json(void);

/* What works in this process's environment and what does not: a JSON object. Opens the device. NULL when out of memory.
 */
const char* blastoff_probe_json(void);

#ifdef __cplusplus
}
#endif

#endif
