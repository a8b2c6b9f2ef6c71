// SPDX-License-Identifier: MIT
import { treeDown, treeUp, functionSums, pathOf, followPath } from "../tree.js";
import { functionLines, shownLines } from "../source.js";
import { usualState } from "../link.js";
import { sampleModel } from "./build.js";
import { test, equal, ok } from "./tap.js";

const m = sampleModel(),
	{ self } = m.selected(usualState());
const MAIN = 0,
	WORK = 1,
	HOT = 2,
	REST = 3;
const show = tree => {
	const out = {};
	for (let i = 0; i < tree.count; i++)
		out[
			pathOf(tree, i)
				.map(f => m.functionName(f))
				.join(">")
		] = [tree.self[i], tree.total[i]];
	return out;
};

test("a tree adds up from the outermost frame", () => {
	equal(show(treeDown(m, self)), {
		"": [0, 60],
		main: [0, 60],
		"main>work": [10, 50],
		"main>work>hot": [30, 30],
		"main>work>work": [0, 10],
		"main>work>work>hot": [10, 10],
		"main>rest": [10, 10],
	});
});

test("an inverted tree adds up from the innermost frame", () => {
	const up = show(treeUp(m, self));
	equal(
		[up[""], up.hot, up["hot>work"], up["hot>work>work"], up.rest],
		[
			[0, 60],
			[0, 40],
			[0, 40],
			[0, 10],
			[0, 10],
		],
	);
});

test("recursion is folded, frames are hidden, stacks are focused", () => {
	equal(show(treeDown(m, self, { fold: true }))["main>work>hot"], [40, 40]);
	const hide = new Uint8Array(m.functions);
	hide[WORK] = 1;
	equal(show(treeDown(m, self, { hide })), {
		"": [0, 60],
		main: [10, 60],
		"main>hot": [40, 40],
		"main>rest": [10, 10],
	});
	equal(show(treeDown(m, self, { focus: REST })), {
		"": [0, 10],
		main: [0, 10],
		"main>rest": [10, 10],
	});
	equal(show(treeUp(m, self, { focus: REST }))[""], [0, 10]);
});

test("callers begin at the innermost frame of a function, callees at its outermost", () => {
	equal(show(treeDown(m, self, { root: WORK }))["work"], [10, 50]);
	equal(show(treeDown(m, self, { root: WORK }))["work>work>hot"], [10, 10]);
	equal(show(treeUp(m, self, { root: WORK }))["work>main"], [40, 40]);
	equal(show(treeUp(m, self, { root: WORK }))["work>work>main"], [10, 10]);
});

test("a stack in which a function occurs twice counts once", () => {
	const sums = functionSums(m, self);
	equal([...sums.self], [0, 10, 40, 10, 0]);
	equal([...sums.total], [60, 50, 40, 10, 0]);
});

test("children are sorted by weight and a path leads back to its node", () => {
	const tree = treeDown(m, self),
		main = followPath(tree, [MAIN]);
	equal(tree.fn[tree.kid[tree.firstKid[main]]], WORK);
	for (let i = 0; i < tree.count; i++) equal(followPath(tree, pathOf(tree, i)), i);
	equal(followPath(tree, [MAIN, REST, HOT]), followPath(tree, [MAIN, REST]));
});

test("a mark is one of all frames of a node", () => {
	const tree = treeDown(m, self, { fold: true });
	const inlined = followPath(treeDown(m, self), [MAIN, WORK, HOT]);
	equal(treeDown(m, self).flags[inlined], 1);
	equal(tree.flags[followPath(tree, [MAIN, WORK, HOT])], 0);
});

test("lines of a function have their own costs", () => {
	const [file] = functionLines(m, self, HOT);
	equal(file.file, "app.c");
	equal(
		[...file.lines],
		[
			[21, { self: 30, total: 30 }],
			[22, { self: 10, total: 10 }],
		],
	);
	equal(functionLines(m, self, WORK)[0].lines.get(11), { self: 10, total: 50 });
});

test("lines around those with a cost are shown, with gaps", () => {
	equal(
		shownLines(
			new Map([
				[3, 1],
				[20, 1],
			]),
			21,
			1,
		),
		[2, 3, 4, 0, 19, 20, 21],
	);
	ok(shownLines(new Map([[1, 1]]), 100, 6).length === 7);
});
