// Gives the chart the version of the sidecars; part of `npm run version-packages`.
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '../..')
const { version } = JSON.parse(readFileSync(join(root, 'apps/attacher/package.json'), 'utf8'))

function replace(file, pattern, text) {
  const path = join(root, 'charts', file)
  const before = readFileSync(path, 'utf8')
  if (!pattern.test(before)) throw new Error(`${path} has no ${pattern}`)
  writeFileSync(path, before.replace(pattern, text))
}

replace('csi-sidecars/Chart.yaml', /^version: .*$/m, `version: ${version}`)
replace('csi-sidecars/Chart.yaml', /^appVersion: .*$/m, `appVersion: v${version}`)
replace('tests/vendor-chart/Chart.yaml', /(- name: csi-sidecars\n\s+version: ).*/, `$1${version}`)
