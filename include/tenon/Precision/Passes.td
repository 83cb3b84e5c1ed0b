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
  let summary = "store values in bf16 where that takes least time";
  let description = [{
    Chooses a format for each value that lies in memory and for each product, by
    a minimum cut over what the formats and the conversions between them take on
    the machine (docs/Rationale/Precision.md). The choice is proved cheapest
    before it is carried out. A value that is stored narrow is rounded once,
    where it is made, and widened for whoever computes with it, by conversions
    with the attribute `step.cast`; a product of narrow operands adds up in f32
    and rounds its result once.

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
    Option<"policy", "policy", "std::string", "\"\"",
           "what the user says of formats, as JSON (docs/GettingStarted.md)">,
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
    runs this on the device program of a step whose precision it lowered.

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

#endif // TENON_PRECISION_PASSES_TD
