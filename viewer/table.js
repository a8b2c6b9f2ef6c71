// SPDX-License-Identifier: MIT
// Rows of tables: what the selected samples, threads, tasks and logs add up to.
import { eachSample } from "./select.js";
import { functionSums, keySums } from "./tree.js";
import { FRAME } from "./model.js";

export const TABLES = {
	function: "Functions",
	line: "Lines",
	image: "Images",
	thread: "Threads",
	process: "Processes",
	label: "Labels",
	event: "Events",
	type: "Task types",
	task: "Tasks",
	log: "Logs",
};

function frameRows(sums, name, extra) {
	const out = [];
	for (let i = 0; i < sums.total.length; i++)
		if (sums.total[i])
			out.push({
				key: i,
				name: name(i),
				self: sums.self[i],
				total: sums.total[i],
				...extra(i),
			});
	return out;
}

// The root of stacks that were cut is no function, line or image.
const isReal = model => r => r.fn === undefined || !(model.fnFlags[r.fn] & FRAME.TRUNCATED);

function functionRows(model, picked) {
	const flags = model.fnFlags;
	return frameRows(
		functionSums(model, picked.self),
		f => model.functionName(f),
		f => ({ fn: f, where: model.imageName(f), flags: flags[f] }),
	);
}

// Frames of one file and line, whatever function they are of.
function lineRows(model, picked) {
	const keys = new Map(),
		of = new Uint32Array(model.nodes),
		names = [],
		places = [];
	const frameKey = Uint32Array.from(model.frFunction, (fn, i) => {
		const file = model.texts[model.frFile[i]],
			name = file
				? `${file}:${model.frLine[i]}`
				: `${model.functionName(fn)} (no line)`;
		if (!keys.has(name)) {
			keys.set(name, keys.size);
			names.push(name);
			places.push({ fn, file, line: model.frLine[i] });
		}
		return keys.get(name);
	});
	for (let i = 1; i < model.nodes; i++) of[i] = frameKey[model.ndFrame[i]];
	return frameRows(
		keySums(model, picked.self, of, keys.size),
		k => names[k],
		k => ({
			fn: places[k].fn,
			file: places[k].file,
			line: places[k].line,
			where: model.functionName(places[k].fn),
		}),
	);
}

function imageRows(model, picked) {
	const of = new Uint32Array(model.nodes);
	for (let i = 1; i < model.nodes; i++) of[i] = model.fnImage[model.nodeFn[i]];
	return frameRows(
		keySums(model, picked.self, of, model.texts.length),
		t => model.texts[t],
		() => ({ where: "" }),
	).filter(r => r.name !== "[truncated]");
}

function sampleRows(model, sel, keyOf, row) {
	const sums = new Map();
	eachSample(model, sel, (i, weight) => {
		const key = keyOf(i),
			s = sums.get(key);
		if (s) {
			s.self += weight;
			s.samples += model.sCount[i];
		} else {
			sums.set(key, { self: weight, samples: model.sCount[i] });
		}
	});
	return [...sums].map(([key, s]) => ({ key, ...s, total: s.self, ...row(key) }));
}

// A thread under two names is two, as coati report has it.
function threadRows(model, sel) {
	return sampleRows(
		model,
		sel,
		i => model.sThread[i],
		pt => {
			const t = model.ptThread[pt];
			return {
				name: `${model.texts[model.ptComm[pt]]} ${model.threadTid[t]}`,
				where: model.processName(t),
				thread: model.threadKey(t),
			};
		},
	);
}

function labelRows(model, sel, key) {
	const value = model.labels.map(set => {
		for (let n = 0; n < set.length; n += 2)
			if (model.texts[set[n]] === key) return model.texts[set[n + 1]];
		return "";
	});
	return sampleRows(
		model,
		sel,
		i => value[model.sLabels[i]],
		v => ({ name: v || "(without)", where: key, label: v ? `${key}=${v}` : "" }),
	);
}

export function labelKeys(model) {
	return model.once("label keys", () => {
		const out = new Set();
		for (const set of model.labels)
			for (let n = 0; n < set.length; n += 2) out.add(model.texts[set[n]]);
		return [...out].sort();
	});
}

