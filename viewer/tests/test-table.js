// SPDX-License-Identifier: MIT
import { tableRows, tableColumns, sortRows, labelKeys } from "../table.js";
import { evidence } from "../findings.js";
import { usualState } from "../link.js";
import { sampleModel } from "./build.js";
import { test, equal, ok } from "./tap.js";

const m = sampleModel();
const rows = (by, patch = {}, key = "") =>
	sortRows(tableRows(m, { ...usualState(), ...patch }, by, key), "self", false).map(r => [
		r.name,
		r.self,
		r.total,
	]);

test("functions and images have self and total", () => {
	equal(rows("function"), [
		["hot", 40, 40],
		["work", 10, 50],
		["rest", 10, 10],
		["main", 0, 60],
	]);
	equal(rows("image"), [
		["lib.so", 40, 40],
		["app", 20, 60],
	]);
});

test("lines are of a file, whatever function they are of", () => {
	equal(rows("line")[0], ["app.c:21", 30, 30]);
	equal(rows("line", { mode: "off" })[0], ["wait (no line)", 150, 150]);
});

test("threads, processes, labels and events add up to the same", () => {
	for (const by of ["thread", "process", "event"])
		equal(
			rows(by).reduce((s, r) => s + r[1], 0),
			60,
		);
	equal(rows("label", {}, "color"), [
		["(without)", 40, 40],
		["red", 20, 20],
	]);
	equal(rows("thread"), [
		["boss 7", 40, 40],
		["helper 8", 20, 20],
	]);
	equal(labelKeys(m), ["color", "task"]);
});

test("tasks of the selected time and type are listed", () => {
	equal(
		tableRows(m, usualState(), "task").map(r => [r.name, r.took]),
		[
			["job 4294967313", 200],
			["job 18", 100],
		],
	);
	equal(
		tableRows(m, { ...usualState(), from: 450 }, "task").map(r => r.name),
		["job 18"],
	);
	equal(tableRows(m, { ...usualState(), type: "other" }, "task").length, 0);
});

test("every column of a table is in its rows", () => {
	for (const by of [
		"function",
		"line",
		"image",
		"thread",
		"process",
		"event",
		"type",
		"task",
	])
		for (const r of tableRows(m, usualState(), by))
			for (const [key] of tableColumns(by))
				ok(r[key] !== undefined, `${by} ${key}`);
});

test("rows are sorted both ways", () => {
	const list = [
		{ key: 0, name: "b", self: 1 },
		{ key: 1, name: "a", self: 2 },
	];
	equal(
		sortRows([...list], "self", false).map(r => r.name),
		["a", "b"],
	);
	equal(
		sortRows([...list], "self", true).map(r => r.name),
		["b", "a"],
	);
	equal(
		sortRows([...list], "name", false).map(r => r.name),
		["a", "b"],
	);
});

test("the evidence of a finding is a state of the page", () => {
	equal(
		evidence(m, {
			kind: "hot-function",
			view: "flame",
			function: "hot",
			image: "lib.so",
		}).fn,
		"hot@@lib.so",
	);
	ok(m.findFunction("hot@@lib.so") >= 0);
	equal(evidence(m, { kind: "long-tail", view: "timeline", task: 1 }).task, 1);
	equal(
		evidence(m, {
			kind: "lock-convoy",
			view: "flame",
			function: "wait",
			image: "lib.so",
			off_cpu: true,
		}).mode,
		"off",
	);
	equal(evidence(m, { kind: "run-queue", view: "timeline", from: 5, to: 9 }).seeTo, 9);
});
