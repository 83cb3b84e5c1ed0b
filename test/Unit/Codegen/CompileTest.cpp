//===- CompileTest.cpp - Kernels from MLIR to a loaded shared object ------===//
//
// Runs the whole way a kernel takes after it has been emitted, and what must be
// refused on it.
//
//===----------------------------------------------------------------------===//

#include "EmptyKernel.h"
#include "LoadedKernels.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Parser/Parser.h"
#include "tenon/Codegen/CPU/CompileObjects.h"
#include "tenon/Codegen/CPU/LinkSharedObject.h"
#include "tenon/Codegen/LLVM/LowerLoops.h"
#include "tenon/Format/Hash.h"
#include "llvm/TargetParser/X86TargetParser.h"
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <map>
#include <set>

using namespace mlir;
using namespace tenon::codegen;

namespace {

/// Collects what is reported on a context.
class Messages {
public:
  explicit Messages(MLIRContext &context)
      : handler(&context, [this](Diagnostic &diagnostic) {
          text += diagnostic.str() + "\n";
        }) {}
  std::string text;

private:
  ScopedDiagnosticHandler handler;
};

class Compile : public ::testing::TestWithParam<FeatureSet> {
protected:
  Compile() { prepareContext(context); }

  OwningOpRef<ModuleOp> newModule() {
    return ModuleOp::create(UnknownLoc::get(&context));
  }

  /// z = fma(x, y, 1) over n elements, 16 at a time, parts of whole vectors.
  OwningOpRef<ModuleOp> fusedMultiplyAdd(StringRef name, int64_t n) {
    OwningOpRef<ModuleOp> module = newModule();
    OpBuilder b(&context);
    auto type = MemRefType::get({n}, b.getF32Type());
    KernelFunction kernel =
        createKernelFunction(b, *module, name, {type, type, type});
    Location loc = b.getUnknownLoc();
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(b, loc, value);
    };
    Value vectors = constant(n / 16);
    auto bound = [&](Value part) -> Value {
      Value scaled = arith::MulIOp::create(b, loc, part, vectors);
      Value first = arith::DivUIOp::create(b, loc, scaled, kernel.parts);
      return arith::MulIOp::create(b, loc, first, constant(16));
    };
    Value next = arith::AddIOp::create(b, loc, kernel.part, constant(1));
    auto loop = scf::ForOp::create(b, loc, bound(kernel.part), bound(next),
                                   constant(16));
    b.setInsertionPointToStart(loop.getBody());
    auto vector = VectorType::get({16}, b.getF32Type());
    Value i = loop.getInductionVar();
    Value x = vector::LoadOp::create(b, loc, vector, kernel.arguments[0], i);
    Value y = vector::LoadOp::create(b, loc, vector, kernel.arguments[1], i);
    Value one =
        arith::ConstantOp::create(b, loc, DenseElementsAttr::get(vector, 1.0f));
    Value z = math::FmaOp::create(b, loc, x, y, one);
    vector::StoreOp::create(b, loc, z, kernel.arguments[2], i);
    return module;
  }

  InFlightDiagnostic emitError() {
    return mlir::emitError(UnknownLoc::get(&context));
  }

  MLIRContext context;
};

TEST_P(Compile, KernelRunsInParts) {
  OwningOpRef<ModuleOp> module = fusedMultiplyAdd("kernel_a", 64);
  FailureOr<ObjectCode> object = compileToObject(*module, GetParam());
  ASSERT_TRUE(succeeded(object));
  LoadedKernels kernels({*object});
  auto *kernel = kernels.find("kernel_a");
  ASSERT_NE(kernel, nullptr);

  alignas(64) float x[64], y[64], z[64];
  for (int i = 0; i < 64; ++i) {
    x[i] = 0.1f * i;
    y[i] = 1.0f / (i + 3);
    z[i] = -1;
  }
  void *arguments[] = {x, y, z};
  kernel(arguments, 1, 3);
  // Part 1 of 3 of 4 vectors is vector 1.
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(z[i], i / 16 == 1 ? std::fma(x[i], y[i], 1.0f) : -1.0f) << i;
  kernel(arguments, 0, 3);
  kernel(arguments, 2, 3);
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(z[i], std::fma(x[i], y[i], 1.0f)) << i;
}

