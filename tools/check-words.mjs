// Refuses words that a reader of the Kubernetes documentation does not expect: in names, comments, texts and paths of
// all files that git knows.
//
//     node tools/check-words.mjs            checks all files, as a part of `npm run lint`
//     node tools/check-words.mjs PATH...    only these paths
//     node tools/check-words.mjs --all      prints the number of findings in each folder
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { basename, extname } from 'node:path'

// The refused words, the replacement, and an example. A pattern is compared with the text in lower case and with split
// names: `fooBar`, `FOO_BAR` and `foo-bar` all become "foo bar". A space in a pattern also matches the end
// of a line.
const WORDS = [
  ['told|tells?|telling|tellers?', 'report, record, log, list, print', 'tellEvery'],
  ['story|stories', 'test, end-to-end test', 'STORIES_OF_DRAIN'],
  ['deeds?', 'action', 'a deed'],
  ['anew', 'again, recreated, a new one', 'reads it anew'],
  ['owe|owes|owed|owing', 'pending', 'statusOwed'],
  ['strikes?|struck|striking', 'inject a fault', 'strike()'],
  ['hardships?', 'resilience, fault', 'stories/hardship.ts'],
  ['wish|wishes|wished', 'request, want', 'other-wishes.ts'],
  ['patience|patient|patiently', 'time-out, grace period', 'PATIENCE'],
  ['let(s|ting)?( \\w+){0,3} go', 'release, remove the finalizer, detach', 'lets the claim go'],
  ['candidacy|candidacies', 'election', 'runCandidacy'],
  ['(stand|stands|stood|standing)(?! for )', 'election (noun); is, exists, applies, is listed', 'as long as it stands'],
  ['so long', 'while, for that time', 'for so long'],
  ['whoever|whomever|whom', 'the caller, the user, the client', 'whom it concerns'],
  ['c(o|a)mes? right(?! (away|before|after|behind|at|from|then))', 'converge, recover', 'what comes right'],
  ['all is well', 'converge, recover', 'until all is\n// well again'],
  ['(go|goes|going|went|gone) on(?! (a|an|the|its|to|top|standard|std\\w+)\\b)', 'continue', 'GOES_ON'],
  ['(go|goes|going|went|gone) away', 'disappear, be deleted, disconnect', 'it went away'],
  ['gone for ?ever', 'deleted', 'is gone for ever'],
  ['what waits|what is (owed|wanted)', 'pending work; desired state, actual state', 'What waits is seen'],
  ['(hold|holds|holding|held) up', 'block, delay', 'holding-up.ts'],
  ['(keep|keeps|keeping|kept)( \\w+)? waiting', 'block, delay', 'keeps others waiting'],
  ['(everybody|nobody|somebody|anybody)', 'all callers, no client, another writer', 'nobody reads it'],
  ['(everyone|someone|anyone)', 'all callers, no client, another writer', 'someone else'],
  ['bear|bears|bore|borne', 'support, allow', 'it bears that'],
  ['at a stretch', 'synchronously', 'at a stretch'],
  ['in slices', 'in batches', 'in slices'],
  ['(the|a|its|no) way back', 'rollback', 'the way back'],
  ["\\w+['’]s?( own)? words?|(its|their|his|own|drivers?) words?|words? of", 'error message, text', 'keepDriversWords'],
  ['(is|are|was|were|be|been|and) made( and \\w+)? (again|new)', 'created again, recreated', 'was made again'],
  ['it is so|is so now|as it was before', 'the present state', 'it is so now'],
  ['plays? the li(f|v)es?', 'run through its life cycle', 'plays the life of a volume'],
  ['any more(?! than)', 'no longer', 'it is not needed any more'],
  ['shall', 'must, or the present tense', 'shall cost no write'],
  ['event rights?', 'eventPermission', 'EventRight'],
  ['(leave|leaves|left) behind', 'orphaned', 'left-behind.ts'],
  ['sets? back', 'revert', 'set-back.ts'],
  ['is answered for', 'has a live attachment', 'isAnsweredFor'],
  ['let on', 'admit', '#letOn'],
  ['time to fill', 'waitBeforeFillingCaches', 'timeToFill'],
  ['unfit', 'not applicable', 'unfitFor'],
  ['says waiting', 'waitingMessage', 'saysWaiting'],
  ['judges?|judged', 'validate, check', 'judge()'],
  ['ledgers?', 'tracker', 'new Ledger()'],
  ['happenings?', 'event', 'Happening'],
  ['(actor|call) books?', 'registry, log', 'CallBook'],
  ['chapters?', 'steps', 'chapters'],
  ['worlds?', 'state', 'world'],
].map(([pattern, say, example]) => ({ pattern: pattern.replaceAll(' ', '[ -]+'), say, example }))

const FINE = [
  'CLAIM stands for its name',
  'slow down',
  'bearer tokens',
  'understands',
  'a standby',
  'it goes on the list',
  'history',
  'a long word',
]

