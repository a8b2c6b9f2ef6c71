// SPDX-License-Identifier: MIT
// What the data mean: columns by name, with the few derived tables that every view needs. Columns
// that only the timeline needs are decoded when it is first shown.
import { selectNodes } from "./select.js";

export const FRAME = { INLINE: 1, KERNEL: 2, TRUNCATED: 4, OFF_CPU: 8, NO_SYMBOL: 16 };
export const STATE_MIXED = 255;

// A getter that decodes a column once.
const COLUMNS = {
	ids: {
		fnName: "fn.name",
		fnImage: "fn.image",
		fnLine: "fn.line",
		frFunction: "fr.function",
		frFile: "fr.file",
		frLine: "fr.line",
		frFlags: "fr.flags",
		ndParent: "nd.parent",
		ndFrame: "nd.frame",
		sNode: "s.node",
		sThread: "s.thread",
		sEvent: "s.event",
		sLabels: "s.labels",
		sCpu: "s.cpu",
		ptThread: "pt.thread",
		ptComm: "pt.comm",
		threadPid: "th.pid",
		threadTid: "th.tid",
		threadComm: "th.comm",
		threadProcess: "th.process",
		stateKind: "iv.state",
		stateCpu: "iv.cpu",
		stateNode: "iv.node",
		stateWake: "iv.wake",
		regionThread: "rg.thread",
		regionName: "rg.name",
		regionDepth: "rg.depth",
		regionTask: "rg.task",
		logThread: "lg.thread",
		logText: "lg.text",
		taskNumber: "tk.number",
		taskLow: "tk.low",
		taskHigh: "tk.high",
		taskParent: "tk.parent",
		taskType: "tk.type",
		taskPid: "tk.pid",
		taskFlags: "tk.flags",
		spanThread: "sp.thread",
		part: "pa.part",
		wakeNumber: "wk.number",
		waker: "wk.waker",
		woken: "wk.woken",
		wakeState: "wk.state",
		wakeNode: "wk.node",
		counterWhich: "ct.counter",
		stResource: "st.resource",
		stName: "st.name",
		flowLow: "fl.low",
		flowHigh: "fl.high",
		flowPhase: "fl.phase",
		flowThread: "fl.thread",
		markThread: "mk.thread",
		markName: "mk.name",
	},
	times: {
		sTime: "s.time",
		sWeight: "s.weight",
		sCount: "s.count",
		threadBegin: "th.begin",
		threadEnd: "th.end",
		stateBegin: "iv.begin",
		regionBegin: "rg.begin",
		regionLength: "rg.length",
		logTime: "lg.time",
		taskBegin: "tk.begin",
		taskLength: "tk.length",
		spanBegin: "sp.begin",
		spanLength: "sp.length",
		partNs: "pa.ns",
		wakeTime: "wk.time",
		wakeBlocked: "wk.blocked",
		counterTime: "ct.time",
		counterValue: "ct.value",
		stBegin: "st.begin",
		stLength: "st.length",
		flowTime: "fl.time",
		markTime: "mk.time",
	},
	offsets: { stateFirst: "th.states", spanFirst: "tk.spans", partFirst: "tk.parts" },
};

export class Model {
	constructor(store) {
		this.store = store;
		this.meta = store.meta;
		this.texts = store.texts;
		this.labels = store.json("labels") ?? [[]];
		this.things = store.json("things") ?? { counters: [], resources: [] };
		this.sources = store.json("sources") ?? {};
		this.events = this.meta.events;
		this.counts = this.meta.counts;
		this.functions = store.count("fn.name");
		this.nodes = store.count("nd.parent");
		this.samples = store.count("s.time");
		this.threads = store.count("th.pid");
		this.tasks = store.count("tk.begin");
		this.length = this.meta.length || 1;
		this.cache = new Map();
	}

	functionName(f) {
		return this.texts[this.fnName[f]];
	}

