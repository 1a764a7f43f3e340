// Gives chart and documents the version of the sidecars; part of `npm run version-packages`.
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '../..')
const { version } = JSON.parse(readFileSync(join(root, 'apps/attacher/package.json'), 'utf8'))

function replace(file, pattern, text) {
  const path = join(root, file)
  const before = readFileSync(path, 'utf8')
  if (before.search(pattern) < 0) throw new Error(`${path} has no ${pattern}`)
  writeFileSync(path, before.replace(pattern, text))
}

replace('charts/csi-sidecars/Chart.yaml', /^version: .*$/m, `version: ${version}`)
replace('charts/csi-sidecars/Chart.yaml', /^appVersion: .*$/m, `appVersion: v${version}`)
replace('charts/tests/vendor-chart/Chart.yaml', /(- name: csi-sidecars\n\s+version: ).*/, `$1${version}`)
for (const file of ['README.md', 'docs/drivers.md', 'docs/migration.md', 'docs/releases.md']) {
  replace(file, /(ghcr\.io\/\S+?:v)\d[^\s`]*/g, `$1${version}`)
}
for (const file of ['README.md', 'docs/drivers.md', 'docs/migration.md', 'docs/releases.md'])
  replace(file, /(--version )\S+/g, `$1${version}`)
replace(
  'docs/driver-test.md',
  /(releases\/download\/v)[^/]+(\/csi-driver-test-)\S+?(\.tgz)/g,
  `$1${version}$2${version}$3`,
)
replace('docs/drivers.md', /(newTag: )v.*/g, `$1v${version}`)
replace('docs/drivers.md', /(- name: csi-sidecars\n\s+version: ).*/, `$1${version}`)
replace('charts/csi-sidecars/Chart.yaml', /(ghcr\.io\/\S+:v)\S+/g, `$1${version}`)
replace('charts/csi-sidecars/README.md', /(--version )\S+/g, `$1${version}`)
replace(
  'docs/releases.md',
  /((?:are for|tag|origin) v|charts\/csi-sidecars:|csi-attacher-v)\d+\.\d+\.\d+/g,
  `$1${version}`,
)