TEST_P(Compile, ManyModulesInOrderWithSameBytes) {
  SmallVector<OwningOpRef<ModuleOp>> owners;
  SmallVector<ObjectCode> first;
  SmallVector<char, 0> image;
  for (unsigned threads : {1u, 2u, 5u}) {
    owners.clear();
    SmallVector<ModuleOp> modules;
    for (int i = 0; i < 12; ++i) {
      owners.push_back(
          fusedMultiplyAdd("kernel_" + std::to_string(i), 16 * (i + 1)));
      modules.push_back(*owners.back());
    }
    auto objects = compileObjects(modules, GetParam(), {.threads = threads});
    ASSERT_TRUE(succeeded(objects));
    ASSERT_EQ(objects->size(), 12u);
    auto linked = linkSharedObject(*objects, [&] { return emitError(); });
    ASSERT_TRUE(succeeded(linked));
    if (first.empty()) {
      first = std::move(*objects);
      image = std::move(*linked);
      continue;
    }
    EXPECT_EQ(first, *objects) << threads << " threads";
    EXPECT_EQ(image, *linked) << threads << " threads";
  }
}

/// A folder that goes with the test.
class Folder {
public:
  Folder() {
    std::string name = "/tmp/tenon-object-cache-XXXXXX";
    path = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path); }

  std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> all;
    for (const auto &entry : std::filesystem::directory_iterator(path))
      all.push_back(entry.path());
    return all;
  }
  std::filesystem::path path;
};

/// Changes the last byte of what was kept, which then counts as whole.
void forge(const std::filesystem::path &file) {
  std::ifstream in(file, std::ios::binary);
  std::string all(std::istreambuf_iterator<char>(in), {});
  ASSERT_GT(all.size(), 2 * sizeof(tenon::format::Hash));
  all.back() = char(all.back() ^ 1);
  const auto hash = tenon::format::hashOf(
      std::as_bytes(std::span(all).subspan(sizeof(tenon::format::Hash))));
  std::memcpy(all.data(), &hash, sizeof(hash));
  std::ofstream(file, std::ios::binary) << all;
}

TEST_P(Compile, TakesWhatIsKept) {
  Folder folder;
  auto compile = [&](int64_t last, StringRef place, bool isKept = true,
                     unsigned threads = 1, FeatureSet features = GetParam()) {
    SmallVector<OwningOpRef<ModuleOp>> owners;
    SmallVector<ModuleOp> modules;
    for (int64_t n : {int64_t(16), int64_t(32), last}) {
      owners.push_back(
          fusedMultiplyAdd("kernel_" + std::to_string(owners.size()), n));
      owners.back()->walk([&](Operation *op) {
        op->setLoc(FileLineColLoc::get(&context, place, unsigned(n), 1));
      });
      modules.push_back(*owners.back());
    }
    auto objects = compileObjects(
        modules, features,
        {.threads = threads, .cache = isKept ? folder.path.string() : ""});
    EXPECT_TRUE(succeeded(objects));
    return *objects;
  };
  const auto expected = compile(48, "a", /*isKept=*/false);
  // Neither threads, nor places in the user's program, nor what was kept for
  // other modules changes a byte.
  EXPECT_EQ(compile(48, "a"), expected);
  EXPECT_EQ(folder.files().size(), 3u);
  EXPECT_EQ(compile(48, "b", true, 2), expected);
  EXPECT_EQ(folder.files().size(), 3u);
  EXPECT_EQ(compile(64, "c", true, 4), compile(64, "c", false));
  EXPECT_EQ(folder.files().size(), 4u);
  FeatureSet other = GetParam();
  using tenon::Subnormals;
  other.subnormals = other.subnormals == Subnormals::keep ? Subnormals::flush
                                                          : Subnormals::keep;
  EXPECT_EQ(compile(48, "a", true, 1, other),
            compile(48, "a", false, 1, other));
  EXPECT_EQ(folder.files().size(), 7u);
  using tenon::target::Isa;
  other.isa = other.isa == Isa::avx2 ? Isa::avx512 : Isa::avx2;
  EXPECT_EQ(compile(48, "a", true, 1, other),
            compile(48, "a", false, 1, other));
  EXPECT_EQ(folder.files().size(), 10u);
  // What is damaged is made again; what is whole is believed.
  for (const auto &file : folder.files())
    std::filesystem::resize_file(file, 100);
  EXPECT_EQ(compile(48, "a"), expected);
  for (const auto &file : folder.files())
    if (std::filesystem::file_size(file) > 100)
      forge(file);
  const auto forged = compile(48, "a");
  for (auto [one, another] : llvm::zip_equal(forged, expected))
    EXPECT_EQ(one.back() ^ 1, another.back());
}

