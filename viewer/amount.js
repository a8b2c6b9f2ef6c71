// SPDX-License-Identifier: MIT
// Numbers as people read them.

const STEPS = [
	["s", 1e9],
	["ms", 1e6],
	["µs", 1e3],
	["ns", 1],
];

// Three digits that matter: 1.23 ms.
export function duration(ns) {
	if (!ns) return "0";
	if (Math.abs(ns) >= 6e10) {
		const s = Math.round(ns / 1e9);
		return `${Math.floor(s / 60)} min ${s % 60} s`;
	}
	const [unit, scale] = STEPS.find(([, f]) => Math.abs(ns) >= f * 0.9995) ?? STEPS[3];
	return `${digits(ns / scale)} ${unit}`;
}

function digits(v) {
	const a = Math.abs(v);
	return a >= 100 ? v.toFixed(0) : a >= 10 ? trim(v.toFixed(1)) : trim(v.toFixed(2));
}

const trim = text => (text.includes(".") ? text.replace(/0+$/, "").replace(/\.$/, "") : text);

// A place on the timeline, as exact as one step of the ruler is.
export function instant(ns, step = 1e3) {
	const decimals = Math.max(
		0,
		Math.min(9, Math.ceil(9 - Math.log10(Math.max(step, 1)) - 1e-9)),
	);
	return `${(ns / 1e9).toFixed(decimals)} s`;
}

export function count(v) {
	return Math.round(v).toLocaleString("en-US");
}

export function amount(v, unit) {
	return unit === "ns" ? duration(v) : count(v);
}

export function percent(part, whole) {
	if (!whole) return "0 %";
	const v = (100 * part) / whole;
	if (v === 0) return "0 %";
	return v < 0.1 ? "<0.1 %" : v >= 99.95 && v < 100 ? ">99.9 %" : `${v.toFixed(1)} %`;
}

export function points(v) {
	return (v < 0 ? "−" : "+") + Math.abs(100 * v).toFixed(2);
}

// What would change the direction of writing, or is no character to look at, is shown as a box.
// eslint-disable-next-line no-control-regex
const HOSTILE =
	/[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/g;
export function plain(text, most = 400) {
	const clean = text.replace(HOSTILE, "\u25af");
	return clean.length > most ? clean.slice(0, most) + "…" : clean;
}
