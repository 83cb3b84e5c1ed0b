//===- Convolution.cpp - Convolutions through oneDNN ----------------------===//
//
// Turns a ConvolutionDescription into single-threaded oneDNN primitives. The
// library's kernels want the weights in blocks of channels, so those are packed
// into the workspace by every call, which is cheap; the data is read in place
// where it is dense with channels last, and packed like the weights where not.
// Some run by code of our own instead (TileConvolution.h,
// WinogradConvolution.h).
//
//   forward, data gradient   phase 0: pack the weights, in tasks by channels
//                            phase 1: pieces of the batch
//   weight gradient          phase 0: pieces of the batch, one sum each
//                            phase 1: the sums added up in order
//                            phase 2: unpacked, in tasks by channels
//   weight gradient with more weights than data
//                            phase 0: pieces of the output channels
//
// Negative padding crops the input. A mirrored kernel is copied backwards.
// Where operands are narrower than the type that is multiplied in, the copies
// into the primitive's layout widen them, some images at a time; a result that
// is narrower is rounded by the copy out of it.
//
//===----------------------------------------------------------------------===//

#include "ConvertedCopy.h"
#include "PrimitiveCall.h"
#include "StridedCopy.h"
#include "TileConvolution.h"
#include "WinogradConvolution.h"

#include <algorithm>
#include <map>
#include <numeric>

using namespace tenon;
using namespace tenon::libraries;

namespace {

using Spatial = ConvolutionDescription::Spatial;

/// Part of one argument of the call: extents in the library's order (batch,
/// channels, space; or [groups,] output, input channels, space).
struct View {
  std::vector<int64_t> extents, strides; // elements
  int64_t argument = 0;
  int64_t offset = 0; // elements
  ElementType type = ElementType::f32;
  bool isData = false; // batch, channels, space

  View part(size_t dimension, int64_t begin, int64_t length) const {
    View result = *this;
    result.extents[dimension] = length;
    result.offset += begin * strides[dimension];
    return result;
  }
  /// A single channel is taken to lie last, where the library's best kernels
  /// for few channels want it, and a single image as one of a dense batch.
  dnnl_memory_desc_t memory() const {
    dnnl_memory_desc_t memory =
        stridedMemory(extents, strides, *dataType(type), false);
    auto &described = memory.format_desc.blocking.strides;
    if (isData && extents[1] == 1)
      described[1] = 1;
    if (isData && extents[0] == 1)
      for (size_t i = 1; i < extents.size(); ++i)
        described[0] = std::max(described[0], extents[i] * described[i]);
    return memory;
  }
  dnnl_memory_desc_t anyMemory() const {
    dnnl_memory_desc_t memory;
    oneDNN.dnnl_memory_desc_init_by_tag(&memory, int(extents.size()),
                                        extents.data(), *dataType(type),
                                        dnnl_format_tag_any);
    return memory;
  }
  /// The same places, were they of another type.
  View as(ElementType other) const {
    View result = *this;
    result.type = other;
    return result;
  }
  int64_t lastElement() const {
    int64_t last = 0;
    for (size_t i = 0; i < extents.size(); ++i)
      last += (extents[i] - 1) * strides[i];
    return last;
  }
  int64_t elements() const {
    return std::accumulate(extents.begin(), extents.end(), int64_t(1),
                           std::multiplies<>());
  }
};

/// A view or a place in the workspace, as an operand of a step.
struct Place {
  dnnl_memory_desc_t memory{};
  int64_t argument = 0, offset = 0; // bytes

  Operand named(int name) const { return {name, memory, argument, offset}; }
};

Place placeOf(const View &view) {
  return {view.memory(), view.argument, view.offset * byteWidth(view.type)};
}

/// Strides of a dense array whose dimensions lie in the order of `strides`.
std::vector<int64_t> denseStrides(const std::vector<int64_t> &extents,
                                  const int64_t *strides) {
  std::vector<size_t> order(extents.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(strides[a], b) < std::pair(strides[b], a);
  });
  std::vector<int64_t> dense(extents.size());
  int64_t stride = 1;
  for (size_t i : order) {
    dense[i] = stride;
    stride *= extents[i];
  }
  return dense;
}

/// The window's parameters in the library's terms.
struct Window {
  std::vector<int64_t> strides, dilations, low, high;
};

/// One past the other: begin and length of the runs a range is cut into.
std::vector<std::pair<int64_t, int64_t>>
cutRange(int64_t extent, int64_t pieces, int64_t granularity) {
  int64_t run = (extent + pieces - 1) / pieces;
  run = (run + granularity - 1) / granularity * granularity;
  std::vector<std::pair<int64_t, int64_t>> runs;
  for (int64_t begin = 0; begin < extent; begin += run)
    runs.emplace_back(begin, std::min(run, extent - begin));
  return runs;
}