function typeRows(model) {
	return model.meta.types.map((t, i) => ({
		key: i,
		name: t.name,
		where: t.region ? "region" : "task",
		count: t.count,
		p50: t.p50,
		p90: t.p90,
		p99: t.p99,
		max: t.max,
		sum: t.sum,
		type: t.region ? "" : t.name,
	}));
}

export function inRange(sel, begin, end) {
	return (sel.to === null || begin <= sel.to) && (sel.from === null || end >= sel.from);
}

function taskRows(model, sel) {
	const out = [];
	for (let i = 0; i < model.tasks; i++) {
		const begin = model.taskBegin[i],
			type = model.typeName(model.taskType[i]);
		if (
			inRange(sel, begin, begin + model.taskLength[i]) &&
			(!sel.type || sel.type === type)
		)
			out.push({
				key: i,
				name: `${type} ${model.taskId(i)}`,
				where: "",
				begin,
				took: model.taskLength[i],
				task: i,
			});
	}
	return out;
}

function logRows(model, sel) {
	const out = [];
	for (let i = 0; i < model.logTime.length; i++) {
		const t = model.logThread[i];
		if (
			inRange(sel, model.logTime[i], model.logTime[i]) &&
			(!sel.thread || sel.thread.split(",").includes(model.threadKey(t)))
		)
			out.push({
				key: i,
				name: model.texts[model.logText[i]],
				where: model.threadName(t),
				begin: model.logTime[i],
			});
	}
	return out;
}

export function tableRows(model, sel, by, key) {
	const picked = model.selected(sel);
	switch (by) {
		case "line":
			return lineRows(model, picked).filter(isReal(model));
		case "image":
			return imageRows(model, picked);
		case "thread":
			return threadRows(model, sel);
		case "process":
			return sampleRows(
				model,
				sel,
				i => model.threadPid[model.ptThread[model.sThread[i]]],
				pid => ({
					name: `${processName(model, pid)} ${pid}`,
					where: "",
					process: String(pid),
				}),
			);
		case "label":
			return labelRows(model, sel, key || labelKeys(model)[0] || "");
		case "event":
			return sampleRows(
				model,
				sel,
				i => model.sEvent[i],
				e => ({
					name: model.events[e].name,
					where: model.events[e].unit,
					event: e,
				}),
			);
		case "type":
			return typeRows(model);
		case "task":
			return taskRows(model, sel);
		case "log":
			return logRows(model, sel);
		default:
			return functionRows(model, picked).filter(isReal(model));
	}
}

function processName(model, pid) {
	for (let i = 0; i < model.threads; i++)
		if (model.threadPid[i] === pid) return model.texts[model.threadProcess[i]];
	return "";
}

// Columns of a table: [key, heading, kind]; kinds: weight, name, count, time, at.
export function tableColumns(by) {
	if (by === "type")
		return [
			["count", "Count", "count"],
			["p50", "p50", "time"],
			["p90", "p90", "time"],
			["p99", "p99", "time"],
			["max", "Max", "time"],
			["sum", "Sum", "time"],
			["name", "Name", "name"],
			["where", "Kind", "text"],
		];
	if (by === "task")
		return [
			["took", "Took", "time"],
			["begin", "Begin", "at"],
			["name", "Task", "name"],
		];
	if (by === "log")
		return [
			["begin", "Time", "at"],
			["name", "Text", "name"],
			["where", "Thread", "text"],
		];
	if (by === "function" || by === "line" || by === "image")
		return [
			["self", "Self", "weight"],
			["total", "Total", "weight"],
			["name", "Name", "name"],
			["where", by === "line" ? "Function" : "Image", "text"],
		];
	return [
		["self", "Weight", "weight"],
		["samples", "Samples", "count"],
		["name", "Name", "name"],
		["where", "Of", "text"],
	];
}

export function sortRows(rows, sort, up) {
	const order = (a, b) => {
		const x = a[sort],
			y = b[sort];
		const c = typeof x === "string" ? x.localeCompare(y) : (y ?? 0) - (x ?? 0);
		return (up ? -c : c) || (b.total ?? 0) - (a.total ?? 0) || a.key - b.key || 0;
	};
	return rows.sort(order);
}
