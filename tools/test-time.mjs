// Prints how long `npm test` will take, from the last run of each package's tests. Turbo skips unchanged packages.
import { existsSync, globSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'

const readJson = (path) => JSON.parse(readFileSync(path, 'utf8'))
const tested = globSync(readJson('package.json').workspaces.map((pattern) => `${pattern}/package.json`))
  .filter((manifest) => readJson(manifest).scripts?.test !== undefined)
  .map((manifest) => join(dirname(manifest), 'test-results.json'))
const seconds = tested.filter((file) => existsSync(file)).map((file) => secondsOf(readJson(file)))
const total = seconds.reduce((sum, each) => sum + each, 0)
if (seconds.length < tested.length) {
  console.log('The first run takes five to ten minutes with two cores, and longer where it builds Helm')
} else {
  const minutes = total / Math.min(availableParallelism(), tested.length) / 60
  console.log(
    `About ${Math.max(1, Math.round(minutes))} min, as in the last run of each package; unchanged packages are skipped`,
  )
}

function secondsOf({ startTime, testResults }) {
  return (Math.max(startTime, ...testResults.map(({ endTime }) => endTime)) - startTime) / 1000
}
