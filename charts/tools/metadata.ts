import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { load } from 'js-yaml'

/** Chart.yaml of a chart, as Helm stores it beside the archive in a registry. */
export function readMetadata(chart: string): Readonly<Record<string, unknown>> {
  return load(readFileSync(join(chart, 'Chart.yaml'), 'utf8')) as Readonly<Record<string, unknown>>
}