// The paths in which a refused text is allowed, with the reason. The path of a folder ends in /. The check fails if an
// entry is unused.
const EXCEPTIONS = [
  { path: 'tools/check-words.mjs', texts: /.*/, why: 'the words are listed here' },
  { path: 'charts/csi-sidecars/files/alerts.yaml', texts: /^stands$/, why: 'the alert CSISidecarStandsStill' },
  { path: 'charts/tests/alert-series.ts', texts: /^stands$/, why: 'the alert CSISidecarStandsStill' },
  { path: 'desk/driver-test/', texts: /^patience$/, why: 'the flag --patience' },
  { path: 'desk/devcluster/src/options.ts', texts: /^patience$/, why: 'a flag of csi-devcluster' },
  { path: 'desk/devcluster/', texts: /^(story|stories)$/, why: 'the demo of npm start' },
  { path: 'docs/drivers.md', texts: /^patience$/, why: 'the flag --patience' },
  { path: 'docs/operations.md', texts: /^stands$/, why: 'the alert CSISidecarStandsStill' },
  { path: 'libs/sidecar/src/http/health.ts', texts: /^stands$/, why: 'the reason of /livez' },
  { path: 'testing/e2e/tests/ground/devcluster.ts', texts: /^patience$/, why: 'a flag of csi-devcluster' },
  { path: 'testing/e2e/tests/ground/driver-test.ts', texts: /^patience$/, why: 'a flag of csi-devcluster' },
]

// The paths of files that others wrote or that a program recorded. They are not checked.
const FOREIGN = ['LICENSE', 'proto/csi/', 'libs/csi-translation/testdata/', 'images/licences/']
const TEXTS = new Set('.ts .mjs .cjs .js .md .tpl .txt .yaml .yml .html .css .sh .proto .grit .go'.split(' '))
const NAMES = new Set(['package.json', 'values.schema.json', 'dashboard.json', 'Dockerfile', 'run', 'CODEOWNERS'])

const ALL = new RegExp(`\\b(?:${WORDS.map(({ pattern }) => pattern).join('|')})\\b`, 'g')
const EACH = WORDS.map((row) => ({ ...row, whole: new RegExp(`^(?:${row.pattern})$`) }))

checkTheTable()
const [first, ...more] = process.argv.slice(2)
if (first === '--all') printCounts(allFindings())
else if (first) print(allFindings().filter(({ path }) => isUnder(path, [first, ...more])))
else print([...allFindings(), ...uselessExceptions()])

function allFindings() {
  return trackedFiles().flatMap((path) => [...findingsOfPath(path), ...findingsOfText(path)])
}

function trackedFiles() {
  const { stdout } = spawnSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { encoding: 'utf8' })
  return stdout.split('\n').filter((path) => path && !isUnder(path, FOREIGN) && existsSync(path))
}

function findingsOfPath(path) {
  return refusedIn(basename(path, extname(path)), path).map((finding) => ({ path, line: 1, column: 1, ...finding }))
}

function findingsOfText(path) {
  if (!TEXTS.has(extname(path)) && !NAMES.has(basename(path))) return []
  const text = readFileSync(path, 'utf8')
  return refusedIn(text, path).map((finding) => {
    const before = text.slice(0, finding.at)
    const line = before.split('\n').length
    return { path, line, column: before.length - before.lastIndexOf('\n'), ...finding }
  })
}

function refusedIn(text, path) {
  const { plain, splits } = plainText(text)
  return [...plain.matchAll(ALL)].flatMap(({ 0: found, index }) => {
    const allowed = EXCEPTIONS.find((one) => isUnder(path, [one.path]) && one.texts.test(found))
    if (allowed) allowed.used = true
    if (allowed) return []
    const { say } = EACH.find(({ whole }) => whole.test(found))
    return [{ found: found.replaceAll(/ +/g, ' '), say, at: index - splits.filter((split) => split < index).length }]
  })
}

// Returns the text in lower case with spaces between the parts of each name, and the positions of these spaces.
function plainText(text) {
  const joined = text.replaceAll(/\n[ \t]*(?:\/\/|\*|#)?/g, (gap) => ' '.repeat(gap.length))
  const splits = []
  const split = joined.replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, (_, at) => {
    splits.push(at + splits.length)
    return ' '
  })
  return { plain: split.replaceAll('_', ' ').toLowerCase(), splits }
}

function isUnder(path, places) {
  return places.some((place) => path === place || path.startsWith(place.endsWith('/') ? place : `${place}/`))
}

function uselessExceptions() {
  return EXCEPTIONS.filter(({ used }) => !used).map(({ path, why }) => {
    return { path, line: 1, column: 1, found: 'no refused word', say: `drop the exception (${why})` }
  })
}

function print(findings) {
  for (const { path, line, column, found, say } of findings) {
    console.error(`${path}:${line}:${column}: ${found} -> ${say}`)
  }
  if (findings.length > 0) process.exitCode = 1
}

function printCounts(findings) {
  const counts = new Map()
  for (const { path } of findings) {
    const folder = path.match(/^(?:(?:apps|libs|desk|testing)\/)?[^/]+/)[0]
    counts.set(folder, (counts.get(folder) ?? 0) + 1)
  }
  for (const [folder, count] of [...counts].sort()) console.log(`${String(count).padStart(6)} ${folder}`)
  console.log(`${String(findings.length).padStart(6)} in all`)
}

// Checks that each pattern refuses its own example, and that plain texts pass.
function checkTheTable() {
  for (const { pattern, example } of WORDS) {
    const found = plainText(example).plain.match(new RegExp(`\\b(?:${pattern})\\b`))
    if (!found) throw new Error(`/${pattern}/ lets its example pass: ${example}`)
  }
  for (const text of FINE) {
    const found = plainText(text).plain.match(ALL)
    if (found) throw new Error(`a plain text is refused for "${found}": ${text}`)
  }
}
