// Writes the chart of a release: a copy of the chart whose values contain the registry and the digests of the images,
// and whose Chart.yaml contains the changes of the version for Artifact Hub.
//   node images/tools/release-chart.ts FOLDER REGISTRY csi-attacher=sha256:... csi-resizer=sha256:...
import { cpSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { rewrite } from './fill.ts'
import { artifactHubChanges, type Changelogs, releasedChangelogs } from './release-notes.ts'

const ROOT = resolve(import.meta.dirname, '../..')

/** Inserts the registry and the digests into the text of values.yaml. Throws if an empty field for them is missing. */
export function withImages(values: string, registry: string, digests: Readonly<Record<string, string>>): string {
  const filled = values.replace(/^( {2}registry:) ""/m, `$1 ${registry}`)
  if (!filled.includes(`\n  registry: ${registry}`)) throw new Error('values.yaml has no empty image.registry')
  return Object.entries(digests).reduce(withDigest, filled)
}

function withDigest(values: string, [repository, digest]: readonly [string, string]): string {
  if (!/^sha256:[0-9a-f]{64}$/.test(digest)) throw new Error(`${repository}=${digest} is no digest`)
  // regex-bounded: four lines after the repository
  const place = new RegExp(`( repository: ${repository}\\n(?:.*\\n){1,4}? +digest:) ""`)
  if (!place.test(values)) throw new Error(`values.yaml has no empty digest of ${repository}`)
  return values.replace(place, `$1 ${digest}`)
}

/** Adds the changes of the chart's version to the text of Chart.yaml. Without changelogs the text stays unchanged. */
export function withChanges(chart: string, changelogs: Changelogs): string {
  if (changelogs.size === 0) return chart
  const [, version = ''] = /^version: (.+)$/m.exec(chart) ?? []
  const changes = artifactHubChanges(changelogs, version).replace(/^(?=.)/gm, '    ')
  return chart.replace(/^annotations:\n/m, (line) => `${line}  artifacthub.io/changes: |\n${changes}`)
}

/** Writes the chart of a release. Returns its folder. */
export function releaseChart(folder: string, registry: string, digests: Readonly<Record<string, string>>): string {
  const chart = join(folder, 'csi-sidecars')
  cpSync(join(ROOT, 'charts/csi-sidecars'), chart, { recursive: true })
  rewrite(join(chart, 'values.yaml'), (text) => withImages(text, registry, digests))
  rewrite(join(chart, 'Chart.yaml'), (text) => withChanges(text, releasedChangelogs()))
  return chart
}

if (import.meta.main) {
  const [folder = '', registry = '', ...images] = process.argv.slice(2)
  const digests = Object.fromEntries(images.map((image) => image.split('=')))
  process.stdout.write(`${releaseChart(folder, registry, digests)}\n`)
}
