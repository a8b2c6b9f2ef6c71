// SPDX-License-Identifier: MIT
// What stands below each other on the timeline: CPUs, tasks, processes with their threads,
// resources, counters. A track has a kind, a label, a height and lanes of things.
import { Lane, laneOf, spread } from "./timeline.js";

export const ROW = {
	load: 46,
	head: 24,
	cpu: 16,
	state: 13,
	sample: 6,
	slice: 16,
	mark: 12,
	counter: 38,
};
const REGION_ROWS = 8,
	TASK_ROWS = 5;

// Numbers of things by a key, each list in the order in which they come.
function groupBy(n, keys, keyOf) {
	const counts = new Uint32Array(keys + 1);
	for (let i = 0; i < n; i++) counts[keyOf(i) + 1]++;
	for (let k = 0; k < keys; k++) counts[k + 1] += counts[k];
	const at = counts.slice(),
		flat = new Uint32Array(n);
	for (let i = 0; i < n; i++) flat[at[keyOf(i)]++] = i;
	return Array.from({ length: keys }, (_, k) => flat.subarray(counts[k], counts[k + 1]));
}

// What is asked for by the million becomes a plain property when it is first asked for.
function keep(object, name, value) {
	Object.defineProperty(object, name, { value });
	return value;
}

export class Tracks {
	constructor(model) {
		this.model = model;
		this.closed = new Set();
	}

	get samplesOf() {
		const { model } = this;
		return keep(
			this,
			"samplesOf",
			model.once("samples of threads", () =>
				groupBy(
					model.samples,
					model.threads,
					i => model.ptThread[model.sThread[i]],
				),
			),
		);
	}

	get regionsOf() {
		const { model } = this;
		return keep(
			this,
			"regionsOf",
			model.once("regions of threads", () =>
				groupBy(
					model.regionThread.length,
					model.threads,
					i => model.regionThread[i],
				),
			),
		);
	}

	get spansOf() {
		const { model } = this;
		return keep(
			this,
			"spansOf",
			model.once("spans of threads", () => {
				const lists = groupBy(
					model.spanThread.length,
					model.threads,
					i => model.spanThread[i],
				);
				for (const list of lists)
					list.sort(
						(a, b) => model.spanBegin[a] - model.spanBegin[b],
					);
				return lists;
			}),
		);
	}

	get taskOfSpan() {
		const { model } = this;
		return keep(
			this,
			"taskOfSpan",
			model.once("tasks of spans", () => {
				const out = new Uint32Array(model.spanThread.length);
				for (let t = 0; t < model.tasks; t++)
					out.fill(t, model.spanFirst[t], model.spanFirst[t + 1]);
				return out;
			}),
		);
	}

	get threadOfState() {
		const { model } = this;
		return keep(
			this,
			"threadOfState",
			model.once("threads of states", () => {
				const out = new Uint32Array(model.stateBegin.length);
				for (let t = 0; t + 1 < model.stateFirst.length; t++)
					out.fill(t, model.stateFirst[t], model.stateFirst[t + 1]);
				return out;
			}),
		);
	}

	// Logs and marks of a thread: numbers below the count of logs are logs.
	get marksOf() {
		const { model } = this;
		return keep(
			this,
			"marksOf",
			model.once("marks of threads", () => {
				const logs = model.logTime.length,
					all = logs + model.markTime.length;
				const lists = groupBy(all, model.threads, i =>
					i < logs ? model.logThread[i] : model.markThread[i - logs],
				);
				for (const list of lists)
					list.sort((a, b) => this.markTime(a) - this.markTime(b));
				return lists;
			}),
		);
	}

	markTime(i) {
		const { model } = this,
			logs = model.logTime.length;
		return i < logs ? model.logTime[i] : model.markTime[i - logs];
	}

	// Which thread ran on a CPU when.
	get cpus() {
		const { model } = this;
		return model.once("cpu lanes", () => {
			const running = model.meta.states.indexOf("running"),
				n = model.stateBegin.length,
				lists = [];
			for (let i = 0; i < n; i++)
				if (model.stateKind[i] === running && model.stateCpu[i])
					(lists[model.stateCpu[i] - 1] ??= []).push(i);
			return lists.map(list =>
				Uint32Array.from(list).sort(
					(a, b) => model.stateBegin[a] - model.stateBegin[b],
				),
			);
		});
	}

	// All tracks from top to bottom; those of closed groups are left out.
	list() {
		const out = [{ kind: "load", label: "CPUs in use", height: ROW.load }];
		this.addCpus(out);
		this.addTasks(out);
		this.addProcesses(out);
		this.addResources(out);
		this.addCounters(out);
		let y = 0;
		for (const t of out) {
			t.y = y;
			y += t.height + (t.kind === "head" ? 0 : 3);
		}
		return out;
	}

	head(out, id, label, extra = {}) {
		out.push({
			kind: "head",
			id,
			label,
			height: ROW.head,
			closed: this.closed.has(id),
			...extra,
		});
		return !this.closed.has(id);
	}

	addCpus(out) {
		const { model } = this;
		if (!model.meta.timeline?.switches || !this.cpus.some(Boolean)) return;
		if (!this.head(out, "cpus", "CPUs")) return;
		this.cpus.forEach((list, cpu) => {
			const lane = model.once(`lane of CPU ${cpu}`, () => {
				const begins = Float64Array.from(list, i => model.stateBegin[i]),
					ends = model.stateEnds;
				return new Lane(
					begins,
					Float64Array.from(list, i => ends[i]),
					{ ids: list },
				);
			});
			out.push({
				kind: "cpu",
				cpu,
				label: `CPU ${cpu}`,
				height: ROW.cpu,
				lanes: [
					{
						kind: "run",
						lane,
						top: 0,
						height: ROW.cpu,
					},
				],
			});
		});
	}

