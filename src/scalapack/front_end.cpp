#include "scalapack/trace_text.h"

namespace blastoff::scalapack {
namespace {

class ScalapackFrontEnd final : public operation::FrontEnd {
 public:
  constexpr ScalapackFrontEnd() = default;

  std::size_t routine_count() const override { return scalapack::routine_count; }
  const char* routine_name(std::size_t routine) const override { return routine_table[routine].name; }
  std::string arguments(const operation::Operation& operation) const override {
    return operation.has_payload<const Call*>() ? call_text(*operation.payload<const Call*>()) : std::string();
  }
  std::vector<operation::Operation> pieces(const operation::Operation& operation, std::size_t) const override {
    return {operation};
  }
  std::unique_ptr<operation::Verification> verification(const operation::Operation&, const operation::Host&,
                                                        operation::Effort) const override {
    return nullptr;
  }
};

constinit ScalapackFrontEnd the_front_end;

}  // namespace

operation::FrontEnd& scalapack() {
  return the_front_end;
}

}  // namespace blastoff::scalapack
