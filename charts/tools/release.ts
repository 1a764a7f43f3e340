// Fills in what only a release knows, before `helm package charts/csi-sidecars`:
//   npm exec -- node charts/tools/release.ts --registry ghcr.io/owner --repository owner/csi-sidecars --tag v1.2.3
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { type Release, releasedChart, releasedReadme, releasedValues } from './released.ts'

const text = { type: 'string', default: '' } as const
const { values: release } = parseArgs({ options: { registry: text, repository: text, tag: text } })
const missing = Object.entries(release).filter(([, value]) => value === '')
if (missing.length > 0) throw new Error(`missing: ${missing.map(([name]) => `--${name}`).join(', ')}`)

const CHART = resolve(import.meta.dirname, '../csi-sidecars')
const FILES: Readonly<Record<string, (text: string, release: Release) => string>> = {
  'values.yaml': releasedValues,
  'Chart.yaml': releasedChart,
  'README.md': releasedReadme,
}

for (const [name, change] of Object.entries(FILES)) {
  const file = join(CHART, name)
  writeFileSync(file, change(readFileSync(file, 'utf8'), release))
}
