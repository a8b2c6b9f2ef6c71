// SPDX-License-Identifier: MIT
// What is selected, as files of other tools: folded stacks, speedscope, pprof, the Firefox Profiler
// and Chrome trace events, which Perfetto opens. Weights are whole numbers and add up to the same.
import { eachSample, unitOf } from "./select.js";

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

class FirefoxThread {
	constructor(model, thread) {
		this.model = model;
		this.strings = [];
		this.stringOf = new Map();
		this.funcs = {
			name: [],
			isJS: [],
			relevantForJS: [],
			resource: [],
			fileName: [],
			lineNumber: [],
			columnNumber: [],
			length: 0,
		};
		this.frames = {
			address: [],
			inlineDepth: [],
			category: [],
			subcategory: [],
			func: [],
			nativeSymbol: [],
			innerWindowID: [],
			line: [],
			column: [],
			length: 0,
		};
		this.stacks = { frame: [], prefix: [], length: 0 };
		this.stackOf = new Map();
		this.funcOf = new Map();
		this.samples = {
			stack: [],
			time: [],
			weight: [],
			weightType: "tracing-ms",
			length: 0,
		};
		this.thread = thread;
	}

	string(text) {
		if (!this.stringOf.has(text)) {
			this.stringOf.set(text, this.strings.length);
			this.strings.push(text);
		}
		return this.stringOf.get(text);
	}

	frame(f) {
		if (this.funcOf.has(f)) return this.funcOf.get(f);
		const id = this.funcs.length++,
			{ funcs, frames } = this;
		frames.length++;
		funcs.name.push(this.string(this.model.functionName(f)));
		funcs.isJS.push(false);
		funcs.relevantForJS.push(false);
		funcs.resource.push(-1);
		funcs.fileName.push(this.string(this.model.imageName(f)));
		funcs.lineNumber.push(null);
		funcs.columnNumber.push(null);
		for (const [key, v] of [
			["address", -1],
			["inlineDepth", 0],
			["category", 0],
			["subcategory", 0],
			["func", id],
			["nativeSymbol", null],
			["innerWindowID", null],
			["line", null],
			["column", null],
		])
			frames[key].push(v);
		this.funcOf.set(f, id);
		return id;
	}

	stack(node) {
		if (!node) return null;
		if (!this.stackOf.has(node)) {
			const prefix = this.stack(this.model.ndParent[node]);
			this.stacks.frame.push(this.frame(this.model.nodeFn[node]));
			this.stacks.prefix.push(prefix);
			this.stackOf.set(node, this.stacks.length++);
		}
		return this.stackOf.get(node);
	}

	add(time, node, weight) {
		this.samples.stack.push(this.stack(node));
		this.samples.time.push(time / 1e6);
		this.samples.weight.push(weight / 1e6);
		this.samples.length++;
	}

	value() {
		const { model, thread } = this;
		return {
			processType: "default",
			processStartupTime: 0,
			processShutdownTime: null,
			registerTime: model.threadBegin[thread] / 1e6,
			unregisterTime: null,
			pausedRanges: [],
			name: model.texts[model.threadComm[thread]],
			isMainThread: model.threadPid[thread] === model.threadTid[thread],
			processName: model.texts[model.threadProcess[thread]],
			pid: String(model.threadPid[thread]),
			tid: model.threadTid[thread],
			samples: this.samples,
			stringArray: this.strings,
			markers: {
				data: [],
				name: [],
				startTime: [],
				endTime: [],
				phase: [],
				category: [],
				length: 0,
			},
			stackTable: this.stacks,
			frameTable: this.frames,
			funcTable: this.funcs,
			resourceTable: { lib: [], name: [], host: [], type: [], length: 0 },
			nativeSymbols: {
				libIndex: [],
				address: [],
				name: [],
				functionSize: [],
				length: 0,
			},
		};
	}
}

export function toFirefox(model, sel) {
	const threads = [];
	for (const [t, samples] of byThread(model, sel)) {
		const f = new FirefoxThread(model, t);
		for (const [time, node, w] of samples) f.add(time, node, w);
		threads.push(f.value());
	}
	const start = model.meta.recorded.wall_ns
		? Number(BigInt(model.meta.recorded.wall_ns) / 1000000n)
		: 0;
	return JSON.stringify({
		meta: {
			interval: 1,
			startTime: start,
			processType: 0,
			product: model.meta.title,
			stackwalk: 1,
			version: 27,
			preprocessedProfileVersion: 49,
			symbolicated: true,
			markerSchema: [],
			categories: [{ name: "Other", color: "grey", subcategories: ["Other"] }],
			importedFrom: `coati ${model.meta.version}`,
		},
		libs: [],
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
