// SPDX-License-Identifier: MIT
import "./test-store.js";
import "./test-text.js";
import "./test-select.js";
import "./test-tree.js";
import "./test-flame.js";
import "./test-timeline.js";
import "./test-table.js";
import "./test-export.js";
import "./test-diff.js";
import { runTests } from "./tap.js";

await runTests();
