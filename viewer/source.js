// SPDX-License-Identifier: MIT
// What the lines of one function cost: as coati report --source counts them.
import { keySums } from "./tree.js";

// Files of a function with their lines: [{ file, text, lines: Map(line, { self, total }), total }].
export function functionLines(model, self, fn) {
	const keys = new Map(),
		places = [{ file: 0, line: 0 }],
		ofFrame = new Uint32Array(model.frFunction.length);
	for (let i = 0; i < ofFrame.length; i++) {
		if (model.frFunction[i] !== fn) continue;
		const key = `${model.frFile[i]}:${model.frLine[i]}`;
		if (!keys.has(key)) {
			keys.set(key, places.length);
			places.push({ file: model.frFile[i], line: model.frLine[i] });
		}
		ofFrame[i] = keys.get(key);
	}
	const ofNode = new Uint32Array(model.nodes);
	for (let i = 1; i < model.nodes; i++) ofNode[i] = ofFrame[model.ndFrame[i]];
	const sums = keySums(model, self, ofNode, places.length),
		files = new Map();
	places.forEach(({ file, line }, k) => {
		if (!k || !sums.total[k]) return;
		if (!files.has(file))
			files.set(file, {
				file: model.texts[file],
				text: file,
				lines: new Map(),
				total: 0,
			});
		files.get(file).lines.set(line, { self: sums.self[k], total: sums.total[k] });
		files.get(file).total += sums.total[k];
	});
	return [...files.values()].sort((a, b) => b.total - a.total);
}

// Which lines to show: those with a cost and what is around them; 0 stands for a gap.
export function shownLines(lines, count, around = 6) {
	const wanted = new Set();
	for (const line of lines.keys())
		for (let n = Math.max(1, line - around); n <= line + around && n <= count; n++)
			wanted.add(n);
	const out = [];
	for (const n of [...wanted].sort((a, b) => a - b)) {
		if (out.length && n !== out[out.length - 1] + 1) out.push(0);
		out.push(n);
	}
	return out;
}
