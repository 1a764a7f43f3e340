import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { packChart } from '../../../../images/tools/chart.ts'
import { homeOf, registryOf } from '../../../../images/tools/fill.ts'
import type { TestContext } from '../../harness/context.ts'

const root = resolve(import.meta.dirname, '../../../..')
/** The registry of images and chart in the documents. */
export const REGISTRY = registryOf(homeOf(root))

const { version } = JSON.parse(readFileSync(join(root, 'apps/attacher/package.json'), 'utf8')) as { version: string }
const CHART_LINE = `oci://${REGISTRY}/charts/csi-sidecars --version ${version} `

/**
 * Packages the chart as a release does. Returns what makes a line of a document take it from there, instead of from the
 * registry, and its values from the example of that name, with the release's images and the
 * name of the test's driver.
 */
export function releasedChart(t: TestContext): (line: string) => string {
  const chart = packChart({ root, registry: REGISTRY, createdAt: 0 })
  writeFileSync(join(t.folder, chart.name), chart.content)
  return (line) => {
    if (!line.includes(CHART_LINE)) throw new Error(`no ${CHART_LINE}in ${line}`)
    return line
      .replace(CHART_LINE, `${join(t.folder, chart.name)} `)
      .replace(/--values (\w+\.yaml)/, (_, name: string) => `--values ${exampleWithoutImages(t, name)}`)
  }
}

function exampleWithoutImages(t: TestContext, name: string): string {
  const file = join(t.folder, name)
  const text = readFileSync(join(root, 'charts/csi-sidecars/examples', name), 'utf8')
  writeFileSync(file, text.replace(/^image:\n(?: .*\n)+/m, '').replace('example.csi.k8s.io', t.driverName))
  return file
}
