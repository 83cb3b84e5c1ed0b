//===- Passes.td - Passes of the precision stage --------------------------===//
//
// An f32 step becomes one that stores values in 16 bits where that is cheapest.
// Every pass keeps step form.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_PRECISION_PASSES_TD
#define TENON_PRECISION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ChooseFormatsPass : Pass<"precision-choose-formats", "::mlir::func::FuncOp"> {
  let summary = "store values in 16 bits where that takes least time";
  let description = [{
    Chooses a format for each value that lies in memory and for each product, by
    a minimum cut over what the formats and the conversions between them take on
    the machine (docs/Rationale/Precision.md). The choice is proved cheapest
    before it is carried out. A value that is stored narrow is rounded once,
    where it is made, and widened for whoever computes with it, by conversions
    with the attribute `step.cast`; a product of narrow operands adds up in f32
    and rounds its result once. The 16 bits are bf16 or f16; in f16, a value of
    the forward pass that nothing keeps below 65504 is named in a remark.

    ```mlir
    // options: cpu=x86-64-v4+amxbf16
    // before
    func.func @main(%x: tensor<512x512xf32>, %w: tensor<512x512xf32>) -> tensor<512x512xf32> {
      %0 = stablehlo.tanh %x : tensor<512x512xf32>
      %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
      return %1 : tensor<512x512xf32>
    }
    // after
    func.func @main(%x: tensor<512x512xf32>, %w: tensor<512x512xf32>) -> tensor<512x512xf32> {
      %0 = stablehlo.convert %w {step.cast} : (tensor<512x512xf32>) -> tensor<512x512xbf16>
      %1 = stablehlo.tanh %x : tensor<512x512xf32>
      %2 = stablehlo.convert %1 {step.cast} : (tensor<512x512xf32>) -> tensor<512x512xbf16>
      %3 = stablehlo.dot_general %2, %0, contracting_dims = [1] x [0] : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xf32>
      return %3 : tensor<512x512xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::stablehlo::StableHLODialect",
                           "::tenon::step::StepDialect"];
  let options = [
    Option<"cpu", "cpu", "std::string", "\"x86-64-v3\"",
           "the feature set whose products are asked for">,
    Option<"narrowKernels", "narrow-kernels", "bool", "false",
           "whoever computes products reads narrow operands as they are (kernels for "
           "GPUs and XLA do), so a narrow product needs no library and no "
           "instruction">,
    Option<"format", "format", "::tenon::precision::NarrowFormat",
           "::tenon::precision::NarrowFormat::bf16",
           "the format of 16 bits: bf16 or f16",
           [{::llvm::cl::values(
             clEnumValN(::tenon::precision::NarrowFormat::bf16, "bf16",
                        "8 bits of exponent"),
             clEnumValN(::tenon::precision::NarrowFormat::f16, "f16",
                        "5 bits of exponent"))}]>,
    Option<"keepWide", "keep-wide", "std::string", "\"\"",
           "nothing is stored or multiplied in 16 bits, and this is why">,
    Option<"mostBytes", "most-bytes", "double", "0",
           "where 16-bit products are not quicker: bytes have a price while more than "
           "these are in memory, the lowest for which the peak becomes these; 0: choose "
           "the least time">,
    Option<"mostSeconds", "most-seconds", "double", "0",
           "with most-bytes: no price for which the model takes longer">,
    Option<"price", "price", "int64_t", "-1",
           "with most-bytes: the price of a byte in picoseconds, if it is known">,
    Option<"policy", "policy", "std::string", "\"\"",
           "what the user says of formats, as JSON (docs/GettingStarted.md)">,
    Option<"holdBatches", "hold-batches", "bool", "false",
           "batch tensors that only products read will be held in 16 bits">,
    Option<"holding", "holding", "::tenon::precision::StateHolding",
           "::tenon::precision::StateHolding::parts",
           "how state will be held, which products then read for nothing: none "
           "(as it came), parts or bf16",
           [{::llvm::cl::values(
             clEnumValN(::tenon::precision::StateHolding::none, "none",
                        "as it came"),
             clEnumValN(::tenon::precision::StateHolding::parts, "parts",
                        "parameters in two parts where they can be "
                        "(precision-hold-parameters)"),
             clEnumValN(::tenon::precision::StateHolding::bf16, "bf16",
                        "state in bf16 (precision-hold-state)"))}]>,
  ];
}

def HoldParametersPass : Pass<"precision-hold-parameters", "::mlir::func::FuncOp"> {
  let summary = "hold parameters that products read in bf16 in two parts";
  let description = [{
    A parameter that products read rounded to bf16 becomes two arguments and two
    results, marked with `step.holds`: the nearest bf16, which products read as
    it is, and an i16 with the rest of the bits of the f32. The high part stands
    in the parameter's place, the low one behind all other arguments and results.
    Who computes with the f32 puts the parts together; what replaces the
    parameter is taken apart. Both are exact, on every bit pattern.

    A parameter stays f32 where something reads it that cannot put it together
    in its own kernel.

    ```mlir
    // before
    func.func @main(%w: tensor<256x256xf32> {step.name = "w", step.role = #step.role<parameter>, step.successor = 0 : i64}, %x: tensor<256x256xbf16> {step.name = "x", step.role = #step.role<batch>}) -> (tensor<256x256xf32> {step.name = "w"}) {
      %0 = stablehlo.convert %w {step.cast} : (tensor<256x256xf32>) -> tensor<256x256xbf16>
      %1 = stablehlo.dot_general %x, %0, contracting_dims = [1] x [0] : (tensor<256x256xbf16>, tensor<256x256xbf16>) -> tensor<256x256xf32>
      %2 = stablehlo.subtract %w, %1 : tensor<256x256xf32>
      return %2 : tensor<256x256xf32>
    }
    // after
    func.func @main(%arg0: tensor<256x256xbf16> {step.holds = {part = 0 : i64, rule = "high_and_low", tensor = "w"}, step.name = "w", step.role = #step.role<parameter>, step.successor = 0 : i64}, %arg1: tensor<256x256xbf16> {step.name = "x", step.role = #step.role<batch>}, %arg2: tensor<256x256xi16> {step.aliases = [], step.holds = {part = 1 : i64, rule = "high_and_low", tensor = "w"}, step.name = "w.low", step.role = #step.role<parameter>, step.successor = 1 : i64}) -> (tensor<256x256xbf16> {step.holds = {part = 0 : i64, rule = "high_and_low", tensor = "w"}, step.name = "w"}, tensor<256x256xi16> {step.aliases = [], step.holds = {part = 1 : i64, rule = "high_and_low", tensor = "w"}, step.name = "w.low"}) {
      %0 = stablehlo.dot_general %arg1, %arg0, contracting_dims = [1] x [0] : (tensor<256x256xbf16>, tensor<256x256xbf16>) -> tensor<256x256xf32>
      %1 = stablehlo.bitcast_convert %arg0 : (tensor<256x256xbf16>) -> tensor<256x256xui16>
      %2 = stablehlo.convert %1 : (tensor<256x256xui16>) -> tensor<256x256xui32>
      %c = stablehlo.constant dense<16> : tensor<256x256xui32>
      %3 = stablehlo.shift_left %2, %c : tensor<256x256xui32>
      %4 = stablehlo.convert %arg2 : (tensor<256x256xi16>) -> tensor<256x256xi32>
      %5 = stablehlo.bitcast_convert %4 : (tensor<256x256xi32>) -> tensor<256x256xui32>
      %6 = stablehlo.add %3, %5 : tensor<256x256xui32>
      %7 = stablehlo.bitcast_convert %6 : (tensor<256x256xui32>) -> tensor<256x256xf32>
      %8 = stablehlo.subtract %7, %0 : tensor<256x256xf32>
      %9 = stablehlo.bitcast_convert %8 : (tensor<256x256xf32>) -> tensor<256x256xui32>
      %c_0 = stablehlo.constant dense<32768> : tensor<256x256xui32>
      %10 = stablehlo.add %9, %c_0 : tensor<256x256xui32>
      %c_1 = stablehlo.constant dense<16> : tensor<256x256xui32>
      %11 = stablehlo.shift_right_logical %10, %c_1 : tensor<256x256xui32>
      %c_2 = stablehlo.constant dense<65535> : tensor<256x256xui32>
      %12 = stablehlo.and %9, %c_2 : tensor<256x256xui32>
      %13 = stablehlo.convert %11 : (tensor<256x256xui32>) -> tensor<256x256xui16>
      %14 = stablehlo.bitcast_convert %13 : (tensor<256x256xui16>) -> tensor<256x256xbf16>
      %15 = stablehlo.convert %12 : (tensor<256x256xui32>) -> tensor<256x256xui16>
      %16 = stablehlo.bitcast_convert %15 : (tensor<256x256xui16>) -> tensor<256x256xi16>
      return %14, %16 : tensor<256x256xbf16>, tensor<256x256xi16>
    }
    ```
  }];
  let dependentDialects = ["::tenon::stablehlo::StableHLODialect",
                           "::tenon::step::StepDialect"];
  let options = [
    Option<"inside", "inside", "bool", "false",
           "split the parameter where the step begins and leave its argument "
           "f32: the step that a held one has to equal bit by bit">,
  ];
}

def NarrowAttentionPass : Pass<"precision-narrow-attention", "::mlir::func::FuncOp"> {
  let summary = "have attention multiply the bf16 that it reads";
  let description = [{
    Where queries, keys and values of attention, and of its gradient the output's
    gradient, are bf16 that are widened, the operation reads them as they are,
    and rounds what it multiplies them by: its weights, and in the gradient the
    slopes. Then all its products are of bf16, which processors with tiles
    multiply natively (`step::multipliesTiles`); maxima, sums and means stay f32.
    Attention whose tiles would be mostly empty stays as it is. The driver runs
    this behind the choice of formats, if the target multiplies bf16 by tiles.

    ```mlir
    // before
    func.func @main(%q: tensor<64x32xbf16>, %k: tensor<64x32xbf16>, %v: tensor<64x32xbf16>) -> tensor<64x32xf32> {
      %0 = stablehlo.convert %q {step.cast} : (tensor<64x32xbf16>) -> tensor<64x32xf32>
      %1 = stablehlo.convert %k {step.cast} : (tensor<64x32xbf16>) -> tensor<64x32xf32>
      %2 = stablehlo.convert %v {step.cast} : (tensor<64x32xbf16>) -> tensor<64x32xf32>
      %o, %m, %s = step.attention %0 [q, d], %1 [k, d], %2 [k, v] -> [q, v] {scale = 1.000000e+00 : f32} : (tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>) -> (tensor<64x32xf32>, tensor<64xf32>, tensor<64xf32>)
      return %o : tensor<64x32xf32>
    }
    // after
    func.func @main(%q: tensor<64x32xbf16>, %k: tensor<64x32xbf16>, %v: tensor<64x32xbf16>) -> tensor<64x32xf32> {
      %o, %m, %s = step.attention %q [q, d], %k [k, d], %v [k, v] -> [q, v] {rounds_weights, scale = 1.000000e+00 : f32} : (tensor<64x32xbf16>, tensor<64x32xbf16>, tensor<64x32xbf16>) -> (tensor<64x32xf32>, tensor<64xf32>, tensor<64xf32>)
      return %o : tensor<64x32xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::step::StepDialect"];
  let options = [
    Option<"policy", "policy", "std::string", "\"\"",
           "what the user says of formats, as JSON (docs/GettingStarted.md): "
           "attention that stays f32 is left alone">,
  ];
}

def HoldBatchPass : Pass<"precision-hold-batch", "::mlir::func::FuncOp"> {
  let summary = "hold batch tensors that only products read in 16 bits";
  let description = [{
    An f32 batch tensor of more than one element that only products read, rounded
    to 16 bits, becomes an argument of 16 bits that is marked with `step.holds`:
    users go on seeing the f32, and it is rounded when they write it, instead of
    by a kernel in every step. What computes with its elements keeps it f32.

    ```mlir
    // before
    func.func @main(%x: tensor<64x256xf32> {step.name = "x", step.role = #step.role<batch>}, %w: tensor<256x256xbf16> {step.name = "w", step.role = #step.role<batch>}) -> (tensor<64x256xf32> {step.name = "y"}) {
      %0 = stablehlo.convert %x {step.cast} : (tensor<64x256xf32>) -> tensor<64x256xbf16>
      %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<64x256xbf16>, tensor<256x256xbf16>) -> tensor<64x256xf32>
      return %1 : tensor<64x256xf32>
    }
    // after
    func.func @main(%arg0: tensor<64x256xbf16> {step.holds = {part = 0 : i64, rule = "converted", tensor = "x"}, step.name = "x", step.role = #step.role<batch>}, %arg1: tensor<256x256xbf16> {step.name = "w", step.role = #step.role<batch>}) -> (tensor<64x256xf32> {step.name = "y"}) {
      %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<64x256xbf16>, tensor<256x256xbf16>) -> tensor<64x256xf32>
      return %0 : tensor<64x256xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::stablehlo::StableHLODialect",
                           "::tenon::step::StepDialect"];
  let options = [
    Option<"format", "format", "::tenon::precision::NarrowFormat",
           "::tenon::precision::NarrowFormat::bf16",
           "the format of 16 bits: bf16 or f16",
           [{::llvm::cl::values(
             clEnumValN(::tenon::precision::NarrowFormat::bf16, "bf16",
                        "8 bits of exponent"),
             clEnumValN(::tenon::precision::NarrowFormat::f16, "f16",
                        "5 bits of exponent"))}]>,
    Option<"policy", "policy", "std::string", "\"\"",
           "what the user says of formats, as JSON (docs/GettingStarted.md): "
           "arguments that stay f32 are not held in 16 bits">,
  ];
}

def HoldStatePass : Pass<"precision-hold-state", "::mlir::func::FuncOp"> {
  let summary = "hold parameters and moments in bf16, written by stochastic rounding";
  let description = [{
    A parameter, a moment of the optimizer or a buffer such as a running average,
    if it is an f32 tensor of more than one element that the step replaces,
    becomes a bf16 that is marked with `step.holds`: users go on seeing the f32.
    Products that round it read it as it is, what moves its elements moves 16
    bits, and whoever computes with it widens it. What replaces it is rounded by
    `step.stochastic_round`, so that updates far below the last place move its
    mean as they should. The steps are counted in the hidden state
    `__tenon__.rounding_step`; the key of a tensor is made of the seed and the
    number of its argument.

    ```mlir
    // before
    func.func @main(%w: tensor<256x256xf32> {step.name = "w", step.role = #step.role<parameter>, step.successor = 0 : i64}, %x: tensor<256x256xbf16> {step.name = "x", step.role = #step.role<batch>}) -> (tensor<256x256xf32> {step.name = "w"}) {
      %0 = stablehlo.convert %w {step.cast} : (tensor<256x256xf32>) -> tensor<256x256xbf16>
      %1 = stablehlo.dot_general %x, %0, contracting_dims = [1] x [0] : (tensor<256x256xbf16>, tensor<256x256xbf16>) -> tensor<256x256xf32>
      %2 = stablehlo.subtract %w, %1 : tensor<256x256xf32>
      return %2 : tensor<256x256xf32>
    }
    // after
    func.func @main(%arg0: tensor<256x256xbf16> {step.holds = {part = 0 : i64, rule = "converted", tensor = "w"}, step.name = "w", step.role = #step.role<parameter>, step.successor = 0 : i64}, %arg1: tensor<256x256xbf16> {step.name = "x", step.role = #step.role<batch>}, %arg2: tensor<ui32> {step.aliases = [], step.initial = dense<0> : tensor<ui32>, step.name = "__tenon__.rounding_step", step.role = #step.role<counter>, step.role_reason = "counts the steps for stochastic rounding", step.successor = 1 : i64}) -> (tensor<256x256xbf16> {step.holds = {part = 0 : i64, rule = "converted", tensor = "w"}, step.name = "w"}, tensor<ui32> {step.aliases = [], step.name = "__tenon__.rounding_step"}) {
      %0 = stablehlo.dot_general %arg1, %arg0, contracting_dims = [1] x [0] : (tensor<256x256xbf16>, tensor<256x256xbf16>) -> tensor<256x256xf32>
      %1 = stablehlo.convert %arg0 {step.cast} : (tensor<256x256xbf16>) -> tensor<256x256xf32>
      %2 = stablehlo.subtract %1, %0 : tensor<256x256xf32>
      %c = stablehlo.constant dense<1> : tensor<ui32>
      %3 = stablehlo.add %arg2, %c : tensor<ui32>
      %c_0 = stablehlo.constant dense<[2849889213, 1388560977]> : tensor<2xui32>
      %4 = step.stochastic_round %2, %arg2, %c_0 : (tensor<256x256xf32>, tensor<ui32>, tensor<2xui32>) -> tensor<256x256xbf16>
      return %4, %3 : tensor<256x256xbf16>, tensor<ui32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::stablehlo::StableHLODialect",
                           "::tenon::step::StepDialect"];
  let options = [
    Option<"seed", "seed", "uint64_t", "0",
           "steps with another seed round by other bits">,
    Option<"policy", "policy", "std::string", "\"\"",
           "what the user says of formats, as JSON (docs/GettingStarted.md): "
           "arguments that stay f32 are not held in bf16">,
  ];
}

def ReadHeldStatePass : Pass<"precision-read-held-state", "::mlir::func::FuncOp"> {
  let summary = "read state in the form that a step holds it in";
  let description = [{
    An entry point beside a step, such as an evaluation, has f32 arguments that
    are state of the step. Those that the step holds in another form come with its
    mark `step.holds`, which names the step's tensor. The pass gives them the type
    of what is held, and adds a second argument behind all others for the low part
    of one that is held in two. Products that round the argument read the bf16 as
    it is; whoever computes with the f32 makes it of what is held.

    ```mlir
    // before
    func.func @main(%w: tensor<256x256xf32> {step.holds = {part = 0 : i64, rule = "converted", tensor = "params.w"}, step.name = "w", step.role = #step.role<parameter>}, %x: tensor<256x256xbf16> {step.name = "x", step.role = #step.role<batch>}) -> (tensor<256x256xf32> {step.name = "y"}) {
      %0 = stablehlo.convert %w {step.cast} : (tensor<256x256xf32>) -> tensor<256x256xbf16>
      %1 = stablehlo.dot_general %x, %0, contracting_dims = [1] x [0] : (tensor<256x256xbf16>, tensor<256x256xbf16>) -> tensor<256x256xf32>
      %2 = stablehlo.subtract %w, %1 : tensor<256x256xf32>
      return %2 : tensor<256x256xf32>
    }
    // after
    func.func @main(%arg0: tensor<256x256xbf16> {step.holds = {part = 0 : i64, rule = "converted", tensor = "params.w"}, step.name = "w", step.role = #step.role<parameter>}, %arg1: tensor<256x256xbf16> {step.name = "x", step.role = #step.role<batch>}) -> (tensor<256x256xf32> {step.name = "y"}) {
      %0 = stablehlo.dot_general %arg1, %arg0, contracting_dims = [1] x [0] : (tensor<256x256xbf16>, tensor<256x256xbf16>) -> tensor<256x256xf32>
      %1 = stablehlo.convert %arg0 {step.cast} : (tensor<256x256xbf16>) -> tensor<256x256xf32>
      %2 = stablehlo.subtract %1, %0 : tensor<256x256xf32>
      return %2 : tensor<256x256xf32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::stablehlo::StableHLODialect",
                           "::tenon::step::StepDialect"];
}

def ScaleLossPass : Pass<"precision-scale-loss", "::mlir::func::FuncOp"> {
  let summary = "scale the loss, so that gradients fit into f16";
  let description = [{
    Finds where a step is linear in the gradient of its loss and multiplies there
    by a scale, a power of two that is kept as hidden state, and by its reciprocal
    where a gradient is used otherwise (docs/Rationale/Precision.md). A step in
    which a gradient is not finite leaves all state but the scale as it was. The
    scale starts at 65536, doubles after 2000 finite steps in a row, and halves
    after one that is not.

    A step in which no parameter learns from a batch, and one that scales its loss
    itself, stay as they are. If something that parameters learn from is not
    linear in the loss's gradient, the pass fails there.

    ```mlir
    // before
    func.func @main(%w: tensor<8x4xf32> {step.name = "w", step.role = #step.role<parameter>, step.successor = 0 : i64}, %x: tensor<16x8xf32> {step.name = "x", step.role = #step.role<batch>}, %t: tensor<16x4xf32> {step.name = "t", step.role = #step.role<batch>}) -> (tensor<8x4xf32> {step.name = "w"}) {
      %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<16x8xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
      %1 = stablehlo.subtract %0, %t : tensor<16x4xf32>
      %2 = stablehlo.dot_general %x, %1, contracting_dims = [0] x [0] : (tensor<16x8xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
      %3 = stablehlo.subtract %w, %2 : tensor<8x4xf32>
      return %3 : tensor<8x4xf32>
    }
    // after
    func.func @main(%arg0: tensor<8x4xf32> {step.name = "w", step.role = #step.role<parameter>, step.successor = 0 : i64}, %arg1: tensor<16x8xf32> {step.name = "x", step.role = #step.role<batch>}, %arg2: tensor<16x4xf32> {step.name = "t", step.role = #step.role<batch>}, %arg3: tensor<f32> {step.aliases = [], step.initial = dense<6.553600e+04> : tensor<f32>, step.name = "__tenon__.loss_scale", step.role = #step.role<optimizer_state>, step.role_reason = "the scale of the loss", step.successor = 1 : i64}, %arg4: tensor<i32> {step.aliases = [], step.initial = dense<0> : tensor<i32>, step.name = "__tenon__.loss_scale_growth", step.role = #step.role<counter>, step.role_reason = "finite steps since the scale changed", step.successor = 2 : i64}) -> (tensor<8x4xf32> {step.name = "w"}, tensor<f32> {step.aliases = [], step.name = "__tenon__.loss_scale"}, tensor<i32> {step.aliases = [], step.name = "__tenon__.loss_scale_growth"}) {
      %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %0 = stablehlo.divide %cst, %arg3 : tensor<f32>
      %1 = stablehlo.dot_general %arg1, %arg0, contracting_dims = [1] x [0] : (tensor<16x8xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
      %2 = stablehlo.subtract %1, %arg2 : tensor<16x4xf32>
      %3 = stablehlo.broadcast_in_dim %arg3, dims = [] : (tensor<f32>) -> tensor<16x4xf32>
      %4 = stablehlo.multiply %2, %3 : tensor<16x4xf32>
      %5 = stablehlo.dot_general %arg1, %4, contracting_dims = [0] x [0] : (tensor<16x8xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
      %6 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<8x4xf32>
      %7 = stablehlo.multiply %5, %6 : tensor<8x4xf32>
      %8 = stablehlo.subtract %arg0, %7 : tensor<8x4xf32>
      %9 = stablehlo.abs %5 : tensor<8x4xf32>
      %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %10 = stablehlo.reduce(%9 init: %cst_0) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<f32>
      %11 = stablehlo.is_finite %10 : (tensor<f32>) -> tensor<i1>
      %12 = stablehlo.broadcast_in_dim %11, dims = [] : (tensor<i1>) -> tensor<8x4xi1>
      %13 = stablehlo.select %12, %8, %arg0 : tensor<8x4xi1>, tensor<8x4xf32>
      %c = stablehlo.constant dense<1> : tensor<i32>
      %14 = stablehlo.add %arg4, %c : tensor<i32>
      %c_1 = stablehlo.constant dense<2000> : tensor<i32>
      %15 = stablehlo.compare EQ, %14, %c_1 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %cst_2 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
      %16 = stablehlo.multiply %arg3, %cst_2 : tensor<f32>
      %cst_3 = stablehlo.constant dense<8.50705917E+37> : tensor<f32>
      %17 = stablehlo.compare LE, %16, %cst_3 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %18 = stablehlo.and %15, %17 : tensor<i1>
      %19 = stablehlo.select %18, %16, %arg3 : tensor<i1>, tensor<f32>
      %cst_4 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
      %20 = stablehlo.multiply %arg3, %cst_4 : tensor<f32>
      %c_5 = stablehlo.constant dense<0> : tensor<i32>
      %21 = stablehlo.select %15, %c_5, %14 : tensor<i1>, tensor<i32>
      %22 = stablehlo.select %11, %19, %20 : tensor<i1>, tensor<f32>
      %23 = stablehlo.select %11, %21, %c_5 : tensor<i1>, tensor<i32>
      return %13, %22, %23 : tensor<8x4xf32>, tensor<f32>, tensor<i32>
    }
    ```
  }];
  let dependentDialects = ["::tenon::stablehlo::StableHLODialect",
                           "::tenon::step::StepDialect"];
}

def CountOverflowsPass : Pass<"precision-count-overflows", "::mlir::func::FuncOp"> {
  let summary = "count the infinite elements of f16 tensors";
  let description = [{
    Gives every f16 tensor that may overflow (a value that the choice of formats
    stores in f16, that does not carry the scale of the loss, and that nothing
    keeps below 65504) hidden state that counts its infinite elements over all
    steps. A loop carries the count of each row. Where a constant that is
    infinite goes into a value, as into a mask, what was infinite before it was
    rounded does not count.

    ```mlir
    // before
    func.func @main(%x: tensor<4x8xf32> {step.name = "x", step.role = #step.role<batch>}) -> (tensor<4x8xf16> {step.name = "y"}) {
      %0 = stablehlo.exponential %x : tensor<4x8xf32>
      %1 = stablehlo.convert %0 {step.cast} : (tensor<4x8xf32>) -> tensor<4x8xf16>
      return %1 : tensor<4x8xf16>
    }
    // after
    func.func @main(%arg0: tensor<4x8xf32> {step.name = "x", step.role = #step.role<batch>}, %arg1: tensor<i64> {step.aliases = [], step.initial = dense<0> : tensor<i64>, step.name = "__tenon__.overflow.exponential line 2", step.role = #step.role<counter>, step.role_reason = "elements that were infinite in f16", step.successor = 1 : i64}) -> (tensor<4x8xf16> {step.name = "y"}, tensor<i64> {step.aliases = [], step.name = "__tenon__.overflow.exponential line 2"}) {
      %0 = stablehlo.exponential %arg0 : tensor<4x8xf32>
      %1 = stablehlo.convert %0 {step.cast} : (tensor<4x8xf32>) -> tensor<4x8xf16>
      %2 = stablehlo.convert %1 {step.cast} : (tensor<4x8xf16>) -> tensor<4x8xf32>
      %3 = stablehlo.abs %2 : tensor<4x8xf32>
      %cst = stablehlo.constant dense<0x7F800000> : tensor<4x8xf32>
      %4 = stablehlo.compare EQ, %3, %cst : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
      %5 = stablehlo.convert %4 : (tensor<4x8xi1>) -> tensor<4x8xi32>
      %c = stablehlo.constant dense<0> : tensor<i32>
      %6 = stablehlo.reduce(%5 init: %c) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xi32>, tensor<i32>) -> tensor<i32>
      %7 = stablehlo.convert %6 : (tensor<i32>) -> tensor<i64>
      %8 = stablehlo.add %arg1, %7 : tensor<i64>
      return %1, %8 : tensor<4x8xf16>, tensor<i64>
    }
    ```
  }];
  let dependentDialects = ["::tenon::stablehlo::StableHLODialect",
                           "::tenon::step::StepDialect"];
}

def ExpandStochasticRoundingPass : Pass<"precision-expand-stochastic-rounding", "::mlir::func::FuncOp"> {
  let summary = "write stochastic rounding as operations on whole numbers";
  let description = [{
    Writes `step.stochastic_round` as plain operations, for a compiler that does
    not know it, with the same bits.

    ```mlir
    // before
    func.func @main(%x: tensor<4x6xf32>, %step: tensor<ui32>) -> tensor<4x6xbf16> {
      %key = stablehlo.constant dense<[1, 2]> : tensor<2xui32>
      %0 = step.stochastic_round %x, %step, %key : (tensor<4x6xf32>, tensor<ui32>, tensor<2xui32>) -> tensor<4x6xbf16>
      return %0 : tensor<4x6xbf16>
    }
    // after
    func.func @main(%arg0: tensor<4x6xf32>, %arg1: tensor<ui32>) -> tensor<4x6xbf16> {
      %c = stablehlo.constant dense<[1, 2]> : tensor<2xui32>
      %0 = stablehlo.slice %c [0:1] : (tensor<2xui32>) -> tensor<1xui32>
      %1 = stablehlo.reshape %0 : (tensor<1xui32>) -> tensor<ui32>
      %2 = stablehlo.xor %1, %arg1 : tensor<ui32>
      %c_0 = stablehlo.constant dense<17> : tensor<ui32>
      %3 = stablehlo.shift_right_logical %2, %c_0 : tensor<ui32>
      %4 = stablehlo.xor %2, %3 : tensor<ui32>
      %c_1 = stablehlo.constant dense<3982152891> : tensor<ui32>
      %5 = stablehlo.multiply %4, %c_1 : tensor<ui32>
      %c_2 = stablehlo.constant dense<11> : tensor<ui32>
      %6 = stablehlo.shift_right_logical %5, %c_2 : tensor<ui32>
      %7 = stablehlo.xor %5, %6 : tensor<ui32>
      %c_3 = stablehlo.constant dense<2890668881> : tensor<ui32>
      %8 = stablehlo.multiply %7, %c_3 : tensor<ui32>
      %c_4 = stablehlo.constant dense<15> : tensor<ui32>
      %9 = stablehlo.shift_right_logical %8, %c_4 : tensor<ui32>
      %10 = stablehlo.xor %8, %9 : tensor<ui32>
      %c_5 = stablehlo.constant dense<830770091> : tensor<ui32>
      %11 = stablehlo.multiply %10, %c_5 : tensor<ui32>
      %c_6 = stablehlo.constant dense<14> : tensor<ui32>
      %12 = stablehlo.shift_right_logical %11, %c_6 : tensor<ui32>
      %13 = stablehlo.xor %11, %12 : tensor<ui32>
      %14 = stablehlo.slice %c [1:2] : (tensor<2xui32>) -> tensor<1xui32>
      %15 = stablehlo.reshape %14 : (tensor<1xui32>) -> tensor<ui32>
      %16 = stablehlo.xor %15, %13 : tensor<ui32>
      %17 = stablehlo.shift_right_logical %16, %c_0 : tensor<ui32>
      %18 = stablehlo.xor %16, %17 : tensor<ui32>
      %19 = stablehlo.multiply %18, %c_1 : tensor<ui32>
      %20 = stablehlo.shift_right_logical %19, %c_2 : tensor<ui32>
      %21 = stablehlo.xor %19, %20 : tensor<ui32>
      %22 = stablehlo.multiply %21, %c_3 : tensor<ui32>
      %23 = stablehlo.shift_right_logical %22, %c_4 : tensor<ui32>
      %24 = stablehlo.xor %22, %23 : tensor<ui32>
      %25 = stablehlo.multiply %24, %c_5 : tensor<ui32>
      %26 = stablehlo.shift_right_logical %25, %c_6 : tensor<ui32>
      %27 = stablehlo.xor %25, %26 : tensor<ui32>
      %28 = stablehlo.iota dim = 0 : tensor<24xui32>
      %29 = stablehlo.reshape %28 : (tensor<24xui32>) -> tensor<4x6xui32>
      %30 = stablehlo.broadcast_in_dim %13, dims = [] : (tensor<ui32>) -> tensor<4x6xui32>
      %31 = stablehlo.xor %29, %30 : tensor<4x6xui32>
      %c_7 = stablehlo.constant dense<17> : tensor<4x6xui32>
      %32 = stablehlo.shift_right_logical %31, %c_7 : tensor<4x6xui32>
      %33 = stablehlo.xor %31, %32 : tensor<4x6xui32>
      %c_8 = stablehlo.constant dense<3982152891> : tensor<4x6xui32>
      %34 = stablehlo.multiply %33, %c_8 : tensor<4x6xui32>
      %35 = stablehlo.broadcast_in_dim %27, dims = [] : (tensor<ui32>) -> tensor<4x6xui32>
      %36 = stablehlo.add %34, %35 : tensor<4x6xui32>
      %c_9 = stablehlo.constant dense<11> : tensor<4x6xui32>
      %37 = stablehlo.shift_right_logical %36, %c_9 : tensor<4x6xui32>
      %38 = stablehlo.xor %36, %37 : tensor<4x6xui32>
      %c_10 = stablehlo.constant dense<2890668881> : tensor<4x6xui32>
      %39 = stablehlo.multiply %38, %c_10 : tensor<4x6xui32>
      %c_11 = stablehlo.constant dense<15> : tensor<4x6xui32>
      %40 = stablehlo.shift_right_logical %39, %c_11 : tensor<4x6xui32>
      %41 = stablehlo.xor %39, %40 : tensor<4x6xui32>
      %c_12 = stablehlo.constant dense<830770091> : tensor<4x6xui32>
      %42 = stablehlo.multiply %41, %c_12 : tensor<4x6xui32>
      %c_13 = stablehlo.constant dense<16> : tensor<4x6xui32>
      %43 = stablehlo.shift_right_logical %42, %c_13 : tensor<4x6xui32>
      %44 = stablehlo.bitcast_convert %arg0 : (tensor<4x6xf32>) -> tensor<4x6xui32>
      %c_14 = stablehlo.constant dense<2147483647> : tensor<4x6xui32>
      %45 = stablehlo.and %44, %c_14 : tensor<4x6xui32>
      %c_15 = stablehlo.constant dense<8388607> : tensor<4x6xui32>
      %46 = stablehlo.compare GT, %45, %c_15, UNSIGNED : (tensor<4x6xui32>, tensor<4x6xui32>) -> tensor<4x6xi1>
      %c_16 = stablehlo.constant dense<2147483648> : tensor<4x6xui32>
      %47 = stablehlo.and %44, %c_16 : tensor<4x6xui32>
      %48 = stablehlo.select %46, %44, %47 : tensor<4x6xi1>, tensor<4x6xui32>
      %c_17 = stablehlo.constant dense<2139029504> : tensor<4x6xui32>
      %49 = stablehlo.compare GT, %45, %c_17, UNSIGNED : (tensor<4x6xui32>, tensor<4x6xui32>) -> tensor<4x6xi1>
      %c_18 = stablehlo.constant dense<32768> : tensor<4x6xui32>
      %50 = stablehlo.select %49, %c_18, %43 : tensor<4x6xi1>, tensor<4x6xui32>
      %c_19 = stablehlo.constant dense<2139095040> : tensor<4x6xui32>
      %51 = stablehlo.compare GT, %45, %c_19, UNSIGNED : (tensor<4x6xui32>, tensor<4x6xui32>) -> tensor<4x6xi1>
      %c_20 = stablehlo.constant dense<4194304> : tensor<4x6xui32>
      %52 = stablehlo.or %48, %c_20 : tensor<4x6xui32>
      %53 = stablehlo.add %48, %50 : tensor<4x6xui32>
      %54 = stablehlo.select %51, %52, %53 : tensor<4x6xi1>, tensor<4x6xui32>
      %55 = stablehlo.shift_right_logical %54, %c_13 : tensor<4x6xui32>
      %56 = stablehlo.convert %55 : (tensor<4x6xui32>) -> tensor<4x6xui16>
      %57 = stablehlo.bitcast_convert %56 : (tensor<4x6xui16>) -> tensor<4x6xbf16>
      return %57 : tensor<4x6xbf16>
    }
    ```
  }];
  let dependentDialects = ["::tenon::stablehlo::StableHLODialect"];
  let options = [
    Option<"flushSubnormals", "flush-subnormals", "bool", "true",
           "take subnormal numbers as zeros of their sign">,
  ];
}

def VerifyAccumulatorsPass : Pass<"precision-verify-accumulators", "::mlir::ModuleOp"> {
  let summary = "check that every sum is held in f32 or wider";
  let description = [{
    Fails at an operation that adds up floats in 16 bits: a scatter of 16-bit
    elements, which rounds after each update, a reduction of partial sums that
    were rounded to 16 bits, and a loop that carries a 16-bit sum. Products and
    reductions add up in f32 whatever their types are (docs/Forms.md), and a
    library that is described has to do so, too. The form may be any; the driver
    runs this on the device program of a step whose precision it lowered, where
    partial sums that a kernel stores are followed to the kernel that adds them
    up.

    ```mlir
    // refused: 'stablehlo.reduce' adds up in 16 bits
    func.func @main(%x: tensor<8x64x128xf32>) -> tensor<128xf32> {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x64x128xf32>, tensor<f32>) -> tensor<8x128xf32>
      %1 = stablehlo.convert %0 {step.cast} : (tensor<8x128xf32>) -> tensor<8x128xbf16>
      %2 = stablehlo.convert %1 {step.cast} : (tensor<8x128xbf16>) -> tensor<8x128xf32>
      %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x128xf32>, tensor<f32>) -> tensor<128xf32>
      return %3 : tensor<128xf32>
    }
    ```
  }];
}

def WidenToDoublePass : Pass<"precision-widen-to-double", "::mlir::func::FuncOp"> {
  let summary = "compute a step in f64";
  let description = [{
    Makes every f32 of a step an f64: arguments, results, constants and all that
    is between them, also in regions. What the program has in 16 bits stays. A
    bitcast from or to f32 and random numbers stay f32, between conversions, so
    that the same bits give the same numbers. `tenon plan --error` holds lowered
    steps against this one.

    Fails at what has no form in f64: calls of libraries for f32, complex
    numbers, and attention as one operation.

    ```mlir
    // before
    func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
      %half = stablehlo.constant dense<0.5> : tensor<8xf32>
      %0 = stablehlo.multiply %x, %half : tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    // after
    func.func @main(%x: tensor<8xf64>) -> tensor<8xf64> {
      %half = stablehlo.constant dense<0.5> : tensor<8xf64>
      %0 = stablehlo.multiply %x, %half : tensor<8xf64>
      return %0 : tensor<8xf64>
    }
    ```
  }];
  let dependentDialects = ["::tenon::stablehlo::StableHLODialect"];
}

#endif // TENON_PRECISION_PASSES_TD
