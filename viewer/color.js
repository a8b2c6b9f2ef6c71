// SPDX-License-Identifier: MIT
// Colors that mean something, in light and dark. The same function always has the same color.
import { FRAME } from "./model.js";

export function hash(text) {
	let h = 2166136261;
	for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 16777619);
	h ^= h >>> 13;
	return Math.imul(h, 0x5bd1e995) >>> 0;
}

// Frames by what kind of code they are.
export function kindColor(flags, seed, dark) {
	const step = seed % 7,
		l = dark ? 46 + step : 76 + step;
	if (flags & FRAME.TRUNCATED) return dark ? "hsl(40 4% 34%)" : "hsl(40 8% 82%)";
	if (flags & FRAME.OFF_CPU)
		return `hsl(${268 + step} ${dark ? 28 : 50}% ${dark ? 52 : 84}%)`;
	if (flags & FRAME.KERNEL) return `hsl(${206 + step * 3} ${dark ? 30 : 48}% ${l}%)`;
	if (flags & FRAME.NO_SYMBOL) return `hsl(${60 + step} ${dark ? 12 : 22}% ${l}%)`;
	return `hsl(${22 + step * 4} ${dark ? 50 : 78}% ${dark ? 47 + step : 74 + step}%)`;
}

// Twelve hues that are told apart, for images, threads and tasks.
const HUES = [24, 205, 142, 268, 48, 335, 178, 232, 95, 300, 10, 160];
export function nameColor(text, dark, bright = 0) {
	const s = hash(text),
		hue = HUES[s % 12],
		step = (s >>> 8) % 5;
	return `hsl(${hue + step * 2} ${dark ? 38 : 55}% ${dark ? 44 + step + bright : 74 - step - bright}%)`;
}

// What threads do. Running is calm green, waiting for a CPU is the alarm, the rest is quiet.
const STATES = {
	running: [150, 42, 50],
	runnable: [12, 78, 58],
	preempted: [28, 82, 58],
	futex: [45, 72, 62],
	lock: [38, 72, 60],
	read: [210, 38, 72],
	write: [222, 38, 72],
	io: [330, 45, 66],
	fault: [310, 45, 66],
	sleep: [215, 10, 86],
	poll: [200, 14, 84],
	accept: [200, 14, 84],
	connect: [200, 24, 78],
	irq: [0, 45, 50],
	nobody: [270, 30, 74],
	unknown: [0, 0, 90],
};
export function stateColor(name, dark) {
	const [h, s, l] = STATES[name] ?? [215, 14, 80];
	return dark
		? `hsl(${h} ${Math.round(s * 0.75)}% ${Math.round(14 + l * 0.48)}%)`
		: `hsl(${h} ${s}% ${l}%)`;
}

// How a share changed: red is more, blue is less, stronger is more of it.
export function diffColor(change, certain, dark) {
	if (!certain) return dark ? "hsl(45 5% 36%)" : "hsl(45 12% 86%)";
	const strength = Math.min(1, Math.sqrt(Math.abs(change) / 0.1));
	const l = dark ? 34 + 18 * strength : 88 - 30 * strength;
	return change > 0 ? `hsl(8 ${dark ? 60 : 82}% ${l}%)` : `hsl(214 ${dark ? 55 : 76}% ${l}%)`;
}

export function isDark() {
	const chosen = document.documentElement.dataset.theme;
	return chosen
		? chosen === "dark"
		: window.matchMedia("(prefers-color-scheme: dark)").matches;
}

export function ink(name) {
	return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
