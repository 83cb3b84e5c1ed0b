//===- LibraryRates.cpp - How fast library calls are ----------------------===//
//
// Usage: LibraryRates ISA THREADS [PIECES...]. Prints GFLOP/s of the shapes of
// the exported training steps for each number of pieces, the tasks shared by a
// team of threads as the runtime shares them. Time is the processor time of the
// busiest thread, so that other work on the machine disturbs less. A table for
// people, no test.
//
//===----------------------------------------------------------------------===//

#include "../../../lib/Runtime/Team.h"

#include "tenon/Libraries/Call.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

using namespace tenon;
using namespace tenon::libraries;
using namespace tenon::runtime;

namespace {

struct Work {
  const Call *call;
  const BoundCall *bound;
  Barrier barrier;
  int64_t repetitions;
  double busy[64] = {};
  double best = 1e30;
};

double processorTime() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

void work(void *context, unsigned thread, unsigned threads) {
  Work &w = *static_cast<Work *>(context);
  for (int64_t i = 0; i < w.repetitions; ++i) {
    w.busy[thread] = 0;
    for (int64_t phase = 0; phase < w.call->phases(); ++phase) {
      w.barrier.wait(threads);
      double start = processorTime();
      for (int64_t task = thread; task < w.call->tasks(phase); task += threads)
        w.bound->run(phase, task);
      w.busy[thread] += processorTime() - start;
    }
    w.barrier.wait(threads);
    if (thread == 0)
      w.best = std::min(w.best, *std::max_element(w.busy, w.busy + threads));
    w.barrier.wait(threads);
  }
}

void measure(const std::string &name, const Description &description,
             double flops, Isa isa, unsigned threads) {
  std::string error;
  auto call = Call::create(description, isa, error);
  if (!call) {
    std::printf(" %s", error.c_str());
    return;
  }
  std::vector<void *> arguments;
  for (int64_t i = 0; i < call->argumentCount(); ++i) {
    size_t bytes = size_t(call->argumentBytes(i) + 4095) / 4096 * 4096;
    auto *memory = static_cast<uint16_t *>(std::aligned_alloc(4096, bytes));
    for (size_t j = 0; j < bytes / 2; ++j)
      memory[j] = uint16_t(0x3c00 + j % 64);
    arguments.push_back(memory);
  }
  auto bound = call->newBinding(error);
  if (!bound) {
    std::printf(" %s", error.c_str());
    return;
  }
  bound->bind(arguments);
  Work w{call.get(), bound.get(), {}, 0};
  w.repetitions = std::clamp<int64_t>(int64_t(3e10 / flops), 5, 3000);
  runTeam(threads, work, &w);
  std::printf(" %7.1f (%s, %.1f MB)", flops / w.best * 1e-9,
              call->implementation().c_str(),
              double(call->workspaceBytes()) / 1e6);
  for (void *memory : arguments)
    std::free(memory);
}

MatmulDescription matmul(int64_t m, int64_t n, int64_t k, bool lhsT, bool rhsT,
                         ElementType type) {
  MatmulDescription d;
  d.lhsType = d.rhsType = d.resultType = type;
  d.m = m;
  d.n = n;
  d.k = k;
  d.lhsStrideM = lhsT ? 1 : k;
  d.lhsStrideK = lhsT ? m : 1;
  d.rhsStrideK = rhsT ? 1 : n;
  d.rhsStrideN = rhsT ? k : 1;
  d.resultStrideM = n;
  d.resultStrideN = 1;
  return d;
}

ConvolutionDescription convolution(ConvolutionKind kind, int64_t batch,
                                   int64_t in, int64_t extent, int64_t out,
                                   int64_t window, int64_t stride,
                                   ElementType type) {
  ConvolutionDescription d;
  d.kind = kind;
  d.type = d.resultType = type;
  d.batch = batch;
  d.inputChannels = in;
  d.outputChannels = out;
  int64_t result = (extent + stride - 1) / stride;
  int64_t pad = std::max<int64_t>((result - 1) * stride + window - extent, 0);
  for (int i = 0; i < 2; ++i) {
    ConvolutionDescription::Spatial s;
    s.input = extent;
    s.kernel = window;
    s.output = result;
    s.stride = stride;
    s.padLow = pad / 2;
    s.padHigh = pad - pad / 2;
    s.inputStride = i ? in : in * extent;
    s.outputStride = i ? out : out * result;
    s.kernelStride = i ? in * out : in * out * window;
    d.spatial.push_back(s);
  }
  d.inputStrideBatch = in * extent * extent;
  d.outputStrideBatch = out * result * result;
  d.inputStrideChannel = d.outputStrideChannel = d.kernelStrideOutput = 1;
  d.kernelStrideGroup = d.kernelStrideInput = out;
  return d;
}

} // namespace

