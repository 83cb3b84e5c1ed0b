//===- OneDNN.cpp - Owning handles for oneDNN's C API ---------------------===//
//
// The process-wide part of using oneDNN: engine, instruction set cap, threads.
//
//===----------------------------------------------------------------------===//

#include "OneDNN.h"

#include <array>
#include <mutex>

using namespace tenon;
using namespace tenon::libraries;

// libgomp's, which oneDNN plans with; declared here because clang's own OpenMP
// headers would bring its runtime.
extern "C" int omp_get_max_threads(void);
extern "C" void omp_set_num_threads(int);

static dnnl_cpu_isa_t capOf(Isa isa) {
  switch (isa) {
  case Isa::avx2:
    return dnnl_cpu_isa_avx2;
  case Isa::avx512:
    return dnnl_cpu_isa_avx512_core;
  case Isa::avx512Bf16:
    return dnnl_cpu_isa_avx512_core_bf16;
  }
  return dnnl_cpu_isa_avx2;
}

const Engine *tenon::libraries::engineFor(Isa isa, std::string &error) {
  // One cap per process is the library's rule, so it is state of the process.
  static std::mutex mutex;
  static std::optional<Isa> capped;
  static Engine engine;
  std::lock_guard lock(mutex);
  if (!capped) {
    auto host = hostIsa();
    if (!host) {
      error = "this processor has no AVX2, which the library calls need";
      return nullptr;
    }
    // Refused if something else in the process used the library before; then
    // only what it settled on counts.
    if (dnnl_set_max_cpu_isa(capOf(isa)) != dnnl_success &&
        dnnl_get_effective_cpu_isa() != capOf(std::min(isa, *host))) {
      error = "oneDNN was used in this process before and is not limited to " +
              std::string(name(isa));
      return nullptr;
    }
    dnnl_status_t status = dnnl_engine_create(&engine.engine, dnnl_cpu, 0);
    if (status == dnnl_success)
      status = dnnl_stream_create(&engine.stream, engine.engine,
                                  dnnl_stream_default_flags);
    if (status != dnnl_success) {
      error = "oneDNN cannot start: " + statusName(status);
      return nullptr;
    }
    capped = isa;
  }
  if (*capped != isa) {
    error = "oneDNN is limited to " + std::string(name(*capped)) +
            " in this process, a call planned for " + std::string(name(isa)) +
            " needs a process of its own";
    return nullptr;
  }
  return &engine;
}

PlanForOneThread::PlanForOneThread() : before(omp_get_max_threads()) {
  omp_set_num_threads(1);
}

PlanForOneThread::~PlanForOneThread() { omp_set_num_threads(before); }

std::optional<dnnl_data_type_t> tenon::libraries::dataType(ElementType type) {
  switch (type) {
  case ElementType::f32:
    return dnnl_f32;
  case ElementType::bf16:
    return dnnl_bf16;
  default:
    return std::nullopt;
  }
}

dnnl_memory_desc_t tenon::libraries::stridedMemory(std::vector<int64_t> extents,
                                                   std::vector<int64_t> strides,
                                                   dnnl_data_type_t type,
                                                   bool isMatrix) {
  // From the innermost dimension outwards, a unit extent continues the one
  // before it.
  int64_t next = 1;
  for (size_t i = extents.size(); i-- > 0;) {
    if (extents[i] == 1)
      strides[i] = next;
    next = extents[i] * strides[i];
  }
  size_t rank = extents.size();
  if (isMatrix && extents[rank - 2] == 1 && strides[rank - 1] != 1)
    strides[rank - 2] = 1;
  dnnl_memory_desc_t memory;
  dnnl_memory_desc_init_by_strides(&memory, int(extents.size()), extents.data(),
                                   type, strides.data());
  return memory;
}

Attributes tenon::libraries::userScratchpad() {
  Attributes attributes;
  dnnl_primitive_attr_create(attributes.out());
  dnnl_primitive_attr_set_scratchpad_mode(attributes.get(),
                                          dnnl_scratchpad_mode_user);
  // The environment could ask for less (ONEDNN_DEFAULT_FPMATH_MODE).
  dnnl_primitive_attr_set_fpmath_mode(attributes.get(),
                                      dnnl_fpmath_mode_strict);
  return attributes;
}

std::string
tenon::libraries::implementationOf(const PrimitiveDescription &description) {
  const char *text = nullptr;
  dnnl_primitive_desc_query(description.get(), dnnl_query_impl_info_str, 0,
                            &text);
  return text ? text : "";
}

bool tenon::libraries::isReferenceCode(
    const PrimitiveDescription &description) {
  std::string name = implementationOf(description);
  return name.starts_with("ref") || name.starts_with("simple");
}

const dnnl_memory_desc_t &
tenon::libraries::memoryOf(const PrimitiveDescription &description,
                           dnnl_query_t query) {
  return *dnnl_primitive_desc_query_md(description.get(), query, 0);
}

int64_t
tenon::libraries::scratchpadBytes(const PrimitiveDescription &description) {
  const dnnl_memory_desc_t *memory = dnnl_primitive_desc_query_md(
      description.get(), dnnl_query_scratchpad_md, 0);
  return memory ? int64_t(dnnl_memory_desc_get_size(memory)) : 0;
}

std::string tenon::libraries::statusName(dnnl_status_t status) {
  static constexpr std::array<const char *, 7> names{
      "success",       "out of memory", "invalid arguments", "unimplemented",
      "iterator ends", "runtime error", "not required"};
  return size_t(status) < names.size() ? names[size_t(status)]
                                       : "status " + std::to_string(status);
}