TEST_P(Compile, KeepsNothingThatFailed) {
  Messages messages(context);
  Folder folder;
  for (int i = 0; i < 2; ++i) {
    auto module = parseSourceString<ModuleOp>(
        "func.func private @k(%x: f32) -> f32 {\n %y = math.sin %x : f32\n "
        "return %y : f32\n}",
        &context);
    EXPECT_TRUE(failed(compileObjects({*module}, GetParam(),
                                      {.cache = folder.path.string()})));
  }
  const std::string once =
      "operation 'math.sin' has no lowering in a CPU kernel\n";
  EXPECT_EQ(messages.text, once + once);
  EXPECT_TRUE(folder.files().empty());
}

TEST_P(Compile, TakesContextsWithoutThreads) {
  context.disableMultithreading();
  OwningOpRef<ModuleOp> a = fusedMultiplyAdd("a", 16);
  OwningOpRef<ModuleOp> b = fusedMultiplyAdd("b", 32);
  auto objects = compileObjects({*a, *b}, GetParam(), {.threads = 4});
  ASSERT_TRUE(succeeded(objects));
  LoadedKernels kernels(*objects);
  EXPECT_NE(kernels.find("a"), nullptr);
  EXPECT_NE(kernels.find("b"), nullptr);
}

TEST_P(Compile, RefusesMathThatWouldBeACall) {
  Messages messages(context);
  auto module = parseSourceString<ModuleOp>(R"(
    func.func private @k.body(%a: memref<16xf32>, %p: index, %q: index)
        attributes {codegen.symbol = "k"} {
      %c0 = arith.constant 0 : index
      %x = vector.load %a[%c0] : memref<16xf32>, vector<16xf32>
      %y = math.exp %x : vector<16xf32>
      vector.store %y, %a[%c0] : memref<16xf32>, vector<16xf32>
      return
    })",
                                            &context);
  EXPECT_TRUE(failed(compileToObject(*module, GetParam())));
  EXPECT_NE(messages.text.find("'math.exp' has no lowering in a CPU kernel"),
            std::string::npos)
      << messages.text;
}

TEST_P(Compile, RefusesFastMathFlags) {
  Messages messages(context);
  auto module = parseSourceString<ModuleOp>(R"(
    func.func private @k(%x: f32) -> f32 {
      %y = arith.addf %x, %x fastmath<contract> : f32
      return %y : f32
    })",
                                            &context);
  EXPECT_TRUE(failed(compileToObject(*module, GetParam())));
  EXPECT_NE(messages.text.find("'arith.addf' carries fast-math flags"),
            std::string::npos)
      << messages.text;
}

