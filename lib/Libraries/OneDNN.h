//===- OneDNN.h - Owning handles for oneDNN's C API -----------------------===//
//
// Private to this folder: the functions that are called, handles that free
// themselves, the process's engine with its instruction set cap, and planning
// for one thread.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_LIBRARIES_ONEDNN_H
#define TENON_LIB_LIBRARIES_ONEDNN_H

#include "tenon/Support/ElementType.h"
#include "tenon/Target/InstructionSets.h"

#include <dnnl.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tenon::libraries {

#define TENON_ONEDNN_FUNCTIONS(each)                                              \
  each(dnnl_dilated_convolution_backward_data_desc_init) each(                    \
      dnnl_dilated_convolution_backward_weights_desc_init)                        \
      each(dnnl_dilated_convolution_forward_desc_init) each(                      \
          dnnl_engine_create) each(dnnl_get_effective_cpu_isa)                    \
          each(dnnl_matmul_desc_init) each(dnnl_memory_create) each(              \
              dnnl_memory_desc_equal) each(dnnl_memory_desc_get_size)             \
              each(dnnl_memory_desc_init_by_strides) each(                        \
                  dnnl_memory_desc_init_by_tag)                                   \
                  each(dnnl_memory_desc_init_submemory) each(                     \
                      dnnl_memory_destroy) each(dnnl_memory_set_data_handle)      \
                      each(dnnl_primitive_attr_create) each(                      \
                          dnnl_primitive_attr_destroy)                            \
                          each(dnnl_primitive_attr_set_fpmath_mode) each(         \
                              dnnl_primitive_attr_set_scratchpad_mode)            \
                              each(dnnl_primitive_create) each(                   \
                                  dnnl_primitive_desc_create)                     \
                                  each(dnnl_primitive_desc_destroy) each(         \
                                      dnnl_primitive_desc_query)                  \
                                      each(dnnl_primitive_desc_query_md) each(    \
                                          dnnl_primitive_destroy)                 \
                                          each(dnnl_primitive_execute) each(      \
                                              dnnl_reorder_primitive_desc_create) \
                                              each(dnnl_set_max_cpu_isa)          \
                                                  each(dnnl_stream_create)        \
                                                      each(dnnl_version)

struct OneDNNFunctions {
#define TENON_MEMBER(function) decltype(&::function) function;
  TENON_ONEDNN_FUNCTIONS(TENON_MEMBER)
#undef TENON_MEMBER
};

/// Null until loadOneDNN() has found them, as engineFor() has it do.
inline constinit OneDNNFunctions oneDNN{};

/// Empty, or why the library cannot be called on this machine.
const std::string &loadOneDNN();

/// Owns one oneDNN object.
template <typename Object, auto destroy>
class Handle {
public:
  Handle() = default;
  explicit Handle(Object *object) : object(object) {}
  Handle(Handle &&other) noexcept : object(std::exchange(other.object, {})) {}
  Handle &operator=(Handle &&other) noexcept {
    std::swap(object, other.object);
    return *this;
  }
  ~Handle() {
    if (object)
      (oneDNN.*destroy)(object);
  }
  Object *get() const { return object; }
  explicit operator bool() const { return object; }
  /// For oneDNN's functions that return an object through a pointer.
  Object **out() { return &object; }

private:
  Object *object = nullptr;
};

using Memory = Handle<dnnl_memory, &OneDNNFunctions::dnnl_memory_destroy>;
using Primitive =
    Handle<dnnl_primitive, &OneDNNFunctions::dnnl_primitive_destroy>;
using PrimitiveDescription =
    Handle<dnnl_primitive_desc, &OneDNNFunctions::dnnl_primitive_desc_destroy>;
using Attributes =
    Handle<dnnl_primitive_attr, &OneDNNFunctions::dnnl_primitive_attr_destroy>;

using target::Isa;

/// The process's CPU engine and stream, capped to `isa` by the first call. Null
/// with a message in `error` if the library is capped to another one already
/// (it reads its cap once per process), or does not go as far as `isa` here.
struct Engine {
  dnnl_engine_t engine = nullptr;
  dnnl_stream_t stream = nullptr;
};
const Engine *engineFor(Isa isa, std::string &error);

/// While it lives, primitives made by this thread plan to run on one thread.
class PlanForOneThread {
public:
  PlanForOneThread();
  ~PlanForOneThread();
  PlanForOneThread(const PlanForOneThread &) = delete;
  PlanForOneThread &operator=(const PlanForOneThread &) = delete;

private:
  int before;
};

/// oneDNN's name of an element type, if it has one, and the other way round.
std::optional<dnnl_data_type_t> dataType(ElementType type);
std::optional<ElementType> elementType(dnnl_data_type_t type);

/// Whether what oneDNN says that it adds up in is what the call is described
/// with; otherwise `error` says so.
bool holdsSumsIn(ElementType described, dnnl_data_type_t actual,
                 std::string &error);

/// Empty if products of `operands`, multiplied in `compute` and rounded to
/// `result`, can be made with the instructions of `isa`, otherwise why not.
std::string typesNotSupported(ElementType operands, ElementType compute,
                              ElementType result, Isa isa);

/// A description of memory by extents and element strides. Extents of 1 are
/// given the stride a dense tensor would have, which lets the library see
/// density. A matrix that is one row cut out of a column-major one gets a unit
/// stride, which the library wants in one of the last two dimensions.
dnnl_memory_desc_t stridedMemory(std::vector<int64_t> extents,
                                 std::vector<int64_t> strides,
                                 dnnl_data_type_t type, bool isMatrix);

/// Attributes with the scratch memory supplied by the caller, and f32
/// multiplied as f32.
Attributes userScratchpad();

/// The name of the code behind a primitive description; slow reference code
/// starts with "ref" or "simple".
std::string implementationOf(const PrimitiveDescription &description);
bool isReferenceCode(const PrimitiveDescription &description);

int64_t scratchpadBytes(const PrimitiveDescription &description);

/// `description`'s memory for one of its arguments.
const dnnl_memory_desc_t &memoryOf(const PrimitiveDescription &description,
                                   dnnl_query_t query);

inline int64_t alignTo64(int64_t bytes) { return (bytes + 63) & ~int64_t(63); }

/// What the library said, for messages.
std::string statusName(dnnl_status_t status);

} // namespace tenon::libraries

#endif // TENON_LIB_LIBRARIES_ONEDNN_H
