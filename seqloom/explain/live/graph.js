// Runs the graphs of a model, whatever its architecture: nodes in order, tensors by name.
import { OPERATORS } from "./operators.js";
import { pack } from "./packed.js";
import { gateNames, stateNames } from "./recurrent.js";
import { tensor } from "./tensors.js";

export class Graph {
  // `described`: a graph of the live document; `arrays`: all constants, as tensors.
  constructor(described, arrays) {
    this.inputs = described.inputs;
    this.outputs = described.outputs;
    this.recorded = { ...described.recorded }; // name of a recording -> name of the value
    this.constants = new Map(Object.entries(described.constants).map(([name, number]) => [name, arrays[number]]));
    this.nodes = [];
    for (const [operator, inputs, outputs, given] of described.nodes) {
      if (!Object.hasOwn(OPERATORS, operator)) throw new Error(`this page does not know the operator ${operator}`);
      const attributes = given.value?.array === undefined ? given : { ...given, value: arrays[given.value.array] };
      const cells = described.cells[outputs[0]] ?? [];
      const node = { run: OPERATORS[operator], inputs, outputs, attributes, cells };
      for (const name of cells.length ? [...gateNames(operator, cells), ...stateNames(operator, cells)] : []) this.recorded[name] = name;
      if (inputs.every((name) => this.constants.has(name))) compute(node, this.constants);
      else {
        this.nodes.push(node);
        const weights = operator === "MatMul" || operator === "Gemm" ? this.constants.get(inputs[1]) : null;
        if (weights) pack(weights, Boolean(attributes.transB));
      }
    }
  }

  // Tensors by name in, all values by name out. `changes`: name of a recording -> a function that may change its
  // numbers in place as soon as they are known; everything after that is computed from the changed numbers. For a gate
  // of a layer over time it is called once per position, with the position.
  run(feeds, changes = {}) {
    const values = new Map(this.constants);
    for (const name of this.inputs) {
      if (!feeds[name]) throw new Error(`the graph misses its input ${name}`);
      values.set(name, feeds[name]);
    }
    const changed = new Map(
      Object.entries(changes).flatMap(([name, change]) => (this.recorded[name] ? [[this.recorded[name], change]] : [])),
    );
    for (const node of this.nodes) {
      compute(node, values, changes);
      for (const name of changed.size ? node.outputs : []) {
        const change = changed.get(name);
        if (!change) continue;
        const { shape, data } = values.get(name);
        const copy = tensor(shape, data.slice()); // the numbers may be those of another value, seen in another shape
        change(copy);
        values.set(name, copy);
      }
    }
    return values;
  }
}

function compute({ run, inputs, outputs, attributes, cells }, values, changes = {}) {
  const watch = { cells, changes, record: (name, gate) => values.set(name, gate) };
  const made = run(inputs.map((name) => values.get(name)), attributes, outputs.length, watch);
  if (Array.isArray(made)) outputs.forEach((name, i) => values.set(name, made[i]));
  else values.set(outputs[0], made);
}
