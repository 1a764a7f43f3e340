import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { homeOf, registryOf } from '../../../../images/tools/fill.ts'
import { releaseChart } from '../../../../images/tools/release-chart.ts'
import type { TestContext } from '../../harness/context.ts'

const root = resolve(import.meta.dirname, '../../../..')
/** The registry of the images and the chart that the documents name. */
export const REGISTRY = registryOf(homeOf(root))

const { version } = JSON.parse(readFileSync(join(root, 'apps/attacher/package.json'), 'utf8')) as { version: string }
const CHART_LINE = `oci://${REGISTRY}/charts/csi-sidecars --version ${version} `

/**
 * Builds the chart as a release does, with image tags instead of digests. Returns a function that changes a command of
 * a document, so that it installs this chart for the test's driver.
 */
export function releasedChart(t: TestContext): (line: string) => string {
  const chart = releaseChart(t.folder, REGISTRY, {})
  return (line) => {
    if (!line.includes(CHART_LINE)) throw new Error(`no ${CHART_LINE}in ${line}`)
    return line
      .replace(CHART_LINE, `${chart} `)
      .replace(/--values (\w+\.yaml)/, (_, name: string) => `--values ${exampleWithoutImages(t, name)}`)
  }
}

function exampleWithoutImages(t: TestContext, name: string): string {
  const file = join(t.folder, name)
  const text = readFileSync(join(root, 'charts/csi-sidecars/examples', name), 'utf8')
  writeFileSync(file, text.replace(/^image:\n(?: .*\n)+/m, '').replace('example.csi.k8s.io', t.driverName))
  return file
}