class ConvolutionBuilder {
public:
  ConvolutionBuilder(const ConvolutionDescription &description,
                     const Engine &engine, Isa isa, std::string &error)
      : d(description), engine(engine), isa(isa), error(error) {}

  std::unique_ptr<PrimitiveCall> build();

private:
  void makeViews();
  void makeWindow();
  bool buildDataCall();
  bool buildWeightGradientByBatch();
  bool buildWeightGradientByChannels();

  /// The convolution of these views, the data packed or in place.
  PrimitiveDescription describe(const View &inputs, const View &outputs,
                                const View &weights, bool packed);
  bool spoilsInfinities(const PrimitiveDescription &description) const;
  /// Whichever of packed and in place is better and exists.
  PrimitiveDescription describeBest(const View &inputs, const View &outputs,
                                    const View &weights);

  Place reserve(const dnnl_memory_desc_t &memory, Shared *shared = nullptr) {
    return {memory, call->workspaceArgument(),
            call->reserve(int64_t(oneDNN.dnnl_memory_desc_get_size(&memory)),
                          shared)};
  }
  bool appendReorder(Task &task, const Place &from, const Place &to,
                     Shared *scratch = nullptr);
  /// A reorder, with our own conversion where the library has no fast one.
  bool appendConversion(Task &task, const Place &from, const Place &to,
                        Shared *scratch);
  bool appendCopies(Phase &phase, const Place &from, const Place &to,
                    bool toWeights);
  /// The operand in the layout the library wants: in place if it is in it,
  /// otherwise copied by a step that is appended.
  std::optional<Place> packed(Task &task, const View &view,
                              const dnnl_memory_desc_t &wanted,
                              Shared *copy = nullptr,
                              Shared *scratch = nullptr);
  View kernelDense() const;
  /// How many products make one element of an output or a data gradient.
  int64_t termsPerElement() const;
  int64_t imagesPerSum() const;
  bool isWidened() const { return d.type != d.computeType; }
  /// Terms of 16 bits have lost more digits than any order of adding them.
  bool hasAllDigits() const { return d.type == ElementType::f32; }
  int64_t imagesPerPass(int64_t length, const PrimitiveDescription &whole,
                        const Place &source, const Place &target) const;
  bool fail(const char *what) {
    if (error.empty())
      error = what;
    return false;
  }

  ConvolutionDescription d;
  const Engine &engine;
  Isa isa;
  std::string &error;
  std::unique_ptr<PrimitiveCall> call;
  View input, kernel, output; // cropped
  View wholeInput;
  bool cropped = false;
  Window window;
};

} // namespace

void ConvolutionBuilder::makeViews() {
  bool isForward = d.kind == ConvolutionKind::forward;
  bool isData = d.kind == ConvolutionKind::dataGradient;
  // Arguments: forward input kernel output, data gradient output kernel input,
  // weight gradient input output kernel.
  input.argument = isData ? 2 : 0;
  kernel.argument = isForward || isData ? 1 : 2;
  output.argument = isForward ? 2 : isData ? 0 : 1;
  for (View *view : {&input, &kernel, &output})
    view->type = view->argument == 2 ? d.resultType : d.type;
  input.isData = output.isData = true;
  input.extents = {d.batch, d.inputChannels};
  input.strides = {d.inputStrideBatch, d.inputStrideChannel};
  output.extents = {d.batch, d.outputChannels};
  output.strides = {d.outputStrideBatch, d.outputStrideChannel};
  if (d.groups > 1) {
    kernel.extents = {d.groups};
    kernel.strides = {d.kernelStrideGroup};
  }
  kernel.extents.insert(kernel.extents.end(), {d.outputChannels / d.groups,
                                               d.inputChannels / d.groups});
  kernel.strides.insert(kernel.strides.end(),
                        {d.kernelStrideOutput, d.kernelStrideInput});
  for (const Spatial &s : d.spatial) {
    input.extents.push_back(s.input);
    input.strides.push_back(s.inputStride);
    kernel.extents.push_back(s.kernel);
    kernel.strides.push_back(s.kernelStride);
    output.extents.push_back(s.output);
    output.strides.push_back(s.outputStride);
  }
  wholeInput = input;
  for (size_t i = 0; i < d.spatial.size(); ++i) {
    Spatial &s = d.spatial[i];
    int64_t low = std::max<int64_t>(-s.padLow, 0);
    int64_t high = std::max<int64_t>(-s.padHigh, 0);
    if (low + high == 0)
      continue;
    input = input.part(i + 2, low, s.input - low - high);
    s.input -= low + high;
    s.padLow = std::max<int64_t>(s.padLow, 0);
    s.padHigh = std::max<int64_t>(s.padHigh, 0);
    cropped = true;
  }
}

