// A library that tells its NAME.
const char* whose(void);

const char* whose(void) {
  return NAME;
}
