// A reference to code to run.
#pragma once

namespace blastoff::platform {

/// Like std::function, but it refers to the callable, which must live as long, and allocates no memory.
class Body {
 public:
  template <class Callable>
  Body(const Callable& callable)  // NOLINT(google-explicit-constructor): a lambda is passed as it is
      : run_([](const void* self) { (*static_cast<const Callable*>(self))(); }), callable_(&callable) {}
  void operator()() const { run_(callable_); }

 private:
  void (*run_)(const void* callable);
  const void* callable_;
};

}  // namespace blastoff::platform
