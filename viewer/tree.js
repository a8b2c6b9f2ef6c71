// SPDX-License-Identifier: MIT
// Call trees of functions, made from weights on call paths. A tree is columns: parent, fn, self,
// total, depth; node 0 is the root, a parent comes before its children. Children are sorted by
// weight, so that the heaviest is on the left.

class Builder {
	constructor(functions) {
		this.functions = functions;
		this.parent = [0];
		this.fn = [-1];
		this.self = [0];
		this.total = [0];
		this.flags = [0];
		this.depth = [0];
		this.index = new Map();
	}

	child(parent, fn, flags) {
		const key = parent * this.functions + fn;
		let at = this.index.get(key);
		if (at === undefined) {
			at = this.parent.length;
			this.index.set(key, at);
			this.parent.push(parent);
			this.fn.push(fn);
			this.self.push(0);
			this.total.push(0);
			this.flags.push(255);
			this.depth.push(this.depth[parent] + 1);
		}
		this.flags[at] &= flags;
		return at;
	}

	finish() {
		const count = this.parent.length;
		this.flags[0] = 0;
		return {
			count,
			parent: Uint32Array.from(this.parent),
			fn: Int32Array.from(this.fn),
			self: Float64Array.from(this.self),
			total: Float64Array.from(this.total),
			flags: Uint8Array.from(this.flags),
			depth: Uint16Array.from(this.depth),
			folded: this.folded,
			...kids(this.parent, this.total),
		};
	}
}

// Children of each node, the heaviest first: firstKid[i] .. firstKid[i + 1] of kid.
export function kids(parent, total) {
	const n = parent.length,
		firstKid = new Uint32Array(n + 1),
		kid = new Uint32Array(Math.max(0, n - 1));
	for (let i = 1; i < n; i++) firstKid[parent[i] + 1]++;
	for (let i = 0; i < n; i++) firstKid[i + 1] += firstKid[i];
	const at = firstKid.slice();
	for (let i = 1; i < n; i++) kid[at[parent[i]]++] = i;
	for (let i = 0; i < n; i++)
		if (firstKid[i + 1] - firstKid[i] > 1)
			kid.subarray(firstKid[i], firstKid[i + 1]).sort(
				(a, b) => total[b] - total[a] || a - b,
			);
	return { firstKid, kid };
}

// From the outermost frame to what it calls. hide: functions to leave out; focus: stacks with it
// alone; fold: what calls itself is one node; root: begin at the outermost frame of a function.
export function treeDown(model, self, { hide = null, focus = -1, fold = false, root = -1 } = {}) {
	const b = new Builder(model.functions),
		{ ndParent, ndFrame, frFlags, nodeFn, nodes } = model;
	const place = new Int32Array(nodes).fill(-1),
		has = focus < 0 ? null : new Uint8Array(nodes);
	const sum = self.slice(0, nodes);
	b.folded = new Uint8Array(0);
	for (let i = nodes - 1; i > 0; i--) sum[ndParent[i]] += sum[i];
	if (has) markFocus(model, self, has, sum, focus);
	place[0] = root < 0 ? 0 : -1;
	b.total[0] = 0;
	for (let i = 0; i < nodes; i++) {
		if (!sum[i]) continue;
		if (i > 0) {
			const fn = nodeFn[i],
				up = place[ndParent[i]];
			if (up < 0)
				place[i] = fn === root ? b.child(0, fn, frFlags[ndFrame[i]]) : -1;
			else if ((hide && hide[fn]) || (fold && b.fn[up] === fn)) place[i] = up;
			else place[i] = b.child(up, fn, frFlags[ndFrame[i]]);
		}
		if (place[i] >= 0 && self[i] && (!has || has[i])) b.self[place[i]] += self[i];
	}
	addUp(b);
	return b.finish();
}