void ConvolutionBuilder::makeWindow() {
  for (const Spatial &s : d.spatial) {
    window.strides.push_back(s.stride);
    window.dilations.push_back(s.dilation - 1);
    window.low.push_back(s.padLow);
    // Input that no window reaches is negative padding to the library.
    window.high.push_back((s.output - 1) * s.stride +
                          (s.kernel - 1) * s.dilation + 1 - s.input - s.padLow);
  }
}

PrimitiveDescription ConvolutionBuilder::describe(const View &inputs,
                                                  const View &outputs,
                                                  const View &weights,
                                                  bool packed) {
  // Native instructions sum up in f32 and write that or round it; what is
  // computed in f32 is converted apart.
  auto computed = [&](const View &view) {
    bool isF32 = d.computeType == ElementType::f32 ||
                 (view.argument == 2 && view.type == ElementType::f32);
    View result = view.as(isF32 ? ElementType::f32 : d.computeType);
    if (result.type != view.type)
      result.strides = denseStrides(view.extents, view.strides.data());
    return result;
  };
  const View source = computed(inputs), target = computed(outputs);
  dnnl_memory_desc_t in = packed ? source.anyMemory() : source.memory();
  dnnl_memory_desc_t out = packed ? target.anyMemory() : target.memory();
  dnnl_memory_desc_t kernels = computed(weights).anyMemory();
  auto forward = [&](const dnnl_memory_desc_t &in,
                     const dnnl_memory_desc_t &out,
                     const dnnl_memory_desc_t &kernels,
                     const Attributes &attributes, dnnl_primitive_desc_t *pd) {
    dnnl_convolution_desc_t operation;
    dnnl_status_t status = oneDNN.dnnl_dilated_convolution_forward_desc_init(
        &operation, dnnl_forward_training, dnnl_convolution_direct, &in,
        &kernels, nullptr, &out, window.strides.data(), window.dilations.data(),
        window.low.data(), window.high.data());
    if (status != dnnl_success ||
        !holdsSumsIn(d.accumulateType, operation.accum_data_type, error))
      return;
    oneDNN.dnnl_primitive_desc_create(pd, &operation, attributes.get(),
                                      engine.engine, nullptr);
  };
  Attributes attributes = userScratchpad();
  PrimitiveDescription result;
  if (d.kind == ConvolutionKind::forward) {
    forward(in, out, kernels, attributes, result.out());
    return result;
  }
  // Gradients want to see a forward convolution; any of this shape will do.
  PrimitiveDescription hint;
  forward(inputs.as(d.computeType).anyMemory(),
          outputs.as(d.computeType).anyMemory(),
          weights.as(d.computeType).anyMemory(), attributes, hint.out());
  dnnl_convolution_desc_t operation;
  dnnl_status_t status =
      d.kind == ConvolutionKind::dataGradient
          ? oneDNN.dnnl_dilated_convolution_backward_data_desc_init(
                &operation, dnnl_convolution_direct, &in, &kernels, &out,
                window.strides.data(), window.dilations.data(),
                window.low.data(), window.high.data())
          : oneDNN.dnnl_dilated_convolution_backward_weights_desc_init(
                &operation, dnnl_convolution_direct, &in, &kernels, nullptr,
                &out, window.strides.data(), window.dilations.data(),
                window.low.data(), window.high.data());
  if (hint && status == dnnl_success &&
      holdsSumsIn(d.accumulateType, operation.accum_data_type, error))
    oneDNN.dnnl_primitive_desc_create(
        result.out(), &operation, attributes.get(), engine.engine, hint.get());
  return result;
}

/// Whether instructions that add the products of two bf16 at a time take a
/// neighbour of the last of an odd number of channels, times 0, which makes a
/// not-a-number of an infinity. In blocks of channels zeros follow the last.
bool ConvolutionBuilder::spoilsInfinities(
    const PrimitiveDescription &description) const {
  if (d.computeType != ElementType::bf16 ||
      d.kind == ConvolutionKind::weightGradient)
    return false;
  bool isForward = d.kind == ConvolutionKind::forward;
  int64_t channels =
      (isForward ? d.inputChannels : d.outputChannels) / d.groups;
  const dnnl_memory_desc_t &read = memoryOf(
      description, isForward ? dnnl_query_src_md : dnnl_query_diff_dst_md);
  return channels % 2 != 0 && read.padded_dims[1] % 2 != 0;
}

/// How many bytes of copies stay in a core's cache.
static constexpr int64_t cachedBytes = 1 << 20;

/// Of an element that was widened.
static constexpr int64_t widenedWidth = sizeof(float);

/// From how many terms on it matters how they are added. The AVX-512 kernels
/// that read channels last add all of them in one register, one after the
/// other; those on blocks add up 16 channels at a time. Measured on terms of
/// random sign, relative to the sum: 4.2e-7 and 2.0e-7 for 576 of them, 1.1e-6
/// and 2.0e-7 for 4608.
static constexpr int64_t longSum = 512;

