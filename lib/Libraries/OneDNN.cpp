//===- OneDNN.cpp - Owning handles for oneDNN's C API ---------------------===//
//
// The process-wide part of using oneDNN: engine, instruction set cap, threads.
//
//===----------------------------------------------------------------------===//

#include "PrimitiveCall.h"
#include "SharedLibrary.h"

#include "tenon/Libraries/Library.h"
#include "tenon/Libraries/OpenMP.h"

#include <array>
#include <mutex>

using namespace tenon;
using namespace tenon::libraries;

const std::string &tenon::libraries::loadOneDNN() {
  static const std::string whyNot = [] {
    SharedLibrary library("libdnnl.so." + std::to_string(DNNL_VERSION_MAJOR),
                          "libdnnl" + std::to_string(DNNL_VERSION_MAJOR));
#define TENON_FIND(function) library.find(#function, oneDNN.function);
    TENON_ONEDNN_FUNCTIONS(TENON_FIND)
#undef TENON_FIND
    if (!library.whyNot().empty())
      return "oneDNN is not here: " + library.whyNot();
    return std::string(openMP() ? ""
                                : "oneDNN is here without libgomp.so.1; "
                                  "install the package libgomp1");
  }();
  return whyNot;
}

static dnnl_cpu_isa_t capOf(Isa isa) {
  switch (isa) {
  case Isa::avx2:
    return dnnl_cpu_isa_avx2;
  case Isa::avx512:
    return dnnl_cpu_isa_avx512_core;
  case Isa::avx512Bf16:
    return dnnl_cpu_isa_avx512_core_bf16;
  case Isa::amxBf16:
    return dnnl_cpu_isa_avx512_core_amx;
  }
  return dnnl_cpu_isa_avx2;
}

const Engine *tenon::libraries::engineFor(Isa isa, std::string &error) {
  // One cap per process is the library's rule, so it is state of the process.
  static std::mutex mutex;
  static std::optional<Isa> capped;
  static Engine engine;
  std::lock_guard lock(mutex);
  if (error = loadOneDNN(); !error.empty())
    return nullptr;
  auto spelling = [](Isa of) {
    return std::string(target::describe(of).featureSet);
  };
  if (!capped) {
    // The cap is refused if something else in the process used the library
    // before; what counts is where it ends up.
    oneDNN.dnnl_set_max_cpu_isa(capOf(isa));
    if (oneDNN.dnnl_get_effective_cpu_isa() != capOf(isa)) {
      error = "oneDNN does not use the instructions of " + spelling(isa) +
              " in this process";
      if (auto host = target::hostIsa(); !host || *host < isa)
        error += ", whose processor has " +
                 (host ? "those of " + spelling(*host) : "not even AVX2");
      return nullptr;
    }
    dnnl_status_t status =
        oneDNN.dnnl_engine_create(&engine.engine, dnnl_cpu, 0);
    if (status == dnnl_success)
      status = oneDNN.dnnl_stream_create(&engine.stream, engine.engine,
                                         dnnl_stream_default_flags);
    if (status != dnnl_success) {
      error = "oneDNN cannot start: " + statusName(status);
      return nullptr;
    }
    capped = isa;
  }
  if (*capped != isa) {
    error = "oneDNN is limited to " + spelling(*capped) +
            " in this process, a call planned for " + spelling(isa) +
            " needs a process of its own";
    return nullptr;
  }
  return &engine;
}

PlanForOneThread::PlanForOneThread() : before(openMP()->mostThreads()) {
  openMP()->setThreads(1);
}

PlanForOneThread::~PlanForOneThread() { openMP()->setThreads(before); }

std::optional<dnnl_data_type_t> tenon::libraries::dataType(ElementType type) {
  switch (type) {
  case ElementType::f32:
    return dnnl_f32;
  case ElementType::bf16:
    return dnnl_bf16;
  case ElementType::f16:
    return dnnl_f16;
  default:
    return std::nullopt;
  }
}

std::optional<ElementType>
tenon::libraries::elementType(dnnl_data_type_t type) {
  for (ElementType known :
       {ElementType::f32, ElementType::bf16, ElementType::f16})
    if (dataType(known) == type)
      return known;
  return std::nullopt;
}

std::string tenon::libraries::typesNotSupported(ElementType operands,
                                                ElementType compute,
                                                ElementType result, Isa isa) {
  for (ElementType type : {operands, result})
    if (!dataType(type))
      return "oneDNN has no products of " + std::string(name(type)) +
             " on processors";
  if (compute == ElementType::f32)
    return "";
  if (compute != ElementType::bf16 || operands != ElementType::bf16 ||
      result == ElementType::f16)
    return "oneDNN does not multiply " + std::string(name(operands)) + " as " +
           std::string(name(compute)) + " to " + std::string(name(result));
  if (!target::describe(isa).hasBf16)
    return std::string(target::describe(isa).featureSet) +
           " has no instructions that multiply bf16";
  return "";
}

