// SPDX-License-Identifier: MIT
// How many CPUs were used when: from scheduler states where there are some, else from samples.
import { lowerBound } from "./timeline.js";

// Adds a stretch of time to bins, in which it counts as far as it lies inside.
export function addToBins(bins, from, step, begin, end) {
	let b = Math.max(0, Math.floor((begin - from) / step));
	for (; b < bins.length; b++) {
		const left = from + b * step,
			right = left + step;
		if (left >= end) return;
		bins[b] += Math.min(end, right) - Math.max(begin, left);
	}
}

// The running states of one thread that reach into a window.
function addRunning(model, thread, running, { bins, from, to, step }) {
	const first = model.stateFirst[thread],
		last = model.stateFirst[thread + 1],
		{ stateBegin, stateKind, stateEnds } = model;
	let i = first + Math.max(0, lowerBound(last - first, from, k => stateBegin[first + k]) - 1);
	for (; i < last && stateBegin[i] < to; i++)
		if (stateKind[i] === running)
			addToBins(bins, from, step, stateBegin[i], stateEnds[i]);
}

// CPUs in use in each of n parts of the time from .. to; null: the recording does not say.
export function cpuLoad(model, from, to, n) {
	const bins = new Float64Array(n),
		step = (to - from) / n;
	if (model.meta.timeline?.switches) {
		const running = model.meta.states.indexOf("running");
		for (let t = 0; t + 1 < model.stateFirst.length; t++)
			addRunning(model, t, running, { bins, from, to, step });
	} else if (model.events.some(e => e.shown && !e.off_cpu && e.unit === "ns")) {
		for (let i = 0; i < model.samples; i++) {
			const e = model.events[model.sEvent[i]],
				w = model.sWeight[i];
			// a sample stands for the time before it
			if (!e.off_cpu && e.unit === "ns")
				addToBins(bins, from, step, model.sTime[i] - w, model.sTime[i]);
		}
	} else {
		return null;
	}
	for (let b = 0; b < n; b++) bins[b] /= step;
	return bins;
}
