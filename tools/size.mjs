// usage: node tools/size.mjs
// Prints the source lines of each group next to its budget, and fails if a group exceeds its budget. Lines of `.ts` and
// `.mjs` files count, except tests, `src/testing/` and generated code.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** The apps and libraries that run on a user's machine. All other apps and libraries run in a cluster. */
const FOR_PEOPLE = /^(apps\/(kubectl-csi|devcluster|driver-test)|libs\/(volume-controllers|emulator|disturb))\//

/** The groups and their budgets in lines. A file counts for the first group that matches. */
const GROUPS = [
  { name: 'for people', files: FOR_PEOPLE, budget: 32_000 },
  { name: 'in the cluster', files: /^(apps|libs)\//, budget: 40_000 },
  { name: 'testing', files: /^testing\//, budget: 33_000 },
  { name: 'images, tools, charts', files: /^(images|tools|charts)\//, budget: 5_000 },
]
const NOT_COUNTED = /\.test\.ts$|\/src\/testing\/|\/gen(erated)?\//

const MOST_TRACKED_FILES = 1_850
const SHORT_LINES = 30
const MOST_SHORT_FILES = 80

const git = (...args) => execFileSync('git', args, { encoding: 'utf8' }).split('\n').filter(Boolean)
const linesOf = (file) => readFileSync(file, 'utf8').split('\n').length - 1

const tracked = git('ls-files')
const sources = tracked.filter((file) => /\.(ts|mjs)$/.test(file) && !NOT_COUNTED.test(file))
const counted = sources.map((file) => ({ group: GROUPS.find(({ files }) => files.test(file)), lines: linesOf(file) }))
const sum = (group) => counted.reduce((total, each) => total + (each.group === group ? each.lines : 0), 0)
const inProduct = counted.filter(({ group }) => group === GROUPS[0] || group === GROUPS[1])

const rows = [
  ...GROUPS.map((group) => ({ name: `lines: ${group.name}`, is: sum(group), budget: group.budget })),
  { name: 'tracked files', is: tracked.length, budget: MOST_TRACKED_FILES },
  {
    name: `files under ${SHORT_LINES} lines in apps and libs`,
    is: inProduct.filter(({ lines }) => lines < SHORT_LINES).length,
    budget: MOST_SHORT_FILES,
  },
]
for (const { name, is, budget } of rows) {
  console.log(
    `${name.padEnd(42)} ${String(is).padStart(7)} of ${String(budget).padStart(7)}${is > budget ? '  too many' : ''}`,
  )
}
if (rows.some(({ is, budget }) => is > budget)) {
  console.error('The repository is larger than its budget: remove a mechanism, or give a reason for a larger budget.')
  process.exitCode = 1
}
