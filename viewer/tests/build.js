// SPDX-License-Identifier: MIT
// Pages for tests: columns as src/page/columns.c writes them, from arrays.
import { Store } from "../store.js";
import { Model } from "../model.js";

function varint(v, out) {
	let n = BigInt(v);
	for (; n > 127n; n >>= 7n) out.push(Number(n & 127n) | 128);
	out.push(Number(n));
}

export function encode(kind, values) {
	const out = [];
	let last = 0;
	for (const v of values) {
		if (kind === "real") {
			out.push(...new Uint8Array(new Float64Array([v]).buffer));
		} else if (kind === "delta") {
			const d = v - last;
			varint(d < 0 ? -2 * d - 1 : 2 * d, out);
			last = v;
		} else if (kind !== "runs") {
			varint(v, out);
		}
	}
	for (let i = 0, end; kind === "runs" && i < values.length; i = end) {
		for (end = i + 1; end < values.length && values[end] === values[i];) end++;
		varint(2n * BigInt(values[i]) + (end - i > 1 ? 1n : 0n), out);
		if (end - i > 1) varint(end - i, out);
	}
	return Uint8Array.from(out);
}

// { name: [kind, values] } or { name: ["json", value] }.
export function pageBytes(columns) {
	const text = new TextEncoder(),
		parts = [],
		sections = [];
	for (const [name, [kind, values]] of Object.entries(columns)) {
		const bytes =
			kind === "json"
				? text.encode(JSON.stringify(values))
				: encode(kind, values);
		parts.push(bytes);
		sections.push({
			name,
			kind,
			count: kind === "json" ? 0 : values.length,
			size: bytes.length,
		});
	}
	const index = text.encode(JSON.stringify({ schema: "coati.page.v1", sections }));
	const size = new Uint8Array(new Uint32Array([index.length]).buffer);
	return Uint8Array.from([
		...text.encode("coatipg1"),
		...size,
		...index,
		...parts.flatMap(p => [...p]),
	]);
}

export const STATES = [
	"running",
	"futex",
	"read",
	"write",
	"accept",
	"connect",
	"poll",
	"sleep",
	"fault",
	"io",
	"lock",
	"wait",
	"signal",
	"exit",
	"kernel",
	"preempted",
	"runnable",
	"other",
	"unknown",
	"nobody",
	"irq",
];

// Two threads (7/7 and 7/8) and the paths main > work > hot, main > work > work > hot, main > rest,
// and an off-CPU path main > wait. Weights are 10 ns a sample.
export function sampleModel(more = {}) {
	const texts = [
		"",
		"main",
		"work",
		"hot",
		"rest",
		"wait",
		"app",
		"lib.so",
		"app.c",
		"boss",
		"helper",
		"color",
		"red",
		"task",
		"job",
	];
	const columns = {
		meta: [
			"json",
			{
				title: "t.data",
				version: "1",
				begin_ns: "1000",
				length: 1000,
				mode: "on",
				counts: false,
				quality: { line: "", samples: 6, lost: 0, throttled: 0 },
				recorded: { command: "", hostname: "", arch: "", os_release: "" },
				events: [
					{
						name: "cpu-clock",
						unit: "ns",
						off_cpu: false,
						shown: true,
					},
					{ name: "off-cpu", unit: "ns", off_cpu: true, shown: true },
				],
				states: STATES,
				types: [
					{
						name: "job",
						region: false,
						count: 2,
						p50: 100,
						p90: 200,
						p99: 200,
						max: 200,
						sum: 300,
						parts: STATES.map(() => 0),
					},
				],
				thread_parts: [],
				losses: [],
				notes: [],
				findings: [],
				checks: [],
				timeline: { switches: true, clock_error: 5, cpus: 2 },
			},
		],
		texts: ["json", texts],
		labels: ["json", [[], [11, 12], [13, 14]]],
		"fn.name": ["uint", [1, 2, 3, 4, 5]],
		"fn.image": ["uint", [6, 6, 7, 6, 7]],
		"fn.line": ["uint", [1, 10, 20, 30, 0]],
		"fr.function": ["uint", [0, 1, 2, 3, 4, 2]],
		"fr.file": ["uint", [8, 8, 8, 8, 0, 8]],
		"fr.line": ["uint", [2, 11, 21, 31, 0, 22]],
		"fr.flags": ["uint", [0, 0, 1, 0, 2, 0]],
		// 0 root, 1 main, 2 work, 3 hot, 4 work in work, 5 hot there (another line), 6 rest, 7 wait
		"nd.parent": ["delta", [0, 0, 1, 2, 2, 4, 1, 1]],
		"nd.frame": ["delta", [0, 0, 1, 2, 1, 5, 3, 4]],
		"s.time": ["delta", [100, 200, 300, 400, 500, 600, 700]],
		"s.node": ["uint", [3, 3, 5, 6, 2, 7, 3]],
		"s.thread": ["runs", [0, 0, 0, 1, 0, 0, 1]],
		"s.weight": ["runs", [10, 10, 10, 10, 10, 150, 10]],
		"s.count": ["runs", [1, 1, 1, 1, 1, 1, 1]],
		"s.event": ["runs", [0, 0, 0, 0, 0, 1, 0]],
		"s.labels": ["runs", [1, 1, 0, 0, 2, 0, 0]],
		"s.cpu": ["runs", [1, 1, 1, 2, 1, 0, 2]],
		"pt.thread": ["uint", [0, 1]],
		"pt.comm": ["uint", [9, 10]],
		"th.pid": ["delta", [7, 7]],
		"th.tid": ["delta", [7, 8]],
		"th.comm": ["uint", [9, 10]],
		"th.process": ["uint", [9, 9]],
		"th.begin": ["delta", [0, 100]],
		"th.end": ["delta", [1000, 900]],
		"th.states": ["uint", [3, 1]],
		"iv.begin": ["delta", [0, 600, 750, 100]],
		"iv.state": ["uint", [0, 1, 0, 0]],
		"iv.cpu": ["runs", [1, 0, 1, 2]],
		"iv.node": ["uint", [0, 8, 0, 0]],
		"iv.wake": ["delta", [0, 0, 0, 0]],
		"tk.number": ["delta", [0, 1]],
		"tk.low": ["delta", [17, 18]],
		"tk.high": ["delta", [1, 0]],
		"tk.parent": ["delta", [0, 0]],
		"tk.type": ["uint", [0, 0]],
		"tk.pid": ["delta", [7, 7]],
		"tk.begin": ["delta", [150, 400]],
		"tk.length": ["uint", [200, 100]],
		"tk.flags": ["uint", [0, 0]],
		"tk.spans": ["uint", [1, 1]],
		"sp.begin": ["delta", [150, 400]],
		"sp.length": ["uint", [200, 100]],
		"sp.thread": ["uint", [0, 0]],
		"tk.parts": ["uint", [2, 1]],
		"pa.part": ["uint", [0, 1, 0]],
		"pa.ns": ["uint", [150, 50, 100]],
		"rg.thread": ["delta", [0, 0]],
		"rg.begin": ["delta", [150, 160]],
		"rg.length": ["uint", [200, 20]],
		"rg.name": ["uint", [2, 3]],
		"rg.depth": ["uint", [0, 1]],
		"rg.task": ["delta", [1, 1]],
		...more,
	};
	return new Model(new Store(pageBytes(columns)));
}
