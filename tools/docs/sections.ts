import { APPS } from '../../charts/tools/flag-keys.ts'
import { documentedValues } from '../../charts/tools/value-comments.ts'
import { compatibilityTable } from './compatibility-table.ts'
import { permanentDifferencesTable, switchableDifferencesTable } from './differences-table.ts'
import {
  featureGates,
  genericGates,
  livenessprobeFlags,
  ownFlags,
  processFlagTable,
  standardFlags,
} from './flag-tables.ts'
import { headlineTable } from './headline-table.ts'
import { code, sectionNames, table, withNewSection } from './markdown.ts'
import { alertTable, metricTable } from './monitoring-tables.ts'
import { publicDriversTable } from './public-drivers-table.ts'
import { rollbackTable } from './rollback-table.ts'
import { swapChangesTables } from './swap-changes-table.ts'

/** The sections of documents that are generated from the code, by the name in their marks. */
export const SECTIONS: Readonly<Record<string, () => string | Promise<string>>> = {
  'standard-flags': standardFlags,
  ...Object.fromEntries(APPS.map((app) => [`${app}-flags`, () => ownFlags(app)])),
  'livenessprobe-flags': livenessprobeFlags,
  'process-flags': processFlagTable,
  'feature-gates': featureGates,
  'generic-gates': genericGates,
  metrics: metricTable,
  alerts: alertTable,
  'rollback-flags': rollbackTable,
  'public-drivers': publicDriversTable,
  'swap-changes': swapChangesTables,
  'switchable-differences': switchableDifferencesTable,
  'permanent-differences': permanentDifferencesTable,
  values: valuesTable,
  headline: () => headlineTable(),
  compatibility: compatibilityTable,
}

const flagSections = APPS.map((app) => ({ name: `${app}-flags`, heading: `### Flags of the ${app}` }))

/**
 * Returns the document with a section for each sidecar that it does not describe yet. A document that describes no
 * sidecar stays unchanged.
 */
export function withMissingSections(document: string): string {
  const lastSection = flagSections.findLast(({ name }) => sectionNames(document).includes(name))
  if (lastSection === undefined) return document
  const missing = flagSections.filter(({ name }) => !sectionNames(document).includes(name))
  return missing.reduceRight((before, each) => withNewSection(before, lastSection.name, each), document)
}

/** The documents that contain generated sections. */
export const DOCUMENTS = [
  'README.md',
  'docs/operations.md',
  'docs/reference.md',
  'docs/migration.md',
  'docs/drivers.md',
  'charts/csi-sidecars/README.md',
]

export async function sectionText(name: string): Promise<string> {
  const make = SECTIONS[name]
  if (make === undefined) throw new Error(`unknown section ${name}, known are ${Object.keys(SECTIONS).join(', ')}`)
  return await make()
}

/** Returns the table of all values of the chart, with the descriptions in values.yaml. */
function valuesTable(): string {
  const rows = documentedValues().flatMap(({ key, description, default: value, isSection }) => {
    if (isSection && description === '') return []
    return [[code(key), isSection ? '' : code(JSON.stringify(value)), description.replaceAll(/[<*]/g, '\\$&')]]
  })
  return table(['value', 'default', 'meaning'], rows)
}