// Stacks without the function lose their weight.
function markFocus(model, self, has, sum, focus) {
	sum.fill(0);
	for (let i = 1; i < model.nodes; i++)
		has[i] = has[model.ndParent[i]] || model.nodeFn[i] === focus ? 1 : 0;
	for (let i = model.nodes - 1; i > 0; i--) {
		if (has[i]) sum[i] += self[i];
		sum[model.ndParent[i]] += sum[i];
	}
}

function addUp(b) {
	for (let i = b.parent.length - 1; i >= 0; i--) {
		b.total[i] += b.self[i];
		if (i > 0) b.total[b.parent[i]] += b.total[i];
	}
}

// From the innermost frame to its callers. root: begin at the innermost frame of a function.
export function treeUp(model, self, { hide = null, focus = -1, fold = false, root = -1 } = {}) {
	const b = new Builder(model.functions),
		{ ndParent, ndFrame, frFlags, nodeFn } = model;
	const add = (i, weight) => {
		let at = 0;
		for (; i > 0; i = ndParent[i]) {
			const fn = nodeFn[i];
			if ((hide && hide[fn]) || (fold && at > 0 && b.fn[at] === fn)) continue;
			at = b.child(at, fn, frFlags[ndFrame[i]]);
			b.total[at] += weight;
		}
		b.self[at] += weight;
		b.total[0] += weight;
	};
	for (let i = 1; i < model.nodes; i++) {
		if (!self[i] || (focus >= 0 && !goesThrough(model, i, focus))) continue;
		let from = i;
		while (root >= 0 && from > 0 && nodeFn[from] !== root) from = ndParent[from];
		if (from > 0) add(from, self[i]);
	}
	return b.finish();
}

function goesThrough(model, node, fn) {
	for (; node > 0; node = model.ndParent[node]) if (model.nodeFn[node] === fn) return true;
	return false;
}

// Self and total of each function: a stack in which it occurs several times counts once.
export function functionSums(model, self) {
	return keySums(model, self, model.nodeFn, model.functions);
}

// The same for any key of nodes: functions, lines, images. What a node above has counts there.
export function keySums(model, self, key, keys) {
	const own = new Float64Array(keys),
		total = new Float64Array(keys),
		sum = self.slice(0, model.nodes);
	const { ndParent, nodes } = model,
		open = new Int32Array(keys);
	for (let i = nodes - 1; i > 0; i--) sum[ndParent[i]] += sum[i];
	for (let i = 1; i < nodes; i++) if (self[i]) own[key[i]] += self[i];
	walk(
		model,
		node => {
			if (!open[key[node]]++) total[key[node]] += sum[node];
		},
		node => {
			open[key[node]]--;
		},
		sum,
	);
	return { self: own, total };
}

// Depth first over the call paths that have weight.
function walk(model, enter, leave, sum) {
	const { ndParent, nodes } = model;
	const first = model.once("node kids", () => kids(ndParent, new Float64Array(nodes)));
	const todo = [0],
		state = new Uint32Array(nodes);
	while (todo.length) {
		const i = todo[todo.length - 1],
			at = first.firstKid[i] + state[i];
		if (at >= first.firstKid[i + 1]) {
			if (i > 0) leave(i);
			todo.pop();
			continue;
		}
		state[i]++;
		const k = first.kid[at];
		if (sum[k]) {
			enter(k);
			todo.push(k);
		}
	}
}

export function pathOf(tree, node) {
	const out = [];
	for (; node > 0; node = tree.parent[node]) out.unshift(tree.fn[node]);
	return out;
}

// The node that a path of functions leads to, or as far as it goes.
export function followPath(tree, path) {
	let at = 0;
	for (const fn of path) {
		let next = -1;
		for (let k = tree.firstKid[at]; k < tree.firstKid[at + 1]; k++)
			if (tree.fn[tree.kid[k]] === fn) next = tree.kid[k];
		if (next < 0) break;
		at = next;
	}
	return at;
}
