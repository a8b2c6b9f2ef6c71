// SPDX-License-Identifier: MIT
// Which samples are selected, and what they add up to. A selection is a part of the page's state:
// mode, event, from, to, thread, process, cpu, label, type (of tasks), task. Times are inclusive, as
// those of coati report --time; time off CPUs counts as far as it lies inside.

// Spans of one task by thread: sorted begins and ends.
function spansOf(model, task) {
	const out = new Map();
	for (let i = model.spanFirst[task]; i < model.spanFirst[task + 1]; i++) {
		const thread = model.spanThread[i];
		if (!out.has(thread)) out.set(thread, []);
		out.get(thread).push([
			model.spanBegin[i],
			model.spanBegin[i] + model.spanLength[i],
		]);
	}
	return out;
}

// A test for each label set: has it this key and value?
function labelSets(model, label) {
	const cut = label.indexOf("="),
		key = cut < 0 ? label : label.slice(0, cut),
		value = cut < 0 ? null : label.slice(cut + 1);
	const out = new Uint8Array(model.labels.length);
	model.labels.forEach((set, i) => {
		for (let n = 0; n < set.length; n += 2)
			if (
				model.texts[set[n]] === key &&
				(value === null || model.texts[set[n + 1]] === value)
			)
				out[i] = 1;
	});
	return out;
}

// Events that a selection is about.
export function chosenEvents(model, sel) {
	return model.events.map(
		(e, i) =>
			e.shown &&
			(sel.event === null || sel.event === i) &&
			(sel.mode === "both" || (sel.mode === "off") === e.off_cpu),
	);
}

// In what unit they can be added up: ns, an event's name, or samples.
export function unitOf(model, sel) {
	const seen = new Set();
	const chosen = chosenEvents(model, sel);
	model.eventUsed.forEach((used, i) => {
		if (used && chosen[i]) seen.add(model.events[i].unit);
	});
	return model.counts || seen.size !== 1 ? "samples" : [...seen][0];
}

function threadSet(model, sel) {
	if (!sel.thread && !sel.process) return null;
	const out = new Uint8Array(model.threads);
	for (let i = 0; i < model.threads; i++)
		out[i] =
			(!sel.thread || sel.thread.split(",").includes(model.threadKey(i))) &&
			(!sel.process || sel.process === String(model.threadPid[i]))
				? 1
				: 0;
	return out;
}

// Calls fn(sample, weight) for each that is selected.
export function eachSample(model, sel, fn) {
	const chosen = chosenEvents(model, sel),
		counts = unitOf(model, sel) === "samples";
	const threads = threadSet(model, sel),
		labels = sel.label ? labelSets(model, sel.label) : null;
	const types = sel.type ? labelSets(model, "task=" + sel.type) : null;
	const spans = sel.task !== null && sel.task < model.tasks ? spansOf(model, sel.task) : null;
	const from = sel.from ?? -Infinity,
		to = sel.to ?? Infinity;
	const { sTime, sThread, sEvent, sLabels, sCpu, sWeight, sCount, ptThread } = model;
	for (let i = 0; i < sTime.length; i++) {
		const e = sEvent[i];
		if (!chosen[e]) continue;
		const time = sTime[i],
			thread = ptThread[sThread[i]];
		if (threads && !threads[thread]) continue;
		if (sel.cpu !== null && sCpu[i] !== sel.cpu + 1) continue;
		if (labels && !labels[sLabels[i]]) continue;
		if (types && !types[sLabels[i]]) continue;
		let weight = counts ? sCount[i] : sWeight[i];
		if (model.events[e].off_cpu) {
			const end = time + sWeight[i];
			const inside = Math.min(end, to) - Math.max(time, from);
			if (from !== -Infinity || to !== Infinity) {
				if (inside <= 0) continue;
				if (!counts) weight = inside;
			}
			if (spans) {
				const part = overlap(
					spans.get(thread),
					Math.max(time, from),
					Math.min(end, to),
				);
				if (!part) continue;
				if (!counts) weight = part;
			}
		} else {
			if (time < from || time > to) continue;
			if (spans && !covers(spans.get(thread), time)) continue;
		}
		fn(i, weight);
	}
}

function covers(list, time) {
	return !!list && list.some(([b, e]) => time >= b && time <= e);
}

function overlap(list, from, to) {
	let sum = 0;
	for (const [b, e] of list ?? []) sum += Math.max(0, Math.min(e, to) - Math.max(b, from));
	return sum;
}

// Weights by call path.
export function selectNodes(model, sel) {
	const self = new Float64Array(model.nodes);
	let total = 0,
		samples = 0;
	eachSample(model, sel, (i, weight) => {
		self[model.sNode[i]] += weight;
		total += weight;
		samples += model.sCount[i];
	});
	return { self, total, samples, unit: unitOf(model, sel) };
}

// Is anything selected that leaves samples out?
export function isNarrow(sel) {
	return (
		sel.from !== null ||
		sel.to !== null ||
		!!sel.thread ||
		!!sel.process ||
		sel.cpu !== null ||
		!!sel.label ||
		!!sel.type ||
		sel.task !== null ||
		sel.event !== null
	);
}