	addTasks(out) {
		const { model } = this;
		if (!model.tasks || !this.head(out, "tasks", "Tasks")) return;
		const lists = model.once("task rows", () =>
			groupBy(model.tasks, model.meta.types.length, i => model.taskType[i]).map(
				l =>
					spread(
						l
							.slice()
							.sort(
								(a, b) =>
									model.taskBegin[a] -
									model.taskBegin[b],
							),
						model.taskBegin,
						model.taskLength,
						TASK_ROWS,
					),
			),
		);
		lists.forEach(({ lists: rows, left }, type) => {
			if (!rows.length) return;
			out.push({
				kind: "tasks",
				type,
				label: model.typeName(type),
				note: left ? `${left} more at the same time` : "",
				height: rows.length * ROW.slice,
				lanes: rows.map((list, r) => ({
					kind: "task",
					lane: model.once(`lane of tasks ${type} ${r}`, () =>
						laneOf(list, model.taskBegin, model.taskLength),
					),
					top: r * ROW.slice,
					height: ROW.slice - 1,
				})),
			});
		});
	}

	addProcesses(out) {
		const { model } = this,
			byPid = new Map();
		for (let t = 0; t < model.threads; t++) {
			if (!this.isShown(t)) continue;
			if (!byPid.has(model.threadPid[t])) byPid.set(model.threadPid[t], []);
			byPid.get(model.threadPid[t]).push(t);
		}
		for (const [pid, threads] of byPid)
			if (this.head(out, `p${pid}`, model.processName(threads[0]), { pid }))
				for (const t of threads) this.addThread(out, t);
	}

	// Threads that only woke others have nothing to show.
	isShown(t) {
		const { model } = this;
		return (
			model.stateFirst[t + 1] > model.stateFirst[t] ||
			this.samplesOf[t].length ||
			this.regionsOf[t].length ||
			this.marksOf[t].length
		);
	}

	addThread(out, t) {
		const { lanes, height } = this.model.once(`lanes of thread ${t}`, () =>
			this.lanesOf(t),
		);
		out.push({
			kind: "thread",
			thread: t,
			label: this.model.threadName(t),
			height: Math.max(height, 16),
			lanes,
		});
	}

	lanesOf(t) {
		const { model } = this,
			lanes = [];
		let height = 0;
		const add = (kind, lane, rowHeight) => {
			lanes.push({ kind, lane, top: height, height: rowHeight - 1 });
			height += rowHeight;
		};
		const first = model.stateFirst[t] ?? 0,
			count = (model.stateFirst[t + 1] ?? 0) - first;
		if (count)
			add(
				"state",
				new Lane(model.stateBegin, model.stateEnds, { first, count }),
				ROW.state,
			);
		if (this.samplesOf[t].length)
			add("sample", laneOf(this.samplesOf[t], model.sTime), ROW.sample);
		if (this.spansOf[t]?.length)
			add(
				"span",
				laneOf(this.spansOf[t], model.spanBegin, model.spanLength),
				ROW.slice,
			);
		this.addRegions(t, add);
		if (this.marksOf[t].length) {
			const times = Float64Array.from(this.marksOf[t], i => this.markTime(i));
			add("mark", new Lane(times, times, { ids: this.marksOf[t] }), ROW.mark);
		}
		return { lanes, height };
	}

	addRegions(t, add) {
		const { model } = this,
			list = this.regionsOf[t],
			rows = [];
		for (const i of list)
			if (model.regionDepth[i] < REGION_ROWS)
				(rows[model.regionDepth[i]] ??= []).push(i);
		for (const row of rows)
			if (row)
				add(
					"region",
					laneOf(
						Uint32Array.from(row),
						model.regionBegin,
						model.regionLength,
					),
					ROW.slice,
				);
	}

	addResources(out) {
		const { model } = this;
		if (!model.things.resources.length || !this.head(out, "resources", "Resources"))
			return;
		groupBy(
			model.stBegin.length,
			model.things.resources.length,
			i => model.stResource[i],
		).forEach((list, r) => {
			const thing = model.things.resources[r];
			if (list.length)
				out.push({
					kind: "resource",
					label: thing.name.startsWith(thing.type)
						? thing.name
						: `${thing.type} ${thing.name}`,
					height: ROW.slice,
					lanes: [
						{
							kind: "resource",
							lane: laneOf(
								list,
								model.stBegin,
								model.stLength,
							),
							top: 0,
							height: ROW.slice - 1,
						},
					],
				});
		});
	}

	addCounters(out) {
		const { model } = this;
		if (!model.things.counters.length || !this.head(out, "counters", "Counters"))
			return;
		groupBy(
			model.counterTime.length,
			model.things.counters.length,
			i => model.counterWhich[i],
		).forEach((list, c) => {
			const thing = model.things.counters[c];
			if (list.length)
				out.push({
					kind: "counter",
					label: thing.name,
					unit: thing.unit,
					height: ROW.counter,
					points: list,
				});
		});
	}

	// Flows: from each step to the next of the same number.
	get flows() {
		const { model } = this;
		return model.once("flows", () => {
			const last = new Map(),
				out = [];
			for (let i = 0; i < model.flowTime.length; i++) {
				const id = model.flowHigh[i] * 4294967296 + model.flowLow[i],
					before = last.get(id);
				if (before !== undefined && model.flowPhase[i] > 0)
					out.push([
						model.flowTime[before],
						model.flowThread[before],
						model.flowTime[i],
						model.flowThread[i],
					]);
				last.set(id, i);
			}
			return out.sort((a, b) => a[0] - b[0]);
		});
	}
}