int64_t ConvolutionBuilder::termsPerElement() const {
  if (d.kind == ConvolutionKind::weightGradient)
    return 0; // sums of its own, see buildWeightGradientByBatch
  bool isForward = d.kind == ConvolutionKind::forward;
  int64_t terms = (isForward ? d.inputChannels : d.outputChannels) / d.groups;
  for (const Spatial &s : d.spatial)
    terms *= isForward ? s.kernel : (s.kernel + s.stride - 1) / s.stride;
  return terms;
}

PrimitiveDescription ConvolutionBuilder::describeBest(const View &inputs,
                                                      const View &outputs,
                                                      const View &weights) {
  // Measured with every thread on its own piece: with AVX-512 the kernels that
  // read channels last are as fast as those on blocks, so packing only costs.
  // With AVX2 blocks win a tenth to a fifth where the window is larger than one
  // element and channels fill the blocks.
  bool largeWindow = std::any_of(d.spatial.begin(), d.spatial.end(),
                                 [](const Spatial &s) { return s.kernel > 1; });
  int64_t channels = std::min(d.inputChannels, d.outputChannels) / d.groups;
  bool preferPacked =
      largeWindow && channels >= 16 &&
      (isa == Isa::avx2 || (hasAllDigits() && termsPerElement() >= longSum));
  bool spoils = false;
  for (bool packed : {preferPacked, !preferPacked}) {
    PrimitiveDescription result = describe(inputs, outputs, weights, packed);
    if (result && spoilsInfinities(result)) {
      spoils = true;
    } else if (result && !isReferenceCode(result)) {
      if (call->code.empty())
        call->code =
            implementationOf(result) + (packed ? " packed" : " in place");
      return result;
    }
  }
  fail(spoils ? "oneDNN's code here multiplies what lies behind an odd number "
                "of bf16 channels by 0, which turns an infinity into a "
                "not-a-number"
              : "oneDNN has only reference code for this convolution");
  return {};
}

bool ConvolutionBuilder::appendReorder(Task &task, const Place &from,
                                       const Place &to, Shared *scratch) {
  PrimitiveDescription description;
  Attributes attributes = userScratchpad();
  if (oneDNN.dnnl_reorder_primitive_desc_create(
          description.out(), &from.memory, engine.engine, &to.memory,
          engine.engine, attributes.get()) != dnnl_success)
    return fail("oneDNN cannot convert between the layouts of a convolution");
  auto primitive = createPrimitive(description);
  if (!primitive)
    return fail("oneDNN failed to create a conversion of layouts");
  task.push_back(call->makeStep(
      description, primitive,
      {from.named(DNNL_ARG_FROM), to.named(DNNL_ARG_TO)}, scratch));
  return true;
}

/// A strided array as the library describes it.
static ConvertedCopy copyBetween(const dnnl_memory_desc_t &from,
                                 const dnnl_memory_desc_t &to) {
  auto list = [&](const int64_t *values) {
    return std::vector<int64_t>(values, values + from.ndims);
  };
  return ConvertedCopy(list(from.dims), *elementType(from.data_type),
                       list(from.format_desc.blocking.strides),
                       *elementType(to.data_type),
                       list(to.format_desc.blocking.strides));
}

static bool isStrided(const dnnl_memory_desc_t &memory) {
  return memory.format_kind == dnnl_blocked &&
         memory.format_desc.blocking.inner_nblks == 0;
}

static int64_t bytesBefore(const dnnl_memory_desc_t &memory) {
  return memory.offset0 * byteWidth(*elementType(memory.data_type));
}

bool ConvolutionBuilder::appendConversion(Task &task, const Place &from,
                                          const Place &to, Shared *scratch) {
  auto typeOf = [](const Place &place) { return place.memory.data_type; };
  if (typeOf(from) == typeOf(to))
    return appendReorder(task, from, to, scratch);
  // The library's conversions of bf16 are vectors with AVX-512 only.
  bool isBf16 = typeOf(from) == dnnl_bf16 || typeOf(to) == dnnl_bf16;
  if (isBf16 && isa >= Isa::avx512)
    return appendReorder(task, from, to, scratch);
  if (isStrided(from.memory) && isStrided(to.memory)) {
    Step step;
    step.operands = {
        {0, {}, from.argument, from.offset + bytesBefore(from.memory)},
        {0, {}, to.argument, to.offset + bytesBefore(to.memory)}};
    step.function = [copy = copyBetween(from.memory, to.memory)](
                        std::span<void *const> pointers) {
      copy.run(pointers[0], pointers[1]);
    };
    task.push_back(std::move(step));
    return true;
  }
  // Blocks of channels: first the type, then the layout, or the other way
  // round, with the strided one's order in between.
  bool widens = typeOf(to) == dnnl_f32;
  const Place &plain = widens ? from : to;
  std::vector<int64_t> extents(plain.memory.dims,
                               plain.memory.dims + plain.memory.ndims);
  dnnl_memory_desc_t between = stridedMemory(
      extents, denseStrides(extents, plain.memory.format_desc.blocking.strides),
      dnnl_f32, false);
  Place middle = reserve(between);
  return widens ? appendConversion(task, from, middle, scratch) &&
                      appendReorder(task, middle, to, scratch)
                : appendReorder(task, from, middle, scratch) &&
                      appendConversion(task, middle, to, scratch);
}

