// A library that says which one it is: NAME.
const char* whose(void);

const char* whose(void) {
  return NAME;
}
