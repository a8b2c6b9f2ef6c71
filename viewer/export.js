// SPDX-License-Identifier: MIT
// What is selected, as files of other tools: folded stacks, speedscope, pprof, the Firefox Profiler
// and Chrome trace events, which Perfetto opens. Weights are whole numbers and add up to the same.
import { eachSample, unitOf } from "./select.js";
import { FRAME } from "./model.js";

export const FORMATS = {
	pprof: ["pprof", ".pb.gz"],
	folded: ["Folded stacks", ".folded"],
	speedscope: ["speedscope", ".speedscope.json"],
	firefox: ["Firefox Profiler", ".firefox.json"],
	perfetto: ["Perfetto (trace events)", ".trace.json"],
};

// Functions of a call path, the outermost first.
function pathOf(model, node) {
	const out = [];
	for (; node > 0; node = model.ndParent[node]) out.unshift(model.nodeFn[node]);
	return out;
}

function weightsByNode(model, sel) {
	const sums = new Map();
	eachSample(model, sel, (i, w) =>
		sums.set(model.sNode[i], (sums.get(model.sNode[i]) ?? 0) + Math.round(w)),
	);
	return sums;
}

// A blank or ";" in a name would end it.
const foldedName = name => name.replace(/[\n\r]/g, "?").replace(/;/g, ":");

export function toFolded(model, sel) {
	const lines = new Map();
	for (const [node, w] of weightsByNode(model, sel)) {
		const key =
			pathOf(model, node)
				.map(f => foldedName(model.functionName(f)))
				.join(";") || "[no stack]";
		lines.set(key, (lines.get(key) ?? 0) + w);
	}
	return [...lines].map(([stack, w]) => `${stack} ${w}\n`).join("");
}

export function toSpeedscope(model, sel) {
	const frames = [],
		number = new Map(),
		samples = [],
		weights = [],
		unit = unitOf(model, sel);
	const frameOf = f => {
		if (!number.has(f)) {
			number.set(f, frames.length);
			frames.push({ name: model.functionName(f), file: model.imageName(f) });
		}
		return number.get(f);
	};
	for (const [node, w] of weightsByNode(model, sel)) {
		samples.push(pathOf(model, node).map(frameOf));
		weights.push(w);
	}
	const total = weights.reduce((a, b) => a + b, 0);
	return JSON.stringify({
		$schema: "https://www.speedscope.app/file-format-schema.json",
		exporter: `coati ${model.meta.version}`,
		name: model.meta.title,
		shared: { frames },
		profiles: [
			{
				type: "sampled",
				name: model.meta.title,
				unit: unit === "ns" ? "nanoseconds" : "none",
				startValue: 0,
				endValue: total,
				samples,
				weights,
			},
		],
	});
}

// ---- protocol buffers, as far as pprof needs them ----

class Proto {
	constructor() {
		this.bytes = [];
	}

	varint(v) {
		for (; v > 127; v = Math.floor(v / 128)) this.bytes.push((v % 128) | 128);
		this.bytes.push(v);
	}

	number(field, v) {
		this.varint(field * 8);
		this.varint(v);
	}

	message(field, bytes) {
		this.varint(field * 8 + 2);
		this.varint(bytes.length);
		for (const b of bytes) this.bytes.push(b);
	}

	packed(field, values) {
		const inner = new Proto();
		for (const v of values) inner.varint(v);
		this.message(field, inner.bytes);
	}
}

const message = fill => {
	const p = new Proto();
	fill(p);
	return p.bytes;
};

// Not compressed yet: locations are functions, one each.
export function toPprof(model, sel) {
	const out = new Proto(),
		texts = [""],
		textOf = new Map([["", 0]]),
		used = new Map(),
		unit = unitOf(model, sel),
		encoder = new TextEncoder();
	const text = t => {
		if (!textOf.has(t)) {
			textOf.set(t, texts.length);
			texts.push(t);
		}
		return textOf.get(t);
	};
	const location = f => {
		if (!used.has(f)) used.set(f, used.size + 1);
		return used.get(f);
	};
	const [type, word] = unit === "ns" ? ["cpu", "nanoseconds"] : ["samples", "count"];
	out.message(
		1,
		message(p => {
			p.number(1, text(type));
			p.number(2, text(word));
		}),
	);
	for (const [node, w] of weightsByNode(model, sel))
		out.message(
			2,
			message(p => {
				p.packed(1, pathOf(model, node).reverse().map(location));
				p.packed(2, [w]);
			}),
		);
	for (const [f, id] of used) {
		out.message(
			4,
			message(p => {
				p.number(1, id);
				p.message(
					4,
					message(line => line.number(1, id)),
				);
			}),
		);
		out.message(
			5,
			message(p => {
				p.number(1, id);
				p.number(2, text(model.functionName(f)));
				p.number(3, text(model.functionName(f)));
				p.number(4, text(model.imageName(f)));
			}),
		);
	}
	for (const t of texts) out.message(6, encoder.encode(t));
	return Uint8Array.from(out.bytes);
}

