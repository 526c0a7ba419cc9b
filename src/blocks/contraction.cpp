#include "blocks/contraction.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "blas/call.h"

namespace blastoff::blocks {

namespace {

using blas::Transpose;
using device::Permutation;

/// What computes at a place.
class Arithmetic {
 public:
  /// `queue` of a device, null on the host.
  Arithmetic(const operation::Host& host, device::Queue* queue) : host_(host), queue_(queue) {}

  device::Queue* queue() const { return queue_; }

  device::Status permute(std::uint64_t to, std::uint64_t from, const Permutation& permutation) const {
    if (queue_ != nullptr) return queue_->permute(to, from, permutation);
    device::permute(host_pointer(to), host_pointer(from), permutation);
    return {};
  }

  device::Status multiply(const blas::Call& call) const {
    if (queue_ != nullptr) return queue_->execute(call, host_);
    host_.compute(call);
    return {};
  }

 private:
  const operation::Host& host_;
  device::Queue* queue_;
};

/// An acquired operand, and memory for its matrix if its indices take another order.
class Operand {
 public:
  Operand(Engine& engine, const Tensor& tensor, const MatrixForm& form, std::size_t element_size, int place)
      : engine_(engine), tensor_(tensor), form_(form), element_size_(element_size), place_(place) {}
  ~Operand() {
    if (held_) (void)tensor_.block.release(place_, nullptr);
  }
  Operand(const Operand&) = delete;
  Operand& operator=(const Operand&) = delete;

  /// Memory first, so that nothing has happened to the block if there is none.
  Status prepare(device::Queue* queue) {
    if (!form_.permuted) return {};
    const std::size_t bytes = tensor_.shape.elements() * element_size_;
    auto memory = place_ == host_place ? engine_.host_memory(bytes) : engine_.device_memory(place_, bytes);
    if (!memory) return failure(memory.error());
    matrix_ = std::move(*memory);
    if (queue == nullptr) {
      engine_.counters().waited(matrix_.uses().finish());
      return {};
    }
    auto ordered = matrix_.uses().precede(*queue);
    return ordered ? Status{} : failure(ordered.error());
  }

  Status acquire(Access access, device::Queue* queue) {
    auto address = tensor_.block.acquire(place_, access, queue);
    if (!address) return tl::unexpected(std::move(address.error()));
    address_ = *address;
    held_ = true;
    return {};
  }

  /// Elements from the tensor to the matrix, or back.
  device::Status fill_matrix(const Arithmetic& arithmetic) const {
    return form_.permuted ? arithmetic.permute(matrix_.address(), address_, permutation()) : device::Status{};
  }
  device::Status fill_tensor(const Arithmetic& arithmetic) const {
    return form_.permuted ? arithmetic.permute(address_, matrix_.address(), inverse(permutation())) : device::Status{};
  }

  void* matrix() const { return host_pointer(form_.permuted ? matrix_.address() : address_); }
  bool transposed() const { return form_.transposed; }

  Status release(device::Queue* queue) {
    if (!std::exchange(held_, false)) return {};
    return tensor_.block.release(place_, queue);
  }
  /// The memory is used until then.
  void add_use(const Point& point) {
    if (matrix_) matrix_.uses().add(point);
  }

 private:
  Permutation permutation() const {
    Permutation permutation = form_.permutation;
    permutation.element_size = element_size_;
    return permutation;
  }

  Engine& engine_;
  const Tensor& tensor_;
  const MatrixForm& form_;
  const std::size_t element_size_;
  const int place_;
  device::PooledMemory matrix_;
  std::uint64_t address_ = 0;
  bool held_ = false;
};

class Contraction {
 public:
  Contraction(Engine& engine, blas::Scalar scalar, blas::Coefficient alpha, blas::Coefficient beta,
              const ContractionPlan& plan, const Tensor& a, const Tensor& b, const Tensor& c, int place)
      : engine_(engine),
        scalar_(scalar),
        alpha_(alpha),
        beta_(beta),
        plan_(plan),
        c_block_(c.block),
        place_(place),
        a_(engine, a, plan.a, blas::element_size(scalar), place),
        b_(engine, b, plan.b, blas::element_size(scalar), place),
        c_(engine, c, plan.c, blas::element_size(scalar), place) {}

  Status run(device::Queue* queue) {
    const bool reads_c = beta_ != 0.0;
    for (Operand* const operand : {&a_, &b_, &c_})
      if (auto ok = operand->prepare(queue); !ok) return ok;
    if (auto ok = a_.acquire(Access::read, queue); !ok) return ok;
    if (auto ok = b_.acquire(Access::read, queue); !ok) return ok;
    if (auto ok = c_.acquire(reads_c ? Access::update : Access::write, queue); !ok) return ok;
    const auto computed = compute(Arithmetic(engine_.host(), queue));
    if (!computed && queue != nullptr) (void)queue->synchronize();
    Status done = computed ? Status{} : failed(computed.error());
    for (Operand* const operand : {&a_, &b_, &c_})
      if (auto ok = operand->release(queue); !ok && done) done = ok;
    if (!computed) c_block_.forget();
    if (done && queue != nullptr) done = note_uses(*queue);
    return done;
  }

