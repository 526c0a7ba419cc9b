// A library that needs the toy library.
const char* whose(void);
const char* dependent(void);

const char* dependent(void) {
  return whose();
}
