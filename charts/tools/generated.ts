import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { CHART } from '../tests/helm.ts'
import { withFlags } from './flag-schema.ts'
import { flagTemplates } from './flag-templates.ts'

export const TEMPLATES_FILE = join(CHART, 'templates/_flags.tpl')
export const SCHEMA_FILE = join(CHART, 'values.schema.json')

const BIOME = resolve(import.meta.dirname, '../../node_modules/.bin/biome')

/** Writes the parts of the chart that are made from the flags and from values.yaml. */
export function writeChart(): void {
  writeFileSync(TEMPLATES_FILE, flagTemplates())
  const schema = withFlags(JSON.parse(readFileSync(SCHEMA_FILE, 'utf8')))
  writeFileSync(SCHEMA_FILE, `${JSON.stringify(schema, null, 2)}\n`)
  execFileSync(BIOME, ['format', '--write', SCHEMA_FILE], { stdio: 'ignore' })
}