/// Copies weights from or to their packed form, in tasks by output channels
/// where the blocks allow it.
bool ConvolutionBuilder::appendCopies(Phase &phase, const Place &from,
                                      const Place &to, bool toWeights) {
  constexpr size_t dimension = 0; // groups, or output channels
  const dnnl_memory_desc_t &blocked = toWeights ? to.memory : from.memory;
  int64_t extent = blocked.dims[dimension];
  // A small copy is not worth sharing.
  constexpr int64_t bytesPerTask = 1 << 18;
  int64_t bytes = int64_t(oneDNN.dnnl_memory_desc_get_size(&blocked));
  int64_t tasks = std::clamp<int64_t>(bytes / bytesPerTask, 1, d.pieces);
  int64_t granularity = d.groups > 1 ? 16 : 64;
  bool exact = blocked.padded_dims[dimension] == extent;
  if (!exact || extent % granularity != 0)
    tasks = 1;
  for (auto [begin, length] : cutRange(extent, tasks, granularity)) {
    Place fromPart = from, toPart = to;
    for (Place *part : {&fromPart, &toPart}) {
      std::vector<int64_t> extents(part->memory.dims,
                                   part->memory.dims + part->memory.ndims);
      std::vector<int64_t> offsets(extents.size(), 0);
      extents[dimension] = length;
      offsets[dimension] = begin;
      dnnl_memory_desc_t whole = part->memory;
      if (tasks > 1 && oneDNN.dnnl_memory_desc_init_submemory(
                           &part->memory, &whole, extents.data(),
                           offsets.data()) != dnnl_success)
        return fail("oneDNN cannot cut the weights of a convolution");
    }
    if (!appendConversion(phase.emplace_back(), fromPart, toPart, nullptr))
      return false;
  }
  return true;
}

std::optional<Place>
ConvolutionBuilder::packed(Task &task, const View &view,
                           const dnnl_memory_desc_t &wanted, Shared *copy,
                           Shared *scratch) {
  Place plain = placeOf(view);
  if (oneDNN.dnnl_memory_desc_equal(&plain.memory, &wanted))
    return plain;
  Place place = reserve(wanted, copy);
  if (!appendConversion(task, plain, place, scratch))
    return std::nullopt;
  return place;
}

/// The kernel's extents, dense in the workspace in the order of its strides.
View ConvolutionBuilder::kernelDense() const {
  View dense = kernel;
  dense.strides = denseStrides(kernel.extents, kernel.strides.data());
  dense.argument = call->workspaceArgument();
  int64_t width = byteWidth(kernel.type);
  dense.offset = call->reserve(kernel.elements() * width) / width;
  return dense;
}

/// A step that copies the kernel with its space walked backwards; `from` and
/// `to` have the same extents.
static Step mirrorStep(const View &from, const View &to, size_t spatialRank) {
  std::vector<int64_t> strides = from.strides;
  int64_t start = from.offset;
  for (size_t i = from.extents.size() - spatialRank; i < from.extents.size();
       ++i) {
    start += (from.extents[i] - 1) * strides[i];
    strides[i] = -strides[i];
  }
  int64_t width = byteWidth(from.type);
  Step step;
  step.operands = {{0, {}, from.argument, start * width},
                   {0, {}, to.argument, to.offset * width}};
  step.function = [copy =
                       StridedCopy(from.extents, width, strides, to.strides)](
                      std::span<void *const> pointers) {
    copy.run(pointers[0], pointers[1]);
  };
  return step;
}

/// How many images of a piece are convolved at a time: all of them in place,
/// otherwise as many as stay in a core's cache while they are packed, convolved
/// and unpacked.
int64_t ConvolutionBuilder::imagesPerPass(int64_t length,
                                          const PrimitiveDescription &whole,
                                          const Place &source,
                                          const Place &target) const {
  bool isForward = d.kind == ConvolutionKind::forward;
  int64_t bytes = 0;
  for (auto [place, query] :
       {std::pair(&source,
                  isForward ? dnnl_query_src_md : dnnl_query_diff_dst_md),
        std::pair(&target,
                  isForward ? dnnl_query_dst_md : dnnl_query_diff_src_md)}) {
    const dnnl_memory_desc_t &wanted = memoryOf(whole, query);
    if (!oneDNN.dnnl_memory_desc_equal(&place->memory, &wanted))
      bytes += int64_t(oneDNN.dnnl_memory_desc_get_size(&wanted));
  }
  int64_t passes =
      std::clamp<int64_t>((bytes + cachedBytes - 1) / cachedBytes, 1, length);
  return (length + passes - 1) / passes;
}

