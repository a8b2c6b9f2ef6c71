// SPDX-License-Identifier: MIT
import {
	toFolded,
	toSpeedscope,
	toPprof,
	toFirefox,
	toTraceEvents,
	exportAs,
	FORMATS,
} from "../export.js";
import { usualState } from "../link.js";
import { sampleModel } from "./build.js";
import { test, equal, ok } from "./tap.js";

const m = sampleModel(),
	all = usualState(),
	both = { ...all, mode: "both" };

// Fields of a protobuf message: [[number, value or bytes], ...].
function fields(bytes) {
	const out = [];
	let at = 0;
	const varint = () => {
		let v = 0,
			scale = 1,
			b;
		do {
			b = bytes[at++];
			v += (b & 127) * scale;
			scale *= 128;
		} while (b > 127);
		return v;
	};
	while (at < bytes.length) {
		const tag = varint(),
			value = tag % 8 === 2 ? varint() : null;
		if (value === null) out.push([tag >> 3, varint()]);
		else {
			out.push([tag >> 3, bytes.slice(at, at + value)]);
			at += value;
		}
	}
	return out;
}

test("folded stacks add up to the selection", () => {
	const lines = toFolded(m, both).trim().split("\n");
	equal(
		lines.reduce((s, l) => s + Number(l.slice(l.lastIndexOf(" ") + 1)), 0),
		210,
	);
	ok(lines.includes("main;work;hot 30"));
	equal(toFolded(m, { ...all, thread: "7/8" }), "main;rest 10\nmain;work;hot 10\n");
});

test("speedscope has the weights and names", () => {
	const s = JSON.parse(toSpeedscope(m, all)),
		p = s.profiles[0];
	equal([p.weights.reduce((a, b) => a + b, 0), p.endValue, p.unit], [60, 60, "nanoseconds"]);
	equal(
		p.samples.every(x => x.every(f => s.shared.frames[f].name)),
		true,
	);
});

test("pprof has the weights, and locations that exist", () => {
	const list = fields(toPprof(m, both)),
		of = n => list.filter(f => f[0] === n).map(f => f[1]);
	const text = of(6).map(b => new TextDecoder().decode(b));
	equal(text[0], "");
	let sum = 0;
	const ids = new Set(of(4).map(b => fields(b).find(f => f[0] === 1)[1]));
	for (const sample of of(2)) {
		// a packed field of numbers below 128 is its bytes
		const [locations, values] = fields(sample).map(f => [...f[1]]);
		ok(locations.length && locations.every(id => ids.has(id)));
		sum += values.reduceRight((v, b) => v * 128 + (b & 127), 0);
	}
	equal(sum, 210);
	ok(text.includes("hot") && text.includes("lib.so"));
});

test("the Firefox Profiler gets every sample at its time", () => {
	const p = JSON.parse(toFirefox(m, all));
	equal(
		p.threads.map(t => [t.tid, t.samples.length]),
		[
			[7, 4],
			[8, 2],
		],
	);
	const { stackTable, frameTable, funcTable, stringArray } = p.shared;
	for (const table of Object.values(p.shared))
		for (const column of Object.values(table))
			if (Array.isArray(column)) equal(column.length, table.length);
	for (const t of p.threads) ok(t.samples.stack.every(s => s < stackTable.length));
	equal(stringArray[funcTable.name[frameTable.func[stackTable.frame[0]]]], "main");
	const sum = p.threads.flatMap(t => t.samples.weight).reduce((a, b) => a + b, 0);
	equal(Math.round(sum * 1e6), 60);
});

test("trace events have regions, tasks and samples", () => {
	const e = JSON.parse(toTraceEvents(m, all)).traceEvents,
		nr = ph => e.filter(x => x.ph === ph).length;
	equal([nr("X"), nr("b"), nr("e"), nr("i"), nr("M")], [2, 2, 2, 6, 2]);
});

test("every format that is offered can be written", async () => {
	for (const format of Object.keys(FORMATS)) ok((await exportAs(m, all, format)).length > 20);
});