TEST_P(Compile, DiagnosticsComeInModuleOrder) {
  Messages messages(context);
  SmallVector<OwningOpRef<ModuleOp>> owners;
  SmallVector<ModuleOp> modules;
  std::string expected;
  for (StringRef op : {"sin", "cos", "tan", "exp", "log", "tanh", "erf"}) {
    std::string text = "func.func private @k(%x: f32) -> f32 {\n %y = math." +
                       op.str() + " %x : f32\n return %y : f32\n}";
    owners.push_back(parseSourceString<ModuleOp>(text, &context));
    modules.push_back(*owners.back());
    expected +=
        "operation 'math." + op.str() + "' has no lowering in a CPU kernel\n";
  }
  EXPECT_TRUE(failed(compileObjects(modules, GetParam(), {.threads = 4})));
  EXPECT_EQ(messages.text, expected);
}

TEST_P(Compile, UndefinedFunctionIsALinkError) {
  Messages messages(context);
  auto module = parseSourceString<ModuleOp>(R"(
    func.func private @expf(f32) -> f32
    func.func private @k.body(%a: memref<1xf32>, %p: index, %q: index)
        attributes {codegen.symbol = "k"} {
      %c0 = arith.constant 0 : index
      %x = memref.load %a[%c0] : memref<1xf32>
      %y = func.call @expf(%x) : (f32) -> f32
      memref.store %y, %a[%c0] : memref<1xf32>
      return
    })",
                                            &context);
  auto object = compileToObject(*module, GetParam());
  ASSERT_TRUE(succeeded(object));
  EXPECT_TRUE(failed(linkSharedObject({*object}, [&] { return emitError(); })));
  EXPECT_NE(messages.text.find("kernels call 'expf'"), std::string::npos)
      << messages.text;
}

TEST_P(Compile, DoubleDefinitionIsALinkError) {
  Messages messages(context);
  OwningOpRef<ModuleOp> a = fusedMultiplyAdd("same", 16);
  OwningOpRef<ModuleOp> b = fusedMultiplyAdd("same", 32);
  auto objects = compileObjects({*a, *b}, GetParam());
  ASSERT_TRUE(succeeded(objects));
  EXPECT_TRUE(failed(linkSharedObject(*objects, [&] { return emitError(); })));
  EXPECT_NE(messages.text.find("'same' is defined by two object files"),
            std::string::npos)
      << messages.text;
}

TEST_P(Compile, LinksListedFunctionsOfLibm) {
  auto module = parseSourceString<ModuleOp>(R"(
    func.func private @exp(f64) -> f64
    func.func private @atan2(f64, f64) -> f64
    func.func private @k.body(%a: memref<2xf64>, %p: index, %q: index)
        attributes {codegen.symbol = "k"} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %x = memref.load %a[%c0] : memref<2xf64>
      %y = func.call @exp(%x) : (f64) -> f64
      %z = func.call @atan2(%y, %x) : (f64, f64) -> f64
      memref.store %y, %a[%c0] : memref<2xf64>
      memref.store %z, %a[%c1] : memref<2xf64>
      return
    })",
                                            &context);
  auto object = compileToObject(*module, GetParam());
  ASSERT_TRUE(succeeded(object));
  LoadedKernels kernels({*object});
  auto *kernel = kernels.find("k");
  ASSERT_NE(kernel, nullptr);
  double value[2] = {0.7, 0};
  void *arguments[] = {value};
  kernel(arguments, 0, 1);
  EXPECT_EQ(value[0], std::exp(0.7));
  EXPECT_EQ(value[1], std::atan2(std::exp(0.7), 0.7));
}