/// Forward and data gradient.
bool ConvolutionBuilder::buildDataCall() {
  bool isForward = d.kind == ConvolutionKind::forward;
  const View &source = isForward ? input : output;
  const View &target = isForward ? output : input;
  struct Built {
    PrimitiveDescription description;
    std::shared_ptr<Primitive> primitive;
    size_t weights = 0;
  };
  std::map<int64_t, Built> built; // by the number of images
  // Another number of images may want the weights in other blocks.
  std::vector<Place> weights;
  auto build = [&](int64_t images) -> const Built * {
    auto [entry, isNew] = built.try_emplace(images);
    Built &one = entry->second;
    if (!isNew)
      return &one;
    one.description = describeBest(input.part(0, 0, images),
                                   output.part(0, 0, images), kernel);
    if (!one.description)
      return nullptr;
    const auto &wanted = memoryOf(one.description, dnnl_query_weights_md);
    while (
        one.weights < weights.size() &&
        !oneDNN.dnnl_memory_desc_equal(&weights[one.weights].memory, &wanted))
      ++one.weights;
    if (one.weights == weights.size())
      weights.push_back(reserve(wanted));
    one.primitive = createPrimitive(one.description);
    if (!one.primitive)
      fail("oneDNN failed to create a convolution");
    return one.primitive ? &one : nullptr;
  };

  std::vector<Task> pieces;
  for (auto [runBegin, runLength] : cutRange(d.batch, d.pieces, 1)) {
    Task &task = pieces.emplace_back();
    PrimitiveDescription whole =
        describeBest(input.part(0, runBegin, runLength),
                     output.part(0, runBegin, runLength), kernel);
    if (!whole)
      return false;
    int64_t images = imagesPerPass(
        runLength, whole, placeOf(source.part(0, runBegin, runLength)),
        placeOf(target.part(0, runBegin, runLength)));
    Shared from, to, scratch;
    for (int64_t begin = 0; begin < runLength; begin += images) {
      int64_t length = std::min(images, runLength - begin);
      const Built *one = build(length);
      if (!one)
        return false;
      const auto &[description, primitive, weightsIndex] = *one;
      auto in =
          packed(task, source.part(0, runBegin + begin, length),
                 memoryOf(description, isForward ? dnnl_query_src_md
                                                 : dnnl_query_diff_dst_md),
                 &from, &scratch);
      if (!in)
        return false;
      const auto &wanted = memoryOf(
          description, isForward ? dnnl_query_dst_md : dnnl_query_diff_src_md);
      Place result = placeOf(target.part(0, runBegin + begin, length));
      bool inPlace = oneDNN.dnnl_memory_desc_equal(&result.memory, &wanted);
      Place out = inPlace ? result : reserve(wanted, &to);
      task.push_back(call->makeStep(
          description, primitive,
          {in->named(isForward ? DNNL_ARG_SRC : DNNL_ARG_DIFF_DST),
           weights[weightsIndex].named(DNNL_ARG_WEIGHTS),
           out.named(isForward ? DNNL_ARG_DST : DNNL_ARG_DIFF_SRC)},
          &scratch));
      if (!inPlace && !appendConversion(task, out, result, &scratch))
        return false;
    }
  }

  View kernelSource = kernel;
  Task before;
  if (d.mirroredKernel) {
    kernelSource = kernelDense();
    before.push_back(mirrorStep(kernel, kernelSource, d.spatial.size()));
  }
  if (cropped && !isForward) {
    // What was cropped away has no influence, so its gradient is zero.
    Step zero;
    zero.operands = {{0, {}, wholeInput.argument, 0}};
    zero.function =
        [fill = StridedCopy(wholeInput.extents, byteWidth(d.resultType),
                            wholeInput.strides, wholeInput.strides)](
            std::span<void *const> pointers) {
          fill.run(nullptr, pointers[0]);
        };
    before.push_back(std::move(zero));
  }
  Phase packing;
  for (const Place &place : weights)
    if (!appendCopies(packing, placeOf(kernelSource), place, true))
      return false;
  if (!before.empty())
    call->work.push_back({std::move(before)});
  call->work.push_back(std::move(packing));
  call->work.push_back(std::move(pieces));
  return true;
}

/// Adds partial sums in order: the first range of the operand is the result.
static Step sumStep(const Place &partial, int64_t stride, int64_t count,
                    int64_t begin, int64_t length) {
  Step step;
  for (int64_t i = 0; i < count; ++i)
    step.operands.push_back(
        {0,
         {},
         partial.argument,
         partial.offset + i * stride + begin * int64_t(sizeof(float))});
  step.function = [length](std::span<void *const> pointers) {
    auto *sum = static_cast<float *>(pointers[0]);
    for (size_t i = 1; i < pointers.size(); ++i) {
      const auto *next = static_cast<const float *>(pointers[i]);
      for (int64_t j = 0; j < length; ++j)
        sum[j] += next[j];
    }
  };
  return step;
}

