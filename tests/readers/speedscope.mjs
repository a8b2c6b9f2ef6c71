// SPDX-License-Identifier: MIT
//
// What speedscope finds in a file: its own importer, taken out of the page of its package, adds it up.
//
//	node speedscope.mjs FOLDER-OF-THE-PACKAGE FILE [SCALE]
//
// Prints totals as tests/lib/compare-totals wants them. SCALE makes whole numbers of the importer's weights (1; 1000 for microseconds).
import fs from 'node:fs';
import path from 'node:path';
import vm from 'node:vm';

const [folder, file, scale = '1'] = process.argv.slice(2);

/* The page is one script that ends with drawing itself. All but that is run; the function that imports files is found by the name under which the page offers it to
 * local files. */
function loadImporter() {
  const release = path.join(folder, 'dist/release');
  const name = fs.readdirSync(release).find((f) => /^speedscope-.*\.js$/.test(f));
  const source = fs.readFileSync(path.join(release, name), 'utf8');
  const offer = /loadFileFromBase64:\((\w+),(\w+)\)=>\{this\.loadProfile\(\(\)=>(\w+)\(\1,\2\)\)\}/.exec(source);
  const drawing = source.lastIndexOf('console.log(`speedscope v');
  if (!offer || drawing < 0) throw new Error('this speedscope is built in another way than the one that was pinned');
  const nothing = () => ({ style: {}, setAttribute() {}, appendChild() {}, getContext: () => null });
  Object.assign(globalThis, {
    window: globalThis,
    location: { hash: '', protocol: 'http:', href: 'http://localhost/' },
    addEventListener() {},
    matchMedia: () => ({ matches: false, addListener() {}, addEventListener() {} }),
    document: {
      createElement: nothing,
      createTextNode: nothing,
      head: nothing(),
      body: nothing(),
      addEventListener() {},
      getElementsByTagName: () => [],
      querySelector: () => null,
      currentScript: { src: 'http://localhost/page.js' },
    },
  });
  console.log = () => {}; // it says which importer it took
  vm.runInThisContext(`${source.slice(0, drawing)}globalThis.importFile=${offer[3]};})();`, { filename: name });
  return globalThis.importFile;
}

const whole = (weight) => Math.round(weight * Number(scale));

const importFile = loadImporter();
const group = await importFile(path.basename(file), fs.readFileSync(file).toString('base64'));
if (!group) throw new Error('speedscope does not know what this file is');
const totals = { threads: [], self: [], total: [], both: [], unit: group.profiles.map((p) => p.getWeightUnit()) };
for (const profile of group.profiles) {
  const name = profile.getName();
  // ours: "NAME (pid P, tid T)"; of Chrome's files speedscope makes "PROCESS (pid P), NAME (tid T)"
  const [, own, pid, tid] = /^([^]*) \(pid (-?\d+), tid (-?\d+)\)$/.exec(name) ?? [];
  const [, chromePid, chromeName, chromeTid] = /\(pid (-?\d+)\), ([^]*) \(tid (-?\d+)\)$/.exec(name) ?? [];
  const number = Number(tid ?? chromeTid);
  if (profile.getTotalWeight() || tid !== undefined)
    totals.threads.push([Number(pid ?? chromePid), number, own ?? chromeName, whole(profile.getTotalWeight())]);
  profile.forEachFrame((frame) => {
    totals.self.push([frame.name, whole(frame.getSelfWeight())]);
    totals.total.push([frame.name, whole(frame.getTotalWeight())]);
    totals.both.push([number, frame.name, whole(frame.getSelfWeight())]);
  });
}
process.stdout.write(`${JSON.stringify(totals)}\n`);
