// SPDX-License-Identifier: MIT
import { Store, decodeNumbers, decodeRuns, decodeBase64, readStore } from "../store.js";
import { pageBytes, encode } from "./build.js";
import { test, equal, throws } from "./tap.js";
import { gzipSync } from "node:zlib";

const LARGE = [
	0, 1, 127, 128, 16383, 16384, 2097151, 2097152, 4294967295, 4294967296, 9007199254740991,
];

test("numbers of every length are read back", () => {
	equal(
		[
			...decodeNumbers(
				encode("uint", LARGE),
				LARGE.length,
				false,
				new Float64Array(LARGE.length),
			),
		],
		LARGE,
	);
});

test("differences go up and down and stay exact to 2^52", () => {
	const values = [5, 3, 4503599627370496, 0, 7, 7];
	equal(
		[
			...decodeNumbers(
				encode("delta", values),
				values.length,
				true,
				new Float64Array(values.length),
			),
		],
		values,
	);
});

test("numbers in a row are read back, alone and many together", () => {
	const values = [7, 7, 7, 0, 0, 64, 4503599627370495, 63, ...Array(300).fill(1000000), 5];
	equal(
		[
			...decodeRuns(
				encode("runs", values),
				values.length,
				new Float64Array(values.length),
			),
		],
		values,
	);
	// three times 7, as docs/formats/page.md has it
	equal([...encode("runs", [7, 7, 7, 9])], [15, 3, 18]);
});

test("runs that are more or less than their column are damaged", () => {
	for (const bytes of [[15, 4], [15, 2], [15], [15, 3, 0], [15, 0], [14, 14], []])
		throws(
			() => decodeRuns(Uint8Array.from(bytes), 3, new Uint32Array(3)),
			/damaged/,
		);
});

test("a column with bytes left over is damaged", () => {
	throws(
		() => decodeNumbers(Uint8Array.from([1, 2, 3]), 2, false, new Uint32Array(2)),
		/damaged/,
	);
});

test("columns, reals and texts come out as they went in", () => {
	const s = new Store(
		pageBytes({
			a: ["uint", [1, 2]],
			r: ["real", [1.5, -2.25]],
			j: ["json", { x: "</script>" }],
		}),
	);
	equal([...s.ids("a")], [1, 2]);
	equal([...s.times("r")], [1.5, -2.25]);
	equal(s.json("j"), { x: "</script>" });
	equal(s.count("a"), 2);
	equal([...s.ids("none")], []);
});

test("offsets are sums of counts", () => {
	const s = new Store(pageBytes({ n: ["uint", [2, 0, 3]] }));
	equal([...s.offsets("n")], [0, 2, 2, 5]);
});

test("a page that is cut is refused", () => {
	const bytes = pageBytes({ a: ["uint", [1, 2, 3]] });
	throws(() => new Store(bytes.subarray(0, bytes.length - 1)), /cut/);
	throws(() => new Store(new TextEncoder().encode("something else")), /no data/);
});

test("base64 and gzip are undone", async () => {
	const bytes = pageBytes({ a: ["uint", [9]] });
	const plain = await readStore(Buffer.from(bytes).toString("base64"), "identity");
	const packed = await readStore("\n" + gzipSync(bytes).toString("base64"), "gzip");
	equal([...plain.ids("a")], [9]);
	equal([...packed.ids("a")], [9]);
	equal([...decodeBase64("/+8=")], [255, 239]);
});
