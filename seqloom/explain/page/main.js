// The single file without a model in it.

import { start } from "./start.js";

start();