/// How many images one primitive of a weight gradient may take. With unit
/// strides and whole blocks of channels the library sums every row of an image
/// by itself; elsewhere all positions of all images are added one after the
/// other, so long sums are made of several primitives' sums.
int64_t ConvolutionBuilder::imagesPerSum() const {
  bool unitStrides =
      std::all_of(d.spatial.begin(), d.spatial.end(),
                  [](const Spatial &s) { return s.stride == 1; });
  int64_t positions = 1;
  for (const Spatial &s : d.spatial)
    positions *= s.output;
  int64_t images = d.batch;
  // Widened copies should stay in a core's cache, but adding up the weights
  // once more costs as much as copying as many bytes.
  if (isWidened())
    images = std::max<int64_t>(
        std::max<int64_t>(cachedBytes, 4 * kernel.elements() * widenedWidth) /
            ((input.elements() + output.elements()) / d.batch * widenedWidth),
        1);
  if (!hasAllDigits() ||
      (unitStrides && d.inputChannels >= 16 && d.outputChannels >= 16))
    return images;
  return std::min(images, std::max<int64_t>(longSum / positions, 1));
}

bool ConvolutionBuilder::buildWeightGradientByBatch() {
  auto runs = cutRange(d.batch, d.pieces, 1);
  // Sums are kept in f32 until they are complete.
  View sums = kernel;
  sums.type = ElementType::f32;
  Phase pieces;
  std::optional<Place> first; // the sum of the first run; the others follow
  int64_t partialBytes = 0, elements = 0;
  struct Built {
    PrimitiveDescription description;
    std::shared_ptr<Primitive> primitive;
  };
  std::map<int64_t, Built> built; // by the number of images
  for (size_t i = 0; i < runs.size(); ++i) {
    auto [runBegin, runLength] = runs[i];
    Task &task = pieces.emplace_back();
    Shared inCopy, outCopy, scratch;
    std::optional<Place> next; // what is added to the run's sum
    int64_t parts = (runLength + imagesPerSum() - 1) / imagesPerSum();
    for (auto [begin, length] : cutRange(runLength, parts, 1)) {
      View inputs = input.part(0, runBegin + begin, length);
      View outputs = output.part(0, runBegin + begin, length);
      auto [entry, isNew] = built.try_emplace(length);
      auto &[description, primitive] = entry->second;
      if (isNew) {
        description = describeBest(inputs, outputs, sums);
        if (!description)
          return false;
        const auto &made = memoryOf(description, dnnl_query_diff_weights_md);
        if (first && !oneDNN.dnnl_memory_desc_equal(&first->memory, &made))
          return fail("oneDNN makes different weights for different batches");
        if (!first) {
          int64_t bytes = int64_t(oneDNN.dnnl_memory_desc_get_size(&made));
          elements = bytes / int64_t(sizeof(float));
          partialBytes = alignTo64(bytes);
          first = Place{made, call->workspaceArgument(),
                        call->reserve(partialBytes * int64_t(runs.size()))};
        }
        primitive = createPrimitive(description);
        if (!primitive)
          return fail("oneDNN failed to create a convolution");
      }
      auto in = packed(task, inputs, memoryOf(description, dnnl_query_src_md),
                       &inCopy, &scratch);
      auto out =
          packed(task, outputs, memoryOf(description, dnnl_query_diff_dst_md),
                 &outCopy, &scratch);
      if (!in || !out)
        return false;
      Place sum = *first;
      sum.offset += int64_t(i) * partialBytes;
      if (begin > 0 && !next)
        next = reserve(first->memory);
      task.push_back(call->makeStep(
          description, primitive,
          {in->named(DNNL_ARG_SRC), out->named(DNNL_ARG_DIFF_DST),
           (begin > 0 ? *next : sum).named(DNNL_ARG_DIFF_WEIGHTS)},
          &scratch));
      if (begin > 0)
        task.push_back(sumStep(sum, next->offset - sum.offset, 2, 0, elements));
    }
  }
  call->work.push_back(std::move(pieces));
  if (runs.size() > 1) {
    Phase sum;
    int64_t tasks = std::clamp<int64_t>(elements >> 15, 1, d.pieces);
    for (auto [begin, length] : cutRange(elements, tasks, 16))
      sum.push_back(
          {sumStep(*first, partialBytes, int64_t(runs.size()), begin, length)});
    call->work.push_back(std::move(sum));
  }
  View result = d.mirroredKernel ? kernelDense() : kernel;
  Phase unpacking;
  if (!appendCopies(unpacking, *first, placeOf(result), false))
    return false;
  call->work.push_back(std::move(unpacking));
  if (d.mirroredKernel)
    call->work.push_back({{mirrorStep(result, kernel, d.spatial.size())}});
  return true;
}

