//===- LapackTest.cpp - Calls that LAPACK refuses -------------------------===//
//
// sgeqrf and spotrf stand before the library's own, and refuse an argument when
// they are told to.
//
//===----------------------------------------------------------------------===//

#include "Tensors.h"

#include "tenon/Libraries/Call.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

using namespace tenon;
using namespace tenon::libraries;

static int refusedArgument = 0;

extern "C" void sgeqrf_(const int *m, const int *n, float *a, const int *stride,
                        float *scales, float *work, const int *length,
                        int *info) {
  static auto library =
      reinterpret_cast<decltype(&sgeqrf_)>(dlsym(RTLD_NEXT, "sgeqrf_"));
  if (refusedArgument && *length != -1)
    *info = -refusedArgument;
  else
    library(m, n, a, stride, scales, work, length, info);
}

extern "C" void spotrf_(const char *triangle, const int *n, float *a,
                        const int *stride, int *info, size_t) {
  static auto library =
      reinterpret_cast<decltype(&spotrf_)>(dlsym(RTLD_NEXT, "spotrf_"));
  if (refusedArgument)
    *info = -refusedArgument;
  else
    library(triangle, n, a, stride, info, 1);
}

namespace {

/// The status of running a call on small matrices of ones.
int run(const LapackDescription &description, std::string &text) {
  std::string error;
  auto call = Call::create(description, Isa::avx2, error);
  EXPECT_TRUE(call) << error;
  auto bound = call->newBinding(error);
  EXPECT_TRUE(bound) << error;
  std::vector<std::vector<float>> memory;
  std::vector<void *> arguments;
  for (int64_t i = 0; i < call->argumentCount(); ++i)
    arguments.push_back(
        memory.emplace_back(size_t(call->argumentBytes(i)) / 4 + 1, 1.0f)
            .data());
  bound->bind(arguments);
  int status = bound->run(0, 0);
  text = call->statusText(status);
  return status;
}

} // namespace

TEST(Lapack, RefusedArgumentsAreAFailure) {
  LapackDescription qr;
  qr.routine = LapackRoutine::geqrf;
  qr.rows = 3;
  qr.columns = 2;
  qr.batch = 2;
  LapackDescription cholesky;
  cholesky.routine = LapackRoutine::potrf;
  cholesky.rows = cholesky.columns = 2;
  cholesky.batch = 2;
  cholesky.triangle = 'L';
  std::string text;
  EXPECT_EQ(run(qr, text), 0);
  // A matrix of ones is not positive definite: a result of the program, no
  // failure of the call.
  EXPECT_EQ(run(cholesky, text), 0);
  refusedArgument = 4;
  EXPECT_EQ(run(qr, text), -4);
  EXPECT_EQ(text, "LAPACK: geqrf refuses its argument 4");
  EXPECT_EQ(run(cholesky, text), -4);
  EXPECT_EQ(text, "LAPACK: potrf refuses its argument 4");
  refusedArgument = 0;
}
