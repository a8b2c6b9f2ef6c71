// SPDX-License-Identifier: MIT
import { layout, timeLayout, hitTest, neighbor } from "../flame.js";
import { treeDown, followPath } from "../tree.js";
import { usualState } from "../link.js";
import { sampleModel } from "./build.js";
import { test, equal, ok } from "./tap.js";

const m = sampleModel(),
	tree = treeDown(m, m.selected(usualState()).self);
const boxes = layout(tree, 0, 0.001);

test("boxes of one row never overlap and lie inside of their parent", () => {
	for (let i = 0; i < boxes.node.length; i++)
		for (let k = 0; k < boxes.node.length; k++) {
			if (i === k || boxes.row[i] !== boxes.row[k]) continue;
			ok(
				boxes.x[i] + boxes.w[i] <= boxes.x[k] + 1e-12 ||
					boxes.x[k] + boxes.w[k] <= boxes.x[i] + 1e-12,
			);
		}
	equal(boxes.rows, 5);
});

test("the heaviest is on the left", () => {
	const row = [...boxes.node.keys()]
		.filter(i => boxes.row[i] === 2)
		.sort((a, b) => boxes.x[a] - boxes.x[b]);
	equal(
		row.map(i => m.functionName(tree.fn[boxes.node[i]])),
		["work", "rest"],
	);
});

test("what is narrower than asked for is left out", () => {
	ok(layout(tree, 0, 0.2).node.every(n => tree.total[n] / 60 >= 0.2));
});

test("zoom shows one frame in full width below what calls it", () => {
	const work = followPath(tree, [0, 1]),
		b = layout(tree, work, 0.001),
		at = b.node.indexOf(work);
	equal([b.x[at], b.w[at], b.row[at], b.above], [0, 1, 2, 2]);
	equal(
		layout(tree, work, 0.001, false).row[
			layout(tree, work, 0.001, false).node.indexOf(work)
		],
		0,
	);
});

test("a point is in the box that is drawn there", () => {
	for (let i = 0; i < boxes.node.length; i++)
		equal(hitTest(boxes, boxes.x[i] + boxes.w[i] / 2, boxes.row[i]), i);
	equal(hitTest(boxes, 0.99, 4), -1);
});

test("keys walk to children, parents and neighbors", () => {
	const name = i =>
		i < 0
			? ""
			: tree.fn[boxes.node[i]] < 0
				? "all"
				: m.functionName(tree.fn[boxes.node[i]]);
	let at = neighbor(boxes, -1, "in");
	equal(name(at), "all");
	at = neighbor(boxes, neighbor(boxes, at, "in"), "in");
	equal(name(at), "work");
	equal(name(neighbor(boxes, at, "right")), "rest");
	equal(name(neighbor(boxes, neighbor(boxes, at, "right"), "left")), "work");
	equal(name(neighbor(boxes, at, "out")), "main");
	equal(neighbor(boxes, at, "left"), -1);
});

test("in order of time, neighbors with the same callers are one box", () => {
	const b = timeLayout(
		m,
		[
			[3, 100, 10],
			[3, 110, 10],
			[5, 120, 10],
			[6, 500, 10],
		],
		100,
		510,
		0,
	);
	const wide = [...b.node.keys()].map(i => [
		m.functionName(m.nodeFn[b.node[i]]),
		b.row[i],
		Math.round(b.x[i] * 410),
		Math.round(b.w[i] * 410),
	]);
	ok(wide.some(v => v.join() === "main,0,0,30"));
	ok(wide.some(v => v.join() === "hot,2,0,20"));
	ok(wide.some(v => v.join() === "main,0,400,10"));
	ok(wide.some(v => v.join() === "rest,1,400,10"));
});