/// Each piece makes the weights of some output channels from the whole batch.
bool ConvolutionBuilder::buildWeightGradientByChannels() {
  View result = d.mirroredKernel ? kernelDense() : kernel;
  Phase pieces;
  PrimitiveDescription description;
  std::shared_ptr<Primitive> primitive;
  int64_t builtFor = 0;
  for (auto [begin, length] : cutRange(d.outputChannels, d.pieces, 16)) {
    View outputs = output.part(1, begin, length);
    // The channels of one piece are copied together, in the order they have.
    View dense = outputs;
    dense.strides = {0, 1};
    dense.strides.resize(outputs.extents.size());
    int64_t stride = length;
    for (size_t i = outputs.extents.size(); i-- > 2;) {
      dense.strides[i] = stride;
      stride *= outputs.extents[i];
    }
    dense.strides[0] = stride;
    if (length != builtFor) {
      description = describeBest(input, dense, kernel.part(0, begin, length));
      if (!description)
        return false;
      primitive = createPrimitive(description);
      if (!primitive)
        return fail("oneDNN failed to create a convolution");
      builtFor = length;
    }
    Task &task = pieces.emplace_back();
    auto in = packed(task, input, memoryOf(description, dnnl_query_src_md));
    auto out =
        packed(task, outputs, memoryOf(description, dnnl_query_diff_dst_md));
    if (!in || !out)
      return false;
    Place made = reserve(memoryOf(description, dnnl_query_diff_weights_md));
    task.push_back(
        call->makeStep(description, primitive,
                       {in->named(DNNL_ARG_SRC), out->named(DNNL_ARG_DIFF_DST),
                        made.named(DNNL_ARG_DIFF_WEIGHTS)}));
    if (!appendConversion(task, made, placeOf(result.part(0, begin, length)),
                          nullptr))
      return false;
  }
  call->work.push_back(std::move(pieces));
  if (d.mirroredKernel)
    call->work.push_back({{mirrorStep(result, kernel, d.spatial.size())}});
  return true;
}

std::unique_ptr<PrimitiveCall> ConvolutionBuilder::build() {
  error = typesNotSupported(d.type, d.computeType, d.resultType, isa);
  if (!error.empty())
    return nullptr;
  const ConvolutionDescription whole = d; // not cropped
  makeViews();
  for (const Spatial &s : d.spatial)
    if (s.input < 1) {
      fail("negative padding leaves nothing of the input");
      return nullptr;
    }
  makeWindow();
  std::vector<int64_t> bytes(3);
  for (const View *view : {&wholeInput, &kernel, &output})
    bytes[size_t(view->argument)] =
        (view->lastElement() + 1) * byteWidth(view->type);
  call = std::make_unique<PrimitiveCall>(engine, std::move(bytes));
  bool done = true;
  if (runsInTiles(whole, isa))
    appendTileConvolution(whole, *call);
  else if (runsInWinograd(whole, isa))
    appendWinogradConvolution(whole, *call);
  else if (d.kind != ConvolutionKind::weightGradient)
    done = buildDataCall();
  else if (d.groups == 1 && d.outputChannels >= 32 * d.pieces &&
           kernel.elements() > output.elements())
    done = buildWeightGradientByChannels();
  else
    done = buildWeightGradientByBatch();
  if (!done)
    return nullptr;
  // A call of one task per phase needs no phases.
  if (std::all_of(call->work.begin(), call->work.end(),
                  [](const Phase &phase) { return phase.size() == 1; })) {
    Task all;
    for (Phase &phase : call->work)
      std::move(phase[0].begin(), phase[0].end(), std::back_inserter(all));
    call->work.assign(1, {});
    call->work[0].push_back(std::move(all));
  }
  return std::move(call);
}

std::unique_ptr<PrimitiveCall>
tenon::libraries::createCall(const ConvolutionDescription &description,
                             const Engine &engine, Isa isa,
                             std::string &error) {
  return ConvolutionBuilder(description, engine, isa, error).build();
}

int64_t
tenon::libraries::preferredPieces(const ConvolutionDescription &description) {
  double flops = 2.0 * double(description.batch) *
                 double(description.inputChannels) *
                 double(description.outputChannels / description.groups);
  for (const Spatial &s : description.spatial)
    flops *= double(s.output) * double(s.kernel);
  // Packing the weights and adding up sums has to pay, and each further piece
  // of a weight gradient costs a copy of the weights.
  constexpr double flopsPerPiece = 1e6, large = 1e9;
  bool manyPieces =
      flops >= large && description.kind != ConvolutionKind::weightGradient &&
      description.batch >= 4 &&
      description.inputChannels * description.outputChannels <= (1 << 16);
  return std::clamp<int64_t>(int64_t(flops / flopsPerPiece), 1,
                             manyPieces ? 4 : 2);
}
