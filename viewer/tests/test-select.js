// SPDX-License-Identifier: MIT
import { selectNodes, unitOf, isNarrow, eachSample } from "../select.js";
import { cpuLoad, addToBins } from "../load.js";
import { usualState } from "../link.js";
import { sampleModel } from "./build.js";
import { test, equal, ok } from "./tap.js";

const m = sampleModel();
const sum = patch => selectNodes(m, { ...usualState(), ...patch }).total;

test("on CPU, off CPU and both are sums of their events", () => {
	equal([sum({}), sum({ mode: "off" }), sum({ mode: "both" })], [60, 150, 210]);
});

test("times are inclusive", () => {
	equal(
		[
			sum({ from: 200, to: 400 }),
			sum({ from: 201, to: 399 }),
			sum({ from: 700 }),
			sum({ to: 100 }),
		],
		[30, 10, 10, 10],
	);
});

test("time off CPUs counts as far as it lies inside", () => {
	equal(
		[
			sum({ mode: "off", from: 650, to: 700 }),
			sum({ mode: "off", from: 700, to: 5000 }),
			sum({ mode: "off", to: 600 }),
		],
		[50, 50, 0],
	);
});

test("threads, processes, CPUs, labels and task types choose samples", () => {
	equal(
		[
			sum({ thread: "7/8" }),
			sum({ thread: "7/7,7/8" }),
			sum({ process: "7" }),
			sum({ process: "8" }),
			sum({ cpu: 1 }),
			sum({ label: "color=red" }),
			sum({ label: "color" }),
			sum({ label: "color=blue" }),
			sum({ type: "job" }),
		],
		[20, 60, 60, 0, 20, 20, 20, 0, 10],
	);
});

test("a task has the samples of its spans alone", () => {
	equal([sum({ task: 0 }), sum({ task: 1 }), sum({ task: 0, mode: "off" })], [20, 10, 0]);
});

test("weights of different things are counted instead of added", () => {
	const mixed = sampleModel();
	mixed.events[1] = { name: "page-faults", unit: "page-faults", off_cpu: false, shown: true };
	equal(unitOf(mixed, usualState()), "samples");
	equal(selectNodes(mixed, usualState()).total, 7);
	equal(selectNodes(mixed, { ...usualState(), event: 1 }).unit, "page-faults");
});

test("what is not shown is never counted", () => {
	const hidden = sampleModel();
	hidden.events[0].shown = false;
	equal(selectNodes(hidden, usualState()).total, 0);
});

test("a selection knows whether it leaves something out", () => {
	ok(!isNarrow(usualState()));
	ok(isNarrow({ ...usualState(), cpu: 0 }) && isNarrow({ ...usualState(), task: 0 }));
});

test("every sample is visited once, in order of time", () => {
	const seen = [];
	eachSample(m, { ...usualState(), mode: "both" }, i => seen.push(i));
	equal(seen, [0, 1, 2, 3, 4, 5, 6]);
});

test("CPU use is running time by bins", () => {
	// thread 7 runs 0-600 and 750-1000, thread 8 runs 100-900
	equal(
		[...cpuLoad(m, 0, 1000, 2)].map(v => +v.toFixed(3)),
		[1.8, 1.5],
	);
	const bins = new Float64Array(3);
	addToBins(bins, 10, 10, 5, 25);
	equal([...bins], [10, 5, 0]);
});
