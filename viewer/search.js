// SPDX-License-Identifier: MIT
// What a search finds: a plain text without regard to case, or /a regular expression/.

const NAME_MOST = 4096;

// null: nothing is searched for. { error } when it cannot be understood.
export function parseSearch(text) {
	const t = text.trim();
	if (!t) return null;
	if (t.length > 1 && t.startsWith("/") && t.endsWith("/")) {
		try {
			const re = new RegExp(t.slice(1, -1), "i");
			return { test: name => re.test(name.slice(0, NAME_MOST)) };
		} catch {
			return {
				error: "This is not a valid regular expression.",
				test: () => false,
			};
		}
	}
	const low = t.toLowerCase();
	return { test: name => name.toLowerCase().includes(low) };
}

// Which functions match: a byte each.
export function matchFunctions(model, search) {
	const out = new Uint8Array(model.functions);
	if (!search) return out;
	for (let f = 0; f < out.length; f++)
		out[f] =
			search.test(model.functionName(f)) || search.test(model.imageName(f))
				? 1
				: 0;
	return out;
}

// The weight of the stacks in which a match occurs: only the outermost match of a stack counts.
export function matchedWeight(tree, matches) {
	let sum = 0;
	const inside = new Uint8Array(tree.count);
	for (let i = 1; i < tree.count; i++) {
		const p = tree.parent[i];
		inside[i] = inside[p] || matches[tree.fn[i]] ? 1 : 0;
		if (inside[i] && !inside[p]) sum += tree.total[i];
	}
	return sum;
}