  blas::Call call() const {
    // A transposed result is the product of the transposed factors in reverse order.
    const bool reversed = plan_.c.transposed;
    const Operand& first = reversed ? b_ : a_;
    const Operand& second = reversed ? a_ : b_;
    const auto transpose = [&](const Operand& operand) {
      return operand.transposed() != reversed ? Transpose::transpose : Transpose::none;
    };
    blas::Call call;
    call.routine = blas::routine_of(blas::Kind::gemm, scalar_);
    call.transpose_a = transpose(first);
    call.transpose_b = transpose(second);
    call.m = reversed ? plan_.n : plan_.m;
    call.n = reversed ? plan_.m : plan_.n;
    call.k = plan_.k;
    call.alpha = alpha_;
    call.beta = beta_;
    void* const addresses[] = {first.matrix(), second.matrix(), c_.matrix()};
    const std::int64_t leading_dimensions[] = {call.transpose_a == Transpose::none ? call.m : call.k,
                                               call.transpose_b == Transpose::none ? call.k : call.n, call.m};
    blas::shape_operands(call, addresses, leading_dimensions);
    return call;
  }

 private:
  device::Status compute(const Arithmetic& arithmetic) {
    if (auto ok = a_.fill_matrix(arithmetic); !ok) return ok;
    if (auto ok = b_.fill_matrix(arithmetic); !ok) return ok;
    if (beta_ != 0.0)
      if (auto ok = c_.fill_matrix(arithmetic); !ok) return ok;
    const blas::Call product = call();
    if (auto ok = arithmetic.multiply(product); !ok) return ok;
    if (auto ok = c_.fill_tensor(arithmetic); !ok) return ok;
    ++engine_.counters().contractions;
    add(engine_.counters().flops, blas::flops(product));
    return {};
  }

  Status note_uses(device::Queue& queue) {
    if (!plan_.a.permuted && !plan_.b.permuted && !plan_.c.permuted) return {};
    auto point = engine_.site(place_).points().record(queue);
    if (!point) {
      (void)queue.synchronize();
      return {};
    }
    for (Operand* const operand : {&a_, &b_, &c_}) operand->add_use(*point);
    return {};
  }

  tl::unexpected<Error> failed(const device::Error& error) {
    if (place_ != host_place) engine_.site(place_).note(error);
    return failure(error);
  }

  Engine& engine_;
  const blas::Scalar scalar_;
  const blas::Coefficient alpha_;
  const blas::Coefficient beta_;
  const ContractionPlan& plan_;
  Block& c_block_;
  const int place_;
  Operand a_;
  Operand b_;
  Operand c_;
};

Status check_size(const Tensor& tensor, std::size_t element_size, const char* name) {
  const std::size_t bytes = tensor.shape.elements() * element_size;
  if (bytes <= tensor.block.bytes()) return {};
  return failure(ErrorKind::bad_argument, fmt::format("{} \"{}\" takes {} bytes, and its block has {}", name,
                                                      tensor.shape.labels, bytes, tensor.block.bytes()));
}

}  // namespace

Status contract(Engine& engine, blas::Scalar scalar, blas::Coefficient alpha, const Tensor& a, const Tensor& b,
                blas::Coefficient beta, const Tensor& c, int place) {
  const auto plan = plan_contraction(a.shape, b.shape, c.shape, beta != 0.0);
  if (!plan) return tl::unexpected(plan.error());
  const std::size_t element_size = blas::element_size(scalar);
  for (const auto& [tensor, name] : {std::pair{&a, "A"}, std::pair{&b, "B"}, std::pair{&c, "C"}})
    if (auto ok = check_size(*tensor, element_size, name); !ok) return ok;
  Contraction contraction(engine, scalar, alpha, beta, *plan, a, b, c, place);
  if (place == host_place) return contraction.run(nullptr);
  Site& site = engine.site(place);
  if (auto ready = site.device().prepare(contraction.call()); !ready) {
    site.note(ready.error());
    return failure(ready.error());
  }
  Status done;
  auto queued = site.compute().run([&](device::Queue& queue) -> device::Status {
    done = contraction.run(&queue);
    return {};
  });
  if (!queued) {
    site.note(queued.error());
    return failure(queued.error());
  }
  return done;
}

}  // namespace blastoff::blocks