export async function gzip(bytes) {
	const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"));
	return new Uint8Array(await new Response(stream).arrayBuffer());
}

// ---- with times ----

// Samples by thread: Map(thread, [[time, node, weight], ...]).
function byThread(model, sel) {
	const out = new Map();
	eachSample(model, sel, (i, w) => {
		const t = model.ptThread[model.sThread[i]];
		if (!out.has(t)) out.set(t, []);
		out.get(t).push([model.sTime[i], model.sNode[i], Math.round(w)]);
	});
	return out;
}

// Tables of the processed format, version 60: all threads share frames, functions and stacks.
class FirefoxTables {
	constructor(model) {
		this.model = model;
		this.strings = [];
		this.stringOf = new Map();
		this.funcs = {
			length: 0,
			name: [],
			isJS: [],
			relevantForJS: [],
			resource: [],
			source: [],
			lineNumber: [],
			columnNumber: [],
		};
		this.frames = {
			length: 0,
			address: [],
			inlineDepth: [],
			category: [],
			subcategory: [],
			func: [],
			nativeSymbol: [],
			innerWindowID: [],
			line: [],
			column: [],
		};
		this.stacks = { length: 0, prefix: [], frame: [] };
		this.resources = { length: 0, lib: [], name: [], host: [], type: [] };
		this.stackOf = new Map();
		this.frameOf = new Map();
		this.resourceOf = new Map();
	}

	string(text) {
		if (!this.stringOf.has(text)) {
			this.stringOf.set(text, this.strings.length);
			this.strings.push(text);
		}
		return this.stringOf.get(text);
	}

	resource(image) {
		if (!this.resourceOf.has(image)) {
			push(this.resources, {
				lib: this.resources.length,
				name: this.string(image),
				host: null,
				type: 1,
			});
			this.resourceOf.set(image, this.resources.length - 1);
		}
		return this.resourceOf.get(image);
	}

	frame(f) {
		if (!this.frameOf.has(f)) {
			const { model } = this,
				kernel = model.fnFlags[f] & FRAME.KERNEL;
			push(this.funcs, {
				name: this.string(model.functionName(f)),
				isJS: false,
				relevantForJS: false,
				resource: this.resource(model.imageName(f)),
				source: null,
				lineNumber: null,
				columnNumber: null,
			});
			push(this.frames, {
				address: -1,
				inlineDepth: 0,
				category: kernel ? 2 : 1,
				subcategory: 0,
				func: this.funcs.length - 1,
				nativeSymbol: null,
				innerWindowID: null,
				line: null,
				column: null,
			});
			this.frameOf.set(f, this.frames.length - 1);
		}
		return this.frameOf.get(f);
	}

	stack(node) {
		if (!node) return null;
		if (!this.stackOf.has(node)) {
			const prefix = this.stack(this.model.ndParent[node]);
			push(this.stacks, { prefix, frame: this.frame(this.model.nodeFn[node]) });
			this.stackOf.set(node, this.stacks.length - 1);
		}
		return this.stackOf.get(node);
	}

	value() {
		return {
			stringArray: this.strings,
			stackTable: this.stacks,
			frameTable: this.frames,
			funcTable: this.funcs,
			resourceTable: this.resources,
			nativeSymbols: {
				length: 0,
				libIndex: [],
				address: [],
				name: [],
				functionSize: [],
			},
			sources: { length: 0, uuid: [], filename: [] },
		};
	}
}

// One row of a table of columns.
function push(table, row) {
	for (const [key, value] of Object.entries(row)) table[key].push(value);
	table.length++;
}

