//===- OneDNN.h - Owning handles for oneDNN's C API -----------------------===//
//
// Private to this folder: handles that free themselves, the process's engine
// with its instruction set cap, and planning for one thread.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_LIBRARIES_ONEDNN_H
#define TENON_LIB_LIBRARIES_ONEDNN_H

#include "tenon/Support/ElementType.h"
#include "tenon/Target/InstructionSets.h"

#include <dnnl.h>

#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tenon::libraries {

/// Owns one oneDNN object.
template <typename Object, dnnl_status_t (*destroy)(Object *)>
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
      destroy(object);
  }
  Object *get() const { return object; }
  explicit operator bool() const { return object; }
  /// For oneDNN's functions that return an object through a pointer.
  Object **out() { return &object; }

private:
  Object *object = nullptr;
};

using Memory = Handle<dnnl_memory, dnnl_memory_destroy>;
using Primitive = Handle<dnnl_primitive, dnnl_primitive_destroy>;
using PrimitiveDescription =
    Handle<dnnl_primitive_desc, dnnl_primitive_desc_destroy>;
using Attributes = Handle<dnnl_primitive_attr, dnnl_primitive_attr_destroy>;

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

/// oneDNN's name of an element type, if it has one.
std::optional<dnnl_data_type_t> dataType(ElementType type);

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