/// Everything in the table must exist in the libm of this machine with that
/// version: a kernel that calls all of them must load.
TEST_P(Compile, WholeTableOfLibmLoads) {
  std::string text, body;
  for (const LibraryFunction &function : allowedLibraryFunctions()) {
    std::string name = function.name.str();
    bool two = function.arguments == 2;
    text += "func.func private @" + name + (two ? "(f64, f64)" : "(f64)") +
            " -> f64\n";
    body += "%" + name + " = func.call @" + name + (two ? "(%x, %x)" : "(%x)") +
            (two ? " : (f64, f64) -> f64\n" : " : (f64) -> f64\n") +
            "memref.store %" + name + ", %a[%c0] : memref<1xf64>\n";
  }
  text += R"(func.func private @k.body(%a: memref<1xf64>, %p: index, %q: index)
        attributes {codegen.symbol = "k"} {
      %c0 = arith.constant 0 : index
      %x = memref.load %a[%c0] : memref<1xf64>
)" + body +
          "return\n}\n";
  auto module = parseSourceString<ModuleOp>(text, &context);
  ASSERT_TRUE(module);
  auto object = compileToObject(*module, GetParam());
  ASSERT_TRUE(succeeded(object));
  LoadedKernels kernels({*object});
  EXPECT_NE(kernels.find("k"), nullptr);
  EXPECT_TRUE(llvm::is_sorted(
      allowedLibraryFunctions(),
      [](const auto &a, const auto &b) { return a.name < b.name; }));
}

TEST_P(Compile, Bf16RoundsToNearestEvenWithoutCalls) {
  auto module = parseSourceString<ModuleOp>(R"(
    func.func private @k.body(%a: memref<16xf32>, %b: memref<16xbf16>,
                              %p: index, %q: index)
        attributes {codegen.symbol = "k"} {
      %c0 = arith.constant 0 : index
      %x = vector.load %a[%c0] : memref<16xf32>, vector<16xf32>
      %y = arith.truncf %x : vector<16xf32> to vector<16xbf16>
      vector.store %y, %b[%c0] : memref<16xbf16>, vector<16xbf16>
      return
    })",
                                            &context);
  auto object = compileToObject(*module, GetParam());
  ASSERT_TRUE(succeeded(object));
  LoadedKernels kernels({*object});
  auto *kernel = kernels.find("k");
  ASSERT_NE(kernel, nullptr);
  alignas(64) float x[16];
  alignas(64) uint16_t y[16] = {};
  for (int i = 0; i < 16; ++i)
    x[i] = std::bit_cast<float>(0x3f800000u + i * 0x4000u);
  void *arguments[] = {x, y};
  kernel(arguments, 0, 1);
  for (int i = 0; i < 16; ++i) {
    // Each step is a quarter of a bf16 unit; halves go to even.
    static constexpr int rounded[] = {0, 0, 0, 1, 1, 1, 2, 2};
    EXPECT_EQ(y[i], 0x3f80 + rounded[i % 8] + i / 8 * 2) << i;
  }
}

/// A file asks for what its code may use, so that loading it refuses a
/// processor that lacks some of it (lzcnt there means something else).
TEST(FeatureTable, HasWhatLlvmMayUse) {
  auto featuresOf = [](StringRef processor) {
    SmallVector<StringRef> features;
    llvm::X86::getFeaturesForCPU(processor, features);
    return std::set<StringRef>(features.begin(), features.end());
  };
  const std::set<StringRef> everywhere = featuresOf("x86-64");
  // Parts of AVX, and instructions that kernels have no use for.
  const std::set<StringRef> others = {"sse3",   "ssse3", "sse4.1",
                                      "sse4.2", "avx",   "crc32",
                                      "cx16",   "sahf",  "xsave"};
  const std::map<StringRef, StringRef> names = {{"bmi", "bmi1"},
                                                {"lzcnt", "abm"}};
  for (const tenon::target::IsaInfo &info : tenon::target::instructionSets()) {
    std::vector<std::string> table = tenon::target::featuresOf(info.isa);
    for (StringRef feature : featuresOf(info.llvmProcessor)) {
      if (everywhere.contains(feature) || others.contains(feature))
        continue;
      auto name = names.find(feature);
      EXPECT_TRUE(llvm::is_contained(table, name == names.end() ? feature
                                                                : name->second))
          << feature.str();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(FeatureSets, Compile,
                         ::testing::ValuesIn(runnableFeatureSets()),
                         [](const auto &info) {
                           std::string name =
                               std::string(info.param.info().featureSet);
                           for (char &c : name)
                             if (!isalnum(c))
                               c = '_';
                           return name;
                         });

} // namespace