bool tenon::libraries::holdsSumsIn(ElementType described,
                                   dnnl_data_type_t actual,
                                   std::string &error) {
  if (dataType(described) == actual)
    return true;
  auto known = elementType(actual);
  error = "oneDNN holds sums in " +
          (known ? std::string(name(*known)) : "another type") +
          " here, the call is described with " + std::string(name(described));
  return false;
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
  oneDNN.dnnl_memory_desc_init_by_strides(&memory, int(extents.size()),
                                          extents.data(), type, strides.data());
  return memory;
}

Attributes tenon::libraries::userScratchpad() {
  Attributes attributes;
  oneDNN.dnnl_primitive_attr_create(attributes.out());
  oneDNN.dnnl_primitive_attr_set_scratchpad_mode(attributes.get(),
                                                 dnnl_scratchpad_mode_user);
  // The environment could ask for less (ONEDNN_DEFAULT_FPMATH_MODE).
  oneDNN.dnnl_primitive_attr_set_fpmath_mode(attributes.get(),
                                             dnnl_fpmath_mode_strict);
  return attributes;
}

std::string
tenon::libraries::implementationOf(const PrimitiveDescription &description) {
  const char *text = nullptr;
  oneDNN.dnnl_primitive_desc_query(description.get(), dnnl_query_impl_info_str,
                                   0, &text);
  return text ? text : "";
}

bool tenon::libraries::isReferenceCode(
    const PrimitiveDescription &description) {
  std::string name = implementationOf(description);
  return name.starts_with("ref") || name.starts_with("simple") ||
         name.starts_with("gemm:ref");
}

const dnnl_memory_desc_t &
tenon::libraries::memoryOf(const PrimitiveDescription &description,
                           dnnl_query_t query) {
  return *oneDNN.dnnl_primitive_desc_query_md(description.get(), query, 0);
}

int64_t
tenon::libraries::scratchpadBytes(const PrimitiveDescription &description) {
  const dnnl_memory_desc_t *memory = oneDNN.dnnl_primitive_desc_query_md(
      description.get(), dnnl_query_scratchpad_md, 0);
  return memory ? int64_t(oneDNN.dnnl_memory_desc_get_size(memory)) : 0;
}

std::string tenon::libraries::statusName(dnnl_status_t status) {
  static constexpr std::array<const char *, 7> names{
      "success",       "out of memory", "invalid arguments", "unimplemented",
      "iterator ends", "runtime error", "not required"};
  return size_t(status) < names.size() ? names[size_t(status)]
                                       : "status " + std::to_string(status);
}

//===----------------------------------------------------------------------===//
// What passes ask
//===----------------------------------------------------------------------===//

namespace {

/// Null for a convolution.
const MatmulDescription *productOf(const Description &description) {
  if (const auto *packed = std::get_if<PackedMatmulDescription>(&description))
    return packed;
  return std::get_if<MatmulDescription>(&description);
}

class OneDNN final : public Library {
public:
  std::string_view name() const override { return "oneDNN"; }
  std::string version() const override {
    if (!loadOneDNN().empty())
      return "none";
    const dnnl_version_t *version = oneDNN.dnnl_version();
    return std::to_string(version->major) + "." +
           std::to_string(version->minor) + "." +
           std::to_string(version->patch);
  }
  bool takes(const Description &description) const override {
    return std::holds_alternative<MatmulDescription>(description) ||
           std::holds_alternative<PackedMatmulDescription>(description) ||
           std::holds_alternative<ConvolutionDescription>(description);
  }
  std::string whyNotAskable(Isa isa) const override {
    std::string error;
    engineFor(isa, error);
    return error;
  }
  int64_t preferredPieces(const Description &description) const override {
    if (const MatmulDescription *matmul = productOf(description))
      return libraries::preferredPieces(*matmul);
    return libraries::preferredPieces(
        std::get<ConvolutionDescription>(description));
  }

  std::string whyNotSupported(const Description &description,
                              Isa isa) const override {
    std::string error;
    auto call = Call::create(description, isa, error);
    const MatmulDescription *matmul = productOf(description);
    if (!call || !matmul || matmul->epilogue == Epilogue::none)
      return error;
    // What the product would be apart from it: not rounded yet.
    Description plain = description;
    std::visit(
        []<typename Call>(Call &product) {
          if constexpr (std::is_base_of_v<MatmulDescription, Call>) {
            product.epilogue = Epilogue::none;
            product.resultType = ElementType::f32;
          }
        },
        plain);
    auto without = Call::create(plain, isa, error);
    if (!without || without->implementation() != call->implementation())
      return "with the epilogue oneDNN runs other code (" +
             call->implementation() + "), which may add in another order";
    return error;
  }

  std::unique_ptr<Call> create(const Description &description, Isa isa,
                               std::string &error) const override {
    const Engine *engine = engineFor(isa, error);
    if (!engine)
      return nullptr;
    PlanForOneThread oneThread;
    if (const auto *matmul = std::get_if<MatmulDescription>(&description))
      return createCall(*matmul, *engine, isa, error);
    if (const auto *packed = std::get_if<PackedMatmulDescription>(&description))
      return createCall(*packed, *engine, isa, error);
    return createCall(std::get<ConvolutionDescription>(description), *engine,
                      isa, error);
  }
};

} // namespace

const Library &tenon::libraries::oneDNNLibrary() {
  static const OneDNN library;
  return library;
}
