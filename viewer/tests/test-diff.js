// SPDX-License-Identifier: MIT
import { Diff } from "../diff.js";
import { test, equal, ok } from "./tap.js";

// [parent, name, image, self, total, kernel, total on the other side, function]
const data = {
	names: ["all", "f", "g", "new"],
	images: ["", "app"],
	functions: [
		[
			[0.5, 0.2, -0.4, -0.2, 3],
			[0.5, 0.2, -0.4, -0.2, 3],
		],
		[
			[0.5, 0.5, null, null, 1],
			[0.5, 0.5, null, null, 1],
		],
		[
			[0, 0.3, 0.2, 0.4, 2],
			[0, 0.3, 0.2, 0.4, 2],
		],
	],
	graphs: [
		{
			title: "after",
			side: "after",
			nodes: [
				[-1, 0, 0, 0, 100, 0, 50, -1],
				[0, 1, 1, 20, 20, 0, 25, 0],
				[0, 2, 1, 50, 50, 0, 25, 1],
				[0, 3, 1, 30, 30, 0, 0, 2],
			],
		},
		{
			title: "before",
			side: "before",
			nodes: [
				[-1, 0, 0, 0, 50, 0, 100, -1],
				[0, 1, 1, 25, 25, 0, 20, 0],
				[0, 2, 1, 25, 25, 0, 50, 1],
			],
		},
	],
};

test("changes are of shares, the same from both sides", () => {
	const d = new Diff(data),
		f = (side, n) => +d.change(side, n).toFixed(3);
	equal([f(0, 1), f(1, 1), f(0, 2), f(0, 3)], [-0.3, -0.3, 0, 0.3]);
});

test("what is not more than chance is not certain", () => {
	const d = new Diff(data);
	equal(
		[d.isCertain(0, 1), d.isCertain(0, 2), d.isCertain(0, 3), d.isCertain(0, 0)],
		[true, false, true, false],
	);
});

test("a zoom leads to the same path on the other side, or as near as there is", () => {
	const d = new Diff(data);
	equal([d.partner(0, 1), d.partner(0, 2), d.partner(0, 3), d.partner(1, 2)], [1, 2, 0, 2]);
});

test("rows begin with what changed for certain", () => {
	const names = new Diff(data).rows().map(r => r.name);
	equal(names.length, 3);
	ok(names.indexOf("g") === 2);
});