	imageName(f) {
		return this.texts[this.fnImage[f]];
	}

	// A function in an address: by its name and image, which outlive this page.
	functionKey(f) {
		return `${this.functionName(f)}@@${this.imageName(f)}`;
	}

	findFunction(key) {
		const keys = this.once("function keys", () => {
			const out = new Map();
			for (let f = 0; f < this.functions; f++) out.set(this.functionKey(f), f);
			return out;
		});
		return keys.get(key) ?? -1;
	}

	// Flags that all frames of a function have.
	get fnFlags() {
		return this.once("function flags", () => {
			const out = new Uint8Array(this.functions).fill(255);
			for (let i = 0; i < this.frFunction.length; i++)
				out[this.frFunction[i]] &= this.frFlags[i];
			return out;
		});
	}

	get nodeFn() {
		return this.once("node functions", () => {
			const out = new Uint32Array(this.nodes);
			for (let i = 1; i < out.length; i++)
				out[i] = this.frFunction[this.ndFrame[i]];
			return out;
		});
	}

	get eventUsed() {
		return this.once("events used", () => {
			const out = this.events.map(() => false);
			for (let i = 0; i < this.sEvent.length; i++) out[this.sEvent[i]] = true;
			return out;
		});
	}

	hasMode(mode) {
		return this.events.some(
			(e, i) => this.eventUsed[i] && e.shown && e.off_cpu === (mode === "off"),
		);
	}

	threadKey(i) {
		return `${this.threadPid[i]}/${this.threadTid[i]}`;
	}

	threadName(i) {
		return `${this.texts[this.threadComm[i]] || "thread"} ${this.threadTid[i]}`;
	}

	processName(i) {
		return `${this.texts[this.threadProcess[i]] || "process"} ${this.threadPid[i]}`;
	}

	findThread(key) {
		for (let i = 0; i < this.threads; i++) if (this.threadKey(i) === key) return i;
		return -1;
	}

	stateName(kind) {
		return kind === STATE_MIXED
			? "many short states"
			: (this.meta.states[kind] ?? "unknown");
	}

	taskId(i) {
		return ((BigInt(this.taskHigh[i]) << 32n) | BigInt(this.taskLow[i])).toString();
	}

	typeName(type) {
		return this.meta.types[type]?.name ?? "task";
	}

	// When each state ends: with the next one, or with its thread.
	get stateEnds() {
		return this.once("state ends", () => {
			const out = new Float64Array(this.stateBegin.length);
			out.set(this.stateBegin.subarray(1));
			for (let t = 0; t + 1 < this.stateFirst.length; t++)
				if (this.stateFirst[t + 1] > this.stateFirst[t])
					out[this.stateFirst[t + 1] - 1] = this.threadEnd[t];
			return out;
		});
	}

	stateEnd(i) {
		return this.stateEnds[i];
	}

	once(key, make) {
		if (!this.cache.has(key)) this.cache.set(key, make());
		return this.cache.get(key);
	}

	// Weights of the selected samples; the last few selections are kept.
	selected(sel) {
		const key = JSON.stringify([
			sel.mode,
			sel.event,
			sel.from,
			sel.to,
			sel.thread,
			sel.process,
			sel.cpu,
			sel.label,
			sel.type,
			sel.task,
		]);
		this.selections ??= new Map();
		if (!this.selections.has(key)) {
			if (this.selections.size > 8)
				this.selections.delete(this.selections.keys().next().value);
			this.selections.set(key, selectNodes(this, sel));
		}
		return this.selections.get(key);
	}
}

// A column becomes a plain property when it is first asked for: loops ask for it by the million.
for (const [how, columns] of Object.entries(COLUMNS))
	for (const [property, name] of Object.entries(columns))
		Object.defineProperty(Model.prototype, property, {
			get() {
				const value = this.store[how](name);
				Object.defineProperty(this, property, { value });
				return value;
			},
		});
