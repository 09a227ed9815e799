// All views. Each is {name, has(document), draw(place, document, selection)} and draws itself into `place`.

import { attention } from "./views/attention.js";
import { attribution } from "./views/attribution.js";
import { beam } from "./views/beam.js";
import { curves } from "./views/curves.js";
import { gates } from "./views/gates.js";
import { gradients } from "./views/gradients.js";
import { heads } from "./views/heads.js";
import { lens } from "./views/lens.js";
import { positions } from "./views/positions.js";
import { self } from "./views/self.js";
import { phrases, states } from "./views/states.js";

export const VIEWS = [attention, self, heads, gates, gradients, attribution, states, phrases, beam, lens, positions, curves];
