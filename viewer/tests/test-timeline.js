// SPDX-License-Identifier: MIT
import { Lane, lowerBound, spread, rulerStep, clampWindow, zoomWindow } from "../timeline.js";
import { Tracks } from "../tracks.js";
import { sampleModel } from "./build.js";
import { test, equal, ok } from "./tap.js";

// Many short things and one long one, as seen from afar.
function crowd() {
	const begin = [],
		end = [];
	for (let i = 0; i < 5000; i++) {
		begin.push(i * 10);
		end.push(i * 10 + 6);
	}
	begin.push(50003);
	end.push(90000);
	for (let i = 0; i < 5000; i++) {
		begin.push(90000 + i * 10);
		end.push(90000 + i * 10 + 6);
	}
	return new Lane(Float64Array.from(begin), Float64Array.from(end));
}

test("searches find the first that is not below", () => {
	const v = [1, 3, 3, 9, 27];
	for (let x = 0; x < 30; x++) {
		const want = v.findIndex(y => y >= x),
			expect = want < 0 ? v.length : want;
		equal(
			lowerBound(v.length, x, i => v[i]),
			expect,
		);
	}
});

test("from afar a lane gives few things, and what is long is among them", () => {
	const seen = [];
	crowd().visible(0, 140000, 140, (id, begin, end, many) =>
		seen.push([id, begin, end, many]),
	);
	ok(seen.length <= 1010, `${seen.length}`);
	ok(seen.some(([id]) => id === 5000));
	equal(seen.reduce((sum, v) => sum + v[3], 0) >= 10001, true);
});

test("a thing that begins inside of a crowded pixel and is long is drawn", () => {
	const lane = new Lane(Float64Array.of(0, 3, 5), Float64Array.of(2, 4, 900)),
		seen = [];
	lane.visible(0, 1000, 10, id => seen.push(id));
	ok(seen.includes(2));
});

test("near, every thing is drawn as it is", () => {
	const seen = [];
	crowd().visible(100, 200, 1, (id, begin, end) => seen.push([begin, end]));
	equal(seen[0], [100, 106]);
	equal(seen.length, 11);
});

test("a lane knows what lies at a time, near it, before and behind it", () => {
	const lane = crowd();
	equal(
		[
			lane.at(103),
			lane.at(108),
			lane.at(108, 3),
			lane.at(60000),
			lane.next(100, false),
			lane.next(100, true),
		],
		[10, -1, 10, 5000, 11, 9],
	);
});

test("what overlaps is spread over rows, and what finds none is counted", () => {
	const begin = [0, 5, 6, 20, 21],
		length = [10, 10, 10, 10, 10];
	const { lists, left } = spread([0, 1, 2, 3, 4], begin, length, 2);
	equal(
		lists.map(l => [...l]),
		[
			[0, 3],
			[1, 4],
		],
	);
	equal(left, 1);
});

test("rulers have round steps and windows stay inside", () => {
	equal(
		[rulerStep(1e9, 10), rulerStep(1.93e9, 10), rulerStep(7, 10), rulerStep(3.6e12, 8)],
		[1e8, 2e8, 1, 5e11],
	);
	equal(clampWindow(-50, 50, 1000), [0, 100]);
	equal(clampWindow(990, 1090, 1000), [900, 1000]);
	equal(clampWindow(500, 501, 1000), [500, 520]);
	equal(zoomWindow(0, 1000, 250, 0.5, 1000), [125, 625]);
	equal(zoomWindow(125, 625, 250, 100, 1000), [0, 1000]);
});

test("tracks are CPUs, tasks, and processes with their threads", () => {
	const t = new Tracks(sampleModel()),
		list = t.list();
	equal(
		list.map(x => [x.kind, x.label]),
		[
			["load", "CPUs in use"],
			["head", "CPUs"],
			["cpu", "CPU 0"],
			["cpu", "CPU 1"],
			["head", "Tasks"],
			["tasks", "job"],
			["head", "boss 7"],
			["thread", "boss 7"],
			["thread", "helper 8"],
		],
	);
	equal(
		list[7].lanes.map(l => l.kind),
		["state", "sample", "span", "region", "region"],
	);
	for (let i = 1; i < list.length; i++) ok(list[i].y >= list[i - 1].y + list[i - 1].height);
	t.closed.add("p7");
	equal(t.list().length, 7);
});

test("a CPU shows who ran there when", () => {
	const t = new Tracks(sampleModel()),
		cpu0 = t.list()[2].lanes[0].lane,
		seen = [];
	cpu0.visible(0, 1000, 1, (id, begin, end) => seen.push([t.threadOfState[id], begin, end]));
	equal(seen, [
		[0, 0, 600],
		[0, 750, 1000],
	]);
});

test("flows join the steps of one number", () => {
	const m = sampleModel({
		"fl.low": ["delta", [5, 6, 5, 5]],
		"fl.high": ["delta", [0, 0, 0, 0]],
		"fl.phase": ["uint", [0, 0, 1, 2]],
		"fl.thread": ["uint", [0, 0, 1, 0]],
		"fl.time": ["delta", [10, 15, 20, 30]],
	});
	equal(new Tracks(m).flows, [
		[10, 0, 20, 1],
		[20, 1, 30, 0],
	]);
});
