// Warns of words that a reader of the Kubernetes documentation does not expect, in the lines that a branch changes: the
// lines added since the merge base with `main`, as a part of `npm run lint`. It fails no build: reviews decide.
import { spawnSync } from 'node:child_process'

// Each word with its replacement. A pattern is compared with the text in lower case and with split names: `fooBar`,
// `FOO_BAR` and `foo-bar` all become "foo bar".
const WORDS = [
  ['told|tells?|telling', 'report, record, log, print'],
  ['deeds?', 'action'],
  ['anew|made again', 'again, recreated'],
  ['owe|owes|owed|owing', 'pending'],
  ['hardships?', 'fault'],
  ['whoever|nobody|somebody|everybody', 'the caller, no client, another writer, all callers'],
  ['(come|came|comes) right', 'converge, recover'],
  ['(go|goes|going|went) (on|away)(?! (a|an|the|its|to|top|standard)\\b)', 'continue; disappear, disconnect'],
  ['lets? \\w+ go', 'release, remove the finalizer, detach'],
  ['sets? \\w+ back', 'revert'],
  ['at a stretch', 'synchronously'],
  ['any more(?! than)', 'no longer'],
].map(([pattern, advice]) => ({ pattern: new RegExp(`\\b(?:${pattern})\\b`), advice }))

// Texts that others wrote or that a program recorded, and this list.
const FOREIGN = [
  'LICENSE',
  'proto/csi',
  'libs/csi-translation/testdata',
  'images/licences',
  'package-lock.json',
  'tools/check-words.mjs',
]

for (const { path, line, text } of changedLines()) {
  const plain = text.replaceAll(/(?<=[a-z0-9])(?=[A-Z])|[_-]/g, ' ').toLowerCase()
  for (const { pattern, advice } of WORDS) {
    const found = pattern.exec(plain)?.[0]
    if (found !== undefined) console.warn(`warning: ${path}:${line}: ${found} -> ${advice}`)
  }
}

/** Returns the added lines of the branch and of the working tree. A clone without `main` has only the latter. */
function changedLines() {
  const base = git(['merge-base', 'HEAD', 'main'])[0] || git(['merge-base', 'HEAD', 'origin/main'])[0] || 'HEAD'
  const changed = []
  let path = ''
  let line = 0
  for (const row of git([
    'diff',
    '--unified=0',
    '--no-color',
    '--no-ext-diff',
    base,
    '--',
    ...FOREIGN.map((path) => `:(exclude)${path}`),
  ])) {
    const file = /^\+\+\+ b\/(.*)/.exec(row)
    const hunk = /^@@ -\S+ \+(\d+)/.exec(row)
    if (file) path = file[1]
    else if (hunk) line = Number(hunk[1])
    else if (row.startsWith('+')) changed.push({ path, line: line++, text: row.slice(1) })
  }
  return changed
}

function git(command) {
  return spawnSync('git', command, { encoding: 'utf8', maxBuffer: 256 * 2 ** 20 }).stdout.split('\n')
}
