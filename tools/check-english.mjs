// Refuses comments and test names that a reader has to read twice, by pattern, in all files that git knows.
//
//     node tools/check-english.mjs            checks all files, as a part of `npm run lint`
//     node tools/check-english.mjs PATH...    only these paths
//
// An exception is a line `// english: REASON` above the comment or the test. An exception without use is refused.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { parseSync } from 'oxc-parser'

const MOST_WORDS = 25
const MOST_EXCEPTIONS = 100
/** The names of products and formats that look like identifiers. */
const NAMES = /\b(gRPC|iSCSI|macOS|vSphere|mTLS|eBPF|zstd)\b/g

// The refused patterns, each with advice, a text that it refuses and a plain text. Code in backticks is skipped.
const COMMENTS = [
  {
    pattern: /^(Of|By|For|In|From|With|What|Where|Whose|Until|Not|Neither|Nor|Also|Else|And|So|Beside|Among)\b/,
    advice: 'start with the subject',
    refused: 'For each row, its age.',
    fine: 'The age of each row.',
  },
  {
    pattern: /\b((that|this|the other) one|those that|of now)\b/i,
    advice: 'repeat the noun',
    refused: 'Removes those that ended.',
    fine: 'Removes the calls that ended.',
  },
  {
    pattern: /\bwhat (is(?! wrong| missing)|was|it|they)\b/i,
    advice: 'name the thing',
    refused: 'Deletes what was created.',
    fine: 'Throws one line that says what is wrong.',
  },
  {
    pattern: /\b(no more(?=[.,;:)]|$)|(beside|meanwhile|thereof|whereof)\b)/i,
    advice: 'no longer; in addition to, next to; while X happens',
    refused: 'The lease is held meanwhile.',
    fine: 'No more than two calls run.',
  },
  {
    pattern: /(?<![\w./'"@$#-])[a-z]+[A-Z]\w*(?![\w./'"]*[/'"(])/,
    advice: 'put the identifier into backticks',
    refused: 'The value of fsGroupPolicy.',
    fine: 'The value of `fsGroupPolicy`, by gRPC.',
  },
  {
    pattern: new RegExp(`(?:[^\\s]+ ){${MOST_WORDS}}[^\\s]`),
    advice: `write sentences of at most ${MOST_WORDS} words`,
    refused: 'one more '.repeat(13),
    fine: `${'one more '.repeat(12)}. One.`,
  },
]
const TEST_NAMES = [
  ...COMMENTS.slice(1, 4),
  {
    pattern: /^(is|are|was|were|that|has|have|from|what|which|of|may)\b/i,
    advice: 'write a whole sentence, or begin with a verb',
    refused: 'is refused',
    fine: 'refuses a volume without a handle',
  },
]