int main(int argc, char **argv) {
  auto isa = argc > 2 ? tenon::target::isaOfLibraries(argv[1]) : std::nullopt;
  if (!isa) {
    std::fprintf(stderr,
                 "usage: %s ISA THREADS [PIECES...] [bf16 [widened]] "
                 "[only=TEXT]\n",
                 argv[0]);
    return 2;
  }
  unsigned threads = std::clamp(std::atoi(argv[2]), 1, 64);
  std::vector<int64_t> pieces;
  ElementType type = ElementType::f32, compute = ElementType::f32;
  std::string only;
  for (int i = 3; i < argc; ++i) {
    std::string text = argv[i];
    if (text == "bf16")
      type = compute = ElementType::bf16;
    else if (text == "widened")
      compute = ElementType::f32;
    else if (text.starts_with("only="))
      only = text.substr(5);
    else
      pieces.push_back(std::atoll(argv[i]));
  }
  if (pieces.empty())
    pieces = {2};
  struct Case {
    std::string name;
    Description description;
    double flops;
  };
  std::vector<Case> cases;
  auto addMatmul = [&](const char *name, int64_t m, int64_t n, int64_t k,
                       bool lhsT = false, bool rhsT = false) {
    cases.push_back({"matmul " + std::to_string(m) + "x" + std::to_string(n) +
                         "x" + std::to_string(k) + " " + name,
                     matmul(m, n, k, lhsT, rhsT, type),
                     2.0 * double(m) * double(n) * double(k)});
  };
  addMatmul("square", 2048, 2048, 2048);
  addMatmul("qkv", 256, 2304, 768);
  addMatmul("qkv dx", 256, 768, 2304, false, true);
  addMatmul("qkv dw", 768, 2304, 256, true);
  addMatmul("fc", 256, 3072, 768);
  addMatmul("fc dx", 256, 768, 3072, false, true);
  addMatmul("fc dw", 768, 3072, 256, true);
  addMatmul("head", 256, 50257, 768, false, true);
  addMatmul("head dx", 256, 768, 50257);
  addMatmul("head dw", 50257, 768, 256, true);
  addMatmul("mlp", 128, 512, 784);
  addMatmul("mlp dw", 784, 512, 128, true);
  addMatmul("mlp out", 128, 10, 512);
  addMatmul("chargpt", 1024, 384, 128);
  addMatmul("chargpt dw", 128, 384, 1024, true);
  addMatmul("lstm", 32, 1024, 256);
  addMatmul("lstm dx", 32, 256, 1024, false, true);
  addMatmul("lstm dx, weights transposed", 32, 256, 1024);
  addMatmul("lstm dw", 256, 1024, 32, true);
  addMatmul("vit", 2080, 768, 192);
  addMatmul("vit out", 2080, 192, 768);
  addMatmul("vit dx", 2080, 192, 768, false, true);
  addMatmul("vit dw", 192, 768, 2080, true);
  addMatmul("vit dw, transposed", 768, 192, 2080, true);
  addMatmul("moe combine", 1280, 128, 512, true);
  addMatmul("moe dispatch", 512, 128, 1280);
  addMatmul("small", 64, 64, 64);
  addMatmul("llama up", 512, 1408, 512);
  addMatmul("llama up dx", 512, 512, 1408, false, true);
  addMatmul("llama up dw", 512, 1408, 512, true);
  addMatmul("llama down", 512, 512, 1408);
  addMatmul("llama down dx", 512, 1408, 512, false, true);
  addMatmul("llama down dw", 1408, 512, 512, true);
  addMatmul("llama head", 512, 8192, 512);
  addMatmul("llama head dx", 512, 512, 8192, false, true);
  addMatmul("llama head dw", 512, 8192, 512, true);
  // Sides that fill no blocks, vectors, and batches as in attention, in every
  // order of the operands.
  for (bool lhsT : {false, true})
    for (bool rhsT : {false, true}) {
      std::string order = std::string(lhsT ? "T" : "N") + (rhsT ? "T" : "N");
      for (auto [m, n, k] : {std::array<int64_t, 3>{257, 129, 63},
                             {63, 257, 129},
                             {33, 1000, 47},
                             {300, 300, 301},
                             {1024, 10, 513},
                             {1, 1024, 1024},
                             {1024, 1, 1024},
                             {1024, 1024, 1},
                             {8, 4096, 512}})
        addMatmul(("odd " + order).c_str(), m, n, k, lhsT, rhsT);
      for (auto [m, n, k] : {std::array<int64_t, 3>{64, 64, 32},
                             {64, 32, 64},
                             {65, 65, 64},
                             {65, 64, 65}}) {
        MatmulDescription d = matmul(m, n, k, lhsT, rhsT, type);
        d.batch = {{96, m * k, k * n, m * n}};
        cases.push_back({"matmul 96 of " + std::to_string(m) + "x" +
                             std::to_string(n) + "x" + std::to_string(k) +
                             " batch " + order,
                         d, 96 * 2.0 * double(m) * double(n) * double(k)});
      }
    }
  static constexpr int64_t shapes[][6] = {
      {32, 3, 32, 64, 3, 1},    {32, 64, 32, 64, 3, 1},
      {32, 64, 32, 128, 3, 2},  {32, 64, 32, 128, 1, 2},
      {32, 128, 16, 128, 3, 1}, {32, 128, 16, 256, 3, 2},
      {32, 256, 8, 256, 3, 1},  {32, 256, 8, 512, 3, 2},
      {32, 512, 4, 512, 3, 1},  {64, 1, 28, 32, 5, 1},
      {64, 32, 14, 64, 5, 1},   {64, 16, 32, 16, 3, 1},
      {32, 32, 28, 32, 3, 1},   {8, 64, 56, 64, 3, 1},
      {8, 256, 14, 256, 3, 1},  {8, 512, 7, 512, 3, 1},
      {8, 256, 56, 64, 1, 1},   {8, 1024, 14, 256, 1, 1},
      {8, 512, 7, 2048, 1, 1}};
  static constexpr const char *kinds[] = {"forward", "data", "weights"};
  for (auto [batch, in, extent, out, window, stride] : shapes)
    for (int kind = 0; kind < 3; ++kind) {
      int64_t result = (extent + stride - 1) / stride;
      cases.push_back(
          {"conv " + std::to_string(batch) + "x" + std::to_string(extent) +
               "^2x" + std::to_string(in) + "->" + std::to_string(out) + " " +
               std::to_string(window) + "x" + std::to_string(window) + "/" +
               std::to_string(stride) + " " + kinds[kind],
           convolution(ConvolutionKind(kind), batch, in, extent, out, window,
                       stride, type),
           2.0 * double(batch * result * result * in * out * window * window)});
    }
  for (Case &test : cases) {
    if (test.name.find(only) == std::string::npos)
      continue;
    std::printf("%-44s", test.name.c_str());
    for (int64_t count : pieces) {
      std::visit(
          [&]<typename Struct>(Struct &d) {
            d.pieces = count;
            if constexpr (!std::is_same_v<Struct, LapackDescription>)
              d.computeType = compute;
          },
          test.description);
      measure(test.name, test.description, test.flops, *isa, threads);
    }
    std::printf("\n");
    std::fflush(stdout);
  }
  return 0;
}