function firefoxThread(model, tables, t, list) {
	const samples = { length: 0, weightType: "tracing-ms", stack: [], time: [], weight: [] };
	for (const [time, node, w] of list)
		push(samples, { stack: tables.stack(node), time: time / 1e6, weight: w / 1e6 });
	return {
		name: model.texts[model.threadComm[t]],
		isMainThread: model.threadPid[t] === model.threadTid[t],
		processType: "default",
		pid: String(model.threadPid[t]),
		processName: model.texts[model.threadProcess[t]],
		tid: model.threadTid[t],
		registerTime: model.threadBegin[t] / 1e6,
		unregisterTime: null,
		processStartupTime: 0,
		processShutdownTime: null,
		pausedRanges: [],
		showMarkersInTimeline: true,
		samples,
		markers: {
			length: 0,
			name: [],
			startTime: [],
			endTime: [],
			phase: [],
			category: [],
			data: [],
		},
	};
}

export function toFirefox(model, sel) {
	const tables = new FirefoxTables(model),
		threads = [];
	for (const [t, list] of byThread(model, sel))
		threads.push(firefoxThread(model, tables, t, list));
	const start = model.meta.recorded.wall_ns
		? Number(BigInt(model.meta.recorded.wall_ns) / 1000000n)
		: 0;
	const category = (name, color) => ({ name, color, subcategories: ["Other"] });
	const libs = [...tables.resourceOf.keys()].map(name => ({
		name,
		path: name,
		debugName: name,
		debugPath: name,
		breakpadId: "",
		codeId: null,
		arch: model.meta.recorded.arch,
	}));
	return JSON.stringify({
		meta: {
			interval: 1,
			startTime: start,
			processType: 0,
			product: "coati",
			importedFrom: "coati",
			platform: "Linux",
			stackwalk: 1,
			version: 24,
			preprocessedProfileVersion: 60,
			symbolicated: true,
			usesOnlyOneStackType: true,
			sourceCodeIsNotOnSearchfox: true,
			categories: [
				category("Other", "grey"),
				category("User", "yellow"),
				category("Kernel", "orange"),
			],
			markerSchema: [],
		},
		libs,
		pages: [],
		shared: tables.value(),
		threads,
	});
}

// Regions, tasks and samples as events of Chrome's trace format.
export function toTraceEvents(model, sel) {
	const events = [],
		inside = (b, e) =>
			(sel.to === null || b <= sel.to) && (sel.from === null || e >= sel.from);
	for (let t = 0; t < model.threads; t++)
		events.push({
			ph: "M",
			name: "thread_name",
			pid: model.threadPid[t],
			tid: model.threadTid[t],
			args: { name: model.texts[model.threadComm[t]] },
		});
	for (let i = 0; i < model.regionBegin.length; i++) {
		const t = model.regionThread[i],
			b = model.regionBegin[i],
			d = model.regionLength[i];
		if (inside(b, b + d))
			events.push({
				ph: "X",
				cat: "region",
				name: model.texts[model.regionName[i]],
				ts: b / 1e3,
				dur: d / 1e3,
				pid: model.threadPid[t],
				tid: model.threadTid[t],
			});
	}
	for (let i = 0; i < model.tasks; i++) {
		const b = model.taskBegin[i],
			e = b + model.taskLength[i],
			common = {
				cat: "task",
				name: model.typeName(model.taskType[i]),
				id: model.taskId(i),
				pid: model.taskPid[i],
				tid: model.taskPid[i],
			};
		if (inside(b, e))
			events.push(
				{ ph: "b", ts: b / 1e3, ...common },
				{ ph: "e", ts: e / 1e3, ...common },
			);
	}
	for (const [t, samples] of byThread(model, sel))
		for (const [time, node, w] of samples)
			events.push({
				ph: "i",
				s: "t",
				cat: "sample",
				name: node ? model.functionName(model.nodeFn[node]) : "sample",
				ts: time / 1e3,
				pid: model.threadPid[t],
				tid: model.threadTid[t],
				args: {
					stack: pathOf(model, node)
						.map(f => model.functionName(f))
						.join(" > "),
					weight: w,
				},
			});
	return JSON.stringify({ traceEvents: events, displayTimeUnit: "ns" });
}

export async function exportAs(model, sel, format) {
	switch (format) {
		case "pprof":
			return gzip(toPprof(model, sel));
		case "speedscope":
			return toSpeedscope(model, sel);
		case "firefox":
			return toFirefox(model, sel);
		case "perfetto":
			return toTraceEvents(model, sel);
		default:
			return toFolded(model, sel);
	}
}