checkTheTables()
const asked = process.argv.slice(2)
const { stdout } = spawnSync('git', ['ls-files', '-co', '--exclude-standard', '*.ts', '*.mjs', '*.cjs'], {
  encoding: 'utf8',
})
const files = stdout.split('\n').filter((path) => path && existsSync(path) && !/(^|\/)gen\//.test(path))
let exceptions = 0
for (const path of files.filter((path) => asked.length === 0 || asked.some((start) => path.startsWith(start)))) {
  for (const finding of findingsOf(path, readFileSync(path, 'utf8'))) report({ path, ...finding })
}
if (exceptions > MOST_EXCEPTIONS)
  report({
    path: 'tools/check-english.mjs',
    line: 1,
    found: `${exceptions} exceptions`,
    advice: 'rewrite some of them',
  })

function findingsOf(path, text) {
  const comments = commentsOf(parseSync(path, text).comments, text)
  const texts = [...comments.filter(({ reason }) => reason === undefined), ...(isTest(path) ? testNamesOf(text) : [])]
  const found = texts.flatMap(({ line, ...each }) => problemsOf(each).map((problem) => ({ line, ...problem })))
  const reasons = comments.filter(({ reason }) => reason !== undefined)
  exceptions += reasons.length
  const unused = reasons.filter(({ next }) => !found.some(({ line }) => line === next))
  return [
    ...found.filter(({ line }) => !reasons.some(({ next }) => next === line)),
    ...unused.map(({ line, reason }) => ({ line, found: `english: ${reason}`, advice: 'remove the exception' })),
  ]
}

function isTest(path) {
  return /\.test\.ts$|^testing\/e2e\/(tests|faults|parity)\//.test(path)
}

/** Returns the comments with their line numbers. Line comments in a row count as one comment, exceptions do not. */
function commentsOf(parts, text) {
  const comments = []
  let last
  for (const { type, value, start, end } of parts) {
    const lineStart = text.lastIndexOf('\n', start) + 1
    const line = text.slice(0, start).split('\n').length
    const alone = text.slice(lineStart, start).trim() === ''
    const reason = type === 'Line' ? /^ english: (\S.*)/.exec(value)?.[1] : undefined
    const joins = type === 'Line' && alone && reason === undefined && last?.open && last.end === line - 1
    if (joins) last.text += `\n${value}`
    else if (!/^!|biome-ignore|@ts-|eslint|istanbul|bounded:/.test(value)) {
      last = { line, text: value, reason, next: line + 1, open: type === 'Line' && alone && reason === undefined }
      comments.push(last)
    } else last = undefined
    if (last) last.end = text.slice(0, end).split('\n').length
  }
  return comments.map((comment) => ({ ...comment, rules: COMMENTS }))
}

function testNamesOf(text) {
  // The name of an `it.each` test is the first text after its table, which may have many lines.
  const calls = text.matchAll(/^[ \t]*(?:(?:it|test)|\]\)|\}\)|\))(?:\.each\([^\n]*\))?\(\s*(['"`])(.{3,200}?)\1,/gm)
  return [...calls].map(({ 2: name, index }) => ({
    line: text.slice(0, index + text.slice(index).search(/\S/)).split('\n').length,
    text: name,
    rules: TEST_NAMES,
  }))
}

function problemsOf({ text, rules }) {
  return sentencesOf(text).flatMap(([sentence, isFirst]) =>
    rules.flatMap(({ pattern, advice }) => {
      if (pattern.source.startsWith('^') && !isFirst) return []
      const found = pattern.exec(sentence)?.[0]
      return found === undefined ? [] : [{ found: found.slice(0, 60), advice }]
    }),
  )
}

/** Returns the sentences of a text without code. A line with three spaces before it is code. */
function sentencesOf(text) {
  const lines = text
    .split('\n')
    .map((line) => line.replace(/^\s*\*(?=\s|$)/, '').replace(/^ {3,}\S.*|^ ?[-|] /, '\n\n'))
  const plain = lines
    .join('\n')
    .replace(/`[^`]*`/g, '`')
    .replace(NAMES, 'Name')
  const sentences = plain.split(/(?<=[.:;!?])\s+|\n\s*\n/).map((each) => each.replace(/\s+/g, ' ').trim())
  return sentences.filter((each) => each !== '').map((each, at) => [each, at === 0])
}

function report({ path, line, found, advice }) {
  console.error(`${path}:${line}: ${found} -> ${advice}`)
  process.exitCode = 1
}

// Checks that each pattern refuses its own example, and that no pattern refuses a plain text.
function checkTheTables() {
  for (const rules of [COMMENTS, TEST_NAMES]) {
    for (const { pattern, refused, fine } of rules) {
      const found = (text) => problemsOf({ text, rules }).length
      if (!problemsOf({ text: refused, rules: [{ pattern }] }).length)
        throw new Error(`${pattern} lets pass: ${refused}`)
      if (found(fine)) throw new Error(`a plain text is refused: ${fine}`)
    }
  }
  const source =
    'const a = 1 // That one.\n// Two lines are\n// those that join.\n// english: shown\n// of now.\n/**\n * For\n */\n'
  const comments = commentsOf(parseSync('x.ts', source).comments, source)
  const read = comments.map(({ line, text, reason }) => [
    line,
    reason ?? sentencesOf(text).length,
    problemsOf({ text, rules: COMMENTS }).length,
  ])
  const expected = [
    [1, 1, 1],
    [2, 1, 1],
    [4, 'shown', 0],
    [5, 1, 1],
    [6, 1, 1],
  ]
  if (JSON.stringify(read) !== JSON.stringify(expected)) throw new Error(`comments are read as ${JSON.stringify(read)}`)
  const names = testNamesOf(
    "it('has a', () => {\n})\nit.each([1])('is a', () => {\ntest.each([\n  1,\n])('of a', () => {\n",
  )
  if (names.map(({ line }) => line).join() !== '1,3,6')
    throw new Error(`test names are read as ${JSON.stringify(names)}`)
}
