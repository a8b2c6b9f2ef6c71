// SPDX-License-Identifier: MIT
import { duration, percent, instant, plain, count, points } from "../amount.js";
import { usualState, readLink, writeLink } from "../link.js";
import { parseSearch, matchFunctions, matchedWeight } from "../search.js";
import { treeDown } from "../tree.js";
import { sampleModel } from "./build.js";
import { test, equal, ok } from "./tap.js";

test("durations have three digits and a unit", () => {
	equal([0, 1, 999, 1000, 1234567, 23800000, 1.93e9, 59.99e9, 125e9].map(duration), [
		"0",
		"1 ns",
		"999 ns",
		"1 µs",
		"1.23 ms",
		"23.8 ms",
		"1.93 s",
		"60 s",
		"2 min 5 s",
	]);
});

test("shares never claim nothing or all falsely", () => {
	equal(
		[
			percent(0, 10),
			percent(1, 100000),
			percent(1, 3),
			percent(99999, 100000),
			percent(1, 1),
			percent(1, 0),
		],
		["0 %", "<0.1 %", "33.3 %", ">99.9 %", "100.0 %", "0 %"],
	);
});

test("instants are as exact as their step", () => {
	equal(
		[instant(1.5e9, 5e8), instant(1234567, 1), instant(1234567, 1e3)],
		["1.5 s", "0.001234567 s", "0.001235 s"],
	);
});

test("names that would turn the text around are shown as boxes, and long ones are cut", () => {
	equal(plain("a\u202eb\u0000c\u2066d"), "a▯b▯c▯d");
	equal(plain("x".repeat(1e6)).length, 401);
	equal(plain("<b>&amp;"), "<b>&amp;");
});

test("numbers are grouped and changes signed", () => {
	equal([count(1234567), points(0.0123), points(-0.5)], ["1,234,567", "+1.23", "−50.00"]);
});

test("a link says what is not as usual, and says it back", () => {
	const state = {
		...usualState(),
		view: "flame",
		from: 12,
		to: 99,
		fn: "a::b<c&d>@@lib",
		invert: true,
		hide: "x@@y\nz@@w",
		mode: "both",
	};
	const link = writeLink(state);
	equal(readLink("#" + link), state);
	equal(writeLink(usualState()), "");
});

test("a link of nonsense is as usual", () => {
	equal(
		readLink(
			"#view=evil&from=abc&to=-3&mode=%00&invert=yes&__proto__=1&order=constructor",
		),
		usualState(),
	);
	equal(readLink("#from=9&to=3"), usualState());
	equal(readLink("#fn=" + "x".repeat(1e5)).fn.length, 8192);
});

test("searches are texts or /expressions/", () => {
	equal(parseSearch("  "), null);
	ok(parseSearch("WORK").test("my_work"));
	ok(parseSearch("/^ho.$/").test("hot"));
	ok(!parseSearch("/^ho.$/").test("shot"));
	ok(parseSearch("/(/").error);
	ok(parseSearch("a.b").test("xa.b") && !parseSearch("a.b").test("axb"));
});

test("only the outermost match of a stack counts", () => {
	const m = sampleModel(),
		tree = treeDown(m, m.selected(usualState()).self);
	equal(matchedWeight(tree, matchFunctions(m, parseSearch("work"))), 50);
	equal(matchedWeight(tree, matchFunctions(m, parseSearch("/main|hot/"))), 60);
	equal(matchedWeight(tree, matchFunctions(m, parseSearch("lib.so"))), 40);
});
