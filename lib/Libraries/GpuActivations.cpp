//===- GpuActivations.cpp - Activations that cuBLASLt declines ------------===//
//
// See GpuActivations.h. With s(x) = 1 / (1 + exp(-2 u(x))), gelu(x) is x *
// s(x), which loses no digits anywhere, and its derivative is
//
//   s(x) + x * s(x) * (1 - s(x)) * 2 u'(x)
//
// The polynomial x * 2 u'(x) is taken of an x within 40, since its factor is
// zero beyond, and zero times infinity would be no number.
//
//===----------------------------------------------------------------------===//

#include "tenon/Libraries/GpuActivations.h"

#include <string>
#include <string_view>

using namespace tenon;
using namespace tenon::libraries;

namespace {

// The numbers are, as f32: -2 log2(e) sqrt(2 / pi) and 0.044715 times that,
// 2 sqrt(2 / pi) and 3 * 0.044715 times that, and 40.
constexpr std::string_view before = R"(
.version 7.0
.target sm_80
.address_size 64
.visible .entry activation(.param .u64 to, .param .u64 input, .param .u64 count)
{
  .reg .pred %p;
  .reg .b16 %h<4>;
  .reg .b32 %b<4>, %i<4>;
  .reg .f32 %x, %y, %e, %s, %t, %q, %g, %d;
  .reg .u64 %to, %from, %n, %at, %bytes;
  ld.param.u64 %to, [to];
  ld.param.u64 %from, [input];
  ld.param.u64 %n, [count];
  mov.u32 %i1, %ctaid.x;
  mov.u32 %i2, %ntid.x;
  mov.u32 %i3, %tid.x;
  mul.wide.u32 %at, %i1, %i2;
  cvt.u64.u32 %bytes, %i3;
  add.u64 %at, %at, %bytes;
  setp.ge.u64 %p, %at, %n;
  @%p bra DONE;
  shl.b64 %bytes, %at, 1;
  add.u64 %to, %to, %bytes;
  add.u64 %from, %from, %bytes;
  ld.global.b16 %h1, [%from];
  WIDEN(%x, %h1)
  mul.rn.f32 %q, %x, %x;
  fma.rn.f32 %t, %q, 0fBDD2D3E8, 0fC0135761;
  mul.rn.f32 %t, %t, %x;
  ex2.approx.ftz.f32 %e, %t;
  add.rn.f32 %d, %e, 0f3F800000;
  rcp.rn.f32 %s, %d;
)";

constexpr std::string_view ofGelu = R"(
  mul.rn.f32 %y, %x, %s;
)";

constexpr std::string_view ofGradient = R"(
  ld.global.b16 %h2, [%to];
  WIDEN(%g, %h2)
  min.f32 %t, %x, 0f42200000;
  max.f32 %t, %t, 0fC2200000;
  mul.rn.f32 %q, %t, %t;
  fma.rn.f32 %q, %q, 0f3E5B33B6, 0f3FCC422A;
  mul.rn.f32 %q, %q, %t;
  sub.rn.f32 %d, 0f3F800000, %s;
  mul.rn.f32 %q, %q, %d;
  fma.rn.f32 %q, %q, %s, %s;
  mul.rn.f32 %y, %g, %q;
)";

constexpr std::string_view after = R"(
  NARROW(%h3, %y)
  st.global.b16 [%to], %h3;
DONE:
  ret;
}
)";

/// `NAME(to, from)` in `text` as instructions: `$0` and `$1` are the operands.
void expand(std::string &text, std::string_view name,
            std::string_view instructions) {
  for (size_t at = 0; (at = text.find(name, at)) != std::string::npos;) {
    const size_t comma = text.find(", ", at), end = text.find(')', at);
    const std::string operands[] = {
        text.substr(at + name.size() + 1, comma - at - name.size() - 1),
        text.substr(comma + 2, end - comma - 2)};
    std::string code;
    for (size_t i = 0; i < instructions.size(); ++i)
      if (instructions[i] == '$')
        code += operands[instructions[++i] - '0'];
      else
        code += instructions[i];
    text.replace(at, end + 1 - at, code);
  }
}

std::string ptxOf(Activation activation, ElementType type) {
  std::string text(before);
  text += activation == Activation::geluGradient ? ofGradient : ofGelu;
  text += after;
  const bool isBf16 = type == ElementType::bf16;
  expand(text, "WIDEN",
         isBf16 ? "cvt.u32.u16 %b1, $1;\n  shl.b32 %b1, %b1, 16;\n"
                  "  mov.b32 $0, %b1;"
                : "cvt.f32.f16 $0, $1;");
  expand(text, "NARROW",
         isBf16 ? "cvt.rn.bf16.f32 $0, $1;" : "cvt.rn.f16.f32 $0, $1;");
  return text;
}

} // namespace

std::unique_ptr<GpuActivation> GpuActivation::load(const GpuDriverCalls &driver,
                                                   Activation activation,
                                                   ElementType type,
                                                   CUresult &result) {
  std::unique_ptr<GpuActivation> made(new GpuActivation(driver));
  result = driver.load(&made->module, ptxOf(activation, type).c_str(), 0,
                       nullptr, nullptr);
  if (result == CUDA_SUCCESS)
    result = driver.function(&made->function, made->module, "activation");
  return result == CUDA_SUCCESS ? std::move(made) : nullptr;
}

GpuActivation::~GpuActivation() {
  if (module)
    driver.unload(module);
}

CUresult GpuActivation::enqueue(CUdeviceptr to, CUdeviceptr input,
                                int64_t count, CUstream stream) const {
  constexpr int64_t threads = 256;
  void *parameters[] = {&to, &input, &count};
  return driver.launch(function, unsigned((count + threads - 1) / threads), 1,
                       1, unsigned(threads), 1, 1, 0, stream, parameters,
                       nullptr);
}
