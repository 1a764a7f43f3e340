// usage: node tools/size.mjs
// Prints what a person reads in this repository: lines and files of each group, with tests and test support in columns
// of their own. It informs reviews and fails no build. Generated code does not count.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** The groups. A file counts for the first group that matches. */
const GROUPS = [
  { name: 'documents', files: /\.md$/ },
  { name: 'on a desk', files: /^desk\// },
  { name: 'in the cluster', files: /^(apps|libs)\// },
  { name: 'testing', files: /^testing\// },
  { name: 'images, tools, charts', files: /^(images|tools|charts|\.github)\// },
]

/** The kinds of files, in the order of the columns. A file has the first kind that matches. */
const KINDS = [
  { name: 'tests', files: /\.test\.ts$|^(apps|desk)\/[^/]+\/test\// },
  { name: 'test support', files: /\/src\/testing\// },
  { name: 'source', files: /\.(ts|mjs|cjs|js|sh|tpl|ya?ml|proto|md)$/ },
]
const GENERATED = /\/gen(erated)?\/|(^|\/)(CHANGELOG\.md|package-lock\.json|RESULTS\.md)$/
const SHORT_LINES = 30

const tracked = execFileSync('git', ['ls-files'], { encoding: 'utf8' }).split('\n').filter(Boolean)
const files = tracked
  .filter((file) => !GENERATED.test(file))
  .map((file) => ({
    group: GROUPS.find((group) => group.files.test(file)),
    kind: KINDS.find((kind) => kind.files.test(file)),
    file,
  }))
  .filter(({ group, kind }) => group !== undefined && kind !== undefined)
  .map((each) => ({ ...each, lines: readFileSync(each.file, 'utf8').split('\n').length - 1 }))

const columns = ['source', 'test support', 'tests']
const linesOf = (some) => some.reduce((total, { lines }) => total + lines, 0)
const cell = (text) => String(text).padStart(14)
console.log(['lines'.padEnd(24), ...columns.map(cell), cell('files'), cell(`< ${SHORT_LINES} lines`)].join(''))
for (const group of GROUPS) {
  const inGroup = files.filter((file) => file.group === group)
  const byKind = columns.map((name) => linesOf(inGroup.filter(({ kind }) => kind.name === name)))
  const short = inGroup.filter(({ lines }) => lines < SHORT_LINES).length
  console.log([group.name.padEnd(24), ...byKind.map(cell), cell(inGroup.length), cell(short)].join(''))
}
